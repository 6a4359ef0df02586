//! Tree routing: up to the common ancestor, down to the server. There is one path. `[bcube §8]`

use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, a_to_b, ends_alive, link_of};

/// The only path of a tree; a broken one is a dropped flow.
#[derive(Debug)]
pub struct TreeRouting {
    /// The node above, and the direction up to it, by node; the root has itself.
    above: Vec<(NodeId, DirectedLink)>,
    failures: Failures,
}

impl TreeRouting {
    /// Tree routing; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<TreeRouting> {
        let TopologySpec::Tree(_) = topology.spec() else {
            return None;
        };
        let links = topology.links();
        let mut above: Vec<_> = (0..topology.node_count()).map(|node| (node, 0)).collect();
        for link in 0..links.len() {
            above[links.a[link] as usize] = (links.b[link], a_to_b(link as u32));
        }
        Some(TreeRouting { above, failures })
    }
}

impl Router for TreeRouting {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        _flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        ends_alive(source, destination, &self.failures)?;
        // All servers are equally deep, so both sides reach their common ancestor in the same step.
        let (mut up, mut down) = (source, destination);
        while up != down {
            for side in [&mut up, &mut down] {
                let (above, directed) = self.above[*side as usize];
                let broken = self.failures.node_failed(above) || self.failures.link_failed(link_of(directed));
                if broken || above == *side {
                    path.clear();
                    return Err(NoPath::NotFound);
                }
                path.push(directed);
                *side = above;
            }
        }
        // Pushed in turns, up and down: the ways up come first, then those down in reverse.
        let half = path.len() / 2;
        let downwards: Vec<DirectedLink> = (0..half).map(|i| path[2 * i + 1] ^ 1).collect();
        for i in 0..half {
            path[i] = path[2 * i];
        }
        for (i, &directed) in downwards.iter().rev().enumerate() {
            path[half + i] = directed;
        }
        Ok(())
    }
}
