//! Subways [subways §4]: a fat-tree whose servers connect to their own ToR and to its neighbours.
//!
//! A loop is `l` logical racks with a ToR each. A server of rack `i` has `p` ports: on its own ToR and on
//! `i - ceil((p-1)/2) … i + floor((p-1)/2)`, around the loop. Port 0 is the own ToR, then one to the left, one
//! to the right, two to the left, and so on, so that a higher `p` keeps every cable of a lower one.
//!
//! How many uplinks, aggregation and core switches `[ours]`, where the text leaves it open:
//! - a ToR has `ceil(down / (tor_oversubscription * uplink))` uplinks for the fastest cluster, rounded up to
//!   the same number to each aggregation switch of its cluster; without `aggs_per_cluster` there are as many
//!   aggregation switches as uplinks, as in [subways §8.1];
//! - an aggregation switch with `d` links down has `ceil(d / agg_oversubscription)` links up (12 down and
//!   3 up at 4:1), dealt to the cores in turn: link `v` of switch `i` of every cluster goes to core
//!   `(i v_total + v) mod cores`; without `cores` each such pair has a core of its own;
//! - defaults are 5:1 and 4:1 [subways §8.1]; a single cluster needs no core.

use serde_json::json;

use super::common::too_large;
use super::subways_shape::Subways;
use crate::describe::{Description, Kind, Parameter};
use crate::finding::Finding;
use crate::spec::{GbpsList, SubwaysSpec};

/// ToR oversubscription when nothing else decides [subways §8.1].
const TOR_OVERSUBSCRIPTION: f64 = 5.0;
/// Aggregation oversubscription when nothing else decides [subways §8.1].
const AGG_OVERSUBSCRIPTION: f64 = 4.0;

pub(crate) const DESCRIPTION: Description = Description {
    family: "subways",
    title: "Subways",
    summary: "A fat-tree whose servers connect to several neighbouring ToR switches in overlapping loops: shorter paths, \
              smoother hot spots, and upgrades that move no cable.",
    source: "[subways §4]",
    names: "Server loop.rack.server, ToR <0,loop.rack>, aggregation <1,cluster.i>, core <2,i>.",
    parameters: &[
        Parameter::integer("type", "", "Wiring type", 0, 2)
            .kind(Kind::Enum(&[
                (0, "0: all ports to the own ToR"),
                (1, "1: neighbouring ToRs of one cluster"),
                (2, "2: neighbouring ToRs of several clusters"),
            ]))
            .doc("Where a server's ports go: a trunk to its own ToR, or one each to neighbouring ToRs."),
        Parameter::integer("p", "p", "Ports per server", 1, 64)
            .unit("ports")
            .doc("With types 1 and 2 at most l; p = l is multihoming."),
        Parameter::integer("q", "q", "Downward ports per ToR", 1, 4096)
            .unit("ports")
            .doc("A multiple of p: a logical rack has r = q/p servers."),
        Parameter::integer("l", "l", "Racks per loop", 1, 4096)
            .unit("racks")
            .doc("Logical racks, and ToRs, in a single loop."),
        Parameter::integer("c", "c", "Clusters per loop", 1, 1024)
            .unit("clusters")
            .default(1.0)
            .doc("Clusters whose ToRs take turns along a loop (type 2); the clusters are a multiple of it."),
        Parameter::integer("clusters", "", "Clusters", 1, 4096)
            .unit("clusters")
            .default(1.0)
            .doc("Groups of ToRs under the same aggregation switches."),
        Parameter::integer("loops_per_cluster", "", "Loops per cluster", 1, 4096)
            .unit("loops")
            .default(1.0)
            .doc("There are clusters x loops_per_cluster loops in all."),
        Parameter::integer("aggs_per_cluster", "", "Aggregation switches per cluster", 1, 4096)
            .unit("switches")
            .derived("as many as a ToR needs uplinks for its oversubscription")
            .doc("Every ToR connects to all of its cluster's, equally often."),
        Parameter::integer("cores", "", "Core switches", 0, 1_000_000)
            .unit("switches")
            .derived("one for each uplink of a cluster; none with a single cluster")
            .doc("They join the clusters."),
        Parameter::number("tor_oversubscription", "", "ToR oversubscription", 0.01, 1000.0)
            .unit("x")
            .derived("5, or what aggs_per_cluster gives")
            .doc("Capacity to the servers over capacity to the aggregation switches."),
        Parameter::number("agg_oversubscription", "", "Aggregation oversubscription", 0.01, 1000.0)
            .unit("x")
            .derived("4, or what cores gives")
            .doc("Capacity to the ToRs over capacity to the core."),
        Parameter::number("server_gbps", "", "Server port rate", 0.001, 1600.0)
            .kind(Kind::NumberOrList)
            .unit("Gb/s")
            .default(10.0)
            .doc("Of every server port, or a list with one rate for each of the p ports."),
        Parameter::number("cluster_gbps", "", "Rate by cluster", 0.001, 1600.0)
            .kind(Kind::List)
            .unit("Gb/s")
            .derived("server_gbps everywhere")
            .doc("One rate for the server links into each cluster, as when a faster network is added beside an old one."),
        Parameter::number("uplink_gbps", "", "Uplink rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(40.0)
            .doc("Of the links above the ToRs."),
    ],
    presets: &[
        (
            "The paper's default, type 1: 30-port ToRs, loops of 12, two clusters",
            r#"{"family":"subways","type":1,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "The same with trunks, type 0",
            r#"{"family":"subways","type":0,"p":2,"q":30,"l":12,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "The same across two clusters, type 2",
            r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"uplink_gbps":10}"#,
        ),
        (
            "10 and 25 Gb/s networks side by side, type 2",
            r#"{"family":"subways","type":2,"p":2,"q":30,"l":12,"c":2,"clusters":2,"cluster_gbps":[10,25],"uplink_gbps":25}"#,
        ),
        (
            "The paper's testbed: 16 servers, 4 ToRs, 2 aggregation switches",
            r#"{"family":"subways","type":1,"p":2,"q":8,"l":4,"aggs_per_cluster":2,"server_gbps":0.5,"uplink_gbps":0.5}"#,
        ),
        (
            "2,040 servers: 40-port ToRs, loops of 17, six clusters",
            r#"{"family":"subways","type":1,"p":2,"q":40,"l":17,"clusters":6}"#,
        ),
    ],
};

/// The numbers a specification leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
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
            + u128::from(self.tors) * uplinks
            + u128::from(spec.clusters) * u128::from(self.aggs_per_cluster) * u128::from(self.agg_up)
    }
}

/// Rounds up, forgiving the last digits of a quotient that should be whole: `resolve` writes the
/// oversubscription it arrived at, and reading it back must give the same switches.
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

fn rate_findings(spec: &SubwaysSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let GbpsList::PerPort(rates) = &spec.server_gbps {
        if rates.len() != spec.p as usize {
            let mut fixed = rates.clone();
            fixed.resize(spec.p as usize, rates.last().copied().unwrap_or(10.0));
            findings.push(
                Finding::error(
                    "subways-rates-per-port",
                    "topology.server_gbps",
                    format!(
                        "server_gbps has {} rates, but a server has p = {} ports.",
                        rates.len(),
                        spec.p
                    ),
                    "Give one rate for each port, or a single rate for all.",
                )
                .with_value(json!(rates))
                .with_limit(spec.p)
                .with_topology_fix("server_gbps", fixed),
            );
        } else if spec.wiring_type == 0 && rates.iter().any(|rate| *rate != rates[0]) {
            findings.push(
                Finding::error(
                    "subways-mixed-trunk",
                    "topology.server_gbps",
                    format!("server_gbps is {}, but the ports of a type 0 trunk must have the same rate [subways §4.1].", json!(rates)),
                    "Use one rate, or wiring type 1 or 2.",
                )
                .with_value(json!(rates))
                .with_topology_fix("server_gbps", rates[0]),
            );
        }
    }
    let Some(rates) = &spec.cluster_gbps else {
        return findings;
    };
    if rates.len() != spec.clusters as usize {
        let mut fixed = rates.clone();
        fixed.resize(spec.clusters as usize, rates.last().copied().unwrap_or(10.0));
        findings.push(
            Finding::error(
                "subways-rates-per-cluster",
                "topology.cluster_gbps",
                format!(
                    "cluster_gbps has {} rates, but there are {} clusters.",
                    rates.len(),
                    spec.clusters
                ),
                "Give one rate for each cluster, or leave it out.",
            )
            .with_value(json!(rates))
            .with_limit(spec.clusters)
            .with_topology_fix("cluster_gbps", fixed),
        );
    }
    if matches!(spec.server_gbps, GbpsList::PerPort(_)) {
        findings.push(
            Finding::warning(
                "subways-two-rates",
                "topology.server_gbps",
                "cluster_gbps decides the rates; the list in server_gbps has no effect.",
                "Leave one of them out.",
            )
            .with_topology_fix("server_gbps", json!(null)),
        );
    }
    let mut distinct = rates.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    if distinct.len() > 200 {
        findings.push(Finding::error(
            "subways-too-many-rates",
            "topology.cluster_gbps",
            format!(
                "cluster_gbps has {} different rates; the limit is 200.",
                distinct.len()
            ),
            "Use fewer different rates.",
        ));
    }
    findings
}

/// Whether the loop, port and cluster numbers go together.
fn loop_findings(spec: &SubwaysSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !spec.q.is_multiple_of(spec.p) {
        let nearest = ((spec.q + spec.p / 2) / spec.p).max(1) * spec.p;
        findings.push(
            Finding::error(
                "subways-ports-not-whole",
                "topology.q",
                format!(
                    "q is {}, but must be a multiple of p = {}: a logical rack has q/p servers.",
                    spec.q, spec.p
                ),
                format!("The nearest valid value is {nearest}."),
            )
            .with_value(spec.q)
            .with_limit(spec.p)
            .with_topology_fix("q", nearest),
        );
    }
    if spec.wiring_type > 0 && spec.p > spec.l {
        findings.push(
            Finding::error(
                "subways-loop-too-short",
                "topology.l",
                format!(
                    "p is {} and l is {}, but a server's ToRs must differ: p may be at most l.",
                    spec.p, spec.l
                ),
                format!("Use l = {} (multihoming) or more, or fewer ports.", spec.p),
            )
            .with_value(spec.l)
            .with_limit(spec.p)
            .with_topology_fix("l", spec.p),
        );
    } else if spec.wiring_type > 0 && spec.p == spec.l && spec.p > 1 {
        findings.push(Finding::info(
            "subways-multihoming",
            "topology.l",
            format!(
                "p = l = {}: every server of a loop is on all its ToRs, which is plain multihoming.",
                spec.l
            ),
            "A longer loop gives more, at the same cost [subways §4.2].",
        ));
    }
    if spec.wiring_type != 2 && spec.c != 1 {
        findings.push(
            Finding::warning(
                "subways-clusters-per-loop-unused",
                "topology.c",
                format!("c is {}, but only type 2 spreads a loop over clusters.", spec.c),
                "Use c = 1, or type 2.",
            )
            .with_value(spec.c)
            .with_topology_fix("c", 1),
        );
    } else if spec.wiring_type == 2 && !spec.clusters.is_multiple_of(spec.c) {
        let nearest = ((spec.clusters + spec.c / 2) / spec.c).max(1) * spec.c;
        findings.push(
            Finding::error(
                "subways-clusters-not-whole",
                "topology.clusters",
                format!(
                    "clusters is {}, but must be a multiple of c = {}: each loop is spread over c of them.",
                    spec.clusters, spec.c
                ),
                format!("The nearest valid value is {nearest}."),
            )
            .with_value(spec.clusters)
            .with_limit(spec.c)
            .with_topology_fix("clusters", nearest),
        );
    } else if spec.wiring_type == 2 && spec.c == 1 {
        findings.push(
            Finding::warning(
                "subways-type-2-in-one-cluster",
                "topology.c",
                "With c = 1 all ToRs of a loop are in one cluster, as with type 1.",
                "Use c = 2 or more, or type 1.",
            )
            .with_topology_fix("type", 1),
        );
    } else if spec.wiring_type == 2 && spec.c > spec.l {
        findings.push(
            Finding::warning(
                "subways-loop-misses-clusters",
                "topology.c",
                format!(
                    "A loop of l = {} ToRs reaches only that many of its c = {} clusters.",
                    spec.l, spec.c
                ),
                "Use c of at most l.",
            )
            .with_value(spec.c)
            .with_limit(spec.l),
        );
    }
    findings
}

/// Whether the aggregation and core switches can be wired.
fn core_findings(spec: &SubwaysSpec, sizes: &Sizes) -> Vec<Finding> {
    let mut findings = Vec::new();
    let per_cluster = u64::from(sizes.aggs_per_cluster) * sizes.agg_up;
    let wrong_cores = |message: String, fix: u64| {
        Finding::error(
            "subways-cores",
            "topology.cores",
            message,
            format!("Use {fix} cores, or leave the number out."),
        )
        .with_value(spec.cores)
        .with_topology_fix("cores", fix)
    };
    if spec.clusters > 1 && sizes.cores == 0 {
        findings.push(
            Finding::error(
                "subways-cores",
                "topology.cores",
                format!(
                    "cores is 0, but {} clusters need core switches to reach each other.",
                    spec.clusters
                ),
                "Use at least one core, or leave the number out.",
            )
            .with_value(0)
            .with_limit(1)
            .with_topology_fix("cores", json!(null)),
        );
    } else if sizes.cores > per_cluster {
        findings.push(wrong_cores(
            format!(
                "cores is {}, but a cluster has only {per_cluster} links up; some cores would be idle.",
                sizes.cores
            ),
            per_cluster,
        ));
    } else if sizes.agg_up > sizes.cores {
        findings.push(wrong_cores(
            format!(
                "cores is {}, but an aggregation switch has {} links up, each to another core.",
                sizes.cores, sizes.agg_up
            ),
            sizes.agg_up,
        ));
    }
    let ports = [
        (
            "ToR",
            u64::from(spec.q) + u64::from(sizes.aggs_per_cluster) * u64::from(sizes.trunk),
            "tor_oversubscription",
        ),
        ("aggregation switch", sizes.agg_down + sizes.agg_up, "l"),
        (
            "core switch",
            u64::from(spec.clusters).saturating_mul(per_cluster.div_ceil(sizes.cores.max(1))),
            "clusters",
        ),
    ];
    for (what, count, field) in ports {
        if count > 65_535 {
            findings.push(
                Finding::error(
                    "subways-too-many-ports",
                    format!("topology.{field}"),
                    format!("A {what} would need {count} ports; the limit is 65535."),
                    "Make the clusters smaller or the oversubscription higher.",
                )
                .with_value(count)
                .with_limit(65_535),
            );
        }
    }
    findings
}

pub(crate) fn validate(spec: &SubwaysSpec) -> Vec<Finding> {
    let mut findings = loop_findings(spec);
    findings.extend(rate_findings(spec));
    if findings.iter().any(Finding::is_error) {
        return findings;
    }
    let sizes = sizes(spec);
    let fixes = [
        ("clusters", json!(spec.c)),
        ("loops_per_cluster", json!(1)),
        ("l", json!(spec.l.min(spec.p.max(48)))),
    ];
    if let Some(finding) = too_large("clusters", "The network", sizes.links(spec), fixes) {
        findings.push(finding);
        return findings;
    }
    findings.extend(core_findings(spec, &sizes));
    findings
}

pub(crate) fn resolve(spec: &SubwaysSpec) -> SubwaysSpec {
    let sizes = sizes(spec);
    SubwaysSpec {
        c: sizes.spread,
        aggs_per_cluster: Some(sizes.aggs_per_cluster),
        cores: Some(u32::try_from(sizes.cores).unwrap_or(u32::MAX)),
        tor_oversubscription: Some(sizes.tor_oversubscription),
        agg_oversubscription: (sizes.agg_up > 0).then(|| sizes.agg_down as f64 / sizes.agg_up as f64),
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &SubwaysSpec) -> String {
    format!(
        "Subways type {}, p = {}, l = {}",
        spec.wiring_type, spec.p, spec.l
    )
}

/// Addressing of a valid specification.
pub(crate) fn shape(spec: &SubwaysSpec) -> Subways {
    Subways::new(spec, sizes(spec))
}
