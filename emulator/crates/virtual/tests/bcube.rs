//! BSR in virtual time, on 16 and 64 servers. `[bcube §4, §7.5]`

use crate::cases::short_or_long;
use crate::network;

use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_dataplane::address::{port_ip, server_of, virtual_ip};
use cubeyard_dataplane::bcube::gateways::nearest_first;
use cubeyard_dataplane::bcube::message::Message;
use cubeyard_dataplane::flow::Flow;
use cubeyard_routing::FailureKind;
use cubeyard_routing::random::Draws;
use cubeyard_topology::NodeId;
use cubeyard_virtual::FlowState;
use network::{Bcube, RATE_BITS_PER_SEC};
use proptest::prelude::*;

/// Whether two paths share no server but their ends.
fn disjoint(a: &[NodeId], b: &[NodeId]) -> bool {
    a[1..a.len() - 1].iter().all(|server| !b.contains(server))
}

fn aggregate_bits_per_sec(network: &Bcube) -> f64 {
    network.flows.iter().map(|flow| flow.rate_bits_per_sec).sum()
}

/// All servers to all others.
fn all_to_all(network: &mut Bcube) {
    let servers = network.shape.servers();
    for source in 0..servers {
        for destination in (0..servers).filter(|&destination| destination != source) {
            network.flow(source, destination, (source * servers + destination) as u16);
        }
    }
}

/// Each server to another one, no two to the same.
fn permutation(network: &mut Bcube, seed: u64) {
    let mut targets: Vec<NodeId> = (0..network.shape.servers()).collect();
    Draws::new(seed).shuffle(&mut targets);
    for (source, destination) in (0..).zip(targets) {
        if source != destination {
            network.flow(source, destination, source as u16);
        }
    }
}

#[test]
fn two_flows_of_one_pair_take_disjoint_paths_and_a_dead_relay_moves_only_its_own() {
    // §7.5: C1 and C2 from 00 to 13; server 03 is shut down.
    let mut network = Bcube::whole(4, 1, 1);
    let flows = [network.flow(0, 7, 0), network.flow(0, 7, 1)];
    let others = [network.flow(5, 10, 2), network.flow(12, 9, 3)];
    network.run(30.0);
    let before = flows.map(|flow| network.path_of(flow));
    assert!(disjoint(&before[0], &before[1]), "{before:?}");
    assert!(before.contains(&vec![0, 3, 7]) && before.contains(&vec![0, 4, 7]));
    assert!(aggregate_bits_per_sec(&network) > 3.99 * RATE_BITS_PER_SEC);
    assert_eq!(network.switches(Duration::ZERO), []);

    let killed = network.now();
    network.kill(3);
    network.run(3.5);
    let moved = usize::from(before[1] == [0, 3, 7]);
    assert_eq!(
        network.path_of(flows[moved]),
        [0, 4, 7],
        "onto the cached path within three seconds and a bit"
    );
    assert_eq!(network.switches(killed), [network.flows[flows[moved]].flow]);
    assert!(network.flows_well(flows[moved]));

    network.run(16.0);
    let after = flows.map(|flow| network.path_of(flow));
    assert!(
        disjoint(&after[0], &after[1]),
        "a new parallel path was found: {after:?}"
    );
    assert!(after.contains(&vec![0, 4, 7]));
    assert!(aggregate_bits_per_sec(&network) > 3.99 * RATE_BITS_PER_SEC);
    let touched = network.switches(killed);
    assert!(
        others
            .iter()
            .all(|&other| !touched.contains(&network.flows[other].flow))
    );
}

#[test]
fn a_pulled_cable_costs_a_flow_less_than_a_tenth_of_a_second_wherever_it_is() {
    // The path 00, 03, 13: the source's own cable, the relay's on either side, the destination's.
    for (server, port) in [(0, 0), (3, 0), (3, 1), (7, 1)] {
        let mut network = Bcube::whole(4, 1, 2);
        let flows = [network.flow(0, 7, 0), network.flow(0, 7, 1)];
        network.run(5.0);
        let through = flows
            .into_iter()
            .find(|&flow| network.path_of(flow) == [0, 3, 7])
            .unwrap();
        network.pull_cable(server, port);
        network.run(1.0);
        assert!(network.flows_well(through));
        let gap = network.flows[through].longest_gap;
        assert!(
            gap < Duration::from_millis(100),
            "cable of {server}, port {port}: {gap:?}"
        );
    }
}

/// An address outside the virtual network.
const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);

#[test]
fn what_goes_outside_takes_the_nearest_gateway_and_another_when_that_dies() {
    // Every server but the gateways 00 and 11 sends one flow out. [bcube §5.3]
    let gateways = [0, 5];
    let mut network = Bcube::with_gateways(4, 1, 5, &gateways);
    let sources: Vec<NodeId> = (0..16).filter(|server| !gateways.contains(server)).collect();
    let flows: Vec<usize> = sources
        .iter()
        .map(|&source| network.flow_outwards(source, OUTSIDE, source as u16))
        .collect();
    network.run(5.0);
    for (&source, &flow) in sources.iter().zip(&flows) {
        let order = nearest_first(&network.shape, source, &gateways);
        let path = network.path_of(flow);
        assert_eq!(path.last(), order.first(), "server {source}");
        assert!(network.flows_well(flow));
        let hops = |gateway: &NodeId| {
            (0..2)
                .filter(|&level| network.shape.digit(source, level) != network.shape.digit(*gateway, level))
                .count()
        };
        assert_eq!(Some(hops(&order[0])), gateways.iter().map(hops).min());
    }
    let by_gateway = |network: &Bcube, gateway| {
        let ends = flows.iter().map(|&flow| network.path_of(flow).pop());
        ends.filter(|end| *end == Some(gateway)).count()
    };
    assert_eq!(gateways.map(|gateway| by_gateway(&network, gateway)), [7, 7]);

    network.kill(5);
    network.run(12.0);
    assert!(flows.iter().all(|&flow| network.flows_well(flow)));
    assert_eq!(by_gateway(&network, 0), 14);
    let switched = network.switches(Duration::ZERO).len();
    network.run(60.0);
    assert_eq!(by_gateway(&network, 0), 14, "and nobody swings back");
    assert_eq!(network.switches(Duration::ZERO).len(), switched);
}

#[test]
fn a_gateway_speaks_for_what_is_outside_and_nobody_else_does() {
    let inwards = Flow::new(OUTSIDE, virtual_ip(7).unwrap(), 6, 443, 40_000);
    for (server, sends) in [(5, true), (6, false)] {
        let mut network = Bcube::with_gateways(4, 1, 6, &[5]);
        network.send_once(server, inwards);
        network.run(1.0);
        let flows = network.known_flows(server);
        assert_eq!(
            flows.iter().any(|flow| flow.flow == inwards && flow.path_id != 0),
            sends
        );
    }
}

#[test]
fn what_recovers_is_used_again() {
    let mut network = Bcube::whole(4, 1, 3);
    let flows = [network.flow(0, 7, 0), network.flow(0, 7, 1)];
    network.run(12.0);
    network.kill(3);
    network.pull_cable(0, 1);
    network.run(30.0);
    assert!(flows.iter().all(|&flow| network.flows_well(flow)));
    network.revive(3).unwrap();
    network.plug_cable(0, 1);
    network.run(40.0);
    let mut paths = flows.map(|flow| network.path_of(flow));
    paths.sort();
    assert_eq!(
        paths.each_ref().map(Vec::len),
        [3, 3],
        "both on two hops again: {paths:?}"
    );
    assert!(disjoint(&paths[0], &paths[1]));
    assert!((0..16).all(|server| network.dead_to(server).is_empty()));
    assert_eq!(network.failed_links(0), 0);
}

#[test]
fn all_to_all_loads_every_link_alike_and_stays_so() {
    let mut network = Bcube::whole(4, 1, 4);
    all_to_all(&mut network);
    network.run(60.0);
    let load = network.load();
    assert!(load.iter().all(|&flows| flows == 12), "{load:?}");
    assert_eq!(network.switches(Duration::ZERO).len(), 0);
    // n/(n-1) (N-1) = 20 links' worth. [bcube Theorem 6]
    assert!(aggregate_bits_per_sec(&network) > 19.9 * RATE_BITS_PER_SEC);
    let probings = |server: NodeId| {
        let flows = network.known_flows(server);
        flows.iter().map(|flow| flow.probings).sum::<u64>()
    };
    let per_flow = (0..16).map(probings).sum::<u64>() as f64 / 240.0;
    assert!(
        (4.0..=6.0).contains(&per_flow),
        "every 10 to 15 seconds: {per_flow}"
    );
}

#[test]
fn adaptation_evens_out_a_load_that_chance_made_uneven() {
    for seed in 0..short_or_long(1, 4) {
        let mut network = Bcube::whole(4, 2, seed);
        permutation(&mut network, seed);
        network.run(2.0);
        let (rate, worst) = (aggregate_bits_per_sec(&network), network.load().into_iter().max());
        network.run(120.0);
        let later = aggregate_bits_per_sec(&network);
        assert!(later >= 1.05 * rate, "seed {seed}: {rate} then {later}");
        assert!(network.load().into_iter().max() <= worst);
        let settled = network.now();
        network.run(60.0);
        let restless = network.switches(settled).len();
        assert!(
            restless <= 64,
            "seed {seed}: {restless} switches of 64 flows in the last minute"
        );
    }
}

#[test]
fn what_answers_a_transfer_keeps_no_path_from_another() {
    // The complete graph of 00, 01 and 10: four transfers that can have four disjoint ways, each
    // answered by next to nothing. [bcube §3.4, Theorem 4]
    let transfers = [(0, 1), (0, 4), (1, 4), (4, 1)];
    for seed in 0..short_or_long(3, 12) {
        let mut network = Bcube::whole(4, 1, seed);
        let sent: Vec<usize> = (0..)
            .zip(transfers)
            .map(|(number, (source, destination))| network.flow(source, destination, number))
            .collect();
        for (number, (source, destination)) in (4..).zip(transfers) {
            let answer = network.flow(destination, source, number);
            network.flows[answer].most_bits_per_sec = 0.005 * RATE_BITS_PER_SEC;
        }
        // Every flow has looked for a better path once.
        network.run(16.0);
        for &flow in &sent {
            let (rate, path) = (network.flows[flow].rate_bits_per_sec, network.path_of(flow));
            assert!(
                rate > 0.95 * RATE_BITS_PER_SEC,
                "seed {seed}: {rate} along {path:?}"
            );
        }
    }
}

#[test]
fn lost_control_messages_cost_no_flow_its_path() {
    let mut network = Bcube::whole(4, 1, 6);
    network.loss = 0.01;
    permutation(&mut network, 6);
    network.run(60.0);
    assert!((0..network.flows.len()).all(|flow| network.flows_well(flow)));
    let gap = network.flows.iter().map(|flow| flow.longest_gap).max();
    assert!(gap <= Some(Duration::from_millis(10)), "{gap:?}");
}

#[test]
fn a_silent_server_is_dead_to_its_neighbours_after_three_seconds_and_to_nobody_else() {
    let mut network = Bcube::whole(4, 1, 7);
    network.run(5.0);
    network.kill(3);
    network.run(1.9);
    assert!(network.dead_to(0).is_empty());
    network.run(1.2);
    for server in (0..16).filter(|&server| server != 3) {
        let is_neighbour = [0, 1, 2, 7, 11, 15].contains(&server);
        assert_eq!(
            network.dead_to(server),
            if is_neighbour { vec![3] } else { vec![] }
        );
    }
}

#[test]
fn a_cable_that_carries_nothing_in_one_direction_is_dead_in_both() {
    let mut network = Bcube::whole(4, 1, 7);
    network.run(5.0);
    network.deaf.push((3, 0));
    network.run(7.0);
    assert_eq!(network.dead_to(3), [0, 1, 2]);
    assert!([0, 1, 2].iter().all(|&server| network.dead_to(server) == [3]));
    assert!(network.dead_to(7).is_empty());
    network.deaf.clear();
    network.run(1.5);
    assert!((0..4).all(|server| network.dead_to(server).is_empty()));
}

#[test]
fn the_same_seed_is_the_same_history() {
    let history = |seed| {
        let mut network = Bcube::whole(4, 1, seed);
        network.loss = 0.05;
        permutation(&mut network, 1);
        network.run(10.0);
        network.kill(5);
        network.run(20.0);
        format!("{:?}", network.log)
    };
    assert_eq!(history(1), history(1));
    assert_ne!(history(1), history(2));
}

#[test]
fn five_servers_of_a_bcube_3_forward_through_the_middle_one() {
    // §7.4: 0000, 0001, 0010, 0100, 1000 of a BCube_3 with n = 4; all traffic goes through 0000.
    let mut network = Bcube::slice(4, 3, 8, vec![0, 1, 4, 16, 64]);
    let flows = [(1, 16), (16, 1), (4, 64), (64, 4)];
    let flows: Vec<_> = (0..)
        .zip(flows)
        .map(|(i, (from, to))| network.flow(from, to, i))
        .collect();
    network.run(15.0);
    for flow in flows {
        assert!(network.flows_well(flow));
        assert_eq!(network.path_of(flow)[1], 0);
        assert_eq!(network.flows[flow].longest_gap, Duration::from_millis(10));
    }
}

#[test]
fn a_flow_that_falls_silent_is_forgotten() {
    let mut network = Bcube::whole(4, 1, 9);
    let (src, dst) = (virtual_ip(2).unwrap(), virtual_ip(9).unwrap());
    network.flow(2, 9, 0);
    let silent = Flow::new(src, dst, 17, 1, 2);
    network.send_once(2, silent);
    network.run(59.0);
    assert_eq!(network.known_flows(2).len(), 2);
    network.run(20.0);
    let left = network.known_flows(2);
    assert_eq!(left.len(), 1);
    assert_ne!(left[0].flow, silent);
}

#[test]
fn forged_messages_change_nothing() {
    let mut network = Bcube::whole(4, 1, 10);
    let flow = network.flow(0, 7, 0);
    network.run(5.0);
    let (path, before) = (network.path_of(flow), network.dead_to(0));
    let hello = |sender| {
        Message::Hello {
            sender,
            hears_you: false,
        }
        .to_bytes()
    };
    // Hellos of a stranger, of a neighbour at another port, and of a neighbour that claims another
    // id.
    network.inject(0, 0, port_ip(5, 0).unwrap(), &hello(5));
    network.inject(0, 1, port_ip(3, 0).unwrap(), &hello(3));
    network.inject(0, 0, port_ip(3, 0).unwrap(), &hello(2));
    assert_eq!(network.path_of(flow), path);
    assert_eq!(network.dead_to(0), before);
    assert_eq!(network.refused(0), 3);
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]

    /// For any silent failures, every flow whose ends are still connected flows again after half a
    /// minute: three seconds of silence, an adaptation, a few rounds of probing.
    #[test]
    fn a_flow_finds_a_way_wherever_there_is_one(
        large in any::<bool>(), seed in any::<u64>(), kind in 0..3usize, ratio in 0.0..0.25f64
    ) {
        let mut network = Bcube::whole(4, if large { 2 } else { 1 }, seed);
        permutation(&mut network, seed);
        network.run(3.0);
        let kind = [FailureKind::Server, FailureKind::Switch, FailureKind::Link][kind];
        let topology = network.topology.clone();
        network.failures.add_random(&topology, kind, ratio, seed);
        let dead: Vec<NodeId> = network.failures.nodes().iter().filter(|&node| topology.is_server(node)).collect();
        dead.iter().for_each(|&server| network.kill(server));
        network.run(30.0);
        for flow in 0..network.flows.len() {
            let FlowState { source, flow: tuple, .. } = network.flows[flow];
            let destination = server_of(tuple.dst.into()).unwrap();
            let expected = network.connected(source, destination);
            prop_assert_eq!(network.flows_well(flow), expected, "{} to {}", source, destination);
        }
        // And all come back.
        let links: Vec<u32> = network.failures.links().iter().collect();
        links.into_iter().for_each(|link| network.failures.recover_link(link));
        let nodes: Vec<NodeId> = network.failures.nodes().iter().collect();
        for node in nodes {
            if topology.is_server(node) { network.revive(node).unwrap() } else { network.failures.recover_node(node) }
        }
        network.run(5.0);
        prop_assert!((0..topology.server_count()).all(|server| network.dead_to(server).is_empty()));
    }

    /// For any bytes from a neighbour: no panic, no unbounded table, and the server keeps working.
    #[test]
    fn any_messages_from_a_neighbour_leave_a_server_alive(
        messages in proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..110), 0u8..5), 0..200)
    ) {
        let mut network = Bcube::whole(4, 1, 11);
        let flow = network.flow(0, 7, 0);
        network.run(1.0);
        for (mut bytes, kind) in messages {
            bytes.splice(0..bytes.len().min(3), [0xcb, 0x01, kind]);
            network.inject(0, 0, port_ip(3, 0).unwrap(), &bytes);
        }
        network.run(20.0);
        prop_assert!(network.flows_well(flow));
        prop_assert!(network.failed_links(0) <= 4096);
    }
}
