//! Links that carry less than they could: which, and what of each is left.

use std::collections::BTreeMap;

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;

/// What a degraded link still lets pass, each way.
///
/// Loss is taken as a rate: of what is sent at the link's rate the share that is not lost arrives.
/// That is an upper bound, which UDP reaches; TCP slows down for every loss and gets less. `[ours]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// At most this rate; infinity where packets are only lost.
    pub rate_bits_per_sec: f64,
    /// The share of packets that arrives, 0 to 1.
    pub passes: f64,
}

impl Limit {
    /// A link that goes on at this rate.
    pub fn rate(rate_bits_per_sec: f64) -> Limit {
        Limit {
            rate_bits_per_sec,
            passes: 1.0,
        }
    }

    /// A link that loses this share of its packets.
    pub fn loss(loss_ratio: f64) -> Limit {
        Limit {
            rate_bits_per_sec: f64::INFINITY,
            passes: 1.0 - loss_ratio,
        }
    }

    /// Both at once: the lower rate, and what both let pass.
    #[must_use]
    pub fn and(self, other: Limit) -> Limit {
        Limit {
            rate_bits_per_sec: self.rate_bits_per_sec.min(other.rate_bits_per_sec),
            passes: self.passes * other.passes,
        }
    }

    /// What is left of a capacity in Gb/s; never more than there was.
    fn left_of_gbps(self, capacity_gbps: f64) -> f64 {
        capacity_gbps.min(self.rate_bits_per_sec / 1e9) * self.passes
    }

    /// What probes of the bandwidth see of it: its rate, and no loss until they are lost
    /// themselves. `[ours]`
    fn seen_of_gbps(self, capacity_gbps: f64) -> f64 {
        if self.passes > 0.0 {
            capacity_gbps.min(self.rate_bits_per_sec / 1e9)
        } else {
            0.0
        }
    }
}

/// The degraded links of a network. Memory is per degraded link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Degraded(BTreeMap<u32, Limit>);

impl Degraded {
    /// Limits a link, beside what limits it already.
    pub fn add(&mut self, link: u32, limit: Limit) {
        self.0
            .entry(link)
            .and_modify(|present| *present = present.and(limit))
            .or_insert(limit);
    }

    /// What is left of the links' own capacities (Gb/s, by directed link). Linear in the links.
    pub fn capacity(&self, own_gbps: Vec<f64>) -> Capacity {
        let mut capacity = Capacity {
            seen_gbps: own_gbps.clone(),
            gbps: own_gbps,
            degraded_links: 0,
        };
        for (&link, limit) in &self.0 {
            let both = link as usize * 2..link as usize * 2 + 2;
            let mut less = false;
            for directed in both {
                let own = capacity.gbps[directed];
                capacity.gbps[directed] = limit.left_of_gbps(own);
                capacity.seen_gbps[directed] = limit.seen_of_gbps(own);
                less |= capacity.gbps[directed] < own;
            }
            capacity.degraded_links += usize::from(less);
        }
        capacity
    }
}

/// What links carry, in Gb/s by directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// At most.
    pub gbps: Vec<f64>,
    /// As it looks to a routing scheme that probes.
    pub seen_gbps: Vec<f64>,
    /// How many links carry less than they could.
    pub degraded_links: usize,
}

/// What faults leave of a network: what has failed, and what carries less.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// What carries nothing.
    pub failures: Failures,
    /// What carries less.
    pub degraded: Degraded,
}

impl Damage {
    /// Everything is whole.
    pub fn none(topology: &Topology) -> Damage {
        Damage {
            failures: Failures::none(topology),
            degraded: Degraded::default(),
        }
    }
}
