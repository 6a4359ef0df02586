//! Addresses and wiring of Subways [subways §4]. The closed forms are in `closed_forms`, the rule
//! that a certificate checks in `rule`.

use std::fmt::Write;

use super::super::Family;
use super::super::common::{NamedLink, read_list, read_switch};
use super::sizes::Sizes;
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::{GbpsList, SubwaysSpec};
use crate::topology::{SwitchTier, Topology};

/// Addressing of a valid Subways network.
#[derive(Clone, Debug)]
pub(crate) struct Subways {
    pub(super) wiring_type: u8,
    pub(super) p: u32,
    pub(super) q: u32,
    pub(super) l: u32,
    pub(super) clusters: u32,
    pub(super) loops_per_cluster: u32,
    /// Clusters a loop is spread over.
    pub(super) spread: u32,
    pub(super) r: u32,
    pub(super) loops: u32,
    pub(super) tors: u32,
    pub(super) servers: u32,
    pub(super) aggs_per_cluster: u32,
    pub(super) trunk: u32,
    pub(super) agg_down: u32,
    pub(super) agg_up: u32,
    pub(super) cores: u32,
    /// Distinct rates: the servers' rates first, then the uplinks' rate.
    pub(super) rates_bits_per_sec: Vec<f64>,
    /// Rate class by server port, or by cluster where `by_cluster`.
    pub(super) server_classes: Vec<u8>,
    pub(super) by_cluster: bool,
    pub(super) uplink_class: u8,
    /// Whether ToRs have their uplinks of type 0 or 1 too, as before an upgrade to type 2.
    pub(super) keeps_former: bool,
}

/// The distance around the loop from the own ToR to the ToR of port `e`: 0, -1, +1, -2, +2, …
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
            keeps_former: spec.former_type.is_some(),
        }
    }

    pub(super) fn first_agg(&self) -> NodeId {
        self.servers + self.tors
    }

    pub(super) fn first_core(&self) -> NodeId {
        self.first_agg() + self.clusters * self.aggs_per_cluster
    }

    pub(super) fn uplinks(&self) -> u32 {
        self.aggs_per_cluster * self.trunk
    }

    /// ToR of a server port, as position in the loop.
    pub(super) fn tor_of(&self, rack: u32, port: u32) -> u32 {
        if self.wiring_type == 0 {
            return rack;
        }
        (i64::from(rack) + reach(port)).rem_euclid(i64::from(self.l)) as u32
    }

    /// Cluster of the ToR at position `tor` of a loop.
    ///
    /// Types 0 and 1 keep a loop in its cluster. Type 2 deals the ToRs of a loop to the clusters of
    /// its group in turn [subways §4.3], each loop starting one cluster further so that all get
    /// equally many.
    pub(super) fn cluster_of(&self, in_loop: u32, tor: u32) -> u32 {
        let group = in_loop / (self.spread * self.loops_per_cluster);
        group * self.spread + (tor % self.spread + in_loop % self.spread) % self.spread
    }

    /// Cluster that a ToR was in before an upgrade, if it keeps the uplinks of that time and is in
    /// another cluster now.
    pub(super) fn former_cluster(&self, in_loop: u32, tor: u32) -> Option<u32> {
        let former = in_loop / self.loops_per_cluster;
        (self.keeps_former && former != self.cluster_of(in_loop, tor)).then_some(former)
    }

    /// Number of ToRs that have left this cluster and keep their uplinks; without a cluster, the
    /// number over all clusters.
    fn formerly_in(&self, cluster: Option<u32>) -> u32 {
        if !self.keeps_former {
            return 0;
        }
        let tors = (0..self.tors).filter_map(|tor| self.former_cluster(tor / self.l, tor % self.l));
        tors.filter(|former| cluster.is_none_or(|cluster| cluster == *former))
            .count() as u32
    }

    /// Number of the loop's ToRs in the `index`-th cluster of its group.
    fn share(&self, in_loop: u32, index: u32) -> u32 {
        let first = (index + self.spread - in_loop % self.spread) % self.spread;
        self.l / self.spread + u32::from(first < self.l % self.spread)
    }

    /// Position of a ToR among all of its cluster, in closed form.
    pub(super) fn place_in_cluster(&self, in_loop: u32, tor: u32) -> u32 {
        let group_loops = self.spread * self.loops_per_cluster;
        let before = in_loop % group_loops;
        let index = self.cluster_of(in_loop, tor) % self.spread;
        // Each `spread` consecutive loops give each cluster l ToRs; the remaining loops are counted
        // one by one.
        let rounds = before / self.spread;
        let start = in_loop - before + rounds * self.spread;
        rounds * self.l
            + (start..in_loop)
                .map(|other| self.share(other, index))
                .sum::<u32>()
            + tor / self.spread
    }

    pub(super) fn core_port_count(&self) -> u32 {
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

    pub(super) fn fastest_server_rate(&self) -> f64 {
        self.server_classes
            .iter()
            .map(|&class| self.rates_bits_per_sec[usize::from(class)])
            .fold(0.0, f64::max)
    }
}

impl Subways {
    /// The uplinks that ToRs had before an upgrade, at ports after all others. `[ours]`
    fn wire_former(&self, links: &mut Links) {
        let mut kept = vec![0; self.clusters as usize];
        for tor in (0..self.tors).filter(|_| self.keeps_former) {
            let Some(cluster) = self.former_cluster(tor / self.l, tor % self.l) else {
                continue;
            };
            let place = &mut kept[cluster as usize];
            for uplink in 0..self.uplinks() {
                let (agg, wire) = (uplink / self.trunk, uplink % self.trunk);
                links.push(
                    (self.servers + tor, (self.q + self.uplinks() + uplink) as u16),
                    (
                        self.first_agg() + cluster * self.aggs_per_cluster + agg,
                        (self.agg_down + self.agg_up + *place * self.trunk + wire) as u16,
                    ),
                    1,
                    self.uplink_class,
                );
            }
            *place += 1;
        }
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
        let most = (0..self.clusters)
            .map(|cluster| self.formerly_in(Some(cluster)))
            .max();
        let kept = most.filter(|_| self.keeps_former).unwrap_or(0) * self.trunk;
        let uplinks = self.uplinks() * if kept > 0 { 2 } else { 1 };
        let up = |ports: u32| if ports > 0 { uplink_rate } else { 0.0 };
        let mut tiers = vec![
            SwitchTier {
                level: 0,
                role: "tor",
                first: self.servers,
                count: self.tors,
                ports: self.q + uplinks,
                port_rate_bits_per_sec: self.fastest_server_rate(),
                uplink_ports: uplinks,
                uplink_rate_bits_per_sec: uplink_rate,
            },
            SwitchTier {
                level: 1,
                role: "aggregation",
                first: self.first_agg(),
                count: self.clusters * self.aggs_per_cluster,
                ports: self.agg_down + self.agg_up + kept,
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
            u64::from(self.tors + self.formerly_in(None)) * u64::from(self.uplinks()),
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
        self.wire_former(links);
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
            (0, in_loop, tor) => {
                let kept = self.former_cluster(in_loop, tor).is_some();
                self.q + self.uplinks() * (1 + u32::from(kept))
            }
            (1, cluster, _) => self.agg_down + self.agg_up + self.formerly_in(Some(cluster)) * self.trunk,
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

    fn path_measure(&self) -> PathMeasure {
        PathMeasure::Links
    }

    fn transitive(&self) -> bool {
        false
    }

    fn rule(&self) -> String {
        self.rule_text()
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        self.link_obeys(link)
    }

    fn diameter_links(&self) -> Metric {
        self.diameter()
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        self.structure_metrics(topology)
    }
}
