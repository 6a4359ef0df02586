//! Breakout cables: the links that share one, the bill, labels and plugs, and rejected rules.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::{Plan, builtin_book, plan, read_spec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn planned(spec: &Value) -> Plan {
    plan(
        &read_spec(&spec.to_string()).unwrap(),
        &builtin_book("current-2026").unwrap(),
    )
    .unwrap()
}

fn pods(breakouts: &Value) -> Value {
    json!({
        "topology": {"family": "leaf_spine", "leaves": 4, "spines": 2, "servers_per_leaf": 10, "server_gbps": 25,
            "uplink_gbps": 100, "super_spines": 4, "pods": 2},
        "cabling": {"breakouts": breakouts},
    })
}

fn line_quantities(plan: &Plan) -> BTreeMap<&str, f64> {
    let mut quantities = BTreeMap::new();
    for line in &plan.bom.lines {
        *quantities.entry(line.sku.as_str()).or_default() += line.quantity;
    }
    quantities
}

#[test]
fn servers_share_the_ports_of_their_leaf() {
    let (single, broken) = (
        planned(&pods(&json!([]))),
        planned(&pods(&json!([{"level": 0, "links": 4}]))),
    );
    assert_eq!(single.topology.links().len(), broken.topology.links().len());
    // 8 leaves with 10 servers each: two cables of four legs and one of two, whose other legs stay
    // free.
    assert_eq!(broken.wiring.breakouts.cables.len(), 8 * 3);
    assert_eq!(broken.wiring.cable_count(), single.wiring.cable_count() - 80 + 24);
    let bought = line_quantities(&broken);
    let sum: f64 = ["DAC-100G-4X25G", "AOC-100G-4X25G"]
        .iter()
        .filter_map(|sku| bought.get(sku))
        .sum();
    assert!((sum - 24.0).abs() < 1e-9, "{bought:?}");
    assert!(
        !bought.contains_key("DAC-25G") && !bought.contains_key("AOC-25G"),
        "{bought:?}"
    );
    // A leaf needs 3 ports of 100G for its servers and 2 up instead of 10 ports of 25G: the same
    // switch as a spine.
    assert_eq!(
        bought.get("SW-8X100GQ"),
        Some(&12.0),
        "8 leaves and 4 spines: {bought:?}"
    );
    // Labels at the trunks name all ports of the plug, and are the same for all its legs.
    let leaf = broken.topology.node_by_name("<0,0.0>").unwrap();
    let at_leaf: BTreeSet<String> = (0..broken.topology.links().len())
        .filter(|&link| broken.topology.links().b[link] == leaf)
        .map(|link| broken.far_label(link))
        .collect();
    assert_eq!(at_leaf.len(), 3);
    let of_ports = |ports: &str, more: &str| {
        at_leaf
            .iter()
            .any(|label| label.contains(&format!(":{ports}/")) && label.ends_with(more))
    };
    assert!(
        of_ports("P0-P3", "+3") && of_ports("P4-P7", "+3") && of_ports("P8-P9", "+1"),
        "{at_leaf:?}"
    );
    // Labels at the servers name one port.
    assert!(broken.label(5).ends_with(":P5"), "{}", broken.label(5));
}

#[test]
fn uplinks_share_a_plug_of_the_switch_below() {
    // Four links of 100G from each spine, one to each super-spine, from one 400G port.
    let broken = planned(&pods(&json!([{"level": 2, "links": 4, "trunk": "lower"}])));
    assert_eq!(broken.wiring.breakouts.cables.len(), 4);
    for cable in &broken.wiring.breakouts.cables {
        let links = broken.topology.links();
        assert!(cable.trunk_is_a);
        let trunks: BTreeSet<u32> = cable.links.iter().map(|&link| links.a[link as usize]).collect();
        let branches: BTreeSet<u32> = cable.links.iter().map(|&link| links.b[link as usize]).collect();
        assert_eq!((trunks.len(), branches.len()), (1, 4));
    }
    let bought = line_quantities(&broken);
    assert!(
        bought.contains_key("DAC-400G-4X100G") || bought.contains_key("AOC-400G-4X100G"),
        "{bought:?}"
    );
    assert!(
        bought.contains_key("SW-8X400GQ"),
        "spines need a port of 400G: {bought:?}"
    );
}

#[test]
fn rules_that_do_not_fit_are_refused_by_field() {
    for (spec, field, code) in [
        (
            pods(&json!([{"level": 3, "links": 4}])),
            "cabling.breakouts[0].level",
            "breakout-no-level",
        ),
        (
            pods(&json!([{"level": 0, "links": 4}, {"level": 0, "links": 2}])),
            "cabling.breakouts[1].level",
            "breakout-level-twice",
        ),
        (
            pods(&json!([{"level": 0, "links": 4, "trunk": "lower"}])),
            "cabling.breakouts[0].trunk",
            "breakout-trunk-at-server",
        ),
        (
            json!({"topology": {"family": "torus2d", "x": 3, "y": 3}, "cabling": {"breakouts": [{"level": 1, "links": 4}]}}),
            "cabling.breakouts[0].trunk",
            "breakout-trunk-at-server",
        ),
        (
            pods(&json!([{"level": 0, "links": 1}])),
            "cabling.breakouts[0].links",
            "out-of-range",
        ),
        (
            pods(&json!([{"level": 0, "links": 9}])),
            "cabling.breakouts[0].links",
            "out-of-range",
        ),
    ] {
        let answer = plan(
            &read_spec(&spec.to_string()).unwrap(),
            &builtin_book("current-2026").unwrap(),
        );
        let findings = answer.unwrap_err().findings;
        let found = findings.iter().find(|finding| finding.code == code);
        assert_eq!(
            found.map(|finding| finding.field.as_str()),
            Some(field),
            "{findings:?}"
        );
        assert!(found.unwrap().fix.is_some() && found.unwrap().value.is_some());
    }
    // With a book that lacks the cable, the plan has an error that names the missing part.
    let without = planned(&pods(&json!([{"level": 0, "links": 5}])));
    let finding = without
        .findings
        .iter()
        .find(|finding| finding.code == "no-cable-reaches")
        .unwrap();
    assert!(
        finding.message.contains("breakout cable of 5 links for 25 Gb/s"),
        "{}",
        finding.message
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(48) })]

    /// Every link of a broken-out level is a leg of one cable, whose trunk is at one switch. Its
    /// legs have equal lengths, at least as long as each route. Links of other levels have their
    /// own cables. The bill has one piece per cable.
    #[test]
    fn legs_and_cables_add_up(
        leaves in 1u32..=4, spines in 1u32..=3, servers in 1u32..=9, uplinks in 1u32..=3, pods in 1u32..=2,
        rules in proptest::sample::subsequence(vec![(0u8, "upper"), (1, "upper"), (2, "lower")], 0..=3), links in 2u8..=4,
    ) {
        let rules: Vec<Value> = rules.into_iter().map(|(level, trunk)| json!({"level": level, "links": links, "trunk": trunk})).collect();
        let spec = json!({
            "topology": {"family": "leaf_spine", "leaves": leaves, "spines": spines, "servers_per_leaf": servers,
                "uplinks_per_spine": uplinks, "super_spines": 2, "pods": pods, "uplink_gbps": 10, "spine_uplink_gbps": 10},
            "cabling": {"breakouts": rules},
        });
        let plan = planned(&spec);
        let (wiring, all) = (&plan.wiring, plan.topology.links());
        let broken: BTreeSet<u64> = rules.iter().map(|rule| rule["level"].as_u64().unwrap()).collect();
        let mut seen = BTreeMap::new();
        for cable in &wiring.breakouts.cables {
            prop_assert!((1..=usize::from(links)).contains(&cable.links.len()));
            let trunks: BTreeSet<u32> = cable.links.iter().map(|&link| {
                let link = link as usize;
                if cable.trunk_is_a { all.a[link] } else { all.b[link] }
            }).collect();
            prop_assert_eq!(trunks.len(), 1);
            for &link in &cable.links {
                *seen.entry(link).or_insert(0) += 1;
                let link = link as usize;
                prop_assert_eq!(wiring.stock_mm[link], wiring.stock_mm[cable.links[0] as usize]);
                prop_assert_eq!(wiring.part[link], wiring.part[cable.links[0] as usize]);
                prop_assert!(wiring.stock_mm[link] >= wiring.length_mm[link]);
            }
        }
        for link in 0..all.len() {
            let expected = i32::from(broken.contains(&u64::from(all.level[link])));
            prop_assert_eq!(seen.get(&(link as u32)).copied().unwrap_or(0), expected);
        }
        let pieces: f64 = plan.bom.lines.iter()
            .filter(|line| serde_json::to_value(line.category).unwrap() == "cable")
            .map(|line| line.quantity)
            .sum();
        prop_assert_eq!(pieces as usize, wiring.cable_count());
        let label_ends: BTreeSet<String> = (0..all.len()).flat_map(|link| [plan.label(link), plan.far_label(link)]).collect();
        prop_assert_eq!(label_ends.len(), all.len() + wiring.cable_count(), "as many labels as ends to plug");
    }
}
