//! Racks, ToRs and the core, with the capacity between them.

use cubeyard_routing::subways::Racks;
use cubeyard_topology::{Topology, TopologySpec};

/// The direction along a link: from servers towards the core, or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the core.
    Up,
    /// Towards the servers.
    Down,
}

impl Way {
    /// Both directions.
    pub const BOTH: [Way; 2] = [Way::Up, Way::Down];

    /// The direction as an index, 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A Subways network with the links of a rack to one ToR as one, a ToR's uplinks as one, and a
/// cluster's links to the core as one.
#[derive(Clone, Debug, PartialEq)]
pub struct RackNetwork {
    /// The racks and their loops.
    pub racks: Racks,
    cluster_of_tor: Vec<usize>,
    capacity_gbps: Vec<f64>,
}

impl RackNetwork {
    /// The racks of a Subways topology; `None` for other families.
    pub fn new(topology: &Topology) -> Option<RackNetwork> {
        let TopologySpec::Subways(spec) = topology.spec() else {
            return None;
        };
        let [_, aggs, ..] = topology.tiers() else {
            return None;
        };
        let racks = Racks::of(topology)?;
        let clusters = spec.clusters as usize;
        let mut network = RackNetwork {
            racks,
            cluster_of_tor: vec![0; racks.count],
            capacity_gbps: vec![0.0; 2 * (racks.count * (racks.ring.ports + 1) + clusters)],
        };
        let links = topology.links();
        let cluster_of_agg = |agg: u32| (agg - aggs.first) as usize / (aggs.count as usize / clusters);
        for link in 0..links.len() {
            let (below, above) = (links.a[link], links.b[link]);
            let gbps = links.rate_bits_per_sec(link) / 1e9;
            let pair = if topology.is_server(below) {
                let (rack, tor) = (racks.rack_of(below), racks.tor_of(above));
                let port = racks.tors_of(rack).iter().position(|&at| at == tor)?;
                Way::BOTH.map(|way| network.access(rack, port, way))
            } else if below < aggs.first {
                let tor = racks.tor_of(below);
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

    /// Gives every ToR and every cluster as much capacity upwards as its own oversubscription
    /// allows: two networks of different rates side by side keep one ratio.
    #[must_use]
    pub fn oversubscribed(mut self, at_tors: f64, at_aggregation: f64) -> RackNetwork {
        let mut down = vec![0.0; self.racks.count];
        for rack in 0..self.racks.count {
            for (port, tor) in self.tors_of(rack).into_iter().enumerate() {
                down[tor] += self.capacity_gbps[self.access(rack, port, Way::Up)];
            }
        }
        for way in Way::BOTH {
            for (tor, down) in down.iter().enumerate() {
                let (up, core) = (self.uplinks(tor, way), self.core(self.cluster_of_tor[tor], way));
                let before = std::mem::replace(&mut self.capacity_gbps[up], down / at_tors);
                // An existing core: its share for this ToR grows or shrinks with the ToR.
                if self.capacity_gbps[core] > 0.0 {
                    self.capacity_gbps[core] += (down / at_tors - before) / at_aggregation;
                }
            }
        }
        self
    }

    /// A rack's ToRs from left to right.
    pub fn tors_of(&self, rack: usize) -> Vec<usize> {
        self.racks.tors_of(rack)
    }

    /// The cluster of a ToR.
    pub fn cluster_of(&self, tor: usize) -> usize {
        self.cluster_of_tor[tor]
    }

    /// The link of a rack to the `port`-th of its ToRs.
    pub fn access(&self, rack: usize, port: usize, way: Way) -> usize {
        2 * (rack * self.racks.ring.ports + port) + way.index()
    }

    /// The link of a ToR to its aggregation switches.
    pub fn uplinks(&self, tor: usize, way: Way) -> usize {
        2 * (self.racks.count * self.racks.ring.ports + tor) + way.index()
    }

    /// The link of a cluster to the core.
    pub fn core(&self, cluster: usize, way: Way) -> usize {
        2 * (self.racks.count * (self.racks.ring.ports + 1) + cluster) + way.index()
    }

    /// By link, in Gb/s.
    pub fn capacity_gbps(&self) -> &[f64] {
        &self.capacity_gbps
    }
}
