//! Errors and warnings about a Subways specification, with fixes.

use serde_json::{Value, json};

use super::super::common::too_large;
use super::DESCRIPTION;
use super::sizes::{Sizes, sizes};
use crate::finding::Finding;
use crate::spec::{GbpsList, MAX_LINKS, SubwaysSpec};

/// Ports are numbered in 16 bits.
const PORTS_AT_MOST: u64 = 65_535;

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

/// Only the way from a type whose loops stay in one cluster to type 2 moves uplinks.
/// `[subways §4.3]`
fn former_findings(spec: &SubwaysSpec) -> Option<Finding> {
    let former = spec.former_type.filter(|_| spec.wiring_type != 2)?;
    let finding = Finding::error(
        "subways-former-type",
        "topology.former_type",
        format!(
            "The type before the upgrade is {former}, but uplinks move to other clusters only in type 2, not in type {}.",
            spec.wiring_type
        ),
        "Leave former_type out.",
    );
    Some(
        finding
            .with_value(former)
            .with_limit(2)
            .with_topology_fix("former_type", json!(null)),
    )
}

/// Whether the loop, port and cluster numbers go together.
fn loop_findings(spec: &SubwaysSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !spec.q.is_multiple_of(spec.p) {
        let nearest = nearest_multiple("q", spec.q, spec.p);
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
        let nearest = nearest_multiple("clusters", spec.clusters, spec.c);
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
    let tor = u64::from(spec.q) + u64::from(sizes.aggs_per_cluster) * u64::from(sizes.trunk);
    let core = u64::from(spec.clusters).saturating_mul(per_cluster.div_ceil(sizes.cores.max(1)));
    // Reset to their defaults the parameters that can cause this number of ports.
    let uplinks = [
        "aggs_per_cluster",
        "tor_oversubscription",
        "uplink_gbps",
        "server_gbps",
        "cluster_gbps",
        "cores",
    ];
    for (what, count, field, reset) in [
        ("ToR", tor, "tor_oversubscription", &uplinks[..]),
        (
            "aggregation switch",
            sizes.agg_down + sizes.agg_up,
            "loops_per_cluster",
            &[
                "loops_per_cluster",
                "aggs_per_cluster",
                "tor_oversubscription",
                "agg_oversubscription",
                "cores",
            ],
        ),
        ("core switch", core, "cores", &["cores"]),
    ] {
        if count > PORTS_AT_MOST {
            findings.push(
                Finding::error(
                    "subways-too-many-ports",
                    format!("topology.{field}"),
                    format!("Each {what} would need {count} ports; the limit is {PORTS_AT_MOST}."),
                    "Make the clusters smaller or the oversubscription higher.",
                )
                .with_value(count)
                .with_limit(PORTS_AT_MOST)
                .with_topology_fixes(reset.iter().map(|&name| (name, json!(null)))),
            );
        }
    }
    findings
}

/// Parameters of a network within the limit: with as many clusters as fit, else a small one.
fn smaller(spec: &SubwaysSpec) -> Vec<(&'static str, Value)> {
    let step = if spec.wiring_type == 2 { spec.c } else { 1 };
    let fits = |clusters: u32| {
        // The rates only matter for their number, which follows the clusters.
        let smaller = SubwaysSpec {
            clusters,
            ..spec.clone()
        };
        sizes(&smaller).links(&smaller) <= u128::from(MAX_LINKS)
    };
    if let Some(groups) = (1..spec.clusters / step).rev().find(|groups| fits(groups * step)) {
        let mut fixes = vec![("clusters", json!(groups * step))];
        if let Some(rates) = &spec.cluster_gbps {
            fixes.push(("cluster_gbps", json!(rates[..(groups * step) as usize])));
        }
        return fixes;
    }
    let c = step.min(4);
    let mut fixes = vec![
        ("c", json!(c)),
        ("clusters", json!(c)),
        ("loops_per_cluster", json!(1)),
        ("l", json!(spec.l.min(spec.p.max(48)))),
        ("q", json!(spec.p * (spec.q / spec.p).min(48))),
    ];
    let derived = [
        "aggs_per_cluster",
        "cores",
        "tor_oversubscription",
        "agg_oversubscription",
        "cluster_gbps",
    ];
    fixes.extend(derived.map(|name| (name, json!(null))));
    fixes.extend([("uplink_gbps", json!(null)), ("server_gbps", json!(null))]);
    fixes
}

/// The multiple of `step` nearest to `value`, at most the parameter's limit.
fn nearest_multiple(parameter: &str, value: u32, step: u32) -> u32 {
    let limit = DESCRIPTION
        .parameter(parameter)
        .map_or(u32::MAX, |parameter| parameter.max as u32);
    ((value + step / 2) / step).clamp(1, limit / step) * step
}

pub(crate) fn validate(spec: &SubwaysSpec) -> Vec<Finding> {
    let mut findings = loop_findings(spec);
    findings.extend(former_findings(spec));
    findings.extend(rate_findings(spec));
    if findings.iter().any(Finding::is_error) {
        return findings;
    }
    let sizes = sizes(spec);
    if let Some(finding) = too_large("clusters", "The network", sizes.links(spec), smaller(spec)) {
        findings.push(finding);
        return findings;
    }
    findings.extend(core_findings(spec, &sizes));
    findings
}
