//! BCube [bcube §3.1, §5.1].
//!
//! A server is `a_k … a_0` in radix `n`; its port `l` goes to the level-`l` switch named by all
//! digits but `a_l`, on port `a_l`. A partial BCube holds `groups` whole BCube_{k-1}s and all
//! level-k switches.

use serde_json::json;

use super::Family;
use super::common::{
    GIGABIT, NamedLink, power, read_digits, read_switch, too_large, utilisation, write_digits,
};
use crate::address::BcubeAddresses;
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{BcubeSpec, MAX_LINKS, TopologySpec};
use crate::topology::{Picture, SwitchTier, Topology};

pub(crate) const DESCRIPTION: Description = Description {
    family: "bcube",
    title: "BCube",
    summary: "Servers with k+1 ports and mini-switches that only ever connect servers; servers relay. Made for \
              shipping containers: many parallel paths and graceful degradation from cheap switches.",
    source: "[bcube §3.1, §5.1]",
    names: "Server 0132 (joined by dots when n > 10), switch <3,001>: level, then the digits without that level's.",
    parameters: &[
        Parameter::integer("n", "n", "Switch ports", 2, 1024)
            .unit("ports")
            .doc("Ports of every mini-switch, and servers in the smallest unit, a BCube_0."),
        Parameter::integer("k", "k", "Levels above level 0", 0, 24)
            .doc("A BCube_k is n BCube_{k-1}s joined by n^k switches; a server has k+1 ports."),
        Parameter::integer("servers", "N", "Servers", 1, 64_000_000)
            .unit("servers")
            .derived("n^(k+1), the complete BCube_k")
            .doc(
                "Fewer servers than the complete BCube_k, in whole BCube_{k-1}s of n^k. All level-k switches stay, \
                 so that routing works as in the complete one.",
            ),
    ],
    presets: &[
        ("The paper's container, 2,048 servers", r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#),
        ("Complete BCube(8,3), 4,096 servers", r#"{"family":"bcube","n":8,"k":3}"#),
        ("The paper's testbed, 16 servers", r#"{"family":"bcube","n":4,"k":1}"#),
        ("48-port switches, 2,304 servers", r#"{"family":"bcube","n":48,"k":1}"#),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Bcube),
};

pub(crate) fn validate(spec: &BcubeSpec) -> Vec<Finding> {
    let (n, k) = (spec.n, spec.k);
    let full = power(n, k + 1);
    let group = power(n, k);
    let mut findings = Vec::new();
    let servers = spec.servers.map_or(full, u128::from);
    let links = servers.saturating_mul(u128::from(k) + 1);
    // A part of a structure that is itself too large still carries its n^k top switches.
    let links = links.max(if servers < group { links } else { group });
    if spec.servers.is_none() || servers <= full && servers.is_multiple_of(group) {
        let largest = (0..k)
            .rev()
            .find(|&k| power(n, k + 1).saturating_mul(u128::from(k + 1)) <= u128::from(MAX_LINKS));
        let fix = ("k", json!(largest.unwrap_or(0)));
        if let Some(finding) = too_large("k", &format!("BCube({n},{k})"), links, [fix]) {
            return vec![finding];
        }
    }
    if servers > full {
        findings.push(
            Finding::error(
                "bcube-too-many-servers",
                "topology.servers",
                format!("servers is {servers}, but BCube({n},{k}) holds at most n^(k+1) = {full}."),
                "Use the complete BCube, or raise n or k.",
            )
            .with_value(spec.servers)
            .with_limit(full as u64)
            .with_topology_fix("servers", full as u64),
        );
    } else if !servers.is_multiple_of(group) {
        // `servers` fits 32 bits, so the multiple below does; the one above may exceed the complete
        // BCube.
        let below = servers / group * group;
        let above = below.saturating_add(group);
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
        let finding = Finding::error(
            "bcube-servers-not-whole",
            "topology.servers",
            format!(
                "servers is {servers}, but must be a multiple of n^k = {group}: whole BCube_{}s.",
                i64::from(k) - 1
            ),
            format!("The nearest valid values are {options}."),
        )
        .with_value(spec.servers)
        .with_limit(u64::try_from(group).unwrap_or(u64::MAX));
        findings.push(
            if best.saturating_mul(u128::from(k) + 1) <= u128::from(MAX_LINKS) {
                finding.with_topology_fix("servers", best as u64)
            } else {
                // The smallest k whose complete BCube holds that many servers.
                let smaller = (0..k).find(|&k| power(n, k + 1) >= servers).unwrap_or(0);
                finding.with_topology_fixes([("k", json!(smaller)), ("servers", json!(null))])
            },
        );
    } else if k > 0 && servers == group {
        findings.push(
            Finding::warning(
                "bcube-idle-top-level",
                "topology.k",
                format!(
                    "With {servers} servers, one BCube_{}, each level-{k} switch connects a single server.",
                    k - 1
                ),
                format!("Use k = {}, or at least {} servers.", k - 1, 2 * group),
            )
            .with_topology_fixes([("k", json!(k - 1)), ("servers", json!(null))]),
        );
    } else if servers < full {
        findings.push(Finding::info(
            "bcube-partial",
            "topology.servers",
            format!(
                "Partial BCube: level-{k} switches use {} of {n} ports; all {group} of them stay, for routing [bcube §5.1].",
                servers / group
            ),
            "",
        ));
    }
    findings
}

pub(crate) fn resolve(spec: &BcubeSpec) -> BcubeSpec {
    let full = u32::try_from(power(spec.n, spec.k + 1)).ok();
    BcubeSpec {
        servers: spec.servers.or(full),
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &BcubeSpec) -> String {
    let partial = spec
        .servers
        .is_some_and(|servers| u128::from(servers) < power(spec.n, spec.k + 1));
    format!(
        "{}BCube({},{})",
        if partial { "Partial " } else { "" },
        spec.n,
        spec.k
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Bcube {
    n: u32,
    k: u32,
    servers: u32,
    addresses: BcubeAddresses,
    /// BCube_{k-1}s in use; the radix of the top digit.
    groups: u32,
}

impl Bcube {
    pub fn new(spec: &BcubeSpec) -> Bcube {
        let addresses = BcubeAddresses::new(spec);
        Bcube {
            n: spec.n,
            k: spec.k,
            servers: addresses.servers(),
            groups: addresses.radix(spec.k as usize),
            addresses,
        }
    }

    fn complete(&self) -> bool {
        self.groups == self.n
    }

    fn dotted(&self) -> bool {
        self.n > 10
    }

    /// `count` digits of a number in radix n, most significant first.
    fn digits_of(&self, number: u32, count: u32) -> impl Iterator<Item = u32> + use<> {
        let n = self.n;
        (0..count).rev().map(move |digit| number / n.pow(digit) % n)
    }

    fn number(&self, digits: &[u32]) -> Option<u32> {
        digits.iter().try_fold(0u32, |number, &digit| {
            if digit < self.n {
                number.checked_mul(self.n)?.checked_add(digit)
            } else {
                None
            }
        })
    }
}

impl Family for Bcube {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        self.k + 1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        (0..=self.k)
            .map(|level| SwitchTier {
                level: level as u8,
                role: "mini-switch",
                first: self.addresses.first_switch(level),
                count: self.addresses.switches_at(level),
                ports: self.n,
                port_rate_bits_per_sec: GIGABIT,
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            })
            .collect()
    }

    fn level_label(&self, level: u8) -> String {
        format!("Level {level}")
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![GIGABIT]
    }

    fn links_at_level(&self) -> Vec<u64> {
        // Every server has one port of each level [bcube §3.1].
        vec![u64::from(self.servers); self.k as usize + 1]
    }

    fn wire(&self, links: &mut Links) {
        for level in 0..=self.k {
            let (first, at) = (self.addresses.first_switch(level), level as usize);
            for server in 0..self.servers {
                // [bcube §3.1] port i of <l, s_{k-1} … s_0> goes to server s_{k-1} … s_l i s_{l-1}
                // … s_0.
                let switch = first + self.addresses.switch_index(server, at);
                let digit = self.addresses.digit(server, at);
                links.push((server, level as u16), (switch, digit as u16), level as u8, 0);
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        if node < self.servers {
            write_digits(out, self.digits_of(node, self.k + 1), self.dotted());
        } else {
            let (level, index) = self.addresses.switch(node);
            out.push('<');
            write_digits(out, [level], true);
            out.push(',');
            write_digits(out, self.digits_of(index, self.k), self.dotted());
            out.push('>');
        }
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((level, label)) = read_switch(name) {
            let digits = read_digits(label, self.dotted())?;
            let index = self.number(&digits)?;
            return (level <= self.k
                && digits.len() == self.k as usize
                && index < self.addresses.switches_at(level))
            .then(|| self.addresses.first_switch(level) + index);
        }
        let digits = read_digits(name, self.dotted())?;
        let server = self.number(&digits)?;
        (digits.len() == self.k as usize + 1 && server < self.servers).then_some(server)
    }

    fn picture(&self) -> Picture {
        Picture::Rows
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            self.digits_of(node, self.k + 1).collect()
        } else {
            let (level, index) = self.addresses.switch(node);
            std::iter::once(level)
                .chain(self.digits_of(index, self.k))
                .collect()
        }
    }

    fn smaller_structures(&self) -> Option<u32> {
        Some(self.k)
    }

    fn structure_around(&self, server: NodeId, level: u32) -> Vec<NodeId> {
        // Ids count the addresses in order, so a BCube_level is a run of ids; a partial BCube ends
        // within one. [bcube §3.1]
        if level >= self.k {
            return (0..self.servers).collect();
        }
        let size = self.n.pow(level + 1);
        let first = server / size * size;
        (first..(first + size).min(self.servers)).collect()
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers {
            self.k + 1
        } else {
            self.addresses.radix(self.addresses.switch(node).0 as usize)
        }
    }

    fn relays(&self) -> bool {
        true
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Hops { links_each: 2 }
    }

    fn transitive(&self) -> bool {
        // Renumbering the values of one digit maps any server to any other, also in a partial
        // BCube.
        true
    }

    fn rule(&self) -> String {
        "A level-l link joins port l of a server to port a_l of the level-l switch whose digits are the server's \
         without a_l [bcube §3.1]."
            .to_owned()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let Some((level, label)) = read_switch(link.b) else {
            return false;
        };
        let (Some(mut server), Some(switch)) = (
            read_digits(link.a, self.dotted()),
            read_digits(label, self.dotted()),
        ) else {
            return false;
        };
        if server.len() != self.k as usize + 1 || level > self.k || level != u32::from(link.level) {
            return false;
        }
        let port = server.remove((self.k - level) as usize);
        u32::from(link.a_port) == level && u32::from(link.b_port) == port && server == switch
    }

    fn diameter_links(&self) -> Metric {
        let digits = self.k + u32::from(self.groups > 1);
        Metric::exact(2 * digits, "links", "[bcube §3.2, Theorem 1]")
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let (n, k) = (f64::from(self.n), f64::from(self.k));
        let servers = f64::from(self.servers);
        let groups = f64::from(self.groups);
        let hops = self.diameter_links().value / 2.0;
        // A digit differs with probability (radix - 1) / radix; a server is no partner of itself.
        let mean = (k * (n - 1.0) / n + (groups - 1.0) / groups) * servers / (servers - 1.0);
        let average = |value, unit| (self.servers > 1).then(|| Metric::exact(value, unit, "[bcube §3.2]"));
        let halves = (self.servers / 2) as f64;
        let bisection = |value: f64, unit| {
            if self.n == 2 || self.k == 0 || self.servers == 1 {
                Metric::exact(value, unit, "[ours]")
            } else {
                Metric::bound(
                    value,
                    unit,
                    "[ours]",
                    "Upper bound: the cut through the middle of the top digit. Cuts across corners can be smaller.",
                )
            }
        };
        let all_to_all = n * (servers - 1.0) / (n - 1.0);
        StructureMetrics {
            diameter: Metric::exact(hops, "hops", "[bcube §3.2, Theorem 1]"),
            diameter_links: self.diameter_links(),
            average_path: average(mean, "hops"),
            average_path_links: average(2.0 * mean, "links"),
            bisection: bisection(halves, "links"),
            bisection_bits_per_sec: bisection(halves * GIGABIT, "bit/s"),
            disjoint_paths: Metric::exact(
                if self.servers == 1 { 0.0 } else { hops },
                "paths",
                "[bcube §3.3, Theorem 3]",
            ),
            all_to_all_throughput: (self.servers > 1).then(|| {
                if self.complete() {
                    Metric::exact(all_to_all, "links", "[bcube §3.6, Theorem 6]")
                } else {
                    Metric::bound(
                        all_to_all,
                        "links",
                        "[bcube §3.6, Theorem 6]",
                        "Formula of the complete BCube, reached by one fixed digit order; the number for other path \
                         choices is lower.",
                    )
                }
            }),
            server_ports: Metric::exact(k + 1.0, "ports", "[bcube §3.1]"),
            wires: Metric::exact(servers * (k + 1.0), "links", "[bcube §3.1]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
