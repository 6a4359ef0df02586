//! One line per family: a summary of its default layout and wiring. A change of behaviour shows as
//! a diff.

use cubeyard_plan::book::builtin_book;
use cubeyard_plan::spec::PlanSpec;
use cubeyard_plan::{ROUTES, lay_out, wire};
use cubeyard_topology::{Severity, Topology, families};

/// Price book and plan.
const SPECS: &[(&str, &str)] = &[
    ("paper-2009", r#"{"family":"bcube","n":8,"k":3,"servers":2048}"#),
    ("paper-2009", r#"{"family":"dcell","n":8,"k":2,"servers":2048}"#),
    (
        "paper-2009",
        r#"{"family":"fat_tree","ports":8,"layers":5,"servers":2048}"#,
    ),
    (
        "paper-2009",
        r#"{"family":"tree","edge_ports":48,"servers":2048}"#,
    ),
    ("current-2026", r#"{"family":"torus3d","x":8,"y":16,"z":16}"#),
    ("current-2026", r#"{"family":"bcube","n":8,"k":3}"#),
    (
        "current-2026",
        r#"{"topology":{"family":"bcube","n":8,"k":3},"site":{"containers":2}}"#,
    ),
    (
        "current-2026",
        r#"{"family":"subways","type":1,"p":2,"q":30,"l":12,"clusters":2}"#,
    ),
    (
        "current-2026",
        r#"{"topology":{"family":"subways","type":2,"p":2,"q":80,"l":16,"c":2,"clusters":4,"loops_per_cluster":2},
            "packaging":{"policy":"paired-rows"}}"#,
    ),
    (
        "current-2026",
        r#"{"topology":{"family":"subways","type":1,"p":3,"q":30,"l":12,"clusters":2},
            "packaging":{"policy":"inter-chassis","logical_racks_per_rack":3}}"#,
    ),
    ("current-2026", r#"{"family":"fat_tree","ports":24,"layers":3}"#),
    (
        "current-2026",
        r#"{"family":"leaf_spine","leaves":64,"spines":4,"servers_per_leaf":32}"#,
    ),
    (
        "current-2026",
        r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":32,"uplinks_per_spine":2,"server_gbps":25,"uplink_gbps":100}"#,
    ),
    (
        "current-2026",
        r#"{"family":"leaf_spine","leaves":16,"spines":4,"servers_per_leaf":16,"super_spines":4,"pods":4}"#,
    ),
    ("current-2026", r#"{"family":"torus2d","x":32,"y":16}"#),
    (
        "current-2026",
        r#"{"family":"jellyfish","switches":64,"ports":32,"servers_per_switch":16}"#,
    ),
    ("current-2026", r#"{"family":"dragonfly","a":8,"p":4,"h":4}"#),
    (
        "current-2026",
        r#"{"family":"custom","nodes":[{"name":"leaf-1","role":"switch"},{"name":"leaf-2","role":"switch"},{"name":"spine-1","role":"switch"},{"name":"web-1","role":"server"},{"name":"web-2","role":"server"}],"links":[{"a":"web-1","b":"leaf-1"},{"a":"web-2","b":"leaf-2"},{"a":"leaf-1","b":"spine-1","gbps":40},{"a":"leaf-2","b":"spine-1","gbps":40}]}"#,
    ),
];

#[test]
fn every_family_has_a_row() {
    for family in families().as_array().unwrap() {
        let name = family["family"].as_str().unwrap();
        let of = |json: &str| -> PlanSpec { serde_json::from_str(json).unwrap() };
        let there = SPECS.iter().any(|(_, json)| of(json).topology.family() == name);
        assert!(
            there,
            "add a row of {name} to `SPECS` of emulator/crates/plan/tests/families.rs"
        );
    }
}

#[test]
fn golden_table_of_the_families() {
    let mut lines = Vec::new();
    for (book, json) in SPECS {
        let book = builtin_book(book).unwrap();
        let spec: PlanSpec = serde_json::from_str(json).unwrap();
        let topology = Topology::build(&spec.topology).unwrap();
        let mut findings = Vec::new();
        let layout = lay_out(&spec, &topology, &book, &mut findings);
        let wiring = wire(&spec, &topology, &layout, &book, &mut findings);
        let mut routes = [0u32; ROUTES.len()];
        wiring.route.iter().for_each(|&r| routes[usize::from(r)] += 1);
        let mut parts: Vec<&str> = wiring
            .part
            .iter()
            .map(|&p| book.parts[usize::from(p)].sku.as_str())
            .collect();
        parts.sort_unstable();
        parts.dedup();
        let metres = wiring.length_mm.iter().map(|&mm| u64::from(mm)).sum::<u64>() as f64 / 1000.0;
        lines.push(format!(
            "{} servers {}: {} {} racks {}, {:?}, longest {:.3} m, {metres:.0} m, worst cut {} ({:.0} cm2), {routes:?}, {}",
            spec.topology.family(),
            topology.server_count(),
            layout.policy.name(),
            layout.racks.len(),
            if topology.switch_count() > 0 { "with switches" } else { "without switches" },
            layout.site.enclosure,
            f64::from(*wiring.length_mm.iter().max().unwrap()) / 1000.0,
            wiring.cuts.worst_cables,
            wiring.cuts.worst_area_cm2,
            parts.join("+"),
        ));
        let problems: Vec<_> = findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .collect();
        assert!(problems.is_empty(), "{json}: {problems:?}");
    }
    insta::assert_snapshot!(lines.join("\n"));
}

/// Nothing in a plan depends on anything but its spec and book.
#[test]
fn the_same_spec_gives_the_same_plan() {
    let book = builtin_book("current-2026").unwrap();
    for json in [
        r#"{"family":"dcell","n":4,"k":2}"#,
        r#"{"family":"fat_tree","ports":8,"layers":3}"#,
    ] {
        let spec: PlanSpec = serde_json::from_str(json).unwrap();
        let topology = Topology::build(&spec.topology).unwrap();
        let once = lay_out(&spec, &topology, &book, &mut Vec::new());
        let twice = lay_out(&spec, &topology, &book, &mut Vec::new());
        assert_eq!(once, twice);
        assert_eq!(
            wire(&spec, &topology, &once, &book, &mut Vec::new()),
            wire(&spec, &topology, &twice, &book, &mut Vec::new())
        );
    }
}
