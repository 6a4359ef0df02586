//! Addresses, wiring and closed forms of leaf-spine networks.
//!
//! Leaves and spines are numbered pod by pod; without super-spines there is one pod, which is not
//! named. Server `i` of leaf `e` has one port, on port `i` of the leaf. A leaf's uplinks follow its
//! server ports, spine by spine; wire `w` to spine `s` of its pod is uplink `s u + w`, with `u` the
//! uplinks per spine, and ends on port `e u + w` of the spine, `e` counted within the pod. A
//! spine's uplinks follow in the same manner: wire `w` to super-spine `c` is its uplink `c v + w`,
//! with `v` the uplinks per super-spine, and ends on port `s v + w` of the super-spine, `s` counted
//! over all pods. `[ours]`

use std::fmt::Write;

use super::super::Family;
use super::super::common::{NamedLink, mean_by_group, read_list, read_switch, utilisation};
use crate::graph::{Links, NodeId};
use crate::metrics::{Metric, PathMeasure, StructureMetrics};
use crate::spec::LeafSpineSpec;
use crate::topology::{SwitchTier, Topology};

/// Addressing of a leaf-spine network.
#[derive(Clone, Debug)]
pub(crate) struct LeafSpine {
    pods: u32,
    leaves: u32,
    spines: u32,
    super_spines: u32,
    servers_per_leaf: u32,
    uplinks_per_spine: u32,
    uplinks_per_super_spine: u32,
    /// By level of links.
    bits_per_sec: [f64; 3],
}

impl LeafSpine {
    pub fn new(spec: &LeafSpineSpec) -> LeafSpine {
        LeafSpine {
            pods: spec.pods,
            leaves: spec.leaves,
            spines: spec.spines,
            super_spines: spec.super_spines,
            servers_per_leaf: spec.servers_per_leaf,
            uplinks_per_spine: spec.uplinks_per_spine,
            uplinks_per_super_spine: spec.uplinks_per_super_spine,
            bits_per_sec: [spec.server_gbps, spec.uplink_gbps, spec.spine_uplink_gbps].map(|gbps| gbps * 1e9),
        }
    }

    fn has_super_spines(&self) -> bool {
        self.super_spines > 0
    }

    fn levels(&self) -> usize {
        if self.has_super_spines() { 3 } else { 2 }
    }

    fn servers(&self) -> u32 {
        self.pods * self.leaves * self.servers_per_leaf
    }

    /// The first switch of a tier.
    fn first(&self, tier: u32) -> NodeId {
        let leaves = self.pods * self.leaves;
        self.servers() + [0, leaves, leaves + self.pods * self.spines][tier as usize]
    }

    /// Uplinks of a leaf.
    fn uplinks(&self) -> u32 {
        self.spines * self.uplinks_per_spine
    }

    /// Uplinks of a spine.
    fn spine_uplinks(&self) -> u32 {
        self.super_spines * self.uplinks_per_super_spine
    }

    /// Ports of a switch of each tier.
    fn ports(&self) -> [u32; 3] {
        [
            self.servers_per_leaf + self.uplinks(),
            self.leaves * self.uplinks_per_spine + self.spine_uplinks(),
            self.pods * self.spines * self.uplinks_per_super_spine,
        ]
    }

    /// Tier of a switch, and its number in that tier.
    fn switch(&self, node: NodeId) -> (u32, u32) {
        let tier = (1..self.levels() as u32)
            .rev()
            .find(|&tier| node >= self.first(tier))
            .unwrap_or(0);
        (tier, node - self.first(tier))
    }

    /// The numbers in a switch's name: pod and place in the pod, or the place alone.
    fn label(&self, tier: u32, number: u32) -> Vec<u32> {
        match (self.has_super_spines(), tier) {
            (true, 0) => vec![number / self.leaves, number % self.leaves],
            (true, 1) => vec![number / self.spines, number % self.spines],
            _ => vec![number],
        }
    }

    /// The number in its tier of the leaf (0) or spine (1) of these numbers.
    fn number(&self, tier: u32, label: &[u32]) -> Option<u32> {
        let in_pod = if tier == 0 { self.leaves } else { self.spines };
        match *label {
            [place] if !self.has_super_spines() && tier < 2 => (place < in_pod).then_some(place),
            [place] if self.has_super_spines() && tier == 2 => (place < self.super_spines).then_some(place),
            [pod, place] if self.has_super_spines() && tier < 2 => {
                (pod < self.pods && place < in_pod).then(|| pod * in_pod + place)
            }
            _ => None,
        }
    }

    /// Links at each level, in closed form.
    pub(super) fn links_of_levels(&self) -> Vec<u64> {
        let [pods, leaves, spines] = [self.pods, self.leaves, self.spines].map(u64::from);
        let mut links = vec![
            pods * leaves * u64::from(self.servers_per_leaf),
            pods * leaves * spines * u64::from(self.uplinks_per_spine),
        ];
        if self.has_super_spines() {
            links.push(pods * spines * u64::from(self.spine_uplinks()));
        }
        links
    }

    /// The least cost of a cut of a pod into two halves, by the cost of a link at each level.
    ///
    /// With `x` leaves on one side every spine costs its links to the smaller number of leaves, and
    /// every server whose leaf is on the other side costs its own link:
    /// `U min(x, L - x) + |x r - N/2|`. That is linear in `x` up to `L/2`, so the least is at one
    /// of the ends.
    fn cut_of_pod(&self, cost: [f64; 3]) -> f64 {
        let all_by_servers = f64::from(self.leaves * self.servers_per_leaf / 2) * cost[0];
        let whole_leaves = f64::from(self.leaves / 2) * f64::from(self.uplinks()) * cost[1];
        let split_leaf = f64::from(self.leaves % 2) * f64::from(self.servers_per_leaf / 2) * cost[0];
        all_by_servers.min(whole_leaves + split_leaf)
    }

    /// The least cost of a cut of all servers into two halves, by the cost of a link at each level.
    ///
    /// The super-spines are best on one side together. A whole pod on the other side costs each of
    /// its spines the cheaper of its links up and its links down; costs are concave in the number
    /// of leaves of each pod and linear in that of servers, so the least is at an end again: no
    /// pod, or half of them and half of the odd one.
    fn cut(&self, cost: [f64; 3]) -> f64 {
        let all_by_servers = f64::from(self.servers() / 2) * cost[0];
        let up = f64::from(self.spine_uplinks()) * cost[2];
        let down = f64::from(self.leaves * self.uplinks_per_spine) * cost[1];
        let whole_pods = f64::from(self.pods / 2) * f64::from(self.spines) * up.min(down);
        let split_pod = f64::from(self.pods % 2) * self.cut_of_pod(cost);
        all_by_servers.min(whole_pods + split_pod)
    }

    /// All-to-all throughput with every flow at the same rate and uplinks equally full, in
    /// multiples of a server's rate.
    fn balanced_all_to_all(&self) -> f64 {
        let servers = f64::from(self.servers());
        let on_leaf = f64::from(self.servers_per_leaf);
        let on_pod = on_leaf * f64::from(self.leaves);
        let rate = |level: usize| self.bits_per_sec[level] / self.bits_per_sec[0];
        let mut each = 1.0 / (servers - 1.0);
        let mut bound = |below: f64, up: f64| {
            let leaving = below * (servers - below);
            if leaving > 0.0 {
                each = each.min(up / leaving);
            }
        };
        bound(on_leaf, f64::from(self.uplinks()) * rate(1));
        bound(on_pod, f64::from(self.spines * self.spine_uplinks()) * rate(2));
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
        let ports = self.ports();
        let rate = self.bits_per_sec;
        let mut tiers = vec![
            SwitchTier {
                level: 0,
                role: "leaf",
                first: self.first(0),
                count: self.pods * self.leaves,
                ports: ports[0],
                port_rate_bits_per_sec: rate[0],
                uplink_ports: self.uplinks(),
                uplink_rate_bits_per_sec: rate[1],
            },
            SwitchTier {
                level: 1,
                role: "spine",
                first: self.first(1),
                count: self.pods * self.spines,
                ports: ports[1],
                port_rate_bits_per_sec: rate[1],
                uplink_ports: self.spine_uplinks(),
                uplink_rate_bits_per_sec: if self.has_super_spines() { rate[2] } else { 0.0 },
            },
        ];
        if self.has_super_spines() {
            tiers.push(SwitchTier {
                level: 2,
                role: "super-spine",
                first: self.first(2),
                count: self.super_spines,
                ports: ports[2],
                port_rate_bits_per_sec: rate[2],
                uplink_ports: 0,
                uplink_rate_bits_per_sec: 0.0,
            });
        }
        tiers
    }

    fn level_label(&self, level: u8) -> String {
        match level {
            0 => "Server to leaf",
            1 => "Leaf to spine",
            _ => "Spine to super-spine",
        }
        .to_owned()
    }

    fn rates_bits_per_sec(&self) -> Vec<f64> {
        let mut rates = Vec::new();
        for rate in &self.bits_per_sec[..self.levels()] {
            if !rates.contains(rate) {
                rates.push(*rate);
            }
        }
        rates
    }

    fn links_at_level(&self) -> Vec<u64> {
        self.links_of_levels()
    }

    fn wire(&self, links: &mut Links) {
        let rates = self.rates_bits_per_sec();
        let class = |level: usize| {
            rates
                .iter()
                .position(|&rate| rate == self.bits_per_sec[level])
                .unwrap_or(0) as u8
        };
        let classes = [0, 1, 2].map(class);
        let [leaves, spines, tops] = [0, 1, 2].map(|tier| self.first(tier));
        for server in 0..self.servers() {
            let (leaf, port) = (server / self.servers_per_leaf, server % self.servers_per_leaf);
            links.push((server, 0), (leaves + leaf, port as u16), 0, classes[0]);
        }
        for leaf in 0..self.pods * self.leaves {
            let (pod, place) = (leaf / self.leaves, leaf % self.leaves);
            for uplink in 0..self.uplinks() {
                let (spine, wire) = (uplink / self.uplinks_per_spine, uplink % self.uplinks_per_spine);
                links.push(
                    (leaves + leaf, (self.servers_per_leaf + uplink) as u16),
                    (
                        spines + pod * self.spines + spine,
                        (place * self.uplinks_per_spine + wire) as u16,
                    ),
                    1,
                    classes[1],
                );
            }
        }
        for spine in 0..self.pods * self.spines {
            for uplink in 0..self.spine_uplinks() {
                let width = self.uplinks_per_super_spine;
                links.push(
                    (
                        spines + spine,
                        (self.leaves * self.uplinks_per_spine + uplink) as u16,
                    ),
                    (tops + uplink / width, (spine * width + uplink % width) as u16),
                    2,
                    classes[2],
                );
            }
        }
    }

    fn write_name(&self, node: NodeId, out: &mut String) {
        let (tier, mut label) = if node < self.servers() {
            (None, self.label(0, node / self.servers_per_leaf))
        } else {
            let (tier, number) = self.switch(node);
            (Some(tier), self.label(tier, number))
        };
        if tier.is_none() {
            label.push(node % self.servers_per_leaf);
        }
        let joined: Vec<String> = label.iter().map(u32::to_string).collect();
        let _ = match tier {
            None => write!(out, "{}", joined.join(".")),
            Some(tier) => write!(out, "<{tier},{}>", joined.join(".")),
        };
    }

    fn node_by_name(&self, name: &str) -> Option<NodeId> {
        if let Some((tier, label)) = read_switch(name) {
            let number = self.number(tier, &read_list(label, '.')?)?;
            return Some(self.first(tier) + number);
        }
        let numbers = read_list(name, '.')?;
        let (place, leaf) = numbers.split_last()?;
        let leaf = self.number(0, leaf)?;
        (*place < self.servers_per_leaf).then(|| leaf * self.servers_per_leaf + place)
    }

    fn digits(&self, node: NodeId) -> Vec<u32> {
        if node < self.servers() {
            let mut digits = self.label(0, node / self.servers_per_leaf);
            digits.push(node % self.servers_per_leaf);
            return digits;
        }
        let (tier, number) = self.switch(node);
        let mut digits = vec![tier];
        digits.extend(self.label(tier, number));
        digits
    }

    fn expected_degree(&self, node: NodeId) -> u32 {
        if node < self.servers() {
            1
        } else {
            self.ports()[self.switch(node).0 as usize]
        }
    }

    fn trunk_width(&self) -> u32 {
        if self.has_super_spines() {
            self.uplinks_per_spine.max(self.uplinks_per_super_spine)
        } else {
            self.uplinks_per_spine
        }
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
        let first = self.servers_per_leaf;
        let width = self.uplinks_per_spine;
        if !self.has_super_spines() {
            return format!(
                "Server e.i hangs on port i of leaf e. Wire w between leaf e and spine s is on port {first} + s u + w of the \
                 leaf and on port e u + w of the spine, w below u = {width} [ours]."
            );
        }
        format!(
            "Server p.e.i hangs on port i of leaf p.e. Wire w between leaf p.e and spine p.s is on port {first} + s u + w of the \
             leaf and on port e u + w of the spine, w below u = {width}. Wire w between spine p.s and super-spine c is on port \
             {} + c v + w of the spine and on port (p {} + s) v + w of the super-spine, w below v = {} [ours].",
            self.leaves * width,
            self.spines,
            self.uplinks_per_super_spine
        )
    }

    fn obeys(&self, link: &NamedLink) -> bool {
        // Numbers in the names, the pod first where pods are named.
        let read = |name| read_switch(name).and_then(|(tier, label)| Some((tier, read_list(label, '.')?)));
        let Some((tier, upper)) = read(link.b) else {
            return false;
        };
        let (a_port, b_port) = (u32::from(link.a_port), u32::from(link.b_port));
        if tier != u32::from(link.level) {
            return false;
        }
        if tier == 0 {
            let server = read_list(link.a, '.');
            return a_port == 0 && server == Some([upper, vec![b_port]].concat());
        }
        let Some((below, lower)) = read(link.a) else {
            return false;
        };
        let (Some((upper_place, upper_pod)), Some((lower_place, lower_pod))) =
            (upper.split_last(), lower.split_last())
        else {
            return false;
        };
        // The place of the lower switch among those of the upper one, uplinks side by side, and the
        // lower one's ports down.
        let (place, width, down) = if tier == 1 {
            if upper_pod != lower_pod {
                return false;
            }
            (*lower_place, self.uplinks_per_spine, self.servers_per_leaf)
        } else {
            let [pod] = *lower_pod else {
                return false;
            };
            let down = self.leaves * self.uplinks_per_spine;
            (
                pod * self.spines + lower_place,
                self.uplinks_per_super_spine,
                down,
            )
        };
        // The upper and the lower switch must count the wire as the same.
        let wire = b_port.checked_sub(place * width).filter(|&wire| wire < width);
        below + 1 == tier && wire.is_some_and(|wire| a_port == down + upper_place * width + wire)
    }

    fn diameter_links(&self) -> Metric {
        let links = match (self.servers(), self.leaves, self.pods) {
            (1, ..) => 0,
            (_, 1, 1) => 2,
            (_, _, 1) => 4,
            _ => 6,
        };
        Metric::exact(links, "links", "[ours]")
    }

    fn metrics(&self, topology: &Topology) -> StructureMetrics {
        let servers = self.servers();
        let on_pod = self.leaves * self.servers_per_leaf;
        let groups = [self.servers_per_leaf, on_pod, servers].map(u64::from);
        let average =
            mean_by_group(u64::from(servers), &groups).map(|links| Metric::exact(links, "links", "[ours]"));
        let wires: u64 = self.links_at_level().iter().sum();
        StructureMetrics {
            diameter: self.diameter_links(),
            diameter_links: self.diameter_links(),
            average_path: average.clone(),
            average_path_links: average,
            bisection: Metric::exact(self.cut([1.0; 3]), "links", "[ours]"),
            bisection_bits_per_sec: Metric::exact(self.cut(self.bits_per_sec), "bit/s", "[ours]")
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
