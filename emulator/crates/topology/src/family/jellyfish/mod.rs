//! Jellyfish: switches joined at random, servers on all of them [jellyfish §3].
//!
//! The random regular graph is made as published: two switches with free ports that are not joined
//! yet are drawn and joined, until there are none; then a switch with two free ports takes the
//! place of a random link between two others. Two neighbours with one free port each take both ends
//! of such a link in the same way. At most one port of the network stays free. If the result is not
//! connected, two links of different parts swap ends until it is. `[ours]`
//!
//! Inside: the family (here) and its graph (`random_graph`).
//!
//! The draws follow from the seed alone, by integers only: the same network on every machine.

mod random_graph;

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use random_graph::random_graph;
use serde_json::json;

use super::Family;
use super::common::{NamedLink, read_list, read_number, read_switch};
use super::irregular::{self, Survey};
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{JellyfishSpec, TopologySpec};
use crate::topology::{SwitchTier, Topology};

const SWITCHES_AT_MOST: u32 = 20_000;
const PORTS_AT_MOST: u32 = 256;

pub(crate) const DESCRIPTION: Description = Description {
    family: "jellyfish",
    title: "Jellyfish",
    summary: "Equal switches joined at random, with servers on each: shorter paths than a fat-tree of the same switches, and any \
              number of switches.",
    source: "[jellyfish §3]",
    names: "Server switch.i, switch <0,i>.",
    parameters: &[
        Parameter::integer("switches", "N", "Switches", 1, SWITCHES_AT_MOST)
            .unit("switches")
            .doc("Top-of-rack switches, all alike."),
        Parameter::integer("ports", "k", "Switch ports", 1, PORTS_AT_MOST)
            .unit("ports")
            .doc("Of a switch; those without a server join it to other switches."),
        Parameter::integer(
            "servers_per_switch",
            "k-r",
            "Servers per switch",
            1,
            PORTS_AT_MOST,
        )
        .unit("servers")
        .doc("Server ports of a switch."),
        Parameter::integer("servers", "", "Servers", 1, SWITCHES_AT_MOST * PORTS_AT_MOST)
            .unit("servers")
            .derived("servers_per_switch on every switch")
            .doc("Spread evenly over the switches; ports that this leaves free join switches."),
        Parameter::integer("seed", "", "Seed", 0, u32::MAX)
            .default(1.0)
            .doc("Which of the random networks."),
        Parameter::number("link_gbps", "", "Link rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(10.0)
            .doc("Of every link."),
    ],
    presets: &[
        (
            "64 switches of 16 ports, 256 servers",
            r#"{"family":"jellyfish","switches":64,"ports":16,"servers_per_switch":4}"#,
        ),
        (
            "The paper's 686 servers on the 245 switches of a fat-tree",
            r#"{"family":"jellyfish","switches":245,"ports":14,"servers_per_switch":3,"servers":686}"#,
        ),
        (
            "2,048 servers",
            r#"{"family":"jellyfish","switches":256,"ports":24,"servers_per_switch":8}"#,
        ),
        (
            "A lab of 8 servers, 1 Gb/s",
            r#"{"family":"jellyfish","switches":8,"ports":4,"servers_per_switch":1,"link_gbps":1}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Jellyfish),
};

fn servers_of(spec: &JellyfishSpec) -> u32 {
    spec.servers.unwrap_or(spec.switches * spec.servers_per_switch)
}

pub(crate) fn resolve(spec: &JellyfishSpec) -> JellyfishSpec {
    JellyfishSpec {
        servers: Some(servers_of(spec)),
        ..spec.clone()
    }
}

pub(crate) fn validate(spec: &JellyfishSpec) -> Vec<Finding> {
    let JellyfishSpec {
        switches,
        ports,
        servers_per_switch,
        ..
    } = *spec;
    let error = |code, field: &str, message, hint: &str, value: u32, limit: u32, fix: u32| {
        let finding = Finding::error(code, format!("topology.{field}"), message, hint);
        vec![
            finding
                .with_value(value)
                .with_limit(limit)
                .with_topology_fix(field, fix),
        ]
    };
    let most = switches * servers_per_switch;
    if let Some(servers) = spec.servers.filter(|&servers| servers > most) {
        return error(
            "jellyfish-servers",
            "servers",
            format!("{servers} servers are more than servers_per_switch on every switch, {most}."),
            "Use fewer servers, or more on a switch.",
            servers,
            most,
            most,
        );
    }
    if let Some(servers) = spec.servers.filter(|&servers| servers < switches) {
        return error(
            "jellyfish-servers",
            "servers",
            format!("{servers} servers leave some of the {switches} switches without one."),
            "Use at least as many servers as switches.",
            servers,
            switches,
            switches,
        );
    }
    let on_first = servers_of(spec).div_ceil(switches);
    let on_last = servers_of(spec) / switches;
    // Two switches need a link between them, more of them two each, so that the network can be
    // whole.
    let needed = (switches - 1).min(2);
    if ports < on_first + needed {
        let fix = on_first + needed;
        let findings = error(
            "jellyfish-too-few-ports",
            "ports",
            format!(
                "ports is {ports}: {on_first} servers leave fewer than {needed} for links to other switches."
            ),
            "Use more ports or fewer servers per switch.",
            ports,
            fix,
            fix.min(PORTS_AT_MOST),
        );
        if fix > PORTS_AT_MOST {
            let fewer = PORTS_AT_MOST - needed;
            return vec![findings[0].clone().with_topology_fixes([
                ("servers_per_switch", json!(fewer)),
                ("servers", serde_json::Value::Null),
                ("ports", json!(PORTS_AT_MOST)),
            ])];
        }
        return findings;
    }
    if ports - on_last > switches - 1 {
        let most = on_last + switches - 1;
        return error(
            "jellyfish-too-many-ports",
            "ports",
            format!(
                "ports is {ports}: a switch would have {} links to other switches, and there are only {} of them.",
                ports - on_last,
                switches - 1
            ),
            "Use fewer ports or more switches.",
            ports,
            most,
            most.max(on_first + needed),
        );
    }
    let mut findings = Vec::new();
    if (u64::from(switches) * u64::from(ports) - u64::from(servers_of(spec))) % 2 == 1 {
        findings.push(Finding::info(
            "jellyfish-odd-port",
            "topology.ports",
            "The ports between switches are odd in number: one port of the last switch stays free.",
            "",
        ));
    }
    findings
}

pub(crate) fn title(spec: &JellyfishSpec) -> String {
    format!(
        "Jellyfish, {} switches of {} ports, {} servers, seed {}",
        spec.switches,
        spec.ports,
        servers_of(spec),
        spec.seed
    )
}

/// A Jellyfish; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Jellyfish {
    switches: u32,
    ports: u32,
    servers: u32,
    seed: u32,
    bits_per_sec: f64,
    made: Arc<OnceLock<(Links, Survey)>>,
}

impl Jellyfish {
    pub fn new(spec: &JellyfishSpec) -> Jellyfish {
        Jellyfish {
            switches: spec.switches,
            ports: spec.ports,
            servers: servers_of(spec),
            seed: spec.seed,
            bits_per_sec: spec.link_gbps * 1e9,
            made: Arc::new(OnceLock::new()),
        }
    }

    /// The number of servers on a switch: if they do not divide evenly, the first switches have one
    /// more.
    fn on_switch(&self, switch: u32) -> u32 {
        self.servers / self.switches + u32::from(switch < self.servers % self.switches)
    }

    /// First server of a switch.
    fn first_server(&self, switch: u32) -> u32 {
        switch * (self.servers / self.switches) + switch.min(self.servers % self.switches)
    }

    /// The switch of a server, and the server's index on it.
    fn place(&self, server: NodeId) -> (u32, u32) {
        let (each, more) = (self.servers / self.switches, self.servers % self.switches);
        let switch = if server < more * (each + 1) {
            server / (each + 1)
        } else {
            more + (server - more * (each + 1)) / each
        };
        (switch, server - self.first_server(switch))
    }

    /// The total number of ports between switches.
    fn between(&self) -> u64 {
        u64::from(self.switches) * u64::from(self.ports) - u64::from(self.servers)
    }

    /// Links of a switch to other switches: all ports without a server; the last switch has one
    /// less if the total is odd.
    fn degree(&self, switch: u32) -> u32 {
        let odd = self.between() % 2 == 1 && switch == self.switches - 1;
        self.ports - self.on_switch(switch) - u32::from(odd)
    }

    fn made(&self) -> &(Links, Survey) {
        self.made.get_or_init(|| {
            let mut links = Links::with_capacity(0, vec![self.bits_per_sec]);
            for server in 0..self.servers {
                let (switch, port) = self.place(server);
                links.push((server, 0), (self.servers + switch, port as u16), 0, 0);
            }
            let degrees: Vec<u32> = (0..self.switches).map(|switch| self.degree(switch)).collect();
            let mut next: Vec<u32> = (0..self.switches).map(|switch| self.on_switch(switch)).collect();
            for (a, b) in random_graph(&degrees, u64::from(self.seed)) {
                let ends = [a, b].map(|switch| {
                    next[switch as usize] += 1;
                    (self.servers + switch, next[switch as usize] as u16 - 1)
                });
                links.push(ends[0], ends[1], 1, 0);
            }
            let survey = irregular::survey(self.servers, self.servers + self.switches, &links);
            (links, survey)
        })
    }
}

impl Family for Jellyfish {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        vec![SwitchTier {
            level: 0,
            role: "switch",
            first: self.servers,
            count: self.switches,
            ports: self.ports,
            port_rate_bits_per_sec: self.bits_per_sec,
            uplink_ports: 0,
            uplink_rate_bits_per_sec: 0.0,
        }]
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "Server to switch",
            _ => "Switch to switch",
        }
        .to_owned()
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![self.bits_per_sec]
    }

    fn links_at_level(&self) -> Vec<u64> {
        vec![u64::from(self.servers), self.between() / 2]
    }

    fn wire(&self, links: &mut Links) {
        *links = self.made().0.clone();
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let _ = if node < self.servers {
            let (switch, place) = self.place(node);
            write!(out, "{switch}.{place}")
        } else {
            write!(out, "<0,{}>", node - self.servers)
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((tier, label)) = read_switch(name) {
            let index = read_number(label)?;
            return (tier == 0 && index < self.switches).then_some(self.servers + index);
        }
        let [switch, place] = read_list(name, '.')?.try_into().ok()?;
        (switch < self.switches && place < self.on_switch(switch)).then(|| self.first_server(switch) + place)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            let (switch, place) = self.place(node);
            vec![switch, place]
        } else {
            vec![0, node - self.servers]
        }
    }

    fn has_tiers(&self) -> bool {
        false
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        match node.checked_sub(self.servers) {
            None => 1,
            Some(switch) => self.on_switch(switch) + self.degree(switch),
        }
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
        "Server s.i hangs on port i of switch s; the other links join two different switches on ports behind the servers', and \
         a switch's links are on its ports in ascending order of the pairs of switches that they join [jellyfish §3]."
            .to_owned()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let read = |name| match read_switch(name) {
            Some((0, label)) => read_number(label).filter(|&switch| switch < self.switches),
            _ => None,
        };
        let Some(far) = read(link.b) else {
            return false;
        };
        if link.level == 0 {
            return link.a_port == 0 && read_list(link.a, '.') == Some(vec![far, u32::from(link.b_port)]);
        }
        // Which switches are joined is drawn: the link must be of the network of this seed.
        let Some(near) = read(link.a) else {
            return false;
        };
        let links = &self.made().0;
        let (wanted, first) = ((self.servers + near, self.servers + far), self.servers as usize);
        let Some(place) = place_of(&links.a[first..], &links.b[first..], wanted) else {
            return false;
        };
        let place = first + place;
        link.level == 1 && (link.a_port, link.b_port) == (links.a_port[place], links.b_port[place])
    }

    fn diameter_links(&self) -> Metric {
        let survey = self.made().1;
        match survey.exact {
            true => {
                Metric::exact(survey.farthest, "links", "[ours]").with_note("Searched from every server.")
            }
            false => Metric::bound(
                survey.farthest,
                "links",
                "[ours]",
                "Upper bound: one link more than there are switches.",
            ),
        }
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let survey = self.made().1;
        irregular::one_port_metrics(
            self.diameter_links(),
            survey.mean,
            self.bits_per_sec,
            "[jellyfish §3]",
            topology,
        )
    }
}

/// Place of a pair in two columns that ascend together.
fn place_of(a: &[NodeId], b: &[NodeId], wanted: (NodeId, NodeId)) -> Option<usize> {
    let place = a.partition_point(|&item| item < wanted.0);
    let end = a.partition_point(|&item| item <= wanted.0);
    b[place..end]
        .binary_search(&wanted.1)
        .ok()
        .map(|found| place + found)
}
