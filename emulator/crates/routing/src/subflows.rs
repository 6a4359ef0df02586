//! The subflows of an MPTCP connection: between which addresses and ports each of them is.
//! `[RFC 8684, subways §5.1]`
//!
//! A server with links to several ToRs has an address for each port, so that a pair of addresses is
//! a pair of ToRs: up to `p^2` of them. Where neither end has, subflows differ by the port that
//! they are sent from, and routers spread them as they spread flows. `[ours]`

use cubeyard_topology::{NodeId, Topology};

use crate::hash;

/// The most subflows of a connection: Linux adds at most eight to the first.
pub const MAX_SUBFLOWS: u32 = 9;
/// Default number of subflows of a connection whose ends have one address each. `[ours]`
pub const DEFAULT_ALIKE: u32 = 4;

/// One subflow of an MPTCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subflow {
    /// The port whose address each end has; `None` for the server's own address.
    pub by_port: [Option<u8>; 2],
    /// The TCP port that it is sent from; `None` for any.
    pub source_port: Option<u16>,
}

/// Which servers have an address for each of their ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortAddresses {
    /// By server: its ports, in order; none where it has one address.
    ports: Vec<Vec<u8>>,
}

impl PortAddresses {
    /// Servers with links to several neighbours have them, where switches have tiers. O(links).
    pub fn of(topology: &Topology) -> PortAddresses {
        let links = topology.links();
        let mut ends = vec![Vec::new(); topology.server_count() as usize];
        let all = (0..links.len()).filter(|_| topology.has_tiers());
        for link in all.filter(|&link| topology.is_server(links.a[link])) {
            ends[links.a[link] as usize].push((links.a_port[link] as u8, links.b[link]));
        }
        let by_port = |mut ends: Vec<(u8, NodeId)>| {
            ends.sort_unstable();
            let is_spread = ends.iter().any(|(_, far)| *far != ends[0].1);
            let ports = ends.iter().filter(|_| is_spread).map(|(port, _)| *port);
            ports.collect()
        };
        PortAddresses {
            ports: ends.into_iter().map(by_port).collect(),
        }
    }

    /// The ports of a server that have their own addresses; empty if the server has one address.
    pub fn ports(&self, server: NodeId) -> &[u8] {
        &self.ports[server as usize]
    }

    /// The subflows of the connection of this number, the first one first: at most `most`, or as
    /// many as its ends' addresses make, [`MAX_SUBFLOWS`] at most. The first ones have different
    /// ports at both ends.
    pub fn subflows(&self, connection: u32, ends: [NodeId; 2], most: Option<u32>) -> Vec<Subflow> {
        let [sources, destinations] = ends.map(|end| match self.ports(end) {
            [] => vec![None],
            ports => ports.iter().copied().map(Some).collect(),
        });
        let pairs = (sources.len() * destinations.len()) as u32;
        let count = match pairs {
            1 => most.unwrap_or(DEFAULT_ALIKE),
            pairs => pairs.min(most.unwrap_or(MAX_SUBFLOWS)),
        };
        let subflow = |number: u32| {
            let (round, place) = (number as usize / sources.len(), number as usize % sources.len());
            Subflow {
                by_port: [sources[place], destinations[(place + round) % destinations.len()]],
                source_port: hash::subflow_port(
                    connection.saturating_mul(MAX_SUBFLOWS).saturating_add(number),
                ),
            }
        };
        (0..count.min(MAX_SUBFLOWS)).map(subflow).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cubeyard_topology::TopologySpec;
    use proptest::prelude::*;

    use super::*;

    fn topology(spec: &str) -> Topology {
        Topology::build(&TopologySpec::from_json(&serde_json::from_str(spec).unwrap()).unwrap()).unwrap()
    }

    fn subways(wiring: u32, p: u32) -> Topology {
        topology(&format!(
            r#"{{"family":"subways","type":{wiring},"p":{p},"q":12,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2{}}}"#,
            if wiring == 2 { r#","c":2"# } else { "" }
        ))
    }

    proptest! {
        #[test]
        fn subflows_have_pairs_of_addresses_and_ports_of_their_own(
            wiring in 1u32..3, p in 2u32..5, connection in 0u32..1300, most in prop::option::of(1u32..20), far in 1u32..16,
        ) {
            let topology = subways(wiring, p);
            let found = PortAddresses::of(&topology).subflows(connection, [0, far], most);
            let wanted = (p * p).min(most.unwrap_or(u32::MAX)).min(MAX_SUBFLOWS);
            prop_assert_eq!(found.len() as u32, wanted);
            let pairs: BTreeSet<_> = found.iter().map(|one| one.by_port).collect();
            prop_assert_eq!(pairs.len() as u32, wanted);
            let ports: BTreeSet<_> = found.iter().filter_map(|one| one.source_port).collect();
            prop_assert_eq!(ports.len() as u32, wanted);
            for end in 0..2 {
                let used: BTreeSet<_> = found.iter().take(p as usize).map(|one| one.by_port[end]).collect();
                prop_assert_eq!(used.len() as u32, wanted.min(p));
            }
        }
    }

    #[test]
    fn where_servers_have_one_tor_subflows_differ_by_their_ports() {
        for spec in [
            r#"{"family":"fat_tree","ports":4,"layers":3}"#,
            r#"{"family":"subways","type":0,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
        ] {
            let topology = topology(spec);
            let found = PortAddresses::of(&topology).subflows(3, [0, 5], None);
            assert_eq!(found.len() as u32, DEFAULT_ALIKE);
            assert!(found.iter().all(|one| one.by_port == [None; 2]));
        }
    }
}
