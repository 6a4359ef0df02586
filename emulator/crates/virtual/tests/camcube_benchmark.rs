//! The benchmark service in virtual time: the paths of its modes, what they carry, and what they
//! answer. `[camcube §3.1, §6]`

use std::time::Duration;

use cubeyard_dataplane::inspection::Cell;
use cubeyard_routing::PathSet;
use cubeyard_routing::torus::{JoinTree, Ties, Ways, disjoint_paths, join_tree, link_stress, saturated_flow};
use cubeyard_topology::NodeId;
use cubeyard_virtual::Network;

use crate::torus;
use torus::{answers, name, shape_of, torus};

const RATE_BITS_PER_SEC: f64 = 20e6;
const BYTES: u64 = 1400;
/// Headers of Ethernet, IPv4, UDP and the services'.
const WIRE_BYTES: u64 = BYTES + 42 + 16;

/// The throughput of a flood of half a second, in links' rates, and the packets on all links per
/// delivered packet.
fn flood(network: &mut Network, source: NodeId, to: NodeId, mode: &str) -> (f64, f64) {
    let before: u64 = network.service_packets.iter().sum();
    let since = network.now();
    let target = name(&network.topology, to);
    network.tell(
        source,
        "benchmark",
        format!("flood {target} {mode} 500 {BYTES}").as_bytes(),
    );
    network.run(1.5);
    let said = answers(network, since);
    assert_eq!(said.len(), 1, "{said:?}");
    let words: Vec<&str> = said[0].1.split_whitespace().collect();
    let (packets, micros): (u64, u64) = (words[1].parse().unwrap(), words[3].parse().unwrap());
    assert_eq!(words[2].parse::<u64>().unwrap(), packets * BYTES);
    let carried: u64 = network.service_packets.iter().sum::<u64>() - before;
    let bits = 8.0 * ((packets - 1) * WIRE_BYTES) as f64;
    (
        bits / (micros as f64 / 1e6) / RATE_BITS_PER_SEC,
        carried as f64 / packets as f64,
    )
}

/// Fig. 1: the throughput of the routing service and of disjoint paths equals the fluid model's, by
/// distance.
#[test]
fn disjoint_paths_gain_as_much_as_the_model_says() {
    let mut network = torus([3, 3, 3], RATE_BITS_PER_SEC);
    let shape = shape_of(&network);
    for (to, gain) in [(1, 5.0), (4, 2.0), (13, 1.0)] {
        let mut paths = PathSet::default();
        disjoint_paths(&shape, 0, to, &mut paths);
        let base = saturated_flow(&shape, 0, to, Ties::Up, Ways::Drawn).delivered;
        assert!((paths.len() as f64 / base - gain).abs() < 1e-9, "{to}");
        let (routed, routed_hops) = flood(&mut network, 0, to, "routed");
        let (disjoint, hops) = flood(&mut network, 0, to, "disjoint");
        assert!((0.95..1.02).contains(&(routed / base)), "{to}: {routed}");
        assert!(
            (0.95..1.02).contains(&(disjoint / paths.len() as f64)),
            "{to}: {disjoint}"
        );
        assert!(
            (routed_hops - f64::from(shape.distance(0, to))).abs() < 1e-9,
            "{to}: {routed_hops}"
        );
        let mean = paths.iter().map(<[u32]>::len).sum::<usize>() as f64 / paths.len() as f64;
        assert!((hops - mean).abs() < 0.05 * mean, "{to}: {hops}");
    }
}

/// Fig. 6: a server returns as much as its neighbours' links carry, for every way of deciding the
/// next hop.
#[test]
fn a_server_sends_back_all_that_its_six_links_bring() {
    for mode in ["bounce", "keys-1", "keys-2", "keys-3", "keys-16"] {
        let mut network = torus([3, 3, 3], RATE_BITS_PER_SEC);
        let since = network.now();
        let neighbours = [4, 22, 10, 16, 12, 14];
        for neighbour in neighbours {
            network.tell(
                neighbour,
                "benchmark",
                format!("flood 1,1,1 {mode} 500 {BYTES}").as_bytes(),
            );
        }
        network.run(1.5);
        let said = answers(&network, since);
        assert_eq!(said.len(), 6, "{mode}: {said:?}");
        let at_rate = 0.5 * RATE_BITS_PER_SEC / 8.0 / WIRE_BYTES as f64;
        for (_, said) in &said {
            let packets: f64 = said.split_whitespace().nth(1).unwrap().parse().unwrap();
            assert!((0.97..1.05).contains(&(packets / at_rate)), "{mode}: {said}");
            assert!(said.ends_with(" from 1,1,1"), "{mode}: {said}");
        }
    }
}

/// Table 1, first column: one packet from every server by the routing service.
#[test]
fn one_packet_of_every_server_takes_as_many_hops_as_it_is_away() {
    let mut network = torus([3, 3, 3], 1e9);
    let since = network.now();
    for server in 1..27 {
        network.tell(server, "benchmark", b"send 0,0,0 routed 1 64");
    }
    network.run(1.0);
    assert_eq!(answers(&network, since).len(), 26);
    let carried: Vec<u32> = network
        .service_packets
        .iter()
        .map(|&packets| packets as u32)
        .collect();
    let stress = link_stress(&carried);
    assert_eq!(stress.packets, 54);
    assert!((26..=54).contains(&stress.links_used));
    // By port and service, the same.
    let by_port: u64 = network
        .servers()
        .into_iter()
        .map(|server| {
            let inspection = network.inspect(server);
            let rows = &inspection.section("service-links").unwrap().rows;
            rows.iter()
                .map(|row| match (&row[0], &row[3]) {
                    (Cell::Text(service), Cell::Count(packets)) if service == "benchmark" => *packets,
                    other => panic!("{other:?}"),
                })
                .sum::<u64>()
        })
        .sum();
    assert_eq!(by_port, 54);
}

/// Fig. 2: joins by the routing service, whose links are polled in a fixed order, leave the model's
/// tree behind; data reach all members through it.
#[test]
fn joins_by_the_routing_service_make_the_models_base_tree() {
    let mut network = torus([4, 4, 4], 1e9);
    let shape = shape_of(&network);
    let members = [63, 21, 5, 40, 17, 33, 62, 2];
    for member in members {
        network.tell(member, "distribution", b"join-routed 2 0,0,0");
        network.run(0.01);
    }
    let base: JoinTree = join_tree(&shape, 0, &members, |at| {
        let ways = (0..3).map(|axis| (axis, shape.nearer(at, 0, axis, Ties::Up)));
        let way = ways.into_iter().find(|(_, nearer)| *nearer != [false, false]);
        way.map(|(axis, nearer)| (axis, nearer[0])).unwrap()
    });
    for (directed, packets) in (0u32..).zip(&network.service_packets) {
        let edge = base.edges.iter().any(|(_, _, down)| *down == directed ^ 1);
        assert_eq!(*packets, u64::from(edge), "link {directed}");
    }
    let since = network.now();
    network.tell(
        0,
        "distribution",
        &[&b"send 2 0,0,0\n"[..], &[7; 20_000]].concat(),
    );
    network.loss = 0.02;
    network.run(10.0);
    let said = answers(&network, since);
    assert_eq!(said.len(), members.len(), "{said:?}");
    assert!(said.iter().all(|(_, said)| said.ends_with(" ok")));
}

/// Fig. 3: lookups report how many links they crossed.
#[test]
fn lookups_count_the_links_that_they_cross() {
    let mut network = torus([4, 4, 4], 1e9);
    let shape = shape_of(&network);
    network.tell(0, "cache", b"set colour blue");
    network.run(0.1);
    let mut ask = |server: NodeId, message: &[u8]| {
        let since = network.now();
        network.tell(server, "cache", message);
        network.run(0.1);
        let said = answers(&network, since);
        assert_eq!(said.len(), 1, "{said:?}");
        let hops = said[0].1.strip_prefix("HOPS colour ").unwrap();
        hops.parse::<u32>().unwrap()
    };
    let straight: Vec<u32> = (0..64)
        .map(|server| ask(server, b"hops colour straight"))
        .collect();
    let primary = (0u32..).zip(&straight).find(|(_, hops)| **hops == 0).unwrap().0;
    for (server, hops) in (0..).zip(&straight) {
        assert_eq!(*hops, shape.distance(server, primary), "no copy is anywhere yet");
    }
    // The first lookups fill the copies: then each is one hop from one at most, or nearer to the
    // primary.
    let first: Vec<u32> = (0..64).map(|server| ask(server, b"hops colour")).collect();
    let again: Vec<u32> = (0..64).map(|server| ask(server, b"hops colour")).collect();
    assert!(
        first.iter().zip(&straight).any(|(own, straight)| own > straight),
        "a miss is a detour"
    );
    assert!(again.iter().zip(&first).all(|(again, first)| again <= first));
    let mean = |hops: &[u32]| f64::from(hops.iter().sum::<u32>()) / 64.0;
    assert!(
        mean(&again) < 0.6 * mean(&straight),
        "{} {}",
        mean(&again),
        mean(&straight)
    );
    // By the routing service a copy on the way answers too.
    let met: Vec<u32> = (0..64)
        .map(|server| ask(server, b"hops colour straight"))
        .collect();
    assert!(mean(&met) < mean(&straight));
    let miss = network.now();
    network.tell(5, "cache", b"hops other");
    network.run(0.1);
    assert_eq!(answers(&network, miss)[0].1, "MISS other");
}

#[test]
fn orders_that_make_no_sense_are_refused_with_what_to_say() {
    let mut network = torus([3, 3, 3], 1e9);
    for (order, said) in [
        (
            &b"flood 1,1,1 routed 500"[..],
            "say flood X,Y,Z MODE MILLIS BYTES",
        ),
        (b"flood 0,0,0 routed 500 1400", "name another server's coordinate"),
        (b"flood 3,0,0 routed 500 1400", "name another server's coordinate"),
        (b"flood 1,1,1 fast 500 1400", "MODE is fast"),
        (b"flood 1,1,1 keys-0 500 1400", "MODE is keys-0"),
        (b"flood 1,1,1 keys-1 500 1400", "needs a living neighbour"),
        (b"flood 0,0,1 bounce 0 1400", "0 is out of range: give 1 to 60000"),
        (b"flood 0,0,1 bounce 70000 1400", "out of range"),
        (b"flood 0,0,1 bounce 100 11", "give 12 to"),
        (b"flood 0,0,1 keys-16 100 12", "give 60 to"),
        (b"send 0,0,1 routed 1 70000", "out of range"),
        (b"send 0,0,1 routed 100001 64", "give 1 to 100000"),
        (b"\xff", "say flood"),
    ] {
        let since = network.now();
        network.tell(0, "benchmark", order);
        network.run(0.05);
        let answers = answers(&network, since);
        assert_eq!(answers.len(), 1, "{said}");
        assert!(
            answers[0].1.starts_with("error: ") && answers[0].1.contains(said),
            "{answers:?}"
        );
    }
    let since = network.now();
    for _ in 0..17 {
        network.tell(0, "benchmark", b"flood 0,0,1 routed 1000 1400");
    }
    network.run(Duration::from_millis(50).as_secs_f64());
    assert_eq!(answers(&network, since).len(), 1, "16 orders at a time");
}
