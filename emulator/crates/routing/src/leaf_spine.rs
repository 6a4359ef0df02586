//! Leaf-spine routing: equal-cost multipath over spines, and between pods over super-spines.
//! `[rfc7938 §6.1]`
//!
//! A switch draws among its live links up from which live links lead down to the destination's
//! leaf: a leaf among those to spines, and between pods a spine among those to super-spines; then
//! each switch draws among such links down. Leaves of a pod without a common live spine use
//! super-spines too, as in the switches' tables (`tables`). Without such links the flow has no
//! path, because no path goes up twice. Next hops are computed, not stored in tables, so that the
//! memory does not grow with the number of destinations.

use cubeyard_topology::{LeafSpineSpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, ends_alive, link_of};
use crate::ports::PortTable;
use crate::random::Draws;

/// ECMP over the live spines and super-spines.
#[derive(Debug)]
pub struct LeafSpineRouting {
    servers_per_leaf: u32,
    leaves: u32,
    spines: u32,
    super_spines: u32,
    uplinks_per_spine: u32,
    uplinks_per_super_spine: u32,
    first_leaf: NodeId,
    first_spine: NodeId,
    ports: PortTable,
    failures: Failures,
}

/// A link that leaves a switch, and the index of the switch to which it leads: a spine in its pod,
/// or a super-spine.
type Turn = (u32, DirectedLink);

impl LeafSpineRouting {
    /// Leaf-spine routing; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<LeafSpineRouting> {
        let TopologySpec::LeafSpine(LeafSpineSpec {
            servers_per_leaf,
            leaves,
            spines,
            super_spines,
            uplinks_per_spine,
            uplinks_per_super_spine,
            ..
        }) = *topology.spec()
        else {
            return None;
        };
        Some(LeafSpineRouting {
            servers_per_leaf,
            leaves,
            spines,
            super_spines,
            uplinks_per_spine,
            uplinks_per_super_spine,
            first_leaf: topology.tiers().first()?.first,
            first_spine: topology.tiers().get(1)?.first,
            ports: PortTable::new(topology),
            failures,
        })
    }

    fn pod(&self, leaf: NodeId) -> u32 {
        (leaf - self.first_leaf) / self.leaves
    }

    fn spine(&self, pod: u32, place: u32) -> NodeId {
        self.first_spine + pod * self.spines + place
    }

    /// The node past `port`, which has a cable, if the cable and that node are alive.
    #[inline]
    fn step(&self, at: NodeId, port: u32) -> Option<(NodeId, DirectedLink)> {
        let (far, directed) = (self.ports.far(at, port), self.ports.outward(at, port));
        let alive = !self.failures.node_failed(far) && !self.failures.link_failed(link_of(directed));
        alive.then_some((far, directed))
    }

    /// The live links up from a leaf to a spine of its pod.
    fn ups(&self, leaf: NodeId, spine: u32) -> impl Iterator<Item = DirectedLink> {
        let first = self.servers_per_leaf + spine * self.uplinks_per_spine;
        (first..first + self.uplinks_per_spine).filter_map(move |port| Some(self.step(leaf, port)?.1))
    }

    /// The live links up from a live spine to a super-spine; these are also the live links down
    /// from it.
    fn tops(&self, spine: NodeId, top: u32) -> impl Iterator<Item = DirectedLink> {
        let first = self.leaves * self.uplinks_per_spine + top * self.uplinks_per_super_spine;
        (first..first + self.uplinks_per_super_spine).filter_map(move |port| Some(self.step(spine, port)?.1))
    }

    /// Links down from a super-spine to the spines of a leaf's pod that have a live link down to
    /// the leaf.
    fn to_pod(&self, top: u32, leaf: NodeId) -> impl Iterator<Item = Turn> {
        let pod = self.pod(leaf);
        (0..self.spines)
            .filter(move |&spine| self.ups(leaf, spine).next().is_some())
            .flat_map(move |spine| {
                self.tops(self.spine(pod, spine), top)
                    .map(move |up| (spine, up ^ 1))
            })
    }

    /// Links up from a spine to super-spines that lead down to a leaf of another pod.
    fn over_tops(&self, spine: NodeId, leaf: NodeId) -> impl Iterator<Item = Turn> {
        (0..self.super_spines)
            .filter(move |&top| self.to_pod(top, leaf).next().is_some())
            .flat_map(move |top| self.tops(spine, top).map(move |up| (top, up)))
    }

    /// The links from one leaf to another, by the flow's random numbers.
    fn cross(&self, from: NodeId, to: NodeId, draws: &mut Draws, path: &mut Vec<DirectedLink>) -> Option<()> {
        let (near, far) = (self.pod(from), self.pod(to));
        if self.failures.is_empty() {
            return self.cross_whole(from, to, draws, path);
        }
        let joins =
            |&spine: &u32| self.ups(from, spine).next().is_some() && self.ups(to, spine).next().is_some();
        let is_within = near == far && (0..self.spines).any(|spine| joins(&spine));
        let useful = |&spine: &u32| {
            if is_within {
                self.ups(to, spine).next().is_some()
            } else {
                self.over_tops(self.spine(near, spine), to).next().is_some()
            }
        };
        let leads: Vec<u32> = (0..self.spines).filter(useful).collect();
        let (mut spine, up) = draw(
            || {
                leads
                    .iter()
                    .flat_map(|&spine| self.ups(from, spine).map(move |up| (spine, up)))
            },
            draws,
        )?;
        path.push(up);
        if !is_within {
            let (top, up) = draw(|| self.over_tops(self.spine(near, spine), to), draws)?;
            let (beyond, down) = draw(|| self.to_pod(top, to), draws)?;
            path.extend([up, down]);
            spine = beyond;
        }
        // A spine's links down are the reversed links of the leaf up to it.
        let (_, down) = draw(|| self.ups(to, spine).map(|up| (spine, up ^ 1)), draws)?;
        path.push(down);
        Some(())
    }

    /// The same with nothing failed, in a time that does not grow with the network.
    fn cross_whole(
        &self,
        from: NodeId,
        to: NodeId,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> Option<()> {
        let uplink = choose(self.spines * self.uplinks_per_spine, draws);
        let (mut spine, up) = self.step(from, self.servers_per_leaf + uplink)?;
        path.push(up);
        let far = self.pod(to);
        if self.pod(from) != far {
            let first = self.leaves * self.uplinks_per_spine;
            let (top, up) = self.step(
                spine,
                first + choose(self.super_spines * self.uplinks_per_super_spine, draws),
            )?;
            let width = self.spines * self.uplinks_per_super_spine;
            let (beyond, down) = self.step(top, far * width + choose(width, draws))?;
            path.extend([up, down]);
            spine = beyond;
        }
        let place = (to - self.first_leaf) % self.leaves;
        let (_, down) = self.step(
            spine,
            place * self.uplinks_per_spine + choose(self.uplinks_per_spine, draws),
        )?;
        path.push(down);
        Some(())
    }
}

/// One of the turns, with equal probability.
fn draw<I: Iterator<Item = Turn>>(turns: impl Fn() -> I, draws: &mut Draws) -> Option<Turn> {
    turns().nth(choose(turns().count() as u32, draws) as usize)
}

/// A number below `count`; draws nothing if there is only one.
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
        if from != to && self.cross(from, to, &mut Draws::new(flow), path).is_none() {
            path.clear();
            return Err(NoPath::NotFound);
        }
        path.push(last ^ 1);
        Ok(())
    }
}
