//! Routes to a destination's links in other clusters, for servers whose ToRs are in several
//! clusters. `[subways §4.3, §5.1]`
//!
//! The shortest path down from an aggregation switch leads to the destination's ToRs in the same
//! cluster. With that path alone, the choice of the source's ToR would decide the destination's
//! ToR. Therefore the aggregation switch divides packets from ToRs by the weights of all the
//! destination's links: part goes down, part goes up to the core, which sends it down in another
//! cluster than its origin. Packets from above always go down.

use std::collections::BTreeMap;

use cubeyard_topology::{NodeId, Topology, TopologySpec};

use super::detoured::Inward;
use super::{Entering, Half, LiveLinks, Ways};
use crate::path::link_of;

/// The clusters of a network of which servers may have ToRs in several: ToRs and aggregation
/// switches that reach each other without the core, by live links.
pub(super) struct Clusters {
    /// Indexed by node: the node that represents its cluster; all other nodes represent themselves.
    of: Vec<NodeId>,
    aggregation: std::ops::Range<NodeId>,
    core: std::ops::Range<NodeId>,
}

impl Clusters {
    /// `None` for other families, and where there is one cluster.
    pub fn of(topology: &Topology, network: &LiveLinks) -> Option<Clusters> {
        let TopologySpec::Subways(_) = topology.spec() else {
            return None;
        };
        let [_, aggregation, core, ..] = topology.tiers() else {
            return None;
        };
        let range = |first: NodeId, count: u32| first..first + count;
        let aggregation = range(aggregation.first, aggregation.count);
        let mut of: Vec<NodeId> = (0..topology.node_count()).collect();
        for above in aggregation.clone() {
            for tor in &network.downs[above as usize] {
                let (one, other) = (root(&mut of, above), root(&mut of, tor.far));
                of[one.max(other) as usize] = one.min(other);
            }
        }
        for node in 0..topology.node_count() {
            of[node as usize] = root(&mut of, node);
        }
        Some(Clusters {
            of,
            aggregation,
            core: range(core.first, core.count),
        })
    }

    fn cluster(&self, node: NodeId) -> NodeId {
        self.of[node as usize]
    }

    /// The cluster from which packets arrive by each live link, for a core switch that divides by
    /// cluster. Aggregation switches have a single class: all packets from below.
    pub fn entering(&self, network: &LiveLinks, switch: NodeId) -> Vec<Entering> {
        let mut classes: BTreeMap<NodeId, Vec<u32>> = BTreeMap::new();
        for down in &network.downs[switch as usize] {
            let class = match self.core.contains(&switch) {
                true => self.cluster(down.far),
                false => switch,
            };
            classes.entry(class).or_default().push(link_of(down.directed));
        }
        let class = |(class, mut links): (NodeId, Vec<u32>)| {
            links.sort_unstable();
            Entering {
                class,
                links,
                routes: Vec::new(),
            }
        };
        classes.into_iter().map(class).collect()
    }

    /// The next hops of a switch to the destination, whose paths are `ways`, for packets that enter
    /// it by each class of links; only for classes whose hops differ from the default.
    pub fn hops(
        &self,
        network: &LiveLinks,
        ways: &Ways,
        [switch, destination]: [NodeId; 2],
        inward: Option<&Inward>,
    ) -> Vec<(NodeId, Vec<(Half, u64)>)> {
        if self.aggregation.contains(&switch) {
            let divided = self.upwards_too(network, ways, [switch, destination], inward);
            return divided.map(|hops| (switch, hops)).into_iter().collect();
        }
        if !self.core.contains(&switch) || ways.down[switch as usize] == super::NONE {
            return Vec::new();
        }
        let nearer = |link: &&Half| ways.is_nearer(switch, link);
        let straight: Vec<&Half> = network.downs[switch as usize].iter().filter(nearer).collect();
        let mut found = Vec::new();
        for from in straight.iter().map(|link| self.cluster(link.far)) {
            let others = straight.iter().filter(|link| self.cluster(link.far) != from);
            let hops: Vec<(Half, u64)> = others.map(|link| (**link, ways.weight_of(link))).collect();
            if !hops.is_empty() && found.iter().all(|(known, _)| *known != from) {
                found.push((from, hops));
            }
        }
        found
    }

    /// The routes of packets that come up to an aggregation switch: down by the weights of the
    /// destination's links in its cluster, up by the weights of the other links.
    fn upwards_too(
        &self,
        network: &LiveLinks,
        ways: &Ways,
        [switch, destination]: [NodeId; 2],
        inward: Option<&Inward>,
    ) -> Option<Vec<(Half, u64)>> {
        if ways.down[switch as usize] == super::NONE {
            return None;
        }
        let own = self.cluster(switch);
        let others = |core: NodeId| {
            let downs = network.downs[core as usize].iter();
            let nearer = downs.filter(move |link| ways.is_nearer(core, link));
            let clusters = nearer.map(|link| self.cluster(link.far));
            clusters.filter(move |cluster| *cluster != own)
        };
        let ups: Vec<&Half> = network.ups[switch as usize]
            .iter()
            .filter(|above| others(above.far).next().is_some())
            .collect();
        let ends = &network.ups[destination as usize];
        let weight_in = |wanted: &dyn Fn(NodeId) -> bool| -> u64 {
            let last = ends.iter().zip(&network.last[destination as usize]);
            let wanted = last.filter(|(end, _)| wanted(end.far));
            wanted.map(|(_, weight)| *weight).sum()
        };
        let below = |tor: NodeId| network.downs[switch as usize].iter().any(|link| link.far == tor);
        let beyond = |tor: NodeId| {
            ups.iter()
                .any(|above| others(above.far).any(|cluster| cluster == self.cluster(tor)))
        };
        let (down, up) = (weight_in(&below), weight_in(&beyond));
        if up == 0 {
            return None;
        }
        let straight = ways.downwards(network, switch, inward);
        let total: u64 = straight.iter().map(|(_, weight)| weight).sum();
        // The downward links together get `down` of `down + up`; the upward links share the rest
        // equally.
        let mut hops: Vec<(Half, u64)> = straight
            .into_iter()
            .map(|(link, weight)| (link, weight * down * ups.len() as u64))
            .collect();
        hops.extend(ups.into_iter().map(|above| (*above, up * total)));
        hops.sort_by_key(|(link, _)| link.directed);
        Some(hops)
    }
}

/// The node that represents a node's set.
fn root(of: &mut [NodeId], mut node: NodeId) -> NodeId {
    while of[node as usize] != node {
        of[node as usize] = of[of[node as usize] as usize];
        node = of[node as usize];
    }
    node
}
