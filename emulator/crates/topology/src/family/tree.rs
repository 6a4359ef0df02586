//! The plain tree BCube compares with [bcube §8]: edge switches with one uplink each, under a root.
//!
//! When the edge switches outnumber the root's ports, further levels are added until one root
//! remains `[ours]`: several roots without a switch above them would leave the network in parts.

use std::fmt::Write;

use serde_json::json;

use super::Family;
use super::common::{
    GIGABIT, NamedLink, mean_by_group, read_list, read_number, read_switch, too_large, utilisation,
};
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{TopologySpec, TreeSpec};
use crate::topology::{SwitchTier, Topology};

pub(crate) const DESCRIPTION: Description = Description {
    family: "tree",
    title: "Tree",
    summary: "Edge switches with a dedicated uplink each, under one root: the cheapest cabling, one path, and the root as \
              the bottleneck.",
    source: "[bcube §8]",
    names: "Server edge.i, edge switch <0,i>, root <1,i>.",
    parameters: &[
        Parameter::integer("edge_ports", "", "Server ports of an edge switch", 1, 4096)
            .unit("ports")
            .doc("Servers on an edge switch; its uplink is a port more."),
        Parameter::integer("root_ports", "", "Downward ports of a root switch", 2, 4096)
            .unit("ports")
            .derived("as edge_ports")
            .doc("Edge switches on a root. With more edge switches than that, further levels are added."),
        Parameter::integer("servers", "N", "Servers", 1, 60_000_000)
            .unit("servers")
            .doc("Number of servers."),
    ],
    presets: &[
        (
            "BCube's comparison, 2,048 servers",
            r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
        ),
        (
            "BCube's testbed, 16 servers",
            r#"{"family":"tree","edge_ports":4,"root_ports":4,"servers":16}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Tree),
};

/// Downward ports of the switches above the edge.
fn root_ports(spec: &TreeSpec) -> u32 {
    spec.root_ports.unwrap_or(spec.edge_ports.max(2))
}

/// Switches by level, edge first, one root last.
fn counts(spec: &TreeSpec) -> Vec<u32> {
    let ports = root_ports(spec);
    let mut counts = vec![spec.servers.div_ceil(spec.edge_ports)];
    while counts.len() < 2 || counts[counts.len() - 1] > 1 {
        counts.push(counts[counts.len() - 1].div_ceil(ports));
    }
    counts
}

pub(crate) fn validate(spec: &TreeSpec) -> Vec<Finding> {
    let counts = counts(spec);
    let switches: u128 = counts.iter().map(|&count| u128::from(count)).sum();
    let links = u128::from(spec.servers) + switches - 1;
    if let Some(finding) = too_large(
        "servers",
        "The tree",
        links,
        [("servers", json!(spec.servers / 2))],
    ) {
        return vec![finding];
    }
    if counts.len() == 2 {
        return Vec::new();
    }
    let edges = counts[0];
    let mut finding = Finding::info(
        "tree-more-levels",
        "topology.root_ports",
        format!(
            "{edges} edge switches do not fit a root with {} ports; {} levels of switches are used.",
            root_ports(spec),
            counts.len()
        ),
        format!("Use root_ports = {edges} for two levels."),
    );
    if edges <= 4096 {
        finding = finding.with_topology_fix("root_ports", edges);
    }
    vec![finding]
}

pub(crate) fn resolve(spec: &TreeSpec) -> TreeSpec {
    TreeSpec {
        root_ports: Some(root_ports(spec)),
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &TreeSpec) -> String {
    format!("Tree of {}-port switches", spec.edge_ports)
}

/// Addressing of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    edge_ports: u32,
    root_ports: u32,
    servers: u32,
    counts: Vec<u32>,
}

impl Tree {
    pub fn new(spec: &TreeSpec) -> Tree {
        Tree {
            edge_ports: spec.edge_ports,
            root_ports: root_ports(spec),
            servers: spec.servers,
            counts: counts(spec),
        }
    }

    fn first(&self, level: usize) -> NodeId {
        self.servers + self.counts[..level].iter().sum::<u32>()
    }

    /// Level and index of a switch.
    fn switch(&self, node: NodeId) -> (usize, u32) {
        let mut index = node - self.servers;
        for (level, &count) in self.counts.iter().enumerate() {
            if index < count {
                return (level, index);
            }
            index -= count;
        }
        (self.counts.len(), index)
    }

    fn down_ports(&self, level: usize) -> u32 {
        if level == 0 {
            self.edge_ports
        } else {
            self.root_ports
        }
    }

    fn top(&self) -> usize {
        self.counts.len() - 1
    }

    /// Servers below a whole switch of each level.
    fn group_sizes(&self) -> Vec<u64> {
        let mut size = 1u64;
        (0..=self.top())
            .map(|level| {
                size = size.saturating_mul(u64::from(self.down_ports(level)));
                size
            })
            .collect()
    }
}

impl Family for Tree {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        (0..=self.top())
            .map(|level| {
                let uplinks = u32::from(level < self.top());
                SwitchTier {
                    level: level as u8,
                    role: if level == 0 {
                        "edge"
                    } else if level == self.top() {
                        "root"
                    } else {
                        "aggregation"
                    },
                    first: self.first(level),
                    count: self.counts[level],
                    ports: self.down_ports(level) + uplinks,
                    port_rate_bits_per_sec: GIGABIT,
                    uplink_ports: uplinks,
                    uplink_rate_bits_per_sec: f64::from(uplinks) * GIGABIT,
                }
            })
            .collect()
    }

    fn level_label(&self, level: u8) -> String {
        match usize::from(level) {
            0 => "Server to edge".to_owned(),
            1 if self.top() == 1 => "Edge to root".to_owned(),
            1 => "Edge to level 1".to_owned(),
            level => format!("Level {} to level {level}", level - 1),
        }
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![GIGABIT]
    }

    fn links_at_level(&self) -> Vec<u64> {
        let uplinks = self.counts[..self.top()].iter().map(|&count| u64::from(count));
        std::iter::once(u64::from(self.servers)).chain(uplinks).collect()
    }

    fn wire(&self, links: &mut Links) {
        for server in 0..self.servers {
            let (edge, port) = (server / self.edge_ports, server % self.edge_ports);
            links.push((server, 0), (self.first(0) + edge, port as u16), 0, 0);
        }
        for level in 0..self.top() {
            let (lower, upper) = (self.first(level), self.first(level + 1));
            let uplink = self.down_ports(level) as u16;
            for switch in 0..self.counts[level] {
                let (parent, port) = (switch / self.root_ports, switch % self.root_ports);
                links.push(
                    (lower + switch, uplink),
                    (upper + parent, port as u16),
                    level as u8 + 1,
                    0,
                );
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let _ = if node < self.servers {
            write!(out, "{}.{}", node / self.edge_ports, node % self.edge_ports)
        } else {
            let (level, index) = self.switch(node);
            write!(out, "<{level},{index}>")
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((level, label)) = read_switch(name) {
            let (level, index) = (level as usize, read_number(label)?);
            return (level <= self.top() && index < self.counts[level]).then(|| self.first(level) + index);
        }
        let [edge, port] = read_list(name, '.')?.try_into().ok()?;
        let server = u64::from(edge) * u64::from(self.edge_ports) + u64::from(port);
        (port < self.edge_ports && server < u64::from(self.servers)).then_some(server as NodeId)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            vec![node / self.edge_ports, node % self.edge_ports]
        } else {
            let (level, index) = self.switch(node);
            vec![level as u32, index]
        }
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers {
            return 1;
        }
        let (level, index) = self.switch(node);
        let children = if level == 0 {
            self.servers
        } else {
            self.counts[level - 1]
        };
        let ports = self.down_ports(level);
        (children - index * ports).min(ports) + u32::from(level < self.top())
    }

    fn relays(&self) -> bool {
        false
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Links
    }

    fn transitive(&self) -> bool {
        false
    }

    fn rule(&self) -> String {
        "Server e.i hangs on port i of edge switch e; every other switch i hangs by its last port on port i mod r of \
         switch i / r above, r being the root ports [bcube §8]."
            .to_owned()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let read = |name| read_switch(name).and_then(|(level, label)| Some((level, read_number(label)?)));
        let Some((level, upper)) = read(link.b) else {
            return false;
        };
        if level != u32::from(link.level) {
            return false;
        }
        let port = u32::from(link.b_port);
        if let Some((below, lower)) = read(link.a) {
            return below + 1 == level
                && upper * self.root_ports + port == lower
                && port < self.root_ports
                && u32::from(link.a_port) == self.down_ports(below as usize);
        }
        level == 0 && link.a_port == 0 && read_list(link.a, '.') == Some(vec![upper, port])
    }

    fn diameter_links(&self) -> Metric {
        let groups = self.group_sizes();
        let level = groups
            .iter()
            .position(|&size| u64::from(self.servers) <= size)
            .unwrap_or(self.top());
        Metric::exact(
            if self.servers == 1 {
                0.0
            } else {
                2.0 * (level as f64 + 1.0)
            },
            "links",
            "[ours]",
        )
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let groups = self.group_sizes();
        let average = mean_by_group(u64::from(self.servers), &groups)
            .map(|links| Metric::exact(links, "links", "[ours]"));
        // Whole subtrees go to one side, largest first; each costs its one uplink.
        let mut rest = u64::from(self.servers / 2);
        let mut cut = 0;
        for &size in groups[..self.top()].iter().rev() {
            cut += rest / size;
            rest %= size;
        }
        let cut = (cut + rest) as f64;
        let note = "Upper bound: whole subtrees on one side, largest first.";
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter_links(),
            diameter_links: self.diameter_links(),
            average_path: average.clone(),
            average_path_links: average,
            bisection: Metric::bound(cut, "links", "[ours]", note),
            bisection_bits_per_sec: Metric::bound(cut * GIGABIT, "bit/s", "[ours]", note),
            disjoint_paths: Metric::exact(u32::from(self.servers > 1), "paths", "[bcube Table 1]"),
            all_to_all_throughput: None,
            server_ports: Metric::exact(1.0, "ports", "[bcube §8]"),
            wires: Metric::exact(wires as f64, "links", "[bcube §8]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
