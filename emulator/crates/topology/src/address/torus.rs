//! Torus addresses: a position along each of three axes; z changes fastest. `[camcube §2]`

use crate::graph::NodeId;
use crate::spec::Torus3dSpec;

/// The coordinates of a torus; axes 0, 1, 2 are x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TorusAddresses {
    sizes: [u32; 3],
    strides: [u32; 3],
}

impl TorusAddresses {
    /// The addresses of a valid specification.
    pub fn new(spec: &Torus3dSpec) -> TorusAddresses {
        let Torus3dSpec { x, y, z } = *spec;
        TorusAddresses {
            sizes: [x, y, z],
            strides: [y * z, z, 1],
        }
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.sizes.iter().product()
    }

    /// Servers along each axis.
    pub fn sizes(&self) -> [u32; 3] {
        self.sizes
    }

    /// Difference of the ids of neighbours along an axis.
    #[inline]
    pub fn stride(&self, axis: usize) -> u32 {
        self.strides[axis]
    }

    /// A server's position along an axis.
    #[inline]
    pub fn coordinate(&self, server: NodeId, axis: usize) -> u32 {
        server / self.strides[axis] % self.sizes[axis]
    }

    /// The server at a position; each coordinate is below its axis's size.
    pub fn server(&self, place: [u32; 3]) -> NodeId {
        (0..3).map(|axis| place[axis] * self.strides[axis]).sum()
    }

    /// The server `by` positions up an axis (down if negative), around the ring.
    #[inline]
    pub fn moved(&self, server: NodeId, axis: usize, by: i64) -> NodeId {
        let place = self.coordinate(server, axis);
        let new = (i64::from(place) + by).rem_euclid(i64::from(self.sizes[axis])) as u32;
        server - place * self.strides[axis] + new * self.strides[axis]
    }

    /// The number of steps from `from` to `to` in the positive direction of the axis, below the
    /// axis's size.
    #[inline]
    pub fn offset(&self, from: NodeId, to: NodeId, axis: usize) -> u32 {
        let (here, there, size) = (
            self.coordinate(from, axis),
            self.coordinate(to, axis),
            self.sizes()[axis],
        );
        if there >= here {
            there - here
        } else {
            there + size - here
        }
    }

    /// Hops between two servers along one axis, in the shorter direction.
    #[inline]
    pub fn axis_distance(&self, a: NodeId, b: NodeId, axis: usize) -> u32 {
        let offset = self.offset(a, b, axis);
        offset.min(self.sizes()[axis] - offset)
    }

    /// Hops between two servers.
    #[inline]
    pub fn distance(&self, a: NodeId, b: NodeId) -> u32 {
        (0..3).map(|axis| self.axis_distance(a, b, axis)).sum()
    }

    /// Ports of a server along an axis: none, one in a ring of two, else `+` and `-`.
    #[inline]
    pub fn ports_along(&self, axis: usize) -> u32 {
        (self.sizes[axis] - 1).min(2)
    }

    /// First port of an axis: `+`, followed by `-` where the ring has three servers or more.
    #[inline]
    pub fn first_port(&self, axis: usize) -> u32 {
        (0..axis).map(|below| self.ports_along(below)).sum()
    }

    /// Ports of a server.
    pub fn degree(&self) -> u32 {
        self.first_port(3)
    }
}
