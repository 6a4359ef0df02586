//! Builds the network at time 0 from an experiment: rates, queues, routes and flows, and records
//! the choices made.

use cubeyard_routing::Failures;
use cubeyard_routing::random::Draws;
use cubeyard_topology::Finding;
use serde_json::{Map, Value};

use super::change::LinkState;
use super::choices::{choices, rules, watched_link};
use super::core::Core;
use super::estimate::{Estimate, check_rates};
use super::links::Link;
use super::rebinding::Rebinding;
use super::routes::{Idle, Pairs, Relays, Routes, Routing, longest_round_trip, route_all, route_by};
use super::settings::{PathHash, Settings};
use super::timeline::{Timeline, ps};
use super::wheel::NEVER;
use crate::count::Progress;
use crate::engine::PredictError;
use crate::experiment::Experiment;
use crate::flows::{Flows, Pattern};
use crate::network::Network;
use crate::paths::Paths;
use crate::scheme::{self, Scheme};
use crate::workload::Demand;

/// The default size of a flow.
pub const DEFAULT_BYTES: u64 = 1_000_000;
/// How long a client waits for a response over UDP at least, and twice the bound, as in an
/// emulation.
const GIVE_UP_SECS: f64 = 2.0;
/// Flows that are routed to estimate how long routes are.
const SAMPLED_FLOWS: u64 = 1000;

/// One seed's run, ready to start.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The network of the run.
    pub network: &'a Network,
    /// The settings of the experiment.
    pub settings: Settings,
    /// Seed of all random draws.
    pub seed: u64,
    /// The name of the routing scheme.
    pub routing: &'static str,
    /// The flows of the workload.
    pub demand: Demand,
    /// The pairs, if all connections of two servers share one route.
    pub pairs: Option<Pairs>,
    /// The future faults.
    pub timeline: Timeline,
    /// The failures at the start.
    pub failures: Failures,
    /// Controllers that move flows by the load, where the scheme has them.
    pub rebinding: Option<Rebinding<'a>>,
    /// Rates by directed link, in Gb/s, before faults.
    pub gbps: Vec<f64>,
    /// The simulated network.
    pub core: Core,
    /// The flow of each connection.
    pub flow_of: Vec<u64>,
    /// The connections of each request and of its response, in the order of requests.
    pub exchanges: Vec<(u32, u32)>,
    /// Flows without a route at the start: those with a failed end, and the others.
    pub dropped: (u64, u64),
    /// The directed link whose queue is recorded.
    pub watch: Option<u32>,
    /// The choices made where the experiment sets nothing.
    pub choices: Map<String, Value>,
}

/// The checked input, before any work is done.
pub struct Checked {
    /// The flows of the workload.
    pub demand: Demand,
    /// The faults over time.
    pub timeline: Timeline,
    /// Rates by directed link in Gb/s.
    pub gbps: Vec<f64>,
    /// The estimated cost of the run.
    pub estimate: Estimate,
    /// The failures that routing avoids from the start.
    pub failures: Failures,
}

/// # Errors
///
/// The findings for all parts of the experiment that this engine does not support.
pub fn check(
    network: &Network,
    experiment: &Experiment,
    settings: &Settings,
    seed: u64,
) -> Result<Checked, Vec<Finding>> {
    let topology = network.topology();
    let gbps = network.capacity_gbps(experiment.link_gbps);
    check_rates(&gbps)?;
    let mut timeline = Timeline::new(&experiment.faults, network, settings, seed)?;
    timeline.advance(0, &mut Vec::new());
    let failures = timeline.known(topology);
    let demand = experiment.workload.workload.demand(network, seed)?;
    let flows = demand.flows.len();
    let bytes = total_bytes(experiment, &demand);
    let mut estimate = Estimate::new(settings, gbps.len() as u64, flows, bytes, 2.0, 64);
    estimate.check()?;
    if settings.watch_flow.is_some_and(|flow| flow >= flows) {
        return Err(vec![
            Finding::error(
                "no-such-flow",
                "packet.watch_flow",
                format!(
                    "watch_flow is {}; the workload has {flows} flows, numbered from 0.",
                    settings.watch_flow.unwrap_or_default()
                ),
                "Give the number of a flow, or leave it out.",
            )
            .with_value(settings.watch_flow.unwrap_or_default())
            .with_limit(flows.saturating_sub(1)),
        ]);
    }
    let scheme = Scheme::at_rates(
        experiment.routing.as_deref(),
        topology,
        failures.clone(),
        gbps.clone(),
    )?;
    let sample = sample_of(&demand.flows);
    let routed = scheme.route(&sample, seed, &Progress::default());
    let mean = routed.map_or(0.0, |paths| paths.links.len() as f64 / paths.len().max(1) as f64);
    let fastest = gbps.iter().fold(0.0, |most: f64, &rate| most.max(rate));
    let round_trip = (2.0 * mean * settings.hop_delay_secs * 1e12) as u64;
    let window = settings
        .max_window
        .unwrap_or(window_for(settings, fastest, round_trip));
    estimate = Estimate::new(settings, gbps.len() as u64, flows, bytes, 2.0 * mean, window);
    estimate.check()?;
    Ok(Checked {
        demand,
        timeline,
        gbps,
        estimate,
        failures,
    })
}

/// The size of a flow of weight 1, in bytes.
fn size_of_flow(experiment: &Experiment) -> u64 {
    let gigabits = experiment
        .flow_gigabits
        .map(|gigabits| (gigabits * 1.25e8).max(1.0) as u64);
    experiment.workload.bytes.or(gigabits).unwrap_or(DEFAULT_BYTES)
}

/// Payload of all flows; saturating.
fn total_bytes(experiment: &Experiment, demand: &Demand) -> u64 {
    match &demand.timetable {
        Some(table) => table
            .bytes
            .iter()
            .fold(0, |sum, &bytes| sum.saturating_add(bytes)),
        None => {
            let bytes = size_of_flow(experiment);
            let weights: f64 = match &demand.weights {
                Some(weights) => weights.iter().sum(),
                None => demand.flows.len() as f64,
            };
            (weights * bytes as f64) as u64
        }
    }
}

fn bytes_of(experiment: &Experiment, demand: &Demand, flow: u64) -> u64 {
    if let Some(table) = &demand.timetable {
        return table.bytes[flow as usize];
    }
    let bytes = size_of_flow(experiment);
    match &demand.weights {
        Some(weights) => ((weights[flow as usize] * bytes as f64) as u64).max(1),
        None => bytes,
    }
}

fn sample_of(flows: &Flows) -> Flows {
    let step = (flows.len() / SAMPLED_FLOWS).max(1);
    let pairs = (0..flows.len())
        .step_by(step as usize)
        .map(|flow| flows.flow(flow));
    Flows::new(Vec::new(), Pattern::Listed(pairs.collect()))
}

/// Twice the capacity of a path, plus the same amount in its queue, as a power of two of packets.
fn window_for(settings: &Settings, gbps: f64, round_trip: u64) -> u64 {
    let path = gbps * round_trip as f64 / 8e3 / settings.payload_bytes() as f64;
    let queue = settings
        .queue_bytes
        .map_or(path, |bytes| bytes as f64 / settings.payload_bytes() as f64);
    ((2.0 * path + 2.0 * queue) as u64 + 64)
        .next_power_of_two()
        .clamp(64, 16_384)
}

/// Everything is ready for the first event.
///
/// # Errors
/// Findings, as of `check`, or that routing was cancelled.
pub fn set_up<'a>(
    network: &'a Network,
    experiment: &'a Experiment,
    settings: &Settings,
    seed: u64,
    progress: &Progress,
) -> Result<Setup<'a>, PredictError> {
    let Checked {
        demand,
        timeline,
        gbps,
        failures,
        ..
    } = check(network, experiment, settings, seed)?;
    let topology = network.topology();
    let pairs = (settings.path_hash == PathHash::Addresses).then(|| Pairs::new(&demand.flows));
    let routing_of = Routing {
        network,
        experiment,
        gbps: &gbps,
        flows: &demand.flows,
        seed,
        subflows: settings.subflows,
        pairs: pairs.as_ref(),
    };
    let name = scheme::known(experiment.routing.as_deref(), topology.spec())?;
    let rebinding = Rebinding::new(name, network, settings, &gbps, failures.clone());
    let (routes, routing) = match &rebinding {
        None => route_all(&routing_of, failures.clone(), progress)?,
        Some(rebinding) => {
            let route = |flows: &Flows, seed| Paths::route(rebinding.router(), flows, seed, progress);
            (route_by(&routing_of, route)?, rebinding.name())
        }
    };
    let relays = Relays::new(topology, settings.relay_secs > 0.0);
    let idle = Idle::new(settings, &gbps);
    let longest = longest_round_trip(&idle, &routes, demand.flows.len(), settings.subflows as usize);
    let fastest = gbps.iter().fold(0.0, |most: f64, &rate| most.max(rate));
    let window = settings
        .max_window
        .unwrap_or(window_for(settings, fastest, longest));
    let rules = rules(settings, seed, window, &gbps)?;
    let queue = |gbps: f64| {
        settings
            .queue_bytes
            .unwrap_or((gbps * longest as f64 / 8e3) as u64)
    };
    let packet = settings.mtu_bytes + settings.framing_bytes;
    let mut links: Vec<Link> = gbps
        .iter()
        .map(|&gbps| Link::new(gbps * 1e9, ps(settings.hop_delay_secs), queue(gbps), packet))
        .collect();
    for link in &mut links {
        link.mark = settings
            .ecn_threshold_bytes
            .map_or(link.mark, |bytes| link.time_of(bytes));
    }
    let wires = links.len() as u32;
    if settings.relay_secs > 0.0 {
        let processor = Link::processor(ps(settings.relay_secs), settings.relay_queue_packets);
        links.extend((0..topology.server_count()).map(|_| processor.clone()));
    }
    let slowest = links
        .iter()
        .map(|link| link.service(packet as u32))
        .max()
        .unwrap_or(1);
    // The time of a packet on an idle link. Behind another packet, its event is set when that
    // packet arrives.
    let turn = slowest + ps(settings.hop_delay_secs);
    let mut setup = Setup {
        core: Core::new(rules, links, wires, turn),
        choices: choices(settings, experiment, &gbps, window, longest, rebinding.is_some()),
        watch: None,
        network,
        settings: settings.clone(),
        seed,
        routing,
        timeline,
        failures,
        rebinding,
        gbps,
        flow_of: Vec::new(),
        exchanges: Vec::new(),
        dropped: (0, 0),
        demand,
        pairs,
    };
    if let Some(exchanges) = &setup.demand.exchanges {
        setup.core.give_up_after = ps(GIVE_UP_SECS.max(2.0 * exchanges.bound_secs.unwrap_or_default()));
    }
    setup.watch = watched_link(topology, settings, &routes)?;
    setup.add_flows(experiment, &routes, &relays, &idle)?;
    let all: Vec<u32> = (0..wires / 2).collect();
    setup.set_conditions(&all);
    setup.core.start();
    Ok(setup)
}

impl Setup<'_> {
    fn add_flows(
        &mut self,
        experiment: &Experiment,
        routes: &Routes,
        relays: &Relays,
        idle: &Idle,
    ) -> Result<(), Vec<Finding>> {
        let mut links = Vec::new();
        let mut pairs = Vec::new();
        let subflows = self.settings.subflows as usize;
        for flow in 0..self.demand.flows.len() {
            let (source, destination) = self.demand.flows.flow(flow);
            pairs.clear();
            for subflow in 0..subflows {
                let (Some(there), Some(back)) = (
                    routes.links(subflow, flow, false),
                    routes.links(subflow, flow, true),
                ) else {
                    continue;
                };
                let index = (self.core.senders.len() + pairs.len()) as u32;
                relays.expand(there, &mut links);
                let start = self.core.add_route(links.iter().copied(), index, false);
                relays.expand(back, &mut links);
                let end = self.core.add_route(links.iter().copied(), index, true);
                pairs.push((start, end, idle.round_trip(there, back)));
            }
            let after = self.predecessor(flow);
            if pairs.is_empty() || after == Some(None) {
                let failed = self.failures.node_failed(source) || self.failures.node_failed(destination);
                let counted = if failed {
                    &mut self.dropped.0
                } else {
                    &mut self.dropped.1
                };
                *counted += 1;
                continue;
            }
            let jitter = Draws::of(self.seed ^ 0x7374_6172, flow).unit() * self.settings.start_jitter_secs;
            let start_secs = self
                .demand
                .timetable
                .as_ref()
                .map_or(0.0, |table| table.starts_secs[flow as usize]);
            let bytes = bytes_of(experiment, &self.demand, flow);
            if bytes / u64::from(self.core.rules.payload) >= u64::from(u32::MAX / 2) {
                return Err(vec![
                    Finding::error(
                        "flow-too-long",
                        "workload.bytes",
                        format!(
                            "A flow of {bytes} bytes has more than 2^31 packets of {} bytes.",
                            self.core.rules.payload
                        ),
                        "Send fewer bytes, or raise packet.mtu_bytes.",
                    )
                    .with_value(bytes),
                ]);
            }
            let connection = self.core.connections.len() as u32;
            match after.flatten() {
                Some((before, pause)) => {
                    self.core.add_connection(bytes, NEVER, &pairs);
                    let answers = flow % 2 == 1;
                    self.core.chain(connection, before, pause, answers);
                    if answers {
                        self.exchanges.push((before, connection));
                    }
                }
                None => self.core.add_connection(bytes, ps(start_secs + jitter), &pairs),
            }
            self.flow_of.push(flow);
        }
        Ok(())
    }

    /// The connection after whose end a flow starts, and the pause in ps; `None` for a flow that
    /// waits for none, and `Some(None)` if that connection is missing because it has no route.
    fn predecessor(&self, flow: u64) -> Option<Option<(u32, u64)>> {
        let exchanges = self.demand.exchanges.as_ref()?;
        let (before, pause_secs) = exchanges.after[flow as usize]?;
        let found = self.flow_of.binary_search(&before).ok();
        Some(found.map(|connection| (connection as u32, ps(pause_secs))))
    }

    /// Applies the current faults to these links, in both directions.
    pub fn set_conditions(&mut self, links: &[u32]) {
        let longest = self.choices["idle_round_trip_ps"].as_u64().unwrap_or_default();
        let mut states = Vec::with_capacity(2 * links.len());
        for &link in links {
            for directed in [link * 2, link * 2 + 1] {
                let gbps = self.gbps[directed as usize];
                let condition = self.timeline.condition(link, gbps * 1e9);
                let queue_bytes = self
                    .settings
                    .queue_bytes
                    .unwrap_or((gbps * longest as f64 / 8e3) as u64);
                let state = LinkState {
                    rate_bits_per_sec: condition.rate_bits_per_sec,
                    queue_bytes,
                    mark_bytes: self.settings.ecn_threshold_bytes,
                    delay: ps(self.settings.hop_delay_secs) + condition.delay,
                    loss_ratio: condition.loss_ratio,
                    dead: condition.dead,
                };
                states.push((directed, state));
            }
        }
        self.core.set_links(&states);
    }
}
