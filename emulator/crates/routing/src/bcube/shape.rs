//! BCube addresses over a port table: digits, neighbours, and the live parts of a hop.

use cubeyard_topology::address::BcubeAddresses;
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::DirectedLink;
use crate::ports::PortTable;

/// One step of a server path: to `server`, through the switch both ends share at `level`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Hop {
    /// The server at the end of the hop.
    pub server: NodeId,
    /// The level of the switch crossed, the digit corrected.
    pub level: u8,
}

/// The hops of a path after its source; short, and reused.
pub type Hops = Vec<Hop>;

/// A (partial) BCube's addresses, with its digits kept in a table, over its port table.
/// `[bcube §3.1, §5.1]`
#[derive(Clone, Debug)]
pub struct Shape {
    /// Levels, `k + 1`.
    pub levels: usize,
    /// The number of digits at each level.
    pub radix: Vec<u32>,
    addresses: BcubeAddresses,
    /// By `server * levels + level`: searches read digits much more often than the number of
    /// servers.
    digits: Vec<u16>,
    ports: PortTable,
}

impl Shape {
    /// The shape of a BCube topology; `None` for other families.
    pub fn new(topology: &Topology) -> Option<Shape> {
        let TopologySpec::Bcube(spec) = topology.spec() else {
            return None;
        };
        let addresses = BcubeAddresses::new(spec);
        let levels = addresses.levels();
        Some(Shape {
            levels,
            radix: (0..levels).map(|level| addresses.radix(level)).collect(),
            digits: (0..addresses.servers())
                .flat_map(|server| (0..levels).map(move |level| (server, level)))
                .map(|(server, level)| addresses.digit(server, level) as u16)
                .collect(),
            addresses,
            ports: PortTable::new(topology),
        })
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.addresses.servers()
    }

    /// The difference in ids of two servers whose digits at `level` differ by 1, `n^level`.
    #[inline]
    pub fn weight(&self, level: usize) -> u32 {
        self.addresses.weight(level)
    }

    /// The digit of `server`'s address at `level`.
    #[inline]
    pub fn digit(&self, server: NodeId, level: usize) -> u32 {
        u32::from(self.digits[server as usize * self.levels + level])
    }

    /// The digits of a server's address, level 0 first.
    #[inline]
    pub fn digits(&self, server: NodeId) -> &[u16] {
        &self.digits[server as usize * self.levels..][..self.levels]
    }

    /// `server` with the digit at `level` replaced.
    #[inline]
    pub fn with_digit(&self, server: NodeId, level: usize, digit: u32) -> NodeId {
        let weight = self.weight(level);
        // The same as in the addresses, but from the stored digits: a look-up is cheaper than two
        // divisions.
        server - self.digit(server, level) * weight + digit * weight
    }

    /// Number of digits in which two addresses differ. `[bcube §3.2]`
    #[inline]
    pub fn hamming(&self, a: NodeId, b: NodeId) -> usize {
        let pairs = self.digits(a).iter().zip(self.digits(b));
        pairs.filter(|(a, b)| a != b).count()
    }

    /// The switch on `server`'s port of `level`.
    #[inline]
    pub fn switch(&self, server: NodeId, level: usize) -> NodeId {
        self.ports.far(server, level as u32)
    }

    /// The port table.
    pub fn ports(&self) -> &PortTable {
        &self.ports
    }

    /// Whether `from` can send to a neighbour `to` at `level`: both cables, the switch and `to` are
    /// alive.
    #[inline]
    pub fn hop_alive(&self, from: NodeId, to: NodeId, level: usize, failures: &Failures) -> bool {
        self.port_alive(from, level, failures)
            && !failures.node_failed(to)
            && !failures.link_failed(self.ports.link(to, level as u32))
    }

    /// Whether `server`'s cable at `level` and the switch at its far end are alive.
    #[inline]
    pub fn port_alive(&self, server: NodeId, level: usize, failures: &Failures) -> bool {
        !failures.link_failed(self.ports.link(server, level as u32))
            && !failures.node_failed(self.switch(server, level))
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

    /// Writes a path's directed links: two a hop, to the switch and from it.
    pub fn push_links(&self, source: NodeId, hops: &[Hop], path: &mut Vec<DirectedLink>) {
        let mut at = source;
        for hop in hops {
            let port = u32::from(hop.level);
            path.push(self.ports.outward(at, port));
            path.push(self.ports.inward(hop.server, port));
            at = hop.server;
        }
    }
}
