//! BCubes in virtual time, and what the tests read of their servers.

#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // each file of tests uses a part

use std::net::Ipv4Addr;
use std::ops::{Deref, DerefMut};

use cubeyard_dataplane::address::virtual_ip;
use cubeyard_dataplane::bcube::ENTRY;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::event::Event;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::protocol::Time;
use cubeyard_dataplane::settings::Given;
use cubeyard_routing::bcube::{Hops, Shape, Taken, shortest_parallel};
use cubeyard_topology::{BcubeSpec, NodeId, TopologySpec};
use cubeyard_virtual::{Network, Options};

/// Rate of every link.
pub const RATE_BITS_PER_SEC: f64 = 100e6;

pub struct Bcube {
    network: Network,
    pub shape: Shape,
}

impl Deref for Bcube {
    type Target = Network;

    fn deref(&self) -> &Network {
        &self.network
    }
}

impl DerefMut for Bcube {
    fn deref_mut(&mut self) -> &mut Network {
        &mut self.network
    }
}

/// A row of a server's path cache.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    pub flow: Flow,
    pub path_id: u64,
    pub probings: u64,
}

fn count(cell: &Cell) -> u64 {
    match cell {
        Cell::Count(count) => *count,
        other => panic!("a count, not {other:?}"),
    }
}

impl Bcube {
    /// BCube(n, k), all servers started.
    pub fn whole(n: u32, k: u32, seed: u64) -> Bcube {
        Bcube::new(n, k, seed, None, &[])
    }

    /// BCube(n, k), all servers started, over a forwarding by name.
    pub fn over(forwarding: &'static str, n: u32, k: u32, seed: u64) -> Bcube {
        Bcube::with(forwarding, n, k, seed, None, &[])
    }

    /// BCube(n, k) some of whose servers are gateways.
    pub fn with_gateways(n: u32, k: u32, seed: u64, gateways: &[NodeId]) -> Bcube {
        Bcube::new(n, k, seed, None, gateways)
    }

    /// The servers `present` of BCube(n, k).
    pub fn slice(n: u32, k: u32, seed: u64, present: Vec<NodeId>) -> Bcube {
        Bcube::new(n, k, seed, Some(present), &[])
    }

    fn new(n: u32, k: u32, seed: u64, present: Option<Vec<NodeId>>, gateways: &[NodeId]) -> Bcube {
        Bcube::with(SOFTWARE, n, k, seed, present, gateways)
    }

    fn with(
        forwarding: &'static str,
        n: u32,
        k: u32,
        seed: u64,
        present: Option<Vec<NodeId>>,
        gateways: &[NodeId],
    ) -> Bcube {
        let options = Options {
            protocol: &ENTRY,
            forwarding,
            spec: TopologySpec::Bcube(BcubeSpec { n, k, servers: None }),
            present,
            gateways: gateways.to_vec(),
            rate_bits_per_sec: RATE_BITS_PER_SEC,
            settings: Given::new(),
            seed,
        };
        let network = Network::new(options).unwrap();
        let shape = Shape::new(&network.topology).unwrap();
        Bcube { network, shape }
    }

    /// A flow begins now; its number.
    pub fn flow(&mut self, source: NodeId, destination: NodeId, number: u16) -> usize {
        self.begin(source, destination, 40_000 + number, 5201 + number)
    }

    /// A flow to an external address begins now; its number.
    pub fn flow_outwards(&mut self, source: NodeId, to: Ipv4Addr, number: u16) -> usize {
        let flow = Flow::new(virtual_ip(source).unwrap(), to, 6, 40_000 + number, 443);
        self.begin_flow(source, flow)
    }

    /// Lets time pass. No packet may loop, and no server may write what the run's rules refuse.
    pub fn run(&mut self, secs: f64) {
        self.network.run(secs);
        assert_eq!(self.looped_packets, 0);
        assert_eq!(self.refused_updates, []);
    }

    /// Whether any path leads from one server to another that a header can hold.
    pub fn connected(&self, source: NodeId, destination: NodeId) -> bool {
        let dead = |server| self.failures.node_failed(server);
        let mut hops = Hops::new();
        let alive = |from, to, level| self.shape.hop_alive(from, to, level, &self.failures);
        let taken = Taken::default();
        !dead(source)
            && !dead(destination)
            && shortest_parallel(&self.shape, source, destination, &taken, 0, alive, &mut hops)
            && hops.len() <= 8
    }

    /// Flows that took another path since `since`, once a time.
    pub fn switches(&self, since: Time) -> Vec<Flow> {
        let switched = self.log.iter().filter(|(at, _, _)| *at >= since);
        let flow = |(_, _, event): &(Time, NodeId, Event)| match event {
            Event::PathSwitched { flow, .. } => Some(*flow),
            _ => None,
        };
        switched.filter_map(flow).collect()
    }

    /// The neighbours that a server takes for dead.
    pub fn dead_to(&self, server: NodeId) -> Vec<NodeId> {
        let inspection = self.inspect(server);
        let neighbours = inspection.section("neighbours").unwrap();
        let status = neighbours.column("server").zip(neighbours.column("up"));
        let dead = status.filter(|(_, up)| **up == Cell::Flag(false));
        dead.map(|(server, _)| count(server) as NodeId).collect()
    }

    /// The flows in a server's table.
    pub fn known_flows(&self, server: NodeId) -> Vec<FlowRow> {
        let inspection = self.inspect(server);
        let rows = &inspection.section("flows").unwrap().rows;
        let row = |row: &Vec<Cell>| match &row[..] {
            [Cell::Flow(flow), path_id, _, probings, _] => FlowRow {
                flow: *flow,
                path_id: count(path_id),
                probings: count(probings),
            },
            other => panic!("a flow's row, not {other:?}"),
        };
        rows.iter().map(row).collect()
    }

    /// Number of failed links in a server's table.
    pub fn failed_links(&self, server: NodeId) -> u64 {
        let inspection = self.inspect(server);
        let section = inspection.section("failed-links").unwrap();
        section.rows.len() as u64 + section.omitted
    }

    /// How many messages a server has refused.
    pub fn refused(&self, server: NodeId) -> u64 {
        let inspection = self.inspect(server);
        let section = inspection.section("refused-messages").unwrap();
        section.column("count").map(count).sum()
    }
}
