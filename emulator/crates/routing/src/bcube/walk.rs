//! The paths of BuildPathSet straight to links, without a list of hops: what an all-to-all spends its time on.

use cubeyard_topology::NodeId;

use super::shape::Shape;
use crate::failures::Failures;
use crate::path::DirectedLink;

/// Tables by `server * levels + level` that make one hop two look-ups and an addition.
#[derive(Debug)]
pub(super) struct Walk {
    levels: usize,
    /// The digit times its weight: what the level adds to the server's number.
    parts: Vec<u32>,
    /// The direction out of the server.
    outward: Vec<DirectedLink>,
    /// Whether the port leads nowhere: server, cable or switch have failed. Empty when nothing has.
    dead: Vec<bool>,
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
        let outward = |(server, level): (NodeId, usize)| shape.ports().outward(server, level as u32);
        let dead = |(server, level): (NodeId, usize)| {
            failures.node_failed(server) || !shape.port_alive(server, level, failures)
        };
        Walk {
            levels,
            parts: all()
                .map(|(server, level)| shape.digit(server, level) * step[level])
                .collect(),
            outward: all().map(outward).collect(),
            dead: if failures.is_empty() {
                Vec::new()
            } else {
                all().map(dead).collect()
            },
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
        let from = &self.parts[source as usize * self.levels..][..self.levels];
        let to = &self.parts[destination as usize * self.levels..][..self.levels];
        let direct = from[level] != to[level];
        let first = if direct {
            to[level]
        } else {
            // AltDCRouting: by the neighbour whose digit is one more, and back at the very end.
            let next = from[level] + self.step[level];
            if next == self.end[level] { 0 } else { next }
        };
        let mut alive = true;
        let mut at = source;
        let mut hop = |level: usize, before: u32, after: u32| {
            let (near, far) = (at, at - before + after);
            let (near_port, far_port) = (
                near as usize * self.levels + level,
                far as usize * self.levels + level,
            );
            path.push(self.outward[near_port]);
            path.push(self.outward[far_port] ^ 1);
            if !self.dead.is_empty() {
                alive &= !(self.dead[near_port] | self.dead[far_port]);
            }
            at = far;
        };
        if first == from[level] {
            return false;
        }
        hop(level, from[level], first);
        for other in (0..level).rev().chain((level + 1..self.levels).rev()) {
            if from[other] != to[other] {
                hop(other, from[other], to[other]);
            }
        }
        if !direct {
            hop(level, first, to[level]);
        }
        alive
    }

    /// Appends BCubeRouting's path with the permutation `k, k-1, ..., 0`; whether it is alive.
    #[inline]
    pub fn fixed(&self, source: NodeId, destination: NodeId, path: &mut Vec<DirectedLink>) -> bool {
        let from = &self.parts[source as usize * self.levels..][..self.levels];
        let to = &self.parts[destination as usize * self.levels..][..self.levels];
        match (0..self.levels).rev().find(|&level| from[level] != to[level]) {
            Some(highest) => self.leaving_by(source, destination, highest, path),
            None => true,
        }
    }
}
