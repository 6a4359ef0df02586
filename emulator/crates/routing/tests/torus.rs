//! CamCube's services against the paper's numbers.

use crate::common;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use common::{assert_walks, build};
use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{
    KeyMap, LinkStress, Lookups, Multipath, Shape, Ties, Ways, aggregation_loads, append_shortest,
    cache_lookups, disjoint_paths, join_by_corners, join_tree, link_stress, nearest_replica,
    routing_service_loads, saturated_flow, secondary_replicas,
};
use cubeyard_routing::{FailureKind, Failures, PathSet, Router};
use cubeyard_topology::Topology;
use proptest::prelude::*;

/// The paper's network of 8,000 servers, built once.
fn camcube() -> &'static (Topology, Shape) {
    static CAMCUBE: LazyLock<(Topology, Shape)> = LazyLock::new(|| {
        let topology = build(r#"{"family":"torus3d","x":20,"y":20,"z":20}"#);
        let shape = Shape::new(&topology).unwrap();
        (topology, shape)
    });
    &CAMCUBE
}

#[test]
fn diameter_and_mean_are_those_published() {
    for (size, diameter, mean) in [(20, 30, 15.0), (12, 18, 9.0)] {
        let topology = build(&format!(
            r#"{{"family":"torus3d","x":{size},"y":{size},"z":{size}}}"#
        ));
        let shape = Shape::new(&topology).unwrap();
        let distances: Vec<u32> = (0..shape.servers())
            .map(|server| shape.distance(0, server))
            .collect();
        assert_eq!(distances.iter().max(), Some(&diameter));
        assert_eq!(
            f64::from(distances.iter().sum::<u32>()) / f64::from(shape.servers()),
            mean
        );
    }
}

/// Section 3.1, for all 7,999 destinations: at least three link-disjoint paths, two hops of stretch
/// at most.
#[test]
fn tcp_paths_are_disjoint_and_short() {
    let (topology, shape) = camcube();
    let none = Failures::none(topology);
    let source = topology.node_by_name("(3,17,9)").unwrap();
    let mut paths = PathSet::default();
    for destination in (0..shape.servers()).filter(|&server| server != source) {
        disjoint_paths(shape, source, destination, &mut paths);
        assert!(paths.len() >= 3);
        let mut used = BTreeSet::new();
        for path in paths.iter() {
            assert_walks(topology, source, destination, path, &none);
            assert!(path.len() as u32 <= shape.distance(source, destination) + 2);
            assert!(
                path.iter().all(|&directed| used.insert(directed)),
                "a link is shared"
            );
        }
    }
}

/// Table 1: all 14 cells of the aggregation service.
#[test]
fn table_1_comes_out_exactly() {
    let (_, shape) = camcube();
    let none = link_stress(&aggregation_loads(shape, 4321, false));
    let expected = LinkStress {
        links_used: 7999,
        packets: 120_000,
        median: 5,
        percentile_90: 9,
        percentile_99: 160,
        maximum: 4000,
    };
    assert_eq!(none, expected);
    let full = link_stress(&aggregation_loads(shape, 4321, true));
    let expected = LinkStress {
        links_used: 7999,
        packets: 7999,
        median: 1,
        percentile_90: 1,
        percentile_99: 1,
        maximum: 1,
    };
    assert_eq!(full, expected);
    // Percentage of links used: 17 of 48,000.
    assert_eq!((100.0 * 7999.0f64 / 48_000.0).round(), 17.0);
}

/// Table 1's routing service: 19,646 links, 3 / 7 / 51 / 1,494 in the paper.
#[test]
fn the_routing_service_spreads_as_published() {
    let (topology, shape) = camcube();
    for seed in 0..3 {
        let stress = link_stress(&routing_service_loads(shape, 4321, Ties::Up, seed));
        assert_eq!(stress.packets, 120_000);
        assert!((19_450..19_750).contains(&stress.links_used), "{stress:?}");
        assert_eq!(
            (stress.median, stress.percentile_90, stress.percentile_99),
            (3, 7, 51)
        );
        assert!((1_440..1_540).contains(&stress.maximum), "{stress:?}");
    }
    let service = Multipath::new(topology, Failures::none(topology)).unwrap();
    let mut path = Vec::new();
    for server in 0..shape.servers() {
        service.route(server, 4321, u64::from(server), &mut path).unwrap();
        assert_eq!(path.len() as u32, shape.distance(server, 4321));
    }
}

/// Figure 3: medians 15 and 7, never more than the diameter.
#[test]
fn cache_hops_are_those_published() {
    let (_, shape) = camcube();
    let hops = cache_lookups(
        shape,
        &Lookups {
            keys: 1_000_000,
            exponent: 1.5,
            lookups: 100_000,
            batch: 1,
            ways: Ways::Drawn,
            seed: 1,
        },
    );
    let median = |histogram: &[u64]| {
        let half = histogram.iter().sum::<u64>().div_ceil(2);
        let mut seen = 0;
        histogram
            .iter()
            .position(|&count| {
                seen += count;
                seen >= half
            })
            .unwrap()
    };
    assert_eq!(median(&hops.routing_service), 15);
    assert_eq!(median(&hops.cache_service), 7);
    assert_eq!(hops.routing_service.len() - 1, 30);
    assert!(hops.cache_service.len() - 1 <= 30);
}

#[test]
fn a_lookup_prefers_the_primary() {
    let (topology, shape) = camcube();
    let at = |name: &str| topology.node_by_name(name).unwrap();
    let secondaries = secondary_replicas(shape, at("(0,0,0)"));
    assert!(secondaries.contains(&at("(5,15,5)")));
    let mut draws = Draws::new(1);
    assert_eq!(
        nearest_replica(shape, at("(1,0,0)"), at("(0,0,0)"), &secondaries, &mut draws),
        None
    );
    let near = nearest_replica(shape, at("(5,14,6)"), at("(0,0,0)"), &secondaries, &mut draws).unwrap();
    assert_eq!(secondaries[near], at("(5,15,5)"));
}

/// Figure 2: the gain in links peaks near a tenth of the servers and vanishes when all have joined.
#[test]
fn the_distribution_tree_saves_links() {
    let (_, shape) = camcube();
    let root = 4321;
    let gain = |share: f64| {
        let mut servers: Vec<u32> = (0..shape.servers()).collect();
        Draws::new(3).shuffle(&mut servers);
        let members = &servers[..(share * f64::from(shape.servers())) as usize];
        let own = join_tree(shape, root, members, |at| join_by_corners(shape, at, root))
            .edges
            .len();
        // The base: fixed poll order, the first link (x+, x-, y+, ...) on a shortest path.
        let base = join_tree(shape, root, members, |at| {
            (0..3)
                .find_map(|axis| {
                    let nearer = shape.nearer(at, root, axis, Ties::Up);
                    (nearer != [false, false]).then_some((axis, nearer[0]))
                })
                .unwrap()
        })
        .edges
        .len();
        1.0 - own as f64 / base as f64
    };
    let gains: Vec<f64> = [0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0].map(gain).to_vec();
    assert_eq!(
        gains[6], 0.0,
        "a tree of all servers has one link less than servers, for every protocol"
    );
    assert!(
        gains[3] > gains[0] && gains[3] > gains[5] && gains[3] > 0.05,
        "{gains:?}"
    );
}

/// A join packet comes one hop nearer with every step, from everywhere, on any edge length.
#[test]
fn joins_never_stray() {
    for size in [2, 3, 8, 20] {
        let topology = build(&format!(
            r#"{{"family":"torus3d","x":{size},"y":{size},"z":{size}}}"#
        ));
        let shape = Shape::new(&topology).unwrap();
        let members: Vec<u32> = (0..shape.servers()).collect();
        let tree = join_tree(&shape, 1, &members, |at| join_by_corners(&shape, at, 1));
        assert_eq!(tree.edges.len() as u32, shape.servers() - 1);
        for (child, parent, down) in tree.edges {
            assert_eq!(shape.distance(child, 1), shape.distance(parent, 1) + 1);
            assert_walks(&topology, parent, child, &[down], &Failures::none(&topology));
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    /// Keys go to a nearest live server; one more failure moves that server's keys only, to live
    /// ones.
    #[test]
    fn keys_move_only_from_the_failed(ratio in 0.0..0.6f64, seed: u64, key: u64, extra: u32) {
        let topology = build(r#"{"family":"torus3d","x":5,"y":4,"z":3}"#);
        let shape = Shape::new(&topology).unwrap();
        let mut failures = Failures::random(&topology, FailureKind::Server, ratio, seed);
        let extra = extra % 60;
        let before: Vec<_> = {
            let map = KeyMap::new(&shape);
            (0..60).map(|home| map.server_of(&shape, key, home, |server| !failures.node_failed(server))).collect()
        };
        for (home, server) in before.iter().enumerate() {
            let server = server.unwrap();
            let least = (0..60).filter(|&other| !failures.node_failed(other)).map(|other| shape.distance(home as u32, other)).min();
            prop_assert_eq!(Some(shape.distance(home as u32, server)), least);
        }
        prop_assume!(!failures.node_failed(extra) && failures.nodes().len() < 59);
        failures.fail_node(extra);
        let map = KeyMap::new(&shape);
        for (home, &old) in before.iter().enumerate() {
            let new = map.server_of(&shape, key, home as u32, |server| !failures.node_failed(server));
            prop_assert!(new.is_some_and(|server| !failures.node_failed(server)));
            prop_assert!(old == Some(extra) || new == old);
        }
    }
}

#[test]
fn ties_among_heirs_spread() {
    let (_, shape) = camcube();
    let map = KeyMap::new(shape);
    let alive = |server: u32| server != 4321;
    let mut heirs = std::collections::BTreeMap::new();
    for key in 0..6000 {
        *heirs
            .entry(map.server_of(shape, key, 4321, alive).unwrap())
            .or_insert(0) += 1;
    }
    assert_eq!(heirs.len(), 6);
    assert!(heirs.values().all(|keys| (850..1150).contains(keys)), "{heirs:?}");
    assert_eq!(map.server_of(shape, 1, 4321, |_| false), None);
}

#[test]
fn a_flow_alone_congests_where_its_paths_meet() {
    let (topology, shape) = camcube();
    let at = |name: &str| topology.node_by_name(name).unwrap();
    let flow = |to: &str| saturated_flow(shape, at("(0,0,0)"), at(to), Ties::Up, Ways::Drawn);
    // A straight line is one path; a square's two paths do not meet; a flat one's do, on the long
    // edge.
    assert_eq!((flow("(5,0,0)").delivered, flow("(5,0,0)").carried), (1.0, 5.0));
    assert_eq!((flow("(1,1,0)").delivered, flow("(1,1,0)").carried), (2.0, 4.0));
    // (1,0,0) forwards half in either direction; 1 of the 1.5 that it and (0,1,0) send to the edge
    // passes.
    assert_eq!(flow("(2,1,0)").delivered, 1.5);
    assert_eq!(flow("(0,0,0)").delivered, 0.0);
    // Two of a corner's three paths meet one hop before the end if each server fills its links in
    // a fixed order.
    let corner = |order| saturated_flow(shape, 0, at("(1,1,1)"), Ties::Up, order).delivered;
    assert_eq!((corner(Ways::Drawn), corner(Ways::First)), (3.0, 2.0));
}

proptest! {
    /// A path of the routing service is a shortest one; by first ways always the same, axis after
    /// axis.
    #[test]
    fn appended_paths_are_shortest(from in 0u32..8000, to in 0u32..8000, seed: u64) {
        let (topology, shape) = camcube();
        for ways in [Ways::Drawn, Ways::First] {
            let path = |seed: u64| {
                let mut path = Vec::new();
                append_shortest(shape, from, to, ways, &mut Draws::new(seed), &mut path);
                path
            };
            let found = path(seed);
            prop_assert_eq!(found.len() as u32, shape.distance(from, to));
            assert_walks(topology, from, to, &found, &Failures::none(topology));
            prop_assert!(ways == Ways::Drawn || path(!seed) == found);
        }
    }
}

proptest! {
    /// No more arrives than links leave the source or enter the destination, and each bit crosses
    /// at least the distance.
    #[test]
    fn a_flow_alone_keeps_to_its_links(
        destination in 1u32..8000,
        ties in prop::sample::select(vec![Ties::Up, Ties::Both]),
        order in prop::sample::select(vec![Ways::Drawn, Ways::First]),
    ) {
        let (_, shape) = camcube();
        let flow = saturated_flow(shape, 0, destination, ties, order);
        let ways = (0..3).flat_map(|axis| shape.nearer(0, destination, axis, ties)).filter(|&nearer| nearer).count();
        let hops = f64::from(shape.distance(0, destination));
        prop_assert!(flow.delivered >= 1.0 - 1e-9 && flow.delivered <= ways as f64 + 1e-9);
        prop_assert!(flow.carried >= flow.delivered * hops - 1e-9 && flow.carried <= ways as f64 * hops + 1e-9);
    }
}

proptest! {
    /// The fast walk keeps offsets and directions from hop to hop; this test computes them again at
    /// each hop.
    #[test]
    fn the_routing_service_takes_a_random_link_of_those_that_come_nearer(
        sizes in prop::array::uniform3(prop_oneof![4 => 1u32..7, 1 => 40u32..50]),
        flow: u64,
        ends in [0.0..1.0f64, 0.0..1.0],
        ties in prop_oneof![Just(Ties::Up), Just(Ties::Both)],
    ) {
        prop_assume!(sizes.iter().product::<u32>() > 1);
        let [x, y, z] = sizes;
        let topology = build(&format!(r#"{{"family":"torus3d","x":{x},"y":{y},"z":{z}}}"#));
        let shape = Shape::new(&topology).unwrap();
        let [source, destination] = ends.map(|share| (share * f64::from(shape.servers())) as u32);
        let router = Multipath::with_ties(&topology, Failures::none(&topology), ties).unwrap();
        let mut path = Vec::new();
        router.route(source, destination, flow, &mut path).unwrap();
        let mut draws = Draws::new(flow);
        let (mut at, mut expected) = (source, Vec::new());
        let mut fraction = 0;
        while at != destination {
            if expected.len().is_multiple_of(20) {
                fraction = u128::from(draws.next_bits());
            }
            let ways: Vec<(usize, bool)> = (0..3)
                .flat_map(|axis| [(axis, true), (axis, false)])
                .filter(|&(axis, up)| shape.nearer(at, destination, axis, ties)[usize::from(!up)])
                .collect();
            // The whole part of choices times a fraction of 64 bits chooses; the rest is the next
            // fraction.
            let product = fraction * ways.len() as u128;
            fraction = product & u128::from(u64::MAX);
            let (axis, up) = ways[(product >> 64) as usize];
            let (next, directed) = shape.step(at, axis, up);
            expected.push(directed);
            at = next;
        }
        prop_assert_eq!(path, expected);
    }
}
