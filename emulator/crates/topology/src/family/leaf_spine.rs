//! Leaf-spine: two tiers of switches, every leaf wired to every spine [rfc7938 §3.2.1].
//!
//! Server `e.i` has one port, on port `i` of leaf `e`. A leaf's uplinks follow its server ports, spine by spine; wire `w`
//! to spine `s` is uplink `s u + w`, with `u` the uplinks per spine, and ends on port `e u + w` of the spine. `[ours]`
//!
//! The oversubscription of a leaf is the capacity of its server ports over that of its uplinks.

use std::fmt::Write;

use super::Family;
use super::common::{NamedLink, mean_by_group, read_list, read_number, read_switch, utilisation};
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{LeafSpineSpec, MAX_LINKS, TopologySpec};
use crate::topology::{SwitchTier, Topology};

const LEAVES_AT_MOST: u32 = 4096;
const SPINES_AT_MOST: u32 = 512;
const SERVERS_PER_LEAF_AT_MOST: u32 = 4096;
const UPLINKS_PER_SPINE_AT_MOST: u32 = 16;

// Any parameters within these limits fit together: ports are numbered in 16 bits, and all links can be built.
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
    summary: "Two tiers: servers on leaf switches, every leaf wired to every spine. All leaves are equally far apart, and \
              spines are added for capacity.",
    source: "[rfc7938 §3.2.1]",
    names: "Server leaf.i, leaf <0,i>, spine <1,i>.",
    parameters: &[
        Parameter::integer("leaves", "", "Leaf switches", 1, LEAVES_AT_MOST)
            .unit("switches")
            .doc("Switches that servers connect to."),
        Parameter::integer("spines", "", "Spine switches", 1, SPINES_AT_MOST)
            .unit("switches")
            .doc("Switches that join the leaves; each has a link to every leaf."),
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
            "A lab of 8 servers, 1 Gb/s",
            r#"{"family":"leaf_spine","leaves":4,"spines":2,"servers_per_leaf":2,"server_gbps":1,"uplink_gbps":1}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::LeafSpine),
};

/// Capacity from the servers of a leaf, in Gb/s.
fn gbps_down(spec: &LeafSpineSpec) -> f64 {
    f64::from(spec.servers_per_leaf) * spec.server_gbps
}

/// Capacity of the uplinks of a leaf, in Gb/s.
fn gbps_up(spec: &LeafSpineSpec) -> f64 {
    f64::from(spec.spines * spec.uplinks_per_spine) * spec.uplink_gbps
}

/// A number with at most two decimals.
fn short(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// The oversubscription of a leaf for people, for example `2.5:1`.
fn ratio(spec: &LeafSpineSpec) -> String {
    format!("{}:1", short(gbps_down(spec) / gbps_up(spec)))
}

pub(crate) fn validate(spec: &LeafSpineSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    if spec.leaves == 1 {
        findings.push(
            Finding::warning(
                "leaf-spine-one-leaf",
                "topology.leaves",
                "leaves is 1: all servers hang on the same switch, and nothing crosses the spines.",
                "Use at least two leaves.",
            )
            .with_value(spec.leaves)
            .with_topology_fix("leaves", 2),
        );
    }
    if spec.spines == 1 && spec.leaves > 1 {
        findings.push(
            Finding::warning(
                "leaf-spine-one-spine",
                "topology.spines",
                "spines is 1: when it fails, no leaf reaches another.",
                "Use at least two spines.",
            )
            .with_value(spec.spines)
            .with_topology_fix("spines", 2),
        );
    }
    let (down, up) = (gbps_down(spec), gbps_up(spec));
    if down > up {
        findings.push(Finding::info(
            "leaf-spine-oversubscribed",
            "topology.spines",
            format!(
                "Oversubscription {}: the servers of a leaf can send {} Gb/s, its uplinks carry {} Gb/s.",
                ratio(spec),
                short(down),
                short(up)
            ),
            "",
        ));
    }
    findings
}

pub(crate) fn title(spec: &LeafSpineSpec) -> String {
    format!(
        "Leaf-spine, {} leaves and {} spines, {}",
        spec.leaves,
        spec.spines,
        ratio(spec)
    )
}

/// Addressing of a leaf-spine network.
#[derive(Clone, Debug)]
pub(crate) struct LeafSpine {
    leaves: u32,
    spines: u32,
    servers_per_leaf: u32,
    uplinks_per_spine: u32,
    server_bits_per_sec: f64,
    uplink_bits_per_sec: f64,
}

impl LeafSpine {
    pub fn new(spec: &LeafSpineSpec) -> LeafSpine {
        LeafSpine {
            leaves: spec.leaves,
            spines: spec.spines,
            servers_per_leaf: spec.servers_per_leaf,
            uplinks_per_spine: spec.uplinks_per_spine,
            server_bits_per_sec: spec.server_gbps * 1e9,
            uplink_bits_per_sec: spec.uplink_gbps * 1e9,
        }
    }

    fn servers(&self) -> u32 {
        self.leaves * self.servers_per_leaf
    }

    fn first_spine(&self) -> NodeId {
        self.servers() + self.leaves
    }

    /// Uplinks of a leaf.
    fn uplinks(&self) -> u32 {
        self.spines * self.uplinks_per_spine
    }

    /// Tier and index of a switch.
    fn switch(&self, node: NodeId) -> (u32, u32) {
        if node < self.first_spine() {
            (0, node - self.servers())
        } else {
            (1, node - self.first_spine())
        }
    }

    /// The least cost of a cut into two halves, when a server's link costs `server` and an uplink `uplink`.
    ///
    /// With `x` leaves on one side every spine costs its links to the smaller number of leaves, and every server whose
    /// leaf is on the other side costs its own link: `U min(x, L - x) + |x r - N/2|`. That is linear in `x` up to `L/2`,
    /// so the least is at one of the ends.
    fn cut(&self, server: f64, uplink: f64) -> f64 {
        let all_by_servers = f64::from(self.servers() / 2) * server;
        let whole_leaves = f64::from(self.leaves / 2) * f64::from(self.uplinks()) * uplink;
        let split_leaf = f64::from(self.leaves % 2) * f64::from(self.servers_per_leaf / 2) * server;
        all_by_servers.min(whole_leaves + split_leaf)
    }

    /// All-to-all throughput with every flow at the same rate and uplinks equally full, in multiples of a server's rate.
    fn balanced_all_to_all(&self) -> f64 {
        let (servers, on_leaf) = (f64::from(self.servers()), f64::from(self.servers_per_leaf));
        let by_server = 1.0 / (servers - 1.0);
        let leaving = on_leaf * (servers - on_leaf);
        let up = f64::from(self.uplinks()) * self.uplink_bits_per_sec / self.server_bits_per_sec;
        let each = if leaving > 0.0 {
            by_server.min(up / leaving)
        } else {
            by_server
        };
        servers * (servers - 1.0) * each
    }
}

impl Family for LeafSpine {
    fn server_count(&self) -> u32 {
        self.servers()
    }

    fn server_ports(&self) -> u32 {
        1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        vec![
            SwitchTier {
                level: 0,
                role: "leaf",
                first: self.servers(),
                count: self.leaves,
                ports: self.servers_per_leaf + self.uplinks(),
                port_rate_bits_per_sec: self.server_bits_per_sec,
                uplink_ports: self.uplinks(),
                uplink_rate_bits_per_sec: self.uplink_bits_per_sec,
            },
            SwitchTier {
                level: 1,
                role: "spine",
                first: self.first_spine(),
                count: self.spines,
                ports: self.leaves * self.uplinks_per_spine,
                port_rate_bits_per_sec: self.uplink_bits_per_sec,
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            },
        ]
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "Server to leaf",
            _ => "Leaf to spine",
        }
        .to_owned()
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        if self.server_bits_per_sec == self.uplink_bits_per_sec {
            vec![self.server_bits_per_sec]
        } else {
            vec![self.server_bits_per_sec, self.uplink_bits_per_sec]
        }
    }

    fn links_at_level(&self) -> Vec<u64> {
        vec![
            u64::from(self.leaves) * u64::from(self.servers_per_leaf),
            u64::from(self.leaves) * u64::from(self.spines) * u64::from(self.uplinks_per_spine),
        ]
    }

    fn wire(&self, links: &mut Links) {
        let uplink_class = self.rates_bits_per_sec().len() as u8 - 1;
        for server in 0..self.servers() {
            let (leaf, port) = (server / self.servers_per_leaf, server % self.servers_per_leaf);
            links.push((server, 0), (self.servers() + leaf, port as u16), 0, 0);
        }
        for leaf in 0..self.leaves {
            for uplink in 0..self.uplinks() {
                let (spine, wire) = (uplink / self.uplinks_per_spine, uplink % self.uplinks_per_spine);
                links.push(
                    (self.servers() + leaf, (self.servers_per_leaf + uplink) as u16),
                    (
                        self.first_spine() + spine,
                        (leaf * self.uplinks_per_spine + wire) as u16,
                    ),
                    1,
                    uplink_class,
                );
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let _ = if node < self.servers() {
            write!(
                out,
                "{}.{}",
                node / self.servers_per_leaf,
                node % self.servers_per_leaf
            )
        } else {
            let (tier, index) = self.switch(node);
            write!(out, "<{tier},{index}>")
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((tier, label)) = read_switch(name) {
            let index = read_number(label)?;
            return match tier {
                0 if index < self.leaves => Some(self.servers() + index),
                1 if index < self.spines => Some(self.first_spine() + index),
                _ => None,
            };
        }
        let [leaf, place] = read_list(name, '.')?.try_into().ok()?;
        (leaf < self.leaves && place < self.servers_per_leaf).then(|| leaf * self.servers_per_leaf + place)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers() {
            vec![node / self.servers_per_leaf, node % self.servers_per_leaf]
        } else {
            let (tier, index) = self.switch(node);
            vec![tier, index]
        }
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers() {
            1
        } else if node < self.first_spine() {
            self.servers_per_leaf + self.uplinks()
        } else {
            self.leaves * self.uplinks_per_spine
        }
    }

    fn trunk_width(&self) -> u32 {
        self.uplinks_per_spine
    }

    fn relays(&self) -> bool {
        false
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Links
    }

    fn transitive(&self) -> bool {
        true
    }

    fn rule(&self) -> String {
        format!(
            "Server e.i hangs on port i of leaf e. Wire w between leaf e and spine s is on port {} + s u + w of the leaf and \
             on port e u + w of the spine, w below u = {} [ours].",
            self.servers_per_leaf, self.uplinks_per_spine
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let read = |name| read_switch(name).and_then(|(tier, label)| Some((tier, read_number(label)?)));
        let Some((tier, upper)) = read(link.b) else {
            return false;
        };
        let (a_port, b_port) = (u32::from(link.a_port), u32::from(link.b_port));
        if tier != u32::from(link.level) {
            return false;
        }
        if tier == 0 {
            return a_port == 0 && read_list(link.a, '.') == Some(vec![upper, b_port]);
        }
        let Some((0, leaf)) = read(link.a) else {
            return false;
        };
        // The wire as the spine counts it must be the one that the leaf counts.
        let width = self.uplinks_per_spine;
        let wire = b_port.checked_sub(leaf * width).filter(|&wire| wire < width);
        wire.is_some_and(|wire| a_port == self.servers_per_leaf + upper * width + wire)
    }

    fn diameter_links(&self) -> Metric {
        let links = match (self.servers(), self.leaves) {
            (1, _) => 0,
            (_, 1) => 2,
            _ => 4,
        };
        Metric::exact(links, "links", "[ours]")
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let servers = self.servers();
        let groups = [u64::from(self.servers_per_leaf), u64::from(servers)];
        let average =
            mean_by_group(u64::from(servers), &groups).map(|links| Metric::exact(links, "links", "[ours]"));
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter_links(),
            diameter_links: self.diameter_links(),
            average_path: average.clone(),
            average_path_links: average,
            bisection: Metric::exact(self.cut(1.0, 1.0), "links", "[ours]"),
            bisection_bits_per_sec: Metric::exact(
                self.cut(self.server_bits_per_sec, self.uplink_bits_per_sec),
                "bit/s",
                "[ours]",
            )
            .with_note("Of the cut with the least capacity."),
            disjoint_paths: Metric::exact(u32::from(servers > 1), "paths", "[ours]"),
            all_to_all_throughput: (servers > 1).then(|| {
                Metric::bound(
                    self.balanced_all_to_all(),
                    "links",
                    "[ours]",
                    "Upper bound in links of a server's rate, reached with perfectly balanced paths.",
                )
            }),
            server_ports: Metric::exact(1.0, "ports", "[ours]"),
            wires: Metric::exact(wires as f64, "links", "[ours]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
