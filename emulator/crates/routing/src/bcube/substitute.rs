//! Finds one more path that is parallel to a flow's existing paths: a faster version of BSR's BFS.
//! `[bcube §4.2]`
//!
//! The paper removes the existing parallel paths and the failed parts from the graph and runs a
//! breadth-first search. Ours finds a path of the same (least) length by iterative deepening on the
//! number of hops, bounded below by the digits still wrong: almost every search ends within a few
//! dozen steps instead of visiting thousands of servers. If the bound grows too large for that, a
//! plain breadth-first search decides whether a path exists.
//!
//! The paper leaves open which of the shortest paths to take. We try levels and digits in an order
//! rotated by a random draw per flow (`[ours]`); a fixed order loads low ports and loses about a
//! third of the ABT at 20 % failed switches.

use cubeyard_topology::NodeId;

use super::live::Live;
use super::shape::{Hop, Hops, Shape};
use crate::failures::BitSet;
use crate::random::Draws;

/// Deepening stops this number of hops above the lower bound; then breadth-first search takes over.
const DEEPENING_SLACK: usize = 3;

/// Nodes (servers and switches) that a new path must avoid. Paths are short, so a list is
/// sufficient.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    nodes: Vec<NodeId>,
    /// One bit for all nodes that agree in their last digits: most look-ups find a free node.
    maybe: u64,
}

impl Taken {
    /// Removes all ports.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.maybe = 0;
    }

    /// Adds the inner servers and all switches of a path.
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

    /// Whether nothing is taken.
    pub fn is_empty(&self) -> bool {
        self.maybe == 0
    }

    pub(super) fn add(&mut self, node: NodeId) {
        self.nodes.push(node);
        self.maybe |= 1 << (node % 64);
    }

    /// Whether a node is taken.
    #[inline]
    pub fn has(&self, node: NodeId) -> bool {
        self.maybe >> (node % 64) & 1 == 1 && self.nodes.contains(&node)
    }
}

/// The seed of the draw for a flow's `attempt`-th substitute.
pub(super) fn attempt_seed(flow: u64, attempt: u64) -> u64 {
    Draws::of(flow, attempt).next_bits()
}

/// The first level and digit of a substitute's search.
pub(super) fn rotation_of(seed: u64) -> u32 {
    Draws::new(seed).below(1 << 16)
}

/// The remainder of a rotation, mostly without the division, which would slow down a search.
#[inline]
pub(super) fn turned(rotation: u32, count: u32) -> u32 {
    if count.is_power_of_two() {
        rotation & (count - 1)
    } else {
        rotation % count
    }
}

/// Finds a shortest live path from `source` to `destination` clear of `taken`; whether there is
/// one. `hops` holds it. Ends must be alive and different.
pub fn find_substitute(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    taken: &Taken,
    live: &Live,
    seed: u64,
    hops: &mut Hops,
) -> bool {
    let usable = |server: NodeId| {
        if taken.has(server) {
            return 0;
        }
        (0..shape.levels)
            .filter(|&level| live.has(server, level) && !taken.has(shape.switch(server, level)))
            .fold(0, |ports, level| ports | 1 << level)
    };
    hops.clear();
    Search::new(shape, [source, destination], usable, rotation_of(seed), hops).run(0)
}

/// The search for one substitute. `usable` returns the levels at which a server's port can be used,
/// a bit each: alive, at a switch that no other path takes; none at a taken server.
pub(super) struct Search<'a, P> {
    shape: &'a Shape,
    source: NodeId,
    destination: NodeId,
    usable: P,
    /// Levels by which the destination can be entered, a bit each.
    entries: u32,
    rotation: u32,
    /// The level tried first.
    first_level: usize,
    hops: &'a mut Hops,
}

impl<'a, P: Fn(NodeId) -> u32> Search<'a, P> {
    /// A search between two different servers; appends to `hops`, which is empty.
    pub fn new(
        shape: &'a Shape,
        [source, destination]: [NodeId; 2],
        usable: P,
        rotation: u32,
        hops: &'a mut Hops,
    ) -> Search<'a, P> {
        Search {
            shape,
            source,
            destination,
            entries: usable(destination),
            usable,
            rotation,
            first_level: turned(rotation, shape.levels as u32) as usize,
            hops,
        }
    }

    /// Finds the first of the shortest paths in rotated order and returns whether there is one. The
    /// caller guarantees that none is shorter than `at_least` hops.
    pub fn run(mut self, at_least: usize) -> bool {
        let exits = (self.usable)(self.source);
        if self.entries == 0 || exits == 0 {
            return false;
        }
        let wrong = self.wrong_levels(self.source);
        let least = self.least_hops(wrong);
        let first = least.max(at_least);
        for bound in first..=least + DEEPENING_SLACK {
            if self.extend(self.source, exits, wrong, bound) {
                return true;
            }
            // If all ports next to one end have failed, this check avoids a search of the whole
            // network.
            if self.is_cut_off(self.source) || self.is_cut_off(self.destination) {
                return false;
            }
            // A rack without power leaves isolated groups of several servers, from which deepening
            // finds no exit.
            if bound == first.max(least + 1) && self.are_apart() {
                return false;
            }
        }
        let usable = &self.usable;
        let open = |from, to, level: usize| usable(from) & usable(to) & 1 << level != 0;
        let ends = [self.source, self.destination];
        breadth_first(self.shape, ends, self.rotation, open, self.hops)
    }

    /// Whether an end has no neighbour to send to or receive from.
    fn is_cut_off(&self, end: NodeId) -> bool {
        let shape = self.shape;
        let ports = (self.usable)(end);
        let near = |level: usize| {
            let others = (0..shape.radix[level]).map(move |digit| shape.with_digit(end, level, digit));
            others
                .filter(move |&other| other != end)
                .any(|other| (self.usable)(other) >> level & 1 == 1)
        };
        !(0..shape.levels).any(|level| ports >> level & 1 == 1 && near(level))
    }

    /// Whether no path is left between the ends: expands from both ends in turn until one side
    /// cannot grow or they meet. The cost depends on the smaller side, so an isolated group is
    /// found in a few dozen steps.
    fn are_apart(&self) -> bool {
        let shape = self.shape;
        let ends = [self.source, self.destination];
        let mut seen = ends.map(|end| {
            let mut seen = BitSet::new(shape.servers() as usize);
            seen.insert(end);
            seen
        });
        let mut found = ends.map(|end| vec![end]);
        let mut next = [0, 0];
        loop {
            let side = usize::from(found[1].len() < found[0].len());
            let Some(&at) = found[side].get(next[side]) else {
                return true;
            };
            next[side] += 1;
            let ports = (self.usable)(at);
            for level in (0..shape.levels).filter(|level| ports >> level & 1 == 1) {
                for digit in 0..shape.radix[level] {
                    let other = shape.with_digit(at, level, digit);
                    if (self.usable)(other) >> level & 1 == 0 || !seen[side].insert(other) {
                        continue;
                    }
                    if seen[1 - side].contains(other) {
                        return false;
                    }
                    found[side].push(other);
                }
            }
        }
    }

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

    /// A lower bound on the hops left: a hop for each wrong digit, and two more if the last hop
    /// must change a correct digit.
    #[inline]
    fn least_hops(&self, wrong: u32) -> usize {
        let detour = wrong != 0 && wrong & self.entries == 0;
        wrong.count_ones() as usize + if detour { 2 } else { 0 }
    }

    /// Extends the path from `at`, whose usable ports are `ports`, to the destination in exactly or
    /// at most `left` hops.
    fn extend(&mut self, at: NodeId, ports: u32, wrong: u32, left: usize) -> bool {
        let shape = self.shape;
        let mut next_level = self.first_level;
        for _ in 0..shape.levels {
            let level = next_level;
            next_level = if level + 1 == shape.levels { 0 } else { level + 1 };
            let bit = 1 << level;
            if ports & bit == 0 {
                continue;
            }
            // The least number of remaining hops after a move to the wanted digit, and after a move
            // to any other digit.
            let right_fits = wrong & bit != 0 && self.least_hops(wrong & !bit) < left;
            let other_fits = self.least_hops(wrong | bit) < left;
            let wanted = shape.digit(self.destination, level);
            if right_fits && self.enter(shape.with_digit(at, level, wanted), level, wrong & !bit, left) {
                return true;
            }
            if other_fits {
                let own = shape.digit(at, level);
                let radix = shape.radix[level];
                let weight = shape.weight(level);
                let lowest = at - own * weight;
                let mut digit = turned(self.rotation, radix);
                for _ in 0..radix {
                    if digit != own
                        && digit != wanted
                        && self.enter(lowest + digit * weight, level, wrong | bit, left)
                    {
                        return true;
                    }
                    digit = if digit + 1 == radix { 0 } else { digit + 1 };
                }
            }
        }
        false
    }

    /// Extends the path from `next`, reached at `level`; the digits at the levels `wrong` still
    /// need correction.
    fn enter(&mut self, next: NodeId, level: usize, wrong: u32, left: usize) -> bool {
        let hop = Hop {
            server: next,
            level: level as u8,
        };
        if wrong == 0 {
            let alive = self.entries >> level & 1 == 1;
            if alive {
                self.hops.push(hop);
            }
            return alive;
        }
        let ports = (self.usable)(next);
        let clear = ports >> level & 1 == 1
            && next != self.source
            && self.hops.iter().all(|before| before.server != next);
        if !clear {
            return false;
        }
        self.hops.push(hop);
        if self.extend(next, ports, wrong, left - 1) {
            return true;
        }
        self.hops.pop();
        false
    }
}

/// The plain search, linear in the network: a shortest path clear of `taken`, over the hops (from,
/// to, level) that are `alive`; whether there is one. `hops` holds it. `rotation` rotates the order
/// in which levels and digits are tried.
pub fn shortest_parallel(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    taken: &Taken,
    rotation: u32,
    alive: impl Fn(NodeId, NodeId, usize) -> bool,
    hops: &mut Hops,
) -> bool {
    let open = |from: NodeId, to: NodeId, level: usize| {
        !taken.has(shape.switch(from, level))
            && (to == destination || !taken.has(to))
            && alive(from, to, level)
    };
    breadth_first(shape, [source, destination], rotation, open, hops)
}

/// A shortest path over the hops that are `open`.
fn breadth_first(
    shape: &Shape,
    [source, destination]: [NodeId; 2],
    rotation: u32,
    open: impl Fn(NodeId, NodeId, usize) -> bool,
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
            let radix = shape.radix[level];
            for turn in 0..radix {
                let next = shape.with_digit(at, level, (turn + rotation) % radix);
                if seen.contains(next) || !open(at, next, level) {
                    continue;
                }
                seen.insert(next);
                let hop = Hop {
                    server: next,
                    level: level as u8,
                };
                came.push((at, hop));
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

/// Reads a path from the list of (from, hop) pairs, the last of which reached the destination.
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
