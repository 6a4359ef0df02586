//! The length of a path by each family's own measure.

use cubeyard_topology::{PathMeasure, Topology};

use crate::count::LinkFlows;

/// By directed link, whether it ends at a server: each such link on a path ends one hop.
pub fn ends_at_server(topology: &Topology) -> Vec<bool> {
    let links = topology.links();
    (0..links.len() * 2)
        .map(|directed| {
            let head = if directed % 2 == 0 {
                links.b[directed / 2]
            } else {
                links.a[directed / 2]
            };
            topology.is_server(head)
        })
        .collect()
}

/// The input with which [`LinkFlows::enter`] counts a path's hops; empty if the number of hops
/// follows from the number of links.
pub(crate) fn into_server(topology: &Topology) -> Vec<bool> {
    match topology.path_measure() {
        PathMeasure::HopsAtServers => ends_at_server(topology),
        PathMeasure::Links | PathMeasure::Hops { .. } => Vec::new(),
    }
}

/// The lengths of all paths together, and the longest, in the family's measure.
pub(crate) fn total_and_longest(topology: &Topology, load: &LinkFlows) -> (u64, u32) {
    match topology.path_measure() {
        PathMeasure::Links => (load.total_links, load.longest_links),
        PathMeasure::Hops { links_each } => (
            load.total_links / u64::from(links_each),
            load.longest_links / links_each,
        ),
        PathMeasure::HopsAtServers => {
            let ends = ends_at_server(topology);
            let entered = load.per_directed_link.iter().zip(ends).filter(|&(_, ends)| ends);
            (entered.map(|(&flows, _)| u64::from(flows)).sum(), load.most_hops)
        }
    }
}
