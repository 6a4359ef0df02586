//! Distances, cuts and other numbers that follow from a Subways network's sizes, without a search.

use std::collections::BTreeMap;

use super::super::Family;
use super::super::common::utilisation;
use super::shape::Subways;
use crate::metrics::{Metric, StructureMetrics};
use crate::topology::Topology;

/// Beyond this many different sets of clusters a rack may see, they are not compared pair by pair.
const CLUSTER_SETS_AT_MOST: usize = 4096;

impl Subways {
    /// Racks that share a ToR with a given one, itself included.
    fn near_racks(&self) -> u64 {
        if self.wiring_type == 0 {
            1
        } else {
            u64::from(self.l.min(2 * self.p - 1))
        }
    }

    /// Racks of a cluster group by the set of clusters their servers reach; `None` when too many
    /// differ.
    fn cluster_sets(&self) -> Option<BTreeMap<Vec<u64>, u64>> {
        if self.spread as usize * self.p as usize > CLUSTER_SETS_AT_MOST {
            return None;
        }
        let words = (self.spread as usize).div_ceil(64);
        let mut sets: BTreeMap<Vec<u64>, u64> = BTreeMap::new();
        // Loops repeat after `spread`, and a group has `loops_per_cluster` rounds of them, unless
        // the racks' former ToRs count too.
        let (loops, rounds) = if self.keeps_former {
            (self.spread * self.loops_per_cluster, 1)
        } else {
            (self.spread, self.loops_per_cluster)
        };
        for in_loop in 0..loops {
            for rack in 0..self.l {
                let mut set = vec![0u64; words];
                for port in 0..self.p {
                    let tor = self.tor_of(rack, port);
                    let clusters = [
                        Some(self.cluster_of(in_loop, tor)),
                        self.former_cluster(in_loop, tor),
                    ];
                    for index in clusters
                        .into_iter()
                        .flatten()
                        .map(|cluster| cluster % self.spread)
                    {
                        set[index as usize / 64] |= 1 << (index % 64);
                    }
                }
                *sets.entry(set).or_default() += u64::from(rounds);
            }
        }
        (sets.len() <= CLUSTER_SETS_AT_MOST).then_some(sets)
    }

    /// Ordered pairs of racks of one group that reach a common cluster, a rack with itself
    /// included.
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
        // Where ToRs have different numbers of uplinks, half of the ToRs may not have half of them.
        if self.keeps_former {
            return best;
        }
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

    /// Links between the two servers that are farthest apart.
    pub(super) fn diameter(&self) -> Metric {
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

    /// Metrics of the structure: distances, cuts, disjoint paths, wires.
    pub(super) fn structure_metrics(&self, topology: &Topology) -> StructureMetrics {
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
            diameter: self.diameter(),
            diameter_links: self.diameter(),
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
