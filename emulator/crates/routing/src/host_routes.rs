//! Static IP routes between all servers of a network, for labs of plain Linux hosts.
//!
//! Where servers relay, a route's next hop is the next server on the shortest path; the switch
//! between them is a bridge. Elsewhere switches are routers with the next hops of
//! [`crate::tables`], and equal-cost next hops share the load. Consecutive destinations with the
//! same next hops share a route.
//!
//! Not here: addresses and commands (the exports have them), failures, and the papers' own
//! protocols.

use cubeyard_topology::{NodeId, Topology};

use crate::failures::Failures;
use crate::path::{DirectedLink, Router as _};
use crate::shortest::{Choice, Shortest};
use crate::tables::{Balance, Tables};

/// A next hop: the link that it takes and the node that receives the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The link that a packet takes.
    pub link: u32,
    /// The node that receives it.
    pub via: NodeId,
}

/// The route of a node to the servers `first..=last`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// The first destination of the range.
    pub first: NodeId,
    /// The last destination of the range, inclusive.
    pub last: NodeId,
    /// At least one; several share the load.
    pub hops: Vec<NextHop>,
}

/// The routes of every node, by destination; none for a switch that is a bridge, nor to a server's
/// own address. Time O(servers² · path length) where servers relay, else O(servers · links).
pub fn host_routes(topology: &Topology) -> Vec<Vec<HostRoute>> {
    let none = Failures::none(topology);
    match Tables::new(topology, &none, Balance::Equal) {
        Some(tables) => of_routers(topology, &tables),
        None => of_relays(topology, &Shortest::new(topology, none, Choice::First)),
    }
}

fn of_routers(topology: &Topology, tables: &Tables) -> Vec<Vec<HostRoute>> {
    let route = |node: NodeId, destination: NodeId| {
        let hops = tables.hops(node, destination);
        hops.iter()
            .map(|hop| NextHop {
                link: hop.directed / 2,
                via: hop.far,
            })
            .collect()
    };
    (0..topology.node_count())
        .map(|node| routes_of(topology, node, |to| route(node, to)))
        .collect()
}

fn of_relays(topology: &Topology, shortest: &Shortest) -> Vec<Vec<HostRoute>> {
    let mut path: Vec<DirectedLink> = Vec::new();
    (0..topology.node_count())
        .map(|node| {
            if !topology.is_server(node) {
                return Vec::new();
            }
            routes_of(topology, node, |destination| {
                // Every server is reached in a network without failures; if not, it has no route.
                if shortest.route(node, destination, 0, &mut path).is_err() {
                    return Vec::new();
                }
                let next = path
                    .iter()
                    .map(|&directed| head(topology, directed))
                    .find(|&node| topology.is_server(node));
                let hop = path
                    .first()
                    .zip(next)
                    .map(|(&first, via)| NextHop { link: first / 2, via });
                hop.into_iter().collect()
            })
        })
        .collect()
}

/// The node that a directed link leads to.
fn head(topology: &Topology, directed: DirectedLink) -> NodeId {
    let links = topology.links();
    let link = (directed / 2) as usize;
    if directed.is_multiple_of(2) {
        links.b[link]
    } else {
        links.a[link]
    }
}

fn routes_of(
    topology: &Topology,
    node: NodeId,
    mut hops_to: impl FnMut(NodeId) -> Vec<NextHop>,
) -> Vec<HostRoute> {
    let mut routes: Vec<HostRoute> = Vec::new();
    for destination in (0..topology.server_count()).filter(|&server| server != node) {
        let hops = hops_to(destination);
        if hops.is_empty() {
            continue;
        }
        match routes.last_mut() {
            Some(route) if route.last + 1 == destination && route.hops == hops => route.last = destination,
            _ => routes.push(HostRoute {
                first: destination,
                last: destination,
                hops,
            }),
        }
    }
    routes
}
