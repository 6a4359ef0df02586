//! The packet engine: discrete events, packet by packet, on the paths that the flow engine's
//! schemes choose.
//!
//! Inside: settings (`settings`) and the estimated cost of a run (`estimate`); the network at time
//! 0 for an experiment (`setup`, `routes`, `choices`) with its future faults (`timeline`) and its
//! controllers (`rebinding`); the constants of a run (`rules`), links as queues (`links`), the
//! packets on them (`calendar`), timers (`timers`, `wheel`), the state of flows (`flows`), the
//! event loop (`core`), senders and receivers (`ends`), TCP's reactions (`tcp`, with `sack` and
//! `cubic`), congestion notifications (`qcn`, `limiter`) and changes by faults (`change`); the
//! engine with its frames (here), samples over time (`samples`), link loads over time (`heat`), the
//! document (`outcome`) and the prediction in it (`beside`).
//!
//! Not here: real packets, which an emulation sends, and rates of flows as fluids (`crate::flow`).

mod beside;
pub mod calendar;
pub mod change;
mod choices;
pub mod core;
pub mod cubic;
mod ends;
pub mod estimate;
pub mod flows;
pub mod heat;
mod limiter;
pub mod links;
mod outcome;
mod rebinding;
mod routes;
pub mod rules;
pub mod sack;
mod samples;
pub mod settings;
mod setup;
mod tcp;
mod timeline;
mod timers;
pub mod wheel;

pub use cubeyard_routing::qcn;
pub use outcome::Answered;

use std::sync::atomic::Ordering;

use cubeyard_topology::Finding;
use cubeyard_topology::fault::FaultEntry;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use self::core::Stop;
use self::heat::Heat;
use self::rebinding::FlowsNow;
use self::routes::{Relays, Routing, route_all, route_by, seeds};
use self::samples::Samples;
use self::setup::Setup;
use self::timeline::ps;
use crate::count::Progress;
use crate::engine::{Engine, Frame, PredictError};
use crate::experiment::Experiment;
use crate::flow::document::failed_counts;
use crate::flows::Flows;
use crate::network::Network;
use crate::paths::Paths;
use crate::scheme;

/// Number of events between checks for cancellation: a few milliseconds.
const BUDGET: u64 = 1 << 15;
/// Packet-hops before the first partial frame; each further one waits for a quarter more than all
/// before.
const FIRST_FRAME_HOPS: u64 = 1 << 20;
/// Steps of the columns in time are at least this long.
const FIRST_STEP_SECS: f64 = 100e-6;
/// Frames of the load of links are at least this long.
const FIRST_HEAT_SECS: f64 = 10e-6;

/// The packet engine. Its frames are of kind `partial`, the state of the first seed so far;
/// `flows`, the times of flows that ended since the previous such frame, if they are too many for a
/// list in each `partial`; and `seed`, the rows of `by_seed`.
#[derive(Clone, Copy, Debug)]
pub struct PacketEngine;

impl Engine for PacketEngine {
    fn name(&self) -> &'static str {
        "packet"
    }

    fn method(&self) -> &'static str {
        "Simulation"
    }

    fn summary(&self) -> &'static str {
        "Every packet and queue with TCP or UDP: completion times, drops, timeouts and queues in time."
    }

    fn knows(&self, fault: &FaultEntry) -> bool {
        timeline::knows(fault)
    }

    fn settings(&self) -> Option<(&'static str, Value)> {
        Some(("packet", settings::settings_json()))
    }

    fn outline(&self, network: &Network, experiment: &Experiment) -> Result<Value, Vec<Finding>> {
        let settings = experiment.packet.clone().unwrap_or_default();
        let routing = scheme::known(experiment.routing.as_deref(), network.topology().spec())?;
        let seed = experiment.seeds.first().copied().unwrap_or_default();
        let checked = setup::check(network, experiment, &settings, seed)?;
        Ok(json!({
            "routing": routing,
            "flows": checked.demand.flows.len(),
            "failed": failed_counts(network.topology(), &checked.failures, 0),
            "keeps_paths": true,
            "simulation": checked.estimate.document(),
        }))
    }

    fn run(
        &self,
        network: &Network,
        experiment: &Experiment,
        progress: &Progress,
        frames: &mut dyn FnMut(Frame),
    ) -> Result<Value, PredictError> {
        let workload = described(experiment);
        let heated = experiment
            .packet
            .as_ref()
            .is_none_or(|settings| settings.link_heat);
        let (first, others) = experiment.seeds.split_first().unwrap_or((&0, &[]));
        // The first seed reports its progress; the others run in parallel.
        let run_first = |frames: &mut dyn FnMut(Frame)| {
            let run = Run::new(network, experiment, *first, progress, heated)?;
            let (setup, seen) = run.whole(Some(frames))?;
            let mut document = outcome::document(&setup, &seen, &workload);
            document.insert("predicted".to_owned(), beside::predicted(&setup, progress));
            Ok::<_, PredictError>((document, outcome::row(&setup)))
        };
        if others.is_empty() {
            return Ok(Value::Object(run_first(frames)?.0));
        }
        let mut rows: Vec<Result<Map<String, Value>, PredictError>> = Vec::new();
        let first = rayon::in_place_scope(|scope| {
            scope.spawn(|_| {
                let seeds = others.par_iter();
                rows = seeds
                    .map(|&seed| {
                        let (setup, _) = Run::new(network, experiment, seed, progress, false)?.whole(None)?;
                        Ok(outcome::row(&setup))
                    })
                    .collect();
            });
            run_first(frames)
        });
        let (mut document, row) = first?;
        let mut by_seed = vec![Value::Object(row)];
        for row in rows {
            by_seed.push(Value::Object(row?));
        }
        for row in &by_seed {
            frames(Frame {
                kind: "seed",
                fields: row.as_object().cloned().unwrap_or_default(),
            });
        }
        document.insert("by_seed".to_owned(), Value::Array(by_seed));
        Ok(Value::Object(document))
    }
}

/// Statistics of the requests that start at `from_secs` or later, for the experiment's first seed.
///
/// # Errors
///
/// The same as for [`Engine::run`].
pub fn answered_since(
    network: &Network,
    experiment: &Experiment,
    from_secs: f64,
    progress: &Progress,
) -> Result<Answered, PredictError> {
    let seed = experiment.seeds.first().copied().unwrap_or_default();
    let (setup, _) = Run::new(network, experiment, seed, progress, false)?.whole(None)?;
    Ok(outcome::answered_since(&setup, ps(from_secs)))
}

/// The workload as written to the document: a long list of flows is replaced by its length.
fn described(experiment: &Experiment) -> Value {
    let mut workload = json!(experiment.workload);
    if let Some(flows) = workload.get("flows").and_then(Value::as_array).map(Vec::len) {
        workload["flows"] = json!(flows);
    }
    workload
}

/// The records of a run over time.
struct Seen {
    samples: Samples,
    /// None if it is switched off.
    heat: Option<Heat>,
}

/// The run of one seed.
struct Run<'a> {
    setup: Setup<'a>,
    experiment: &'a Experiment,
    progress: &'a Progress,
    seen: Seen,
    relays: Relays,
    /// Packet-hops at which the next partial frame is due.
    next_frame: u64,
    /// Payload that was reported as received.
    reported: u64,
    listed: Listed,
}

/// The state of the frames that list ended flows.
#[derive(Default)]
struct Listed {
    frames: u64,
    /// Number of flows that had ended at the last frame, and its time in ps.
    flows: usize,
    until: u64,
}

impl<'a> Run<'a> {
    fn new(
        network: &'a Network,
        experiment: &'a Experiment,
        seed: u64,
        progress: &'a Progress,
        heated: bool,
    ) -> Result<Run<'a>, PredictError> {
        let settings = experiment.packet.clone().unwrap_or_default();
        let setup = setup::set_up(network, experiment, &settings, seed, progress)?;
        let payload = u64::from(setup.core.rules.payload);
        let bytes: u64 = setup
            .core
            .connections
            .iter()
            .map(|connection| connection.bytes(payload))
            .sum();
        let total = bytes.saturating_mul(experiment.seeds.len() as u64);
        progress.total.fetch_max(total, Ordering::Relaxed);
        let watched = settings
            .watch_flow
            .and_then(|flow| setup.flow_of.iter().position(|&item| item == flow));
        let subflow = watched.map(|connection| setup.core.connections[connection].first);
        Ok(Run {
            seen: Seen {
                samples: Samples::new(ps(FIRST_STEP_SECS), setup.watch, subflow),
                heat: heated.then(|| Heat::new(ps(FIRST_HEAT_SECS), setup.core.wires)),
            },
            relays: Relays::new(network.topology(), settings.relay_secs > 0.0),
            setup,
            experiment,
            progress,
            next_frame: FIRST_FRAME_HOPS,
            reported: 0,
            listed: Listed::default(),
        })
    }

    /// Runs to the end.
    fn whole(mut self, mut frames: Option<&mut dyn FnMut(Frame)>) -> Result<(Setup<'a>, Seen), PredictError> {
        let end = ps(self.setup.settings.until_secs);
        let mut changed = Vec::new();
        loop {
            let fault = self.setup.timeline.next().unwrap_or(u64::MAX);
            let round = self
                .setup
                .rebinding
                .as_ref()
                .map_or(u64::MAX, |rebinding| rebinding.next());
            let frame = self.seen.heat.as_ref().map_or(u64::MAX, Heat::next);
            let sample = self.seen.samples.next();
            let until = end.min(fault).min(round).min(sample).min(frame);
            let stop = self.setup.core.run(until, BUDGET);
            if self.progress.cancelled.load(Ordering::Relaxed) {
                return Err(PredictError::Cancelled);
            }
            self.report(&mut frames);
            match stop {
                Stop::Finished => break,
                Stop::Budget => continue,
                Stop::Time => {}
            }
            if until == sample {
                self.seen.samples.take(&self.setup.core);
            }
            if until == frame
                && let Some(heat) = &mut self.seen.heat
            {
                heat.take(&self.setup.core, &self.setup.gbps);
            }
            if until == fault {
                changed.clear();
                let reroutes = self.setup.timeline.advance(until, &mut changed);
                self.setup.set_conditions(&changed);
                if reroutes {
                    let known = self.setup.timeline.known(self.setup.network.topology());
                    if let Some(rebinding) = &mut self.setup.rebinding {
                        rebinding.know(known);
                    }
                    self.reroute()?;
                }
            }
            if until == round && self.rebind()? {
                let moved = self.reroute()?;
                if let Some(rebinding) = &mut self.setup.rebinding {
                    rebinding.moves += moved;
                }
            }
            if until == end {
                break;
            }
        }
        Ok((self.setup, self.seen))
    }

    /// Reports progress, and emits a frame from time to time.
    fn report(&mut self, frames: &mut Option<&mut dyn FnMut(Frame)>) {
        let received = self.setup.core.totals.received;
        self.progress
            .done
            .fetch_add(received - self.reported, Ordering::Relaxed);
        self.reported = received;
        let hops = self.setup.core.totals.hops;
        let Some(frames) = frames else {
            return;
        };
        let due = hops >= self.next_frame;
        self.list_ended(due, &mut **frames);
        if due {
            self.next_frame = hops + hops / 4;
            frames(Frame {
                kind: "partial",
                fields: outcome::so_far(&self.setup, &self.seen),
            });
        }
    }

    /// Lists the flows that have ended since the last list, if they are many or the list is `due`:
    /// each flow once, and about [`outcome::MAX_GROWING_TIMES`] at most, so that memory does not
    /// grow with the flows.
    fn list_ended(&mut self, due: bool, frames: &mut dyn FnMut(Frame)) {
        let core = &self.setup.core;
        let over = core.connections.len() - core.open;
        let new = over - self.listed.flows;
        if new == 0 || !(due || new >= outcome::MAX_GROWING_TIMES) || !outcome::lists_ended(&self.setup) {
            return;
        }
        frames(Frame {
            kind: "flows",
            fields: outcome::ended_since(&self.setup, self.listed.until, self.listed.frames),
        });
        self.listed = Listed {
            frames: self.listed.frames + 1,
            flows: over,
            until: core.now,
        };
    }

    /// One round of the controllers; whether flows have another router after it.
    fn rebind(&mut self) -> Result<bool, PredictError> {
        let setup = &mut self.setup;
        let now = FlowsNow {
            flows: &setup.demand.flows,
            flow_of: &setup.flow_of,
            pairs: setup.pairs.as_ref(),
            seeds: seeds(setup.seed, setup.settings.subflows),
        };
        let rebinding = setup.rebinding.as_mut();
        rebinding.map_or(Ok(false), |rebinding| {
            rebinding.round(&setup.core, &now, self.progress)
        })
    }

    /// Routes flows around the failures that routing has detected; returns how many routes changed.
    fn reroute(&mut self) -> Result<u64, PredictError> {
        let setup = &mut self.setup;
        let topology = setup.network.topology();
        let failures = setup.timeline.known(topology);
        let routing = Routing {
            network: setup.network,
            experiment: self.experiment,
            gbps: &setup.gbps,
            flows: &setup.demand.flows,
            seed: setup.seed,
            subflows: setup.settings.subflows,
            pairs: setup.pairs.as_ref(),
        };
        let routes = match &setup.rebinding {
            None => route_all(&routing, failures, self.progress)?.0,
            Some(rebinding) => route_by(&routing, |flows: &Flows, seed| {
                Paths::route(rebinding.router(), flows, seed, self.progress)
            })?,
        };
        let mut links = Vec::new();
        let mut moved = 0;
        for (connection, &flow) in setup.flow_of.iter().enumerate() {
            let one = &setup.core.connections[connection];
            if one.missing == 0 {
                continue;
            }
            for (place, subflow) in (one.first..one.first + u32::from(one.subflows)).enumerate() {
                for back in [false, true] {
                    let found = routes
                        .links(place, flow, back)
                        .map(|found| self.relays.expand(found, &mut links));
                    let links = found.map(|()| links.as_slice());
                    moved += u64::from(setup.core.reroute(subflow, back, links));
                }
            }
        }
        Ok(moved)
    }
}
