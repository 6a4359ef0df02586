//! Metrics of networks without closed forms: distances and cuts, found by searching the links.
//!
//! Not here: closed forms. If a search stops at its limit of work, its result is reported as a
//! bound.

use super::common::utilisation;
use crate::bfs;
use crate::graph::{Csr, Links, NodeId};
use crate::metrics::{Metric, StructureMetrics};
use crate::topology::Topology;

/// Word operations that distances of one network may take; beyond, they are bounded instead.
const MOST_WORK: u64 = 200_000_000;
/// Passes over all switches in the search of a cut.
const CUT_PASSES: u32 = 20;

/// Distances between servers, in links; servers do not relay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Survey {
    /// The longest distance; an upper bound if not `exact`.
    pub farthest: u32,
    /// The mean of the pairs that have a path; `None` if it was not searched or no pair has a path.
    pub mean: Option<f64>,
    /// Whether all pairs were searched.
    pub exact: bool,
    /// Ordered pairs of servers with a path, where `exact`.
    pub pairs: u64,
}

/// Searches all servers, 64 at once: servers / 64 x diameter x links.
pub(crate) fn survey(servers: u32, nodes: u32, links: &Links) -> Survey {
    let csr = Csr::new(nodes, links);
    let batches = u64::from(servers.div_ceil(64));
    let once = u64::from(nodes) + 2 * links.len() as u64;
    let mut found = Survey {
        farthest: 0,
        mean: None,
        exact: true,
        pairs: 0,
    };
    let (mut sum, mut work) = (0, 0);
    for batch in 0..batches {
        let sources: Vec<NodeId> = (batch as u32 * 64..servers.min((batch as u32 + 1) * 64)).collect();
        let part = bfs::from_many(&csr, servers, false, &sources);
        work += once * u64::from(part.farthest + 2);
        if work > MOST_WORK {
            // No shortest path passes a switch twice.
            found.farthest = nodes - servers + 1;
            found.exact = false;
            return found;
        }
        found.farthest = found.farthest.max(part.farthest);
        found.pairs += part.pairs;
        sum += part.sum;
    }
    found.mean = (found.pairs > 0).then(|| sum as f64 / found.pairs as f64);
    found
}

/// The lightest cut found that leaves half of the servers (rounded down) on one side: an upper
/// bound.
///
/// The search starts with the first half of the servers on one side, and moves each switch to the
/// side to which most of its link weight goes, until none moves. The other candidate is to cut off
/// half of the servers one by one.
pub(crate) fn cut(servers: u32, nodes: u32, links: &Links, weight: impl Fn(usize) -> f64) -> f64 {
    let csr = Csr::new(nodes, links);
    let half = servers / 2;
    let mut side: Vec<bool> = (0..nodes).map(|node| node < half).collect();
    for node in servers..nodes {
        // Before the first pass a switch is on the side of the first server among its neighbours.
        side[node as usize] = csr.neighbours_of(node).iter().any(|&near| near < half);
    }
    for _ in 0..CUT_PASSES {
        let mut moved = false;
        for node in servers..nodes {
            let pull: f64 = csr
                .row(node)
                .map(|(near, link)| weight(link as usize) * if side[near as usize] { 1.0 } else { -1.0 })
                .sum();
            let wanted = if pull == 0.0 {
                side[node as usize]
            } else {
                pull > 0.0
            };
            moved |= wanted != side[node as usize];
            side[node as usize] = wanted;
        }
        if !moved {
            break;
        }
    }
    let crossing =
        (0..links.len()).filter(|&link| side[links.a[link] as usize] != side[links.b[link] as usize]);
    let found: f64 = crossing.map(&weight).sum();
    let mut own: Vec<f64> = (0..servers)
        .map(|server| csr.row(server).map(|(_, link)| weight(link as usize)).sum())
        .collect();
    own.sort_by(f64::total_cmp);
    let one_by_one: f64 = own[..half as usize].iter().sum();
    found.min(one_by_one)
}

/// The metrics of a network in which each server has one port and all links have one rate; `source`
/// cites where the one port is defined.
pub(crate) fn one_port_metrics(
    diameter: Metric,
    mean: Option<f64>,
    bits_per_sec: f64,
    source: &'static str,
    topology: &Topology,
) -> StructureMetrics {
    let (servers, nodes, links) = (topology.server_count(), topology.node_count(), topology.links());
    let average = mean.map(|mean| Metric::exact(mean, "links", "[ours]"));
    let cut = cut(servers, nodes, links, |_| 1.0);
    let bound = "Upper bound: the best cut found.";
    StructureMetrics {
        diameter: diameter.clone(),
        diameter_links: diameter,
        average_path: average.clone(),
        average_path_links: average,
        bisection: Metric::bound(cut, "links", "[ours]", bound),
        bisection_bits_per_sec: Metric::bound(cut * bits_per_sec, "bit/s", "[ours]", bound),
        disjoint_paths: Metric::exact(u32::from(servers > 1), "paths", "[ours]"),
        all_to_all_throughput: None,
        server_ports: Metric::exact(1.0, "ports", source),
        wires: Metric::exact(links.len() as f64, "links", "[ours]"),
        switch_ports_used: utilisation(topology),
    }
}
