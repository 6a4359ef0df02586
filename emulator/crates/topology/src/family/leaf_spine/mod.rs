//! Leaf-spine: every leaf wired to every spine [rfc7938 §3.2.1]; with a third tier, pods of leaves
//! and spines whose spines are all wired to every super-spine [rfc7938 §3.2.2].
//!
//! The oversubscription of a leaf is the capacity of its server ports divided by that of its
//! uplinks. The oversubscription of a spine is the capacity of its links to leaves divided by that
//! of its links to super-spines.
//!
//! Inside: parameters with their errors and warnings (here), and addresses, wiring and closed forms
//! (`shape`).

mod shape;

use serde_json::json;

use super::common::too_large;
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::spec::{LeafSpineSpec, MAX_LINKS, TopologySpec};

pub(crate) use shape::LeafSpine;

const LEAVES_AT_MOST: u32 = 4096;
const SPINES_AT_MOST: u32 = 512;
const SERVERS_PER_LEAF_AT_MOST: u32 = 4096;
const UPLINKS_PER_SPINE_AT_MOST: u32 = 16;
const PODS_AT_MOST: u32 = 256;
const SUPER_SPINES_AT_MOST: u32 = 1024;
/// Ports are numbered in 16 bits.
const PORTS_AT_MOST: u32 = 1 << 16;

// Any parameters of two tiers within these limits fit together, and all links can be built;
// `validate` checks those of three.
const _: () = assert!(LEAVES_AT_MOST * UPLINKS_PER_SPINE_AT_MOST <= 1 << 16);
const _: () = assert!(SERVERS_PER_LEAF_AT_MOST + SPINES_AT_MOST * UPLINKS_PER_SPINE_AT_MOST <= 1 << 16);
const _: () = assert!(
    LEAVES_AT_MOST as u64
        * (SERVERS_PER_LEAF_AT_MOST as u64 + SPINES_AT_MOST as u64 * UPLINKS_PER_SPINE_AT_MOST as u64)
        <= MAX_LINKS
);

pub(crate) const DESCRIPTION: Description = Description {
    family: "leaf_spine",
    title: "Leaf-spine",
    summary: "Servers on leaf switches, every leaf wired to every spine; all leaves are equally far apart, and spines are added \
              for capacity. With super-spines, such networks are the pods of a third tier.",
    source: "[rfc7938 §3.2]",
    names: "Server leaf.i, leaf <0,i>, spine <1,i>; with super-spines: server pod.leaf.i, leaf <0,pod.i>, spine <1,pod.i>, \
            super-spine <2,i>.",
    parameters: &[
        Parameter::integer("leaves", "", "Leaf switches", 1, LEAVES_AT_MOST)
            .unit("switches")
            .doc("Switches that servers connect to; with super-spines, those of a pod."),
        Parameter::integer("spines", "", "Spine switches", 1, SPINES_AT_MOST)
            .unit("switches")
            .doc("Switches that join the leaves; each has a link to every leaf. With super-spines, those of a pod."),
        Parameter::integer(
            "servers_per_leaf",
            "",
            "Servers per leaf",
            1,
            SERVERS_PER_LEAF_AT_MOST,
        )
        .unit("servers")
        .doc("Server ports of a leaf."),
        Parameter::integer(
            "uplinks_per_spine",
            "",
            "Uplinks per spine",
            1,
            UPLINKS_PER_SPINE_AT_MOST,
        )
        .unit("links")
        .default(1.0)
        .doc("Parallel links from each leaf to each spine."),
        Parameter::number("server_gbps", "", "Server port rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(10.0)
            .doc("Of every server port."),
        Parameter::number("uplink_gbps", "", "Uplink rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(40.0)
            .doc("Of every link between leaf and spine."),
        Parameter::integer("super_spines", "", "Super-spine switches", 0, SUPER_SPINES_AT_MOST)
            .unit("switches")
            .default(0.0)
            .doc("Switches that join the spines of all pods; each has a link to every spine. 0: no third tier."),
        Parameter::integer("pods", "", "Pods", 1, PODS_AT_MOST)
            .unit("pods")
            .default(1.0)
            .doc("Leaf-spine networks that the super-spines join."),
        Parameter::integer(
            "uplinks_per_super_spine",
            "",
            "Uplinks per super-spine",
            1,
            UPLINKS_PER_SPINE_AT_MOST,
        )
        .unit("links")
        .default(1.0)
        .doc("Parallel links from each spine to each super-spine."),
        Parameter::number("spine_uplink_gbps", "", "Spine uplink rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(100.0)
            .doc("Of every link between spine and super-spine."),
    ],
    presets: &[
        (
            "2,048 servers: 64 leaves of 32, 4 spines, 2:1",
            r#"{"family":"leaf_spine","leaves":64,"spines":4,"servers_per_leaf":32}"#,
        ),
        (
            "48-port leaves at 3:1: 768 servers",
            r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":48}"#,
        ),
        (
            "25 and 100 Gb/s at 1:1, two links to each spine: 512 servers",
            r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":32,"uplinks_per_spine":2,"server_gbps":25,"uplink_gbps":100}"#,
        ),
        (
            "Three tiers: 4 pods of 16 leaves, 1,024 servers, 1:1 at leaves and 1.6:1 at spines",
            r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":16,"super_spines":4,"pods":4}"#,
        ),
        (
            "A lab of 8 servers, 1 Gb/s",
            r#"{"family":"leaf_spine","leaves":4,"spines":2,"servers_per_leaf":2,"server_gbps":1,"uplink_gbps":1}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::LeafSpine),
};

/// Whether there is a third tier.
fn has_super_spines(spec: &LeafSpineSpec) -> bool {
    spec.super_spines > 0
}

/// Capacities down and up of a leaf, in Gb/s.
fn leaf_gbps(spec: &LeafSpineSpec) -> [f64; 2] {
    [
        f64::from(spec.servers_per_leaf) * spec.server_gbps,
        f64::from(spec.spines * spec.uplinks_per_spine) * spec.uplink_gbps,
    ]
}

/// Capacities down and up of a spine, in Gb/s.
fn spine_gbps(spec: &LeafSpineSpec) -> [f64; 2] {
    [
        f64::from(spec.leaves * spec.uplinks_per_spine) * spec.uplink_gbps,
        f64::from(spec.super_spines * spec.uplinks_per_super_spine) * spec.spine_uplink_gbps,
    ]
}

/// A number with at most two decimals.
fn short(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// An oversubscription for people, for example `2.5:1`.
fn ratio([down, up]: [f64; 2]) -> String {
    format!("{}:1", short(down / up))
}

pub(crate) fn validate(spec: &LeafSpineSpec) -> Vec<Finding> {
    let errors = impossible(spec);
    if errors.is_empty() { remarks(spec) } else { errors }
}

/// Errors: networks that cannot be built, or would not be connected.
fn impossible(spec: &LeafSpineSpec) -> Vec<Finding> {
    let LeafSpineSpec {
        leaves,
        spines,
        pods,
        super_spines,
        uplinks_per_spine: down_wires,
        uplinks_per_super_spine: up_wires,
        ..
    } = *spec;
    if !has_super_spines(spec) {
        if pods == 1 {
            return Vec::new();
        }
        return vec![
            Finding::error(
                "leaf-spine-pods-apart",
                "topology.super_spines",
                format!("pods is {pods}, but without super-spines nothing joins the pods."),
                "Use super-spines, or one pod.",
            )
            .with_value(super_spines)
            .with_topology_fix("super_spines", spines),
        ];
    }
    let shape = LeafSpine::new(spec);
    let links: u128 = shape.links_of_levels().into_iter().map(u128::from).sum();
    let what = format!("{pods} pods of {leaves} leaves");
    if let Some(finding) = too_large("pods", &what, links, [("pods", json!(1))]) {
        return vec![finding];
    }
    let of_spine = leaves * down_wires + super_spines * up_wires;
    let of_super_spine = pods * spines * up_wires;
    let mut findings = Vec::new();
    for (field, who, ports, most) in [
        (
            "super_spines",
            "spine",
            of_spine,
            (PORTS_AT_MOST.saturating_sub(leaves * down_wires) / up_wires).max(1),
        ),
        (
            "pods",
            "super-spine",
            of_super_spine,
            PORTS_AT_MOST / (spines * up_wires),
        ),
    ] {
        if ports > PORTS_AT_MOST {
            let mut finding = Finding::error(
                "leaf-spine-too-many-ports",
                format!("topology.{field}"),
                format!("A {who} would have {ports} ports; the limit is {PORTS_AT_MOST}."),
                format!("Use {field} = {most} or less, or fewer parallel uplinks."),
            )
            .with_value(ports)
            .with_limit(PORTS_AT_MOST);
            finding = match (field, leaves * down_wires == PORTS_AT_MOST) {
                ("super_spines", true) => finding.with_topology_fix("leaves", leaves / 2),
                _ => finding.with_topology_fix(field, most),
            };
            findings.push(finding);
        }
    }
    findings
}

/// Remarks about networks that are possible but unusual.
fn remarks(spec: &LeafSpineSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut single = |code, field: &str, message: String, hint: &str| {
        findings.push(
            Finding::warning(code, format!("topology.{field}"), message, hint)
                .with_value(1)
                .with_topology_fix(field, 2),
        );
    };
    if spec.leaves == 1 && !has_super_spines(spec) {
        single(
            "leaf-spine-one-leaf",
            "leaves",
            "leaves is 1: all servers hang on the same switch, and nothing crosses the spines.".to_owned(),
            "Use at least two leaves.",
        );
    }
    if spec.spines == 1 && (spec.leaves > 1 || has_super_spines(spec)) {
        single(
            "leaf-spine-one-spine",
            "spines",
            "spines is 1: when it fails, no leaf reaches another.".to_owned(),
            "Use at least two spines.",
        );
    }
    if has_super_spines(spec) && spec.pods == 1 {
        single(
            "leaf-spine-one-pod",
            "pods",
            "pods is 1: nothing crosses the super-spines.".to_owned(),
            "Use at least two pods, or no super-spines.",
        );
    }
    if spec.super_spines == 1 && spec.pods > 1 {
        single(
            "leaf-spine-one-super-spine",
            "super_spines",
            "super_spines is 1: when it fails, no pod reaches another.".to_owned(),
            "Use at least two super-spines.",
        );
    }
    let [down, up] = leaf_gbps(spec);
    if down > up {
        findings.push(Finding::info(
            "leaf-spine-oversubscribed",
            "topology.spines",
            format!(
                "Oversubscription {}: the servers of a leaf can send {} Gb/s, its uplinks carry {} Gb/s.",
                ratio([down, up]),
                short(down),
                short(up)
            ),
            "",
        ));
    }
    let [down, up] = spine_gbps(spec);
    if has_super_spines(spec) && down > up {
        findings.push(Finding::info(
            "leaf-spine-spines-oversubscribed",
            "topology.super_spines",
            format!(
                "Oversubscription {} of spines: the leaves of a pod can send {} Gb/s to a spine, its uplinks carry {} Gb/s.",
                ratio([down, up]),
                short(down),
                short(up)
            ),
            "",
        ));
    }
    findings
}

pub(crate) fn title(spec: &LeafSpineSpec) -> String {
    let LeafSpineSpec { leaves, spines, .. } = spec;
    let leaf = ratio(leaf_gbps(spec));
    if !has_super_spines(spec) {
        return format!("Leaf-spine, {leaves} leaves and {spines} spines, {leaf}");
    }
    format!(
        "Leaf-spine, {} pods of {leaves} leaves and {spines} spines, {} super-spines, {leaf} and {}",
        spec.pods,
        spec.super_spines,
        ratio(spine_gbps(spec))
    )
}
