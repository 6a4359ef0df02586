//! A list as a family: ids, ports, tiers, and the rule that the certificate checks against the list
//! itself.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use super::listed::Listed;
use crate::family::Family;
use crate::family::common::{NamedLink, utilisation};
use crate::family::irregular::{self, Survey};
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{CustomSpec, TIER_AT_MOST};
use crate::topology::{SwitchTier, Topology};

const ROLES: [&str; TIER_AT_MOST as usize + 1] = [
    "tier-0", "tier-1", "tier-2", "tier-3", "tier-4", "tier-5", "tier-6", "tier-7", "tier-8", "tier-9",
    "tier-10", "tier-11", "tier-12", "tier-13", "tier-14", "tier-15",
];

/// An end of a link: the node's and the port's name.
type End = (String, String);

#[derive(Debug)]
struct Inner {
    listed: Listed,
    tiers: Vec<SwitchTier>,
    server_ports: u32,
    links: Links,
    /// Names of ports that the list gives.
    port_names: HashMap<(NodeId, u16), String>,
    /// The same by node and name.
    ports_taken: HashSet<(NodeId, String)>,
    /// The links as the list has them, by the names of nodes and ports.
    wanted: HashSet<(End, End)>,
    links_at_level: Vec<u64>,
    widest_trunk: u32,
    survey: OnceLock<Survey>,
}

/// A custom network; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Custom(Arc<Inner>);

impl Custom {
    /// The network of a list without errors.
    pub fn new(spec: &CustomSpec) -> Custom {
        let listed = Listed::new(spec);
        let rate = |link: u32| spec.links[link as usize].gbps.unwrap_or(spec.link_gbps) * 1e9;
        let tiers = tiers(&listed, rate);
        let mut links = wires(&listed, &tiers);
        let mut rates: Vec<f64> = (0..spec.links.len() as u32).map(rate).collect();
        let all = rates.clone();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        if rates.is_empty() {
            rates.push(spec.link_gbps * 1e9);
        }
        links.rate_class = all
            .iter()
            .map(|rate| rates.partition_point(|other| other < rate) as u8)
            .collect();
        links.rates_bits_per_sec = rates;
        let mut custom = Inner {
            server_ports: (0..listed.servers)
                .map(|server| listed.rows[server as usize].len() as u32)
                .max()
                .unwrap_or(0),
            links_at_level: at_level(spec, &listed, tiers.last().map_or(0, |tier| tier.level)),
            widest_trunk: widest_trunk(spec),
            listed,
            tiers,
            links,
            port_names: HashMap::new(),
            ports_taken: HashSet::new(),
            wanted: HashSet::new(),
            survey: OnceLock::new(),
        };
        custom.name_ports(spec);
        Custom(Arc::new(custom))
    }

    fn survey(&self) -> Survey {
        *self.0.survey.get_or_init(|| {
            irregular::survey(
                self.0.listed.servers,
                self.0.listed.names.len() as u32,
                &self.0.links,
            )
        })
    }
}

/// Switches of a tier are of one model: its number of ports is the largest number of links of a
/// switch, with dedicated uplinks if links to higher tiers have another rate than the rest.
fn tiers(listed: &Listed, rate: impl Fn(u32) -> f64) -> Vec<SwitchTier> {
    let mut tiers: Vec<SwitchTier> = Vec::new();
    let mut downs_at_most = 0;
    for node in listed.servers..listed.names.len() as u32 {
        let level = listed.tiers[node as usize];
        if tiers.last().is_none_or(|tier| tier.level != level) {
            downs_at_most = 0;
            tiers.push(SwitchTier {
                level,
                role: ROLES[usize::from(level)],
                first: node,
                count: 0,
                ports: 0,
                port_rate_bits_per_sec: 0.0,
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            });
        }
        let index = tiers.len() - 1;
        let tier = &mut tiers[index];
        tier.count += 1;
        let (mut downs, mut ups) = (0, 0);
        for &(far, link) in &listed.rows[node as usize] {
            let (ports, fastest) = match goes_up(listed, node, far) {
                true => (&mut ups, &mut tier.uplink_rate_bits_per_sec),
                false => (&mut downs, &mut tier.port_rate_bits_per_sec),
            };
            *ports += 1;
            *fastest = fastest.max(rate(link));
        }
        tier.ports = tier.ports.max(downs + ups);
        tier.uplink_ports = tier.uplink_ports.max(ups);
        downs_at_most = downs_at_most.max(downs);
        // Until the tier is complete, the field for ports of dedicated uplinks holds the sum of
        // both maxima.
        if index + 1 == tiers.len() && ends_tier(listed, node) {
            close(&mut tiers[index], downs_at_most);
        }
    }
    tiers
}

fn ends_tier(listed: &Listed, node: NodeId) -> bool {
    listed
        .tiers
        .get(node as usize + 1)
        .is_none_or(|&next| next != listed.tiers[node as usize])
}

/// Decides whether a tier's uplinks are dedicated ones.
fn close(tier: &mut SwitchTier, downs: u32) {
    let (down, up) = (tier.port_rate_bits_per_sec, tier.uplink_rate_bits_per_sec);
    if tier.uplink_ports > 0 && downs > 0 && down != up {
        tier.ports = downs + tier.uplink_ports;
    } else {
        tier.port_rate_bits_per_sec = down.max(up);
        tier.uplink_ports = 0;
        tier.uplink_rate_bits_per_sec = 0.0;
    }
    tier.ports = tier.ports.max(1);
    if tier.port_rate_bits_per_sec == 0.0 {
        // A switch without links still has a port.
        tier.port_rate_bits_per_sec = 1e9;
    }
}

/// Whether `far` is in a higher tier than the switch `node`.
fn goes_up(listed: &Listed, node: NodeId, far: NodeId) -> bool {
    far >= listed.servers && listed.tiers[far as usize] > listed.tiers[node as usize]
}

/// The links with their ports and levels, without rates.
fn wires(listed: &Listed, tiers: &[SwitchTier]) -> Links {
    let mut links = Links::with_capacity(listed.ends.len(), Vec::new());
    let mut used = vec![(0u16, 0u16); listed.names.len()];
    let mut port = |node: NodeId, far: NodeId| {
        let of = tiers.partition_point(|tier| tier.first <= node);
        let tier = tiers[..of].last().filter(|tier| tier.uplink_ports > 0);
        let (down, up) = &mut used[node as usize];
        match tier {
            Some(tier) if goes_up(listed, node, far) => {
                *up += 1;
                (tier.ports - tier.uplink_ports) as u16 + *up - 1
            }
            _ => {
                *down += 1;
                *down - 1
            }
        }
    };
    for &(a, b, _) in &listed.ends {
        let (a_port, b_port) = (port(a, b), port(b, a));
        links.push((a, a_port), (b, b_port), level(listed, a, b), 0);
    }
    links
}

/// The level of a link: the upper switch's tier; one more within a tier; 0 between servers.
fn level(listed: &Listed, a: NodeId, b: NodeId) -> u8 {
    if b < listed.servers {
        0
    } else if a >= listed.servers && listed.tiers[a as usize] == listed.tiers[b as usize] {
        listed.tiers[b as usize] + 1
    } else {
        listed.tiers[b as usize]
    }
}

/// Links by level, counted from the names in the list.
fn at_level(spec: &CustomSpec, listed: &Listed, top: u8) -> Vec<u64> {
    let mut counts = vec![0; usize::from(top) + 2];
    for link in &spec.links {
        let tier = |name: &str| (!listed.is_server(name)).then(|| listed.tiers[listed.number[name] as usize]);
        let level = match (tier(&link.a), tier(&link.b)) {
            (None, None) => 0,
            (Some(item), Some(other)) if item == other => item + 1,
            (item, other) => item.max(other).unwrap_or(0),
        };
        counts[usize::from(level)] += 1;
    }
    while counts.len() > 1 && counts.last() == Some(&0) {
        counts.pop();
    }
    counts
}

fn widest_trunk(spec: &CustomSpec) -> u32 {
    let mut width: HashMap<(&str, &str), u32> = HashMap::new();
    let widths = spec.links.iter().map(|link| {
        let count = width
            .entry((link.a.as_str().min(&link.b), link.a.as_str().max(&link.b)))
            .or_insert(0);
        *count += 1;
        *count
    });
    widths.max().unwrap_or(1)
}

impl Inner {
    fn name_ports(&mut self, spec: &CustomSpec) {
        for (link, row) in spec.links.iter().enumerate() {
            let turned = self.listed.ends[link].2;
            let (near, far) = if turned {
                (&row.b_port, &row.a_port)
            } else {
                (&row.a_port, &row.b_port)
            };
            for (node, port, name) in [
                (self.links.a[link], self.links.a_port[link], near),
                (self.links.b[link], self.links.b_port[link], far),
            ] {
                if let Some(name) = name {
                    self.port_names.insert((node, port), name.clone());
                    self.ports_taken.insert((node, name.clone()));
                }
            }
        }
        for (link, row) in spec.links.iter().enumerate() {
            let name = |node: NodeId, port: u16, given: &Option<String>| {
                given.clone().unwrap_or_else(|| self.port_name(node, port))
            };
            let turned = self.listed.ends[link].2;
            let (near, far) = if turned {
                (&row.b_port, &row.a_port)
            } else {
                (&row.a_port, &row.b_port)
            };
            let near = name(self.links.a[link], self.links.a_port[link], near);
            let far = name(self.links.b[link], self.links.b_port[link], far);
            let (a, b) = (
                (row.a.clone(), if turned { far.clone() } else { near.clone() }),
                (row.b.clone(), if turned { near } else { far }),
            );
            self.wanted.insert((a, b));
        }
    }

    fn ports(&self, node: NodeId) -> u32 {
        let of = self.tiers.partition_point(|tier| tier.first <= node);
        self.tiers[..of]
            .last()
            .map_or(self.server_ports, |tier| tier.ports)
    }

    /// The name in the list, else the usual name, else the next unused number of the node.
    fn port_name(&self, node: NodeId, port: u16) -> String {
        if let Some(name) = self.port_names.get(&(node, port)) {
            return name.clone();
        }
        let letters = if node < self.listed.servers { "eth" } else { "P" };
        let step = u64::from(self.ports(node).max(1));
        (0..)
            .map(|round| format!("{letters}{}", u64::from(port) + round * step))
            .find(|name| !self.ports_taken.contains(&(node, name.clone())))
            .unwrap_or_default()
    }
}

impl Family for Custom {
    fn server_count(&self) -> u32 {
        self.0.listed.servers
    }

    fn server_ports(&self) -> u32 {
        self.0.server_ports
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        self.0.tiers.clone()
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "To servers".to_owned(),
            _ => format!("Between switches, up to tier {level}"),
        }
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        self.0.links.rates_bits_per_sec.clone()
    }

    fn links_at_level(&self) -> Vec<u64> {
        self.0.links_at_level.clone()
    }

    fn wire(&self, links: &mut Links) {
        *links = self.0.links.clone();
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        out.push_str(&self.0.listed.names[node as usize]);
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        self.0.listed.number.get(name).copied()
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.0.listed.servers {
            return vec![node];
        }
        let of = self.0.tiers.partition_point(|tier| tier.first <= node);
        let tier = self.0.tiers[..of].last();
        tier.map_or_else(Vec::new, |tier| vec![u32::from(tier.level), node - tier.first])
    }

    fn own_port_name(&self, node: NodeId, port: u16) -> Option<String> {
        Some(self.0.port_name(node, port))
    }

    fn names_are_host_names(&self) -> bool {
        true
    }

    fn has_tiers(&self) -> bool {
        false
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        self.0.listed.rows[node as usize].len() as u32
    }

    fn trunk_width(&self) -> u32 {
        self.0.widest_trunk
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
        "Every link is a link of the list, between the ports that the list names [ours].".to_owned()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let (Some(a), Some(b)) = (self.node_by_name(link.a), self.node_by_name(link.b)) else {
            return false;
        };
        let near = (link.a.to_owned(), self.0.port_name(a, link.a_port));
        let far = (link.b.to_owned(), self.0.port_name(b, link.b_port));
        let level = level(&self.0.listed, a, b);
        level == link.level
            && (self.0.wanted.contains(&(near.clone(), far.clone())) || self.0.wanted.contains(&(far, near)))
    }

    fn diameter_links(&self) -> Metric {
        let survey = self.survey();
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
        irregular_metrics(self, self.survey(), topology)
    }
}

fn irregular_metrics(custom: &Custom, survey: Survey, topology: &Topology) -> StructureMetrics {
    let (servers, nodes, links) = (topology.server_count(), topology.node_count(), topology.links());
    let bound = "Upper bound: the best cut found.";
    let average = survey
        .mean
        .map(|mean| Metric::exact(mean, "links", "[ours]").with_note("Of the pairs that have a path."));
    let whole = survey.exact && survey.pairs == u64::from(servers) * u64::from(servers.saturating_sub(1));
    StructureMetrics {
        diameter: custom.diameter_links(),
        diameter_links: custom.diameter_links(),
        average_path: average.clone(),
        average_path_links: average,
        bisection: Metric::bound(
            irregular::cut(servers, nodes, links, |_| 1.0),
            "links",
            "[ours]",
            bound,
        ),
        bisection_bits_per_sec: Metric::bound(
            irregular::cut(servers, nodes, links, |link| links.rate_bits_per_sec(link)),
            "bit/s",
            "[ours]",
            bound,
        ),
        disjoint_paths: match servers > 1 && whole {
            true => Metric::bound(
                1.0,
                "paths",
                "[ours]",
                "Lower bound: every two servers have a path.",
            ),
            false => Metric::bound(0.0, "paths", "[ours]", "Lower bound."),
        },
        all_to_all_throughput: None,
        server_ports: Metric::exact(custom.0.server_ports, "ports", "[ours]"),
        wires: Metric::exact(links.len() as f64, "links", "[ours]"),
        switch_ports_used: utilisation(topology),
    }
}
