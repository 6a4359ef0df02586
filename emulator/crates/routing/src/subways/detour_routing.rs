//! Paths over detours, as the schedulers planned them. `[subways §6]`

use cubeyard_topology::{NodeId, Topology};

use super::detours::DetourPath;
use super::racks::Racks;
use super::routing::{SubwaysRouting, draw};
use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router};
use crate::random::Draws;

/// A rack's paths in one direction, in any one unit of capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RackDetours {
    /// The traffic that its own ToRs carry for it.
    pub straight: f64,
    /// Detours, and what each may carry.
    pub detours: Vec<(DetourPath, f64)>,
}

impl RackDetours {
    /// A way in proportion to what it carries; `None` straight.
    fn draw(&self, draws: &mut Draws) -> Option<&DetourPath> {
        if self.detours.is_empty() {
            return None;
        }
        let total: f64 = self.straight + self.detours.iter().map(|(_, capacity)| capacity).sum::<f64>();
        let mut left = draws.unit() * total;
        let drawn = self.detours.iter().find(|(_, capacity)| {
            left -= capacity;
            left < 0.0
        });
        drawn.map(|(path, _)| path)
    }
}

/// Straight routing in which racks with detours send a part of their flows over them, and receive
/// so.
#[derive(Debug)]
pub struct DetourRouting {
    straight: SubwaysRouting,
    racks: Racks,
    /// Indexed by rack: first the outgoing detours, then the incoming ones (stored as paths from
    /// the rack and followed backwards).
    detours: [Vec<RackDetours>; 2],
}

impl DetourRouting {
    /// Without detours: as long as nothing is known of the load. `None` for other families.
    pub fn unplanned(topology: &Topology, failures: Failures) -> Option<DetourRouting> {
        let racks = Racks::of(topology)?;
        let none = vec![RackDetours::default(); racks.count];
        DetourRouting::new(
            SubwaysRouting::adaptive(topology, failures)?,
            racks,
            [none.clone(), none],
        )
    }

    /// The same detours, with another routing for the traffic that takes none.
    #[must_use]
    pub fn over(&self, straight: SubwaysRouting) -> DetourRouting {
        DetourRouting {
            straight,
            racks: self.racks,
            detours: self.detours.clone(),
        }
    }

    /// Uses the detours of every rack, out and in. `None` if the number of entries differs from the
    /// number of racks.
    pub fn new(
        straight: SubwaysRouting,
        racks: Racks,
        detours: [Vec<RackDetours>; 2],
    ) -> Option<DetourRouting> {
        let one_each = detours.iter().all(|side| side.len() == racks.count);
        one_each.then_some(DetourRouting {
            straight,
            racks,
            detours,
        })
    }

    /// Appends the path from a server to the backbone: to the ToR where its detour ends or, without
    /// a detour, to a ToR of its ports. Returns that ToR, or `None` if a link or all relays of a
    /// rack have failed.
    fn out(
        &self,
        server: NodeId,
        detour: Option<&DetourPath>,
        side: usize,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> Option<NodeId> {
        let Some(detour) = detour else {
            let up = draw(self.straight.ups(server), side, draws)?;
            path.push(up.directed);
            return Some(up.above);
        };
        let first = self.racks.first_of_loop(self.racks.rack_of(server));
        let node = |place: usize| self.racks.tor_node(first + place);
        let mut at = node(*detour.steps.first()?);
        path.push(self.straight.link(server, at)?);
        for hop in detour.steps.windows(3).step_by(2) {
            let next = node(hop[2]);
            let servers = self.racks.servers_of(first + hop[1]);
            let count = self.racks.servers as u32;
            let start = draws.below(count);
            let (down, up) = (0..count).find_map(|turn| {
                let relay = servers.start + (start + turn) % count;
                Some((self.straight.link(relay, at)?, self.straight.link(relay, next)?))
            })?;
            path.extend([down ^ 1, up]);
            at = next;
        }
        Some(at)
    }

    fn detoured(
        &self,
        ends: [(NodeId, Option<&DetourPath>); 2],
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> Option<()> {
        let [(source, leaving), (destination, entering)] = ends;
        let from = self.out(source, leaving, 0, draws, path)?;
        let mut back = Vec::new();
        let to = self.out(destination, entering, 1, draws, &mut back)?;
        if from != to && !self.straight.between(from, to, draws, path) {
            return None;
        }
        path.extend(back.iter().rev().map(|directed| directed ^ 1));
        Some(())
    }
}

impl Router for DetourRouting {
    fn name(&self) -> &'static str {
        super::DETOUR
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        // These draws must be independent of those of the direct path, or all flows that detour
        // would be flows of one ToR.
        let mut draws = Draws::new(!flow);
        let [out, into] = &self.detours;
        let leaving = out[self.racks.rack_of(source)].draw(&mut draws);
        let entering = into[self.racks.rack_of(destination)].draw(&mut draws);
        self.straight.route(source, destination, flow, path)?;
        // Up one link and down one: over a shared ToR, which no detour replaces.
        if path.len() <= 2 || (leaving.is_none() && entering.is_none()) {
            return Ok(());
        }
        let mut other = Vec::with_capacity(16);
        let ends = [(source, leaving), (destination, entering)];
        if self.detoured(ends, &mut draws, &mut other).is_some() {
            *path = other;
        }
        Ok(())
    }
}
