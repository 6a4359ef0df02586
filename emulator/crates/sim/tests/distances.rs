//! Bit-parallel distances against one plain search a server, with and without failures.

use std::collections::VecDeque;

use cubeyard_routing::shortest::{Choice, Shortest};
use cubeyard_routing::{FailureKind, Failures};
use cubeyard_sim::Progress;
use cubeyard_sim::hops::{Distances, all_pairs_links, hops_from};
use cubeyard_topology::{Topology, TopologySpec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn build(spec: &Value) -> Topology {
    Topology::build(&serde_json::from_value::<TopologySpec>(spec.clone()).unwrap()).unwrap()
}

/// One search a server over the links as they are listed.
fn plain(topology: &Topology, failures: &Failures) -> Distances {
    let csr = topology.adjacency();
    let live = |server| !failures.node_failed(server);
    let mut found = Distances {
        pairs_at: vec![0],
        unreachable: 0,
    };
    for source in (0..topology.server_count()).filter(|&s| live(s)) {
        let mut distance = vec![u32::MAX; topology.node_count() as usize];
        let mut queue = VecDeque::from([source]);
        distance[source as usize] = 0;
        while let Some(node) = queue.pop_front() {
            if topology.is_server(node) && node != source && !topology.servers_relay() {
                continue;
            }
            for (next, link) in csr.row(node) {
                if live(next) && !failures.link_failed(link) && distance[next as usize] == u32::MAX {
                    distance[next as usize] = distance[node as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        for other in (0..topology.server_count()).filter(|&s| live(s) && s != source) {
            match distance[other as usize] {
                u32::MAX => found.unreachable += 1,
                far => {
                    let far = far as usize;
                    if found.pairs_at.len() <= far {
                        found.pairs_at.resize(far + 1, 0);
                    }
                    found.pairs_at[far] += 1;
                }
            }
        }
    }
    found
}

fn any_topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2u32..5, 0u32..3).prop_map(|(n, k)| json!({"family": "bcube", "n": n, "k": k})),
        (2u32..5, 0u32..2).prop_map(|(n, k)| json!({"family": "dcell", "n": n, "k": k})),
        (2u32..5, 2u32..5, 2u32..5)
            .prop_map(|(x, y, z)| json!({"family": "torus3d", "x": x, "y": y, "z": z})),
        (1u32..40).prop_map(|servers| json!({"family": "tree", "edge_ports": 4, "servers": servers})),
        (2u32..4).prop_map(|layers| json!({"family": "fat_tree", "ports": 4, "layers": layers})),
    ]
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]
    #[test]
    fn sixty_four_at_once_are_as_good_as_one_by_one(
        spec in any_topology(),
        kind in prop_oneof![Just(FailureKind::Server), Just(FailureKind::Switch), Just(FailureKind::Link)],
        ratio in 0.0f64..0.6,
        seed in any::<u64>(),
    ) {
        let topology = build(&spec);
        let failures = Failures::random(&topology, kind, ratio, seed);
        let found = all_pairs_links(&topology, &failures, &Progress::default()).unwrap();
        prop_assert_eq!(found, plain(&topology, &failures), "{}", spec);
    }

    /// In a DCell a hop is one or two links, so hops are checked against link state, whose
    /// distances count half hops.
    #[test]
    fn sampled_hops_are_those_of_link_state(
        (n, k) in (2u32..5, 0u32..3).prop_filter("small", |&(n, k)| n < 3 || k < 2),
        kind in prop_oneof![Just(FailureKind::Server), Just(FailureKind::Switch), Just(FailureKind::Link)],
        ratio in 0.0f64..0.6,
        seed in any::<u64>(),
    ) {
        let topology = build(&json!({"family": "dcell", "n": n, "k": k}));
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let live: Vec<u32> = (0..servers).filter(|&server| !failures.node_failed(server)).collect();
        let sources: Vec<u32> = live.iter().copied().filter(|&server| !(seed >> (server % 64)).is_multiple_of(2)).collect();
        let shortest = Shortest::new(&topology, failures.clone(), Choice::First);
        let (mut pairs_at, mut unreachable) = (vec![0u64], 0);
        for &source in &sources {
            let half_hops = shortest.half_hops(source);
            for &other in live.iter().filter(|&&other| other != source) {
                match half_hops[other as usize] {
                    u16::MAX => unreachable += 1,
                    half => {
                        let hops = usize::from(half / 2);
                        if pairs_at.len() <= hops {
                            pairs_at.resize(hops + 1, 0);
                        }
                        pairs_at[hops] += 1;
                    }
                }
            }
        }
        let found = hops_from(&topology, &failures, &sources);
        if !sources.is_empty() {
            prop_assert_eq!(found, Distances { pairs_at, unreachable });
        }
    }
}

#[test]
fn diameters_and_means_are_the_closed_forms() {
    for spec in [
        json!({"family": "bcube", "n": 4, "k": 2}),
        json!({"family": "torus3d", "x": 6, "y": 6, "z": 6}),
        json!({"family": "fat_tree", "ports": 4, "layers": 3}),
    ] {
        let topology = build(&spec);
        let found = all_pairs_links(&topology, &Failures::none(&topology), &Progress::default()).unwrap();
        let metrics = topology.metrics();
        assert_eq!(
            f64::from(found.diameter()),
            metrics.diameter_links.value,
            "{spec}"
        );
        let mean = metrics.average_path_links.unwrap().value;
        assert!(
            (found.mean() - mean).abs() < 1e-9,
            "{spec}: {} {mean}",
            found.mean()
        );
    }
}
