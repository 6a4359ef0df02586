//! Writes the paths of BuildPathSet directly as links, without a list of hops: the inner loop of an
//! all-to-all.

use cubeyard_topology::NodeId;

use super::live::Live;
use super::shape::Shape;
use crate::path::DirectedLink;

/// Tables with which a hop takes two additions and, with failures, two look-ups.
#[derive(Debug)]
pub(super) struct Walk {
    levels: usize,
    /// Indexed by `server * levels + level`: the digit times its weight, which is the level's
    /// contribution to the server's number.
    parts: Vec<u32>,
    /// By level, the direction out of server 0: a level's cables are numbered in the order of its
    /// servers, each from the server to the switch, so that server `s` has two more for each server
    /// before it.
    first: Vec<DirectedLink>,
    /// Indexed by level: how much larger a server's number is if this digit is larger by one.
    step: Vec<u32>,
    /// Indexed by level: the part of a digit one above the largest, which wraps to 0.
    end: Vec<u32>,
    /// For each server, a bit for each level at which it can send and receive; empty without
    /// failures.
    alive: Vec<u32>,
}

/// A path under construction.
struct Trail<'a, const LINKS: usize, const FAILED: bool> {
    links: &'a mut [DirectedLink; LINKS],
    length: usize,
    at: NodeId,
    dead: u32,
}

impl<const LINKS: usize, const FAILED: bool> Trail<'_, LINKS, FAILED> {
    #[inline(always)]
    fn hop(&mut self, walk: &Walk, level: usize, before: u32, after: u32) {
        let (at, next) = (self.at, self.at - before + after);
        self.links[self.length] = walk.outward(at, level);
        self.links[self.length + 1] = walk.inward(next, level);
        let moves = u32::from(before != after);
        self.length += 2 * moves as usize;
        if FAILED {
            self.dead |= !(walk.alive[at as usize] & walk.alive[next as usize]) >> level & moves;
        }
        self.at = next;
    }
}

impl Walk {
    /// The tables of a shape under failures. Linear in the servers' ports.
    pub fn new(shape: &Shape, live: &Live) -> Walk {
        let levels = shape.levels;
        let all =
            || (0..shape.servers()).flat_map(move |server| (0..levels).map(move |level| (server, level)));
        let step: Vec<u32> = (0..levels).map(|level| shape.weight(level)).collect();
        let every = (0..levels).filter(|&level| shape.radix[level] > 1);
        let every = every.fold(0, |ports, level| ports | 1 << level);
        let alive: Vec<u32> = (0..shape.servers()).map(|server| live.ports(server)).collect();
        let walk = Walk {
            levels,
            parts: all()
                .map(|(server, level)| shape.digit(server, level) * step[level])
                .collect(),
            first: (0..levels)
                .map(|level| shape.ports().outward(0, level as u32))
                .collect(),
            end: (0..levels)
                .map(|level| step[level] * shape.radix[level])
                .collect(),
            step,
            alive: if alive.iter().all(|&ports| ports == every) {
                Vec::new()
            } else {
                alive
            },
        };
        debug_assert!(all().all(|(server, level)| {
            let ports = shape.ports();
            let has = |directed| ports.outward(server, level as u32) == directed;
            has(walk.outward(server, level))
                && walk.inward(server, level) == ports.inward(server, level as u32)
        }));
        walk
    }

    #[inline(always)]
    fn outward(&self, server: NodeId, level: usize) -> DirectedLink {
        self.first[level] + 2 * server
    }

    #[inline(always)]
    fn inward(&self, server: NodeId, level: usize) -> DirectedLink {
        self.outward(server, level) + 1
    }

    /// Appends the path that leaves `source` by `level` (see [`super::path_leaving_by`]) and
    /// returns whether it exists and is alive. The caller must remove the links that were appended
    /// for a dead path.
    #[inline(always)]
    pub fn leaving_by(
        &self,
        source: NodeId,
        destination: NodeId,
        level: usize,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
        // The same code for several numbers of levels, so that loops are unrolled and links copied
        // at once.
        match (self.levels, self.alive.is_empty()) {
            (4, true) => self.leaving::<10, false>(4, source, destination, level, path),
            (4, false) => self.leaving::<10, true>(4, source, destination, level, path),
            (3, true) => self.leaving::<8, false>(3, source, destination, level, path),
            (3, false) => self.leaving::<8, true>(3, source, destination, level, path),
            (levels, true) => self.leaving::<66, false>(levels, source, destination, level, path),
            (levels, false) => self.leaving::<66, true>(levels, source, destination, level, path),
        }
    }

    /// [`Walk::leaving_by`] for networks whose paths have at most `LINKS` links.
    #[inline(always)]
    fn leaving<const LINKS: usize, const FAILED: bool>(
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
        // AltDCRouting starts over the neighbour whose digit is one more, and corrects that digit
        // last.
        let next = from[level] + self.step[level];
        let next = if next == self.end[level] { 0 } else { next };
        let first = if direct { to[level] } else { next };
        if first == from[level] {
            return false;
        }
        // Every hop is written, and kept only if it changes the server: differing digits are
        // random, and a mispredicted branch costs more than the two look-ups.
        let start = path.len();
        path.extend_from_slice(&[0; LINKS]);
        let Some(links) = path[start..].first_chunk_mut() else {
            return false;
        };
        let mut trail: Trail<'_, LINKS, FAILED> = Trail {
            links,
            length: 0,
            at: source,
            dead: 0,
        };
        trail.hop(self, level, from[level], first);
        let mut other = level;
        for _ in 1..levels {
            other = if other == 0 { levels - 1 } else { other - 1 };
            trail.hop(self, other, from[other], to[other]);
        }
        trail.hop(self, level, first, to[level]);
        let Trail { length, dead, .. } = trail;
        path.truncate(start + length);
        dead == 0
    }

    /// Appends the path that corrects the digits at these levels in their order.
    pub fn correcting(
        &self,
        source: NodeId,
        destination: NodeId,
        order: impl Iterator<Item = usize>,
        path: &mut Vec<DirectedLink>,
    ) {
        let mut at = source;
        for level in order {
            let own = self.parts[source as usize * self.levels + level];
            let wanted = self.parts[destination as usize * self.levels + level];
            path.push(self.outward(at, level));
            at = at - own + wanted;
            path.push(self.inward(at, level));
        }
    }

    /// Appends BCubeRouting's path with the permutation `k, k-1, ..., 0`; and returns whether it is
    /// alive.
    #[inline(always)]
    pub fn fixed(&self, source: NodeId, destination: NodeId, path: &mut Vec<DirectedLink>) -> bool {
        let from = &self.parts[source as usize * self.levels..][..self.levels];
        let to = &self.parts[destination as usize * self.levels..][..self.levels];
        // In an all-to-all, consecutive flows differ in the same digits, so branches are predicted
        // well.
        let (mut at, mut dead) = (source, 0);
        for level in (0..self.levels).rev() {
            if from[level] != to[level] {
                let next = at - from[level] + to[level];
                path.push(self.outward(at, level));
                path.push(self.inward(next, level));
                if !self.alive.is_empty() {
                    dead |= !(self.alive[at as usize] & self.alive[next as usize]) >> level & 1;
                }
                at = next;
            }
        }
        dead == 0
    }
}
