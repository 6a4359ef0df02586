//! DCell in virtual time: once link state has converged, servers' tables match the model's DFR
//! under the same failures, and the effects until then are bounded. `[dcell §4, §7]`

use std::collections::BTreeMap;

use cubeyard_dataplane::address::{port_ip, virtual_ip};
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::configuration::RunPlan;
use cubeyard_dataplane::dcell::ENTRY;
use cubeyard_dataplane::dcell::message::{Answer, Message};
use cubeyard_dataplane::dcell::tables::{ALL_FLAGS, FIB, NST, NextHop, Route};
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::event::{Event, SwitchReason};
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::link_state::Advertisement;
use cubeyard_dataplane::settings::Given;
use cubeyard_dataplane::tables::{TableRules, TableUpdate};
use cubeyard_routing::dcell::{Dfr, DfrOptions};
use cubeyard_routing::random::Draws;
use cubeyard_topology::{NodeId, TopologySpec};
use cubeyard_virtual::{Network, Options};
use proptest::prelude::*;
use zerocopy::{FromBytes, IntoBytes};

const TESTBED: &str = r#"{"family": "dcell", "n": 4, "k": 1}"#;
const DEEP: &str = r#"{"family": "dcell", "n": 2, "k": 2}"#;
const PARTIAL: &str = r#"{"family": "dcell", "n": 3, "k": 2, "servers": 40}"#;

fn options(spec: &str) -> Options {
    Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec: TopologySpec::from_json(&spec.parse::<serde_json::Value>().unwrap()).unwrap(),
        present: None,
        gateways: Vec::new(),
        rate_bits_per_sec: 1e9,
        settings: Given::new(),
        seed: 1,
    }
}

fn network(spec: &str) -> Network {
    Network::new(options(spec)).unwrap()
}

fn drops(network: &Network, reason: DropReason) -> u64 {
    let servers = network.servers().into_iter();
    servers
        .map(|server| network.host(server).unwrap().forwarding.drops()[reason.index()])
        .sum()
}

fn living(network: &Network) -> Vec<NodeId> {
    let servers = network.servers().into_iter();
    servers
        .filter(|&server| !network.failures.node_failed(server))
        .collect()
}

/// Every pair of living servers: the servers that a packet visits, `None` where it does not arrive.
fn all_paths(network: &mut Network) -> BTreeMap<(NodeId, NodeId), Option<Vec<NodeId>>> {
    network.end_flows();
    let servers = living(network);
    let mut pairs = Vec::new();
    for &source in &servers {
        for &destination in servers.iter().filter(|&&destination| destination != source) {
            pairs.push(((source, destination), network.begin(source, destination, 7, 7)));
        }
    }
    network.run(0.001);
    let path = |flow: usize| network.flows_well(flow).then(|| network.path_of(flow));
    pairs.into_iter().map(|(pair, flow)| (pair, path(flow))).collect()
}

/// The paths of the model for the current failures.
fn model_paths(network: &Network, group_level: usize) -> BTreeMap<(NodeId, NodeId), Option<Vec<NodeId>>> {
    let options = DfrOptions {
        group_level,
        retries: 5,
    };
    let dfr = Dfr::with_options(&network.topology, network.failures.clone(), options).unwrap();
    let servers = living(network);
    let mut paths = BTreeMap::new();
    for &source in &servers {
        for &destination in servers.iter().filter(|&&destination| destination != source) {
            let mut hops = Vec::new();
            let found = dfr.hops_by_tables(source, destination, &mut hops).is_ok();
            let visited = std::iter::once(source).chain(hops.iter().map(|hop| hop.server));
            paths.insert((source, destination), found.then(|| visited.collect()));
        }
    }
    paths
}

/// Pulls cables and kills servers at random, each with this probability.
fn fail(network: &mut Network, cables: f64, servers: f64, seed: u64) {
    let mut draws = Draws::new(seed);
    for server in network.servers() {
        if draws.unit() < servers {
            network.kill(server);
        }
        for port in network.configuration(server).ports {
            // A cable between servers is counted from the lower end.
            let far = port.neighbours.first().map_or(0, |neighbour| neighbour.server);
            let other_end = port.port > 0 && far < server;
            if !other_end && draws.unit() < cables {
                network.pull_cable(server, port.port);
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]

    /// The tables of all servers together take each packet where the model's DFR takes it, and
    /// nowhere else.
    #[test]
    fn converged_tables_are_the_models(which in 0usize..4, cables in 0.0..0.2f64, servers in 0.0..0.2f64, seed: u64) {
        let (spec, group_level) = [(TESTBED, 1), (DEEP, 1), (PARTIAL, 1), (DEEP, 0)][which];
        let settings = Given::from([("group_level".to_owned(), group_level as f64)]);
        let mut network = Network::new(Options { settings, ..options(spec) }).unwrap();
        network.run(2.0);
        let whole = all_paths(&mut network);
        prop_assert!(whole.values().all(Option::is_some));
        fail(&mut network, cables, servers, seed);
        network.end_flows();
        network.run(12.0);
        let expired = drops(&network, DropReason::TtlExpired);
        let paths = all_paths(&mut network);
        let model = model_paths(&network, group_level);
        for (pair, path) in &paths {
            prop_assert_eq!(path, &model[pair], "{:?} of {}", pair, spec);
        }
        prop_assert_eq!(drops(&network, DropReason::TtlExpired), expired, "no packet loops");
        prop_assert_eq!(&network.refused_updates[..], &[][..]);
        // After the recovery, all tables equal the original ones.
        for server in network.servers() {
            if network.failures.node_failed(server) {
                network.revive(server).unwrap();
            }
            for port in network.configuration(server).ports {
                network.plug_cable(server, port.port);
            }
        }
        network.end_flows();
        network.run(4.0);
        prop_assert_eq!(all_paths(&mut network), whole);
        prop_assert_eq!(&network.refused_updates[..], &[][..]);
    }

    /// Any bytes from a neighbour: no panic, no update that the run's rules refuse, and the right
    /// tables soon after.
    #[test]
    fn any_messages_are_outlived(messages in prop::collection::vec((0u8..6, prop::collection::vec(any::<u8>(), 0..40)), 0..80), forged in prop::collection::vec((0u32..25, any::<u32>()), 0..40)) {
        let mut network = network(TESTBED);
        network.run(1.5);
        let before = all_paths(&mut network);
        let from = port_ip(1, 0).unwrap();
        for (kind, tail) in messages {
            network.inject(0, 0, from, &[&[0xdc, kind], &tail[..]].concat());
        }
        for (origin, sequence) in forged {
            let lie = Advertisement { origin, sequence, age: std::time::Duration::ZERO, links: std::collections::BTreeSet::new() };
            network.inject(0, 0, from, &Message::LinkState(&lie.emit()).emit());
        }
        network.end_flows();
        network.run(8.0);
        prop_assert_eq!(all_paths(&mut network), before);
        prop_assert_eq!(&network.refused_updates[..], &[][..]);
    }
}

/// All pairs of a whole DCell_2 of 156 servers: a packet that DFR can deliver arrives over DFR's
/// path, and each other packet has a reason.
#[test]
fn every_pair_of_a_dcell_2_is_delivered_or_says_why() {
    let mut network = network(r#"{"family": "dcell", "n": 3, "k": 2}"#);
    network.run(2.0);
    fail(&mut network, 0.08, 0.08, 3);
    network.run(12.0);
    let before: u64 = DropReason::ALL
        .iter()
        .map(|reason| drops(&network, *reason))
        .sum();
    let looped = drops(&network, DropReason::TtlExpired);
    let paths = all_paths(&mut network);
    let model = model_paths(&network, 1);
    assert_eq!(paths, model);
    let lost = paths.values().filter(|path| path.is_none()).count() as u64;
    let dropped: u64 = DropReason::ALL
        .iter()
        .map(|reason| drops(&network, *reason))
        .sum::<u64>()
        - before;
    assert!(
        lost > 0 && dropped >= lost,
        "{lost} lost, {dropped} dropped for a reason"
    );
    assert_eq!(drops(&network, DropReason::TtlExpired), looped, "no packet loops");
}

#[test]
fn without_failures_packets_take_the_structures_paths_before_and_after_the_first_hello() {
    for spec in [TESTBED, DEEP, PARTIAL] {
        let mut network = network(spec);
        let before = all_paths(&mut network);
        assert_eq!(before, model_paths(&network, 1), "{spec}");
        network.end_flows();
        network.run(6.0);
        assert_eq!(all_paths(&mut network), before, "{spec}");
        assert_eq!(
            (network.looped_packets, &network.refused_updates[..]),
            (0, &[][..])
        );
    }
}

/// The id of a server of the testbed by its address.
fn at(cell: u32, server: u32) -> NodeId {
    cell * 4 + server
}

#[test]
fn the_papers_flow_goes_around_a_pulled_cable_and_back() {
    // §7.3: [0,0] to [4,3]; the cable [0,3]-[4,0] is pulled, then plugged in again; then [0,3]
    // falls silent.
    let mut network = network(TESTBED);
    let flow = network.begin(at(0, 0), at(4, 3), 5000, 80);
    let original = [at(0, 0), at(0, 3), at(4, 0), at(4, 3)];
    network.run(3.0);
    assert_eq!(network.path_of(flow), original);
    network.pull_cable(at(0, 3), 1);
    network.run(0.5);
    let around = network.path_of(flow);
    let published = [at(0, 0), at(1, 0), at(1, 3), at(4, 1), at(4, 3)];
    let other = [at(0, 0), at(0, 2), at(3, 0), at(3, 3), at(4, 3)];
    assert!(around == published || around == other, "{around:?}");
    let gap = network.flows[flow].longest_gap;
    assert!(
        gap.as_millis() <= 30,
        "a packet or two are lost while the ends look: {gap:?}"
    );
    network.plug_cable(at(0, 3), 1);
    network.run(1.5);
    assert_eq!(network.path_of(flow), original);
    network.kill(at(0, 3));
    let killed = network.now();
    network.run(6.5);
    assert!(network.flows_well(flow));
    assert!(!network.path_of(flow).contains(&at(0, 3)));
    let gap = network.flows[flow].longest_gap;
    assert!(
        (3.9..5.3).contains(&gap.as_secs_f64()),
        "five seconds of silence: {gap:?}"
    );
    // Its path is reported as events, each with a number.
    let told: Vec<Vec<NodeId>> = network
        .log
        .iter()
        .filter_map(|(_, server, event)| match event {
            Event::PathSelected { path, .. } | Event::PathSwitched { path, .. } if *server == at(0, 0) => {
                Some(path.servers.clone())
            }
            _ => None,
        })
        .collect();
    // After the silence it may take one of the two shortest ways while the others learn, and then
    // the other.
    assert_eq!(told[..3], [&original[..], &around, &original]);
    assert_eq!(told.last(), Some(&network.path_of(flow)));
    assert!((4..=5).contains(&told.len()), "{told:?}");
    let reasons: Vec<SwitchReason> = network
        .log
        .iter()
        .filter(|(at, _, _)| *at < killed)
        .filter_map(|(_, _, event)| match event {
            Event::PathSwitched { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [SwitchReason::Failure, SwitchReason::Recovery]);
    let host = network.host(at(0, 0)).unwrap();
    assert_ne!(host.protocol.path_of(&network.flows[flow].flow), 0);
}

#[test]
fn a_packet_at_the_end_of_a_dead_cable_is_rerouted_there_before_anybody_is_told() {
    for (spec, source, destination) in [(TESTBED, at(0, 0), at(4, 3)), (DEEP, 0, 41)] {
        let mut network = network(spec);
        let flow = network.begin(source, destination, 1, 2);
        network.run(2.0);
        let path = network.path_of(flow);
        // Both ends of each cable on the way see it; nobody else does within ten milliseconds and
        // one hop.
        for pair in path.windows(2) {
            let ports = network.configuration(pair[0]).ports;
            let by = ports.iter().find(|port| {
                port.neighbours
                    .iter()
                    .any(|neighbour| neighbour.server == pair[1])
            });
            let port = by.unwrap().port;
            if port == 0 {
                continue;
            }
            network.pull_cable(pair[0], port);
            network.run(0.0101);
            for (near, far) in [(source, destination), (destination, source)] {
                let flow = network.begin(near, far, 3, 4);
                network.run(0.00001);
                assert!(
                    network.flows_well(flow),
                    "{near} to {far}: {:?}",
                    network.path_of(flow)
                );
            }
            network.plug_cable(pair[0], port);
            network.run(2.0);
        }
        assert_eq!(drops(&network, DropReason::TtlExpired), 0);
    }
}

#[test]
fn a_flapping_cable_costs_a_bounded_number_of_computations_and_messages() {
    let mut network = network(TESTBED);
    network.run(2.0);
    let count = |network: &Network, server, what: &str| {
        let inspection = network.inspect(server);
        let rows = &inspection.section("counts").unwrap().rows;
        let row = rows.iter().find(|row| row[0] == Cell::Text(what.to_owned()));
        match row.map(|row| &row[1]) {
            Some(Cell::Count(count)) => *count,
            _ => 0,
        }
    };
    let sequence = |network: &Network, server: NodeId| {
        let inspection = network.inspect(server);
        let section = inspection.section("link-state").unwrap();
        match section.rows[server as usize][1] {
            Cell::Count(sequence) => sequence,
            _ => 0,
        }
    };
    let (computed, advertised) = (
        count(&network, 10, "table computed"),
        sequence(&network, at(0, 3)),
    );
    for flap in 0..1000 {
        if flap % 2 == 0 {
            network.pull_cable(at(0, 3), 1);
        } else {
            network.plug_cable(at(0, 3), 1);
        }
        network.run(0.005);
    }
    // Five seconds: at most 20 advertisements a second from either end, and 50 tables a second
    // anywhere.
    assert!(sequence(&network, at(0, 3)) - advertised <= 5 * 20 + 7);
    assert!(count(&network, 10, "table computed") - computed <= 5 * 50 + 2);
    network.run(3.0);
    let whole = all_paths(&mut network);
    assert_eq!(whole, model_paths(&network, 1));
}

#[test]
fn a_slice_runs_over_the_servers_that_are_there() {
    // Three of the five DCell_0s.
    let present: Vec<NodeId> = (0..12).collect();
    let mut network = Network::new(Options {
        present: Some(present),
        ..options(TESTBED)
    })
    .unwrap();
    network.run(2.0);
    let paths = all_paths(&mut network);
    assert_eq!(paths.len(), 12 * 11);
    assert!(paths.values().all(Option::is_some), "{paths:?}");
    network.end_flows();
    network.pull_cable(0, 1);
    network.run(2.0);
    assert!(all_paths(&mut network).values().all(Option::is_some));
}

#[test]
fn a_lost_message_or_a_deaf_port_delays_and_does_not_break() {
    let mut network = network(TESTBED);
    network.loss = 0.2;
    network.run(5.0);
    network.pull_cable(at(0, 3), 1);
    network.run(3.0);
    network.loss = 0.0;
    network.run(2.0);
    assert_eq!(all_paths(&mut network), model_paths(&network, 1));
    // [1,0] receives nothing from [0,0] any more: the cable works in one direction only, so it
    // counts as dead in both.
    network.end_flows();
    network.deaf.push((at(1, 0), 1));
    network.run(8.0);
    let flow = network.begin(at(0, 0), at(1, 0), 9, 9);
    network.run(0.1);
    assert!(network.flows_well(flow), "{:?}", network.path_of(flow));
    assert!(network.path_of(flow).len() > 2);
}

#[test]
fn forged_answers_and_strangers_are_refused_and_counted() {
    let mut network = network(TESTBED);
    let flow = network.begin(0, 19, 1, 2);
    network.run(2.0);
    let events = network.log.len();
    let neighbour = port_ip(1, 0).unwrap();
    let answer = |servers: &[NodeId]| {
        Message::Answer(Answer {
            number: 1,
            arrived: true,
            servers: servers.to_vec(),
        })
        .emit()
    };
    network.inject(0, 0, neighbour, &answer(&[0, 1, 19]));
    network.inject(0, 0, neighbour, &answer(&[7, 8]));
    network.inject(0, 0, port_ip(9, 0).unwrap(), &answer(&[0, 19]));
    network.inject(0, 0, neighbour, b"hello");
    assert_eq!(network.log.len(), events, "no event comes of them");
    assert_ne!(network.path_of(flow), [0, 1, 19]);
    let inspection = network.inspect(0);
    let counts: Vec<String> = inspection
        .section("counts")
        .unwrap()
        .column("what")
        .map(|cell| match cell {
            Cell::Text(what) => what.clone(),
            other => format!("{other:?}"),
        })
        .collect();
    for reason in ["answer out of place", "stranger", "malformed"] {
        assert!(
            counts.contains(&format!("message refused: {reason}")),
            "{counts:?}"
        );
    }
    // A packet to nobody, and one that is no longer a server of the run.
    let nowhere = Flow::new(virtual_ip(0).unwrap(), virtual_ip(999).unwrap(), 6, 1, 1);
    network.send_once(0, nowhere);
    assert_eq!(drops(&network, DropReason::NoPath), 1);
}

fn rules(network: &Network) -> Box<dyn TableRules> {
    let servers = network.servers().into_iter();
    let servers = servers.map(|server| network.configuration(server)).collect();
    (ENTRY.forwardings[0].rules)(&RunPlan { servers }).unwrap()
}

#[test]
fn a_server_may_write_its_own_neighbours_and_ways_and_nothing_else() {
    let network = network(TESTBED);
    let rules = rules(&network);
    let written = |table: &str| {
        let initial = rules.initial(0).into_iter();
        initial
            .filter(|update| update.table == table)
            .collect::<Vec<TableUpdate>>()
    };
    assert_eq!((written(NST).len(), written(FIB).len()), (4, 19));
    for update in written(NST).iter().chain(&written(FIB)) {
        assert_eq!(rules.check(0, update), Ok(()));
    }
    let hop = NextHop::read_from_bytes(&written(NST)[0].value.as_ref().unwrap().0).unwrap();
    assert!(
        rules.check(0, &NextHop { up: 0, ..hop }.update(0)).is_ok(),
        "its neighbour is dead"
    );
    for (wrong, number) in [
        (hop, 1),
        (hop, 4),
        (NextHop { up: 2, ..hop }, 0),
        (NextHop { ifindex: 99, ..hop }, 0),
    ] {
        assert!(rules.check(0, &wrong.update(number)).is_err());
    }
    let good = Route::read_from_bytes(&written(FIB)[5].value.as_ref().unwrap().0).unwrap();
    assert!(rules.check(0, &good.update(7)).is_ok());
    let wrong = [
        Route { hop: 4, ..good },
        Route {
            flags: ALL_FLAGS + 1,
            ..good
        },
        Route {
            alternative_hops: [4, 4],
            ..good
        },
        Route {
            alternative_cells: [9, 9],
            ..good
        },
        Route {
            proxies: [0, 0],
            ..good
        },
        Route {
            proxies: [20, 20],
            ..good
        },
    ];
    for route in wrong {
        assert!(rules.check(0, &route.update(7)).is_err(), "{route:?}");
    }
    for destination in [0, 20, u32::MAX] {
        assert!(
            rules.check(0, &good.update(destination)).is_err(),
            "to {destination}"
        );
    }
    assert!(rules.check(77, &good.update(7)).is_err());
    assert!(
        rules
            .check(0, &TableUpdate::set("config", &[0; 4], good.as_bytes()))
            .is_err()
    );
}
