//! Services that users write, with the whole protocol in virtual time: keys of failed servers, and
//! misbehaving services next to well-behaved ones.

use std::collections::BTreeMap;

use cubeyard_dataplane::camcube::ENTRY;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::inspection::Cell;
use cubeyard_dataplane::settings::Given;
use cubeyard_sandbox::{Module, ProcessService, UserService};
use cubeyard_topology::{NodeId, TopologySpec, Torus3dSpec};
use cubeyard_virtual::{Network, Options};
use proptest::prelude::*;

const GREETING: &str = include_str!("../../../../backend/cubeyard/cli/service_templates/greeting.wat");
const SERVERS: NodeId = 27;

/// The misbehaviour of a bad service in each millisecond.
const BAD: [(&str, &str); 9] = [
    ("loops", "(loop $l (br $l))"),
    ("traps", "unreachable"),
    (
        "grows its memory",
        "(loop $l (drop (memory.grow (i32.const 1))) (br $l))",
    ),
    ("gives wild pointers", "(drop (call $answer (i32.const -8) (i32.const 100)))"),
    (
        "names a million keys",
        "(loop $l
            (drop (call $next (local.get $i)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 1000000))))",
    ),
    (
        "takes a new queue for each packet",
        "(drop (call $transmit (i32.const 0) (i32.const 1400) (i32.const 0x010101)))",
    ),
    (
        "floods keys",
        "(loop $l
            (drop (call $transmit (i32.const 0) (i32.const 1400) (i32.and (local.get $i) (i32.const 0x020202))))
            (local.set $i (i32.add (local.get $i) (i32.const 0x10301)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 0x200000))))",
    ),
    (
        "floods links",
        "(loop $l
            (drop (call $send (local.get $i) (i32.const 0) (i32.const 1400)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 6))))",
    ),
    (
        "answers",
        "(loop $l
            (drop (call $answer (i32.const 0) (i32.const 4096)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $l (i32.lt_u (local.get $i) (i32.const 16))))",
    ),
];

fn bad(name: &str, body: &str) -> String {
    let new_queues = u8::from(name.contains("queue"));
    format!(
        r#"(module
            (import "cubeyard" "transmit" (func $transmit (param i32 i32 i32) (result i32)))
            (import "cubeyard" "next" (func $next (param i32) (result i32)))
            (import "cubeyard" "send" (func $send (param i32 i32 i32) (result i32)))
            (import "cubeyard" "answer" (func $answer (param i32 i32) (result i32)))
            (import "cubeyard" "set_timer" (func $set_timer (param i32)))
            (memory (export "memory") 1)
            (func $act (local $i i32) {body})
            (func (export "buffer") (result i32) (i32.const 0))
            (func (export "F") (param i32 i32) (call $act))
            (global $queue (mut i32) (i32.const 0))
            (func (export "classify") (param i32) (result i32)
                (global.set $queue (i32.add (global.get $queue) (i32.const 1)))
                (select (global.get $queue) (i32.const 0) (i32.const {new_queues})))
            (func (export "deliver") (param i32 i32))
            (func (export "packet") (param i32 i32) (result i32) (call $act) (i32.const 0))
            (func (export "message") (param i32) (call $set_timer (i32.const 1)))
            (func (export "timer") (call $set_timer (i32.const 1)) (call $act)))"#
    )
}

/// A torus on which every server hosts these services, by number from 256 on.
fn torus(modules: &[(&str, &str)], rate_bits_per_sec: f64) -> Network {
    let options = Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec: TopologySpec::Torus3d(Torus3dSpec { x: 3, y: 3, z: 3 }),
        present: None,
        gateways: Vec::new(),
        rate_bits_per_sec,
        settings: Given::new(),
        seed: 1,
    };
    let mut network = Network::new(options).unwrap();
    for (id, (name, text)) in (256..).zip(modules) {
        let module = Module::new(text.as_bytes()).unwrap();
        for server in 0..SERVERS {
            let service = UserService::new(name, &module, network.now()).unwrap();
            network.host_service(server, id, Box::new(service)).unwrap();
        }
    }
    network.run(1.0);
    network
}

/// The answers of one service: by server, sorted.
fn said(network: &Network, service: &str) -> Vec<(NodeId, String)> {
    let answers = network.answers.iter().filter(|(_, _, name, _)| name == service);
    let mut said: Vec<(NodeId, String)> = answers
        .map(|(_, server, _, bytes)| (*server, String::from_utf8(bytes.clone()).unwrap()))
        .collect();
    said.sort();
    said
}

fn counters(network: &Network, service: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for server in 0..SERVERS {
        for row in &network.inspect(server).section("services").unwrap().rows {
            if let [Cell::Text(name), _, Cell::Text(counter), Cell::Count(count)] = &row[..]
                && name == service
            {
                *sums.entry(counter.clone()).or_default() += count;
            }
        }
    }
    sums
}

fn key(server: NodeId) -> String {
    format!("{},{},{}", server % 3, server / 3 % 3, server / 9)
}

/// Every server greets a few others while the words of all are counted; returns the answers of both
/// services.
fn work(network: &mut Network) -> [Vec<(NodeId, String)>; 2] {
    for server in 0..SERVERS {
        for other in [1, 5, 14] {
            let to = key((server + other) % SERVERS);
            network.tell(server, "greeting", format!("{to} from {server}").as_bytes());
        }
        network.tell(
            server,
            "aggregation",
            format!("count 1 0,0,0 full\nword{}", server % 4).as_bytes(),
        );
    }
    network.run(1.0);
    [said(network, "greeting"), said(network, "aggregation")]
}

#[test]
fn bad_services_lose_their_own_packets_and_nobody_elses() {
    let mut alone = torus(&[("greeting", GREETING)], 1e8);
    let wanted = work(&mut alone);
    assert_eq!((wanted[0].len(), wanted[1].len()), (81, 1));
    for (name, body) in BAD {
        let mut network = torus(&[("greeting", GREETING), ("bad", &bad(name, body))], 1e8);
        for server in 0..SERVERS {
            network.tell(server, "bad", b"begin");
        }
        network.run(1.0);
        assert_eq!(work(&mut network), wanted, "beside one that {name}");
        let lost = counters(&network, "bad");
        let reasons = [
            "lost-",
            "packets-without-room",
            "packets-dropped",
            "packets-looping",
            "answers-over-limit",
        ];
        let lost: u64 = lost
            .iter()
            .filter(|(counter, _)| reasons.iter().any(|reason| counter.starts_with(reason)))
            .map(|(_, count)| count)
            .sum();
        assert!(lost > 0, "one that {name} loses packets of its own");
        let others = counters(&network, "greeting");
        assert!(
            others.keys().all(|counter| !counter.starts_with("lost-")),
            "{name}: {others:?}"
        );
        // Neighbours are still alive to each other: the protocol has its share of the server.
        assert!(
            network
                .log
                .iter()
                .all(|(_, _, event)| !format!("{event:?}").contains("NeighbourDead")),
            "{name}"
        );
    }
}

/// The behaviour of a bad process: its answer to a call, or none.
type Answer = fn(&[u8]) -> Option<Vec<u8>>;

/// A packet of 1,400 bytes to (1,1,1), fifteen times over.
fn flood(call: &[u8]) -> Vec<u8> {
    let packet = [&[1, 0x88, 5, 0, 0, 0, 0, 0, 1, 1, 1, 1][..], &[0; 1409]].concat();
    [&call[5..9], &[0], &packet.repeat(15)].concat()
}

#[test]
fn bad_processes_lose_their_own_packets_and_nobody_elses() {
    const ID: u16 = 257;
    let mut alone = torus(&[("greeting", GREETING)], 1e8);
    let wanted = work(&mut alone);
    let bad: [(&str, Answer, &str); 4] = [
        (
            "stops reading",
            |call| (call[0] == 0).then(|| [&call[5..9], &[0]].concat()),
            "lost-late",
        ),
        ("answers nonsense", |_| Some(vec![7; 100]), "lost-wrong-answer"),
        ("fails", |call| Some([&call[5..9], &[2]].concat()), "lost-failed"),
        ("floods", |call| Some(flood(call)), "packets-"),
    ];
    for (name, answer, reason) in bad {
        let mut network = torus(&[("greeting", GREETING)], 1e8);
        let mut links = Vec::new();
        for server in 0..SERVERS {
            let (service, link) = ProcessService::new("bad", 0, network.now());
            network.host_service(server, ID, Box::new(service)).unwrap();
            links.push(link);
        }
        // The periodic work of the sockets' owner.
        let exchange = |network: &mut Network| {
            for (server, link) in (0..).zip(&links) {
                if link.hangs_up() {
                    link.disconnect();
                } else if link.is_open() {
                    link.connect();
                }
                network.wake(server, ID);
                while let Some(said) = link.next_call().and_then(|call| answer(&call)) {
                    link.answer(&said);
                    network.wake(server, ID);
                }
            }
        };
        for _ in 0..5 {
            exchange(&mut network);
            for server in 0..SERVERS {
                network.tell(server, "bad", b"begin");
            }
            exchange(&mut network);
            network.run(1.0);
        }
        assert_eq!(work(&mut network), wanted, "beside one that {name}");
        let lost = counters(&network, "bad");
        let of_reason = lost.iter().filter(|(counter, _)| counter.starts_with(reason));
        assert!(
            of_reason.map(|(_, count)| count).sum::<u64>() > 0,
            "{name}: {lost:?}"
        );
        let others = counters(&network, "greeting");
        assert!(
            others.keys().all(|counter| !counter.starts_with("lost-")),
            "{name}: {others:?}"
        );
    }
}

#[test]
fn names_and_numbers_are_given_once() {
    let mut network = torus(&[("greeting", GREETING)], 1e8);
    let module = Module::new(GREETING.as_bytes()).unwrap();
    let mut host = |id, name: &str| {
        let service = UserService::new(name, &module, network.now()).unwrap();
        network.host_service(0, id, Box::new(service))
    };
    assert!(host(256, "other").unwrap_err().contains("256"));
    assert!(host(257, "greeting").unwrap_err().contains("greeting"));
    assert!(host(258, "cache").unwrap_err().contains("cache"));
    assert!(host(16, "other").unwrap_err().contains("distribution"));
    assert_eq!(host(257, "other"), Ok(()));
}

proptest! {
    #![proptest_config(crate::cases::cases(8))]

    /// Keys of failed servers are answered for by their heirs, for a user's service as for any
    /// other.
    #[test]
    fn greetings_to_failed_servers_reach_their_heirs(dead in prop::collection::btree_set(0..SERVERS, 0..5), pairs in prop::collection::vec((0..SERVERS, 0..SERVERS), 1..20)) {
        let mut network = torus(&[("greeting", GREETING)], 1e9);
        dead.iter().for_each(|&server| network.kill(server));
        network.run(7.0);
        let pairs: Vec<_> = pairs.into_iter().filter(|(from, _)| !dead.contains(from)).collect();
        for (number, (from, to)) in pairs.iter().enumerate() {
            network.tell(*from, "greeting", format!("{} number {number}", key(*to)).as_bytes());
        }
        network.run(1.0);
        let mut found: Vec<String> = said(&network, "greeting").into_iter().map(|(_, said)| said).collect();
        let mut wanted: Vec<String> = (0..pairs.len()).map(|number| format!("number {number}")).collect();
        found.sort();
        wanted.sort();
        prop_assert_eq!(found, wanted);
    }
}
