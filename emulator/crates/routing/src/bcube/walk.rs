//! The paths of BuildPathSet straight to links, without a list of hops: what an all-to-all spends its time on.

use cubeyard_topology::NodeId;

use super::shape::Shape;
use crate::failures::Failures;
use crate::path::DirectedLink;

/// Marks a port that leads nowhere; links are far fewer than 2^30.
const DEAD: u32 = 1 << 31;

/// Tables by `server * levels + level` that make one hop two look-ups and an addition.
#[derive(Debug)]
pub(super) struct Walk {
    levels: usize,
    /// The digit times its weight: what the level adds to the server's number.
    parts: Vec<u32>,
    /// The direction out of the server, with [`DEAD`] where server, cable or switch have failed.
    outward: Vec<DirectedLink>,
    /// By level: what one more adds to the number, and the number past the last digit.
    step: Vec<u32>,
    end: Vec<u32>,
}

impl Walk {
    pub fn new(shape: &Shape, failures: &Failures) -> Walk {
        let levels = shape.levels;
        let all =
            || (0..shape.servers()).flat_map(move |server| (0..levels).map(move |level| (server, level)));
        let step: Vec<u32> = (0..levels).map(|level| shape.weight(level)).collect();
        let outward = |(server, level): (NodeId, usize)| {
            let dead = failures.node_failed(server) || !shape.port_alive(server, level, failures);
            shape.ports().outward(server, level as u32) | if dead { DEAD } else { 0 }
        };
        Walk {
            levels,
            parts: all()
                .map(|(server, level)| shape.digit(server, level) * step[level])
                .collect(),
            outward: all().map(outward).collect(),
            end: (0..levels)
                .map(|level| step[level] * shape.radix[level])
                .collect(),
            step,
        }
    }

    /// Appends the path that leaves `source` by `level` (see [`super::path_leaving_by`]); whether there is
    /// one and it is alive. What a dead one appended is the caller's to remove.
    #[inline]
    pub fn leaving_by(
        &self,
        source: NodeId,
        destination: NodeId,
        level: usize,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
        let levels = self.levels;
        let from = &self.parts[source as usize * levels..][..levels];
        let to = &self.parts[destination as usize * levels..][..levels];
        let direct = from[level] != to[level];
        // AltDCRouting goes by the neighbour whose digit is one more, and back at the very end.
        let next = from[level] + self.step[level];
        let next = if next == self.end[level] { 0 } else { next };
        let first = if direct { to[level] } else { next };
        if first == from[level] {
            return false;
        }
        // Every hop is written and kept only if it goes anywhere: which digits differ is chance, and a
        // branch guessed wrong costs more than the two look-ups.
        let start = path.len();
        path.resize(start + 2 * levels + 2, 0);
        let links = &mut path[start..];
        let (mut at, mut length, mut seen) = (source, 0, 0);
        let mut hop = |level: usize, before: u32, after: u32| {
            let near = self.outward[at as usize * levels + level];
            at = at - before + after;
            let far = self.outward[at as usize * levels + level];
            links[length] = near & !DEAD;
            links[length + 1] = (far & !DEAD) ^ 1;
            let moves = u32::from(before != after);
            length += 2 * moves as usize;
            seen |= (near | far) & (DEAD * moves);
        };
        hop(level, from[level], first);
        let mut other = level;
        for _ in 1..levels {
            other = if other == 0 { levels - 1 } else { other - 1 };
            hop(other, from[other], to[other]);
        }
        hop(level, first, to[level]);
        path.truncate(start + length);
        seen == 0
    }

    /// Appends BCubeRouting's path with the permutation `k, k-1, ..., 0`; whether it is alive.
    #[inline]
    pub fn fixed(&self, source: NodeId, destination: NodeId, path: &mut Vec<DirectedLink>) -> bool {
        let from = &self.parts[source as usize * self.levels..][..self.levels];
        let to = &self.parts[destination as usize * self.levels..][..self.levels];
        // In an all-to-all consecutive flows differ in the same digits: here a branch is guessed right.
        let (mut at, mut seen) = (source, 0);
        for level in (0..self.levels).rev() {
            if from[level] != to[level] {
                let near = self.outward[at as usize * self.levels + level];
                at = at - from[level] + to[level];
                let far = self.outward[at as usize * self.levels + level];
                path.push(near & !DEAD);
                path.push((far & !DEAD) ^ 1);
                seen |= (near | far) & DEAD;
            }
        }
        seen == 0
    }
}
