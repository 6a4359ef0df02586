//! The flow engine: flows as fluids on the paths that a routing scheme chooses.
//!
//! Inside: the run of one seed (here), its document (`document.rs`), checks before the run
//! (`outline.rs`) and how paths are counted (`hops.rs`). It uses the crate's parts: workloads,
//! faults, link loads, max-min rates and completion times.
//!
//! Not here: those parts themselves, and published figures, which use the same parts without an
//! experiment.

pub(crate) mod document;
mod lengths;
pub mod outline;

use std::sync::atomic::Ordering;

use cubeyard_routing::{Failures, NoPath};
use cubeyard_topology::Finding;
use cubeyard_topology::fault::FaultEntry;
use serde_json::{Map, Value, json};

use crate::count::{LinkFlows, Progress};
use crate::degraded::Damage;
pub use crate::engine::PredictError;
use crate::engine::{Engine, Frame};
use crate::experiment::{AUTO_RATES_FLOWS, Experiment};
use crate::faults;
use crate::network::Network;
use crate::paths::Paths;
use crate::scheme::Scheme;
use crate::workload::Demand;
pub use lengths::ends_at_server;
use lengths::into_server;
use outline::check_flows;

/// The flow engine. Its frames are of kind `seed`: the result of each seed, as the rows of
/// `by_seed` in the document.
#[derive(Clone, Copy, Debug)]
pub struct FlowEngine;

impl Engine for FlowEngine {
    fn name(&self) -> &'static str {
        "flow"
    }

    fn method(&self) -> &'static str {
        "Prediction"
    }

    fn summary(&self) -> &'static str {
        "Loads of all links, aggregate bottleneck throughput and max-min fair rates of flows as fluids."
    }

    fn knows(&self, fault: &FaultEntry) -> bool {
        fault.predicted()
    }

    fn outline(&self, network: &Network, experiment: &Experiment) -> Result<Value, Vec<Finding>> {
        outline::outline(network, experiment)
    }

    fn run(
        &self,
        network: &Network,
        experiment: &Experiment,
        progress: &Progress,
        frames: &mut dyn FnMut(Frame),
    ) -> Result<Value, PredictError> {
        let mut document = Map::new();
        let mut by_seed = Vec::with_capacity(experiment.seeds.len());
        for (i, &seed) in experiment.seeds.iter().enumerate() {
            let run = Run::new(network, experiment, seed, progress)?;
            let row = run.row();
            if i == 0 {
                document = run.document(progress)?;
            }
            frames(Frame {
                kind: "seed",
                fields: row.clone(),
            });
            by_seed.push(Value::Object(row));
        }
        if by_seed.len() > 1 {
            document.insert("by_seed".to_owned(), Value::Array(by_seed));
        }
        Ok(Value::Object(document))
    }
}

/// The flow engine's document of an experiment, without frames.
///
/// # Errors
/// As of [`Engine::run`].
pub fn predict(
    network: &Network,
    experiment: &Experiment,
    progress: &Progress,
) -> Result<Value, PredictError> {
    FlowEngine.run(network, experiment, progress, &mut |_| {})
}

/// The remaining throughput of a network: only the values that a search needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Aggregate bottleneck throughput, in Gb/s.
    pub abt_gbps: f64,
    /// Flows that have a path.
    pub flows: u64,
    /// Flows without one, those of failed servers included.
    pub dropped_flows: u64,
}

/// The throughput of a workload under one seed, as in `by_seed` of a prediction, whose rates and
/// document it leaves out.
///
/// While flows are routed, `goes_on` gets the current upper bound of the ABT in Gb/s: all flows of
/// the workload at the rate that the most loaded link leaves to its flows so far. If `goes_on`
/// returns false, routing stops and the result is `None`.
///
/// # Errors
///
/// The same as for [`Engine::run`].
pub fn throughput(
    network: &Network,
    experiment: &Experiment,
    seed: u64,
    goes_on: &dyn Fn(f64) -> bool,
    progress: &Progress,
) -> Result<Option<Throughput>, PredictError> {
    let damage = faults::apply(&experiment.faults, network, seed)?;
    throughput_after(network, experiment, damage, seed, goes_on, progress)
}

/// The same after a given damage, instead of the experiment's faults.
///
/// # Errors
/// As of [`Engine::run`].
pub fn throughput_after(
    network: &Network,
    experiment: &Experiment,
    Damage { failures, degraded }: Damage,
    seed: u64,
    goes_on: &dyn Fn(f64) -> bool,
    progress: &Progress,
) -> Result<Option<Throughput>, PredictError> {
    let demand = experiment.workload.workload.demand(network, seed)?;
    let capacity = degraded.capacity(network.capacity_gbps(experiment.link_gbps));
    let routing = experiment.routing.as_deref();
    let scheme = Scheme::at_rates(routing, network.topology(), failures, capacity.seen_gbps)?;
    let all = demand.flows.len();
    check_flows(experiment, all)?;
    let at_most = |load: &LinkFlows| {
        let of_all = LinkFlows {
            flows: all,
            ..load.clone()
        };
        load.flows == 0 || goes_on(aggregate_bottleneck(&of_all, &capacity.gbps))
    };
    let load = scheme.count_links_while(&demand.flows, seed, &at_most, progress)?;
    Ok(load.map(|load| Throughput {
        abt_gbps: aggregate_bottleneck(&load, &capacity.gbps),
        flows: load.flows,
        dropped_flows: load.dropped,
    }))
}

/// The aggregate bottleneck throughput: the sum of all carried flows if each has the rate of the
/// slowest, which is an equal share of the fullest link. With links of one rate, flows times rate
/// over the most loaded directed link's flows. `[bcube §3.6]`
///
/// 0 when no flow crosses a link. In the unit of `capacity`.
pub fn aggregate_bottleneck(load: &LinkFlows, capacity: &[f64]) -> f64 {
    let slowest = load
        .per_directed_link
        .iter()
        .zip(capacity)
        .filter(|&(&flows, _)| flows > 0)
        .map(|(&flows, &rate)| rate / f64::from(flows))
        .fold(f64::INFINITY, f64::min);
    if slowest.is_finite() {
        load.flows as f64 * slowest
    } else {
        0.0
    }
}

/// Whether the experiment needs rates or times, which require every flow's path and not only the
/// links' loads.
pub(crate) fn wants_paths(experiment: &Experiment, flows: u64) -> bool {
    experiment.max_min.unwrap_or(flows <= AUTO_RATES_FLOWS) || experiment.flow_size_gigabits().is_some()
}

/// The run of one seed.
struct Run<'a> {
    network: &'a Network,
    experiment: &'a Experiment,
    seed: u64,
    routing: &'static str,
    failures: Failures,
    degraded_links: usize,
    demand: Demand,
    capacity_gbps: Vec<f64>,
    load: LinkFlows,
    paths: Option<Paths>,
}

impl<'a> Run<'a> {
    fn new(
        network: &'a Network,
        experiment: &'a Experiment,
        seed: u64,
        progress: &Progress,
    ) -> Result<Run<'a>, PredictError> {
        let topology = network.topology();
        let Damage { failures, degraded } = faults::apply(&experiment.faults, network, seed)?;
        let demand = experiment.workload.workload.demand(network, seed)?;
        outline::check_starts(&demand)?;
        // A lower bound: a scheme that follows the load adds its rounds.
        progress.total.fetch_max(
            demand.flows.len() * experiment.seeds.len() as u64,
            Ordering::Relaxed,
        );
        let capacity = degraded.capacity(network.capacity_gbps(experiment.link_gbps));
        let scheme = Scheme::at_rates(
            experiment.routing.as_deref(),
            topology,
            failures.clone(),
            capacity.seen_gbps,
        )?;
        let count = demand.flows.len();
        check_flows(experiment, count)?;
        let directed_links = topology.links().len() * 2;
        let into_server = into_server(topology);
        let (load, paths) = if wants_paths(experiment, count) {
            let paths = scheme.route(&demand.flows, seed, progress)?;
            let load = load_of(&paths, &demand, directed_links, &into_server, &failures);
            (load, Some(paths))
        } else {
            let load = scheme.count_links(&demand.flows, &into_server, seed, progress)?;
            (load, None)
        };
        Ok(Run {
            network,
            experiment,
            seed,
            routing: scheme.name(),
            failures,
            degraded_links: capacity.degraded_links,
            demand,
            capacity_gbps: capacity.gbps,
            load,
            paths,
        })
    }

    /// This seed's result, as a row of `by_seed`.
    fn row(&self) -> Map<String, Value> {
        Map::from_iter([
            ("seed".to_owned(), json!(self.seed)),
            ("abt_gbps".to_owned(), json!(self.abt_gbps())),
            ("flows".to_owned(), json!(self.load.flows)),
            ("dropped_flows".to_owned(), json!(self.load.dropped)),
            ("max_link_flows".to_owned(), json!(self.load.most())),
        ])
    }

    fn abt_gbps(&self) -> f64 {
        aggregate_bottleneck(&self.load, &self.capacity_gbps)
    }
}

/// The load of given paths.
fn load_of(
    paths: &Paths,
    demand: &Demand,
    directed_links: usize,
    into_server: &[bool],
    failures: &Failures,
) -> LinkFlows {
    let mut load = LinkFlows::empty(directed_links);
    let mut dropped = paths.dropped.iter().peekable();
    for flow in 0..paths.len() {
        if dropped.next_if_eq(&&(flow as u32)).is_some() {
            let (source, destination) = demand.flows.flow(flow as u64);
            let ends_failed = failures.node_failed(source) || failures.node_failed(destination);
            let reason = if ends_failed {
                NoPath::SourceFailed
            } else {
                NoPath::NotFound
            };
            load.enter(Err(reason), &[], into_server);
        } else {
            load.enter(Ok(()), paths.path(flow), into_server);
        }
    }
    load
}
