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
    /// The balancing of flows over next hops.
    pub balance: Balance,
    /// The run's seed, from which each node's own follows.
    pub seed: u64,
    /// Rate of the slowest link, in Gb/s; the other links keep the plan's ratios.
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
    /// both ends included, if these links (by their nodes) are dead; empty if there is no path.
    /// Linear in links and in the lengths of the paths, plus [`max_min_rates`].
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
    /// each flow counts on its actual path. If requested, detours are planned for the rates that
    /// flows then have. `[subways §5.2, §6]` `None` for other families than Subways.
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
