//! Routes of flows: data there, acknowledgements back, for each subflow; with the servers'
//! processors that packets pass.

use std::collections::BTreeMap;

use cubeyard_routing::Failures;
use cubeyard_routing::random::mix;
use cubeyard_topology::{NodeId, Topology};

use super::links::Link;
use super::settings::Settings;
use super::timeline::ps;
use crate::count::{Cancelled, Progress};
use crate::engine::PredictError;
use crate::experiment::Experiment;
use crate::flow::ends_at_server;
use crate::flows::{Flows, Pattern};
use crate::network::Network;
use crate::paths::Paths;
use crate::scheme::Scheme;

/// Distinguishes the draws of acknowledgements' routes from those of data.
const BACK: u64 = 0x6261_636b;

/// Routes of all flows there and back, a pair for each subflow.
pub struct Routes(Vec<(Paths, Paths)>);

/// The seed of each subflow's routes, of data.
pub fn seeds(seed: u64, subflows: u64) -> Vec<u64> {
    let other = |subflow| mix(seed ^ mix(subflow));
    (0..subflows)
        .map(|subflow| if subflow == 0 { seed } else { other(subflow) })
        .collect()
}

/// The routes of the experiment's scheme under these failures, with its name.
///
/// # Errors
/// A finding for an unknown scheme, or that routing was cancelled.
pub fn route_all(
    of: &Routing<'_>,
    failures: Failures,
    progress: &Progress,
) -> Result<(Routes, &'static str), PredictError> {
    let scheme = Scheme::at_rates(
        of.experiment.routing.as_deref(),
        of.network.topology(),
        failures,
        of.gbps.to_vec(),
    )?;
    let routes = route_by(of, |flows, seed| scheme.route(flows, seed, progress))?;
    Ok((routes, scheme.name()))
}

/// The routes of all flows that `route` returns for a seed.
///
/// # Errors
/// That routing was cancelled.
pub fn route_by(
    of: &Routing<'_>,
    route: impl Fn(&Flows, u64) -> Result<Paths, Cancelled>,
) -> Result<Routes, PredictError> {
    let flows = of.pairs.map_or(of.flows, |pairs| &pairs.flows);
    let turned = (0..flows.len())
        .map(|flow| flows.flow(flow))
        .map(|(from, to)| (to, from));
    let reverse = Flows::new(Vec::new(), Pattern::Listed(turned.collect()));
    let mut all = Vec::new();
    for seed in seeds(of.seed, of.subflows) {
        let mut there = route(flows, seed)?;
        let mut back = route(&reverse, mix(seed ^ BACK))?;
        if let Some(pairs) = of.pairs {
            (there, back) = (together(&there, &pairs.of), together(&back, &pairs.of));
        }
        all.push((there, back));
    }
    Ok(Routes(all))
}

/// Pairs of servers that have flows, whose connections all take the same route.
#[derive(Debug)]
pub struct Pairs {
    /// One flow per pair, in the order of their first occurrence.
    pub flows: Flows,
    /// The pair of each flow.
    pub of: Vec<u32>,
}

impl Pairs {
    /// The pairs of all flows.
    pub fn new(flows: &Flows) -> Pairs {
        let mut seen = BTreeMap::new();
        let mut pairs = Vec::new();
        let mut pair_of = |ends| {
            *seen.entry(ends).or_insert_with(|| {
                pairs.push(ends);
                pairs.len() as u32 - 1
            })
        };
        let of = (0..flows.len()).map(|flow| pair_of(flows.flow(flow))).collect();
        Pairs {
            flows: Flows::new(Vec::new(), Pattern::Listed(pairs)),
            of,
        }
    }
}

/// The paths of flows, each of which takes the path of its pair.
fn together(paths: &Paths, of: &[u32]) -> Paths {
    let mut same = Paths {
        offsets: vec![0],
        links: Vec::with_capacity(paths.links.len()),
        dropped: Vec::new(),
    };
    for (flow, &first) in of.iter().enumerate() {
        let path = paths.path(first as usize);
        if path.is_empty() {
            same.dropped.push(flow as u32);
        }
        same.links.extend_from_slice(path);
        same.offsets.push(same.links.len() as u32);
    }
    same
}

/// The input of routing for a run.
pub struct Routing<'a> {
    /// The network of the run.
    pub network: &'a Network,
    /// The experiment of the run.
    pub experiment: &'a Experiment,
    /// Rates by directed link in Gb/s.
    pub gbps: &'a [f64],
    /// The flows of the run.
    pub flows: &'a Flows,
    /// The seed of the run.
    pub seed: u64,
    /// Number of routes per flow.
    pub subflows: u64,
    /// The pairs, if all connections of two servers share one route.
    pub pairs: Option<&'a Pairs>,
}

impl Routes {
    /// Calls `visit` with every link of every route of data.
    pub fn each_data_link(&self, mut visit: impl FnMut(u32)) {
        for (there, _) in &self.0 {
            there.links.iter().for_each(|&link| visit(link));
        }
    }

    /// The links of a flow's subflow there or back; `None` when there is no route.
    pub fn links(&self, subflow: usize, flow: u64, back: bool) -> Option<&[u32]> {
        let (there, reverse) = &self.0[subflow];
        let paths = if back { reverse } else { there };
        let links = paths.path(flow as usize);
        // Flows go between different servers, so that a route has links.
        (!links.is_empty()).then_some(links)
    }
}

/// Puts servers' processors between the links of a route.
#[derive(Debug)]
pub struct Relays {
    into_server: Vec<bool>,
    heads: Vec<NodeId>,
    wires: u32,
    costs: bool,
}

impl Relays {
    /// Relays of a topology; if `costs`, its servers take time to relay.
    pub fn new(topology: &Topology, costs: bool) -> Relays {
        let links = topology.links();
        Relays {
            into_server: ends_at_server(topology),
            heads: (0..links.len() * 2)
                .map(|directed| {
                    if directed % 2 == 0 {
                        links.b[directed / 2]
                    } else {
                        links.a[directed / 2]
                    }
                })
                .collect(),
            wires: links.len() as u32 * 2,
            costs,
        }
    }

    /// Writes a route with the processors of relaying servers to `out`.
    pub fn expand(&self, links: &[u32], out: &mut Vec<u32>) {
        out.clear();
        for (place, &link) in links.iter().enumerate() {
            out.push(link);
            if self.costs && place + 1 < links.len() && self.into_server[link as usize] {
                out.push(self.wires + self.heads[link as usize]);
            }
        }
    }
}

/// Computes round trips in the idle network.
pub struct Idle {
    delay: u64,
    relay: u64,
    data: Vec<u64>,
    ack: Vec<u64>,
}

impl Idle {
    /// Computes with these rates by directed link, in Gb/s.
    pub fn new(settings: &Settings, gbps: &[f64]) -> Idle {
        let time = |bytes: u64| {
            let of = |&gbps: &f64| Link::new(gbps * 1e9, 0, 0, 0).time_of(bytes);
            gbps.iter().map(of).collect()
        };
        Idle {
            delay: ps(settings.hop_delay_secs),
            relay: ps(settings.relay_secs),
            data: time(settings.mtu_bytes + settings.framing_bytes),
            ack: time(settings.overhead_bytes()),
        }
    }

    /// Round trip of a full packet and its acknowledgement, in ps. It includes relaying at every
    /// hop, so it is an upper bound.
    pub fn round_trip(&self, there: &[u32], back: &[u32]) -> u64 {
        let sum = |links: &[u32], times: &[u64]| -> u64 {
            links
                .iter()
                .map(|&link| times[link as usize] + self.delay + self.relay)
                .sum()
        };
        sum(there, &self.data) + sum(back, &self.ack)
    }
}

/// The longest of all flows, in ps.
pub fn longest_round_trip(idle: &Idle, routes: &Routes, flows: u64, subflows: usize) -> u64 {
    let trip = |subflow, flow| {
        let (there, back) = (
            routes.links(subflow, flow, false)?,
            routes.links(subflow, flow, true)?,
        );
        Some(idle.round_trip(there, back))
    };
    (0..subflows)
        .flat_map(|subflow| (0..flows).filter_map(move |flow| trip(subflow, flow)))
        .max()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_of_a_pair_are_one_and_directions_are_two() {
        let flows = Flows::new(
            Vec::new(),
            Pattern::Listed(vec![(3, 1), (1, 3), (3, 1), (0, 2), (1, 3)]),
        );
        let pairs = Pairs::new(&flows);
        assert_eq!(pairs.of, [0, 1, 0, 2, 1]);
        let ends: Vec<_> = (0..pairs.flows.len())
            .map(|pair| pairs.flows.flow(pair))
            .collect();
        assert_eq!(ends, [(3, 1), (1, 3), (0, 2)]);
    }
}
