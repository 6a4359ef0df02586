//! The flows of an emulation whose switches are routers: their paths, from the same tables and the
//! same hash as in the kernel, and max-min fair rates over them. So each flow is predicted on the
//! path that it will take.
//!
//! Not here: the tables and the hash (`cubeyard_routing`), and addresses of servers
//! (`cubeyard_dataplane`).

use std::collections::BTreeSet;

use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::subways::{RackDetours, Racks};
use cubeyard_routing::tables::{Balance, Tables};
use cubeyard_topology::{Finding, NodeId, Part, Topology};

use crate::controllers::Controllers;
use crate::count::LinkFlows;
use crate::degraded::Damage;
use crate::given_paths::rates_within;
use crate::maxmin::max_min_rates;
use crate::network::Network;
use crate::paths::Paths;

/// A flow from a server to another, as its source sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutedFlow {
    /// Source and destination server.
    pub ends: [NodeId; 2],
    /// The five-tuple by which its packets are hashed.
    pub tuple: FiveTuple,
    /// The ports whose addresses it is from and to; `None` for a server's own address.
    pub by_port: [Option<u8>; 2],
}

/// The emulated network, and how its nodes balance flows.
#[derive(Clone, Debug)]
pub struct RoutedRun<'a> {
    /// The part of the network that is emulated.
    pub part: &'a Part,
    /// The failed and degraded parts.
    pub damage: Damage,
    /// How flows are spread over next hops.
    pub balance: Balance,
    /// The run's seed, from which each node's own follows.
    pub seed: u64,
    /// Rate of the slowest link, in Gb/s; others are as many times faster as they are planned.
    pub link_gbps: f64,
}

/// The expected results of the flows, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutedFlows {
    /// The nodes of each flow's path, both ends included; empty if there is no path.
    pub paths: Vec<Vec<NodeId>>,
    /// Max-min fair rates in Gb/s; 0 without a path.
    pub gbps: Vec<f64>,
}

impl RoutedRun<'_> {
    /// Paths and rates of flows. Time as for [`Tables::new`] and [`max_min_rates`].
    ///
    /// # Errors
    /// A finding for a network whose servers relay, which has no routers, and for one whose flows
    /// cannot be spread so.
    pub fn flows(mut self, network: &Network, flows: &[RoutedFlow]) -> Result<RoutedFlows, Vec<Finding>> {
        let topology = network.topology();
        self.fail_outside(network);
        let none = || {
            let family = topology.spec().family();
            let message = format!("Servers of a {family} relay packets; its switches are no routers.");
            vec![Finding::error(
                "no-routers",
                "family",
                message,
                "Choose a fat-tree, a tree or Subways.",
            )]
        };
        if !self.balance.suits(topology.spec()) {
            let message = match self.balance {
                Balance::ByDetour => {
                    "Only Subways of types 1 and 2 with loops of more ToRs than a server has ports have detours."
                }
                _ => "Only Subways of types 1 and 2 spread flows by load: their servers choose among ToRs.",
            };
            return Err(vec![Finding::error(
                "no-controllers",
                "balance",
                message,
                "Choose ecmp or wcmp.",
            )]);
        }
        let capacity = self.damage.degraded.capacity(network.scaled_gbps(self.link_gbps));
        let tables = match self.balance {
            Balance::ByLoad | Balance::ByDetour => self.settled(topology, &capacity.gbps, flows),
            balance => Tables::new(topology, &self.damage.failures, balance),
        };
        let is_by_port = flows.iter().any(|flow| flow.by_port != [None; 2]);
        let tables = tables.map(|tables| match is_by_port {
            true => tables.with_ports(topology, &self.damage.failures, self.balance),
            false => tables,
        });
        let (found, paths) = self.paths(&tables.ok_or_else(none)?, flows);
        Ok(RoutedFlows {
            paths,
            gbps: max_min_rates(&found, &capacity.gbps),
        })
    }

    /// The same for switches whose own programs choose: `path_of` gives the nodes of a flow's path,
    /// both ends included, where these links, by their nodes, carry nothing; none where there is no
    /// way. Linear in links and in the lengths of the paths, plus [`max_min_rates`].
    ///
    /// # Errors
    /// A finding for a path whose nodes no link joins.
    pub fn flows_by(
        mut self,
        network: &Network,
        flows: &[RoutedFlow],
        path_of: impl FnOnce(&BTreeSet<(NodeId, NodeId)>) -> Vec<Vec<NodeId>>,
    ) -> Result<RoutedFlows, Vec<Finding>> {
        self.fail_outside(network);
        let (links, failures) = (network.topology().links(), &self.damage.failures);
        let is_dead = |link: usize| {
            failures.link_failed(link as u32)
                || [links.a[link], links.b[link]]
                    .iter()
                    .any(|&end| failures.node_failed(end))
        };
        let dead = (0..links.len()).filter(|&link| is_dead(link));
        let mut paths = path_of(&dead.map(|link| (links.a[link], links.b[link])).collect());
        for (flow, path) in flows.iter().zip(&mut paths) {
            if flow.ends.iter().any(|&end| failures.node_failed(end)) {
                path.clear();
            }
        }
        let capacity = self.damage.degraded.capacity(network.scaled_gbps(self.link_gbps));
        let gbps = rates_within(network, &paths, &capacity.gbps)?;
        Ok(RoutedFlows { paths, gbps })
    }

    /// The tables at which the controllers settle if flows last forever: as in the flow engine, but
    /// each flow counts on the path that it has. If requested, detours are planned for the rates
    /// that flows then have. `[subways §5.2, §6]` `None` for other families than Subways.
    fn settled(&self, topology: &Topology, capacity: &[f64], flows: &[RoutedFlow]) -> Option<Tables> {
        let failures = &self.damage.failures;
        let controllers = Controllers::new(topology, failures.clone(), capacity)?;
        let weights = controllers.settle(|weights| {
            let tables = Tables::by_load(topology, failures, weights).ok_or(())?;
            let (paths, _) = self.paths(&tables, flows);
            let mut load = LinkFlows::empty(topology.links().len() * 2);
            for &link in &paths.links {
                load.per_directed_link[link as usize] += 1;
            }
            Ok::<LinkFlows, ()>(load)
        });
        let mut weights = weights.ok()?;
        let straight = Tables::by_load(topology, failures, &weights)?;
        if self.balance != Balance::ByDetour {
            return Some(straight);
        }
        let racks = Racks::of(topology)?;
        let by_rack = controllers.by_rack(&self.paths(&straight, flows).0, &mut weights);
        let by_server = by_rack.map(|ways| -> Vec<RackDetours> {
            let servers = 0..topology.server_count();
            servers
                .map(|server| ways[racks.rack_of(server)].clone())
                .collect()
        });
        let [out, inward] = &by_server;
        Tables::with_detours(topology, failures, &weights, [out, inward])
    }

    /// The path of each flow by these tables: as links, and as nodes.
    fn paths(&self, tables: &Tables, flows: &[RoutedFlow]) -> (Paths, Vec<Vec<NodeId>>) {
        let mut given = Paths {
            offsets: vec![0],
            links: Vec::new(),
            dropped: Vec::new(),
        };
        let mut paths = Vec::with_capacity(flows.len());
        for (at, flow) in flows.iter().enumerate() {
            let dead = flow.ends.iter().any(|&end| self.damage.failures.node_failed(end));
            let hops = hash::path_by_ports(tables, self.seed, flow.ends, flow.by_port, &flow.tuple);
            let hops = hops.filter(|_| !dead);
            let hops = hops.unwrap_or_default();
            if hops.is_empty() {
                given.dropped.push(at as u32);
                paths.push(Vec::new());
            } else {
                let after = hops.iter().map(|hop| hop.far);
                paths.push(std::iter::once(flow.ends[0]).chain(after).collect());
            }
            given.links.extend(hops.iter().map(|hop| hop.directed));
            given.offsets.push(given.links.len() as u32);
        }
        (given, paths)
    }

    /// Marks everything outside the slice as failed, so that it takes no part in routing.
    fn fail_outside(&mut self, network: &Network) {
        if self.part.is_whole() {
            return;
        }
        let topology = network.topology();
        let nodes = [&self.part.servers, &self.part.switches];
        let mut is_in = vec![false; topology.node_count() as usize];
        for &node in nodes.into_iter().flatten() {
            is_in[node as usize] = true;
        }
        let out = (0..topology.node_count()).filter(|&node| !is_in[node as usize]);
        out.for_each(|node| self.damage.failures.fail_node(node));
    }
}

#[cfg(test)]
mod tests {
    use cubeyard_routing::Failures;
    use cubeyard_routing::subflows::{PortAddresses, Subflow};
    use cubeyard_topology::{Slice, SliceOfServers};
    use proptest::prelude::*;

    use super::*;
    use crate::given_paths::rates_over;

    const SPECS: [&str; 4] = [
        r#"{"family":"fat_tree","ports":4,"layers":3}"#,
        r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#,
        r#"{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2,"cluster_gbps":[10,25]}"#,
        r#"{"family":"tree","edge_ports":4,"servers":8}"#,
    ];

    fn flow(number: u32, ends: [NodeId; 2]) -> RoutedFlow {
        let tuple = FiveTuple {
            addresses: ends.map(|end| [10, 0, 0, end as u8 + 1]),
            protocol: 6,
            ports: [hash::source_port(number).unwrap(), hash::port(number).unwrap()],
        };
        RoutedFlow {
            ends,
            tuple,
            by_port: [None; 2],
        }
    }

    fn permutation(network: &Network, shift: u32) -> Vec<RoutedFlow> {
        let servers = network.topology().server_count();
        let ends = |source| [source, (source + 1 + shift % (servers - 1)) % servers];
        (0..servers).map(|source| flow(source, ends(source))).collect()
    }

    fn run(
        network: &Network,
        part: &Part,
        failures: Failures,
        balance: Balance,
        seed: u64,
        flows: &[RoutedFlow],
    ) -> RoutedFlows {
        let damage = Damage {
            failures,
            ..Damage::none(network.topology())
        };
        let run = RoutedRun {
            part,
            damage,
            balance,
            seed,
            link_gbps: 0.1,
        };
        run.flows(network, flows).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn paths_lead_around_what_has_failed_and_rates_are_those_of_the_paths(
            which in 0..SPECS.len(), shift: u32, seed: u64, failed in any::<prop::sample::Index>(),
        ) {
            let network = Network::open(SPECS[which]).unwrap();
            let topology = network.topology();
            let flows = permutation(&network, shift);
            let mut failures = Failures::none(topology);
            let switches = topology.node_count() - topology.server_count();
            failures.fail_node(topology.server_count() + failed.index(switches as usize) as u32);
            let found = run(&network, &topology.whole(), failures.clone(), Balance::ByRate, seed, &flows);
            prop_assert_eq!(&rates_over(&network, &found.paths, 0.1).unwrap(), &found.gbps);
            for (flow, (path, gbps)) in flows.iter().zip(found.paths.iter().zip(&found.gbps)) {
                prop_assert!(path.iter().all(|&node| !failures.node_failed(node)));
                prop_assert_eq!(path.is_empty(), *gbps == 0.0);
                if !path.is_empty() {
                    prop_assert_eq!([path[0], path[path.len() - 1]], flow.ends);
                }
            }
        }

        #[test]
        fn by_load_the_fullest_link_has_no_more_than_by_equal_paths(
            which in 1..3usize, shift: u32, seed: u64, failed in any::<prop::sample::Index>(),
        ) {
            let network = Network::open(SPECS[which]).unwrap();
            let topology = network.topology();
            let flows = permutation(&network, shift);
            let mut failures = Failures::none(topology);
            failures.fail_link(failed.index(topology.link_count()) as u32);
            let capacity = network.scaled_gbps(0.1);
            let fullest = |balance| {
                let found = run(&network, &topology.whole(), failures.clone(), balance, seed, &flows);
                let links = topology.links();
                let mut used = std::collections::BTreeMap::new();
                for hop in found.paths.iter().flat_map(|path| path.windows(2)) {
                    *used.entry([hop[0], hop[1]]).or_insert(0.0) += 1.0;
                }
                let loads = (0..links.len()).flat_map(|link| {
                    let ends = [links.a[link], links.b[link]];
                    [(ends, 2 * link), ([ends[1], ends[0]], 2 * link + 1)]
                });
                let load = |(ends, directed): ([NodeId; 2], usize)| used.get(&ends).map_or(0.0, |used| used / capacity[directed]);
                loads.map(load).fold(0.0, f64::max)
            };
            prop_assert!(fullest(Balance::ByLoad) <= fullest(Balance::Equal) * (1.0 + 1e-9));
        }

        #[test]
        fn a_slice_is_routed_within_itself(shift in 0u32..3, seed: u64) {
            let network = Network::open(SPECS[0]).unwrap();
            let topology = network.topology();
            let servers = [0, 1, 4, 8].map(|server| topology.node_name(server)).to_vec();
            let part = topology.slice(&Slice::Servers(SliceOfServers { servers })).unwrap();
            let ends = |at: usize| [part.servers[at], part.servers[(at + 1 + shift as usize) % 4]];
            let flows: Vec<RoutedFlow> = (0..4).map(|at| flow(at as u32, ends(at))).collect();
            let found = run(&network, &part, Failures::none(topology), Balance::ByRate, seed, &flows);
            let inside = |node: &NodeId| part.servers.contains(node) || part.switches.contains(node);
            prop_assert!(found.paths.iter().all(|path| path.len() > 2 && path.iter().all(inside)));
        }
    }

    #[test]
    fn a_connection_of_subflows_gets_what_its_servers_ports_carry() {
        let network = Network::open(SPECS[1]).unwrap();
        let topology = network.topology();
        let ends = [0, topology.server_count() - 1];
        let subflow = |planned: Subflow| {
            let source = planned.source_port.unwrap();
            RoutedFlow {
                by_port: planned.by_port,
                tuple: FiveTuple {
                    ports: [source, hash::port(0).unwrap()],
                    ..flow(0, ends).tuple
                },
                ends,
            }
        };
        let addresses = PortAddresses::of(topology);
        let subflows: Vec<RoutedFlow> = addresses
            .subflows(0, ends, None)
            .into_iter()
            .map(subflow)
            .collect();
        let alone = |flows: &[RoutedFlow]| {
            let whole = topology.whole();
            let found = run(
                &network,
                &whole,
                Failures::none(topology),
                Balance::Equal,
                1,
                flows,
            );
            found.gbps.iter().sum::<f64>()
        };
        assert_eq!(subflows.len(), 4);
        assert!((alone(&[flow(0, ends)]) - 0.1).abs() < 1e-9);
        assert!((alone(&subflows) - 0.2).abs() < 1e-9);
    }

    #[test]
    fn a_network_whose_servers_relay_is_refused() {
        let network = Network::open(r#"{"family":"bcube","n":2,"k":1}"#).unwrap();
        let part = network.topology().whole();
        let run = RoutedRun {
            part: &part,
            damage: Damage::none(network.topology()),
            balance: Balance::Equal,
            seed: 1,
            link_gbps: 1.0,
        };
        assert_eq!(run.flows(&network, &[]).unwrap_err()[0].field, "family");
    }
}
