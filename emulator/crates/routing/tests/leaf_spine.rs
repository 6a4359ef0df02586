//! Equal-cost multipath over the spines.

use crate::common;

use std::collections::BTreeMap;

use common::{any_failures, build};
use cubeyard_routing::path::link_of;
use cubeyard_routing::{Failures, NoPath, router};
use cubeyard_topology::Topology;
use proptest::prelude::*;

fn any_leaf_spine() -> impl Strategy<Value = Topology> {
    let two = (1u32..=5, 1u32..=4, 1u32..=4, 1u32..=3);
    let third = prop_oneof![Just((0u32, 1u32, 1u32)), (1u32..=3, 1u32..=3, 1u32..=2)];
    (two, third).prop_map(|((leaves, spines, servers, uplinks), (tops, pods, top_uplinks))| {
        build(&format!(
            r#"{{"family":"leaf_spine","leaves":{leaves},"spines":{spines},"servers_per_leaf":{servers},"uplinks_per_spine":{uplinks},
                "super_spines":{tops},"pods":{pods},"uplinks_per_super_spine":{top_uplinks}}}"#
        ))
    })
}

proptest! {
    #![proptest_config(crate::cases::cases(400))]

    /// For each flow, the scheme computes the path that `ecmp` finds by searching the live network
    /// with the same random draws. Unlike `ecmp`, it makes no detours by a third leaf. Within a pod
    /// it also uses super-spines, like the tables tested in `tables.rs`.
    #[test]
    fn paths_are_those_of_ecmp_by_search(
        topology in any_leaf_spine(), (kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>(), flow: u64,
    ) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        let [mut own, mut found] = [Vec::new(), Vec::new()];
        let by_search = router("ecmp", &topology, failures.clone()).unwrap().route(source, destination, flow, &mut found);
        let computed = router("leaf-spine", &topology, failures).unwrap().route(source, destination, flow, &mut own);
        let pod_of = |server: u32| match topology.digits(server)[..] {
            [pod, _, _] => pod,
            _ => 0,
        };
        let direct = if pod_of(source) == pod_of(destination) { 4 } else { 6 };
        if by_search.is_ok() && found.len() > direct {
            let is_by_top = own.iter().any(|&directed| {
                let links = topology.links();
                let top = links.b[link_of(directed) as usize];
                topology.tiers().get(2).is_some_and(|tier| tier.first <= top)
            });
            prop_assert!(computed == Err(NoPath::NotFound) || direct == 4 && own.len() == 6 && is_by_top, "a detour");
        } else {
            prop_assert_eq!(computed, by_search);
            prop_assert_eq!(own, found);
        }
    }
}

#[test]
fn flows_spread_evenly_over_the_live_links_of_the_live_spines() {
    let topology =
        build(r#"{"family":"leaf_spine","leaves":3,"spines":4,"servers_per_leaf":2,"uplinks_per_spine":2}"#);
    let node = |name: &str| topology.node_by_name(name).unwrap();
    let (source, destination) = (node("0.0"), node("2.1"));
    let links = topology.links();
    let mut failures = Failures::none(&topology);
    // Spine 0 is down, spine 1 is cut off from the destination's leaf, and one of two links leads
    // up to spine 2.
    failures.fail_node(node("<1,0>"));
    let between = |leaf: u32, spine: u32| {
        (0..links.len()).filter(move |&link| links.a[link] == leaf && links.b[link] == spine)
    };
    between(node("<0,2>"), node("<1,1>")).for_each(|link| failures.fail_link(link as u32));
    failures.fail_link(between(node("<0,0>"), node("<1,2>")).next().unwrap() as u32);
    let router = router("leaf-spine", &topology, failures).unwrap();
    let (mut path, mut ups, mut ways) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for flow in 0..6000 {
        router.route(source, destination, flow, &mut path).unwrap();
        *ups.entry(path[1]).or_insert(0) += 1;
        *ways.entry((path[1], path[2])).or_insert(0) += 1;
    }
    assert_eq!(ups.len(), 3, "one link to spine 2 and two to spine 3");
    assert!(ups.values().all(|flows| (1800..2200).contains(flows)), "{ups:?}");
    assert_eq!(ways.len(), 6, "and two links down from each");
    assert!(ways.values().all(|flows| (880..1120).contains(flows)), "{ways:?}");
}

#[test]
fn flows_between_pods_spread_over_the_live_links_that_lead_down() {
    let topology = build(
        r#"{"family":"leaf_spine","leaves":2,"spines":2,"servers_per_leaf":1,"super_spines":3,"pods":2,"uplinks_per_super_spine":2}"#,
    );
    let node = |name: &str| topology.node_by_name(name).unwrap();
    let (source, destination) = (node("0.0.0"), node("1.1.0"));
    let links = topology.links();
    let between = |lower: u32, upper: u32| {
        (0..links.len() as u32)
            .filter(move |&link| links.a[link as usize] == lower && links.b[link as usize] == upper)
    };
    let mut failures = Failures::none(&topology);
    // Super-spine 0 is down; super-spine 1 has no link to the only spine that leads down to the
    // destination's leaf.
    failures.fail_node(node("<2,0>"));
    between(node("<0,1.1>"), node("<1,1.0>")).for_each(|link| failures.fail_link(link));
    between(node("<1,1.1>"), node("<2,1>")).for_each(|link| failures.fail_link(link));
    let router = router("leaf-spine", &topology, failures).unwrap();
    let (mut path, mut paths) = (Vec::new(), BTreeMap::new());
    for flow in 0..6000 {
        router.route(source, destination, flow, &mut path).unwrap();
        assert_eq!(path.len(), 6);
        *paths.entry(path.clone()).or_insert(0) += 1;
    }
    // Two spines up, two links to super-spine 2, two links down from it, one way from there.
    assert_eq!(paths.len(), 8);
    assert!(
        paths.values().all(|flows| (630..870).contains(flows)),
        "{paths:?}"
    );
}
