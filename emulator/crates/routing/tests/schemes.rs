//! Properties of every scheme on every family.

use crate::common;

use common::{NETWORKS, any_failures, any_topology, assert_walks, build};
use cubeyard_routing::path::link_of;
use cubeyard_routing::random::mix;
use cubeyard_routing::shortest::{Choice, Shortest, UNREACHED};
use cubeyard_routing::{
    Failures, Flow, NoPath, PathSet, Routed, default_for, names_for, router, schemes_for,
};
use cubeyard_topology::{NodeId, Topology, families};
use proptest::prelude::*;

/// Least live half-hops (a link at a switch 1, between servers that relay 2), by repeated
/// relaxation.
fn oracle(topology: &Topology, failures: &Failures, source: NodeId) -> Vec<u32> {
    let links = topology.links();
    let relays = topology.servers_relay();
    let servers = topology.server_count();
    let mut distance = vec![u32::MAX; topology.node_count() as usize];
    distance[source as usize] = 0;
    loop {
        let mut grew = false;
        for link in 0..links.len() {
            for (from, to) in [(links.a[link], links.b[link]), (links.b[link], links.a[link])] {
                let forwards = relays || from >= servers || from == source;
                let here = distance[from as usize];
                let dead = failures.link_failed(link as u32)
                    || failures.node_failed(from)
                    || failures.node_failed(to);
                if !forwards || here == u32::MAX || dead {
                    continue;
                }
                let there = here
                    + if relays && from < servers && to < servers {
                        2
                    } else {
                        1
                    };
                if there < distance[to as usize] {
                    distance[to as usize] = there;
                    grew = true;
                }
            }
        }
        if !grew {
            return distance;
        }
    }
}

fn half_hops(topology: &Topology, path: &[u32]) -> u32 {
    let (links, servers) = (topology.links(), topology.server_count());
    path.iter()
        .map(|&directed| {
            let link = link_of(directed) as usize;
            if topology.servers_relay() && links.a[link] < servers && links.b[link] < servers {
                2
            } else {
                1
            }
        })
        .sum()
}

proptest! {
    #![proptest_config(crate::cases::cases(160))]

    /// The links of every path are alive and connect; link-state schemes find a shortest path
    /// whenever one exists, and no scheme returns a path if none exists.
    #[test]
    fn paths_are_valid_and_shortest_ones_shortest(
        topology in any_topology(), (kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>(), flow: u64,
    ) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        let distance = oracle(&topology, &failures, source);
        let reachable = distance[destination as usize] != u32::MAX;
        for scheme in schemes_for(topology.spec()) {
            let router = router(scheme.name, &topology, failures.clone()).unwrap();
            prop_assert_eq!(router.name(), scheme.name);
            let mut path = vec![7; 3];
            let routed = router.route(source, destination, flow, &mut path);
            let mut again = Vec::new();
            prop_assert_eq!(router.route(source, destination, flow, &mut again), routed);
            prop_assert_eq!(&path, &again, "{} depends on something else than the flow", scheme.name);
            if failures.node_failed(source) {
                prop_assert_eq!(routed, Err(NoPath::SourceFailed));
            } else if failures.node_failed(destination) {
                prop_assert_eq!(routed, Err(NoPath::DestinationFailed));
            } else if routed.is_ok() {
                prop_assert!(reachable, "{} found a path where there is none", scheme.name);
                assert_walks(&topology, source, destination, &path, &failures);
            } else {
                prop_assert_eq!(routed, Err(NoPath::NotFound));
                prop_assert!(path.is_empty());
            }
            let complete = matches!(scheme.name, "shortest" | "ecmp" | "wcmp" | "tree" | "fat-tree" | "leaf-spine" | "bsr")
                || scheme.name.starts_with("k-shortest")
                || scheme.name.starts_with("dragonfly");
            if complete && reachable && !failures.node_failed(source) {
                // These may still join two servers by a longer way than their shortest up-paths.
                let upwards = matches!(scheme.name, "fat-tree" | "leaf-spine");
                prop_assert!(routed.is_ok() || upwards, "{} misses a path", scheme.name);
                if matches!(scheme.name, "shortest" | "ecmp" | "wcmp" | "tree") {
                    prop_assert_eq!(half_hops(&topology, &path), distance[destination as usize]);
                }
            }
            if ratio == 0.0 {
                prop_assert!(routed.is_ok(), "{} finds no path in a whole network", scheme.name);
            }
            if let Some(multipath) = router.multipath() {
                let mut paths = PathSet::default();
                prop_assert_eq!(multipath.good_paths(source, destination, flow, &mut paths).is_ok(), routed.is_ok());
                for path in paths.iter() {
                    assert_walks(&topology, source, destination, path, &failures);
                }
            }
        }
    }

    /// The distance table agrees with the oracle at every node. Schemes route a batch faster than
    /// its flows: by turns, from tables that they keep. Neither shows.
    #[test]
    fn a_batch_is_its_flows_one_by_one(
        topology in any_topology(), (kind, ratio, seed) in any_failures(), ends in prop::collection::vec(any::<(u32, u32)>(), 0..40),
    ) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let flows: Vec<Flow> = (0..).zip(&ends).map(|(number, ends)| Flow {
            source: ends.0 % servers,
            destination: ends.1 % servers,
            seed: mix(seed ^ number),
        }).collect();
        for scheme in schemes_for(topology.spec()) {
            let router = router(scheme.name, &topology, failures.clone()).unwrap();
            let (mut batch, mut single) = (Routed::default(), Routed::default());
            router.route_batch(&flows[..flows.len() / 2], &mut batch);
            router.route_batch(&flows, &mut batch);
            let mut path = Vec::new();
            single.fill(&flows, |flow, links| {
                router.route(flow.source, flow.destination, flow.seed, &mut path)?;
                links.extend_from_slice(&path);
                Ok(())
            });
            prop_assert_eq!(&batch, &single, "{}", scheme.name);
        }
    }

    #[test]
    fn distances_are_right(topology in any_topology(), (kind, ratio, seed) in any_failures(), server: u32) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let server = server % topology.server_count();
        prop_assume!(!failures.node_failed(server));
        let shortest = Shortest::new(&topology, failures.clone(), Choice::First);
        let expected: Vec<u16> = oracle(&topology, &failures, server)
            .into_iter()
            .map(|distance| u16::try_from(distance).unwrap_or(UNREACHED))
            .collect();
        prop_assert_eq!(shortest.half_hops(server), expected);
    }
}

#[test]
fn every_family_is_tried() {
    for family in families().as_array().unwrap() {
        let name = family["family"].as_str().unwrap();
        let tried = NETWORKS.iter().any(|spec| build(spec).spec().family() == name);
        assert!(
            tried,
            "add networks of {name} to `NETWORKS` of tests/common/mod.rs"
        );
    }
}

#[test]
fn a_wrong_name_lists_the_right_ones() {
    let topology = build(r#"{"family":"tree","edge_ports":4,"servers":8}"#);
    let error = router("bsr", &topology, Failures::none(&topology)).err().unwrap();
    assert_eq!(
        error.to_string(),
        "routing is \"bsr\", which a tree topology does not know. Use one of: tree, shortest, ecmp, wcmp."
    );
    assert_eq!(default_for(topology.spec()), "tree");
    assert!(
        names_for(topology.spec())
            .iter()
            .all(|(_, summary)| summary.ends_with(['.', ']']))
    );
}
