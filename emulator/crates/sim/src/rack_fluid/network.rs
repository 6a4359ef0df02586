//! Racks, ToRs and the core, with the capacity between them.

use cubeyard_routing::subways::Loop;
use cubeyard_topology::{Topology, TopologySpec};

/// Which way along a link: from servers towards the core, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the core.
    Up,
    /// Towards the servers.
    Down,
}

impl Way {
    /// Both.
    pub const BOTH: [Way; 2] = [Way::Up, Way::Down];

    /// 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A Subways network with the links of a rack to one ToR as one, a ToR's uplinks as one, and a cluster's links to
/// the core as one. Racks and ToRs are numbered through all loops.
#[derive(Clone, Debug, PartialEq)]
pub struct RackNetwork {
    /// Racks of a loop, and ToRs that a rack is wired to: 1 with trunks (type 0).
    pub ring: Loop,
    /// Logical racks; as many ToRs.
    pub racks: usize,
    /// Servers of a rack.
    pub servers: usize,
    cluster_of_tor: Vec<usize>,
    capacity_gbps: Vec<f64>,
}

impl RackNetwork {
    /// The racks of a Subways topology; `None` for other families.
    pub fn new(topology: &Topology) -> Option<RackNetwork> {
        let TopologySpec::Subways(spec) = topology.spec() else {
            return None;
        };
        let [tors, aggs, ..] = topology.tiers() else {
            return None;
        };
        let ring = Loop {
            size: spec.l as usize,
            ports: if spec.wiring_type == 0 { 1 } else { spec.p as usize },
        };
        let racks = tors.count as usize;
        let clusters = spec.clusters as usize;
        let mut network = RackNetwork {
            ring,
            racks,
            servers: topology.server_count() as usize / racks,
            cluster_of_tor: vec![0; racks],
            capacity_gbps: vec![0.0; 2 * (racks * (ring.ports + 1) + clusters)],
        };
        let links = topology.links();
        let cluster_of_agg = |agg: u32| (agg - aggs.first) as usize / (aggs.count as usize / clusters);
        for link in 0..links.len() {
            let (below, above) = (links.a[link], links.b[link]);
            let gbps = links.rate_bits_per_sec(link) / 1e9;
            let pair = if topology.is_server(below) {
                let rack = below as usize / network.servers;
                let tor = (above - tors.first) as usize;
                let port = network.tors_of(rack).iter().position(|&at| at == tor)?;
                Way::BOTH.map(|way| network.access(rack, port, way))
            } else if below < aggs.first {
                let tor = (below - tors.first) as usize;
                network.cluster_of_tor[tor] = cluster_of_agg(above);
                Way::BOTH.map(|way| network.uplinks(tor, way))
            } else {
                Way::BOTH.map(|way| network.core(cluster_of_agg(below), way))
            };
            for directed in pair {
                network.capacity_gbps[directed] += gbps;
            }
        }
        Some(network)
    }

    /// Gives every ToR and every cluster as much capacity upwards as its own oversubscription allows: two networks of
    /// different rates side by side keep one ratio.
    #[must_use]
    pub fn oversubscribed(mut self, at_tors: f64, at_aggregation: f64) -> RackNetwork {
        let mut down = vec![0.0; self.racks];
        for rack in 0..self.racks {
            for (port, tor) in self.tors_of(rack).into_iter().enumerate() {
                down[tor] += self.capacity_gbps[self.access(rack, port, Way::Up)];
            }
        }
        for way in Way::BOTH {
            for (tor, down) in down.iter().enumerate() {
                let (up, core) = (self.uplinks(tor, way), self.core(self.cluster_of_tor[tor], way));
                let before = std::mem::replace(&mut self.capacity_gbps[up], down / at_tors);
                // A core that there is: its share of this ToR grows or shrinks with the ToR.
                if self.capacity_gbps[core] > 0.0 {
                    self.capacity_gbps[core] += (down / at_tors - before) / at_aggregation;
                }
            }
        }
        self
    }

    /// A rack's ToRs from left to right.
    pub fn tors_of(&self, rack: usize) -> Vec<usize> {
        let first = rack - rack % self.ring.size;
        let mut tors = self.ring.tors_of(rack % self.ring.size);
        for tor in &mut tors {
            *tor += first;
        }
        tors
    }

    /// The cluster of a ToR.
    pub fn cluster_of(&self, tor: usize) -> usize {
        self.cluster_of_tor[tor]
    }

    /// The link of a rack to the `port`-th of its ToRs.
    pub fn access(&self, rack: usize, port: usize, way: Way) -> usize {
        2 * (rack * self.ring.ports + port) + way.index()
    }

    /// The link of a ToR to its aggregation switches.
    pub fn uplinks(&self, tor: usize, way: Way) -> usize {
        2 * (self.racks * self.ring.ports + tor) + way.index()
    }

    /// The link of a cluster to the core.
    pub fn core(&self, cluster: usize, way: Way) -> usize {
        2 * (self.racks * (self.ring.ports + 1) + cluster) + way.index()
    }

    /// By link, in Gb/s.
    pub fn capacity_gbps(&self) -> &[f64] {
        &self.capacity_gbps
    }
}
