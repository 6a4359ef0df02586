//! Leaf-spine routing: equal-cost multipath over the spines. `[rfc7938 §6.1]`
//!
//! A leaf draws among its live uplinks to spines that have a live link down to the destination's leaf, the spine among those
//! links. Without such a spine the flow has no path: nothing goes up twice. Next hops are computed, not kept in tables,
//! so that the memory does not grow with the number of destinations.

use cubeyard_topology::{LeafSpineSpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, ends_alive, link_of};
use crate::ports::PortTable;
use crate::random::Draws;

/// ECMP over the live spines.
#[derive(Debug)]
pub struct LeafSpineRouting {
    servers_per_leaf: u32,
    spines: u32,
    uplinks_per_spine: u32,
    ports: PortTable,
    failures: Failures,
}

impl LeafSpineRouting {
    /// Leaf-spine routing; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<LeafSpineRouting> {
        let TopologySpec::LeafSpine(LeafSpineSpec {
            servers_per_leaf,
            spines,
            uplinks_per_spine,
            ..
        }) = *topology.spec()
        else {
            return None;
        };
        Some(LeafSpineRouting {
            servers_per_leaf,
            spines,
            uplinks_per_spine,
            ports: PortTable::new(topology),
            failures,
        })
    }

    /// The node past `port`, which has a cable, if the cable and that node are alive.
    #[inline]
    fn step(&self, at: NodeId, port: u32) -> Option<(NodeId, DirectedLink)> {
        let (far, directed) = (self.ports.far(at, port), self.ports.outward(at, port));
        let alive = !self.failures.node_failed(far) && !self.failures.link_failed(link_of(directed));
        alive.then_some((far, directed))
    }

    /// The live links up from a leaf to a spine.
    fn ups(&self, leaf: NodeId, spine: u32) -> impl Iterator<Item = DirectedLink> {
        let first = self.servers_per_leaf + spine * self.uplinks_per_spine;
        (first..first + self.uplinks_per_spine).filter_map(move |port| Some(self.step(leaf, port)?.1))
    }

    /// The link up from one leaf and the link down to another, by the flow's draws.
    fn cross(&self, from: NodeId, to: NodeId, draws: &mut Draws) -> Option<[DirectedLink; 2]> {
        let (spine, up) = if self.failures.is_empty() {
            let uplink = choose(self.spines * self.uplinks_per_spine, draws);
            let (_, up) = self.step(from, self.servers_per_leaf + uplink)?;
            (uplink / self.uplinks_per_spine, up)
        } else {
            let useful = || {
                (0..self.spines)
                    .filter(|&spine| self.ups(to, spine).next().is_some())
                    .flat_map(|spine| self.ups(from, spine).map(move |up| (spine, up)))
            };
            useful().nth(choose(useful().count() as u32, draws) as usize)?
        };
        // A spine's links down are the leaf's links up to it, the other way.
        let downs = || self.ups(to, spine);
        let down = downs().nth(choose(downs().count() as u32, draws) as usize)? ^ 1;
        Some([up, down])
    }
}

/// A number below `count`; nothing is drawn where there is no choice.
fn choose(count: u32, draws: &mut Draws) -> u32 {
    if count > 1 { draws.below(count) } else { 0 }
}

impl Router for LeafSpineRouting {
    fn name(&self) -> &'static str {
        "leaf-spine"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        ends_alive(source, destination, &self.failures)?;
        if source == destination {
            return Ok(());
        }
        let (Some((from, first)), Some((to, last))) = (self.step(source, 0), self.step(destination, 0))
        else {
            return Err(NoPath::NotFound);
        };
        path.push(first);
        if from != to {
            let Some(crossing) = self.cross(from, to, &mut Draws::new(flow)) else {
                path.clear();
                return Err(NoPath::NotFound);
            };
            path.extend(crossing);
        }
        path.push(last ^ 1);
        Ok(())
    }
}
