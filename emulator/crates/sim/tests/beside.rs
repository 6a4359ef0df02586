//! What the emulator shows beside a run: the services of a torus, and the hops of DFR.

use cubeyard_sim::Network;
use cubeyard_sim::beside::{TorusQuestion, dfr_hops, torus_services};
use cubeyard_topology::Finding;
use serde_json::{Value, json};

fn open(spec: &str) -> Network {
    Network::open(spec).unwrap()
}

fn torus(asked: Value) -> Result<Value, Vec<Finding>> {
    let asked: TorusQuestion = serde_json::from_value(asked).unwrap();
    torus_services(&open(r#"{"family": "torus3d", "x": 3, "y": 3, "z": 3}"#), &asked)
}

#[test]
fn the_testbed_s_services_are_those_of_the_closed_forms() {
    let found = torus(json!({
        "aggregation": {"root": 0, "seeds": 2}, "source": 0, "joins": [{"root": 0, "members": (1..27).collect::<Vec<u32>>()}],
        "lookups": {"keys": 100, "exponent": 1.5, "lookups": 500, "seed": 1}, "together": {"seeds": 2},
    }))
    .unwrap();
    let stress = |name: &str| {
        let stress = &found["aggregation"][name];
        ["packets", "links_used", "maximum"].map(|cell| stress[cell].as_u64().unwrap())
    };
    assert_eq!(stress("none"), [54, 26, 9]);
    assert_eq!(stress("full"), [26, 26, 1]);
    assert_eq!(found["aggregation"]["routed"][1]["packets"], 54);
    for tree in ["own", "base", "base_drawn"] {
        assert_eq!(
            found["joins"][0][tree].as_array().unwrap().len(),
            26,
            "a tree of all has an edge for each but one"
        );
    }
    let source = found["source"].as_array().unwrap();
    assert_eq!(source.len(), 26);
    assert!(source.iter().all(|one| one["paths"].as_u64() >= Some(3)));
    // Both other axes lead to a corner: by first ways two of three streams meet a hop before
    // it.
    let corner = &source[12];
    assert_eq!(
        (corner["distance"].as_u64(), corner["delivered"].as_f64()),
        (Some(3), Some(3.0))
    );
    assert_eq!(corner["delivered_by_first_ways"], 2.0);
    for item in found["together"].as_array().unwrap() {
        let shares = |name: &str| -> Vec<f64> {
            item[name]
                .as_array()
                .unwrap()
                .iter()
                .map(|share| share.as_f64().unwrap())
                .collect()
        };
        let uses: f64 = shares("links")
            .iter()
            .zip(0u32..)
            .map(|(share, users)| share * f64::from(users))
            .sum();
        assert!((shares("links").iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(
            (shares("services").iter().sum::<f64>() - uses).abs() < 1e-9,
            "each use counts once"
        );
    }
    let lookups = found["lookups"]["cache_service"].as_array().unwrap();
    assert_eq!(lookups.iter().filter_map(Value::as_u64).sum::<u64>(), 500);
}

#[test]
fn dfr_loses_who_has_failed_and_reaches_the_others() {
    let dcell = open(r#"{"family": "dcell", "n": 4, "k": 1}"#);
    let hops = dfr_hops(&dcell, &[], &[], 1, 5).unwrap();
    assert_eq!(hops[0][19], Some(3));
    let hops = dfr_hops(&dcell, &[3], &[], 1, 5).unwrap();
    assert_eq!(hops[0][3], None);
    assert_eq!(hops[0][19], Some(4), "around [0,3], by another group");
}

#[test]
fn what_is_not_there_is_named() {
    let refused = |asked: Value, field: &str| assert_eq!(torus(asked).unwrap_err()[0].field, field);
    refused(json!({"source": 27}), "source");
    refused(
        json!({"aggregation": {"root": 27, "seeds": 1}}),
        "aggregation.root",
    );
    refused(
        json!({"aggregation": {"root": 0, "seeds": 1001}}),
        "aggregation.seeds",
    );
    refused(json!({"joins": [{"root": 0, "members": [99]}]}), "joins.members");
    refused(json!({"together": {"seeds": 1001}}), "together.seeds");
    refused(
        json!({"lookups": {"keys": 0, "exponent": 1.5, "lookups": 1, "seed": 1}}),
        "lookups",
    );
    let dcell = open(r#"{"family": "dcell", "n": 4, "k": 1}"#);
    assert_eq!(
        torus_services(&dcell, &TorusQuestion::default()).unwrap_err()[0].field,
        "family"
    );
    assert_eq!(dfr_hops(&dcell, &[25], &[], 1, 5).unwrap_err()[0].field, "nodes");
    assert_eq!(dfr_hops(&dcell, &[], &[30], 1, 5).unwrap_err()[0].field, "links");
}
