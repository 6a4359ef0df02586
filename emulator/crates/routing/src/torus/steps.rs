//! A walk towards a server over a random shortest path, a link at a time, without divisions or
//! branches that are chance.
//!
//! A torus looks the same from everywhere: the directions that lead nearer depend only on the
//! remaining steps along each axis. All such states are numbered, with the next state for each
//! choice, so a hop is a multiplication and two look-ups.

use super::shape::{Shape, Ties};
use crate::path::{DirectedLink, Flow};
use crate::random::Draws;

/// Ways out of a server: up and down each of three axes, in this order.
const WAYS: usize = 6;
/// Hops chosen from one draw of 64 bits: each takes less than three of them.
const HOPS_A_DRAW: usize = 20;
/// Choices of a state, the last two never taken: a power of two.
const CHOICES: u32 = 8;

/// The tables that all walks of a torus share.
#[derive(Debug)]
pub(super) struct Steps {
    /// By server, its place along each axis.
    places: Vec<[u32; 3]>,
    /// By axis, and by the destination's place less the source's plus the axis's size: a [`Begin`]
    /// packed, so that those of all axes are added up at once.
    begins: [Vec<u64>; 3],
    /// Indexed by `state * CHOICES + rank`: the choices of directions on shortest paths in
    /// ascending order.
    choices: Vec<Choice>,
    /// Hops of the longest walk.
    longest: usize,
    /// Indexed by state: the number of directions.
    counts: Vec<u8>,
    /// Indexed by `server * WAYS + way`: the neighbour; arbitrary if there is none.
    ways: Vec<Way>,
}

/// An axis when a walk begins.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    /// The axis's term in the state.
    state: u32,
    /// Number of steps along the axis.
    steps: u32,
    /// The bit of the axis where they go down.
    down: u32,
}

impl Begin {
    fn pack(self) -> u64 {
        u64::from(self.state) | u64::from(self.steps) << 32 | u64::from(self.down) << 61
    }

    /// The sum of those of three axes.
    #[inline]
    fn unpack(packed: u64) -> Begin {
        Begin {
            state: packed as u32,
            steps: (packed >> 32) as u32 & ((1 << 29) - 1),
            down: (packed >> 61) as u32,
        }
    }
}

/// One of the directions that a state allows.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// The first choice of the state after it.
    next: u32,
    /// Number of next steps from that state.
    count: u8,
    axis: u8,
    /// The bit of the axis where both ways round were equally long and this is the one down.
    turns: u8,
}

/// A link out of a server.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The first way of the server at its other end.
    next: u32,
    link: DirectedLink,
}

/// The possible states of one axis: the number of steps left, and one more state for when both
/// directions around the ring are equally long.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: u32,
    /// States of this axis, and what one more of them adds to the number of all.
    states: u32,
    stride: u32,
    /// Whether the last state is a tie.
    ties: bool,
}

/// A walk to one server, at any moment of it.
#[derive(Debug)]
struct Trip {
    /// The first way of the server it is at.
    at: u32,
    /// The first choice of its state.
    state: u32,
    count: u8,
    /// A bit for each axis along which it goes down.
    down: u32,
    /// A 64-bit fraction: multiplied by the number of choices, its whole part chooses and the rest
    /// is the next fraction.
    fraction: u64,
    draws: Draws,
    /// Hops in all, and those chosen from the present draw.
    steps: usize,
    done: usize,
}

impl Axis {
    fn new(size: u32, stride: u32, ties: Ties) -> Axis {
        // In a ring of two both ways are the same link.
        let ties = ties == Ties::Both && size > 2 && size.is_multiple_of(2);
        Axis {
            size,
            states: size / 2 + 1 + u32::from(ties),
            stride,
            ties,
        }
    }

    /// The axis's part of a state, and whether it is a tie.
    fn part(&self, state: u32) -> (u32, bool) {
        let part = state / self.stride % self.states;
        (part, self.ties && part + 1 == self.states)
    }

    /// The start of a walk of this number of steps in the positive direction, modulo the size.
    fn begin(&self, axis: usize, up: u32) -> Begin {
        let down = self.size - up;
        let steps = up.min(down);
        let part = if self.ties && up == down {
            self.states - 1
        } else {
            steps
        };
        Begin {
            state: part * self.stride,
            steps,
            down: u32::from(down < up) << axis,
        }
    }

    /// The choices that the axis has in a state: the state after each, and whether it turns down.
    fn choices(&self, state: u32) -> impl Iterator<Item = (u32, bool)> {
        let (part, tied) = self.part(state);
        // In a tie, half of the ring is left, which is the state before; after the step, it is one
        // less.
        let after = state - self.stride * part.min(1 + u32::from(tied));
        (0..part.min(1) + u32::from(tied)).map(move |turn| (after, turn == 1))
    }
}

impl Steps {
    /// The tables of a torus, linear in its servers.
    pub fn new(shape: &Shape, ties: Ties) -> Steps {
        let sizes = shape.sizes();
        let mut stride = 1;
        let axes = sizes.map(|size| {
            let axis = Axis::new(size, stride, ties);
            stride *= axis.states;
            axis
        });
        let count = |state: u32| axes.iter().map(|axis| axis.choices(state).count()).sum::<usize>() as u8;
        let mut choices = vec![Choice::default(); (stride * CHOICES) as usize];
        for state in 0..stride {
            let all = axes.iter().enumerate().flat_map(|(number, axis)| {
                axis.choices(state)
                    .map(move |(after, turns)| (number, after, turns))
            });
            for (rank, (axis, after, turns)) in all.enumerate() {
                choices[(state * CHOICES) as usize + rank] = Choice {
                    next: after * CHOICES,
                    count: count(after),
                    axis: axis as u8,
                    turns: u8::from(turns) << axis,
                };
            }
        }
        let way = |server, way: usize| {
            let (axis, up) = (way / 2, way.is_multiple_of(2));
            let (next, link) = if sizes[axis] > 1 {
                shape.step(server, axis, up)
            } else {
                (server, 0)
            };
            Way {
                next: next * WAYS as u32,
                link,
            }
        };
        let servers = 0..shape.servers();
        Steps {
            places: servers
                .clone()
                .map(|server| [0, 1, 2].map(|axis| shape.coordinate(server, axis)))
                .collect(),
            begins: std::array::from_fn(|axis| {
                let size = sizes[axis];
                (0..2 * size)
                    .map(|less| axes[axis].begin(axis, less % size).pack())
                    .collect()
            }),
            longest: sizes.map(|size| size / 2).iter().sum::<u32>() as usize,
            counts: (0..stride).map(count).collect(),
            choices,
            ways: servers
                .flat_map(|server| (0..WAYS).map(move |number| way(server, number)))
                .collect(),
        }
    }

    /// Appends a path in which every hop takes one of the links on a shortest path from there, each
    /// as likely.
    #[inline]
    pub fn append(&self, flow: &Flow, links: &mut Vec<DirectedLink>) {
        let mut trip = self.trip(flow);
        let start = links.len();
        links.resize(start + trip.steps, 0);
        self.walk(&mut trip, &mut links[start..]);
    }

    /// Writes two paths, one after the other, to the front of `room`, which has [`Steps::room`] for
    /// both; returns the number of links of each. A hop depends on the choice before it, so two
    /// interleaved walks take little longer than one.
    #[inline]
    pub fn write_two(&self, flows: [&Flow; 2], room: &mut [DirectedLink]) -> [usize; 2] {
        let [mut one, mut other] = flows.map(|flow| self.trip(flow));
        let lengths = [one.steps, other.steps];
        let rounds = one.steps.max(other.steps);
        let room = &mut room[..one.steps + rounds + 1];
        if rounds > HOPS_A_DRAW {
            self.write_long(flows, room);
        } else if rounds > 0 {
            // Both walks run as long as the longer one, so that only one loop end can be
            // mispredicted. After a walk has arrived, the first one continues to write where the
            // second begins, which is overwritten, and the second one writes after its end.
            room[0] = self.hop(&mut one);
            let begins = self.hop(&mut other);
            for hop in 1..rounds {
                room[hop.min(lengths[0])] = self.hop(&mut one);
                room[lengths[0] + hop] = self.hop(&mut other);
            }
            room[lengths[0]] = begins;
        }
        lengths
    }

    /// The same where one draw is too little. Apart from the others, which it would slow.
    #[cold]
    #[inline(never)]
    fn write_long(&self, flows: [&Flow; 2], room: &mut [DirectedLink]) {
        let [mut one, mut other] = flows.map(|flow| self.trip(flow));
        let (first, rest) = room.split_at_mut(one.steps);
        let second = &mut rest[..other.steps];
        let shared = first.len().min(second.len()).min(HOPS_A_DRAW);
        for (to_one, to_other) in first.iter_mut().zip(&mut *second).take(shared) {
            *to_one = self.hop(&mut one);
            *to_other = self.hop(&mut other);
        }
        (one.done, other.done) = (shared, shared);
        self.walk(&mut one, &mut first[shared..]);
        self.walk(&mut other, &mut second[shared..]);
    }

    /// The most numbers that the paths of `flows` flows take, with the padding that
    /// [`Steps::write_two`] writes after them.
    pub fn room(&self, flows: usize) -> usize {
        (flows + 1) * self.longest + 1
    }

    /// A walk that begins.
    #[inline]
    fn trip(&self, flow: &Flow) -> Trip {
        let (from, to) = (
            self.places[flow.source as usize],
            self.places[flow.destination as usize],
        );
        let packed = (0..3).fold(0, |packed, axis| {
            let begins = &self.begins[axis];
            packed + begins[(to[axis] + begins.len() as u32 / 2 - from[axis]) as usize]
        });
        let Begin { state, steps, down } = Begin::unpack(packed);
        let mut draws = Draws::new(flow.seed);
        Trip {
            at: flow.source * WAYS as u32,
            state: state * CHOICES,
            count: self.counts[state as usize],
            down,
            fraction: draws.next_bits(),
            draws,
            steps: steps as usize,
            done: 0,
        }
    }

    /// Writes the rest of a walk.
    #[inline(always)]
    fn walk(&self, trip: &mut Trip, links: &mut [DirectedLink]) {
        for link in links {
            if trip.done == HOPS_A_DRAW {
                trip.fraction = trip.draws.next_bits();
                trip.done = 0;
            }
            trip.done += 1;
            *link = self.hop(trip);
        }
    }

    /// Goes a hop on; the link it takes.
    #[inline(always)]
    fn hop(&self, trip: &mut Trip) -> DirectedLink {
        let product = u128::from(trip.fraction) * u128::from(trip.count);
        trip.fraction = product as u64;
        let choice = self.choices[(trip.state + (product >> 64) as u32) as usize];
        (trip.state, trip.count) = (choice.next, choice.count);
        trip.down |= u32::from(choice.turns);
        let way = 2 * u32::from(choice.axis) + (trip.down >> choice.axis & 1);
        let way = self.ways[(trip.at + way) as usize];
        trip.at = way.next;
        way.link
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use cubeyard_topology::{Topology, TopologySpec};
    use proptest::prelude::*;

    use super::super::multipath::ways_nearer;
    use super::*;

    /// The walk without tables: by coordinates, a hop at a time.
    fn plain(shape: &Shape, ties: Ties, flow: &Flow) -> Vec<DirectedLink> {
        let mut draws = Draws::new(flow.seed);
        let (mut fraction, mut at, mut links) = (draws.next_bits(), flow.source, Vec::new());
        while at != flow.destination {
            if !links.is_empty() && links.len().is_multiple_of(HOPS_A_DRAW) {
                fraction = draws.next_bits();
            }
            let (ways, count) = ways_nearer(shape, at, flow.destination, ties);
            let product = u128::from(fraction) * count as u128;
            fraction = product as u64;
            let (axis, up) = ways[(product >> 64) as usize];
            let (next, link) = shape.step(at, axis, up);
            links.push(link);
            at = next;
        }
        links
    }

    fn check(sizes: [u32; 3], ties: Ties, ends: &[(u32, u32)], seed: u64) {
        let [x, y, z] = sizes;
        let spec: TopologySpec =
            serde_json::from_str(&format!(r#"{{"family":"torus3d","x":{x},"y":{y},"z":{z}}}"#)).unwrap();
        let shape = Shape::new(&Topology::build(&spec).unwrap()).unwrap();
        let steps = Steps::new(&shape, ties);
        let flows: Vec<Flow> = (0..)
            .zip(ends)
            .map(|(number, ends)| Flow {
                source: ends.0 % shape.servers(),
                destination: ends.1 % shape.servers(),
                seed: seed ^ number,
            })
            .collect();
        let wanted: Vec<_> = flows.iter().map(|flow| plain(&shape, ties, flow)).collect();
        for (flow, wanted) in flows.iter().zip(&wanted) {
            let mut alone = Vec::new();
            steps.append(flow, &mut alone);
            assert_eq!(&alone, wanted, "{sizes:?} {ties:?} {flow:?}");
        }
        for (pair, wanted) in flows.as_chunks().0.iter().zip(wanted.as_chunks::<2>().0) {
            let mut both = vec![0; steps.room(2)];
            let [one, other] = pair;
            let lengths = steps.write_two([one, other], &mut both);
            let (first, rest) = both.split_at(lengths[0]);
            assert_eq!([first, &rest[..lengths[1]]], [&wanted[0][..], &wanted[1][..]]);
        }
    }

    proptest! {
        #[test]
        fn a_walk_by_tables_is_the_plain_walk(sizes in [1u32..8, 1u32..8, 2u32..8], both: bool,
            ends in prop::collection::vec(any::<(u32, u32)>(), 2..20), seed: u64) {
            check(sizes, if both { Ties::Both } else { Ties::Up }, &ends, seed);
        }
    }

    #[test]
    fn a_walk_is_the_plain_walk_where_numbers_are_long_and_draws_used_up() {
        let ends: Vec<(u32, u32)> = (0..40)
            .map(|number| (7 * number, 68_920 - 1_300 * number))
            .collect();
        check([41, 41, 41], Ties::Both, &ends, 1);
    }
}
