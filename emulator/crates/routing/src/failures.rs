//! Failures: a set of nodes and a set of links, with seeded random draws of either.

use cubeyard_topology::{Links, NodeId, Topology};

use crate::random::Draws;

/// A fixed-size set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
    count: u32,
}

impl BitSet {
    /// The empty set with room for `0..size`.
    pub fn new(size: usize) -> BitSet {
        BitSet {
            words: vec![0; size.div_ceil(64)],
            count: 0,
        }
    }

    /// Whether `item` is in the set.
    #[inline]
    pub fn contains(&self, item: u32) -> bool {
        self.words[item as usize / 64] >> (item % 64) & 1 == 1
    }

    /// Adds `item`, and returns whether it was new.
    pub fn insert(&mut self, item: u32) -> bool {
        let word = &mut self.words[item as usize / 64];
        let bit = 1u64 << (item % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u32::from(new);
        new
    }

    /// Removes `item` and returns whether the set contained it.
    pub fn remove(&mut self, item: u32) -> bool {
        let word = &mut self.words[item as usize / 64];
        let bit = 1u64 << (item % 64);
        let there = *word & bit != 0;
        *word &= !bit;
        self.count -= u32::from(there);
        there
    }

    /// Number of items in the set.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The items, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    i as u32 * 64 + bit
                })
            })
        })
    }
}

/// The kinds of devices and links that can fail at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// Servers fail.
    Server,
    /// Switches, of every level alike.
    Switch,
    /// Links, both directions at once.
    Link,
}

/// The failed nodes and links of a network. The links of a failed node fail too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failures {
    nodes: BitSet,
    links: BitSet,
}

impl Failures {
    /// A set without failures.
    pub fn none(topology: &Topology) -> Failures {
        Failures {
            nodes: BitSet::new(topology.node_count() as usize),
            links: BitSet::new(topology.links().len()),
        }
    }

    /// `ratio` of all components of `kind`, rounded to the nearest whole number, drawn without
    /// replacement from `seed`. Ratios outside `0..=1` are clamped.
    pub fn random(topology: &Topology, kind: FailureKind, ratio: f64, seed: u64) -> Failures {
        let mut failures = Failures::none(topology);
        failures.add_random(topology, kind, ratio, seed);
        failures
    }

    /// Adds a random draw (see [`Failures::random`]) to the failures.
    pub fn add_random(&mut self, topology: &Topology, kind: FailureKind, ratio: f64, seed: u64) {
        let (first, count) = match kind {
            FailureKind::Server => (0, topology.server_count()),
            FailureKind::Switch => (topology.server_count(), topology.switch_count()),
            FailureKind::Link => (0, topology.links().len() as u32),
        };
        let mut items: Vec<u32> = (first..first + count).collect();
        let wanted = (f64::from(count) * ratio.clamp(0.0, 1.0)).round() as usize;
        let mut draws = Draws::of(seed, kind as u64);
        for i in 0..wanted.min(items.len()) {
            let other = i + draws.below((items.len() - i) as u32) as usize;
            items.swap(i, other);
            match kind {
                FailureKind::Link => self.links.insert(items[i]),
                FailureKind::Server | FailureKind::Switch => self.nodes.insert(items[i]),
            };
        }
    }

    /// Fails one node.
    pub fn fail_node(&mut self, node: NodeId) {
        self.nodes.insert(node);
    }

    /// Fails one link.
    pub fn fail_link(&mut self, link: u32) {
        self.links.insert(link);
    }

    /// Brings a node back.
    pub fn recover_node(&mut self, node: NodeId) {
        self.nodes.remove(node);
    }

    /// Brings a link back.
    pub fn recover_link(&mut self, link: u32) {
        self.links.remove(link);
    }

    /// Whether a node has failed.
    #[inline]
    pub fn node_failed(&self, node: NodeId) -> bool {
        self.nodes.contains(node)
    }

    /// Whether the link itself has failed, regardless of its ends.
    #[inline]
    pub fn link_failed(&self, link: u32) -> bool {
        self.links.contains(link)
    }

    /// Whether a link can carry anything: itself and both its ends are alive.
    #[inline]
    pub fn carries(&self, links: &Links, link: usize) -> bool {
        !self.link_failed(link as u32) && !self.node_failed(links.a[link]) && !self.node_failed(links.b[link])
    }

    /// Whether nothing has failed.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.links.is_empty()
    }

    /// The failed nodes.
    pub fn nodes(&self) -> &BitSet {
        &self.nodes
    }

    /// The failed links.
    pub fn links(&self) -> &BitSet {
        &self.links
    }
}
