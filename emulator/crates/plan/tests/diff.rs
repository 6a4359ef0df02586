//! The work order between two plans, and what the papers claim of growing a network.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::diff::{Action, Claim, NO_CABLE, Reason, WorkOrder, diff, diff_json};
use cubeyard_plan::{Plan, builtin_book, plan, read_spec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn plan_of(spec: &Value) -> Plan {
    let spec = read_spec(&spec.to_string()).unwrap_or_else(|error| panic!("{error}"));
    plan(&spec, &builtin_book("current-2026").expect("a built-in book"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn subways(wiring_type: u8, p: u32, q: u32, l: u32) -> Value {
    json!({"family": "subways", "type": wiring_type, "p": p, "q": q, "l": l, "clusters": 2, "c": if wiring_type == 2 { 2 } else { 1 }})
}

fn claim<'a>(order: &'a WorkOrder, name: &str) -> &'a Claim {
    order
        .claims
        .iter()
        .find(|c| c.name == name)
        .unwrap_or_else(|| panic!("no claim {name} in {:?}", order.claims))
}

#[test]
fn a_plan_against_itself_keeps_every_cable() {
    for spec in [
        json!({"family": "bcube", "n": 4, "k": 2}),
        subways(1, 2, 8, 6),
        json!({"family": "torus3d", "x": 3, "y": 4, "z": 5}),
    ] {
        let order = diff(&plan_of(&spec), &plan_of(&spec));
        assert_eq!(order.count(Action::Keep) as usize, order.action.len());
        assert!((0..order.action.len()).all(|i| order.before[i] == order.after[i]));
    }
}

/// From two groups (1,024 servers) to four (2,048): no link of the 4,096 is touched `[bcube §5.1]`.
#[test]
fn bcube_grows_from_two_groups_to_four_without_touching_a_link() {
    let of = |servers: u32| plan_of(&json!({"family": "bcube", "n": 8, "k": 3, "servers": servers}));
    let (before, after) = (of(1024), of(2048));
    let order = diff(&before, &after);
    let growth = claim(&order, "bcube-growth-keeps-links");
    assert!(growth.holds, "{}", growth.detail);
    assert_eq!(order.count(Action::Remove), 0);
    assert_eq!(order.count(Action::Add), 4_096);
    assert_eq!(order.count(Action::Keep) + order.count(Action::Move), 4_096);
    // The layout packs 2,048 servers otherwise than 1,024 (64 to a rack instead of 32, for the 512
    // level-3 switches are there from the start), so cables move with their devices; none changes
    // what it joins.
    assert!(
        order
            .reason
            .iter()
            .all(|r| !matches!(r, Reason::OtherDevice | Reason::OtherPort))
    );
}

/// Growth from the top down adds DCell_1s to many DCell_2s and moves nothing. A change to it from
/// filling in order rewires links, and the claim reports that `[dcell §5]`.
#[test]
fn dcell_grows_from_the_top_down_without_touching_a_link() {
    let of = |racks: u32, growth: u8| {
        plan_of(&json!({"family": "dcell", "n": 3, "k": 3, "servers": 12 * racks, "growth": growth}))
    };
    // Within the first step, across its end, and over several steps.
    for (racks, more) in [(5, 9), (10, 30), (13, 200)] {
        let order = diff(&of(racks, 1), &of(more, 1));
        let growth = claim(&order, "dcell-growth-keeps-links");
        assert!(growth.holds, "{racks} to {more}: {}", growth.detail);
        assert_eq!(order.count(Action::Remove), 0);
        assert_eq!(
            order.count(Action::Add) as usize,
            of(more, 1).topology.link_count() - of(racks, 1).topology.link_count()
        );
    }
    let order = diff(&of(30, 0), &of(60, 1));
    assert!(!claim(&order, "dcell-growth-keeps-links").holds);
}

/// "Adding capacity to servers does not require rewiring their existing connections"
/// `[subways §4.2]`: with logical racks of the same size, each ToR gets a new run of ports.
#[test]
fn more_ports_with_the_same_racks_rewire_no_server_link() {
    for (p, more) in [(1, 2), (2, 3), (3, 4), (1, 4)] {
        let order = diff(
            &plan_of(&subways(1, p, 6 * p, 12)),
            &plan_of(&subways(1, more, 6 * more, 12)),
        );
        let claim = claim(&order, "more-ports-no-rewiring");
        assert!(claim.holds, "p {p} to {more}: {}", claim.detail);
    }
}

/// The same servers and ToR models, twice the ToRs: p = 1 to p = 2 keeps each server on its ToR.
#[test]
fn doubling_ports_with_new_tors_rewires_no_server_link() {
    for (p, more) in [(1, 2), (1, 3), (2, 4)] {
        let (before, after) = (
            plan_of(&subways(1, p, 24, 12)),
            plan_of(&subways(1, more, 24, 12 * more / p)),
        );
        assert_eq!(before.topology.server_count(), after.topology.server_count());
        let order = diff(&before, &after);
        let claim = claim(&order, "more-ports-no-rewiring");
        assert!(claim.holds, "p {p} to {more}: {}", claim.detail);
    }
}

/// From p = 2 to p = 3 with the same ToR models, the ranges of servers start at other positions:
/// the claim fails for half of the ToRs, and the check reports it.
#[test]
fn the_claim_can_fail() {
    let order = diff(&plan_of(&subways(1, 2, 24, 12)), &plan_of(&subways(1, 3, 24, 18)));
    let claim = claim(&order, "more-ports-no-rewiring");
    assert!(!claim.holds, "{}", claim.detail);
}

/// Type 0: Ns new links, Ns/2 rewired `[subways §4.1]`.
#[test]
fn type_0_doubling_rewires_half_of_the_servers() {
    let (before, after) = (plan_of(&subways(0, 1, 24, 12)), plan_of(&subways(0, 2, 24, 24)));
    let servers = before.topology.server_count();
    let order = diff(&before, &after);
    let claim = claim(&order, "type-0-doubling");
    assert!(claim.holds, "{}", claim.detail);
    // Counted again from the work order itself.
    let links = before.topology.links();
    let rewired = (0..order.action.len())
        .filter(|&i| order.reason[i] == Reason::OtherDevice && links.level[order.before[i] as usize] == 0)
        .count();
    assert_eq!(rewired as u32, servers / 2);
}

/// Type 1 to type 2 changes only the interface between loops and clusters `[subways §4.3]`.
#[test]
fn from_type_1_to_type_2_only_uplinks_change() {
    let order = diff(&plan_of(&subways(1, 2, 24, 12)), &plan_of(&subways(2, 2, 24, 12)));
    let claim = claim(&order, "type-1-to-2-interface-only");
    assert!(claim.holds, "{}", claim.detail);
}

#[test]
fn the_work_order_document_is_complete() {
    let (before, after) = (plan_of(&subways(1, 1, 12, 4)), plan_of(&subways(1, 2, 24, 4)));
    let document: Value = serde_json::from_str(&diff_json(&before, &after)).expect("JSON");
    let order = diff(&before, &after);
    let columns = document["columns"].as_object().expect("columns");
    for (name, column) in columns {
        assert_eq!(
            column.as_array().map(Vec::len),
            Some(order.action.len()),
            "{name}"
        );
    }
    assert_eq!(document["counts"]["move"], order.count(Action::Move));
    for (i, &action) in order.action.iter().enumerate() {
        assert_eq!(columns["from"][i] == "", action == Action::Add, "row {i}");
        assert_eq!(columns["to"][i] == "", action == Action::Remove, "row {i}");
        if action == Action::Keep {
            assert_eq!(
                columns["from"][i], columns["to"][i],
                "a kept cable keeps its label"
            );
        }
    }
}

fn any_topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        (2u32..5, 1u32..3).prop_map(|(n, k)| json!({"family": "bcube", "n": n, "k": k})),
        (2u32..5, 1u32..2).prop_map(|(n, k)| json!({"family": "dcell", "n": n, "k": k})),
        (2u32..4, 2u32..4, 2u32..4)
            .prop_map(|(x, y, z)| json!({"family": "torus3d", "x": x, "y": y, "z": z})),
        (0u8..3, 1u32..4, 1u32..4, 2u32..5).prop_map(|(t, p, r, l)| subways(t, p, p * r, 2 * l)),
        (2u32..20, 1u32..60)
            .prop_map(|(edge, n)| json!({"family": "tree", "edge_ports": edge, "servers": n})),
    ]
}

fn any_breakouts() -> impl Strategy<Value = Value> {
    (1u32..=4, 1u32..=9, 1u32..=3, prop_oneof![Just(0u8), Just(2), Just(4)], proptest::bool::ANY).prop_map(
        |(leaves, servers, uplinks, links, uplinks_too)| {
            let mut rules = Vec::new();
            if links > 0 {
                rules.push(json!({"level": 0, "links": links}));
            }
            if links > 0 && uplinks_too {
                rules.push(json!({"level": 1, "links": 4}));
            }
            json!({
                "topology": {"family": "leaf_spine", "leaves": leaves, "spines": 2, "servers_per_leaf": servers,
                    "uplinks_per_spine": uplinks, "server_gbps": 25, "uplink_gbps": 100},
                "cabling": {"breakouts": rules},
            })
        },
    )
}

/// Ten servers a leaf, four legs a cable: a leaf's third cable has two legs to spare, which two
/// more servers take.
#[test]
fn breakout_cables_move_as_one() {
    let of = |servers: u32, links: u32| {
        plan_of(&json!({
            "topology": {"family": "leaf_spine", "leaves": 2, "spines": 2, "servers_per_leaf": servers, "server_gbps": 25,
                "uplink_gbps": 100},
            "cabling": {"breakouts": if links > 1 { json!([{"level": 0, "links": links}]) } else { json!([]) }},
        }))
    };
    let counted = |before: &Plan, after: &Plan| {
        let order = diff(before, after);
        [Action::Keep, Action::Move, Action::Add, Action::Remove].map(|action| order.count(action))
    };
    let (single, broken, more) = (of(10, 1), of(10, 4), of(12, 4));
    // Twenty cables of a server each go, six breakouts come; the four uplinks stay, at switches
    // that stand elsewhere.
    assert_eq!(counted(&single, &broken), [0, 4, 6, 20]);
    assert_eq!(counted(&broken, &single), [0, 4, 20, 6]);
    let [kept, moved, added, removed] = counted(&broken, &more);
    assert_eq!((kept + moved, added, removed), (4 + 6, 0, 0));
    assert!(moved >= 2, "legs are added to the third cable of each leaf");
    let order = diff(&broken, &more);
    assert_eq!(order.links(Action::Add), 4, "but four links are");
    // Longer cables: each breakout is one piece of work, of four legs.
    let plan = of(8, 4);
    let mut moved = of(8, 4);
    for (link, cable) in plan
        .wiring
        .breakouts
        .cables
        .iter()
        .flat_map(|cable| cable.links.iter().map(move |&link| (link, cable)))
    {
        assert!(!cable.trunk_is_a);
        moved.wiring.stock_mm[link as usize] += 1_000;
    }
    assert_eq!(counted(&plan, &moved), [4, 4, 0, 0]);
}

proptest! {
    #![proptest_config(crate::cases::cases(60))]

    /// For any two plans: every cable of the first is kept, moved or removed once; every cable of
    /// the second is kept, moved or added.
    #[test]
    fn every_cable_has_one_fate(a in any_topology(), b in any_topology()) {
        let (before, after) = (plan_of(&a), plan_of(&b));
        let order = diff(&before, &after);
        let mut old: Vec<u32> = order.before.iter().copied().filter(|&c| c != NO_CABLE).collect();
        let mut new: Vec<u32> = order.after.iter().copied().filter(|&c| c != NO_CABLE).collect();
        old.sort_unstable();
        new.sort_unstable();
        prop_assert!(old.iter().copied().eq(0..before.topology.links().len() as u32));
        prop_assert!(new.iter().copied().eq(0..after.topology.links().len() as u32));
        for i in 0..order.action.len() {
            let both = order.before[i] != NO_CABLE && order.after[i] != NO_CABLE;
            prop_assert_eq!(both, matches!(order.action[i], Action::Keep | Action::Move));
            prop_assert_eq!(order.action[i] == Action::Move, order.reason[i] != Reason::None);
        }
        prop_assert_eq!(order.counts.iter().sum::<u32>() as usize, order.action.len());
    }

    /// A leg never leaves its trunk: for any two plans, each cable belongs to one piece of work,
    /// and each piece of work has at most one cable of each plan.
    #[test]
    fn breakout_cables_stay_whole(a in any_breakouts(), b in any_breakouts()) {
        let (before, after) = (plan_of(&a), plan_of(&b));
        let order = diff(&before, &after);
        for (plan, links) in [(&before, &order.before), (&after, &order.after)] {
            let mut work_of: BTreeMap<Vec<u32>, BTreeSet<u32>> = BTreeMap::new();
            let mut cables_in: BTreeMap<u32, BTreeSet<Vec<u32>>> = BTreeMap::new();
            for (&link, &work) in links.iter().zip(&order.cable).filter(|&(&link, _)| link != NO_CABLE) {
                let cable = plan.wiring.breakouts.of(link as usize).map_or(vec![link], |(cable, _)| cable.links.clone());
                work_of.entry(cable.clone()).or_default().insert(work);
                cables_in.entry(work).or_default().insert(cable);
            }
            prop_assert_eq!(work_of.len(), plan.wiring.cable_count());
            prop_assert!(work_of.values().all(|works| works.len() == 1));
            prop_assert!(cables_in.values().all(|cables| cables.len() == 1));
        }
        let [keep, moved, add, remove] = [Action::Keep, Action::Move, Action::Add, Action::Remove].map(|a| order.count(a) as usize);
        prop_assert_eq!(keep + moved + remove, before.wiring.cable_count());
        prop_assert_eq!(keep + moved + add, after.wiring.cable_count());
        prop_assert!((0..order.action.len()).all(|i| (order.action[i] == Action::Move) == (order.reason[i] != Reason::None)));
        if a == b {
            prop_assert_eq!(keep, before.wiring.cable_count());
        }
    }

    /// No unnecessary work: with the same topology and book, no link changes its ends.
    #[test]
    fn another_layout_moves_cables_but_rewires_none(a in any_topology(), slack in 0.0f64..4.0) {
        let (before, after) = (plan_of(&json!({"topology": a})), plan_of(&json!({
            "topology": a, "cabling": {"slack_metres": slack}, "packaging": {"servers_per_rack": 4},
        })));
        let order = diff(&before, &after);
        prop_assert_eq!(order.count(Action::Add) + order.count(Action::Remove), 0);
        prop_assert!(order.reason.iter().all(|r| !matches!(r, Reason::OtherDevice | Reason::OtherPort)));
    }
}
