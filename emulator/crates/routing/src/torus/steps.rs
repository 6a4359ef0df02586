//! A walk towards a server over a random shortest path, a link at a time, without divisions or branches that are chance.

use cubeyard_topology::NodeId;

use super::shape::{Shape, Ties};
use crate::path::DirectedLink;
use crate::random::Draws;

/// Ways out of a server: up and down each of three axes, in this order.
const WAYS: usize = 6;
/// Hops chosen from one draw of 64 bits: each takes less than three of them.
const HOPS_A_DRAW: usize = 20;

/// What all walks of a torus share.
#[derive(Debug)]
pub(super) struct Steps {
    sizes: [u32; 3],
    strides: [u32; 3],
    ties: Ties,
    /// By server, its place along each axis.
    places: Vec<[u32; 3]>,
    /// By way, what a step adds to the server's number, and by axis the sum from which as much as the axis has is taken away.
    step: [u32; WAYS],
    end: [u32; 3],
    /// By `server * 6 + way`, the direction out of the server; any where there is no such way.
    outward: Vec<DirectedLink>,
}

/// A walk to one server, at any moment of it.
#[derive(Clone, Copy, Debug)]
struct Trip {
    at: NodeId,
    /// What each axis adds to the server's number.
    parts: [u32; 3],
    /// Steps still to make along each axis.
    left: [u32; 3],
    /// The ways on shortest paths, ascending, four bits each; those beyond `count` are zero.
    ways: u32,
    count: u32,
    /// A bit for each axis both ways of which are still equally long.
    tied: u32,
}

impl Steps {
    /// The tables of a torus, linear in its servers.
    pub fn new(shape: &Shape, ties: Ties) -> Steps {
        let sizes = shape.sizes();
        let strides = [0, 1, 2].map(|axis| shape.stride(axis));
        let link = |server, way: usize| {
            if sizes[way / 2] > 1 {
                shape.outward(server, way / 2, way.is_multiple_of(2))
            } else {
                0
            }
        };
        let place = |server| [0, 1, 2].map(|axis| shape.coordinate(server, axis));
        let step = |way: usize| {
            let axis = way / 2;
            let moves = if way.is_multiple_of(2) { 1 } else { sizes[axis] - 1 };
            moves * strides[axis]
        };
        let servers = 0..shape.servers();
        Steps {
            sizes,
            strides,
            ties,
            places: servers.clone().map(place).collect(),
            step: std::array::from_fn(step),
            end: std::array::from_fn(|axis| sizes[axis] * strides[axis]),
            outward: servers
                .flat_map(|server| (0..WAYS).map(move |way| link(server, way)))
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
        let mut trip = self.trip(source, destination);
        let start = path.len();
        path.resize(start + trip.left.iter().sum::<u32>() as usize, 0);
        for hops in path[start..].chunks_mut(HOPS_A_DRAW) {
            // A fraction of 64 bits: times the choices, its whole part chooses and the rest is the next fraction.
            let mut fraction = draws.next_bits();
            for hop in hops {
                let product = u128::from(fraction) * u128::from(trip.count);
                fraction = product as u64;
                *hop = self.take(&mut trip, (product >> 64) as u32);
            }
        }
    }

    /// A walk that begins.
    #[inline]
    fn trip(&self, source: NodeId, destination: NodeId) -> Trip {
        let (from, to) = (self.places[source as usize], self.places[destination as usize]);
        let mut trip = Trip {
            at: source,
            parts: [0; 3],
            left: [0; 3],
            ways: 0,
            count: 0,
            tied: 0,
        };
        for axis in 0..3 {
            let size = self.sizes[axis];
            let back = if to[axis] < from[axis] { size } else { 0 };
            let up = to[axis] + back - from[axis];
            let down = size - up;
            let moves = u32::from(up != 0);
            let way = 2 * axis as u32 + u32::from(down < up);
            trip.parts[axis] = from[axis] * self.strides[axis];
            trip.left[axis] = up.min(down);
            trip.ways |= (way * moves) << (4 * trip.count);
            trip.count += moves;
            // In a ring of two both ways are the same link.
            if up == down && size > 2 && self.ties == Ties::Both {
                trip.ways |= (way + 1) << (4 * trip.count);
                trip.count += 1;
                trip.tied |= 1 << axis;
            }
        }
        trip
    }

    /// Takes the way of a rank below the trip's choices; the link it takes.
    #[inline]
    fn take(&self, trip: &mut Trip, rank: u32) -> DirectedLink {
        let way = (trip.ways >> (4 * rank) & 7) as usize;
        let axis = way / 2;
        let link = self.outward[trip.at as usize * WAYS + way];
        let before = trip.parts[axis];
        let beyond = before + self.step[way];
        let after = if beyond >= self.end[axis] {
            beyond - self.end[axis]
        } else {
            beyond
        };
        trip.parts[axis] = after;
        trip.at = trip.at + after - before;
        trip.left[axis] -= 1;
        let mut rank = rank;
        if trip.tied >> axis & 1 == 1 {
            trip.tied &= !(1 << axis);
            // The other way of the axis stands right before or after this one.
            if way.is_multiple_of(2) {
                trip.forget(rank + 1, 1);
            } else {
                rank -= 1;
                trip.forget(rank, 1);
            }
        }
        trip.forget(rank, u32::from(trip.left[axis] == 0));
        link
    }
}

impl Trip {
    /// Takes the way of a rank off the list where `gone` is one, and nothing where it is zero: which it is is chance, and
    /// a branch guessed wrong costs more.
    #[inline]
    fn forget(&mut self, rank: u32, gone: u32) {
        let below = (1 << (4 * rank)) - 1;
        self.ways = self.ways & below | (self.ways >> (4 * gone)) & !below;
        self.count -= gone;
    }
}
