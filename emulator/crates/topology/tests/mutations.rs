//! The certificate must fail when the wiring is wrong.

use crate::common;

use common::any_spec;
use cubeyard_topology::{Links, Topology};
use proptest::prelude::*;
use proptest::sample::Index;

fn failed(topology: Topology, links: Links) -> Vec<&'static str> {
    let certificate = topology.with_links(links).certificate();
    let failed: Vec<_> = certificate
        .checks
        .iter()
        .filter(|check| !check.passed)
        .map(|check| check.name)
        .collect();
    assert_eq!(certificate.passed, failed.is_empty());
    failed
}

fn remove(links: &mut Links, link: usize) {
    links.a.remove(link);
    links.b.remove(link);
    links.a_port.remove(link);
    links.b_port.remove(link);
    links.level.remove(link);
    links.rate_class.remove(link);
}

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn swapping_the_far_ends_of_two_cables_shows(spec in any_spec(200), first: Index, second: Index) {
        let topology = Topology::build(&spec).unwrap();
        let mut links = topology.links().clone();
        prop_assume!(links.len() > 1);
        let (i, j) = (first.index(links.len()), second.index(links.len()));
        prop_assume!(i != j);
        links.b.swap(i, j);
        links.b_port.swap(i, j);
        prop_assert!(!failed(topology, links).is_empty());
    }

    #[test]
    fn a_port_used_twice_shows(spec in any_spec(200), first: Index, second: Index) {
        let topology = Topology::build(&spec).unwrap();
        let mut links = topology.links().clone();
        prop_assume!(links.len() > 1);
        let (i, j) = (first.index(links.len()), second.index(links.len()));
        prop_assume!(i != j);
        (links.b[j], links.b_port[j]) = (links.b[i], links.b_port[i]);
        let failed = failed(topology, links);
        prop_assert!(failed.contains(&"ports") || failed.contains(&"ends"), "{failed:?}");
    }

    #[test]
    fn a_missing_cable_shows(spec in any_spec(200), which: Index) {
        let topology = Topology::build(&spec).unwrap();
        let mut links = topology.links().clone();
        prop_assume!(!links.is_empty());
        remove(&mut links, which.index(topology.link_count()));
        let failed = failed(topology, links);
        for name in ["counts", "levels", "degrees"] {
            prop_assert!(failed.contains(&name), "{failed:?}");
        }
    }

    #[test]
    fn a_wrong_port_level_end_or_rate_shows(spec in any_spec(200), which: Index, kind in 0..6) {
        let topology = Topology::build(&spec).unwrap();
        let mut links = topology.links().clone();
        prop_assume!(!links.is_empty());
        let link = which.index(links.len());
        match kind {
            0 => links.a_port[link] += 1,
            1 => links.b_port[link] = 65_535,
            2 => links.level[link] += 1,
            3 => links.b[link] = topology.node_count(),
            4 => links.b[link] = links.a[link],
            _ => links.rate_class[link] = 255,
        }
        prop_assert!(!failed(topology, links).is_empty());
    }

    #[test]
    fn a_cable_more_shows(spec in any_spec(200), which: Index) {
        let topology = Topology::build(&spec).unwrap();
        let mut links = topology.links().clone();
        prop_assume!(!links.is_empty());
        let link = which.index(links.len());
        links.push((links.a[link], links.a_port[link]), (links.b[link], links.b_port[link]), links.level[link], 0);
        let failed = failed(topology, links);
        prop_assert!(failed.contains(&"ports") && failed.contains(&"counts"), "{failed:?}");
    }
}

#[test]
fn ragged_columns_and_cut_off_parts_show() {
    let topology = common::build(r#"{"family":"bcube","n":4,"k":1}"#);
    let mut links = topology.links().clone();
    links.level.pop();
    assert_eq!(failed(topology.clone(), links), ["ends"]);
    // Without its level-1 links the last BCube_0 is disconnected.
    let mut links = topology.links().clone();
    for link in (0..links.len())
        .rev()
        .filter(|&link| topology.links().level[link] == 1)
    {
        if topology.links().a[link] >= 12 {
            remove(&mut links, link);
        }
    }
    let failed = failed(topology, links);
    assert!(
        failed.contains(&"connected") && failed.contains(&"diameter"),
        "{failed:?}"
    );
}

#[test]
fn the_offender_is_named() {
    let topology = common::build(r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#);
    let mut links = topology.links().clone();
    links.b.swap(0, 9);
    links.b_port.swap(0, 9);
    let certificate = topology.with_links(links).certificate();
    let rule = certificate
        .checks
        .iter()
        .find(|check| check.name == "wiring-rule")
        .unwrap();
    assert_eq!(rule.detail, "Against the rule: link 0, 0000:eth0 to <0,001>:P1.");
}
