//! A DCell that grows from the top down, and Subways with the uplinks of two types.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{build, cases};
use cubeyard_topology::Topology;
use proptest::prelude::*;

fn top_down(n: u32, racks: u32) -> Topology {
    let servers = n * (n + 1) * racks;
    build(&format!(
        r#"{{"family":"dcell","n":{n},"k":3,"servers":{servers},"growth":1}}"#
    ))
}

/// Links by the names of their ends, unordered, with both ports.
fn wired(topology: &Topology) -> BTreeSet<[(String, u16); 2]> {
    let links = topology.links();
    (0..links.len())
        .map(|link| {
            let mut ends = [
                (topology.node_name(links.a[link]), links.a_port[link]),
                (topology.node_name(links.b[link]), links.b_port[link]),
            ];
            ends.sort();
            ends
        })
        .collect()
}

/// How many DCell_1s each DCell_2 has, and the pairs of DCell_2s that are linked.
fn cells(topology: &Topology, unit: usize) -> (BTreeMap<u32, usize>, BTreeSet<(u32, u32)>) {
    let mut sizes = BTreeMap::new();
    for server in 0..topology.server_count() {
        *sizes.entry(topology.digits(server)[0]).or_insert(0) += 1;
    }
    sizes.values_mut().for_each(|size| *size /= unit);
    let links = topology.links();
    let pairs = (0..links.len())
        .filter(|&link| links.level[link] == 3)
        .map(|link| {
            let ends = [
                topology.digits(links.a[link])[0],
                topology.digits(links.b[link])[0],
            ];
            (ends[0].min(ends[1]), ends[0].max(ends[1]))
        })
        .collect();
    (sizes, pairs)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn growth_adds_servers_and_cables_and_moves_none(n in 2u32..=4, before in 1u32..=60, more in 1u32..=40) {
        let (small, large) = (top_down(n, before), top_down(n, before + more));
        for server in 0..small.server_count() {
            prop_assert_eq!(small.node_name(server), large.node_name(server));
        }
        prop_assert!(wired(&small).is_subset(&wired(&large)));
    }

    #[test]
    fn all_dcell_2s_but_the_newest_are_linked_with_each_other(n in 2u32..=4, racks in 1u32..=150) {
        let racks = if n == 2 { racks } else { racks * 2 };
        let topology = top_down(n, racks);
        let (sizes, pairs) = cells(&topology, (n * (n + 1)) as usize);
        // DCell_2s are numbered without a gap, and none is larger than one before it.
        let numbers: Vec<u32> = sizes.keys().copied().collect();
        prop_assert_eq!(&numbers, &(0..sizes.len() as u32).collect::<Vec<_>>());
        prop_assert!(sizes.values().zip(sizes.values().skip(1)).all(|(a, b)| a >= b));
        let settled = sizes.len() as u32 - 1;
        for j in 0..settled {
            for i in 0..j {
                prop_assert!(pairs.contains(&(i, j)), "{} and {} of {:?}", i, j, sizes);
            }
        }
        prop_assert!(settled == 0 || pairs.contains(&(0, settled)));
        prop_assert!(topology.certificate().passed);
    }
}

#[test]
fn the_papers_tenth_of_a_dcell_3_is_589_dcell_2s_of_14_dcell_1s() {
    let topology = build(r#"{"family":"dcell","n":6,"k":3,"servers":346332,"growth":1}"#);
    let (sizes, pairs) = cells(&topology, 42);
    assert_eq!(sizes.len(), 589);
    assert!(sizes.values().all(|&racks| racks == 14));
    assert_eq!(pairs.len(), 589 * 588 / 2);
}

#[test]
fn the_complete_dcell_is_the_same_network_in_either_order() {
    let filled = build(r#"{"family":"dcell","n":2,"k":3}"#);
    let grown = build(r#"{"family":"dcell","n":2,"k":3,"growth":1}"#);
    assert_eq!(wired(&filled), wired(&grown));
    assert!(grown.certificate().passed);
}

/// Links by the names of their ends, without ports.
fn joined(topology: &Topology) -> Vec<[String; 2]> {
    let mut ends: Vec<[String; 2]> = wired(topology)
        .into_iter()
        .map(|ends| ends.map(|(name, _)| name))
        .collect();
    ends.sort();
    ends
}

#[test]
fn an_upgrade_to_type_2_has_the_links_of_both_types_until_it_ends() {
    let subways = |wiring: &str| {
        build(&format!(
            r#"{{"family":"subways","p":2,"q":4,"l":4,"clusters":4,"loops_per_cluster":2,"aggs_per_cluster":2,"cores":2,{wiring}}}"#
        ))
    };
    let (before, after) = (subways(r#""type":1"#), subways(r#""type":2,"c":2"#));
    let both = subways(r#""type":2,"c":2,"former_type":1"#);
    let mut expected = joined(&after);
    expected.extend(
        joined(&before)
            .into_iter()
            .filter(|ends| !expected.contains(ends))
            .collect::<Vec<_>>(),
    );
    expected.sort();
    assert_eq!(joined(&both), expected);
    assert!(both.links().len() > after.links().len());
    assert!(wired(&after).is_subset(&wired(&both)));
}
