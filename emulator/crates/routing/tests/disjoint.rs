//! Parallel paths of two servers, in every family. Their number and length stand against another
//! library in the binding's tests.

use crate::common;

use std::collections::BTreeSet;

use common::{any_failures, any_topology, assert_walks, build};
use cubeyard_routing::bcube::{Shape, build_path_set};
use cubeyard_routing::disjoint::disjoint_paths;
use cubeyard_routing::path::link_of;
use cubeyard_routing::{Failures, NoPath, router};
use cubeyard_topology::{NodeId, Topology};
use proptest::prelude::*;

/// The devices that a path passes between its first and its last.
fn between(topology: &Topology, path: &[u32]) -> Vec<NodeId> {
    let links = topology.links();
    let far = |&direction: &u32| {
        let link = link_of(direction) as usize;
        if direction % 2 == 0 {
            links.b[link]
        } else {
            links.a[link]
        }
    };
    path[..path.len() - 1].iter().map(far).collect()
}

proptest! {
    #![proptest_config(crate::cases::cases(400))]

    /// Each path is live and simple. Two paths share only the devices that all paths share. If any
    /// scheme finds a path, so does this search.
    #[test]
    fn paths_are_live_and_part_for_good(
        topology in any_topology(), (kind, ratio, seed) in any_failures(), ends in any::<(u32, u32)>(),
    ) {
        let failures = Failures::random(&topology, kind, ratio, seed);
        let servers = topology.server_count();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        let found = disjoint_paths(&topology, source, destination, &failures);
        let by_search = router("ecmp", &topology, failures.clone()).unwrap().route(source, destination, 1, &mut Vec::new());
        prop_assert_eq!(found.as_ref().err().copied(), by_search.err());
        let Ok(paths) = found else { return Ok(()) };
        if source == destination {
            prop_assert!(paths.path(0).is_empty());
            return Ok(());
        }
        let passed: Vec<BTreeSet<NodeId>> = paths.iter().map(|path| {
            assert_walks(&topology, source, destination, path, &failures);
            let passed = between(&topology, path);
            let set: BTreeSet<NodeId> = passed.iter().copied().collect();
            assert_eq!(set.len(), passed.len(), "no device is passed twice");
            assert!(topology.servers_relay() || passed.iter().all(|&node| !topology.is_server(node)));
            set
        }).collect();
        let shared: BTreeSet<NodeId> = passed.iter().skip(1).fold(passed[0].clone(), |all, one| &all & one);
        prop_assert!(shared.len() <= 2 || paths.len() == 1, "only the switches of servers with one port");
        for (i, one) in passed.iter().enumerate() {
            for other in &passed[..i] {
                prop_assert_eq!(&(one & other), &shared);
            }
        }
        prop_assert!(paths.iter().is_sorted_by_key(|path| path.len()));
    }

    /// A BCube of k + 1 levels has k + 1 paths between any two servers that differ [bcube §3.2],
    /// and the search is never longer.
    #[test]
    fn a_bcube_has_a_path_a_port((n, k) in (2u32..=5, 0u32..=2), ends in any::<(u32, u32)>()) {
        let topology = build(&format!(r#"{{"family":"bcube","n":{n},"k":{k}}}"#));
        let servers = topology.server_count();
        let (source, destination) = (ends.0 % servers, ends.1 % servers);
        prop_assume!(source != destination);
        let paths = disjoint_paths(&topology, source, destination, &Failures::none(&topology)).unwrap();
        let built = build_path_set(&Shape::new(&topology).unwrap(), source, destination);
        prop_assert_eq!(paths.len(), built.len());
        let links: usize = paths.iter().map(<[u32]>::len).sum();
        prop_assert!(links <= 2 * built.iter().map(|hops| hops.len()).sum::<usize>());
    }
}

#[test]
fn known_networks_have_as_many_paths_as_their_papers_say() {
    for (spec, paths) in [
        (r#"{"family":"dcell","n":4,"k":1}"#, 2),
        (r#"{"family":"torus3d","x":3,"y":3,"z":3}"#, 6),
        (r#"{"family":"fat_tree","ports":4,"layers":3}"#, 2),
        (r#"{"family":"fat_tree","ports":8,"layers":3}"#, 4),
        (r#"{"family":"tree","edge_ports":4,"servers":14}"#, 1),
    ] {
        let topology = build(spec);
        let last = topology.server_count() - 1;
        let found = disjoint_paths(&topology, 0, last, &Failures::none(&topology)).unwrap();
        assert_eq!(found.len(), paths, "{spec}");
    }
}

#[test]
fn a_failed_end_is_named() {
    let topology = build(r#"{"family":"bcube","n":4,"k":1}"#);
    let mut failures = Failures::none(&topology);
    failures.fail_node(3);
    assert_eq!(
        disjoint_paths(&topology, 3, 5, &failures),
        Err(NoPath::SourceFailed)
    );
    assert_eq!(
        disjoint_paths(&topology, 5, 3, &failures),
        Err(NoPath::DestinationFailed)
    );
}
