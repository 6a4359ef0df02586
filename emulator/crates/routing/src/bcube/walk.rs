//! The paths of BuildPathSet straight to links, without a list of hops: what an all-to-all spends its time on.

use cubeyard_topology::NodeId;

use super::live::Live;
use super::shape::Shape;
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

/// A path while it is written.
struct Trail<'a, const LINKS: usize> {
    links: &'a mut [DirectedLink; LINKS],
    length: usize,
    at: NodeId,
    seen: u32,
}

impl<const LINKS: usize> Trail<'_, LINKS> {
    #[inline(always)]
    fn hop(&mut self, walk: &Walk, level: usize, before: u32, after: u32) {
        let near = walk.outward[self.at as usize * walk.levels + level];
        self.at = self.at - before + after;
        let far = walk.outward[self.at as usize * walk.levels + level];
        self.links[self.length] = near & !DEAD;
        self.links[self.length + 1] = (far & !DEAD) ^ 1;
        let moves = u32::from(before != after);
        self.length += 2 * moves as usize;
        self.seen |= (near | far) & (DEAD * moves);
    }
}

impl Walk {
    pub fn new(shape: &Shape, live: &Live) -> Walk {
        let levels = shape.levels;
        let all =
            || (0..shape.servers()).flat_map(move |server| (0..levels).map(move |level| (server, level)));
        let step: Vec<u32> = (0..levels).map(|level| shape.weight(level)).collect();
        let outward = |(server, level): (NodeId, usize)| {
            let dead = !live.has(server, level);
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
    #[inline(always)]
    pub fn leaving_by(
        &self,
        source: NodeId,
        destination: NodeId,
        level: usize,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
        // The same code thrice: for a known number of levels its loops are unrolled, and its links copied at once.
        match self.levels {
            4 => self.leaving::<10>(4, source, destination, level, path),
            3 => self.leaving::<8>(3, source, destination, level, path),
            levels => self.leaving::<66>(levels, source, destination, level, path),
        }
    }

    /// [`Walk::leaving_by`] for so many levels, whose paths have at most `LINKS` links.
    #[inline(always)]
    fn leaving<const LINKS: usize>(
        &self,
        levels: usize,
        source: NodeId,
        destination: NodeId,
        level: usize,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
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
        path.extend_from_slice(&[0; LINKS]);
        let Some(links) = path[start..].first_chunk_mut() else {
            return false;
        };
        let mut trail: Trail<'_, LINKS> = Trail {
            links,
            length: 0,
            at: source,
            seen: 0,
        };
        trail.hop(self, level, from[level], first);
        let mut other = level;
        for _ in 1..levels {
            other = if other == 0 { levels - 1 } else { other - 1 };
            trail.hop(self, other, from[other], to[other]);
        }
        trail.hop(self, level, first, to[level]);
        let Trail { length, seen, .. } = trail;
        path.truncate(start + length);
        seen == 0
    }

    /// Appends the path that corrects the digits at these levels in their order.
    pub fn correcting(
        &self,
        source: NodeId,
        destination: NodeId,
        order: impl Iterator<Item = usize>,
        path: &mut Vec<DirectedLink>,
    ) {
        let mut at = source as usize;
        for level in order {
            let own = self.parts[source as usize * self.levels + level];
            let wanted = self.parts[destination as usize * self.levels + level];
            path.push(self.outward[at * self.levels + level]);
            at = at - own as usize + wanted as usize;
            path.push(self.outward[at * self.levels + level] ^ 1);
        }
    }

    /// Appends BCubeRouting's path with the permutation `k, k-1, ..., 0`; whether it is alive.
    #[inline(always)]
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
