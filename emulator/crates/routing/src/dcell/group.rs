//! Link-state routing inside one DCell_b: a breadth-first search over what is alive there. `[dcell §4.3]`

use cubeyard_topology::NodeId;

use super::shape::{Hop, Shape};
use crate::failures::Failures;

/// The live servers of one DCell_b as seen from one of them; reused from search to search.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    first: NodeId,
    /// Servers reached and how, nearest first: the hop, and the position of the server before.
    reached: Vec<(Hop, u32)>,
    /// Position in `reached` by server, `u32::MAX` when not reached.
    position: Vec<u32>,
}

impl Group {
    /// Searches the DCell_`level` around `from`.
    pub fn search(&mut self, shape: &Shape, failures: &Failures, level: usize, from: NodeId) {
        let size = shape.t[level] as u32;
        self.first = from / size * size;
        let end = self.first.saturating_add(size).min(shape.servers());
        self.position.clear();
        self.position.resize((end - self.first) as usize, u32::MAX);
        self.reached.clear();
        self.position[(from - self.first) as usize] = 0;
        self.reached.push((
            Hop {
                server: from,
                level: 0,
            },
            0,
        ));
        let n = shape.t[0] as u32;
        let mut head = 0;
        while let Some(&(Hop { server: at, .. }, _)) = self.reached.get(head) {
            let first = at / n * n;
            if shape.port_alive(at, 0, failures) {
                for next in first..(first + n).min(end) {
                    self.enter(shape, failures, at, next, 0, head);
                }
            }
            for up in 1..=level {
                if let Some(next) = shape.peer(at, up) {
                    self.enter(shape, failures, at, next, up, head);
                }
            }
            head += 1;
        }
    }

    fn enter(
        &mut self,
        shape: &Shape,
        failures: &Failures,
        at: NodeId,
        next: NodeId,
        level: usize,
        head: usize,
    ) {
        let slot = (next - self.first) as usize;
        if self.position[slot] == u32::MAX && shape.hop_alive(at, next, level, failures) {
            self.position[slot] = self.reached.len() as u32;
            let hop = Hop {
                server: next,
                level: level as u8,
            };
            self.reached.push((hop, head as u32));
        }
    }

    /// The servers reached, nearest first, the one searched from at their head.
    pub fn nearest_first(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.reached.iter().map(|(hop, _)| hop.server)
    }

    /// Servers reached, nearest first, each with the place in this order of the one before it and the
    /// level of the link between; the one searched from comes first.
    pub fn tree(&self) -> impl Iterator<Item = (NodeId, usize, u8)> + '_ {
        self.reached
            .iter()
            .map(|&(hop, before)| (hop.server, before as usize, hop.level))
    }

    /// Appends the hops to a server of this DCell_b; whether it was reached.
    pub fn path_to(&self, to: NodeId, hops: &mut Vec<Hop>) -> bool {
        let Some(&position) = self.position.get((to - self.first) as usize) else {
            return false;
        };
        if position == u32::MAX {
            return false;
        }
        let mark = hops.len();
        let mut at = position as usize;
        while at != 0 {
            let (hop, before) = self.reached[at];
            hops.push(hop);
            at = before as usize;
        }
        hops[mark..].reverse();
        true
    }
}
