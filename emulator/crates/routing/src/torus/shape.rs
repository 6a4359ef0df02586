//! Torus coordinates as arithmetic.

use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus3dSpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, link_of};
use crate::ports::PortTable;

/// Where to go when both ways round a ring are equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Upwards always.
    Up,
    /// Either way.
    Both,
}

/// A torus's coordinates over its port table; axes 0, 1, 2 are x, y, z.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Servers along each axis.
    pub sizes: [u32; 3],
    strides: [u32; 3],
    ports: PortTable,
}

impl Shape {
    /// The shape of a torus; `None` for other families.
    pub fn new(topology: &Topology) -> Option<Shape> {
        let TopologySpec::Torus3d(Torus3dSpec { x, y, z }) = *topology.spec() else {
            return None;
        };
        Some(Shape {
            sizes: [x, y, z],
            strides: [y * z, z, 1],
            ports: PortTable::new(topology),
        })
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.sizes.iter().product()
    }

    /// Directions of all links.
    pub fn directed_links(&self) -> usize {
        let ports: u32 = self.sizes.iter().map(|size| (size - 1).min(2)).sum();
        (self.servers() * ports) as usize
    }

    /// The port table.
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// A server's place along an axis.
    #[inline]
    pub fn coordinate(&self, server: NodeId, axis: usize) -> u32 {
        server / self.strides[axis] % self.sizes[axis]
    }

    /// The server `by` places up (or, negative, down) an axis, round the ring.
    #[inline]
    pub fn moved(&self, server: NodeId, axis: usize, by: i64) -> NodeId {
        let place = self.coordinate(server, axis);
        let new = (i64::from(place) + by).rem_euclid(i64::from(self.sizes[axis])) as u32;
        server - place * self.strides[axis] + new * self.strides[axis]
    }

    /// How many places up the axis `to` is from `from`, below the axis's size.
    #[inline]
    pub fn offset(&self, from: NodeId, to: NodeId, axis: usize) -> u32 {
        let (here, there, size) = (
            self.coordinate(from, axis),
            self.coordinate(to, axis),
            self.sizes[axis],
        );
        if there >= here {
            there - here
        } else {
            there + size - here
        }
    }

    /// Hops between two servers along one axis, the shorter way round.
    #[inline]
    pub fn axis_distance(&self, a: NodeId, b: NodeId, axis: usize) -> u32 {
        let offset = self.offset(a, b, axis);
        offset.min(self.sizes[axis] - offset)
    }

    /// Hops between two servers.
    #[inline]
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        (0..3).map(|axis| self.axis_distance(a, b, axis)).sum()
    }

    /// Which ways along an axis come nearer: `[up, down]`.
    #[inline]
    pub fn nearer(&self, from: NodeId, to: NodeId, axis: usize, ties: Ties) -> [bool; 2] {
        let up = self.offset(from, to, axis);
        let down = self.sizes[axis] - up;
        if up == 0 {
            return [false, false];
        }
        // In a ring of two both ways are the same link.
        let both = ties == Ties::Both && up == down && self.sizes[axis] > 2;
        [up <= down, down < up || both]
    }

    /// The direction out of a server along an axis that has more than one server.
    #[inline]
    pub fn outward(&self, server: NodeId, axis: usize, up: bool) -> DirectedLink {
        let first: u32 = self.sizes[..axis].iter().map(|size| (size - 1).min(2)).sum();
        let down = u32::from(!up && self.sizes[axis] > 2);
        self.ports.outward(server, first + down)
    }

    /// The neighbour along an axis and the link there.
    #[inline]
    pub fn step(&self, server: NodeId, axis: usize, up: bool) -> (NodeId, DirectedLink) {
        let next = self.moved(server, axis, if up { 1 } else { -1 });
        (next, self.outward(server, axis, up))
    }

    /// Whether a server can send over `directed` to `next`.
    #[inline]
    pub fn alive(&self, next: NodeId, directed: DirectedLink, failures: &Failures) -> bool {
        failures.is_empty() || (!failures.node_failed(next) && !failures.link_failed(link_of(directed)))
    }
}
