//! Lifecycle metrics of wiring against counts made another way.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::diff::diff;
use cubeyard_plan::lifecycle::{deployment, expansion};
use cubeyard_plan::{Plan, builtin_book, plan, read_spec};

fn planned(text: &str) -> Plan {
    plan(
        &read_spec(text).expect("a spec"),
        &builtin_book("current-2026").expect("a book"),
    )
    .expect("a plan")
}

const PLANS: [&str; 4] = [
    r#"{"family":"bcube","n":8,"k":2}"#,
    r#"{"family":"fat_tree","ports":12,"layers":3}"#,
    r#"{"family":"dcell","n":4,"k":2}"#,
    r#"{"family":"leaf_spine","leaves":8,"spines":4,"servers_per_leaf":16}"#,
];

#[test]
fn bundles_are_what_cables_between_racks_make() {
    for text in PLANS {
        let plan = planned(text);
        let links = plan.topology.links();
        let rack = |node: u32| plan.layout.placements.rack[node as usize];
        let mut leaving: BTreeMap<u32, u32> = BTreeMap::new();
        let mut between = 0;
        for link in 0..links.len() {
            let (a, b) = (rack(links.a[link]), rack(links.b[link]));
            if a != b {
                between += 1;
                *leaving.entry(a).or_default() += 1;
                *leaving.entry(b).or_default() += 1;
            }
        }
        let told = deployment(&plan);
        assert_eq!(told.inter_rack_cables, between, "{text}");
        assert_eq!(
            told.patch_panels,
            leaving.values().map(|cables| cables.div_ceil(48)).sum::<u32>()
        );
        assert_eq!(told.bundles as usize, plan.wiring.bundles.len());
        let types: BTreeSet<String> = (0..plan.wiring.bundles.len())
            .map(|i| {
                format!(
                    "{} {:.0}",
                    plan.wiring.bundles.cables[i],
                    plan.wiring.bundles.length_metres[i].ceil()
                )
            })
            .collect();
        assert_eq!(told.bundle_types as usize, types.len());
    }
}

#[test]
fn the_same_plan_needs_no_rewiring() {
    for text in PLANS {
        let plan = planned(text);
        let told = expansion(&plan, &diff(&plan, &plan));
        assert_eq!(
            (
                told.links_rewired,
                told.links_added,
                told.steps,
                told.trays_touched
            ),
            (0, 0, 0, 0)
        );
    }
}

/// Another tier of spines moves and adds cables; every device keeps three quarters of its links in
/// each step, and a step fewer would not do.
#[test]
fn steps_keep_three_quarters_of_every_device() {
    let before = planned(r#"{"family":"fat_tree","ports":8,"layers":2}"#);
    let after = planned(r#"{"family":"fat_tree","ports":12,"layers":2}"#);
    let order = diff(&before, &after);
    let told = expansion(&before, &order);
    assert_eq!(told.links_rewired, order.counts[1] + order.counts[3]);
    assert_eq!(told.links_added, order.counts[2]);
    assert!(told.links_rewired > 0 && told.steps > 0);
    let links = before.topology.links();
    let mut of_device: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for link in 0..links.len() as u32 {
        let kept = order
            .before
            .iter()
            .zip(&order.action)
            .any(|(&cable, &action)| cable == link && action as u8 == 0);
        for end in [links.a[link as usize], links.b[link as usize]] {
            let (out, all) = of_device.entry(end).or_default();
            *out += u32::from(!kept);
            *all += 1;
        }
    }
    let enough = |steps: u32| {
        of_device
            .values()
            .all(|&(out, all)| out <= steps * (all / 4).max(1))
    };
    assert!(enough(told.steps) && !enough(told.steps - 1));
}
