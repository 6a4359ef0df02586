//! Logical racks and their ToRs, numbered through all loops.

use cubeyard_topology::{NodeId, Topology, TopologySpec};

use super::detours::Loop;

/// The racks of a Subways topology. The number of ToRs equals the number of racks; rack and ToR `i`
/// are in loop `i / ring.size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Racks {
    /// Racks of a loop, and ToRs that a rack is wired to: 1 with trunks (type 0).
    pub ring: Loop,
    /// Number of logical racks.
    pub count: usize,
    /// Servers per rack.
    pub servers: usize,
    first_tor: NodeId,
}

impl Racks {
    /// `None` for other families.
    pub fn of(topology: &Topology) -> Option<Racks> {
        let (TopologySpec::Subways(spec), Some(tors)) = (topology.spec(), topology.tiers().first()) else {
            return None;
        };
        let count = tors.count as usize;
        Some(Racks {
            ring: Loop {
                size: spec.l as usize,
                ports: if spec.wiring_type == 0 { 1 } else { spec.p as usize },
            },
            count,
            servers: topology.server_count() as usize / count,
            first_tor: tors.first,
        })
    }

    /// The rack of a server.
    pub fn rack_of(&self, server: NodeId) -> usize {
        server as usize / self.servers
    }

    /// The servers of a rack.
    pub fn servers_of(&self, rack: usize) -> std::ops::Range<NodeId> {
        (rack * self.servers) as NodeId..((rack + 1) * self.servers) as NodeId
    }

    /// The number of a ToR.
    pub fn tor_of(&self, node: NodeId) -> usize {
        (node - self.first_tor) as usize
    }

    /// A ToR as a node.
    pub fn tor_node(&self, tor: usize) -> NodeId {
        self.first_tor + tor as NodeId
    }

    /// Number of loops.
    pub fn loops(&self) -> usize {
        self.count / self.ring.size
    }

    /// The first rack, and ToR, of a rack's or ToR's loop.
    pub fn first_of_loop(&self, at: usize) -> usize {
        at - at % self.ring.size
    }

    /// A rack's ToRs from left to right.
    pub fn tors_of(&self, rack: usize) -> Vec<usize> {
        let first = self.first_of_loop(rack);
        let mut tors = self.ring.tors_of(rack - first);
        for tor in &mut tors {
            *tor += first;
        }
        tors
    }
}
