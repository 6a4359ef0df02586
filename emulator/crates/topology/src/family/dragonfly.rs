//! Dragonfly: groups of routers, all joined within a group, and links between every two groups
//! [dragonfly §3].
//!
//! The global links are in the consecutive arrangement: the `a h` global ports of a group, router
//! by router, lead to the other groups in ascending order, repeatedly, as long as ports for a whole
//! round remain. Port `q` of group `i` leads to group `t` or, from `i` on, `t + 1`, with `t` the
//! place of `q` in its round. With the `a h + 1` groups of a full Dragonfly there is one round.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use serde_json::json;

use super::Family;
use super::common::{NamedLink, read_list, read_switch, too_large};
use super::irregular::{self, Survey};
use crate::describe::{Description, Parameter};
use crate::finding::Finding;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{DragonflySpec, TopologySpec};
use crate::topology::{SwitchTier, Topology};

const PER_ROUTER_AT_MOST: u32 = 64;
const GROUPS_AT_MOST: u32 = PER_ROUTER_AT_MOST * PER_ROUTER_AT_MOST + 1;

pub(crate) const DESCRIPTION: Description = Description {
    family: "dragonfly",
    title: "Dragonfly",
    summary: "Groups of routers with all links within a group and one or more between every two groups: at most three links between \
              two routers.",
    source: "[dragonfly §3]",
    names: "Server group.router.i, router <0,group.router>.",
    parameters: &[
        Parameter::integer("a", "a", "Routers per group", 1, PER_ROUTER_AT_MOST)
            .unit("routers")
            .doc("Routers of a group, each joined to all others of it."),
        Parameter::integer("p", "p", "Servers per router", 1, PER_ROUTER_AT_MOST)
            .unit("servers")
            .doc("Server ports of a router."),
        Parameter::integer("h", "h", "Global links per router", 1, PER_ROUTER_AT_MOST)
            .unit("links")
            .doc("Links of a router to other groups."),
        Parameter::integer("groups", "g", "Groups", 1, GROUPS_AT_MOST)
            .unit("groups")
            .derived("a h + 1, as many as can have a link to each other")
            .doc("Groups; with fewer than a h + 1, links between two groups are several where they divide evenly."),
        Parameter::number("link_gbps", "", "Link rate", 0.001, 1600.0)
            .unit("Gb/s")
            .default(10.0)
            .doc("Of every link."),
    ],
    presets: &[
        ("The paper's example, 72 servers", r#"{"family":"dragonfly","a":4,"p":2,"h":2}"#),
        ("Balanced, 1,056 servers", r#"{"family":"dragonfly","a":8,"p":4,"h":4}"#),
        ("16 groups of 8 routers, 512 servers", r#"{"family":"dragonfly","a":8,"p":4,"h":4,"groups":16}"#),
        (
            "A lab of 6 servers, 1 Gb/s",
            r#"{"family":"dragonfly","a":2,"p":1,"h":1,"link_gbps":1}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Dragonfly),
};

fn groups_of(spec: &DragonflySpec) -> u32 {
    spec.groups.unwrap_or(spec.a * spec.h + 1)
}

pub(crate) fn resolve(spec: &DragonflySpec) -> DragonflySpec {
    DragonflySpec {
        groups: Some(groups_of(spec)),
        ..spec.clone()
    }
}

pub(crate) fn validate(spec: &DragonflySpec) -> Vec<Finding> {
    let full = spec.a * spec.h + 1;
    let groups = groups_of(spec);
    if groups > full {
        return vec![
            Finding::error(
                "dragonfly-too-many-groups",
                "topology.groups",
                format!(
                    "groups is {groups}, but the a h = {} global links of a group reach only as many others.",
                    full - 1
                ),
                format!("Use at most a h + 1 = {full} groups, or larger a or h."),
            )
            .with_value(groups)
            .with_limit(full)
            .with_topology_fix("groups", full),
        ];
    }
    let dragonfly = Dragonfly::new(spec);
    let links: u128 = dragonfly
        .links_at_level()
        .iter()
        .map(|&links| u128::from(links))
        .sum();
    let what = format!("A Dragonfly of {groups} groups");
    if let Some(finding) = too_large("groups", &what, links, [("groups", json!(2))]) {
        return vec![finding];
    }
    let mut findings = Vec::new();
    let unused = dragonfly.unused_ports();
    if unused > 0 {
        findings.push(Finding::info(
            "dragonfly-free-ports",
            "topology.groups",
            format!("{unused} of the {} global ports of a group stay free, because they do not divide evenly among the other groups.", full - 1),
            "",
        ));
    }
    if spec.a != 2 * spec.p || spec.a != 2 * spec.h {
        findings.push(Finding::info(
            "dragonfly-unbalanced",
            "topology.a",
            "Load is balanced over local and global links where a = 2 p = 2 h [dragonfly §3.1].",
            "",
        ));
    }
    findings
}

pub(crate) fn title(spec: &DragonflySpec) -> String {
    format!(
        "Dragonfly a={} p={} h={}, {} groups",
        spec.a,
        spec.p,
        spec.h,
        groups_of(spec)
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Dragonfly {
    a: u32,
    p: u32,
    h: u32,
    groups: u32,
    bits_per_sec: f64,
    survey: Arc<OnceLock<Survey>>,
}

impl Dragonfly {
    pub fn new(spec: &DragonflySpec) -> Dragonfly {
        Dragonfly {
            a: spec.a,
            p: spec.p,
            h: spec.h,
            groups: groups_of(spec),
            bits_per_sec: spec.link_gbps * 1e9,
            survey: Arc::new(OnceLock::new()),
        }
    }

    fn routers(&self) -> u32 {
        self.groups * self.a
    }

    fn servers(&self) -> u32 {
        self.routers() * self.p
    }

    /// Links between two groups: whole rounds of a group's global ports.
    fn rounds(&self) -> u32 {
        (self.a * self.h).checked_div(self.groups - 1).unwrap_or(0)
    }

    /// Global ports of a group that have a link; the first ones.
    fn used_ports(&self) -> u32 {
        self.rounds() * (self.groups - 1)
    }

    fn unused_ports(&self) -> u32 {
        self.a * self.h - self.used_ports()
    }

    /// The port of router `from` that leads to router `to` of the same group.
    fn local_port(&self, from: u32, to: u32) -> u32 {
        self.p + if to < from { to } else { to - 1 }
    }

    /// Router and port of a group's global port.
    fn global_port(&self, group: u32, port: u32) -> (NodeId, u16) {
        let router = self.servers() + group * self.a + port / self.h;
        (router, (self.p + self.a - 1 + port % self.h) as u16)
    }

    fn survey(&self) -> Survey {
        *self.survey.get_or_init(|| {
            let mut links = Links::with_capacity(0, vec![self.bits_per_sec]);
            self.wire(&mut links);
            irregular::survey(self.servers(), self.servers() + self.routers(), &links)
        })
    }
}

impl Family for Dragonfly {
    fn server_count(&self) -> u32 {
        self.servers()
    }

    fn server_ports(&self) -> u32 {
        1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        vec![SwitchTier {
            level: 0,
            role: "router",
            first: self.servers(),
            count: self.routers(),
            ports: self.p + self.a - 1 + self.h,
            port_rate_bits_per_sec: self.bits_per_sec,
            uplink_ports: 0,
            uplink_rate_bits_per_sec: 0.0,
        }]
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "Server to router",
            1 => "Within a group",
            _ => "Between groups",
        }
        .to_owned()
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![self.bits_per_sec]
    }

    fn links_at_level(&self) -> Vec<u64> {
        let [a, groups, used] = [self.a, self.groups, self.used_ports()].map(u64::from);
        vec![
            u64::from(self.routers()) * u64::from(self.p),
            groups * (a * (a - 1) / 2),
            groups * used / 2,
        ]
    }

    fn wire(&self, links: &mut Links) {
        let first = self.servers();
        for server in 0..first {
            links.push(
                (server, 0),
                (first + server / self.p, (server % self.p) as u16),
                0,
                0,
            );
        }
        for group in 0..self.groups {
            for (from, to) in (0..self.a).flat_map(|from| (from + 1..self.a).map(move |to| (from, to))) {
                let end = |item: u32, other: u32| {
                    (first + group * self.a + item, self.local_port(item, other) as u16)
                };
                links.push(end(from, to), end(to, from), 1, 0);
            }
        }
        for near in 0..self.groups {
            for port in 0..self.used_ports() {
                let (round, place) = (port / (self.groups - 1), port % (self.groups - 1));
                let far = place + 1;
                if place < near {
                    continue;
                }
                // For the far group, which has the higher number, the index of the near group is
                // its number.
                let back = round * (self.groups - 1) + near;
                links.push(self.global_port(near, port), self.global_port(far, back), 2, 0);
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let _ = match node.checked_sub(self.servers()) {
            None => {
                let router = node / self.p;
                write!(out, "{}.{}.{}", router / self.a, router % self.a, node % self.p)
            }
            Some(router) => write!(out, "<0,{}.{}>", router / self.a, router % self.a),
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((tier, label)) = read_switch(name) {
            let [group, router] = read_list(label, '.')?.try_into().ok()?;
            let known = tier == 0 && group < self.groups && router < self.a;
            return known.then(|| self.servers() + group * self.a + router);
        }
        let [group, router, place] = read_list(name, '.')?.try_into().ok()?;
        let known = group < self.groups && router < self.a && place < self.p;
        known.then(|| (group * self.a + router) * self.p + place)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        match node.checked_sub(self.servers()) {
            None => vec![node / self.p / self.a, node / self.p % self.a, node % self.p],
            Some(router) => vec![0, router / self.a, router % self.a],
        }
    }

    fn has_tiers(&self) -> bool {
        false
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        match node.checked_sub(self.servers()) {
            None => 1,
            Some(router) => {
                let before = (router % self.a) * self.h;
                self.p + self.a - 1 + self.used_ports().saturating_sub(before).min(self.h)
            }
        }
    }

    fn trunk_width(&self) -> u32 {
        // Two links between the same groups differ by a round.
        self.h
            .checked_div(self.groups - 1)
            .map_or(1, |_| self.h.div_ceil(self.groups - 1))
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
        format!(
            "Server g.r.i hangs on port i of router g.r. Routers of a group are all joined, by ports {} to {}. Global port q of group \
             i, on router q / {}, leads to the group whose place is q among the others in ascending order, and on to them again in \
             rounds of {} [dragonfly §3.1].",
            self.p,
            (self.p + self.a).saturating_sub(2),
            self.h,
            self.groups - 1
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let read = |name| -> Option<[u32; 2]> {
            let (0, label) = read_switch(name)? else {
                return None;
            };
            read_list(label, '.')?.try_into().ok()
        };
        let Some([far, to]) = read(link.b) else {
            return false;
        };
        let (a_port, b_port) = (u32::from(link.a_port), u32::from(link.b_port));
        if link.level == 0 {
            return a_port == 0 && read_list(link.a, '.') == Some(vec![far, to, b_port]);
        }
        let Some([near, from]) = read(link.a) else {
            return false;
        };
        if link.level == 1 {
            // Skipping itself, a router has the others on its ports in ascending order.
            let local = |port: u32, own: u32| {
                (port.wrapping_sub(self.p)).wrapping_add(u32::from(port.wrapping_sub(self.p) >= own))
            };
            return near == far
                && from < to
                && to < self.a
                && local(a_port, from) == to
                && local(b_port, to) == from;
        }
        let global = |router: u32, port: u32| {
            let place = port
                .checked_sub(self.p + self.a - 1)
                .filter(|&place| place < self.h)?;
            Some(router * self.h + place)
        };
        let (Some(forth), Some(back)) = (global(from, a_port), global(to, b_port)) else {
            return false;
        };
        let others = self.groups - 1;
        // Lower group first: its index of the other group is that group's number minus one, and the
        // other's index of it is its number.
        link.level == 2
            && near < far
            && far < self.groups
            && forth < self.used_ports()
            && forth % others + 1 == far
            && back % others == near
            && forth / others == back / others
    }

    fn diameter_links(&self) -> Metric {
        let survey = self.survey();
        match survey.exact {
            true => Metric::exact(survey.farthest, "links", "[ours]")
                .with_note("Searched from every server; at most three links between two routers."),
            false => Metric::bound(
                5.0,
                "links",
                "[dragonfly §3.1]",
                "Upper bound: local, global and local between two routers.",
            ),
        }
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let survey = self.survey();
        irregular::one_port_metrics(
            self.diameter_links(),
            survey.mean,
            self.bits_per_sec,
            "[dragonfly §3]",
            topology,
        )
    }
}
