//! Degraded links, and the remaining capacity of each.

use std::collections::BTreeMap;

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use cubeyard_topology::fault::LinkQuality;

/// The remaining part of a capacity in Gb/s; never more than the capacity.
///
/// Loss counts as a lower rate: the link's rate times the share of packets that arrive. That is an
/// upper bound, which UDP reaches; TCP slows down after every loss and gets less. `[ours]`
fn left_of_gbps(quality: LinkQuality, capacity_gbps: f64) -> f64 {
    capacity_gbps.min(quality.rate_bits_per_sec / 1e9) * quality.passes
}

/// The capacity that bandwidth probes measure: the link's rate without its loss, unless all probes
/// are lost. `[ours]`
fn seen_of_gbps(quality: LinkQuality, capacity_gbps: f64) -> f64 {
    if quality.passes > 0.0 {
        capacity_gbps.min(quality.rate_bits_per_sec / 1e9)
    } else {
        0.0
    }
}

/// The degraded links of a network. Memory is per degraded link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Degraded(BTreeMap<u32, LinkQuality>);

impl Degraded {
    /// Degrades a link, in addition to what degrades it already.
    pub fn add(&mut self, link: u32, quality: LinkQuality) {
        self.0
            .entry(link)
            .and_modify(|present| *present = present.and(quality))
            .or_insert(quality);
    }

    /// The remaining capacities, given the links' own capacities (Gb/s, by directed link). Linear
    /// in the links.
    pub fn capacity(&self, own_gbps: Vec<f64>) -> Capacity {
        let mut capacity = Capacity {
            seen_gbps: own_gbps.clone(),
            gbps: own_gbps,
            degraded_links: 0,
        };
        for (&link, &quality) in &self.0 {
            let both = link as usize * 2..link as usize * 2 + 2;
            let mut less = false;
            for directed in both {
                let own = capacity.gbps[directed];
                capacity.gbps[directed] = left_of_gbps(quality, own);
                capacity.seen_gbps[directed] = seen_of_gbps(quality, own);
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
