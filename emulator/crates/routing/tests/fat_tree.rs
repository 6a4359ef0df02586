//! Compares fat-tree routing with a list of all shortest up-paths.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{assert_walks, build};
use cubeyard_routing::fat_tree::FatTreeRouting;
use cubeyard_routing::path::{a_to_b, b_to_a};
use cubeyard_routing::{FailureKind, Failures, NoPath, Router, router};
use cubeyard_topology::{NodeId, Topology};
use proptest::prelude::*;

/// Ports, layers and servers: choices of turns that are powers of two and not, in one word and in
/// several, and so many that no bit of each is kept, in rows of both lengths.
const TREES: &[[u32; 3]] = &[
    [2, 3, 2],
    [4, 1, 4],
    [4, 3, 16],
    [4, 6, 128],
    [6, 3, 54],
    [6, 4, 120],
    [8, 5, 2048],
    [18, 3, 1458],
    [4, 14, 256],
    [256, 3, 16_640],
];

fn fat_tree([ports, layers, servers]: [u32; 3]) -> Topology {
    build(&format!(
        r#"{{"family":"fat_tree","ports":{ports},"layers":{layers},"servers":{servers}}}"#
    ))
}

/// The upward paths from a server over this number of links, by the switch at their end; a fat-tree
/// has one path to each switch.
fn ways_up(
    topology: &Topology,
    failures: &Failures,
    server: NodeId,
    hops: usize,
) -> BTreeMap<NodeId, Vec<u32>> {
    let links = topology.links();
    let mut up = BTreeMap::<NodeId, Vec<usize>>::new();
    for link in (0..links.len()).filter(|&link| failures.carries(links, link)) {
        up.entry(links.a[link]).or_default().push(link);
    }
    let mut ways = BTreeMap::from([(server, Vec::new())]);
    for _ in 0..hops {
        let mut higher = BTreeMap::new();
        for (at, way) in &ways {
            for &link in up.get(at).into_iter().flatten() {
                let longer = [way.as_slice(), &[link as u32]].concat();
                assert!(higher.insert(links.b[link], longer).is_none());
            }
        }
        ways = higher;
    }
    ways
}

/// All live shortest up-paths between two servers.
fn all_paths(
    topology: &Topology,
    failures: &Failures,
    ends: [NodeId; 2],
    tree: [u32; 3],
) -> BTreeSet<Vec<u32>> {
    let hops = climb(tree[0] / 2, tree[1], ends[0], ends[1]) + 1;
    let [forth, back] = ends.map(|end| ways_up(topology, failures, end, hops));
    let both = forth
        .into_iter()
        .filter_map(|(top, way)| Some((way, back.get(&top)?)));
    both.map(|(up, down)| {
        let up = up.into_iter().map(a_to_b);
        up.chain(down.iter().rev().map(|&link| b_to_a(link))).collect()
    })
    .collect()
}

proptest! {
    #![proptest_config(crate::cases::cases(100))]

    /// A path is one of those listed, and none is found just where the list is empty.
    #[test]
    fn a_path_is_one_of_all_that_are_alive(
        tree in prop::sample::select(TREES),
        kind in prop::sample::select(&[FailureKind::Server, FailureKind::Switch, FailureKind::Link][..]),
        ratio in prop::sample::select(&[0.0, 0.02, 0.1, 0.4, 0.7, 0.9][..]),
        ends: [u32; 2], near: bool, seed: u64,
    ) {
        let topology = fat_tree(tree);
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let source = ends[0] % servers;
        // Near ends climb less.
        let destination = if near { (source + ends[1] % 8) % servers } else { ends[1] % servers };
        prop_assume!(source != destination);
        let paths = all_paths(&topology, &failures, [source, destination], tree);
        let router = FatTreeRouting::new(&topology, failures.clone()).unwrap();
        let mut path = Vec::new();
        for flow in 0..20 {
            let routed = router.route(source, destination, seed ^ flow, &mut path);
            prop_assert_eq!(routed.is_ok(), !paths.is_empty());
            match routed {
                Ok(()) => prop_assert!(paths.contains(&path), "{:?} {:?}", tree, path),
                Err(NoPath::SourceFailed) => prop_assert!(failures.node_failed(source)),
                Err(NoPath::DestinationFailed) => prop_assert!(failures.node_failed(destination)),
                Err(NoPath::NotFound) => prop_assert!(![source, destination].iter().any(|&end| failures.node_failed(end))),
            }
        }
    }
}

/// Pearson's sum over all live paths of a pair at the far ends, against five standard deviations.
#[test]
fn each_live_path_is_equally_likely() {
    for &tree in TREES {
        for ratio in [0.0, 0.1, 0.4] {
            let topology = fat_tree(tree);
            let failures = Failures::random(&topology, FailureKind::Link, ratio, 3);
            let ends = [0, topology.server_count() - 1];
            let paths = all_paths(&topology, &failures, ends, tree);
            let router = FatTreeRouting::new(&topology, failures).unwrap();
            let mut counts: BTreeMap<Vec<u32>, f64> = paths.iter().map(|path| (path.clone(), 0.0)).collect();
            let (mut path, each) = (Vec::new(), 20);
            for flow in 0..each * paths.len() as u64 {
                router.route(ends[0], ends[1], flow, &mut path).unwrap();
                *counts.get_mut(&path).unwrap() += 1.0;
            }
            let expected = each as f64;
            let sum: f64 = counts
                .values()
                .map(|count| (count - expected).powi(2) / expected)
                .sum();
            let freedom = paths.len().saturating_sub(1) as f64;
            assert!(
                sum <= freedom + 5.0 * (2.0 * freedom).sqrt(),
                "{tree:?} at {ratio}: {sum} of {freedom}"
            );
        }
    }
}

#[test]
fn a_fat_tree_spreads_evenly_over_what_is_left() {
    let topology = build(r#"{"family":"fat_tree","ports":8,"layers":3}"#);
    let server = |name: &str| topology.node_by_name(name).unwrap();
    let (source, destination) = (server("000"), server("700"));
    let mut failures = Failures::none(&topology);
    // Three of four switches above the source's edge switch go: a quarter of the 16 paths stays.
    for i in 1..4 {
        failures.fail_node(topology.node_by_name(&format!("<1,0{i}>")).unwrap());
    }
    let router = router("fat-tree", &topology, failures).unwrap();
    let mut tops = BTreeMap::new();
    let mut path = Vec::new();
    for flow in 0..4000 {
        router.route(source, destination, flow, &mut path).unwrap();
        *tops.entry(path[2]).or_insert(0) += 1;
    }
    assert_eq!(tops.len(), 4);
    assert!(tops.values().all(|flows| (850..1150).contains(flows)), "{tops:?}");
}

#[test]
fn a_last_fat_tree_path_is_found_by_listing() {
    let topology = build(r#"{"family":"fat_tree","ports":48,"layers":3}"#);
    let mut failures = Failures::none(&topology);
    let cores = topology.tiers()[2].clone();
    for core in 1..cores.count {
        failures.fail_node(cores.first + core);
    }
    let router = router("fat-tree", &topology, failures.clone()).unwrap();
    let mut path = Vec::new();
    let far = topology.server_count() - 1;
    router.route(0, far, 5, &mut path).unwrap();
    assert_walks(&topology, 0, far, &path, &failures);
    failures.fail_node(cores.first);
    let cut = FatTreeRouting::new(&topology, failures).unwrap();
    assert_eq!(cut.route(0, far, 5, &mut path), Err(NoPath::NotFound));
}

/// The layers that a flow climbs, by the definition: to the least at which both servers are below
/// one switch.
fn climb(half: u32, layers: u32, source: u32, destination: u32) -> usize {
    let (mut a, mut b) = (source / half, destination / half);
    let mut climb = 0;
    while a != b && climb + 1 < layers {
        (a, b) = (a / half, b / half);
        climb += 1;
    }
    climb as usize
}

#[test]
fn a_fat_tree_climbs_no_higher_than_it_must() {
    for (ports, layers, servers) in [
        (2, 1, 2),
        (2, 4, 2),
        (4, 3, 16),
        (6, 3, 54),
        (6, 3, 21),
        (8, 5, 2048),
        (10, 2, 50),
        (12, 1, 12),
    ] {
        let json =
            format!(r#"{{"family":"fat_tree","ports":{ports},"layers":{layers},"servers":{servers}}}"#);
        let topology = build(&json);
        let router = router("fat-tree", &topology, Failures::none(&topology)).unwrap();
        let mut path = Vec::new();
        let step = (servers / 60).max(1);
        for source in (0..servers).step_by(step as usize) {
            for destination in (0..servers).filter(|&other| other != source) {
                router.route(source, destination, 7, &mut path).unwrap();
                let expected = 2 * climb(ports / 2, layers, source, destination) + 2;
                assert_eq!(path.len(), expected, "{json}: {source} to {destination}");
            }
        }
    }
}
