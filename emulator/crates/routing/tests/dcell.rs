//! DCell's routing against the paper's examples, tables and bounds.

use crate::common;

use std::sync::LazyLock;

use common::{any_failures, assert_walks, build};
use cubeyard_routing::dcell::{
    Dfr, DfrOptions, Group, Hop, PathStatistics, Shape, dcell_broadcast, dcell_routing, dfr_statistics,
    fail_cells, shortest_statistics,
};
use cubeyard_routing::random::Draws;
use cubeyard_routing::shortest::{Choice, Shortest};
use cubeyard_routing::{FailureKind, Failures, Flow, Routed, Router, router};
use cubeyard_topology::Topology;
use proptest::prelude::*;

const TESTBED: &str = r#"{"family":"dcell","n":4,"k":1}"#;

/// The paper's DCell_3 of 176,820 servers, built once.
fn dcell_3() -> &'static Topology {
    static DCELL_3: LazyLock<Topology> = LazyLock::new(|| build(r#"{"family":"dcell","n":4,"k":3}"#));
    &DCELL_3
}

fn names(topology: &Topology, hops: &[Hop]) -> Vec<String> {
    hops.iter().map(|hop| topology.node_name(hop.server)).collect()
}

/// Section 7.3: before the link fails, and after.
#[test]
fn the_testbed_reroutes_as_published() {
    let topology = build(TESTBED);
    let at = |name: &str| topology.node_by_name(name).unwrap();
    let route = |failures: Failures| {
        let mut hops = Vec::new();
        Dfr::new(&topology, failures)
            .unwrap()
            .hops(at("[0,0]"), at("[4,3]"), 1, &mut hops)
            .unwrap();
        hops
    };
    let whole = route(Failures::none(&topology));
    assert_eq!(names(&topology, &whole), ["[0,3]", "[4,0]", "[4,3]"]);
    let mut unplugged = Failures::none(&topology);
    let links = topology.links();
    let cable = (0..links.len())
        .find(|&link| links.a[link] == at("[0,3]") && links.b[link] == at("[4,0]"))
        .unwrap();
    unplugged.fail_link(cable as u32);
    let mut down = Failures::none(&topology);
    down.fail_node(at("[0,3]"));
    // Two paths of four hops are shortest then; the paper's is one of them.
    for failures in [unplugged, down] {
        let hops = route(failures);
        let found = names(&topology, &hops);
        let published = ["[1,0]", "[1,3]", "[4,1]", "[4,3]"];
        let other = ["[0,2]", "[3,0]", "[3,3]", "[4,3]"];
        assert!(found == published || found == other, "{found:?}");
    }
}

/// Flows of one server around the same broken link share the equally near proxies about evenly.
#[test]
fn flows_draw_among_equally_near_proxies() {
    let topology = build(r#"{"family":"dcell","n":4,"k":2}"#);
    let shape = Shape::new(&topology).unwrap();
    // Server [1,0,0] is joined to sub-DCell 0; without that link, other servers of its DCell_0 are
    // the nearest ways out.
    let bridge = shape.bridge(2, 1, 0).unwrap();
    let mut failures = Failures::none(&topology);
    failures.fail_link(shape.ports().link(bridge.near, 2));
    let dfr = Dfr::new(&topology, failures).unwrap();
    let (mut first_out, mut hops) = (std::collections::BTreeMap::<u32, u32>::new(), Vec::new());
    for flow in 0..3000 {
        dfr.hops(bridge.near, 5, flow, &mut hops).unwrap();
        let again = hops.clone();
        dfr.hops(bridge.near, 5, flow, &mut hops).unwrap();
        assert_eq!(hops, again, "flow {flow}");
        let out = hops.iter().find(|hop| hop.level == 2).unwrap();
        *first_out.entry(out.server).or_default() += 1;
    }
    // The three other servers of the DCell_0 and the one at the far end of its level-1 link are one
    // hop away.
    assert_eq!(first_out.len(), 4, "{first_out:?}");
    assert!(
        first_out.values().all(|&flows| (650..850).contains(&flows)),
        "{first_out:?}"
    );
}

/// The complete DCell of these letters has more servers than any number holds; the first thousand
/// are routed all the same.
#[test]
fn the_first_servers_of_an_immense_dcell_are_routed() {
    let topology = build(r#"{"family":"dcell","n":8,"k":6,"servers":1000}"#);
    let failures = Failures::random(&topology, FailureKind::Link, 0.05, 1);
    for scheme in ["dcell", "dfr"] {
        let whole = router(scheme, &topology, Failures::none(&topology)).unwrap();
        let broken = router(scheme, &topology, failures.clone()).unwrap();
        let mut path = Vec::new();
        for (source, destination) in [(0, 999), (999, 0), (700, 3), (17, 640)] {
            whole.route(source, destination, 1, &mut path).unwrap();
            assert_walks(&topology, source, destination, &path, &Failures::none(&topology));
            if broken.route(source, destination, 1, &mut path).is_ok() {
                assert_walks(&topology, source, destination, &path, &failures);
            }
        }
    }
}

/// Mean path of DCellRouting and of shortest paths on the paper's DCell_3, n = 4.
#[test]
fn mean_paths_without_failures() {
    let topology = dcell_3();
    let none = Failures::none(topology);
    let dfr = dfr_statistics(&Dfr::new(topology, none.clone()).unwrap(), 100_000, 1);
    assert_eq!(dfr.failed, 0);
    assert!(
        (dfr.mean_hops() - 11.29).abs() < 0.03,
        "{dfr:?} {}",
        dfr.mean_hops()
    );
    assert!(dfr.longest_hops <= 15);
    let shortest = Shortest::new(topology, none.clone(), Choice::First);
    let spf = shortest_statistics(&shortest, &none, topology.server_count(), 24, 1);
    assert_eq!(spf.failed, 0);
    assert!((spf.mean_hops() - 9.97).abs() < 0.05, "{}", spf.mean_hops());
}

/// Table 2, sampled: (failure, ratio, DFR, SPF, DFR's path failures of `design/FIGURES.md`).
#[test]
fn table_2_comes_out() {
    let topology = dcell_3();
    let rows: &[(&str, f64, f64, f64)] = &[
        ("node", 0.02, 11.60, 10.00),
        ("node", 0.08, 12.78, 10.32),
        ("node", 0.20, 16.05, 11.01),
        ("rack", 0.02, 11.37, 10.00),
        ("rack", 0.20, 12.50, 10.32),
        ("link", 0.02, 11.72, 10.14),
        ("link", 0.08, 13.73, 10.55),
        ("link", 0.20, 17.90, 11.55),
    ];
    for &(kind, ratio, paper_dfr, paper_spf) in rows {
        let failures = failed(topology, kind, ratio, 1);
        let dfr = dfr_statistics(&Dfr::new(topology, failures.clone()).unwrap(), 8_000, 2);
        let close = (dfr.mean_hops() / paper_dfr - 1.0).abs();
        assert!(
            close < 0.025,
            "{kind} {ratio}: DFR {} beside {paper_dfr}",
            dfr.mean_hops()
        );
        let shortest = Shortest::new(topology, failures.clone(), Choice::First);
        let spf = shortest_statistics(&shortest, &failures, topology.server_count(), 2, 3);
        let limit = if kind == "link" && ratio == 0.2 {
            0.40
        } else {
            0.25
        };
        assert!(
            (spf.mean_hops() - paper_spf).abs() < limit,
            "{kind} {ratio}: SPF {} beside {paper_spf}",
            spf.mean_hops()
        );
    }
}

/// Path failures under DFR: nodes little more than the failed destinations, links none of them.
#[test]
fn path_failures_come_out() {
    let topology = dcell_3();
    for (kind, ratio, low, high) in [
        ("node", 0.04, 0.036, 0.046),
        ("node", 0.20, 0.208, 0.245),
        ("link", 0.04, 0.003, 0.011),
        ("link", 0.12, 0.055, 0.085),
        ("link", 0.20, 0.21, 0.26),
    ] {
        let failures = failed(topology, kind, ratio, 4);
        let found = dfr_statistics(&Dfr::new(topology, failures).unwrap(), 8_000, 5).failure_ratio();
        assert!((low..high).contains(&found), "{kind} {ratio}: {found}");
    }
}

/// The prototype's five retries lose the longest paths: 15.6 hops at 20 % failed nodes.
#[test]
fn fewer_retries_shorten_the_mean() {
    let topology = dcell_3();
    let failures = failed(topology, "node", 0.2, 1);
    let options = DfrOptions {
        retries: 5,
        ..DfrOptions::default()
    };
    let few = dfr_statistics(
        &Dfr::with_options(topology, failures.clone(), options).unwrap(),
        8_000,
        2,
    );
    let many = dfr_statistics(&Dfr::new(topology, failures).unwrap(), 8_000, 2);
    assert!(few.mean_hops() < many.mean_hops() && few.failed > many.failed);
    assert!((15.0..16.0).contains(&few.mean_hops()), "{}", few.mean_hops());
}

fn failed(topology: &Topology, kind: &str, ratio: f64, seed: u64) -> Failures {
    let mut failures = Failures::none(topology);
    match kind {
        "rack" => fail_cells(topology, 1, ratio, seed, &mut failures),
        "node" => failures.add_random(topology, FailureKind::Server, ratio, seed),
        _ => failures.add_random(topology, FailureKind::Link, ratio, seed),
    }
    failures
}

fn any_dcell() -> impl Strategy<Value = Topology> {
    prop_oneof![
        Just(r#"{"family":"dcell","n":5,"k":0}"#),
        Just(TESTBED),
        Just(r#"{"family":"dcell","n":2,"k":2}"#),
        Just(r#"{"family":"dcell","n":3,"k":2}"#),
        Just(r#"{"family":"dcell","n":3,"k":2,"servers":100}"#),
        Just(r#"{"family":"dcell","n":2,"k":3,"servers":700}"#),
        // From the top down: after a complete step, while DCell_2s grow, and while one is being
        // added.
        Just(r#"{"family":"dcell","n":2,"k":3,"servers":156,"growth":1}"#),
        Just(r#"{"family":"dcell","n":2,"k":3,"servers":210,"growth":1}"#),
        Just(r#"{"family":"dcell","n":2,"k":3,"servers":702,"growth":1}"#),
    ]
    .prop_map(build)
}

proptest! {
    #![proptest_config(crate::cases::cases(96))]

    /// Without failures DFR is DCellRouting; with them its hops are live, end where they should,
    /// and stay within what the retries allow.
    #[test]
    fn dfr_is_valid(topology in any_dcell(), (kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>()) {
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        let failures = Failures::random(&topology, kind, ratio, seed);
        let dfr = Dfr::new(&topology, failures.clone()).unwrap();
        let mut hops = Vec::new();
        let found = dfr.hops(source, destination, seed, &mut hops);
        let mut single = Vec::new();
        prop_assert!(dcell_routing(&shape, source, destination, &mut single));
        if failures.is_empty() {
            prop_assert!(found.is_ok());
            prop_assert_eq!(&hops, &single);
        }
        if found.is_ok() {
            let mut path = Vec::new();
            dfr.route(source, destination, seed, &mut path).unwrap();
            assert_walks(&topology, source, destination, &path, &failures);
            prop_assert!(shape.path_alive(source, &hops, &failures));
        } else {
            // Where DCellRouting's own path lives, DFR has it too.
            let mut path = Vec::new();
            prop_assert!(router("dcell", &topology, failures.clone()).unwrap().route(source, destination, 0, &mut path).is_err());
        }
    }

    /// Links come from kept paths once a server has sent many flows: they are those of the hops.
    #[test]
    fn kept_paths_are_those_of_the_hops(topology in any_dcell(), (kind, ratio, seed) in any_failures(), from: u32) {
        let shape = Shape::new(&topology).unwrap();
        let failures = Failures::random(&topology, kind, ratio, seed);
        let dfr = Dfr::new(&topology, failures.clone()).unwrap();
        let single = router("dcell", &topology, failures.clone()).unwrap();
        let source = from % shape.servers();
        let flow = |number: u32| Flow { source, destination: number.wrapping_mul(2_654_435_761) % shape.servers(), seed: number.into() };
        let flows: Vec<Flow> = (0..1000).map(flow).collect();
        let (mut batch, mut plain) = (Routed::default(), Routed::default());
        dfr.route_batch(&flows, &mut batch);
        single.route_batch(&flows, &mut plain);
        let (mut starts, mut hops, mut links) = ([0, 0], Vec::new(), Vec::new());
        for (place, flow) in flows.iter().enumerate() {
            links.clear();
            if dfr.hops(flow.source, flow.destination, flow.seed, &mut hops).is_ok() {
                shape.push_links(source, &hops, &mut links);
            }
            prop_assert_eq!(&batch.links[starts[0]..batch.ends[place] as usize], &links[..]);
            hops.clear();
            links.clear();
            let alive = !failures.node_failed(source)
                && !failures.node_failed(flow.destination)
                && dcell_routing(&shape, source, flow.destination, &mut hops)
                && shape.path_alive(source, &hops, &failures);
            if alive {
                shape.push_links(source, &hops, &mut links);
            }
            prop_assert_eq!(&plain.links[starts[1]..plain.ends[place] as usize], &links[..]);
            starts = [batch.ends[place] as usize, plain.ends[place] as usize];
        }
    }

    /// Flows in the order of an all-to-all share cached paths: each gets the path of its hops, and
    /// the same reason if there is none.
    #[test]
    fn batches_give_the_paths_of_the_hops(
        topology in any_dcell(), kinds in (any_failures(), any_failures()), from: u32, group_level in 0usize..3,
    ) {
        let shape = Shape::new(&topology).unwrap();
        let ((kind, ratio, seed), (other, less, _)) = kinds;
        let mut failures = Failures::random(&topology, kind, ratio, seed);
        failures.add_random(&topology, other, less / 2.0, seed);
        let options = DfrOptions { group_level, ..DfrOptions::default() };
        let dfr = Dfr::with_options(&topology, failures, options).unwrap();
        let servers = shape.servers();
        let flow = |number: u32| Flow {
            source: (from % servers + number / servers) % servers,
            destination: number % servers,
            seed: u64::from(number) ^ seed,
        };
        let flows: Vec<Flow> = (0..2000).map(flow).collect();
        let mut routed = Routed::default();
        let mut hops = Vec::new();
        // Paths are cached after several requests.
        for round in 0..4 {
            dfr.route_batch(&flows, &mut routed);
            let (mut start, mut dropped) = (0, routed.dropped.iter());
            for (place, flow) in flows.iter().enumerate() {
                let mut links = Vec::new();
                match dfr.hops(flow.source, flow.destination, flow.seed, &mut hops) {
                    Ok(()) => shape.push_links(flow.source, &hops, &mut links),
                    Err(reason) => prop_assert_eq!(dropped.next(), Some(&(place as u32, reason))),
                }
                let end = routed.ends[place] as usize;
                prop_assert_eq!(&routed.links[start..end], &links[..], "round {} {:?}", round, flow);
                start = end;
            }
            prop_assert_eq!(dropped.next(), None);
        }
    }

    /// Where each server decides for itself, hops are live and end where they should; without
    /// failures they are those of DCellRouting, and inside a DCell_1 as many as those of a walk.
    #[test]
    fn a_view_with_an_index_gives_the_same_paths(topology in any_dcell(), (kind, ratio, seed) in any_failures(), from: u32) {
        let shape = Shape::new(&topology).unwrap();
        let failures = Failures::random(&topology, kind, ratio, seed);
        let alive = |from, to, level: usize| shape.hop_alive(from, to, level, &failures);
        let mut plain = Group::default();
        plain.search(&shape, alive, shape.k().min(1), from % shape.servers());
        let mut indexed = plain.clone();
        indexed.index(&shape, alive);
        for (to, _) in plain.nearest_first() {
            let path = |group: &Group| {
                let mut hops = Vec::new();
                let mut draws = Draws::new(seed);
                assert!(group.path_to(&shape, alive, to, &mut draws, &mut hops));
                (hops, draws.next_bits())
            };
            prop_assert_eq!(path(&plain), path(&indexed));
        }
    }

    #[test]
    fn dfr_by_tables_is_valid(topology in any_dcell(), (kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>()) {
        let shape = Shape::new(&topology).unwrap();
        let (source, destination) = (ends.0 % shape.servers(), ends.1 % shape.servers());
        let failures = Failures::random(&topology, kind, ratio, seed);
        let dfr = Dfr::new(&topology, failures.clone()).unwrap();
        let (mut hops, mut walked) = (Vec::new(), Vec::new());
        let found = dfr.hops_by_tables(source, destination, &mut hops);
        let walks = dfr.hops(source, destination, seed, &mut walked);
        if failures.is_empty() {
            prop_assert_eq!(&hops, &walked);
        }
        if shape.k() <= 1 {
            prop_assert_eq!((found.is_ok(), hops.len()), (walks.is_ok(), walked.len()));
        }
        if found.is_ok() {
            prop_assert!(shape.path_alive(source, &hops, &failures));
            prop_assert_eq!(hops.last().map_or(source, |hop| hop.server), destination);
        }
    }

    /// Within a DCell_1 link state sees everything: DFR finds a shortest path whenever one exists.
    #[test]
    fn inside_a_dcell_1_dfr_is_link_state((kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>()) {
        let topology = build(TESTBED);
        let failures = Failures::random(&topology, kind, ratio, seed);
        let (source, destination) = (ends.0 % 20, ends.1 % 20);
        prop_assume!(!failures.node_failed(source) && !failures.node_failed(destination));
        let mut hops = Vec::new();
        let found = Dfr::new(&topology, failures.clone()).unwrap().hops(source, destination, seed, &mut hops);
        let distance = Shortest::new(&topology, failures, Choice::First).half_hops(source)[destination as usize];
        prop_assert_eq!(found.is_ok(), distance != u16::MAX);
        if found.is_ok() {
            prop_assert_eq!(hops.len() as u16 * 2, distance);
        }
    }

    /// Everyone whom live parts join to the source receives once, by a shortest path.
    #[test]
    fn broadcast_reaches_all_once(topology in any_dcell(), (kind, ratio, seed) in any_failures(), source: u32) {
        let shape = Shape::new(&topology).unwrap();
        let source = source % shape.servers();
        let failures = Failures::random(&topology, kind, ratio, seed);
        prop_assume!(!failures.node_failed(source));
        let broadcast = dcell_broadcast(&shape, source, shape.k(), &failures);
        let distance = Shortest::new(&topology, failures.clone(), Choice::First).half_hops(source);
        let mut reached = std::collections::BTreeSet::from([source]);
        for delivery in &broadcast.deliveries {
            prop_assert!(reached.contains(&delivery.from));
            prop_assert!(reached.insert(delivery.server));
            prop_assert!(shape.hop_alive(delivery.from, delivery.server, usize::from(delivery.level), &failures));
            prop_assert_eq!(delivery.hops * 2, u32::from(distance[delivery.server as usize]));
        }
        let reachable = distance[..shape.servers() as usize].iter().filter(|&&far| far != u16::MAX).count();
        prop_assert_eq!(reached.len(), reachable);
    }
}

#[test]
fn a_broadcast_sends_once_a_port() {
    let topology = build(TESTBED);
    let shape = Shape::new(&topology).unwrap();
    let broadcast = dcell_broadcast(&shape, 0, 1, &Failures::none(&topology));
    // The source on both ports, 19 others on the port they did not first receive by.
    assert_eq!((broadcast.deliveries.len(), broadcast.packets), (19, 2 + 19));
    let small = dcell_broadcast(&shape, 0, 0, &Failures::none(&topology));
    assert_eq!((small.deliveries.len(), small.packets), (3, 1));
}

#[test]
fn statistics_of_nothing_are_defined() {
    assert_eq!(PathStatistics::default().mean_hops(), 0.0);
    assert_eq!(PathStatistics::default().failure_ratio(), 0.0);
    let topology = build(TESTBED);
    let mut failures = Failures::none(&topology);
    fail_cells(&topology, 1, 1.0, 0, &mut failures);
    let none = dfr_statistics(&Dfr::new(&topology, failures).unwrap(), 10, 0);
    assert_eq!(none, PathStatistics::default());
}
