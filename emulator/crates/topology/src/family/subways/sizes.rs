//! The number of switches and links of a Subways specification; the parent module's documentation
//! has the derivation.

use crate::spec::{GbpsList, SubwaysSpec};

/// ToR oversubscription by default [subways §8.1].
const TOR_OVERSUBSCRIPTION: f64 = 5.0;
/// Aggregation oversubscription by default [subways §8.1].
const AGG_OVERSUBSCRIPTION: f64 = 4.0;

/// The numbers a specification leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    /// Servers per logical rack.
    pub r: u32,
    pub loops: u32,
    pub tors: u64,
    /// Clusters a loop is spread over: 1 unless type 2.
    pub spread: u32,
    pub aggs_per_cluster: u32,
    /// Links between a ToR and each aggregation switch of its cluster.
    pub trunk: u32,
    /// Links of an aggregation switch to its cluster's ToRs.
    pub agg_down: u64,
    /// Links of an aggregation switch to the core.
    pub agg_up: u64,
    pub cores: u64,
    pub tor_oversubscription: f64,
}

impl Sizes {
    pub fn servers(&self) -> u64 {
        self.tors * u64::from(self.r)
    }

    pub fn links(&self, spec: &SubwaysSpec) -> u128 {
        let uplinks = u128::from(self.aggs_per_cluster) * u128::from(self.trunk);
        u128::from(self.servers()) * u128::from(spec.p)
            + u128::from(self.tors) * uplinks * if spec.former_type.is_some() { 2 } else { 1 }
            + u128::from(spec.clusters) * u128::from(self.aggs_per_cluster) * u128::from(self.agg_up)
    }
}

/// Rounds up, but ignores the rounding error of a quotient that should be whole: `resolve` writes
/// the oversubscription it arrived at, and reading it back must give the same switches.
fn ceil(value: f64) -> u64 {
    (value - 1e-9).ceil().clamp(1.0, 1e12) as u64
}

/// Capacity from the servers into a ToR of the fastest cluster, in Gb/s.
fn tor_down_gbps(spec: &SubwaysSpec) -> f64 {
    let r = f64::from(spec.q / spec.p);
    match (&spec.cluster_gbps, &spec.server_gbps) {
        (Some(rates), _) => f64::from(spec.q) * rates.iter().copied().fold(0.0, f64::max),
        (None, GbpsList::One(rate)) => f64::from(spec.q) * rate,
        (None, GbpsList::PerPort(rates)) => r * rates.iter().sum::<f64>(),
    }
}

pub(super) fn sizes(spec: &SubwaysSpec) -> Sizes {
    let loops = spec.clusters.saturating_mul(spec.loops_per_cluster);
    let spread = if spec.wiring_type == 2 { spec.c } else { 1 };
    let down = tor_down_gbps(spec);
    let needed = |oversubscription: f64| ceil(down / (oversubscription * spec.uplink_gbps));
    let (aggs, uplinks) = match (spec.aggs_per_cluster, spec.tor_oversubscription) {
        (Some(aggs), None) => (u64::from(aggs), u64::from(aggs)),
        (Some(aggs), Some(limit)) => {
            let aggs = u64::from(aggs);
            (aggs, needed(limit).div_ceil(aggs) * aggs)
        }
        (None, limit) => {
            let uplinks = needed(limit.unwrap_or(TOR_OVERSUBSCRIPTION));
            (uplinks, uplinks)
        }
    };
    let aggs = aggs.min(u64::from(u32::MAX));
    let trunk = (uplinks / aggs).min(u64::from(u32::MAX));
    let agg_down = u64::from(spec.loops_per_cluster) * u64::from(spec.l) * trunk;
    let (agg_up, cores) = match (spec.cores, spec.agg_oversubscription) {
        (Some(0), _) => (0, 0),
        (None, None) if spec.clusters == 1 => (0, 0),
        (cores, Some(limit)) => {
            let up = ceil(agg_down as f64 / limit);
            (up, cores.map_or(aggs.saturating_mul(up), u64::from))
        }
        (Some(cores), None) => (u64::from(cores).div_ceil(aggs), u64::from(cores)),
        (None, None) => {
            let up = ceil(agg_down as f64 / AGG_OVERSUBSCRIPTION);
            (up, aggs.saturating_mul(up))
        }
    };
    Sizes {
        r: spec.q / spec.p,
        loops,
        tors: u64::from(loops) * u64::from(spec.l),
        spread,
        aggs_per_cluster: aggs as u32,
        trunk: trunk as u32,
        agg_down,
        agg_up,
        cores,
        tor_oversubscription: down / (uplinks as f64 * spec.uplink_gbps),
    }
}
