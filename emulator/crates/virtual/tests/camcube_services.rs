//! CamCube's services in virtual time: link loads compared with the published counts, and files,
//! counts of words and cached values, with and without failures.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{aggregation_loads, join_by_corners, join_tree, link_stress};
use cubeyard_topology::NodeId;
use cubeyard_virtual::Network;
use proptest::prelude::*;

use crate::torus;
use torus::{SETTLED_SECS, answers, counter, name, shape_of, torus};

/// Has every server count its one word; returns the load of each link, and the root's answer.
fn count_words(sizes: [u32; 3], root: NodeId, mode: &str) -> (Vec<u32>, String) {
    let mut network = torus(sizes, 1e9);
    let to = name(&network.topology, root);
    let began = network.now();
    for server in network.servers() {
        network.tell(
            server,
            "aggregation",
            format!("count 1 {to} {mode}\nword{}", server % 2).as_bytes(),
        );
    }
    network.run(1.0);
    let said = answers(&network, began);
    assert_eq!(said.len(), 1);
    assert_eq!(said[0].0, root);
    let carried = network
        .service_packets
        .iter()
        .map(|packets| *packets as u32)
        .collect();
    (carried, said[0].1.clone())
}

/// Table 1 on the paper's testbed: every server sends one pair to one server.
#[test]
fn aggregation_takes_the_links_of_table_1() {
    for root in [0, 13, 26] {
        let (none, said) = count_words([3, 3, 3], root, "none");
        assert_eq!(said, "1 27\nword0 14\nword1 13\n");
        let stress = link_stress(&none);
        assert_eq!((stress.packets, stress.links_used), (54, 26));
        let (full, said) = count_words([3, 3, 3], root, "full");
        assert_eq!(said, "1 27\nword0 14\nword1 13\n");
        let stress = link_stress(&full);
        assert_eq!((stress.packets, stress.links_used, stress.maximum), (26, 26, 1));
        // The model's, which takes the axes in the order x, y, z: the same up to the axes' names.
        let network = torus([3, 3, 3], 1e9);
        for (full, carried) in [(false, &none), (true, &full)] {
            let mut model = aggregation_loads(&shape_of(&network), root, full);
            let mut carried = carried.clone();
            model.sort_unstable();
            carried.sort_unstable();
            assert_eq!(model, carried);
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(12))]

    /// Words of random texts, in packets that hold a few words each: the sum is that of one server
    /// alone.
    #[test]
    fn counts_are_those_of_one_server(
        texts in prop::collection::vec(prop::collection::vec("[a-z]{1,200}", 0..40), 27),
        full in any::<bool>(),
        dead in prop::collection::btree_set(0u32..27, 0..4),
        root in 0u32..27,
    ) {
        let mut network = torus([3, 3, 3], 1e9);
        dead.iter().for_each(|&server| network.kill(server));
        network.run(SETTLED_SECS);
        let to = name(&network.topology, root);
        let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
        for (server, text) in (0..).zip(&texts).filter(|(server, _)| !dead.contains(server)) {
            text.iter().for_each(|word| *wanted.entry(word).or_default() += 1);
            let mode = if full { "full" } else { "none" };
            network.tell(server, "aggregation", format!("count 7 {to} {mode}\n{}", text.join(" ")).as_bytes());
        }
        network.run(1.0);
        let said: Vec<String> = answers(&network, Duration::ZERO).into_iter().map(|(_, said)| said).collect();
        let mut lines = vec!["7 27".to_owned()];
        lines.extend(wanted.iter().map(|(word, count)| format!("{word} {count}")));
        prop_assert_eq!(said, vec![lines.join("\n") + "\n"]);
    }
}

#[test]
fn a_lost_part_is_left_out_after_a_while_and_counted() {
    let mut network = torus([3, 3, 3], 1e9);
    // Server 1 never takes part.
    for server in (0..27).filter(|&server| server != 1) {
        network.tell(server, "aggregation", b"count 3 0,0,0 full\na");
    }
    network.run(10.0);
    let said = answers(&network, Duration::ZERO);
    assert_eq!(said.len(), 1);
    let (servers, count) = said[0].1.split_once('\n').unwrap();
    assert!(servers.starts_with("3 ") && count.starts_with("a "), "{said:?}");
    let incomplete: u64 = (0..27)
        .map(|server| counter(&network, server, "aggregation", "sums-incomplete"))
        .sum();
    assert!(incomplete > 0);
}

fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut draws = Draws::new(seed);
    (0..length).map(|_| draws.next_bits() as u8).collect()
}

/// These members join, then the file is sent; returns the members that report having it.
fn distribute(
    network: &mut Network,
    root: NodeId,
    members: &[NodeId],
    file: &[u8],
    secs: f64,
) -> BTreeSet<NodeId> {
    let to = name(&network.topology, root);
    for &member in members {
        network.tell(member, "distribution", format!("join 5 {to}").as_bytes());
        network.run(0.01);
    }
    let joins: u64 = network.service_packets.iter().sum();
    let used = network
        .service_packets
        .iter()
        .filter(|&&packets| packets > 0)
        .count();
    let shape = shape_of(network);
    if network.failures.is_empty() {
        // The tree is the model's: a packet a hop until the tree is met.
        let tree = join_tree(&shape, root, members, |at| join_by_corners(&shape, at, root));
        assert_eq!((joins, used), (tree.edges.len() as u64, tree.edges.len()));
    }
    let since = network.now();
    let message = [format!("send 5 {to}\n").as_bytes(), file].concat();
    network.tell(root, "distribution", &message);
    network.run(secs);
    let said = answers(network, since);
    assert!(
        said.iter().all(
            |(_, said)| said.starts_with(&format!("received 5 {} ", file.len())) && said.ends_with(" ok")
        ),
        "{said:?}"
    );
    let servers: Vec<NodeId> = said.iter().map(|(server, _)| *server).collect();
    let once: BTreeSet<NodeId> = servers.iter().copied().collect();
    assert_eq!(once.len(), servers.len(), "each says so once");
    once
}

#[test]
fn a_file_reaches_every_member_once_over_each_link_of_the_models_tree() {
    let mut network = torus([4, 4, 4], 1e9);
    let members = [63, 21, 5, 40, 17, 33, 62, 2];
    let file = bytes(300_000, 1);
    assert_eq!(
        distribute(&mut network, 0, &members, &file, 3.0),
        members.into_iter().collect()
    );
    // Each link of the tree carried the file once, but for its join.
    let chunks = file.len().div_ceil(1500 - 28 - 16 - 32) as u64;
    let tree = join_tree(&shape_of(&network), 0, &members, |at| {
        join_by_corners(&shape_of(&network), at, 0)
    });
    for (child, _, down) in &tree.edges {
        assert_eq!(network.service_packets[*down as usize], chunks, "to {child}");
    }
    let total: u64 = network.service_packets.iter().sum();
    assert_eq!(total, chunks * tree.edges.len() as u64 + tree.edges.len() as u64);
    // A member that joins late requests the parts that it has missed.
    let since = network.now();
    network.tell(58, "distribution", b"join 5 0,0,0");
    network.run(10.0);
    let said = answers(&network, since);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].0, 58);
}

#[test]
fn a_file_arrives_whole_in_spite_of_losses_and_dead_servers() {
    let mut network = torus([3, 3, 3], 1e8);
    for dead in [1, 12] {
        network.kill(dead);
    }
    network.run(SETTLED_SECS);
    let members = [26, 13, 4, 9, 22, 17];
    let to = name(&network.topology, 0);
    for member in members {
        network.tell(member, "distribution", format!("join 5 {to}").as_bytes());
    }
    network.run(0.5);
    network.loss = 0.02;
    let since = network.now();
    let file = bytes(200_000, 2);
    network.tell(0, "distribution", &[b"send 5 0,0,0\n", &file[..]].concat());
    network.run(20.0);
    let said = answers(&network, since);
    let who: BTreeSet<NodeId> = said.iter().map(|(server, _)| *server).collect();
    assert_eq!(who, members.into_iter().collect(), "{said:?}");
    assert!(said.iter().all(|(_, said)| said.ends_with(" ok")));
}

fn ask(network: &mut Network, server: NodeId, words: &str) -> String {
    let since = network.now();
    network.tell(server, "cache", words.as_bytes());
    network.run(0.1);
    let said = answers(network, since);
    assert_eq!(said.len(), 1, "{words}: {said:?}");
    assert_eq!(said[0].0, server);
    said[0].1.clone()
}

#[test]
fn values_are_found_from_everywhere_and_replicas_fill_on_demand() {
    let mut network = torus([4, 4, 4], 1e9);
    assert_eq!(ask(&mut network, 3, "get colour"), "MISS colour");
    assert_eq!(ask(&mut network, 3, "set colour deep blue"), "STORED colour");
    for round in 0..2 {
        for server in 0..64 {
            assert_eq!(
                ask(&mut network, server, "get colour"),
                "VALUE colour deep blue",
                "{round}"
            );
        }
    }
    let sum = |name: &str| {
        (0..64)
            .map(|server| counter(&network, server, "cache", name))
            .sum::<u64>()
    };
    let (primary, replicas, missed) = (
        sum("hits-at-primary"),
        sum("hits-at-secondaries"),
        sum("misses-at-secondaries"),
    );
    assert_eq!(primary + replicas, 128);
    assert!(replicas > primary && missed <= 9, "{primary} {replicas} {missed}");
    // A write is seen by all: the replicas have forgotten.
    assert_eq!(ask(&mut network, 60, "set colour green"), "STORED colour");
    for server in 0..64 {
        assert_eq!(ask(&mut network, server, "get colour"), "VALUE colour green");
    }
    assert_eq!(ask(&mut network, 60, "delete colour"), "DELETED colour");
    assert_eq!(ask(&mut network, 1, "get colour"), "MISS colour");
    assert!(ask(&mut network, 1, "fetch colour").starts_with("error: "));
}

#[test]
fn keys_of_dead_servers_are_answered_for_by_their_heirs() {
    let mut network = torus([3, 3, 3], 1e9);
    for dead in [13, 14, 22] {
        network.kill(dead);
    }
    network.run(SETTLED_SECS);
    let living: Vec<NodeId> = (0..27).filter(|server| ![13, 14, 22].contains(server)).collect();
    for number in 0..60 {
        let (writer, reader) = (living[number % 24], living[(number * 7 + 3) % 24]);
        assert_eq!(
            ask(&mut network, writer, &format!("set key{number} {number}")),
            format!("STORED key{number}")
        );
        assert_eq!(
            ask(&mut network, reader, &format!("get key{number}")),
            format!("VALUE key{number} {number}")
        );
    }
}

#[test]
fn hostile_packets_of_services_are_refused_and_counted() {
    let mut network = torus([3, 3, 3], 1e9);
    let mut draws = Draws::new(3);
    for _ in 0..2000 {
        let length = draws.below(80) as usize;
        let mut bytes = bytes(length, draws.next_bits());
        if draws.below(2) == 0 && bytes.len() >= 16 {
            let service = 16 + draws.below(3) as u8;
            bytes[..8].copy_from_slice(&[0x5e, 16, 0, service, 1, 1, 1, draws.below(4) as u8]);
            bytes[12] = 1;
        }
        network.arrive_at(13, draws.below(6) as u8, &bytes);
    }
    network.run(1.0);
    assert_eq!(ask(&mut network, 0, "set a b"), "STORED a");
    assert_eq!(ask(&mut network, 13, "get a"), "VALUE a b");
}
