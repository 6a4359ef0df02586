//! Fair rates over given paths of servers: the paths that the flows of an emulation took.

use cubeyard_routing::path::{DirectedLink, a_to_b, b_to_a};
use cubeyard_topology::{Csr, Finding, NodeId, Topology};

use crate::maxmin::max_min_rates;
use crate::network::Network;
use crate::paths::Paths;

/// The max-min fair rate in Gb/s of every flow, over the path of servers `paths[flow]`, both ends
/// included. Consecutive servers are joined by a link, or by a switch. The flow of an empty path
/// has the rate 0. The slowest link has `link_gbps`, the others keep the plan's ratios.
///
/// Linear in the lengths of the paths times the ports of a node, plus [`max_min_rates`].
///
/// # Errors
/// A finding that names the path, for servers that no link and no switch joins.
pub fn rates_over(
    network: &Network,
    paths: &[Vec<NodeId>],
    link_gbps: f64,
) -> Result<Vec<f64>, Vec<Finding>> {
    rates_within(network, paths, &network.scaled_gbps(link_gbps))
}

/// The same with a rate for each directed link, in Gb/s. The paths may name switches too.
pub fn rates_within(
    network: &Network,
    paths: &[Vec<NodeId>],
    gbps: &[f64],
) -> Result<Vec<f64>, Vec<Finding>> {
    let topology = network.topology();
    let adjacency = topology.adjacency();
    let mut links = Vec::new();
    let mut offsets = vec![0];
    let mut dropped = Vec::new();
    for (flow, path) in paths.iter().enumerate() {
        if path.len() < 2 {
            dropped.push(flow as u32);
        }
        for pair in path.windows(2) {
            let joined = join(topology, &adjacency, pair[0], pair[1]);
            links.extend(joined.ok_or_else(|| vec![not_joined(flow, pair)])?);
        }
        offsets.push(links.len() as u32);
    }
    let paths = Paths {
        offsets,
        links,
        dropped,
    };
    Ok(max_min_rates(&paths, gbps))
}

/// The directed links from a node to another, directly or by a switch; among several, those with
/// the lowest link number.
fn join(topology: &Topology, adjacency: &Csr, from: NodeId, to: NodeId) -> Option<Vec<DirectedLink>> {
    if from.max(to) >= topology.node_count() {
        return None;
    }
    let mut steps: Vec<(NodeId, u32)> = adjacency.row(from).collect();
    steps.sort_unstable_by_key(|&(_, link)| link);
    if let Some(&(_, link)) = steps.iter().find(|&&(next, _)| next == to) {
        return Some(vec![direction(topology, link, from)]);
    }
    let switches = steps.iter().filter(|&&(next, _)| !topology.is_server(next));
    for &(switch, first) in switches {
        if let Some((_, second)) = adjacency.row(switch).find(|&(next, _)| next == to) {
            return Some(vec![
                direction(topology, first, from),
                direction(topology, second, switch),
            ]);
        }
    }
    None
}

fn direction(topology: &Topology, link: u32, from: NodeId) -> DirectedLink {
    if topology.links().a[link as usize] == from {
        a_to_b(link)
    } else {
        b_to_a(link)
    }
}

fn not_joined(flow: usize, pair: &[NodeId]) -> Finding {
    Finding::error(
        "not-joined",
        format!("paths.{flow}"),
        format!("Servers {} and {} share no link and no switch.", pair[0], pair[1]),
        "Give the servers of a path one after the other.",
    )
}
