//! Properties of every structure, over random parameters of every family.

use crate::common;

use std::collections::HashSet;

use common::any_spec;
use cubeyard_topology::{HOST_NAME_MAX_CHARACTERS, Topology, TopologySpec};
use proptest::prelude::*;

proptest! {
    #![proptest_config(common::cases(300))]

    #[test]
    fn the_certificate_passes(spec in any_spec(600)) {
        let topology = Topology::build(&spec).unwrap();
        let certificate = topology.certificate();
        let failed: Vec<_> = certificate.checks.iter().filter(|check| !check.passed).collect();
        prop_assert!(certificate.passed, "{spec:?}: {failed:?}");
        prop_assert_eq!(certificate.checks.len(), 10);
    }

    #[test]
    fn names_and_ids_are_one_to_one(spec in any_spec(600)) {
        let topology = Topology::build(&spec).unwrap();
        let mut seen = HashSet::new();
        for node in 0..topology.node_count() {
            let name = topology.node_name(node);
            prop_assert_eq!(topology.node_by_name(&name), Some(node), "{}", name);
            let prefixed = format!("0{name}");
            prop_assert_ne!(topology.node_by_name(&prefixed), Some(node));
            // A longer address than any here is nobody's name, and no reason to fall over.
            let longer = name.replacen(',', ",0,0,0,0,0,", 1);
            prop_assert!(longer == name || topology.node_by_name(&longer).is_none(), "{}", longer);
            prop_assert!(seen.insert(name));
        }
        for stranger in ["[0,0,0,0,0,0,0,0]", "<0,0,0,0,0,0,0,0>", "(0,0,0,0)", "0.0.0.0.0.0.0.0", "[]", "<>x", ""] {
            prop_assert!(topology.node_by_name(stranger).is_none(), "{}", stranger);
        }
        let mut servers = HashSet::new();
        for node in 0..topology.server_count() {
            prop_assert!(servers.insert(topology.digits(node)));
        }
    }

    #[test]
    fn host_names_and_ids_are_one_to_one_and_every_tool_takes_them(spec in any_spec(600)) {
        let topology = Topology::build(&spec).unwrap();
        let mut seen = HashSet::new();
        for node in 0..topology.node_count() {
            let host = topology.host_name(node);
            prop_assert_eq!(topology.node_by_name(&host), Some(node), "{}", host);
            prop_assert!(host.len() <= HOST_NAME_MAX_CHARACTERS, "{}", host);
            let letter = if topology.is_server(node) { 'h' } else { 's' };
            prop_assert!(host.starts_with(letter), "{}", host);
            prop_assert!(host.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{}", host);
            prop_assert!(!host.ends_with('-') && !host.contains("--"), "{}", host);
            prop_assert!(topology.node_by_name(&format!("{host}-0-0-0-0-0")).is_none(), "{}", host);
            prop_assert!(seen.insert(host));
        }
        for stranger in ["h", "s", "h-", "s-", "h--1", "H0", "x0", "s0-0-0-0-0-0-0-0"] {
            prop_assert!(topology.node_by_name(stranger).is_none(), "{}", stranger);
        }
    }

    #[test]
    fn port_names_of_a_device_differ(spec in any_spec(300)) {
        let topology = Topology::build(&spec).unwrap();
        let mut seen = HashSet::new();
        let links = topology.links();
        for link in 0..links.len() {
            for (node, port) in [(links.a[link], links.a_port[link]), (links.b[link], links.b_port[link])] {
                prop_assert!(u32::from(port) < topology.port_count(node));
                prop_assert!(seen.insert((node, topology.port_name(node, port))));
            }
        }
    }

    #[test]
    fn tiers_follow_each_other_and_adjacency_mirrors_links(spec in any_spec(300)) {
        let topology = Topology::build(&spec).unwrap();
        let mut next = topology.server_count();
        for tier in topology.tiers() {
            prop_assert_eq!(tier.first, next);
            prop_assert!(tier.count > 0 && tier.uplink_ports <= tier.ports);
            for node in [tier.first, tier.first + tier.count - 1] {
                prop_assert_eq!(topology.tier_of(node), Some(tier));
            }
            next += tier.count;
        }
        prop_assert_eq!(next, topology.node_count());
        let csr = topology.adjacency();
        let links = topology.links();
        let mut ends = 0;
        for node in 0..topology.node_count() {
            for (neighbour, link) in csr.row(node) {
                let pair = (links.a[link as usize], links.b[link as usize]);
                prop_assert!(pair == (node, neighbour) || pair == (neighbour, node));
                ends += 1;
            }
        }
        prop_assert_eq!(ends, 2 * links.len());
    }

    #[test]
    fn resolving_is_final_and_changes_nothing(spec in any_spec(300)) {
        let resolved = spec.resolve();
        prop_assert_eq!(resolved.resolve(), resolved.clone());
        let (first, second) = (Topology::build(&spec).unwrap(), Topology::build(&resolved).unwrap());
        prop_assert_eq!(first.links(), second.links());
        prop_assert_eq!(first.tiers(), second.tiers());
        prop_assert_eq!(first.spec(), &resolved);
        prop_assert_eq!(spec.size().unwrap().links, first.link_count() as u64);
        let json = serde_json::to_value(&resolved).unwrap();
        prop_assert_eq!(TopologySpec::from_json(&json).unwrap(), resolved);
    }

    #[test]
    fn link_ends_are_in_the_promised_order(spec in any_spec(300)) {
        let topology = Topology::build(&spec).unwrap();
        let links = topology.links();
        for link in 0..links.len() {
            let (a, b) = (links.a[link], links.b[link]);
            match (topology.tier_of(a), topology.tier_of(b)) {
                (None, None) => prop_assert!(a < b),
                (None, Some(upper)) => prop_assert_eq!(links.level[link], upper.level),
                (Some(lower), Some(upper)) => {
                    prop_assert!(a < b && lower.level <= upper.level);
                    // Links within one level exist only in networks whose switches form no tiers.
                    let within = u8::from(lower.level == upper.level);
                    prop_assert!(within == 0 || !topology.has_tiers());
                    if topology.has_tiers() || within == 0 {
                        prop_assert_eq!(links.level[link], upper.level);
                    } else {
                        prop_assert!(links.level[link] > upper.level);
                    }
                }
                (Some(_), None) => prop_assert!(false, "a switch before a server"),
            }
            prop_assert!(usize::from(links.level[link]) < topology.level_count());
            prop_assert!(links.rate_bits_per_sec(link) > 0.0);
        }
    }
}
