//! Documents of experiments: closed forms, unusual parameters, failures, and rejected input.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot set itself up should fail"
)]

use std::sync::atomic::Ordering;

use cubeyard_sim::{Experiment, Network, PredictError, Progress, predict};
use serde_json::{Value, json};

const SMALL: &str = r#"{"family":"bcube","n":4,"k":1}"#;

fn run(spec: &str, experiment: Value) -> Value {
    let network = Network::open(spec).unwrap();
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    predict(&network, &experiment, &Progress::default()).unwrap()
}

fn refused(spec: &str, experiment: Value) -> (String, String) {
    let network = Network::open(spec).unwrap();
    let outcome = Experiment::from_json(&experiment.to_string())
        .map_err(PredictError::Findings)
        .and_then(|experiment| predict(&network, &experiment, &Progress::default()));
    match outcome {
        Err(PredictError::Findings(findings)) => (findings[0].field.clone(), findings[0].message.clone()),
        other => panic!("{experiment} gave {other:?}"),
    }
}

/// Theorem 6: n (N - 1) / (n - 1), exactly, for a fixed digit order on a complete BCube.
#[test]
fn complete_bcubes_carry_theorem_6() {
    for (n, k) in [(2u32, 0u32), (2, 1), (2, 3), (3, 2), (4, 1), (4, 0), (8, 1)] {
        let spec = json!({"family": "bcube", "n": n, "k": k}).to_string();
        let document = run(&spec, json!({"routing": "bcube-fixed", "link_gbps": 1.0}));
        let servers = f64::from(n.pow(k + 1));
        let expected = f64::from(n) / f64::from(n - 1) * (servers - 1.0);
        let abt = document["abt_gbps"].as_f64().unwrap();
        assert!(
            (abt - expected).abs() < 1e-9,
            "n={n} k={k}: {abt}, not {expected}"
        );
        // The mean number of differing digits among pairs of different servers.
        let digits = f64::from(k + 1) * f64::from(n - 1) / f64::from(n) * servers / (servers - 1.0);
        let mean = document["path_hops"]["mean"].as_f64().unwrap();
        assert!((mean - digits).abs() < 1e-9, "n={n} k={k}: {mean}, not {digits}");
        assert_eq!(document["path_hops"]["max"], k + 1);
    }
}

#[test]
fn the_document_of_a_small_network_is_this() {
    let document = run(SMALL, json!({"routing": "bcube-fixed", "seeds": [3]}));
    assert_eq!(document["flows"], 240);
    assert_eq!(document["dropped_flows"], 0);
    assert_eq!(document["max_link_flows"], 12);
    assert_eq!(document["abt_gbps"], 20.0);
    assert_eq!(
        document["link_flows_by_level"]["0"],
        json!({"label": document["link_flows_by_level"]["0"]["label"], "min": 12, "max": 12, "mean": 12.0, "directed_links": 32})
    );
    assert_eq!(
        document["path_hops"],
        json!({"mean": 1.6, "max": 2, "unit": "hops"})
    );
    assert_eq!(document["routing"], "bcube-fixed");
    assert_eq!(document["seed"], 3);
    assert_eq!(document["workload"], json!({"kind": "all-to-all"}));
    // Every link carries 12 flows, so every flow gets a twelfth.
    assert_eq!(document["maxmin"]["min_gbps"], document["maxmin"]["max_gbps"]);
    assert!((document["maxmin"]["total_gbps"].as_f64().unwrap() - 20.0).abs() < 1e-9);
}

#[test]
fn odd_networks_and_workloads_have_defined_answers() {
    // One server: no pair, no flow.
    let document = run(r#"{"family":"tree","edge_ports":4,"servers":1}"#, json!({}));
    assert_eq!(
        (document["flows"].as_u64(), document["abt_gbps"].as_f64()),
        (Some(0), Some(0.0))
    );
    // A failed source drops its flow; the other way stands.
    let failed = |workload: &str| {
        run(
            SMALL,
            json!({"workload": workload, "faults": [{"target": {"names": ["00"]}}]}),
        )
    };
    let one = failed("one-to-one");
    assert_eq!((&one["flows"], &one["dropped_flows"]), (&json!(0), &json!(1)));
    assert_eq!(
        run(
            SMALL,
            json!({"faults": [{"target": {"kind": "link", "ratio": 1.0}}]})
        )["path_hops"],
        json!({"mean": null, "max": null, "unit": "hops"})
    );
    assert_eq!(one["dropped"], json!({"end_failed": 1, "no_path": 0}));
    let all = failed("all-to-all");
    assert_eq!(
        (&all["flows"], &all["dropped_flows"]),
        (&json!(15 * 14), &json!(30))
    );
    // A partition: all switches gone, all servers alive.
    let parted = run(
        SMALL,
        json!({"faults": [{"target": {"kind": "switch", "ratio": 1.0}}]}),
    );
    assert_eq!(
        (&parted["flows"], &parted["dropped_flows"]),
        (&json!(0), &json!(240))
    );
    assert_eq!(parted["dropped"]["no_path"], 240);
    assert_eq!(parted["abt_gbps"], 0.0);
    // Everything gone.
    let gone = run(
        SMALL,
        json!({"faults": [{"target": {"kind": "server", "ratio": 1.0}}]}),
    );
    assert_eq!((&gone["flows"], &gone["dropped_flows"]), (&json!(0), &json!(240)));
    // No links in the middle of it all.
    let cut = run(
        SMALL,
        json!({"faults": [{"target": {"kind": "link", "ratio": 1.0}}]}),
    );
    assert_eq!(cut["flows"], 0);
    let level = &cut["link_flows_by_level"]["1"];
    assert_eq!(level["directed_links"], 0);
    assert_eq!([&level["min"], &level["max"], &level["mean"]], [&Value::Null; 3]);
}

#[test]
fn every_workload_has_the_flows_it_says() {
    let flows = |workload: Value| {
        run(SMALL, json!({"workload": workload}))["flows"]
            .as_u64()
            .unwrap()
    };
    assert_eq!(flows(json!("one-to-one")), 1);
    assert_eq!(flows(json!("one-to-several")), 3);
    assert_eq!(
        flows(json!({"kind": "one-to-several", "destinations": ["01", "10"]})),
        2
    );
    assert_eq!(flows(json!("one-to-all")), 15);
    assert_eq!(flows(json!("permutation")), 16);
    assert_eq!(flows(json!("random-pairs")), 16);
    assert_eq!(flows(json!({"kind": "random-pairs", "count": 1000})), 1000);
    assert_eq!(flows(json!("incast")), 15);
    assert_eq!(flows(json!({"kind": "incast", "count": 4})), 4);
    assert_eq!(flows(json!("shuffle")), 240);
    assert_eq!(
        flows(json!({"kind": "shuffle", "servers": ["00", "11", "22"]})),
        6
    );
    assert_eq!(
        flows(json!({"kind": "matrix", "entries": [["00", "11", 2.0], ["11", "00", 0.0]]})),
        1
    );
    // Two racks' worth: the shuffle among a rack's servers, and from a hot rack to all the others.
    let spec = r#"{"family":"bcube","n":8,"k":2}"#;
    let network = Network::open(spec).unwrap();
    let rack = &network.racks()[0];
    let inside = network.servers_of(rack).count() as u64;
    assert!(inside > 0 && inside < 512);
    let shuffle = run(
        spec,
        json!({"workload": {"kind": "shuffle", "racks": [rack.name]}}),
    );
    assert_eq!(shuffle["flows"], inside * (inside - 1));
    let hot = run(
        spec,
        json!({"workload": {"kind": "hot-racks", "racks": [rack.name]}}),
    );
    assert_eq!(hot["flows"], inside * (512 - inside));
}

#[test]
fn faults_strike_what_they_name() {
    let failed = |target: Value| {
        run(
            r#"{"family":"bcube","n":8,"k":2}"#,
            json!({"workload": "permutation", "faults": [{"target": target}]}),
        )["failures"]
            .clone()
    };
    let counts = |value: &Value| ["servers", "switches", "links"].map(|kind| value[kind].as_u64().unwrap());
    assert_eq!(
        counts(&failed(json!({"kind": "servers", "ratio": 0.1}))),
        [51, 0, 0]
    );
    assert_eq!(
        counts(&failed(json!({"kind": "switch", "ratio": 0.1}))),
        [0, 19, 0]
    );
    assert_eq!(
        counts(&failed(json!({"kind": "link", "ratio": 0.5}))),
        [0, 0, 768]
    );
    assert_eq!(
        counts(&failed(json!({"selector": "25% of level-1 switches"}))),
        [0, 16, 0]
    );
    assert_eq!(counts(&failed(json!({"selector": "3 servers"}))), [3, 0, 0]);
    assert_eq!(counts(&failed(json!({"selector": "2 level-2 links"}))), [0, 0, 2]);
    assert_eq!(
        counts(&failed(json!({"names": ["000", "<0,00>", "001/<0,00>"]}))),
        [1, 1, 1]
    );
    let rack = counts(&failed(json!({"selector": "1 rack"})));
    assert!(rack[0] > 0 && rack[1] > 0 && rack[2] == 0, "{rack:?}");
    // Faults that end before the last one begins do no harm any more.
    let over = json!([
        {"at_secs": 0, "until_secs": 5, "target": {"names": ["00"]}},
        {"at_secs": 9, "target": {"names": ["11"]}},
    ]);
    assert_eq!(
        counts(&run(SMALL, json!({"faults": over}))["failures"]),
        [1, 0, 0]
    );
}

#[test]
fn refusals_name_the_field_and_the_way_out() {
    for (experiment, field, says) in [
        (
            json!({"workload": {"kind": "one-to-one", "source": "12", "destination": "12"}}),
            "workload.destination",
            "from 12 to itself",
        ),
        (
            json!({"workload": {"kind": "one-to-one", "source": "33"}}),
            "workload.destination",
            "from 33 to itself",
        ),
        (
            json!({"workload": {"kind": "one-to-several", "destinations": ["01", "10", "00"]}}),
            "workload.destinations",
            "from 00 to itself",
        ),
        (
            json!({"workload": {"kind": "incast", "destination": "01", "sources": ["10", "01"]}}),
            "workload.sources",
            "from 01 to itself",
        ),
        (
            json!({"workload": {"kind": "matrix", "entries": [["00", "01", 1.0], ["01", "01", 2.0]]}}),
            "workload.entries[1]",
            "from 01 to itself",
        ),
        (
            json!({"workload": {"kind": "matrix", "rows": [[0, 1], [1, 0.5]]}}),
            "workload.rows[1][1]",
            "from 01 to itself",
        ),
        (
            json!({"workload": {"kind": "listed", "flows": [["00", "00", 1, 0.0]]}}),
            "workload.flows[0]",
            "from 00 to itself",
        ),
        (
            json!({"workload": {"kind": "one-to-several", "destinations": ["01", "10", "01"]}}),
            "workload.destinations",
            "01 is given twice",
        ),
        (
            json!({"workload": {"kind": "listed", "flows": []}}),
            "workload",
            "no flow",
        ),
        (
            json!({"workload": {"kind": "matrix", "rows": [[0, 0], [0, 0]]}}),
            "workload",
            "no flow",
        ),
        (
            json!({"workload": {"kind": "shuffle", "servers": ["00"]}}),
            "workload",
            "no flow",
        ),
        (json!({"workload": "all-to-some"}), "workload", "one-to-several"),
        (
            json!({"workload": {"kind": "one-to-one", "source": "99"}}),
            "workload.source",
            "99",
        ),
        (
            json!({"workload": {"kind": "shuffle", "racks": ["R99"]}}),
            "workload.racks",
            "R99",
        ),
        (
            json!({"workload": {"kind": "matrix", "rows": [[0, 1], [1]]}}),
            "workload.rows",
            "Row 1",
        ),
        (
            json!({"workload": {"kind": "matrix", "rows": [[0, -1], [1, 0]]}}),
            "workload.rows[0][1]",
            "-1",
        ),
        (json!({"routing": "warp"}), "routing", "warp"),
        (json!({"link_gbps": 0}), "link_gbps", "0"),
        (json!({"seeds": []}), "seeds", "empty"),
        (
            json!({"faults": [{"target": {"kind": "switch", "ratio": 1.5}}]}),
            "faults[0].target.ratio",
            "1.5",
        ),
        (
            json!({"faults": [{"target": {"names": ["nobody"]}}]}),
            "faults[0].target.names",
            "nobody",
        ),
        (
            json!({"faults": [{"target": {"selector": "some switches"}}]}),
            "faults[0].target.selector",
            "some",
        ),
        (
            json!({"faults": [{"target": {"selector": "10% of level-7 switches"}}]}),
            "faults[0].target.selector",
            "7",
        ),
        (json!({"speed": 3}), "speed", "unknown"),
    ] {
        let (at, message) = refused(SMALL, experiment.clone());
        assert_eq!(at, field, "{experiment}: {message}");
        assert!(message.contains(says), "{experiment}: {message}");
    }
    let (field, message) = refused(r#"{"family":"bcube","n":48,"k":2}"#, json!({}));
    assert_eq!(field, "workload.kind", "{message}");
}

#[test]
fn the_same_seed_gives_the_same_document_on_any_number_of_threads() {
    let experiment = json!({
        "faults": [{"target": {"kind": "switch", "ratio": 0.1}}], "seeds": [5, 6], "max_min": true, "link_load": true,
    });
    let spec = r#"{"family":"bcube","n":8,"k":2,"servers":256}"#;
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(spec, experiment.clone()))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
    assert_ne!(one["by_seed"][0]["max_link_flows"], Value::Null);
    assert_ne!(one["by_seed"][0], one["by_seed"][1]);
}

#[test]
fn greedy_choice_beats_a_blind_one() {
    let spec = r#"{"family":"bcube","n":4,"k":2}"#;
    let abt = |routing: &str| {
        run(spec, json!({"routing": routing}))["abt_gbps"]
            .as_f64()
            .unwrap()
    };
    assert!(abt("bsr-greedy") > abt("bsr"));
    let rates = run(spec, json!({"routing": "bsr-greedy", "max_min": true}));
    let counts = run(spec, json!({"routing": "bsr-greedy", "max_min": false}));
    assert_eq!(
        rates["max_link_flows"], counts["max_link_flows"],
        "with or without paths"
    );
    assert!(counts["maxmin"].is_null() && !rates["maxmin"].is_null());
}

#[test]
fn flows_end_when_the_closed_form_says() {
    // 15 flows of 2 Gbit out of one server over two ports of 1 Gb/s in a fixed order: 12 leave by
    // one of them.
    let document = run(
        SMALL,
        json!({"workload": "one-to-all", "routing": "bcube-fixed", "flow_gigabits": 2.0}),
    );
    let last = document["completion"]["last_secs"].as_f64().unwrap();
    assert!((last - 24.0).abs() < 1e-9, "{last}");
    // A matrix weighs its flows: the light one ends first, and the heavy one has the link to itself
    // then.
    let entries = json!([["00", "01", 1.0], ["00", "01", 3.0]]);
    let document = run(
        SMALL,
        json!({"workload": {"kind": "matrix", "entries": entries}, "routing": "bcube-fixed", "flow_gigabits": 1.0}),
    );
    assert_eq!(document["completion"]["first_secs"], 2.0);
    assert_eq!(document["completion"]["last_secs"], 4.0);
    assert_eq!(
        document["completion"]["total_rate"]["gbps"],
        json!([1.0, 1.0, 0.0])
    );
}

#[test]
fn cancelling_stops() {
    let network = Network::open(r#"{"family":"bcube","n":8,"k":2}"#).unwrap();
    let experiment = Experiment::from_json("{}").unwrap();
    let progress = Progress::default();
    progress.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(
        predict(&network, &experiment, &progress),
        Err(PredictError::Cancelled)
    );
}
