//! Clients of memcached at the cache service, in virtual time: every command through any server,
//! values under random commands, servers that die, and clients that send nonsense.

use std::collections::BTreeMap;

use cubeyard_dataplane::camcube::ENTRY;
use cubeyard_dataplane::catalog::SOFTWARE;
use cubeyard_dataplane::settings::Given;
use cubeyard_topology::{NodeId, TopologySpec, Torus3dSpec};
use cubeyard_virtual::{Network, Options};
use proptest::prelude::*;

const PORT: u16 = 11_211;
const SERVERS: NodeId = 27;

fn torus(settings: Given) -> Network {
    let options = Options {
        protocol: &ENTRY,
        forwarding: SOFTWARE,
        spec: TopologySpec::Torus3d(Torus3dSpec { x: 3, y: 3, z: 3 }),
        present: None,
        gateways: Vec::new(),
        rate_bits_per_sec: 1e9,
        settings,
        seed: 1,
    };
    let mut network = Network::new(options).unwrap();
    network.run(1.0);
    network
}

/// The output to a client of a server, as text; `<end>` marks the end of its connection.
fn talk(network: &mut Network, server: NodeId, client: u32, says: &str) -> String {
    network.replies.clear();
    network.client(server, PORT, client, Some(says.as_bytes()));
    network.run(0.1);
    told(network, server, client)
}

fn told(network: &Network, server: NodeId, client: u32) -> String {
    let replies = network.replies.iter();
    let own = replies.filter(|(at, to, _)| (*at, *to) == (server, client));
    own.map(|(_, _, bytes)| match &bytes[..] {
        [] => "<end>".to_owned(),
        bytes => String::from_utf8_lossy(bytes).into_owned(),
    })
    .collect()
}

#[test]
fn a_value_is_written_and_read_through_any_server() {
    let mut network = torus(Given::new());
    assert_eq!(talk(&mut network, 3, 1, "get colour\r\n"), "END\r\n");
    assert_eq!(
        talk(&mut network, 3, 1, "set colour 7 0 4\r\nblue\r\n"),
        "STORED\r\n"
    );
    for round in 0..2 {
        for server in 0..SERVERS {
            let said = talk(&mut network, server, 9, "get colour\r\n");
            assert_eq!(said, "VALUE colour 7 4\r\nblue\r\nEND\r\n", "{server} {round}");
        }
    }
    assert_eq!(
        talk(&mut network, 20, 1, "append colour 0 0 5\r\n dark\r\n"),
        "STORED\r\n"
    );
    for server in 0..SERVERS {
        let said = talk(&mut network, server, 9, "get colour other\r\n");
        assert_eq!(
            said, "VALUE colour 7 9\r\nblue dark\r\nEND\r\n",
            "{server}: replicas have forgotten"
        );
    }
    assert_eq!(talk(&mut network, 8, 1, "delete colour\r\n"), "DELETED\r\n");
    for server in 0..SERVERS {
        assert_eq!(talk(&mut network, server, 9, "get colour\r\n"), "END\r\n");
    }
}

#[test]
fn each_command_does_what_memcached_s_does() {
    let mut network = torus(Given::new());
    let mut server = 0;
    let mut says = |says: &str| {
        server = (server + 7) % SERVERS;
        talk(&mut network, server, 5, says)
    };
    assert_eq!(says("add n 0 0 2\r\n10\r\n"), "STORED\r\n");
    assert_eq!(says("add n 0 0 2\r\n11\r\n"), "NOT_STORED\r\n");
    assert_eq!(says("incr n 5\r\n"), "15\r\n");
    assert_eq!(says("decr n 99\r\n"), "0\r\n");
    assert_eq!(says("incr none 1\r\n"), "NOT_FOUND\r\n");
    assert_eq!(says("replace none 0 0 1\r\nx\r\n"), "NOT_STORED\r\n");
    assert_eq!(says("prepend n 0 0 1\r\nx\r\n"), "STORED\r\n");
    assert!(says("incr n 1\r\n").starts_with("CLIENT_ERROR"));
    assert_eq!(says("delete none\r\n"), "NOT_FOUND\r\n");
    let gets = says("gets n\r\n");
    let version: u64 = gets
        .split(' ')
        .nth(4)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(
        says(&format!("cas n 0 0 1 {}\r\ny\r\n", version + 1)),
        "EXISTS\r\n"
    );
    assert_eq!(says(&format!("cas n 0 0 1 {version}\r\ny\r\n")), "STORED\r\n");
    assert_eq!(
        says(&format!("cas none 0 0 1 {version}\r\ny\r\n")),
        "NOT_FOUND\r\n"
    );
    assert_eq!(says("touch n 2\r\n"), "TOUCHED\r\n");
    assert_eq!(says("get n\r\n"), "VALUE n 0 1\r\ny\r\nEND\r\n");
    assert_eq!(
        says("set m 0 0 1 noreply\r\nz\r\nget m\r\n"),
        "VALUE m 0 1\r\nz\r\nEND\r\n"
    );
    assert_eq!(says("set m 0 -1 1\r\nz\r\nget m\r\n"), "STORED\r\nEND\r\n");
    assert!(says("version\r\n").starts_with("VERSION "));
    assert!(says("stats\r\n").starts_with("STAT curr_items "));
    assert!(
        says(&format!("set big 0 0 3000\r\n{}\r\n", "x".repeat(3000)))
            .starts_with("SERVER_ERROR object too large")
    );
    assert_eq!(
        says("get m n\r\nquit\r\nget n\r\n"),
        "VALUE n 0 1\r\ny\r\nEND\r\n<end>"
    );
    network.run(3.0);
    assert_eq!(
        talk(&mut network, 4, 6, "get n\r\n"),
        "END\r\n",
        "its time is over"
    );
}

#[test]
fn many_commands_at_once_are_answered_in_order_and_one_that_ends_gets_them_all() {
    let mut network = torus(Given::new());
    let sets: String = (0..500)
        .map(|n| format!("set k{n} 0 0 3\r\n{n:03}\r\n"))
        .collect();
    // One after the other: each takes some hops there and back.
    network.client(13, PORT, 1, Some(sets.as_bytes()));
    network.run(2.0);
    assert!(told(&network, 13, 1) == "STORED\r\n".repeat(500));
    let gets: String = (0..500).map(|n| format!("get k{n}\r\n")).collect();
    network.replies.clear();
    network.client(2, PORT, 7, Some(gets.as_bytes()));
    network.client(2, PORT, 7, None);
    network.run(2.0);
    let values: String = (0..500)
        .map(|n| format!("VALUE k{n} 0 3\r\n{n:03}\r\nEND\r\n"))
        .collect();
    assert!(told(&network, 2, 7) == values + "<end>");
}

#[test]
fn keys_of_a_dead_server_fail_until_its_heir_answers_for_them() {
    let mut network = torus(Given::new());
    for n in 0..40 {
        assert_eq!(
            talk(&mut network, 0, 1, &format!("set k{n} 0 0 1\r\nx\r\n")),
            "STORED\r\n"
        );
    }
    network.kill(14);
    let gets: String = (0..40).map(|n| format!("get k{n}\r\n")).collect();
    network.replies.clear();
    network.client(26, PORT, 2, Some(gets.as_bytes()));
    network.run(8.0);
    let said = told(&network, 26, 2);
    assert_eq!(
        said.matches("END\r\n").count() + said.matches("SERVER_ERROR").count(),
        40,
        "{said}"
    );
    for n in 0..40 {
        let said = talk(
            &mut network,
            26,
            3,
            &format!("set k{n} 0 0 1\r\ny\r\nget k{n}\r\n"),
        );
        assert_eq!(said, format!("STORED\r\nVALUE k{n} 0 1\r\ny\r\nEND\r\n"));
    }
}

#[test]
fn a_port_of_zero_serves_nobody() {
    let mut network = torus(Given::from([("memcached_port".to_owned(), 0.0)]));
    assert_eq!(talk(&mut network, 3, 1, "version\r\n"), "");
}

/// One command of a client: to which server, which key, and what.
#[derive(Clone, Debug)]
enum Step {
    Set(u8),
    Append(u8),
    Delete,
    Get,
}

proptest! {
    #![proptest_config(crate::cases::cases(24))]

    /// Random commands through random servers leave the values that one map would have.
    #[test]
    fn values_are_those_of_one_map(
        steps in prop::collection::vec((0..SERVERS, 0u8..4, prop_oneof![
            any::<u8>().prop_map(Step::Set), any::<u8>().prop_map(Step::Append), Just(Step::Delete), Just(Step::Get), Just(Step::Get),
        ]), 1..40),
    ) {
        let mut network = torus(Given::new());
        let mut model: BTreeMap<u8, String> = BTreeMap::new();
        for (server, key, step) in steps {
            let (says, expected) = match step {
                Step::Set(value) => {
                    let value = value.to_string();
                    let says = format!("set k{key} 0 0 {}\r\n{value}\r\n", value.len());
                    model.insert(key, value);
                    (says, "STORED\r\n".to_owned())
                }
                Step::Append(value) => {
                    let value = value.to_string();
                    let says = format!("append k{key} 0 0 {}\r\n{value}\r\n", value.len());
                    let there = model.get_mut(&key).map(|there| there.push_str(&value)).is_some();
                    (says, if there { "STORED\r\n" } else { "NOT_STORED\r\n" }.to_owned())
                }
                Step::Delete => {
                    let there = model.remove(&key).is_some();
                    (format!("delete k{key}\r\n"), if there { "DELETED\r\n" } else { "NOT_FOUND\r\n" }.to_owned())
                }
                Step::Get => {
                    let value = model.get(&key).map(|value| format!("VALUE k{key} 0 {}\r\n{value}\r\n", value.len()));
                    (format!("get k{key}\r\n"), value.unwrap_or_default() + "END\r\n")
                }
            };
            prop_assert_eq!(talk(&mut network, server, 1, &says), expected, "{}", says);
        }
    }

    /// For any input of one client, other clients are served.
    #[test]
    fn nonsense_of_one_client_is_nobody_else_s(
        says in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200), "(get|set|cas|incr) [a-z0-9 ]{0,30}\r\n".prop_map(String::into_bytes),
        ], 0..20),
    ) {
        let mut network = torus(Given::new());
        for bytes in says {
            network.client(13, PORT, 1, Some(&bytes));
        }
        network.client(13, PORT, 1, None);
        prop_assert_eq!(talk(&mut network, 13, 2, "set a 0 0 1\r\nb\r\nget a\r\n"), "STORED\r\nVALUE a 0 1\r\nb\r\nEND\r\n");
    }
}
