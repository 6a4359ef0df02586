//! BCube addresses: `k + 1` digits in radix `n`. `[bcube §3.1, §5.1]`

use crate::graph::NodeId;
use crate::spec::BcubeSpec;

/// The addresses of a BCube, complete or of whole BCube_{k-1}s only. Server ids count the addresses
/// in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BcubeAddresses {
    n: u32,
    servers: u32,
    /// `n^level`.
    weight: Vec<u32>,
    /// Values of the digit at each level.
    radix: Vec<u32>,
}

impl BcubeAddresses {
    /// The addresses of a valid specification.
    pub fn new(spec: &BcubeSpec) -> BcubeAddresses {
        let (n, k) = (spec.n, spec.k);
        let weight: Vec<u32> = (0..=k).map(|level| n.pow(level)).collect();
        let group = weight[k as usize];
        let servers = spec.servers.unwrap_or_else(|| group * n);
        let mut radix = vec![n; k as usize + 1];
        radix[k as usize] = servers / group;
        BcubeAddresses {
            n,
            servers,
            weight,
            radix,
        }
    }

    /// Ports of a switch, `n`.
    pub fn n(&self) -> u32 {
        self.n
    }

    /// The highest level, `k`.
    pub fn k(&self) -> u32 {
        self.weight.len() as u32 - 1
    }

    /// Levels, `k + 1`.
    pub fn levels(&self) -> usize {
        self.weight.len()
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// The difference in ids of two servers whose digits at `level` differ by 1, `n^level`.
    #[inline]
    pub fn weight(&self, level: usize) -> u32 {
        self.weight[level]
    }

    /// Number of values of the digit at `level`: `n`; at the top level, the number of BCube_{k-1}s
    /// present.
    #[inline]
    pub fn radix(&self, level: usize) -> u32 {
        self.radix[level]
    }

    /// The digit of a server's address at `level`.
    #[inline]
    pub fn digit(&self, server: NodeId, level: usize) -> u32 {
        server / self.weight[level] % self.n
    }

    /// `server` with the digit at `level` replaced: its neighbour over its switch of that level.
    #[inline]
    pub fn with_digit(&self, server: NodeId, level: usize, digit: u32) -> NodeId {
        server - self.digit(server, level) * self.weight[level] + digit * self.weight[level]
    }

    /// Switches of one level: below the top only those of the BCube_{k-1}s present.
    pub fn switches_at(&self, level: u32) -> u32 {
        if level == self.k() {
            self.weight(level as usize)
        } else {
            self.servers / self.n
        }
    }

    /// The first switch of a level: switches follow the servers, level by level.
    pub fn first_switch(&self, level: u32) -> NodeId {
        self.servers + (0..level).map(|below| self.switches_at(below)).sum::<u32>()
    }

    /// Level and index within the level of a switch.
    pub fn switch(&self, node: NodeId) -> (u32, u32) {
        let offset = node - self.servers;
        if self.k() == 0 {
            return (0, offset);
        }
        let below = self.servers / self.n;
        let level = (offset / below).min(self.k());
        (level, offset - level * below)
    }

    /// The index within its level of the switch on a server's port `level`: the server's address
    /// without that digit.
    #[inline]
    pub fn switch_index(&self, server: NodeId, level: usize) -> u32 {
        let weight = self.weight[level];
        server / weight / self.n * weight + server % weight
    }
}
