//! DCell addresses over a port table: the far end of a cable, and the live parts of a hop.

use std::ops::Deref;

use cubeyard_topology::address::DcellAddresses;
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::DirectedLink;
use crate::ports::{NO_LINK, PortTable};

/// A step between two servers: by their shared mini-switch (level 0) or the cable of a higher
/// level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hop {
    /// The server at the end of the hop.
    pub server: NodeId,
    /// The level of the link crossed, which is the port number at both ends.
    pub level: u8,
}

/// A (partial) DCell's addresses over its port table; it derefs to the addresses. `[dcell §3, §5]`
#[derive(Clone, Debug)]
pub struct Shape {
    addresses: DcellAddresses,
    ports: PortTable,
}

impl Deref for Shape {
    type Target = DcellAddresses;

    fn deref(&self) -> &DcellAddresses {
        &self.addresses
    }
}

impl Shape {
    /// The shape of a DCell topology; `None` for other families.
    pub fn new(topology: &Topology) -> Option<Shape> {
        let TopologySpec::Dcell(spec) = topology.spec() else {
            return None;
        };
        Some(Shape {
            addresses: DcellAddresses::new(spec),
            ports: PortTable::new(topology),
        })
    }

    /// The port table.
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// The server at the far end of `server`'s cable of a level above 0, if it has one.
    pub fn peer(&self, server: NodeId, level: usize) -> Option<NodeId> {
        (self.ports.link(server, level as u32) != NO_LINK).then(|| self.ports.far(server, level as u32))
    }

    /// Whether `from` can send to `to` over `level`: cables, the mini-switch if there is one, and
    /// `to` are alive.
    #[inline]
    pub fn hop_alive(&self, from: NodeId, to: NodeId, level: usize, failures: &Failures) -> bool {
        if failures.node_failed(to) || failures.link_failed(self.ports.link(from, level as u32)) {
            return false;
        }
        level > 0
            || (!failures.node_failed(self.ports.far(from, 0))
                && !failures.link_failed(self.ports.link(to, 0)))
    }

    /// Whether `server`'s cable at `level` is alive and, at level 0, the mini-switch.
    #[inline]
    pub fn port_alive(&self, server: NodeId, level: usize, failures: &Failures) -> bool {
        !failures.link_failed(self.ports.link(server, level as u32))
            && (level > 0 || !failures.node_failed(self.ports.far(server, 0)))
    }

    /// Whether every hop of a path is alive.
    pub fn path_alive(&self, source: NodeId, hops: &[Hop], failures: &Failures) -> bool {
        let mut at = source;
        hops.iter().all(|hop| {
            let alive = self.hop_alive(at, hop.server, usize::from(hop.level), failures);
            at = hop.server;
            alive
        })
    }

    /// Writes a path's directed links: two a hop by a mini-switch, one a hop by a cable.
    pub fn push_links(&self, source: NodeId, hops: &[Hop], path: &mut Vec<DirectedLink>) {
        let mut at = source;
        for hop in hops {
            path.push(self.ports.outward(at, u32::from(hop.level)));
            if hop.level == 0 {
                path.push(self.ports.inward(hop.server, 0));
            }
            at = hop.server;
        }
    }
}
