//! Fat-tree: a folded Clos of equal switches with `m = ports / 2` links down and up [bcube §6].
//!
//! A server is `s_{L-1} … s_0` with `s_{L-1} < 2m` and the others below `m`. The address of a
//! layer-`j` switch has `L - 1` digits: the server digits above `j` (its pod), then `j` digits that
//! distinguish the switches of a pod. Up port `m + t` leads to the switch with `t` in place of its
//! lowest pod digit, on the port of that digit. The top layer has no pod digits and uses all ports
//! downwards.

use serde_json::json;

use super::Family;
use super::common::{
    GIGABIT, NamedLink, mean_by_group, power, read_digits, read_switch, too_large, utilisation, write_digits,
};
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{FatTreeSpec, MAX_LINKS, TopologySpec};
use crate::topology::{SwitchTier, Topology};

pub(crate) const DESCRIPTION: Description = Description {
    family: "fat_tree",
    title: "Fat-tree",
    summary: "Layers of equal switches, half the ports down and half up: full bandwidth between all servers with one \
              port each, paid for with many switches and cables.",
    source: "[bcube §6, §8]",
    names: "Server 0132 (joined by dots when ports > 10), switch <layer,digits>.",
    parameters: &[
        Parameter::integer("ports", "n", "Switch ports", 2, 1024)
            .unit("ports")
            .doc("Ports of every switch, an even number: half go down and half up."),
        Parameter::integer("layers", "L", "Layers of switches", 1, 16)
            .default(3.0)
            .doc("Three is the classic fat-tree; BCube compares with five layers of 8-port switches."),
        Parameter::integer("servers", "N", "Servers", 1, 64_000_000)
            .unit("servers")
            .derived("2 (ports/2)^layers, the complete fat-tree")
            .doc(
                "Fewer servers than the complete fat-tree, in whole edge groups of ports/2. Pods without a server \
                 are left out; the top layer stays whole.",
            ),
    ],
    presets: &[
        ("BCube's comparison, 2,048 servers", r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#),
        ("Classic three layers of 4 ports, 16 servers", r#"{"family":"fat_tree","ports":4,"layers":3}"#),
        ("Classic three layers of 48 ports, 27,648 servers", r#"{"family":"fat_tree","ports":48,"layers":3}"#),
        ("Two layers (leaf and spine) of 32 ports, 512 servers", r#"{"family":"fat_tree","ports":32,"layers":2}"#),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::FatTree),
};

fn full_size(spec: &FatTreeSpec) -> u128 {
    power(spec.ports / 2, spec.layers).saturating_mul(2)
}

/// Servers of an edge switch; a single layer has one switch and any number of servers.
fn edge_group(spec: &FatTreeSpec) -> u32 {
    if spec.layers == 1 { 1 } else { spec.ports / 2 }
}

fn link_count(spec: &FatTreeSpec, servers: u128) -> u128 {
    let m = spec.ports / 2;
    (0..spec.layers.saturating_sub(1)).fold(servers, |links, layer| {
        let switches = servers
            .div_ceil(power(m, layer + 1))
            .saturating_mul(power(m, layer));
        links.saturating_add(switches.saturating_mul(u128::from(m)))
    })
}

pub(crate) fn validate(spec: &FatTreeSpec) -> Vec<Finding> {
    if spec.ports % 2 == 1 {
        return vec![
            Finding::error(
                "fat-tree-odd-ports",
                "topology.ports",
                format!(
                    "ports is {}, but must be even: half go down and half up.",
                    spec.ports
                ),
                format!(
                    "The nearest valid values are {} and {}.",
                    (spec.ports - 1).max(2),
                    spec.ports + 1
                ),
            )
            .with_value(spec.ports)
            .with_topology_fix("ports", spec.ports + 1),
        ];
    }
    let full = full_size(spec);
    let servers = spec.servers.map_or(full, u128::from);
    let group = u128::from(edge_group(spec));
    if servers > full {
        return vec![
            Finding::error(
                "fat-tree-too-many-servers",
                "topology.servers",
                format!(
                    "servers is {servers}, but {} layers of {}-port switches hold at most 2 (ports/2)^layers = {full}.",
                    spec.layers, spec.ports
                ),
                "Use the complete fat-tree, or raise layers or ports.",
            )
            .with_value(spec.servers)
            .with_limit(full as u64)
            .with_topology_fix("servers", full as u64),
        ];
    }
    let links = link_count(spec, servers).max(power(spec.ports / 2, spec.layers - 1));
    let largest = (1..spec.layers)
        .rev()
        .map(|layers| FatTreeSpec {
            layers,
            servers: None,
            ..spec.clone()
        })
        .find(|smaller| link_count(smaller, full_size(smaller)) <= u128::from(MAX_LINKS));
    let fixes = [
        ("layers", json!(largest.map_or(1, |spec| spec.layers))),
        ("servers", json!(null)),
    ];
    let what = format!(
        "A fat-tree of {} layers of {}-port switches",
        spec.layers, spec.ports
    );
    if let Some(finding) = too_large("layers", &what, links, fixes) {
        return vec![finding];
    }
    if !servers.is_multiple_of(group) {
        let below = servers / group * group;
        let above = below + group;
        let best = if below == 0 || (servers - below) * 2 >= group {
            above
        } else {
            below
        };
        let options = if below == 0 {
            format!("{above}")
        } else {
            format!("{below} or {above}")
        };
        return vec![
            Finding::error(
                "fat-tree-servers-not-whole",
                "topology.servers",
                format!(
                    "servers is {servers}, but must be a multiple of ports/2 = {group}: whole edge groups."
                ),
                format!("The nearest valid values are {options}."),
            )
            .with_value(spec.servers)
            .with_limit(group as u64)
            .with_topology_fix("servers", best as u64),
        ];
    }
    if servers == full {
        return Vec::new();
    }
    vec![Finding::info(
        "fat-tree-partial",
        "topology.servers",
        format!(
            "Partial fat-tree: {servers} of {full} servers; pods without a server are left out, the top layer stays whole."
        ),
        "",
    )]
}

pub(crate) fn resolve(spec: &FatTreeSpec) -> FatTreeSpec {
    FatTreeSpec {
        servers: spec.servers.or_else(|| u32::try_from(full_size(spec)).ok()),
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &FatTreeSpec) -> String {
    let partial = spec
        .servers
        .is_some_and(|servers| u128::from(servers) < full_size(spec));
    format!(
        "{}Fat-tree, {} layers of {} ports",
        if partial { "Partial " } else { "" },
        spec.layers,
        spec.ports
    )
}

/// Addressing of a valid fat-tree.
#[derive(Clone, Debug)]
pub(crate) struct FatTree {
    m: u32,
    layers: u32,
    servers: u32,
    /// First switch of each layer, and one past the last.
    first: Vec<NodeId>,
}

impl FatTree {
    pub fn new(spec: &FatTreeSpec) -> FatTree {
        let m = spec.ports / 2;
        let servers = spec.servers.unwrap_or_else(|| 2 * m.pow(spec.layers));
        let mut tree = FatTree {
            m,
            layers: spec.layers,
            servers,
            first: vec![servers],
        };
        for layer in 0..spec.layers {
            tree.first
                .push(tree.first[layer as usize] + tree.switches_at(layer));
        }
        tree
    }

    fn switches_at(&self, layer: u32) -> u32 {
        let in_pod = self.m.pow(layer);
        if layer + 1 == self.layers {
            in_pod
        } else {
            self.servers.div_ceil(self.m.pow(layer + 1)) * in_pod
        }
    }

    fn layer_of(&self, node: NodeId) -> u32 {
        self.first.partition_point(|&first| first <= node) as u32 - 1
    }

    fn dotted(&self) -> bool {
        2 * self.m > 10
    }

    /// Digits in radix m, the top one unbounded.
    fn digits_of(&self, number: u32, count: u32) -> impl Iterator<Item = u32> + use<> {
        let m = self.m;
        (0..count).rev().map(move |digit| {
            let rest = number / m.pow(digit);
            if digit + 1 == count { rest } else { rest % m }
        })
    }

    /// Reads digits of radix m, the top one below `top`.
    fn number(&self, digits: &[u32], top: u32) -> Option<u32> {
        digits
            .iter()
            .enumerate()
            .try_fold(0u32, |number, (position, &digit)| {
                let radix = if position == 0 { top } else { self.m };
                if digit < radix {
                    number.checked_mul(self.m)?.checked_add(digit)
                } else {
                    None
                }
            })
    }

    fn top(&self) -> u32 {
        self.layers - 1
    }

    /// Lowest layer at which one pod holds all servers.
    fn meeting_layer(&self) -> u32 {
        (0..self.top())
            .find(|&layer| self.servers <= self.m.pow(layer + 1))
            .unwrap_or(self.top())
    }
}

impl Family for FatTree {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        (0..self.layers)
            .map(|layer| SwitchTier {
                level: layer as u8,
                role: if layer == 0 {
                    "edge"
                } else if layer == self.top() {
                    "core"
                } else {
                    "aggregation"
                },
                first: self.first[layer as usize],
                count: self.switches_at(layer),
                ports: 2 * self.m,
                port_rate_bits_per_sec: GIGABIT,
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            })
            .collect()
    }

    fn level_label(&self, level: u8) -> String {
        if level == 0 {
            "Server to layer 0".to_owned()
        } else {
            format!("Layer {} to layer {level}", level - 1)
        }
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![GIGABIT]
    }

    fn links_at_level(&self) -> Vec<u64> {
        let mut links = vec![u64::from(self.servers)];
        links.extend((0..self.top()).map(|layer| u64::from(self.switches_at(layer)) * u64::from(self.m)));
        links
    }

    fn wire(&self, links: &mut Links) {
        let m = self.m;
        let down = if self.layers == 1 { 2 * m } else { m };
        for server in 0..self.servers {
            links.push(
                (server, 0),
                (self.first[0] + server / down, (server % down) as u16),
                0,
                0,
            );
        }
        for layer in 0..self.top() {
            let in_pod = m.pow(layer);
            let upper_top = layer + 1 == self.top();
            for switch in 0..self.switches_at(layer) {
                let (pod, inside) = (switch / in_pod, switch % in_pod);
                // The top layer is one pod of 2m children, the others have m.
                let (upper_pod, port) = if upper_top { (0, pod) } else { (pod / m, pod % m) };
                for up in 0..m {
                    let upper = upper_pod * in_pod * m + up * in_pod + inside;
                    links.push(
                        (self.first[layer as usize] + switch, (m + up) as u16),
                        (self.first[layer as usize + 1] + upper, port as u16),
                        layer as u8 + 1,
                        0,
                    );
                }
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        if node < self.servers {
            write_digits(out, self.digits_of(node, self.layers), self.dotted());
        } else {
            let layer = self.layer_of(node);
            out.push('<');
            write_digits(out, [layer], true);
            out.push(',');
            write_digits(
                out,
                self.digits_of(node - self.first[layer as usize], self.top()),
                self.dotted(),
            );
            out.push('>');
        }
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((layer, label)) = read_switch(name) {
            let digits = read_digits(label, self.dotted())?;
            if layer >= self.layers || digits.len() != self.top() as usize {
                return None;
            }
            let index = self.number(&digits, if layer == self.top() { self.m } else { 2 * self.m })?;
            return (index < self.switches_at(layer)).then(|| self.first[layer as usize] + index);
        }
        let digits = read_digits(name, self.dotted())?;
        let server = self.number(&digits, 2 * self.m)?;
        (digits.len() == self.layers as usize && server < self.servers).then_some(server)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            return self.digits_of(node, self.layers).collect();
        }
        let layer = self.layer_of(node);
        std::iter::once(layer)
            .chain(self.digits_of(node - self.first[layer as usize], self.top()))
            .collect()
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers {
            return 1;
        }
        let layer = self.layer_of(node);
        // Children are servers of an edge switch, else pods of the layer below.
        let child = self.m.pow(layer);
        if layer == self.top() {
            return self.servers.div_ceil(child);
        }
        let pod = (node - self.first[layer as usize]) / child;
        self.m + (self.servers - pod * child * self.m).div_ceil(child).min(self.m)
    }

    fn relays(&self) -> bool {
        false
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Links
    }

    fn transitive(&self) -> bool {
        u64::from(self.servers) == 2 * u64::from(self.m).pow(self.layers)
    }

    fn rule(&self) -> String {
        format!(
            "A server hangs on the layer-0 switch with its upper digits, on the port of its last; a layer-j switch and a \
             layer-(j+1) switch are joined if they differ at most in the pod digit of layer j, which is the port above, \
             and port {} + that digit of the upper switch below [bcube §6].",
            self.m
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let Some((layer, label)) = read_switch(link.b) else {
            return false;
        };
        let Some(upper) = read_digits(label, self.dotted()) else {
            return false;
        };
        if layer != u32::from(link.level) || upper.len() + 1 != self.layers as usize {
            return false;
        }
        if let Some((below, label)) = read_switch(link.a) {
            let Some(lower) = read_digits(label, self.dotted()) else {
                return false;
            };
            if below + 1 != layer || lower.len() != upper.len() {
                return false;
            }
            let place = lower.len() - 1 - below as usize;
            return lower[..place] == upper[..place]
                && lower[place + 1..] == upper[place + 1..]
                && u32::from(link.b_port) == lower[place]
                && u32::from(link.a_port) == self.m + upper[place];
        }
        let Some(server) = read_digits(link.a, self.dotted()) else {
            return false;
        };
        let Some((&last, shared)) = server.split_last() else {
            return false;
        };
        layer == 0 && link.a_port == 0 && shared == upper && u32::from(link.b_port) == last
    }

    fn diameter_links(&self) -> Metric {
        let links = if self.servers == 1 {
            0
        } else {
            2 * (self.meeting_layer() + 1)
        };
        Metric::exact(links, "links", "[ours]")
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let mut groups: Vec<u64> = (0..self.top())
            .map(|layer| u64::from(self.m).pow(layer + 1))
            .collect();
        groups.push(u64::from(self.servers));
        let average = mean_by_group(u64::from(self.servers), &groups)
            .map(|links| Metric::exact(links, "links", "[ours]"));
        let half = f64::from(self.servers / 2);
        let why = "Rearrangeably non-blocking: half of the servers can send to the other half at full rate.";
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter_links(),
            diameter_links: self.diameter_links(),
            average_path: average.clone(),
            average_path_links: average,
            bisection: Metric::exact(half, "links", "[ours]").with_note(why),
            bisection_bits_per_sec: Metric::exact(half * GIGABIT, "bit/s", "[ours]").with_note(why),
            disjoint_paths: Metric::exact(u32::from(self.servers > 1), "paths", "[bcube Table 1]"),
            all_to_all_throughput: (self.servers > 1).then(|| {
                Metric::bound(
                    self.servers,
                    "links",
                    "[bcube Table 1]",
                    "Upper bound, reached with perfectly balanced paths.",
                )
            }),
            server_ports: Metric::exact(1.0, "ports", "[bcube §8]"),
            wires: Metric::exact(wires as f64, "links", "[bcube §8]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
