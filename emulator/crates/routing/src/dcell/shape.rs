//! DCell addresses as arithmetic: sub-DCells, and the one link between any two of them.

use cubeyard_topology::{DcellSpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::DirectedLink;
use crate::ports::{NO_LINK, PortTable};

/// A step between two servers: by their shared mini-switch (level 0) or the cable of a higher level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hop {
    /// The server reached.
    pub server: NodeId,
    /// The level of the link crossed, which is the port number at both ends.
    pub level: u8,
}

/// The link that joins two sub-DCells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The end in the first sub-DCell asked for.
    pub near: NodeId,
    /// The end in the second.
    pub far: NodeId,
}

/// A (partial) DCell's address arithmetic over its port table. Servers are `0..servers` by uid: sub-DCells
/// fill in order. `[dcell §3, §5]`
#[derive(Clone, Debug)]
pub struct Shape {
    /// Levels above 0.
    pub k: usize,
    /// `t[l]`: servers of a complete DCell_l; `t[0] = n`.
    pub t: Vec<u64>,
    servers: u32,
    ports: PortTable,
}

impl Shape {
    /// The shape of a DCell topology; `None` for other families.
    pub fn new(topology: &Topology) -> Option<Shape> {
        let TopologySpec::Dcell(DcellSpec { n, k, .. }) = *topology.spec() else {
            return None;
        };
        let mut t = vec![u64::from(n)];
        for level in 1..=k as usize {
            let below = t[level - 1];
            t.push(below * (below + 1));
        }
        Some(Shape {
            k: k as usize,
            t,
            servers: topology.server_count(),
            ports: PortTable::new(topology),
        })
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The port table.
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// The index of the DCell_level that holds a server, counted over the whole network.
    #[inline]
    pub fn cell(&self, server: NodeId, level: usize) -> u64 {
        u64::from(server) / self.t[level]
    }

    /// The least level whose DCell holds both servers; 0 when they share a mini-switch.
    #[inline]
    pub fn common_level(&self, a: NodeId, b: NodeId) -> usize {
        (0..=self.k)
            .find(|&level| self.cell(a, level) == self.cell(b, level))
            .unwrap_or(self.k)
    }

    /// The link between DCell_{level-1}s `from` and `to` (indices over the whole network) of one DCell_level:
    /// for i < j server j-1 of sub-DCell i with server i of sub-DCell j. `None` where a partial DCell
    /// lacks either server. `[dcell §3, BuildDCells]`
    pub fn bridge(&self, level: usize, from: u64, to: u64) -> Option<Bridge> {
        let below = self.t[level - 1];
        let siblings = self.t[level] / below;
        let (i, j) = (from % siblings, to % siblings);
        let (near, far) = if i < j {
            (from * below + j - 1, to * below + i)
        } else {
            (from * below + j, to * below + i - 1)
        };
        (near.max(far) < u64::from(self.servers)).then_some(Bridge {
            near: near as NodeId,
            far: far as NodeId,
        })
    }

    /// The server at the far end of `server`'s cable of a level above 0, if it has one.
    pub fn peer(&self, server: NodeId, level: usize) -> Option<NodeId> {
        (self.ports.link(server, level as u32) != NO_LINK).then(|| self.ports.far(server, level as u32))
    }

    /// Whether `from` can send to `to` over `level`: cables, the mini-switch where there is one, and `to` alive.
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
