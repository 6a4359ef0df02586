//! Links as columns, and adjacency in compressed rows.

/// A node: servers are `0..server_count`, switches follow, tier after tier.
pub type NodeId = u32;

/// All links, one entry per link in every column.
///
/// `a` is the server end of a server-switch link, the lower switch of a switch-switch link, and the
/// lower id of a server-server link or of a link within a tier. A link is full duplex; its rate is
/// the capacity per direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Links {
    /// The node at the near end of each link.
    pub a: Vec<NodeId>,
    /// The node at the far end of each link.
    pub b: Vec<NodeId>,
    /// Port number at the near end.
    pub a_port: Vec<u16>,
    /// Port number at the far end.
    pub b_port: Vec<u16>,
    /// Level: that of the upper switch (within a tier one more), or the family's own level between
    /// servers.
    pub level: Vec<u8>,
    /// The rate of each link, as an index into `rates_bits_per_sec`.
    pub rate_class: Vec<u8>,
    /// The distinct rates, in bits per second and direction.
    pub rates_bits_per_sec: Vec<f64>,
}

impl Links {
    /// Empty columns with room for `links` links.
    pub fn with_capacity(links: usize, rates_bits_per_sec: Vec<f64>) -> Links {
        Links {
            a: Vec::with_capacity(links),
            b: Vec::with_capacity(links),
            a_port: Vec::with_capacity(links),
            b_port: Vec::with_capacity(links),
            level: Vec::with_capacity(links),
            rate_class: Vec::with_capacity(links),
            rates_bits_per_sec,
        }
    }

    /// Number of links.
    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// Whether there is no link at all (a single server).
    pub fn is_empty(&self) -> bool {
        self.a.is_empty()
    }

    /// Capacity of one link per direction.
    pub fn rate_bits_per_sec(&self, link: usize) -> f64 {
        self.rates_bits_per_sec[usize::from(self.rate_class[link])]
    }

    /// The rate of the slowest link; infinity where there is none.
    pub fn slowest_bits_per_sec(&self) -> f64 {
        let rates = (0..self.len()).map(|link| self.rate_bits_per_sec(link));
        rates.fold(f64::INFINITY, f64::min)
    }

    /// Appends one link between `(node, port)` ends.
    #[inline]
    pub fn push(&mut self, a: (NodeId, u16), b: (NodeId, u16), level: u8, rate_class: u8) {
        self.a.push(a.0);
        self.a_port.push(a.1);
        self.b.push(b.0);
        self.b_port.push(b.1);
        self.level.push(level);
        self.rate_class.push(rate_class);
    }
}

/// Adjacency in compressed sparse rows: the neighbours of `v` are
/// `neighbours[offsets[v]..offsets[v + 1]]`, in ascending link order; the matching links are in a
/// parallel array.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    /// Row starts; one more than there are nodes.
    pub offsets: Vec<u32>,
    /// Neighbour of each half-link.
    pub neighbours: Vec<NodeId>,
    /// Link of each half-link.
    pub links: Vec<u32>,
}

impl Csr {
    /// Builds the rows by counting, in time linear in links.
    pub fn new(node_count: u32, links: &Links) -> Csr {
        let mut offsets = vec![0u32; node_count as usize + 1];
        for &node in links.a.iter().chain(&links.b) {
            offsets[node as usize + 1] += 1;
        }
        for i in 1..offsets.len() {
            offsets[i] += offsets[i - 1];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0; links.len() * 2];
        let mut of_link = vec![0u32; links.len() * 2];
        for (link, (&a, &b)) in links.a.iter().zip(&links.b).enumerate() {
            for (from, to) in [(a, b), (b, a)] {
                let slot = next[from as usize] as usize;
                next[from as usize] += 1;
                neighbours[slot] = to;
                of_link[slot] = link as u32;
            }
        }
        Csr {
            offsets,
            neighbours,
            links: of_link,
        }
    }

    /// The half-links of a node as `(neighbour, link)`, in link order.
    pub fn row(&self, node: NodeId) -> impl ExactSizeIterator<Item = (NodeId, u32)> + '_ {
        let range = self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize;
        self.neighbours[range.clone()]
            .iter()
            .copied()
            .zip(self.links[range].iter().copied())
    }

    /// The neighbours of a node, in link order.
    pub fn neighbours_of(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[self.offsets[node as usize] as usize..self.offsets[node as usize + 1] as usize]
    }

    /// Number of link ends at a node.
    pub fn degree(&self, node: NodeId) -> u32 {
        self.offsets[node as usize + 1] - self.offsets[node as usize]
    }
}
