//! DCell [dcell §3]: t_0 = n, g_l = t_{l-1} + 1, t_l = g_l t_{l-1}.
//!
//! A server is `[a_k, …, a_0]` with `a_0 < n` and `a_l < g_l`. A partial DCell has the first
//! servers in the order of growth, which the spec chooses, and a link exists if both of its servers
//! exist. Therefore adding servers never changes existing wiring. Ids count servers in that order.

mod growth;

use std::fmt::Write;

pub(crate) use growth::validate;
use growth::{links_at_level, top_down_cells, top_down_links_at_level};

use super::Family;
use super::common::{GIGABIT, NamedLink, read_list, utilisation};
use crate::address::DcellAddresses;
use crate::describe::{Description, Kind, Parameter};
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{DcellGrowth, DcellSpec, TopologySpec};
use crate::topology::{Picture, SwitchTier, Topology};

pub(crate) const DESCRIPTION: Description = Description {
    family: "dcell",
    title: "DCell",
    summary: "Servers with k+1 ports and one mini-switch per DCell_0; at every level each pair of sub-DCells is joined \
              by one link between two servers. Grows doubly exponentially with few switches.",
    source: "[dcell §3]",
    names: "Server [2,1,0], switch <2,1>: the digits its servers share. Level 0 are the links to switches.",
    parameters: &[
        Parameter::integer("n", "n", "Switch ports", 2, 1024)
            .unit("ports")
            .doc("Ports of every mini-switch, and servers in a DCell_0."),
        Parameter::integer("k", "k", "Levels above level 0", 0, 6)
            .doc("A DCell_k is g_k = t_{k-1} + 1 DCell_{k-1}s, fully meshed; a server has k+1 ports."),
        Parameter::integer("servers", "N", "Servers", 1, 64_000_000)
            .unit("servers")
            .derived("t_k, the complete DCell_k")
            .doc(
                "Fewer servers than the complete DCell_k: the first in the order of growth. A link exists only where both its \
                 servers do.",
            ),
        Parameter::integer("growth", "", "Order of growth", 0, 1)
            .kind(Kind::Enum(&[
                (0, "0: fill one sub-DCell after the other"),
                (1, "1: top-down, incomplete sub-DCells fully connected"),
            ]))
            .default(0.0)
            .doc(
                "Which servers a partial DCell has. Top-down spreads DCell_1s over many DCell_2s, so that each two DCell_2s \
                 are linked; it differs from filling at k = 3 only.",
            ),
    ],
    presets: &[
        ("BCube's comparison, 2,048 servers", r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#),
        ("The paper's testbed, 20 servers", r#"{"family":"dcell","n":4,"k":1}"#),
        ("DCell_2 of 4-port switches, 420 servers", r#"{"family":"dcell","n":4,"k":2}"#),
        ("DCell_3 of 4-port switches, 176,820 servers", r#"{"family":"dcell","n":4,"k":3}"#),
        ("DCell_3 of 6-port switches, 3,263,442 servers", r#"{"family":"dcell","n":6,"k":3}"#),
        (
            "DCell_3 of 6-port switches, a tenth of it, top-down",
            r#"{"family":"dcell","n":6,"k":3,"servers":346332,"growth":1}"#,
        ),
    ],
    read: |parameters| serde_json::from_value(parameters).map(TopologySpec::Dcell),
};

pub(crate) fn resolve(spec: &DcellSpec) -> DcellSpec {
    let full = u32::try_from(DcellAddresses::sizes_of(spec.n, spec.k)[spec.k as usize]).ok();
    DcellSpec {
        servers: spec.servers.or(full),
        ..spec.clone()
    }
}

pub(crate) fn title(spec: &DcellSpec) -> String {
    let full = DcellAddresses::sizes_of(spec.n, spec.k)[spec.k as usize];
    let partial = spec.servers.is_some_and(|servers| u64::from(servers) < full);
    format!(
        "{}DCell({},{})",
        if partial { "Partial " } else { "" },
        spec.n,
        spec.k
    )
}

#[derive(Clone, Debug)]
pub(crate) struct Dcell {
    n: u32,
    k: u32,
    servers: u32,
    /// Whether ids follow the top-down order.
    top_down: bool,
    addresses: DcellAddresses,
}

impl Dcell {
    pub fn new(spec: &DcellSpec) -> Dcell {
        let addresses = DcellAddresses::new(spec);
        Dcell {
            n: spec.n,
            k: spec.k,
            servers: addresses.servers(),
            top_down: spec.growth == DcellGrowth::TopDown && spec.k == 3,
            addresses,
        }
    }

    fn complete(&self) -> bool {
        u64::from(self.servers) == self.addresses.sizes()[self.k as usize]
    }

    fn digit(&self, server: u32, level: u32) -> u32 {
        self.addresses.digit(server, level as usize)
    }

    /// The server with this complete address; `None` for an address of another length or without a
    /// server.
    fn whole_id(&self, digits: &[u32]) -> Option<NodeId> {
        if digits.len() != self.k as usize + 1 {
            return None;
        }
        self.addresses
            .id(digits)
            .and_then(|uid| self.addresses.server(uid))
    }

    fn prefix(&self, switch: u32) -> impl Iterator<Item = u32> + '_ {
        let server = switch * self.n;
        (1..=self.k).rev().map(move |level| self.digit(server, level))
    }

    /// Longest shortest path: that of a complete DCell_level, where crossing a DCell_0 costs
    /// `cell`.
    fn complete_diameter(level: u32, cell: u64) -> u64 {
        // [dcell §3] D_l = 2 D_{l-1} + 1: DCellRouting through the one link between two sub-DCells.
        (cell + 1) * (1 << level) - 1
    }

    /// Upper bound for a DCell_3 that grows from the top down [ours]: its DCell_2s hold linked
    /// complete DCell_1s, and all but the one that is being added are linked with each other.
    fn top_down_bound(&self, cell: u64) -> u64 {
        let sizes = self.addresses.sizes();
        let cells = top_down_cells(sizes, u64::from(self.servers));
        let inside = Dcell::complete_diameter(2, cell);
        let connected = cells.last().is_some_and(|&last| last + 1 >= cells.len() as u64);
        if connected { 2 * inside + 1 } else { 3 * inside + 2 }
    }

    /// Upper bound for the first `servers` servers of a DCell_level, filled in order [ours].
    fn diameter_bound(&self, servers: u64, level: u32, cell: u64) -> u64 {
        if servers <= 1 {
            return 0;
        }
        if level == 0 {
            return cell;
        }
        let below = self.addresses.sizes()[level as usize - 1];
        if servers <= below {
            return self.diameter_bound(servers, level - 1, cell);
        }
        let whole = Dcell::complete_diameter(level - 1, cell);
        let (subs, extra) = (servers / below, servers % below);
        let mut longest = if subs > 1 { 2 * whole + 1 } else { whole };
        if extra > 0 {
            let last = self.diameter_bound(extra, level - 1, cell);
            // Sub-DCell i has a link into the last one only if its server i exists; sub-DCell 0
            // always has.
            let detour = if extra >= subs { whole + 1 } else { 2 * (whole + 1) };
            longest = longest.max(detour + last);
        }
        longest
    }

    fn diameter(&self, cell: u64, unit: &'static str) -> Metric {
        let bound = if self.top_down {
            self.top_down_bound(cell)
        } else {
            self.diameter_bound(u64::from(self.servers), self.k, cell)
        } as f64;
        // A DCell_1 with n = 2 is a ring, where counting links finds a shorter way round.
        let ring = self.n == 2 && cell == 2;
        if self.servers <= self.n || (self.complete() && self.k <= 1 && !ring) {
            Metric::exact(bound, unit, "[dcell §3]")
        } else if self.complete() {
            Metric::bound(
                bound,
                unit,
                "[dcell §3]",
                "Upper bound: 2^(k+1) - 1 hops by DCellRouting.",
            )
        } else {
            Metric::bound(
                bound,
                unit,
                "[ours]",
                "Upper bound for a partial DCell, with a detour by another sub-DCell where two are not linked.",
            )
        }
    }

    /// Links between the first half of the servers and the rest; a switch sides with most of its
    /// servers.
    fn middle_cut(&self, links: &Links) -> u64 {
        let half = self.servers / 2;
        let direct = (0..links.len())
            .filter(|&link| links.level[link] > 0 && (links.a[link] < half) != (links.b[link] < half))
            .count() as u64;
        let cell = half / self.n * self.n;
        let size = self.n.min(self.servers - cell);
        direct + u64::from((half - cell).min(size - (half - cell)))
    }
}

impl Family for Dcell {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        self.k + 1
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        vec![SwitchTier {
            level: 0,
            role: "mini-switch",
            first: self.servers,
            count: self.servers.div_ceil(self.n),
            ports: self.n,
            port_rate_bits_per_sec: GIGABIT,
            uplink_ports: 0,
            uplink_rate_bits_per_sec: 0.0,
        }]
    }

    fn level_label(&self, level: u8) -> String {
        if level == 0 {
            "Level 0, server to switch".to_owned()
        } else {
            format!("Level {level}, server to server")
        }
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        vec![GIGABIT]
    }

    fn links_at_level(&self) -> Vec<u64> {
        let (sizes, servers) = (self.addresses.sizes(), u64::from(self.servers));
        if self.top_down {
            top_down_links_at_level(sizes, servers)
        } else {
            links_at_level(sizes, servers)
        }
    }

    fn wire(&self, links: &mut Links) {
        for server in 0..self.servers {
            links.push(
                (server, 0),
                (self.servers + server / self.n, (server % self.n) as u16),
                0,
                0,
            );
        }
        if self.top_down {
            for level in 1..=self.k {
                let ends =
                    (0..self.servers).filter_map(|a| Some((a, self.addresses.partner(a, level as usize)?)));
                for (a, b) in ends.filter(|(a, b)| a < b) {
                    links.push((a, level as u16), (b, level as u16), level as u8, 0);
                }
            }
            return;
        }
        let servers = u64::from(self.servers);
        for level in 1..=self.k {
            let (size, below) = (
                self.addresses.sizes()[level as usize],
                self.addresses.sizes()[level as usize - 1],
            );
            let port = level as u16;
            let mut base = 0;
            while base < servers {
                // BuildDCells [dcell §3]: for i < j, server j-1 of sub-DCell i to server i of
                // sub-DCell j.
                let mut i = 0;
                while i < below && base + (i + 1) * below + i < servers {
                    let mut j = i + 1;
                    while j <= below && base + j * below + i < servers {
                        let a = (base + i * below + j - 1) as NodeId;
                        let b = (base + j * below + i) as NodeId;
                        links.push((a, port), (b, port), level as u8, 0);
                        j += 1;
                    }
                    i += 1;
                }
                base = base.saturating_add(size);
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let write_list = |digits: &mut dyn Iterator<Item = u32>, out: &mut String| {
            for (index, digit) in digits.enumerate() {
                let _ = write!(out, "{}{digit}", if index > 0 { "," } else { "" });
            }
        };
        if node < self.servers {
            out.push('[');
            write_list(&mut (0..=self.k).rev().map(|level| self.digit(node, level)), out);
            out.push(']');
        } else {
            out.push('<');
            write_list(&mut self.prefix(node - self.servers), out);
            out.push('>');
        }
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if name == "<>" {
            return (self.k == 0).then_some(self.servers);
        }
        if let Some(list) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return self.whole_id(&read_list(list, ',')?);
        }
        let mut digits = read_list(name.strip_prefix('<')?.strip_suffix('>')?, ',')?;
        digits.push(0);
        self.whole_id(&digits).map(|id| self.servers + id / self.n)
    }

    fn picture(&self) -> Picture {
        Picture::Rings
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            (0..=self.k).rev().map(|level| self.digit(node, level)).collect()
        } else {
            self.prefix(node - self.servers).collect()
        }
    }

    fn smaller_structures(&self) -> Option<u32> {
        Some(self.k)
    }

    fn structure_around(&self, server: NodeId, level: u32) -> Vec<NodeId> {
        if level >= self.k {
            return (0..self.servers).collect();
        }
        let level = level as usize;
        self.addresses
            .servers_of(self.addresses.cell(server, level), level)
            .collect()
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers {
            let partners = (1..=self.k).filter_map(|level| self.addresses.partner(node, level as usize));
            1 + partners.count() as u32
        } else {
            self.n.min(self.servers - (node - self.servers) * self.n)
        }
    }

    fn relays(&self) -> bool {
        true
    }

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::HopsAtServers
    }

    fn transitive(&self) -> bool {
        self.k == 0
    }

    fn rule(&self) -> String {
        "Level 0 joins a server to the switch of its DCell_0 on port a_0; a level-l link joins server j-1 of \
         sub-DCell i to server i of sub-DCell j of the same DCell_l, i < j, on both servers' port l [dcell §3]."
            .to_owned()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let list = |name: &str, open, close| read_list(name.strip_prefix(open)?.strip_suffix(close)?, ',');
        let Some(a) = list(link.a, '[', ']') else {
            return false;
        };
        if a.len() != self.k as usize + 1 {
            return false;
        }
        if link.level == 0 {
            let shared = if link.b == "<>" {
                Some(Vec::new())
            } else {
                list(link.b, '<', '>')
            };
            return link.a_port == 0
                && shared.as_deref() == Some(&a[..a.len() - 1])
                && Some(&u32::from(link.b_port)) == a.last();
        }
        let Some(b) = list(link.b, '[', ']') else {
            return false;
        };
        let level = usize::from(link.level);
        if b.len() != a.len() || level >= a.len() {
            return false;
        }
        let position = a.len() - 1 - level;
        // The end that was added first is written first; in the order of addresses that is the one
        // in sub-DCell i.
        let in_order = !self.top_down || self.whole_id(&a) < self.whole_id(&b);
        let (a, b) = if self.top_down && a[position] > b[position] {
            (b, a)
        } else {
            (a, b)
        };
        let (i, j) = (u64::from(a[position]), u64::from(b[position]));
        in_order
            && a[..position] == b[..position]
            && i < j
            && self.addresses.id(&a[position + 1..]) == Some(j - 1)
            && self.addresses.id(&b[position + 1..]) == Some(i)
            && usize::from(link.a_port) == level
            && usize::from(link.b_port) == level
    }

    fn diameter_links(&self) -> Metric {
        self.diameter(2, "links")
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let cut = self.middle_cut(topology.links()) as f64;
        let single = self.servers > 1 && self.servers <= self.n;
        let bisection = |value: f64, unit| {
            if single {
                Metric::exact(value, unit, "[ours]")
            } else {
                Metric::bound(
                    value,
                    unit,
                    "[ours]",
                    "Upper bound: the cut between the first half of the servers and the rest.",
                )
            }
        };
        let fewest = (0..self.servers)
            .map(|server| self.expected_degree(server))
            .min()
            .unwrap_or(0);
        let disjoint = if self.servers == 1 {
            Metric::exact(0.0, "paths", "[dcell §3]")
        } else if self.complete() {
            Metric::exact(self.k + 1, "paths", "[bcube Table 1]")
        } else {
            Metric::bound(
                fewest,
                "paths",
                "[ours]",
                "Upper bound: the fewest links of a server of this partial DCell.",
            )
        };
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter(1, "hops"),
            diameter_links: self.diameter_links(),
            average_path: single.then(|| Metric::exact(1.0, "hops", "[dcell §3]")),
            average_path_links: single.then(|| Metric::exact(2.0, "links", "[dcell §3]")),
            bisection: bisection(cut, "links"),
            bisection_bits_per_sec: bisection(cut * GIGABIT, "bit/s"),
            disjoint_paths: disjoint,
            all_to_all_throughput: (self.complete() && self.k > 0).then(|| {
                Metric::bound(
                    f64::from(self.servers) / f64::from(1u32 << self.k),
                    "links",
                    "[bcube Table 1]",
                    "Lower bound N / 2^k of the complete DCell.",
                )
            }),
            server_ports: Metric::exact(self.k + 1, "ports", "[dcell §3]"),
            wires: Metric::exact(wires as f64, "links", "[dcell §3]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
