//! A further parallel path beside those a flow already has: BSR's BFS, made fast. `[bcube §4.2]`
//!
//! The paper removes the existing parallel paths and the failed parts from the graph and runs a
//! breadth-first search. Ours finds a path of the same (least) length by iterative deepening on the
//! number of hops, bounded below by the digits still wrong: almost every search ends within a few
//! dozen steps instead of visiting thousands of servers. Where the bound grows past what can
//! plausibly be found that way, a plain breadth-first search settles whether a path exists.
//!
//! Among the shortest paths the paper names no rule. Ours is to try the levels and digits in an order
//! rotated by the flow's own draw (`[ours]`); a fixed order loads low ports and loses about a third
//! of the ABT at 20 % failed switches.

use cubeyard_topology::NodeId;

use super::shape::{Hop, Hops, Shape};
use crate::failures::{BitSet, Failures};
use crate::random::Draws;

/// How far beyond the least conceivable length deepening goes before breadth-first search takes over.
const DEEPENING_SLACK: usize = 3;

/// Nodes (servers and switches) a new path must keep clear of. Paths are short, so a list serves.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    nodes: Vec<NodeId>,
    /// One bit for all nodes that agree in their last digits: most nodes asked for are not taken.
    maybe: u64,
}

impl Taken {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.maybe = 0;
    }

    /// Takes the inner servers and all the switches of a path.
    pub fn take(&mut self, shape: &Shape, source: NodeId, hops: &[Hop]) {
        let mut at = source;
        for (i, hop) in hops.iter().enumerate() {
            self.add(shape.switch(at, usize::from(hop.level)));
            if i + 1 < hops.len() {
                self.add(hop.server);
            }
            at = hop.server;
        }
    }

    fn add(&mut self, node: NodeId) {
        self.nodes.push(node);
        self.maybe |= 1 << (node % 64);
    }

    /// Whether a node is taken.
    #[inline]
    pub fn has(&self, node: NodeId) -> bool {
        self.maybe >> (node % 64) & 1 == 1 && self.nodes.contains(&node)
    }
}

/// Finds a shortest live path from `source` to `destination` clear of `taken`; whether there is one.
/// `hops` holds it. Ends must be alive and different.
pub fn find_substitute(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    taken: &Taken,
    failures: &Failures,
    seed: u64,
    hops: &mut Hops,
) -> bool {
    hops.clear();
    let usable = |server: NodeId, level: usize| {
        shape.port_alive(server, level, failures) && !taken.has(shape.switch(server, level))
    };
    let ports = |server: NodeId| {
        (0..shape.levels)
            .filter(|&level| usable(server, level))
            .fold(0u32, |ports, level| ports | 1 << level)
    };
    let entries = ports(destination);
    if entries == 0 || ports(source) == 0 {
        return false;
    }
    let mut draws = Draws::new(seed);
    let mut search = Deepening {
        shape,
        source,
        destination,
        taken,
        failures,
        entries,
        rotation: draws.below(1 << 16),
        hops,
    };
    let least = search.least_hops(search.wrong_levels(source));
    for bound in least..=least + DEEPENING_SLACK {
        if search.extend(source, bound) {
            return true;
        }
    }
    let rotation = search.rotation;
    let alive = |from, to, level| shape.hop_alive(from, to, level, failures);
    shortest_parallel(shape, source, destination, taken, rotation, alive, hops)
}

/// Depth-first search to a bound on hops, pruned by the digits still wrong.
struct Deepening<'a> {
    shape: &'a Shape,
    source: NodeId,
    destination: NodeId,
    taken: &'a Taken,
    failures: &'a Failures,
    /// Levels by which the destination can be entered, a bit each.
    entries: u32,
    rotation: u32,
    hops: &'a mut Hops,
}

impl Deepening<'_> {
    /// The levels at which a server's digits are not the destination's, a bit each.
    #[inline]
    fn wrong_levels(&self, at: NodeId) -> u32 {
        let pairs = self
            .shape
            .digits(at)
            .iter()
            .zip(self.shape.digits(self.destination));
        pairs
            .enumerate()
            .fold(0, |wrong, (level, (a, b))| wrong | u32::from(a != b) << level)
    }

    /// A lower bound on the hops left: one a wrong digit, and two more where the last hop must correct
    /// a digit that is right so far.
    #[inline]
    fn least_hops(&self, wrong: u32) -> usize {
        let detour = wrong != 0 && wrong & self.entries == 0;
        wrong.count_ones() as usize + if detour { 2 } else { 0 }
    }

    fn extend(&mut self, at: NodeId, left: usize) -> bool {
        let shape = self.shape;
        let wrong = self.wrong_levels(at);
        for step in 0..shape.levels {
            let level = (step + self.rotation as usize) % shape.levels;
            let wanted = shape.digit(self.destination, level);
            let own = shape.digit(at, level);
            // What the rest takes at least after a move to `wanted`, and after a move to any other digit.
            let bit = 1 << level;
            let right_fits = own != wanted && self.least_hops(wrong & !bit) < left;
            let other_fits = self.least_hops(wrong | bit) < left;
            if !(right_fits || other_fits)
                || !shape.port_alive(at, level, self.failures)
                || self.taken.has(shape.switch(at, level))
            {
                continue;
            }
            if right_fits && self.enter(shape.with_digit(at, level, wanted), level, left) {
                return true;
            }
            if other_fits {
                let radix = shape.radix[level];
                for turn in 0..radix {
                    let digit = (turn + self.rotation) % radix;
                    if digit != own
                        && digit != wanted
                        && self.enter(shape.with_digit(at, level, digit), level, left)
                    {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn enter(&mut self, next: NodeId, level: usize, left: usize) -> bool {
        let shape = self.shape;
        if self.failures.node_failed(next)
            || self.failures.link_failed(shape.ports().link(next, level as u32))
        {
            return false;
        }
        self.hops.push(Hop {
            server: next,
            level: level as u8,
        });
        if next == self.destination {
            return true;
        }
        let before = &self.hops[..self.hops.len() - 1];
        let clear =
            next != self.source && !self.taken.has(next) && before.iter().all(|hop| hop.server != next);
        if clear && self.extend(next, left - 1) {
            return true;
        }
        self.hops.pop();
        false
    }
}

/// The plain search, linear in the network: a shortest path clear of `taken`, over the hops (from, to, level) that
/// are `alive`; whether there is one. `hops` holds it. `rotation` turns the order in which levels and digits are
/// tried.
pub fn shortest_parallel(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    taken: &Taken,
    rotation: u32,
    alive: impl Fn(NodeId, NodeId, usize) -> bool,
    hops: &mut Hops,
) -> bool {
    let mut seen = BitSet::new(shape.servers() as usize);
    let mut came: Vec<(NodeId, Hop)> = Vec::new();
    seen.insert(source);
    let mut head = 0;
    let mut at = source;
    loop {
        for step in 0..shape.levels {
            let level = (step + rotation as usize) % shape.levels;
            if taken.has(shape.switch(at, level)) {
                continue;
            }
            let radix = shape.radix[level];
            for turn in 0..radix {
                let next = shape.with_digit(at, level, (turn + rotation) % radix);
                if seen.contains(next) || (taken.has(next) && next != destination) || !alive(at, next, level)
                {
                    continue;
                }
                seen.insert(next);
                came.push((
                    at,
                    Hop {
                        server: next,
                        level: level as u8,
                    },
                ));
                if next == destination {
                    trace_back(source, &came, hops);
                    return true;
                }
            }
        }
        if head == came.len() {
            return false;
        }
        at = came[head].1.server;
        head += 1;
    }
}

/// Reads a path off the list of (from, hop) pairs whose last one reached the destination.
fn trace_back(source: NodeId, came: &[(NodeId, Hop)], hops: &mut Hops) {
    hops.clear();
    let Some(&(mut from, last)) = came.last() else {
        return;
    };
    hops.push(last);
    for &(before, hop) in came.iter().rev() {
        if from == source {
            break;
        }
        if hop.server == from {
            hops.push(hop);
            from = before;
        }
    }
    hops.reverse();
}
