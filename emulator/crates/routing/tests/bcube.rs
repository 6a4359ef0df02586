//! BCube's theorems, on random BCubes and with random failures.

use crate::common;

use common::assert_walks;
use cubeyard_routing::bcube::{
    Bsr, FixedPath, Hops, Live, Shape, Taken, build_path_set, complete_graph, find_substitute, good_paths,
    spanning_trees,
};
use cubeyard_routing::path::Router;
use cubeyard_routing::random::mix;
use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::{NodeId, Topology, TopologySpec};
use petgraph::graph::UnGraph;
use proptest::prelude::*;

fn bcube(n: u32, k: u32, groups: u32) -> Topology {
    let spec = format!(
        r#"{{"family":"bcube","n":{n},"k":{k},"servers":{}}}"#,
        groups * n.pow(k)
    );
    let spec: TopologySpec = serde_json::from_str(&spec).unwrap();
    Topology::build(&spec).unwrap()
}

/// A (partial) BCube of at most 256 servers and at least two BCube_{k-1}s.
fn any_bcube() -> impl Strategy<Value = Topology> {
    prop_oneof![
        (2u32..=8, Just(0u32)),
        (2u32..=6, Just(1)),
        (2u32..=4, Just(2)),
        (2u32..=3, Just(3))
    ]
    .prop_flat_map(|(n, k)| (Just(n), Just(k), 2..=n))
    .prop_map(|(n, k, groups)| bcube(n, k, groups))
}

/// The inner servers and the switches a path visits.
fn inner_nodes(shape: &Shape, source: NodeId, hops: &Hops) -> Vec<NodeId> {
    let mut at = source;
    let mut nodes = Vec::new();
    for (i, hop) in hops.iter().enumerate() {
        let level = usize::from(hop.level);
        assert_eq!(
            shape.with_digit(at, level, shape.digit(hop.server, level)),
            hop.server,
            "a hop corrects one digit"
        );
        nodes.push(shape.switch(at, level));
        if i + 1 < hops.len() {
            nodes.push(hop.server);
        }
        at = hop.server;
    }
    nodes
}

fn assert_node_disjoint(shape: &Shape, source: NodeId, paths: &[Hops]) {
    let mut all: Vec<NodeId> = paths
        .iter()
        .flat_map(|hops| inner_nodes(shape, source, hops))
        .collect();
    let visits = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(
        all.len(),
        visits,
        "a server or switch is on two paths, or twice on a path"
    );
}

#[test]
fn the_papers_figure_4_comes_out() {
    let topology = bcube(8, 3, 8);
    let shape = Shape::new(&topology).unwrap();
    let at = |name: &str| topology.node_by_name(name).unwrap();
    let set = build_path_set(&shape, at("0001"), at("1011"));
    let names: Vec<Vec<String>> = set
        .iter()
        .map(|hops| hops.iter().map(|hop| topology.node_name(hop.server)).collect())
        .collect();
    assert_eq!(
        names,
        [
            vec!["1001", "1011"],
            vec!["0101", "0111", "1111", "1011"],
            vec!["0011", "1011"],
            vec!["0002", "1002", "1012", "1011"],
        ]
    );
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    /// Theorem 3, and the bounds on length that follow it.
    #[test]
    fn the_path_set_is_parallel_and_short(topology in any_bcube(), ends in any::<(u32, u32)>()) {
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        prop_assume!(source != destination);
        let set = build_path_set(&shape, source, destination);
        prop_assert_eq!(set.len(), shape.levels);
        assert_node_disjoint(&shape, source, &set);
        let distance = shape.hamming(source, destination);
        for hops in &set {
            prop_assert_eq!(hops.last().unwrap().server, destination);
            prop_assert!(hops.len() == distance || hops.len() == distance + 2);
            prop_assert!(hops.len() <= shape.levels + 1);
        }
    }

    /// Good paths are alive and parallel, and at least one exists whenever the network still joins
    /// the ends.
    #[test]
    fn good_paths_exist_wherever_the_ends_are_joined(
        topology in any_bcube(), ends in any::<(u32, u32)>(), seed: u64, ratio in 0.0..0.5f64, kind in 0..3,
    ) {
        let kind = [FailureKind::Server, FailureKind::Switch, FailureKind::Link][kind as usize];
        let failures = Failures::random(&topology, kind, ratio, seed);
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        prop_assume!(source != destination && !failures.node_failed(source) && !failures.node_failed(destination));
        let live = Live::new(&shape, &failures);
        let good = good_paths(&shape, source, destination, seed, &live);
        assert_node_disjoint(&shape, source, &good.paths);
        for hops in &good.paths {
            prop_assert!(shape.path_alive(source, hops, &failures));
            prop_assert_eq!(hops.last().unwrap().server, destination);
        }
        let mut oracle = UnGraph::<(), ()>::new_undirected();
        let nodes: Vec<_> = (0..topology.node_count()).map(|_| oracle.add_node(())).collect();
        let links = topology.links();
        for link in 0..links.len() {
            let (a, b) = (links.a[link], links.b[link]);
            if !failures.link_failed(link as u32) && !failures.node_failed(a) && !failures.node_failed(b) {
                oracle.add_edge(nodes[a as usize], nodes[b as usize], ());
            }
        }
        let joined = petgraph::algo::has_path_connecting(&oracle, nodes[source as usize], nodes[destination as usize], None);
        prop_assert_eq!(joined, !good.paths.is_empty());

        let mut path = Vec::new();
        let bsr = Bsr::new(&topology, failures.clone()).unwrap();
        prop_assert_eq!(bsr.route(source, destination, seed, &mut path).is_ok(), joined);
        if joined {
            assert_walks(&topology, source, destination, &path, &failures);
        }
        if FixedPath::new(&topology, failures.clone()).unwrap().route(source, destination, seed, &mut path).is_ok() {
            assert_walks(&topology, source, destination, &path, &failures);
            prop_assert_eq!(path.len(), 2 * shape.hamming(source, destination));
        }
    }

    /// BSR draws one of the k + 1 slots: a broken one is replaced by its substitute, and if it has
    /// none, by any good path. The router's bit-word version gives the same path as the list of
    /// good paths.
    #[test]
    fn bsr_takes_one_of_the_good_paths(
        topology in any_bcube(), ends in any::<(u32, u32)>(), seed: u64, ratio in 0.0..0.5f64, kind in 0..3,
    ) {
        let kind = [FailureKind::Server, FailureKind::Switch, FailureKind::Link][kind as usize];
        let failures = Failures::random(&topology, kind, ratio, seed);
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        prop_assume!(source != destination && !failures.node_failed(source) && !failures.node_failed(destination));
        let live = Live::new(&shape, &failures);
        let bsr = Bsr::new(&topology, failures.clone()).unwrap();
        let mut path = Vec::new();
        for flow in (0..24).map(|draw| seed.wrapping_add(draw)) {
            let good = good_paths(&shape, source, destination, flow, &live);
            let drawn = (((mix(flow) >> 32) * shape.levels as u64) >> 32) as usize;
            let whole = good.paths.len() - good.substitutes();
            let own = match good.broken_levels.iter().position(|&level| level == drawn) {
                None => (0..shape.levels).rev().filter(|level| !good.broken_levels.contains(level)).position(|level| level == drawn),
                Some(rank) => Some(whole + rank),
            };
            let expected = own.and_then(|index| good.paths.get(index));
            let routed = bsr.route(source, destination, flow, &mut path);
            prop_assert_eq!(routed.is_ok(), !good.paths.is_empty());
            let links = |hops: &Hops| {
                let mut links = Vec::new();
                shape.push_links(source, hops, &mut links);
                links
            };
            match expected {
                Some(hops) => prop_assert_eq!(&path, &links(hops)),
                None => prop_assert!(good.paths.is_empty() || good.paths.iter().any(|hops| links(hops) == path)),
            }
        }
    }

    /// The quick search finds a path exactly as long as a plain breadth-first search does.
    #[test]
    fn a_substitute_is_a_shortest_one(topology in any_bcube(), ends in any::<(u32, u32)>(), seed: u64, ratio in 0.0..0.5f64) {
        let failures = Failures::random(&topology, FailureKind::Switch, ratio, seed);
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        prop_assume!(source != destination);
        let mut taken = Taken::default();
        taken.take(&shape, source, &build_path_set(&shape, source, destination)[seed as usize % shape.levels]);
        let mut hops = Hops::new();
        let found = find_substitute(&shape, source, destination, &taken, &Live::new(&shape, &failures), seed, &mut hops);
        // The oracle: distances by repeated relaxation over live, untaken hops.
        let mut distance = vec![usize::MAX; shape.servers() as usize];
        distance[source as usize] = 0;
        for round in 0.. {
            let mut grew = false;
            for at in 0..shape.servers() {
                if distance[at as usize] != round || (taken.has(at) && at != source) { continue; }
                for level in 0..shape.levels {
                    if taken.has(shape.switch(at, level)) { continue; }
                    for digit in 0..shape.radix[level] {
                        let next = shape.with_digit(at, level, digit);
                        if distance[next as usize] == usize::MAX && shape.hop_alive(at, next, level, &failures) {
                            distance[next as usize] = round + 1;
                            grew = true;
                        }
                    }
                }
            }
            if !grew { break; }
        }
        prop_assert_eq!(found, distance[destination as usize] != usize::MAX);
        if found {
            prop_assert_eq!(hops.len(), distance[destination as usize]);
            prop_assert!(shape.path_alive(source, &hops, &failures));
        }
    }

    /// Theorem 5: k + 1 trees, each reaching every server once, disjoint in directed links.
    #[test]
    fn spanning_trees_span_and_are_disjoint(topology in any_bcube(), source: u32) {
        let shape = Shape::new(&topology).unwrap();
        let source = source % shape.servers();
        let trees = spanning_trees(&shape, source);
        prop_assert_eq!(trees.len(), shape.levels);
        let mut used = std::collections::BTreeSet::new();
        for tree in &trees {
            let mut reached = std::collections::BTreeSet::from([source]);
            for edge in tree {
                prop_assert!(reached.contains(&edge.parent), "a parent comes before its children");
                prop_assert!(reached.insert(edge.child), "a server is reached once");
                let level = usize::from(edge.level);
                prop_assert_eq!(shape.with_digit(edge.parent, level, shape.digit(edge.child, level)), edge.child);
                // Out of the parent and into the child: a sender forwards one copy a child on its
                // port, so a port may serve several children of one tree but never two trees.
                prop_assert!(used.insert(shape.ports().inward(edge.child, u32::from(edge.level))), "a link into a server serves one tree");
            }
            prop_assert_eq!(reached.len() as u32, shape.servers());
        }
    }

    /// Theorem 4: every pair joined in at most two hops, no directed link shared.
    #[test]
    fn complete_graphs_are_edge_disjoint(topology in any_bcube(), source: u32, pick in prop::collection::vec(any::<u32>(), 4)) {
        let shape = Shape::new(&topology).unwrap();
        let source = source % shape.servers();
        let digits: Vec<u32> = (0..shape.levels)
            .map(|level| (shape.digit(source, level) + 1 + pick[level] % (shape.radix[level] - 1)) % shape.radix[level])
            .collect();
        let graph = complete_graph(&shape, source, &digits).unwrap();
        let pairs = graph.servers.len() * (graph.servers.len() - 1) / 2;
        prop_assert_eq!(graph.edges.len(), pairs);
        let mut used = std::collections::BTreeSet::new();
        for (from, to, hops) in &graph.edges {
            let mut path = Vec::new();
            shape.push_links(graph.servers[*from], hops, &mut path);
            assert_walks(&topology, graph.servers[*from], graph.servers[*to], &path, &Failures::none(&topology));
            prop_assert!(hops.len() <= 2);
            for directed in path {
                prop_assert!(used.insert(directed), "a link serves one edge");
            }
        }
    }
}

/// A pocket of 64 servers whose switches to the rest are off, as after a rack has lost its power:
/// nothing leads out of it, and every path within it is found. Deepening alone would try millions
/// of walks for each pair.
#[test]
fn no_path_leaves_a_pocket_of_many_servers() {
    let topology = bcube(8, 3, 8);
    let shape = Shape::new(&topology).unwrap();
    let mut failures = Failures::none(&topology);
    for server in 0..64 {
        for level in [2, 3] {
            failures.fail_node(shape.switch(server, level));
        }
    }
    let live = Live::new(&shape, &failures);
    let mut hops = Hops::new();
    for draw in 0..400u64 {
        let inside = (mix(draw) % 64) as NodeId;
        let outside = 64 + (mix(!draw) % (4096 - 64)) as NodeId;
        let found = |from, to, hops: &mut Hops| {
            find_substitute(&shape, from, to, &Taken::default(), &live, draw, hops)
        };
        assert!(!found(inside, outside, &mut hops));
        assert!(!found(outside, inside, &mut hops));
        assert!(found(
            inside,
            (inside + 1 + (draw % 63) as NodeId) % 64,
            &mut hops
        ));
    }
}
