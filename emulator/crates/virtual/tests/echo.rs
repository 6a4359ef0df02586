//! The worked example in virtual time: on families with switches and without, whole and in slices,
//! with faults, and under a controller.

use std::time::Duration;

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::echo::{ENTRY, tables};
use cubeyard_dataplane::event::Event;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::protocol::Time;
use cubeyard_dataplane::run_role::{Controller, ControllerOutput, Tick};
use cubeyard_dataplane::settings::Given;
use cubeyard_dataplane::tables::TableUpdate;
use cubeyard_topology::{NodeId, TopologySpec};
use cubeyard_virtual::{Network, Options};
use proptest::prelude::*;

const RATE_BITS_PER_SEC: f64 = 1e9;

fn options(spec: &str) -> Options {
    Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec: TopologySpec::from_json(&spec.parse::<serde_json::Value>().unwrap()).unwrap(),
        present: None,
        gateways: Vec::new(),
        rate_bits_per_sec: RATE_BITS_PER_SEC,
        settings: Given::new(),
        seed: 1,
    }
}

/// One of each family whose servers relay.
const SPECS: [&str; 3] = [
    r#"{"family": "bcube", "n": 4, "k": 1}"#,
    r#"{"family": "dcell", "n": 4, "k": 1}"#,
    r#"{"family": "torus3d", "x": 3, "y": 3, "z": 3}"#,
];

/// Least number of servers between two, breadth first over the network's own neighbours.
fn distance(network: &Network, source: NodeId, destination: NodeId) -> usize {
    let mut reached = vec![source];
    let (mut first, mut hops) = (0, 0);
    while !reached.contains(&destination) {
        let last = reached.len();
        for at in first..last {
            for port in network.configuration(reached[at]).ports {
                for neighbour in port.neighbours {
                    if !reached.contains(&neighbour.server) {
                        reached.push(neighbour.server);
                    }
                }
            }
        }
        assert!(reached.len() > last, "the servers are connected");
        (first, hops) = (last, hops + 1);
    }
    hops
}

#[test]
fn every_server_reaches_every_other_on_a_shortest_path() {
    for spec in SPECS {
        let mut network = Network::new(options(spec)).unwrap();
        let servers = network.servers();
        for &source in &servers {
            for &destination in servers.iter().filter(|&&destination| destination != source) {
                network.begin(source, destination, 1000, 2000);
            }
        }
        network.run(0.1);
        for number in 0..network.flows.len() {
            let path = network.path_of(number);
            assert!(network.flows_well(number), "{spec}: {path:?}");
            let expected = distance(&network, path[0], *path.last().unwrap());
            assert_eq!(path.len() - 1, expected, "{spec}: {path:?}");
        }
        assert_eq!(
            (network.looped_packets, &network.refused_updates[..]),
            (0, &[][..])
        );
    }
}

#[test]
fn a_dead_neighbour_is_replaced_by_another_on_a_shortest_path() {
    let mut network = Network::new(options(SPECS[0])).unwrap();
    // From 00 to 11: by 01 or by 10, chosen by a hash of the destination.
    let flow = network.begin(0, 5, 1, 2);
    network.run(3.0);
    let relay = network.path_of(flow)[1];
    assert!([1, 4].contains(&relay));
    network.kill(relay);
    network.run(2.0);
    assert!(network.flows_well(flow));
    assert_eq!(network.path_of(flow), [0, 5 - relay, 5]);
    let died = network.log.iter().any(
        |(_, server, event)| matches!(event, Event::NeighbourDead { neighbour, .. } if (*server, *neighbour) == (0, relay)),
    );
    assert!(died);
    network.revive(relay).unwrap();
    network.run(2.0);
    assert_eq!(network.path_of(flow), [0, relay, 5]);
}

#[test]
fn a_pulled_cable_between_servers_is_seen_at_both_ends_at_once() {
    let mut network = Network::new(options(SPECS[2])).unwrap();
    network.run(1.0);
    network.pull_cable(0, 0);
    network.run(0.02);
    let dead: Vec<(NodeId, NodeId)> = network
        .log
        .iter()
        .filter_map(|(_, server, event)| match event {
            Event::NeighbourDead { neighbour, .. } => Some((*server, *neighbour)),
            _ => None,
        })
        .collect();
    let other = network.configuration(0).ports[0].neighbours[0].server;
    assert_eq!(dead, [(0, other), (other, 0)]);
}

#[test]
fn a_slice_runs_and_an_inspection_is_sections_of_rows() {
    let present = Some(vec![0, 1, 5]);
    let mut network = Network::new(Options {
        present,
        ..options(SPECS[0])
    })
    .unwrap();
    let flow = network.begin(0, 5, 1, 2);
    network.run(1.0);
    assert_eq!(network.path_of(flow), [0, 1, 5]);
    let inspection = network.inspect(0);
    let rows = &inspection.section("next-hops").unwrap().rows;
    let row = |destination, next| vec![Cell::Count(destination), Cell::Count(next), Cell::Flag(true)];
    assert_eq!(rows, &[row(1, 1), row(5, 1)]);
}

#[test]
fn switches_that_forward_among_themselves_are_refused() {
    let refused = Network::new(options(r#"{"family": "tree", "edge_ports": 4, "servers": 8}"#)).err();
    let field = refused.map(|error| error.field);
    assert_eq!(field.as_deref(), Some("spec.family"));
}

/// Moves a destination to another next hop once a link carries more than half of its rate.
struct Mover {
    server: NodeId,
    watched: usize,
    update: Option<TableUpdate>,
    outputs: Vec<ControllerOutput>,
}

impl Controller for Mover {
    fn observe(&mut self, now: Time, tick: &Tick) {
        let full = tick.carried_bits_per_sec[self.watched] > 0.5 * tick.rate_bits_per_sec[self.watched];
        if full
            && now > Duration::from_secs(1)
            && let Some(update) = self.update.take()
        {
            let server = self.server;
            self.outputs.push(ControllerOutput::Table { server, update });
        }
    }

    fn poll_output(&mut self) -> Option<ControllerOutput> {
        self.outputs.pop()
    }
}

#[test]
fn a_controller_of_the_run_sees_loads_and_writes_tables_within_the_runs_rules() {
    let mut network = Network::new(options(SPECS[0])).unwrap();
    let flow = network.begin(0, 5, 1, 2);
    network.run(0.5);
    let relay = network.path_of(flow)[1];
    let watched = network.flows[flow].links[0];
    let configuration = network.configuration(0);
    let entry = |server: NodeId| {
        let ports = configuration.ports.iter();
        let found = ports.flat_map(|port| port.neighbours.iter().map(move |neighbour| (port, neighbour)));
        let (port, neighbour) = found
            .into_iter()
            .find(|(_, other)| other.server == server)
            .unwrap();
        tables::NextHop::to(0, port, neighbour)
    };
    let stranger = tables::NextHop {
        next_mac: [2, 0xcb, 0, 0, 0, 9],
        ..entry(relay)
    };
    for next_hop in [entry(5 - relay), stranger] {
        let update = Some(tables::set(5, &next_hop));
        network.add_controller(Box::new(Mover {
            server: 0,
            watched,
            update,
            outputs: Vec::new(),
        }));
    }
    network.run(1.0);
    assert_eq!(network.path_of(flow), [0, 5 - relay, 5]);
    assert_eq!(network.refused_updates.len(), 1, "no neighbour of the server");
}

proptest! {
    /// For any bytes from a neighbour: no panic, and the server keeps working.
    #[test]
    fn any_messages_leave_a_server_alive(messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..50)) {
        let mut network = Network::new(options(SPECS[0])).unwrap();
        let flow = network.begin(0, 5, 1, 2);
        for bytes in messages {
            network.inject(0, 0, port_ip(1, 0).unwrap(), &bytes);
        }
        network.run(3.0);
        prop_assert!(network.flows_well(flow));
    }
}
