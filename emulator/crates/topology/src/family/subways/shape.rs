//! Addresses, wiring and closed forms of Subways [subways §4].

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::Family;
use super::super::common::{NamedLink, read_list, read_switch, utilisation};
use super::sizes::Sizes;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, StructureMetrics};
use crate::spec::{GbpsList, SubwaysSpec};
use crate::topology::{SwitchTier, Topology};

/// Beyond this many different sets of clusters a rack may see, they are not compared pair by pair.
const CLUSTER_SETS_AT_MOST: usize = 4096;

/// Addressing of a valid Subways network.
#[derive(Clone, Debug)]
pub(crate) struct Subways {
    wiring_type: u8,
    p: u32,
    q: u32,
    l: u32,
    clusters: u32,
    loops_per_cluster: u32,
    /// Clusters a loop is spread over.
    spread: u32,
    r: u32,
    loops: u32,
    tors: u32,
    servers: u32,
    aggs_per_cluster: u32,
    trunk: u32,
    agg_down: u32,
    agg_up: u32,
    cores: u32,
    /// Distinct rates; the server rates first, the uplink rate last found.
    rates_bits_per_sec: Vec<f64>,
    /// Rate class by server port, or by cluster where `by_cluster`.
    server_classes: Vec<u8>,
    by_cluster: bool,
    uplink_class: u8,
}

/// How far around the loop port `e` reaches: 0, -1, +1, -2, +2, …
fn reach(port: u32) -> i64 {
    let steps = i64::from(port.div_ceil(2));
    if port % 2 == 1 { -steps } else { steps }
}

impl Subways {
    pub(super) fn new(spec: &SubwaysSpec, sizes: Sizes) -> Subways {
        let mut rates_bits_per_sec: Vec<f64> = Vec::new();
        let mut class = |gbps: f64| {
            let rate = gbps * 1e9;
            let known = rates_bits_per_sec.iter().position(|&other| other == rate);
            known.unwrap_or_else(|| {
                rates_bits_per_sec.push(rate);
                rates_bits_per_sec.len() - 1
            }) as u8
        };
        let server_classes = match (&spec.cluster_gbps, &spec.server_gbps) {
            (Some(rates), _) | (None, GbpsList::PerPort(rates)) => {
                rates.iter().map(|&rate| class(rate)).collect()
            }
            (None, GbpsList::One(rate)) => vec![class(*rate); spec.p as usize],
        };
        let uplink_class = class(spec.uplink_gbps);
        Subways {
            wiring_type: spec.wiring_type,
            p: spec.p,
            q: spec.q,
            l: spec.l,
            clusters: spec.clusters,
            loops_per_cluster: spec.loops_per_cluster,
            spread: sizes.spread,
            r: sizes.r,
            loops: sizes.loops,
            tors: sizes.tors as u32,
            servers: sizes.servers() as u32,
            aggs_per_cluster: sizes.aggs_per_cluster,
            trunk: sizes.trunk,
            agg_down: sizes.agg_down as u32,
            agg_up: sizes.agg_up as u32,
            cores: sizes.cores as u32,
            rates_bits_per_sec,
            server_classes,
            by_cluster: spec.cluster_gbps.is_some(),
            uplink_class,
        }
    }

    fn first_agg(&self) -> NodeId {
        self.servers + self.tors
    }

    fn first_core(&self) -> NodeId {
        self.first_agg() + self.clusters * self.aggs_per_cluster
    }

    fn uplinks(&self) -> u32 {
        self.aggs_per_cluster * self.trunk
    }

    /// ToR of a server port, as position in the loop.
    fn tor_of(&self, rack: u32, port: u32) -> u32 {
        if self.wiring_type == 0 {
            return rack;
        }
        (i64::from(rack) + reach(port)).rem_euclid(i64::from(self.l)) as u32
    }

    /// Cluster of the ToR at position `tor` of a loop.
    ///
    /// Types 0 and 1 keep a loop in its cluster. Type 2 deals the ToRs of a loop to the clusters of its
    /// group in turn [subways §4.3], each loop starting one cluster further so that all get equally many.
    fn cluster_of(&self, in_loop: u32, tor: u32) -> u32 {
        let group = in_loop / (self.spread * self.loops_per_cluster);
        group * self.spread + (tor % self.spread + in_loop % self.spread) % self.spread
    }

    /// Number of the loop's ToRs in the `index`-th cluster of its group.
    fn share(&self, in_loop: u32, index: u32) -> u32 {
        let first = (index + self.spread - in_loop % self.spread) % self.spread;
        self.l / self.spread + u32::from(first < self.l % self.spread)
    }

    /// Position of a ToR among all of its cluster, in closed form.
    fn place_in_cluster(&self, in_loop: u32, tor: u32) -> u32 {
        let group_loops = self.spread * self.loops_per_cluster;
        let before = in_loop % group_loops;
        let index = self.cluster_of(in_loop, tor) % self.spread;
        // Any `spread` loops in a row give each cluster l ToRs; count the loops after those one by one.
        let rounds = before / self.spread;
        let start = in_loop - before + rounds * self.spread;
        rounds * self.l
            + (start..in_loop)
                .map(|other| self.share(other, index))
                .sum::<u32>()
            + tor / self.spread
    }

    fn core_port_count(&self) -> u32 {
        if self.cores == 0 {
            0
        } else {
            (self.aggs_per_cluster * self.agg_up).div_ceil(self.cores)
        }
    }

    /// Role, group (loop or cluster) and index of a switch.
    fn switch(&self, node: NodeId) -> (u32, u32, u32) {
        if node < self.first_agg() {
            let tor = node - self.servers;
            (0, tor / self.l, tor % self.l)
        } else if node < self.first_core() {
            let agg = node - self.first_agg();
            (1, agg / self.aggs_per_cluster, agg % self.aggs_per_cluster)
        } else {
            (2, 0, node - self.first_core())
        }
    }

    fn fastest_server_rate(&self) -> f64 {
        self.server_classes
            .iter()
            .map(|&class| self.rates_bits_per_sec[usize::from(class)])
            .fold(0.0, f64::max)
    }

    /// Racks that share a ToR with a given one, itself included.
    fn near_racks(&self) -> u64 {
        if self.wiring_type == 0 {
            1
        } else {
            u64::from(self.l.min(2 * self.p - 1))
        }
    }

    /// Racks of a cluster group by the set of clusters their servers reach; `None` when too many differ.
    fn cluster_sets(&self) -> Option<BTreeMap<Vec<u64>, u64>> {
        if self.spread as usize * self.p as usize > CLUSTER_SETS_AT_MOST {
            return None;
        }
        let words = (self.spread as usize).div_ceil(64);
        let mut sets: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        // Loops repeat after `spread`; a group has `loops_per_cluster` rounds of them.
        for in_loop in 0..self.spread {
            for rack in 0..self.l {
                let mut set = vec![0u64; words];
                for port in 0..self.p {
                    let index = self.cluster_of(in_loop, self.tor_of(rack, port)) % self.spread;
                    set[index as usize / 64] |= 1 << (index % 64);
                }
                *sets.entry(set).or_default() += u64::from(self.loops_per_cluster);
            }
        }
        (sets.len() <= CLUSTER_SETS_AT_MOST).then_some(sets)
    }

    /// Ordered pairs of racks of one group that reach a common cluster, a rack with itself included.
    fn meeting_rack_pairs(&self) -> Option<u64> {
        let sets = self.cluster_sets()?;
        let meet = |a: &[u64], b: &[u64]| a.iter().zip(b).any(|(a, b)| a & b != 0);
        let mut pairs = 0;
        for (a, count_a) in &sets {
            for (b, count_b) in &sets {
                if meet(a, b) {
                    pairs += count_a * count_b;
                }
            }
        }
        Some(pairs)
    }

    fn racks_per_group(&self) -> u64 {
        u64::from(self.spread) * u64::from(self.loops_per_cluster) * u64::from(self.l)
    }

    /// The cheapest of a few natural cuts, as (links, bits per second).
    fn cut(&self) -> (f64, f64) {
        let half = f64::from(self.servers / 2);
        let uplink_rate = self.rates_bits_per_sec[usize::from(self.uplink_class)];
        let access = half * f64::from(self.p);
        let mut best = (access, access * self.fastest_server_rate());
        let mut consider = |links: f64| {
            if links * uplink_rate < best.1 {
                best = (links, links * uplink_rate);
            }
        };
        let groups = self.clusters / self.spread;
        if groups.is_multiple_of(2) {
            let clusters = f64::from(groups / 2 * self.spread);
            consider(clusters * f64::from(self.aggs_per_cluster) * f64::from(self.agg_up));
        }
        let tors = f64::from(self.tors / 2);
        if self.loops.is_multiple_of(2) || (self.wiring_type == 0 && self.tors.is_multiple_of(2)) {
            consider(tors * f64::from(self.uplinks()));
        }
        best
    }

    fn average(&self) -> Option<f64> {
        let servers = f64::from(self.servers);
        if self.servers < 2 {
            return None;
        }
        let r = f64::from(self.r);
        let near = servers * (self.near_racks() as f64 * r - 1.0);
        let groups = f64::from(self.clusters / self.spread);
        let meeting = self.meeting_rack_pairs()? as f64 * groups * r * r - servers;
        let all = servers * (servers - 1.0);
        Some((2.0 * near + 4.0 * (meeting - near) + 6.0 * (all - meeting)) / all)
    }
}

impl Family for Subways {
    fn server_count(&self) -> u32 {
        self.servers
    }

    fn server_ports(&self) -> u32 {
        self.p
    }

    fn tiers(&self) -> Vec<SwitchTier> {
        let uplink_rate = self.rates_bits_per_sec[usize::from(self.uplink_class)];
        let up = |ports: u32| if ports > 0 { uplink_rate } else { 0.0 };
        let mut tiers = vec![
            SwitchTier {
                level: 0,
                role: "tor",
                first: self.servers,
                count: self.tors,
                ports: self.q + self.uplinks(),
                port_rate_bits_per_sec: self.fastest_server_rate(),
                uplink_ports: self.uplinks(),
                uplink_rate_bits_per_sec: uplink_rate,
            },
            SwitchTier {
                level: 1,
                role: "aggregation",
                first: self.first_agg(),
                count: self.clusters * self.aggs_per_cluster,
                ports: self.agg_down + self.agg_up,
                port_rate_bits_per_sec: uplink_rate,
                uplink_ports: self.agg_up,
                uplink_rate_bits_per_sec: up(self.agg_up),
            },
        ];
        if self.cores > 0 {
            tiers.push(SwitchTier {
                level: 2,
                role: "core",
                first: self.first_core(),
                count: self.cores,
                ports: self.clusters * self.core_port_count(),
                port_rate_bits_per_sec: uplink_rate,
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            });
        }
        tiers
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "Server to ToR",
            1 => "ToR to aggregation",
            _ => "Aggregation to core",
        }
        .to_owned()
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        self.rates_bits_per_sec.clone()
    }

    fn links_at_level(&self) -> Vec<u64> {
        let mut links = vec![
            u64::from(self.servers) * u64::from(self.p),
            u64::from(self.tors) * u64::from(self.uplinks()),
        ];
        if self.cores > 0 {
            links.push(u64::from(self.clusters) * u64::from(self.aggs_per_cluster) * u64::from(self.agg_up));
        }
        links
    }

    fn wire(&self, links: &mut Links) {
        for server in 0..self.servers {
            let (rack, place) = (server / self.r, server % self.r);
            let (in_loop, rack) = (rack / self.l, rack % self.l);
            for port in 0..self.p {
                let tor = self.tor_of(rack, port);
                let class = if self.by_cluster {
                    self.cluster_of(in_loop, tor)
                } else {
                    port
                };
                links.push(
                    (server, port as u16),
                    (
                        self.servers + in_loop * self.l + tor,
                        (port * self.r + place) as u16,
                    ),
                    0,
                    self.server_classes[class as usize],
                );
            }
        }
        let mut places = vec![0; self.clusters as usize];
        for tor in 0..self.tors {
            let cluster = self.cluster_of(tor / self.l, tor % self.l);
            let place = &mut places[cluster as usize];
            for uplink in 0..self.uplinks() {
                let (agg, wire) = (uplink / self.trunk, uplink % self.trunk);
                links.push(
                    (self.servers + tor, (self.q + uplink) as u16),
                    (
                        self.first_agg() + cluster * self.aggs_per_cluster + agg,
                        (*place * self.trunk + wire) as u16,
                    ),
                    1,
                    self.uplink_class,
                );
            }
            *place += 1;
        }
        if self.cores == 0 {
            return;
        }
        for agg in 0..self.clusters * self.aggs_per_cluster {
            let (cluster, agg_index) = (agg / self.aggs_per_cluster, agg % self.aggs_per_cluster);
            for up in 0..self.agg_up {
                let turn = agg_index * self.agg_up + up;
                let port = cluster * self.core_port_count() + turn / self.cores;
                links.push(
                    (self.first_agg() + agg, (self.agg_down + up) as u16),
                    (self.first_core() + turn % self.cores, port as u16),
                    2,
                    self.uplink_class,
                );
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let _ = if node < self.servers {
            let rack = node / self.r;
            write!(out, "{}.{}.{}", rack / self.l, rack % self.l, node % self.r)
        } else {
            match self.switch(node) {
                (2, _, index) => write!(out, "<2,{index}>"),
                (level, group, index) => write!(out, "<{level},{group}.{index}>"),
            }
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((level, label)) = read_switch(name) {
            let place = read_list(label, '.')?;
            return match (level, place.as_slice()) {
                (0, &[in_loop, tor]) if in_loop < self.loops && tor < self.l => {
                    Some(self.servers + in_loop * self.l + tor)
                }
                (1, &[cluster, agg]) if cluster < self.clusters && agg < self.aggs_per_cluster => {
                    Some(self.first_agg() + cluster * self.aggs_per_cluster + agg)
                }
                (2, &[core]) if core < self.cores => Some(self.first_core() + core),
                _ => None,
            };
        }
        let [in_loop, rack, place] = read_list(name, '.')?.try_into().ok()?;
        (in_loop < self.loops && rack < self.l && place < self.r)
            .then(|| (in_loop * self.l + rack) * self.r + place)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers {
            let rack = node / self.r;
            return vec![rack / self.l, rack % self.l, node % self.r];
        }
        match self.switch(node) {
            (2, _, index) => vec![2, index],
            (level, group, index) => vec![level, group, index],
        }
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers {
            return self.p;
        }
        match self.switch(node) {
            (0, ..) => self.q + self.uplinks(),
            (1, ..) => self.agg_down + self.agg_up,
            (_, _, core) => {
                let turns = self.aggs_per_cluster * self.agg_up;
                self.clusters * (turns / self.cores + u32::from(core < turns % self.cores))
            }
        }
    }

    fn trunk_width(&self) -> u32 {
        if self.wiring_type == 0 {
            self.p.max(self.trunk)
        } else {
            self.trunk
        }
    }

    fn relays(&self) -> bool {
        false
    }

    fn transitive(&self) -> bool {
        false
    }

    fn rule(&self) -> String {
        let access = if self.wiring_type == 0 {
            "all ports of a server go to the ToR of its rack".to_owned()
        } else {
            format!(
                "a server of rack i has one port on each of the ToRs i-{} to i+{} around its loop",
                self.p / 2,
                (self.p - 1) / 2
            )
        };
        format!(
            "Type {}: {access}; a ToR connects to all aggregation switches of its cluster, ToR j of loop o being in \
             cluster (j+o) mod {} of its group; links up of the aggregation switches are dealt to the cores in turn \
             [subways §4].",
            self.wiring_type, self.spread
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        let Some((level, label)) = read_switch(link.b) else {
            return false;
        };
        let Some(upper) = read_list(label, '.') else {
            return false;
        };
        if level != u32::from(link.level) {
            return false;
        }
        let (a_port, b_port) = (u32::from(link.a_port), u32::from(link.b_port));
        if let Some((below, label)) = read_switch(link.a) {
            let Some(lower) = read_list(label, '.') else {
                return false;
            };
            return match (below, lower.as_slice(), level, upper.as_slice()) {
                (0, &[in_loop, tor], 1, &[cluster, agg]) => {
                    let Some(wire) = a_port.checked_sub(self.q) else {
                        return false;
                    };
                    let (group, turn) = (cluster / self.spread, (tor + in_loop) % self.spread);
                    in_loop / (self.spread * self.loops_per_cluster) == group
                        && cluster % self.spread == turn
                        && wire / self.trunk == agg
                        && b_port == self.place_in_cluster(in_loop, tor) * self.trunk + wire % self.trunk
                }
                (1, &[cluster, agg], 2, &[core]) => {
                    let Some(up) = a_port.checked_sub(self.agg_down) else {
                        return false;
                    };
                    let turn = u64::from(agg) * u64::from(self.agg_up) + u64::from(up);
                    let width = self.core_port_count();
                    up < self.agg_up
                        && turn % u64::from(self.cores) == u64::from(core)
                        && b_port / width == cluster
                        && u64::from(b_port % width) == turn / u64::from(self.cores)
                }
                _ => false,
            };
        }
        let Some(server) = read_list(link.a, '.') else {
            return false;
        };
        let (&[in_loop, rack, place], &[tor_loop, tor]) = (server.as_slice(), upper.as_slice()) else {
            return false;
        };
        if level != 0 || in_loop != tor_loop || b_port != a_port * self.r + place || a_port >= self.p {
            return false;
        }
        if self.wiring_type == 0 {
            return rack == tor;
        }
        // The window of [subways §4.2], walked from its left end; port numbers grow with the distance.
        let (left, right) = (i64::from(self.p / 2), i64::from((self.p - 1) / 2));
        (-left..=right).any(|offset| {
            let port = if offset < 0 { -2 * offset - 1 } else { 2 * offset };
            (i64::from(rack) + offset).rem_euclid(i64::from(self.l)) == i64::from(tor)
                && port == i64::from(a_port)
        })
    }

    fn diameter_links(&self) -> Metric {
        let source = "[subways §4]";
        if self.servers == 1 {
            return Metric::exact(0.0, "links", source);
        }
        if self.loops == 1 && self.near_racks() == u64::from(self.l) {
            return Metric::exact(2.0, "links", source);
        }
        if self.clusters > self.spread {
            return Metric::exact(6.0, "links", source);
        }
        match self.meeting_rack_pairs() {
            Some(pairs) if pairs == self.racks_per_group().pow(2) => Metric::exact(4.0, "links", source),
            Some(_) => Metric::exact(6.0, "links", source),
            None => Metric::bound(6.0, "links", source, "Upper bound: by the core."),
        }
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let average = self.average().map(|links| {
            Metric::exact(links, "links", "[ours]").with_note("Switches forward, servers do not.")
        });
        let (cut_links, cut_bits_per_sec) = self.cut();
        let note = "Upper bound: the cheapest of the cuts at server ports, at ToR uplinks and at the core.";
        let disjoint = if self.servers == 1 {
            Metric::exact(0.0, "paths", "[subways §4]")
        } else if self.wiring_type == 0 {
            Metric::exact(1.0, "paths", "[subways §4.1]").with_note("All ports of a server end at one ToR.")
        } else {
            let core = if self.cores == 0 { self.p } else { self.cores };
            let paths = self.p.min(self.aggs_per_cluster).min(core);
            if paths == self.p {
                Metric::exact(paths, "paths", "[subways §4.2]")
            } else {
                Metric::bound(
                    paths,
                    "paths",
                    "[ours]",
                    "Lower bound: the fewest of server ports, aggregation switches of a cluster, and cores.",
                )
            }
        };
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter_links(),
            diameter_links: self.diameter_links(),
            average_path: average.clone(),
            average_path_links: average,
            bisection: Metric::bound(cut_links, "links", "[ours]", note),
            bisection_bits_per_sec: Metric::bound(cut_bits_per_sec, "bit/s", "[ours]", note),
            disjoint_paths: disjoint,
            all_to_all_throughput: None,
            server_ports: Metric::exact(self.p, "ports", "[subways §4]"),
            wires: Metric::exact(wires as f64, "links", "[subways §4]"),
            switch_ports_used: utilisation(topology),
        }
    }
}
