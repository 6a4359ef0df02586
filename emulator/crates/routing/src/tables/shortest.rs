//! Tables of networks without tiers: every node's next hops are those on a shortest live path.
//!
//! Each hop comes a link nearer to the destination, so no packet loops. Servers forward nothing; a
//! link between two servers is the next hop of these two only.

use cubeyard_topology::{NodeId, Topology};

use super::{Half, Hop, LiveLinks, NONE, reduced};

/// The distances of all nodes to one destination, over links up and down alike.
pub(super) struct Nearest {
    distance: Vec<u16>,
    servers: u32,
}

impl Nearest {
    pub fn new(topology: &Topology) -> Nearest {
        Nearest {
            distance: vec![NONE; topology.node_count() as usize],
            servers: topology.server_count(),
        }
    }

    pub fn find(&mut self, network: &LiveLinks, destination: NodeId) {
        self.distance.fill(NONE);
        self.distance[destination as usize] = 0;
        let mut queue = vec![destination];
        let mut next = 0;
        while let Some(&near) = queue.get(next) {
            next += 1;
            if near < self.servers && near != destination {
                continue;
            }
            let links = self.distance[near as usize].saturating_add(1);
            for half in halves(network, near) {
                if self.distance[half.far as usize] == NONE {
                    self.distance[half.far as usize] = links;
                    queue.push(half.far);
                }
            }
        }
    }

    /// The next hops of a node, in the order of links.
    pub fn hops(&self, network: &LiveLinks, node: NodeId) -> Vec<Hop> {
        let here = self.distance[node as usize];
        let mut nearer: Vec<(Half, u64)> = halves(network, node)
            .filter(|half| {
                let there = self.distance[half.far as usize];
                let forwards = half.far >= self.servers || there == 0;
                here != NONE && forwards && there.checked_add(1) == Some(here)
            })
            .map(|half| (*half, half.weight))
            .collect();
        nearer.sort_by_key(|(half, _)| half.directed);
        reduced(nearer)
    }
}

fn halves(network: &LiveLinks, node: NodeId) -> impl Iterator<Item = &Half> {
    network.ups[node as usize]
        .iter()
        .chain(&network.downs[node as usize])
}
