//! The link at every port, and the node at its other end: the table that turns addresses into
//! links.

use cubeyard_topology::{NodeId, Topology};

use crate::path::{DirectedLink, a_to_b, b_to_a};

/// A port with no cable.
pub const NO_LINK: u32 = u32::MAX;

/// The links of every node by port.
#[derive(Clone, Debug)]
pub struct PortTable {
    server_count: u32,
    server_ports: u32,
    /// The first port of each switch, by switch; servers' ports come first, `server_ports` each.
    switch_starts: Vec<u32>,
    outward: Vec<DirectedLink>,
    far: Vec<NodeId>,
}

impl PortTable {
    /// Builds the table of a topology, in time linear in links.
    pub fn new(topology: &Topology) -> PortTable {
        let (server_count, server_ports) = (topology.server_count(), topology.server_ports());
        let mut next = server_count * server_ports;
        let mut switch_starts = Vec::with_capacity(topology.switch_count() as usize);
        for tier in topology.tiers() {
            for _ in 0..tier.count {
                switch_starts.push(next);
                next += tier.ports;
            }
        }
        let mut table = PortTable {
            server_count,
            server_ports,
            switch_starts,
            outward: vec![NO_LINK; next as usize],
            far: vec![NodeId::MAX; next as usize],
        };
        let links = topology.links();
        for link in 0..links.len() {
            let (a, b) = (links.a[link], links.b[link]);
            let slot = table.slot(a, u32::from(links.a_port[link]));
            (table.outward[slot], table.far[slot]) = (a_to_b(link as u32), b);
            let slot = table.slot(b, u32::from(links.b_port[link]));
            (table.outward[slot], table.far[slot]) = (b_to_a(link as u32), a);
        }
        table
    }

    #[inline]
    fn slot(&self, node: NodeId, port: u32) -> usize {
        let start = if node < self.server_count {
            node * self.server_ports
        } else {
            self.switch_starts[(node - self.server_count) as usize]
        };
        (start + port) as usize
    }

    /// The link on `node`'s `port`, or [`NO_LINK`].
    #[inline]
    pub fn link(&self, node: NodeId, port: u32) -> u32 {
        match self.outward[self.slot(node, port)] {
            NO_LINK => NO_LINK,
            directed => directed / 2,
        }
    }

    /// The node at the far end of that link; `NodeId::MAX` if the port has no link.
    #[inline]
    pub fn far(&self, node: NodeId, port: u32) -> NodeId {
        self.far[self.slot(node, port)]
    }

    /// The direction out of `node` through `port`, or [`NO_LINK`].
    #[inline]
    pub fn outward(&self, node: NodeId, port: u32) -> DirectedLink {
        self.outward[self.slot(node, port)]
    }

    /// The direction into `node` through `port`, which has a cable.
    #[inline]
    pub fn inward(&self, node: NodeId, port: u32) -> DirectedLink {
        self.outward(node, port) ^ 1
    }
}
