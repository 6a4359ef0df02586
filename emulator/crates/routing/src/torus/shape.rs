//! Torus coordinates over a port table: distances, ways round a ring, and what of a hop is alive.

use std::ops::Deref;

use cubeyard_topology::address::TorusAddresses;
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus2dSpec, Torus3dSpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, link_of};
use crate::ports::PortTable;

/// Where to go when both ways round a ring are equally long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Always in the positive direction.
    Up,
    /// In either direction.
    Both,
}

/// Which of several free links on shortest paths a packet takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ways {
    /// Any of them, as likely as any other: which is free first is chance.
    #[default]
    Drawn,
    /// The first in the order of ports, as servers poll their links while all are free.
    First,
}

/// A torus's coordinates over its port table; it derefs to the coordinates.
#[derive(Clone, Debug)]
pub struct Shape {
    addresses: TorusAddresses,
    ports: PortTable,
}

impl Deref for Shape {
    type Target = TorusAddresses;

    fn deref(&self) -> &TorusAddresses {
        &self.addresses
    }
}

impl Shape {
    /// The shape of a torus; `None` for other families.
    pub fn new(topology: &Topology) -> Option<Shape> {
        let spec = match *topology.spec() {
            TopologySpec::Torus3d(ref spec) => spec.clone(),
            // One plane.
            TopologySpec::Torus2d(Torus2dSpec { x, y }) => Torus3dSpec { x, y, z: 1 },
            _ => return None,
        };
        Some(Shape {
            addresses: TorusAddresses::new(&spec),
            ports: PortTable::new(topology),
        })
    }

    /// Directions of all links.
    pub fn directed_links(&self) -> usize {
        (self.servers() * self.degree()) as usize
    }

    /// The port table.
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// Which ways along an axis come nearer: `[up, down]`.
    #[inline]
    pub fn nearer(&self, from: NodeId, to: NodeId, axis: usize, ties: Ties) -> [bool; 2] {
        nearer(&self.addresses, from, to, axis, ties)
    }

    /// The direction out of a server along an axis that has more than one server.
    #[inline]
    pub fn outward(&self, server: NodeId, axis: usize, up: bool) -> DirectedLink {
        let first = self.first_port(axis);
        let down = u32::from(!up && self.sizes()[axis] > 2);
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

/// Which ways along an axis of a torus come nearer: `[up, down]`.
#[inline]
pub(super) fn nearer(torus: &TorusAddresses, from: NodeId, to: NodeId, axis: usize, ties: Ties) -> [bool; 2] {
    let up = torus.offset(from, to, axis);
    let down = torus.sizes()[axis] - up;
    if up == 0 {
        return [false, false];
    }
    // In a ring of two both ways are the same link.
    let both = ties == Ties::Both && up == down && torus.sizes()[axis] > 2;
    [up <= down, down < up || both]
}
