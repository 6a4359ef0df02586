//! Dragonfly routing: minimal, and Valiant's by a random group. `[dragonfly §4.1]`
//!
//! Minimal: at most one link within the source's group, one to the destination's group and one
//! inside it; if several links join the two groups, a live one is drawn. Valiant: minimal to a
//! random third group, then minimal from there. If failures leave neither path, the flow takes any
//! shortest live path, so it has a path whenever one exists.

use cubeyard_topology::{DragonflySpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, alone, ends_alive, link_of};
use crate::ports::{NO_LINK, PortTable};
use crate::random::Draws;
use crate::shortest::{Choice, Shortest};

/// Minimal or Valiant's routing.
#[derive(Debug)]
pub struct DragonflyRouting {
    valiant: bool,
    a: u32,
    p: u32,
    h: u32,
    groups: u32,
    servers: u32,
    ports: PortTable,
    any: Shortest,
    failures: Failures,
}

impl DragonflyRouting {
    /// Minimal routing; `None` for other families.
    pub fn minimal(topology: &Topology, failures: Failures) -> Option<DragonflyRouting> {
        DragonflyRouting::new(topology, failures, false)
    }

    /// Valiant's routing; `None` for other families.
    pub fn valiant(topology: &Topology, failures: Failures) -> Option<DragonflyRouting> {
        DragonflyRouting::new(topology, failures, true)
    }

    fn new(topology: &Topology, failures: Failures, valiant: bool) -> Option<DragonflyRouting> {
        let TopologySpec::Dragonfly(DragonflySpec { a, p, h, .. }) = *topology.spec() else {
            return None;
        };
        Some(DragonflyRouting {
            valiant,
            a,
            p,
            h,
            groups: topology.switch_count() / a,
            servers: topology.server_count(),
            ports: PortTable::new(topology),
            any: Shortest::new(topology, failures.clone(), Choice::Equal),
            failures,
        })
    }

    fn group_of(&self, router: NodeId) -> u32 {
        (router - self.servers) / self.a
    }

    /// The link out of a node's port, if it, its far end and the node are alive.
    fn step(&self, at: NodeId, port: u32) -> Option<(NodeId, DirectedLink)> {
        let directed = self.ports.outward(at, port);
        if directed == NO_LINK {
            return None;
        }
        let far = self.ports.far(at, port);
        let alive = !self.failures.node_failed(far) && !self.failures.link_failed(link_of(directed));
        alive.then_some((far, directed))
    }

    /// The link between two routers of a group; no link if they are the same.
    fn within(&self, from: NodeId, to: NodeId) -> Option<Option<DirectedLink>> {
        if from == to {
            return Some(None);
        }
        let (from_place, to_place) = ((from - self.servers) % self.a, (to - self.servers) % self.a);
        let port = self.p
            + if to_place < from_place {
                to_place
            } else {
                to_place - 1
            };
        Some(Some(self.step(from, port)?.1))
    }

    /// The links from a group to another that a router can take, by the router at each end.
    fn crossings(&self, from: NodeId, group: u32) -> impl Iterator<Item = (NodeId, NodeId, DirectedLink)> {
        let near = self.group_of(from);
        let others = self.groups - 1;
        let place = if group < near { group } else { group - 1 };
        (place..self.a * self.h)
            .step_by(others.max(1) as usize)
            .filter_map(move |port| {
                let router = self.servers + near * self.a + port / self.h;
                let usable = !self.failures.node_failed(router) && self.within(from, router).is_some();
                let (far, directed) = self.step(router, self.p + self.a - 1 + port % self.h)?;
                usable.then_some((router, far, directed))
            })
    }

    /// Appends a path from a router to a router of another group, which can continue to `to` (if
    /// given), and returns that router.
    fn cross(
        &self,
        from: NodeId,
        group: u32,
        to: Option<NodeId>,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> Option<NodeId> {
        let ways = || {
            self.crossings(from, group)
                .filter(|&(_, far, _)| to.is_none_or(|to| self.within(far, to).is_some()))
        };
        let count = ways().count() as u32;
        let (router, far, directed) = ways().nth(if count > 1 { draws.below(count) } else { 0 } as usize)?;
        path.extend(self.within(from, router)?);
        path.push(directed);
        Some(far)
    }

    /// Appends the minimal path between two routers.
    fn minimal_way(
        &self,
        from: NodeId,
        to: NodeId,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> Option<()> {
        let group = self.group_of(to);
        let at = match self.group_of(from) == group {
            true => from,
            false => self.cross(from, group, Some(to), draws, path)?,
        };
        path.extend(self.within(at, to)?);
        Some(())
    }

    fn own_way(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Option<()> {
        let ((mut at, first), (to, last)) = (self.step(source, 0)?, self.step(destination, 0)?);
        let mut draws = Draws::new(flow);
        path.push(first);
        let (near, far) = (self.group_of(at), self.group_of(to));
        if self.valiant && near != far && self.groups > 2 {
            let drawn = draws.below(self.groups - 2);
            let (low, high) = (near.min(far), near.max(far));
            // The third groups in ascending order, without the two.
            let third = drawn + u32::from(drawn >= low);
            let third = third + u32::from(third >= high);
            at = self.cross(at, third, None, &mut draws, path)?;
        }
        self.minimal_way(at, to, &mut draws, path)?;
        path.push(last ^ 1);
        Some(())
    }
}

impl Router for DragonflyRouting {
    fn name(&self) -> &'static str {
        if self.valiant {
            "dragonfly-valiant"
        } else {
            "dragonfly-minimal"
        }
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
        let own = alone(path, |path| {
            self.own_way(source, destination, flow, path)
                .ok_or(NoPath::NotFound)
        });
        own.or_else(|_| self.any.route(source, destination, flow, path))
    }
}
