//! Subways' Tables 2, 3 and 4 from the planner's own floors and routes, with the paper's rack.

use cubeyard_plan::book::{Book, builtin_book};
use cubeyard_plan::spec::PlanSpec;
use cubeyard_plan::wiring::paper_measure::{PaperLengths, longest_server_wire};
use cubeyard_plan::{Layout, Wiring, lay_out, wire};
use cubeyard_topology::{Finding, Topology};
use serde_json::json;

/// The current book with the paper's rack: h = 2 m, w = 0.5 m.
fn book() -> Book {
    let mut book = builtin_book("current-2026").unwrap();
    let mut rack = book.parts[book.rack_for(None, 44).unwrap()].clone();
    rack.sku = "SUBWAYS".to_owned();
    rack.attributes.width_metres = Some(0.5);
    rack.attributes.height_metres = Some(2.0);
    rack.attributes.units = Some(44);
    book.parts.push(rack);
    book
}

fn plan(policy: &str, p: u32, l: u32, b: u32) -> (Topology, Layout, Wiring, Vec<Finding>) {
    // Few servers are enough: only the positions of the logical racks matter. q is a multiple of p.
    let spec: PlanSpec = serde_json::from_value(json!({
        "topology": {"family": "subways", "type": 1, "p": p, "q": 2 * p, "l": l, "clusters": 1},
        "site": {"enclosure": "rows", "rack": "SUBWAYS", "aisle_metres": 1.2},
        "packaging": {"policy": policy, "logical_racks_per_rack": b},
    }))
    .unwrap();
    let topology = Topology::build(&spec.topology).unwrap();
    let mut findings = Vec::new();
    let layout = lay_out(&spec, &topology, &book(), &mut findings);
    let wiring = wire(&spec, &topology, &layout, &book(), &mut findings);
    (topology, layout, wiring, findings)
}

fn lengths(policy: &str, p: u32, l: u32, b: u32) -> PaperLengths {
    let (topology, layout, ..) = plan(policy, p, l, b);
    longest_server_wire(&topology, &layout).unwrap()
}

fn assert_metres(got: f64, expected: f64, what: &str) {
    assert!(
        (got - expected).abs() < 1e-9,
        "{what}: {got} m, the paper has {expected} m"
    );
}

#[test]
fn table_2_side_to_side() {
    for (l, metres) in [(8, 4.0), (16, 6.0), (48, 14.0), (128, 34.0)] {
        let got = lengths("side-to-side", 2, l, 2);
        assert_metres(got.table_metres, metres, &format!("l={l}"));
        assert_metres(got.as_wired_metres, metres, &format!("l={l}, as wired"));
    }
}

#[test]
fn table_3_paired_rows() {
    for (p, metres, as_wired) in [(2, 2.2, 2.2), (8, 3.7, 2.7), (16, 5.7, 3.7)] {
        for l in [32, 64] {
            let got = lengths("paired-rows", p, l, 2);
            assert_metres(got.table_metres, metres, &format!("p={p} l={l}"));
            assert_metres(got.as_wired_metres, as_wired, &format!("p={p} l={l}, as wired"));
        }
    }
}

#[test]
fn table_4_inter_chassis() {
    for (p, metres, as_wired) in [(2, 0.75, 0.75), (4, 1.75, 1.25), (8, 3.75, 2.25)] {
        for l in [48, 96] {
            let got = lengths("inter-chassis", p, l, 4);
            assert_metres(got.table_metres, metres, &format!("p={p} l={l}"));
            assert_metres(got.as_wired_metres, as_wired, &format!("p={p} l={l}, as wired"));
        }
    }
}

/// Figure 7: a loop of 12 in 4 racks of 3.
#[test]
fn figure_7_meanders() {
    let (topology, layout, ..) = plan("inter-chassis", 2, 12, 3);
    let first = topology.tiers()[0].first as usize;
    let zone = |v: usize| (u32::from(layout.placements.unit[v]) - 1) / (layout.site.rack_units / 3);
    let cells: Vec<(u32, u32)> = (first..first + 12)
        .map(|v| (layout.placements.rack[v], zone(v)))
        .collect();
    assert_eq!(
        cells,
        [
            (0, 0),
            (1, 0),
            (2, 0),
            (3, 0),
            (3, 1),
            (3, 2),
            (2, 2),
            (2, 1),
            (1, 1),
            (1, 2),
            (0, 2),
            (0, 1)
        ]
    );
}

/// In our own measures: the back edges of a side-to-side loop go under the floor, the paired rows
/// need no long wire.
#[test]
fn policies_differ_where_the_paper_says() {
    let longest = |policy: &str| {
        let (topology, _, wiring, _) = plan(policy, 2, 48, 2);
        (0..wiring.length_mm.len())
            .filter(|&i| topology.links().level[i] == 0)
            .map(|i| wiring.length_mm[i])
            .max()
            .unwrap()
    };
    let (side, paired, inter) = (
        longest("side-to-side"),
        longest("paired-rows"),
        longest("inter-chassis"),
    );
    assert!(
        side > 12_000 && paired < 9_000 && inter < 7_000,
        "{side} {paired} {inter}"
    );
    let (.., wiring, _) = plan("side-to-side", 2, 48, 2);
    assert!(
        wiring
            .route
            .iter()
            .any(|&r| cubeyard_plan::ROUTES[usize::from(r)] == "underfloor")
    );
}
