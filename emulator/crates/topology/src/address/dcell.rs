//! DCell addresses: `[a_k, …, a_0]` with `a_0 < n` and `a_l < t_{l-1} + 1`. `[dcell §3]`

use std::ops::Range;

use super::division::Divisor;
use super::top_down::TopDown;
use crate::graph::NodeId;
use crate::spec::{DcellGrowth, DcellSpec};

/// The link that joins two sub-DCells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge {
    /// The end in the first sub-DCell given.
    pub near: NodeId,
    /// The end in the second.
    pub far: NodeId,
}

/// The addresses of a DCell, complete or its first servers only. The paper's uids count addresses
/// in order; ids count servers in the order in which the DCell grows, which is that of the uids
/// unless it grows from the top down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DcellAddresses {
    servers: u32,
    /// `t_0 … t_k`, saturating.
    sizes: Vec<u64>,
    /// Divisions by `t_0 … t_k`, and by `g_1 … g_k` in the places before.
    by_size: Vec<Divisor>,
    by_siblings: Vec<Divisor>,
    /// The order of growth if it differs from that of the uids.
    top_down: Option<TopDown>,
}

impl DcellAddresses {
    /// The addresses of a valid specification.
    pub fn new(spec: &DcellSpec) -> DcellAddresses {
        let sizes = DcellAddresses::sizes_of(spec.n, spec.k);
        let full = u32::try_from(sizes[spec.k as usize]).unwrap_or(u32::MAX);
        let servers = spec.servers.unwrap_or(full);
        let other_order = spec.growth == DcellGrowth::TopDown && spec.k == 3;
        DcellAddresses {
            servers,
            by_size: sizes.iter().map(|&size| Divisor::new(size)).collect(),
            by_siblings: sizes
                .iter()
                .map(|size| Divisor::new(size.saturating_add(1)))
                .collect(),
            top_down: other_order.then(|| TopDown::new(sizes[1], sizes[2])),
            sizes,
        }
    }

    /// The number of a server's address among all addresses of the complete DCell.
    #[inline]
    pub fn uid(&self, server: NodeId) -> u64 {
        match &self.top_down {
            Some(order) => order.uid(u64::from(server)),
            None => u64::from(server),
        }
    }

    /// The server with this uid; `None` if the DCell does not have it.
    #[inline]
    pub fn server(&self, uid: u64) -> Option<NodeId> {
        if uid >= self.sizes[self.k()] {
            return None;
        }
        let position = match &self.top_down {
            Some(order) => order.position(uid),
            None => uid,
        };
        (position < u64::from(self.servers)).then_some(position as NodeId)
    }

    /// `t_0 … t_k`: servers of a complete DCell of each level; `u64::MAX` for larger numbers.
    pub fn sizes_of(n: u32, k: u32) -> Vec<u64> {
        let mut sizes = vec![u64::from(n)];
        for level in 0..k as usize {
            let below = sizes[level];
            sizes.push(below.saturating_mul(below.saturating_add(1)));
        }
        sizes
    }

    /// The highest level, `k`.
    pub fn k(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Number of servers.
    pub fn servers(&self) -> u32 {
        self.servers
    }

    /// Servers of a complete DCell of `level`, `t_level`; the least is `n`.
    #[inline]
    pub fn size(&self, level: usize) -> u64 {
        self.sizes[level]
    }

    /// `t_0 … t_k`.
    pub fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    /// Number of DCell_{level-1}s in a DCell_level, `g_level`.
    #[inline]
    pub fn siblings(&self, level: usize) -> u64 {
        self.sizes[level - 1].saturating_add(1)
    }

    /// Digit `level` of a server's address.
    pub fn digit(&self, server: NodeId, level: usize) -> u32 {
        let uid = self.uid(server);
        if level == 0 {
            return self.by_size[0].remainder(uid) as u32;
        }
        self.by_siblings[level - 1].remainder(self.by_size[level - 1].quotient(uid)) as u32
    }

    /// The number of a server within its DCell of `digits.len() - 1` levels, from its digits, the
    /// highest first. `None` for a digit that is too large.
    pub fn id(&self, digits: &[u32]) -> Option<u64> {
        let mut id = 0u64;
        for (position, &digit) in digits.iter().enumerate() {
            let level = digits.len() - 1 - position;
            let (weight, radix) = if level == 0 {
                (1, self.sizes[0])
            } else {
                (self.sizes[level - 1], self.siblings(level))
            };
            if u64::from(digit) >= radix {
                return None;
            }
            id = id.checked_add(u64::from(digit).checked_mul(weight)?)?;
        }
        Some(id)
    }

    /// The index of the DCell_level that holds a server, counted over the whole network.
    #[inline]
    pub fn cell(&self, server: NodeId, level: usize) -> u64 {
        self.by_size[level].quotient(self.uid(server))
    }

    /// A short range of ids that contains every server of the DCell_level of `server`. In uid order
    /// the range contains no other servers. In top-down order that holds up to level 1, because
    /// DCell_1s are added whole.
    pub fn ids_around(&self, server: NodeId, level: usize) -> Range<NodeId> {
        if self.top_down.is_some() && level > 1 {
            return 0..self.servers;
        }
        let size = u32::try_from(self.sizes[level]).unwrap_or(u32::MAX);
        let first = server / size * size;
        first..first.saturating_add(size).min(self.servers)
    }

    /// The servers of one DCell_level, by its index over the whole network, in the order of their
    /// uids.
    pub fn servers_of(&self, cell: u64, level: usize) -> impl Iterator<Item = NodeId> + '_ {
        let size = self.sizes[level];
        let first = cell.saturating_mul(size);
        // In the order of uids no server has a greater uid, regardless of the size of the complete
        // DCell.
        let end = first.saturating_add(size);
        let end = self.top_down.map_or(end.min(u64::from(self.servers)), |_| end);
        (first..end).filter_map(|uid| self.server(uid))
    }

    /// The indices of the DCell_levels that have a server, over the whole network, ascending.
    pub fn cells(&self, level: usize) -> Vec<u64> {
        let Some(_) = self.top_down else {
            return (0..u64::from(self.servers).div_ceil(self.sizes[level])).collect();
        };
        let mut cells: Vec<u64> = (0..self.servers)
            .step_by(self.sizes[0].min(self.sizes[level]) as usize)
            .map(|server| self.cell(server, level))
            .collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// One more than the greatest index of a DCell_level with a server.
    #[inline]
    pub fn cells_end(&self, level: usize) -> u64 {
        match &self.top_down {
            // The DCell_2s exist from the first step on; inside the last of them, all DCells are
            // checked.
            Some(_) => self.sizes[3].div_ceil(self.sizes[level]),
            None => u64::from(self.servers).div_ceil(self.sizes[level]),
        }
    }

    /// The least level whose DCell holds both servers; 0 when they share a mini-switch.
    #[inline]
    pub fn common_level(&self, a: NodeId, b: NodeId) -> usize {
        let (a, b) = (self.uid(a), self.uid(b));
        self.by_size
            .iter()
            .position(|size| size.quotient(a) == size.quotient(b))
            .unwrap_or(self.k())
    }

    /// The link between DCell_{level-1}s `from` and `to` (different indices over the whole network)
    /// of one DCell_level: for i < j, server j-1 of sub-DCell i with server i of sub-DCell j.
    /// `None` where a partial DCell lacks either server. `[dcell §3, BuildDCells]`
    pub fn bridge(&self, level: usize, from: u64, to: u64) -> Option<Bridge> {
        let below = self.sizes[level - 1];
        let siblings = self.by_siblings[level - 1];
        let (i, j) = (siblings.remainder(from), siblings.remainder(to));
        let server = |cell: u64, index: u64| cell.checked_mul(below)?.checked_add(index);
        let (near, far) = if i < j {
            (server(from, j - 1)?, server(to, i)?)
        } else {
            (server(from, j)?, server(to, i - 1)?)
        };
        Some(Bridge {
            near: self.server(near)?,
            far: self.server(far)?,
        })
    }

    /// The server at the other end of a link above level 0, if that server exists: server x of
    /// sub-DCell i is joined to sub-DCell x + 1 if x >= i, else to sub-DCell x.
    pub fn partner(&self, server: NodeId, level: usize) -> Option<NodeId> {
        let below = self.sizes[level - 1];
        let server = self.uid(server);
        let cell = self.by_size[level - 1].quotient(server);
        let (sub, x) = (self.by_siblings[level - 1].remainder(cell), server - cell * below);
        let base = server - sub * below - x;
        let (sub, x) = if x >= sub { (x + 1, sub) } else { (x, sub - 1) };
        self.server(base.saturating_add(sub.saturating_mul(below)).saturating_add(x))
    }
}
