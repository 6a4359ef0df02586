//! A walk towards a server over a random shortest path, a link at a time, without divisions or branches that are chance.
//!
//! A torus looks the same from everywhere: which ways lead nearer depends on the steps left along each axis alone. All such
//! states are numbered, with what each choice makes of them, so that a hop is a multiplication and two look-ups.

use cubeyard_topology::NodeId;

use super::shape::{Shape, Ties};
use crate::path::DirectedLink;
use crate::random::Draws;

/// Ways out of a server: up and down each of three axes, in this order.
const WAYS: usize = 6;
/// Hops chosen from one draw of 64 bits: each takes less than three of them.
const HOPS_A_DRAW: usize = 20;
/// Choices of a state, the last two never taken: a power of two.
const CHOICES: u32 = 8;

/// What all walks of a torus share.
#[derive(Debug)]
pub(super) struct Steps {
    /// By server, its place along each axis.
    places: Vec<[u32; 3]>,
    /// By axis, and by the destination's place less the source's plus the axis's size.
    begins: [Vec<Begin>; 3],
    /// By `state * CHOICES + rank`, the choices of the ways on shortest paths in ascending order.
    choices: Vec<Choice>,
    /// By state, how many ways there are.
    counts: Vec<u8>,
    /// By `server * WAYS + way`, where it leads; any where there is no such way.
    ways: Vec<Way>,
}

/// An axis when a walk begins.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    /// What the axis adds to the state.
    state: u32,
    /// Steps along it.
    steps: u32,
    /// The bit of the axis where they go down.
    down: u32,
}

/// One of the ways that a state leaves open.
#[derive(Clone, Copy, Debug, Default)]
struct Choice {
    /// The first choice of the state after it.
    next: u32,
    /// How many ways that state has.
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

/// What one axis can stand at: so many steps left, and one more state where both ways round are equally long.
#[derive(Clone, Copy, Debug)]
struct Axis {
    size: u32,
    /// States of this axis, and what one more of them adds to the number of all.
    states: u32,
    stride: u32,
    /// Whether the last state is a tie.
    ties: bool,
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

    /// A walk of so many places upwards, modulo the size.
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
        // Half the ring is left in a tie, which is the state before; after the step one less.
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
                    .map(|less| axes[axis].begin(axis, less % size))
                    .collect()
            }),
            counts: (0..stride).map(count).collect(),
            choices,
            ways: servers
                .flat_map(|server| (0..WAYS).map(move |number| way(server, number)))
                .collect(),
        }
    }

    /// Appends a path in which every hop takes one of the links on a shortest path from there, each as likely.
    #[inline]
    pub fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) {
        let (from, to) = (self.places[source as usize], self.places[destination as usize]);
        let (mut state, mut steps, mut down) = (0, 0, 0);
        for axis in 0..3 {
            let begins = &self.begins[axis];
            let begin = begins[(to[axis] + begins.len() as u32 / 2 - from[axis]) as usize];
            state += begin.state;
            steps += begin.steps;
            down |= begin.down;
        }
        let mut count = self.counts[state as usize];
        let (mut at, mut state) = (source * WAYS as u32, state * CHOICES);
        let start = path.len();
        path.resize(start + steps as usize, 0);
        for hops in path[start..].chunks_mut(HOPS_A_DRAW) {
            // A fraction of 64 bits: times the choices, its whole part chooses and the rest is the next fraction.
            let mut fraction = draws.next_bits();
            for hop in hops {
                let product = u128::from(fraction) * u128::from(count);
                fraction = product as u64;
                let choice = self.choices[(state + (product >> 64) as u32) as usize];
                (state, count) = (choice.next, choice.count);
                down |= u32::from(choice.turns);
                let way = 2 * u32::from(choice.axis) + (down >> choice.axis & 1);
                let way = self.ways[(at + way) as usize];
                (at, *hop) = (way.next, way.link);
            }
        }
    }
}
