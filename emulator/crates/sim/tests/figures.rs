//! The published figures that take a moment: which of their numbers come out, and which are said to differ.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

use std::collections::BTreeSet;

use cubeyard_sim::Progress;
use cubeyard_sim::figures::{Row, Verdict, figure, figure_ids};
use serde_json::Value;

fn computed(id: &str) -> Value {
    figure(id, Some(2), &Progress::default()).unwrap()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().unwrap()
}

/// The rows of a figure that do not equal the print, with their verdicts.
fn not_equal(id: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows(&computed(id))
        .iter()
        .filter(|row| row["verdict"] != "matches")
        .map(|row| {
            assert!(row["reason"].is_string(), "{id}: {row} says why");
            (text(&row["name"]), text(&row["verdict"]))
        })
        .collect()
}

#[test]
fn ids_are_unique_and_others_are_refused() {
    let ids = figure_ids();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert!(figure("bcube-fig99", None, &Progress::default()).is_err());
    assert!(figure("bcube-table2", Some(0), &Progress::default()).is_err());
}

#[test]
fn every_row_has_what_a_reader_needs() {
    for id in ["bcube-table1", "bcube-fig11", "dcell-fig12"] {
        let document = computed(id);
        assert_eq!(document["id"], id);
        assert!(!document["choices"].as_array().unwrap().is_empty(), "{id}");
        assert!(
            document["provenance"]["source"]
                .as_str()
                .unwrap()
                .starts_with('['),
            "{id}"
        );
        for row in rows(&document) {
            let number = |field: &str| {
                row[field]
                    .as_f64()
                    .unwrap_or_else(|| panic!("{id}: {field} of {row}"))
            };
            assert!(number("low") <= number("high"), "{id}: {row}");
            assert!(
                number("ours").is_finite() && number("paper").is_finite(),
                "{id}: {row}"
            );
        }
    }
}

#[test]
fn verdicts_follow_print_and_band() {
    let row = |ours| Row::printed("x", "", 4.4, 0.1, ours).within(0.1).verdict();
    assert_eq!(row(4.44), Verdict::Matches);
    assert_eq!(row(4.36), Verdict::Matches);
    assert_eq!(row(4.53), Verdict::WithinBand);
    assert_eq!(row(4.9), Verdict::Differs);
}

#[test]
fn table_2_comes_out_but_for_two_cells() {
    let differing = not_equal("bcube-table2");
    let names: Vec<&str> = differing.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Tree: switch power", "BCube: total power"]);
    assert_eq!(rows(&computed("bcube-table2")).len(), 28);
}

#[test]
fn subways_wires_come_out() {
    assert!(not_equal("subways-table2").is_empty());
    for id in ["subways-table3", "subways-table4"] {
        let names = not_equal(id);
        assert!(
            names.iter().all(|(name, _)| name.ends_with("as wired by §4.2")),
            "{names:?}"
        );
    }
}

#[test]
fn packaging_comes_out_but_for_the_true_cut() {
    let names = not_equal("bcube-packaging");
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].0.contains("worst single cut") && names[0].1 == "within band");
}

#[test]
fn table_1_holds() {
    let verdicts = not_equal("bcube-table1");
    assert!(
        verdicts.iter().all(|(_, verdict)| verdict == "within band"),
        "{verdicts:?}"
    );
    assert_eq!(verdicts.len(), 4, "{verdicts:?}");
}

#[test]
fn the_testbeds_ideal_fluids_are_these() {
    let ours = |id: &str| -> Vec<(String, f64)> {
        rows(&computed(id))
            .iter()
            .map(|row| {
                (
                    row["name"].as_str().unwrap().to_owned(),
                    row["ours"].as_f64().unwrap(),
                )
            })
            .collect()
    };
    let find = |values: &[(String, f64)], name: &str| {
        values
            .iter()
            .find(|(at, _)| at == name)
            .unwrap_or_else(|| panic!("{name} in {values:?}"))
            .1
    };
    let ten = ours("bcube-fig10");
    for (name, value) in [
        ("one-to-one, BCube", 2.0),
        ("one-to-one, tree", 1.0),
        ("one-to-several, BCube", 42.95),
        ("one-to-several, tree", 85.9),
        ("one-to-all, BCube", 2.0),
        ("one-to-all, tree", 1.0),
    ] {
        assert!(
            (find(&ten, name) - value).abs() < 0.005 * value,
            "{name}: {ten:?}"
        );
    }
    let eleven = ours("bcube-fig11");
    assert!(
        (find(&eleven, "the tree is over") - 275.0).abs() < 1.0,
        "{eleven:?}"
    );
    let spread = find(&eleven, "BCube is over");
    assert!((68.0..140.0).contains(&spread), "{eleven:?}");
    let twelve = ours("dcell-fig12");
    assert!(
        (find(&twelve, "DCell is over") - 1160.0).abs() < 15.0,
        "{twelve:?}"
    );
    assert!(
        (find(&twelve, "the tree is over") - 2749.0).abs() < 5.0,
        "{twelve:?}"
    );
}

#[test]
fn table_3s_bounds_hold() {
    let verdicts = not_equal("dcell-table3");
    assert!(
        verdicts
            .iter()
            .all(|(name, verdict)| verdict == "within band" || name.ends_with("both directions of a link")),
        "{verdicts:?}"
    );
}

#[test]
fn camcubes_table_and_paths_come_out() {
    for id in ["camcube-fig1", "camcube-fig2", "camcube-fig4", "camcube-fig5"] {
        let verdicts = not_equal(id);
        assert!(
            verdicts.iter().all(|(_, verdict)| verdict == "within band"),
            "{id}: {verdicts:?}"
        );
    }
    let paths = not_equal("camcube-fig1");
    assert!(
        paths
            .iter()
            .all(|(name, _)| name.contains("throughput") || name.contains("gain")),
        "what the text says of the paths comes out: {paths:?}"
    );
    let verdicts = not_equal("camcube-table1");
    assert!(
        verdicts
            .iter()
            .all(|(name, verdict)| name.starts_with("Routing service") && verdict == "within band"),
        "{verdicts:?}"
    );
}

/// What the fluid cannot reach, and nothing else, differs from Subways' figures.
#[test]
fn subways_shuffles_differ_where_a_fluid_must() {
    let differing = |id: &str| -> Vec<String> {
        let rows = not_equal(id).into_iter();
        rows.filter(|(_, verdict)| verdict == "differs")
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(
        differing("subways-fig8"),
        ["two clusters: greatest speedup, type 2D"]
    );
    for id in ["subways-fig9", "subways-fig10"] {
        assert!(differing(id).is_empty(), "{id}");
    }
    assert_eq!(
        differing("subways-fig11"),
        ["one cluster: variants faster with 6 ports than with 2"]
    );
    assert!(
        differing("subways-fig12")
            .iter()
            .all(|name| name.starts_with("type 1D")),
        "the steady types come out"
    );
    for name in differing("subways-table5") {
        assert_eq!(name, "Type 0, testbed");
    }
}

/// The paper's points are single values on the chart's own axes, and stand beside a line of ours.
#[test]
fn the_papers_points_lie_within_the_charts() {
    let mut compared = 0;
    for id in ["subways-fig8", "subways-fig9", "subways-fig10", "subways-fig12"] {
        let document = computed(id);
        let all = document["series"].as_array().unwrap();
        let axis = |series: &Value| -> Vec<f64> {
            let x = series["x"].as_array().unwrap();
            x.iter().map(|x| x.as_f64().unwrap()).collect()
        };
        let ours: Vec<f64> = all
            .iter()
            .filter(|s| s["paper"] == false)
            .flat_map(axis)
            .collect();
        for series in all.iter().filter(|series| series["paper"] == true) {
            assert!(axis(series).iter().all(|x| ours.contains(x)), "{id}: {series}");
            compared += 1;
        }
    }
    assert!(compared >= 7);
}
