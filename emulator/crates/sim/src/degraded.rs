//! Degraded links, and the remaining capacity of each.

use std::collections::BTreeMap;

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;

/// The remaining capacity of a degraded link in each direction.
///
/// Loss counts as a lower rate: the link's rate times the share of packets that arrive. That is an
/// upper bound, which UDP reaches; TCP slows down after every loss and gets less. `[ours]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// The highest rate; infinity if packets are only lost.
    pub rate_bits_per_sec: f64,
    /// The share of packets that arrives, 0 to 1.
    pub passes: f64,
}

impl Limit {
    /// A link that is limited to this rate.
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

    /// Both limits together: the lower rate, and the product of the shares that arrive.
    #[must_use]
    pub fn and(self, other: Limit) -> Limit {
        Limit {
            rate_bits_per_sec: self.rate_bits_per_sec.min(other.rate_bits_per_sec),
            passes: self.passes * other.passes,
        }
    }

    /// The remaining part of a capacity in Gb/s; never more than the capacity.
    fn left_of_gbps(self, capacity_gbps: f64) -> f64 {
        capacity_gbps.min(self.rate_bits_per_sec / 1e9) * self.passes
    }

    /// The capacity that bandwidth probes measure: the link's rate without its loss, unless all
    /// probes are lost. `[ours]`
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
    /// Adds a limit to a link, in addition to its existing limits.
    pub fn add(&mut self, link: u32, limit: Limit) {
        self.0
            .entry(link)
            .and_modify(|present| *present = present.and(limit))
            .or_insert(limit);
    }

    /// The remaining capacities, given the links' own capacities (Gb/s, by directed link). Linear
    /// in the links.
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

/// The capacities of links, in Gb/s by directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// The most that each link can carry.
    pub gbps: Vec<f64>,
    /// The capacities as a probing routing scheme measures them.
    pub seen_gbps: Vec<f64>,
    /// Number of links with reduced capacity.
    pub degraded_links: usize,
}

/// The damage of faults: failed and degraded parts of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Damage {
    /// The failed parts.
    pub failures: Failures,
    /// The degraded links.
    pub degraded: Degraded,
}

impl Damage {
    /// No damage.
    pub fn none(topology: &Topology) -> Damage {
        Damage {
            failures: Failures::none(topology),
            degraded: Degraded::default(),
        }
    }
}
