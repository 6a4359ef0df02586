//! The smallest networks and the emptiest workloads, under every scheme of every family: a defined
//! answer each.

use cubeyard_routing::names_for;
use cubeyard_sim::{Experiment, Network, PredictError, Progress, predict};
use serde_json::{Value, json};

/// The least of each family, and one of each that is cut short.
const NETWORKS: [&str; 13] = [
    r#"{"family":"bcube","n":2,"k":0}"#,
    r#"{"family":"bcube","n":2,"k":1}"#,
    r#"{"family":"bcube","n":5,"k":0}"#,
    r#"{"family":"bcube","n":2,"k":2,"servers":4}"#,
    r#"{"family":"dcell","n":2,"k":0}"#,
    r#"{"family":"dcell","n":2,"k":1}"#,
    r#"{"family":"dcell","n":2,"k":2,"servers":7}"#,
    r#"{"family":"fat_tree","ports":2,"layers":2}"#,
    r#"{"family":"fat_tree","ports":4,"layers":3,"servers":2}"#,
    r#"{"family":"tree","edge_ports":4,"servers":1}"#,
    r#"{"family":"tree","edge_ports":4,"servers":2}"#,
    r#"{"family":"torus3d","x":2,"y":1,"z":1}"#,
    r#"{"family":"torus3d","x":2,"y":2,"z":2}"#,
];

fn answers(spec: &str, experiment: &Value) -> Vec<(String, Value)> {
    let network = Network::open(spec).unwrap_or_else(|error| panic!("{spec}: {error:?}"));
    let schemes = names_for(network.topology().spec()).into_iter();
    schemes
        .map(|(name, _)| {
            let mut experiment = experiment.clone();
            experiment["routing"] = json!(name);
            let read = Experiment::from_json(&experiment.to_string()).unwrap();
            let answer = predict(&network, &read, &Progress::default());
            (
                format!("{spec} {name}"),
                answer.unwrap_or_else(|error| panic!("{spec} {name}: {error:?}")),
            )
        })
        .collect()
}

fn servers(spec: &str) -> u64 {
    u64::from(Network::open(spec).unwrap().topology().server_count())
}

/// Without failures the flows of all pairs are carried; the throughput is above 0 exactly if there
/// is a pair.
#[test]
fn the_smallest_networks_carry_all_to_all() {
    for spec in NETWORKS {
        let pairs = servers(spec) * (servers(spec) - 1);
        for (case, answer) in answers(spec, &json!({"max_min": true, "flow_gigabits": 1.0})) {
            assert_eq!(answer["flows"], pairs, "{case}");
            assert_eq!(answer["dropped_flows"], 0, "{case}");
            let abt = answer["abt_gbps"].as_f64().unwrap();
            assert_eq!(abt > 0.0, pairs > 0, "{case}: {abt}");
            assert_eq!(answer["maxmin"]["flows"], pairs, "{case}");
            assert_eq!(answer["completion"]["last_secs"].is_null(), pairs == 0, "{case}");
        }
    }
}

/// With all of one kind gone, or the source, nothing crosses a link, and every flow is accounted
/// for.
#[test]
fn partitions_and_failed_ends_drop_what_they_must() {
    for spec in NETWORKS {
        let pairs = servers(spec) * (servers(spec) - 1);
        let all = |kind: &str| json!({"max_min": true, "faults": [{"target": {"kind": kind, "ratio": 1.0}}]});
        for (case, answer) in answers(spec, &all("link")) {
            assert_eq!(answer["flows"], 0, "{case}");
            assert_eq!(
                answer["dropped"],
                json!({"end_failed": 0, "no_path": pairs}),
                "{case}"
            );
            assert_eq!(answer["abt_gbps"], 0.0, "{case}");
        }
        for (case, answer) in answers(spec, &all("server")) {
            assert_eq!(
                answer["dropped"],
                json!({"end_failed": pairs, "no_path": 0}),
                "{case}"
            );
            assert_eq!(answer["maxmin"]["min_gbps"], Value::Null, "{case}");
        }
        let first = Network::open(spec).unwrap().topology().node_name(0);
        let failed = json!({"workload": "one-to-all", "faults": [{"target": {"names": [first]}}]});
        for (case, answer) in answers(spec, &failed) {
            assert_eq!(answer["flows"], 0, "{case}");
            assert_eq!(answer["dropped"]["end_failed"], servers(spec) - 1, "{case}");
        }
    }
}

#[test]
fn a_mean_of_nothing_is_null() {
    for spec in NETWORKS {
        for (kind, ratio) in [("server", 0.5), ("server", 1.0), ("link", 0.5), ("link", 1.0)] {
            let failed = json!({"faults": [{"target": {"kind": kind, "ratio": ratio}}]});
            for (case, answer) in answers(spec, &failed) {
                let nothing = answer["flows"] == 0;
                for name in ["mean", "max"] {
                    assert_eq!(answer["path_hops"][name].is_null(), nothing, "{case}");
                }
                for level in answer["link_flows_by_level"].as_object().unwrap().values() {
                    let nothing = level["directed_links"] == 0;
                    for name in ["min", "mean", "max"] {
                        assert_eq!(level[name].is_null(), nothing, "{case}");
                    }
                }
            }
        }
    }
}

/// Not a number of a document is minus zero: people read it as a rate below nothing.
fn has_minus_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number
            .as_f64()
            .is_some_and(|number| number == 0.0 && number.is_sign_negative()),
        Value::Array(items) => items.iter().any(has_minus_zero),
        Value::Object(fields) => fields.values().any(has_minus_zero),
        _ => false,
    }
}

#[test]
fn no_flow_gives_zero_and_not_minus_zero() {
    for spec in NETWORKS {
        let nothing = json!({
            "max_min": true, "flow_gigabits": 1, "faults": [{"target": {"kind": "server", "ratio": 1.0}}],
        });
        for (case, answer) in answers(spec, &nothing) {
            assert!(!has_minus_zero(&answer), "{case}: {answer}");
        }
    }
}

#[test]
fn rates_and_sizes_out_of_range_are_refused() {
    for (field, value) in [
        ("link_gbps", 1e308),
        ("link_gbps", 1.1e6),
        ("flow_gigabits", 1e300),
        ("link_gbps", 0.0),
    ] {
        let findings = Experiment::from_json(&json!({field: value}).to_string()).unwrap_err();
        assert_eq!(findings[0].field, field);
        assert!(
            findings[0].limit.is_some() && findings[0].value.is_some(),
            "{findings:?}"
        );
    }
    let network = Network::open(NETWORKS[1]).unwrap();
    let most = Experiment::from_json(&json!({"link_gbps": 1e6, "flow_gigabits": 1e12}).to_string()).unwrap();
    let answer = predict(&network, &most, &Progress::default()).unwrap();
    assert!(answer["maxmin"]["total_gbps"].as_f64().unwrap() >= 1e6);
    assert!(answer["completion"]["last_secs"].as_f64().unwrap().is_finite());
}

#[test]
fn failing_what_a_plan_does_not_have_is_refused() {
    let torus = r#"{"family":"torus3d","x":3,"y":3,"z":3}"#;
    let bcube = r#"{"family":"bcube","n":2,"k":1}"#;
    let cases = [
        (torus, json!({"kind": "switch", "ratio": 0.5}), "no switches"),
        (torus, json!({"selector": "50% of switches"}), "no switches"),
        (torus, json!({"selector": "1 switches"}), "no switches"),
        (bcube, json!({"selector": "5 servers"}), "has 4 servers"),
        (bcube, json!({"selector": "3 level-1 switches"}), "has 2 switches"),
    ];
    for (spec, target, says) in cases {
        let network = Network::open(spec).unwrap();
        let asked = json!({"faults": [{"target": target}]});
        let refused = predict(
            &network,
            &Experiment::from_json(&asked.to_string()).unwrap(),
            &Progress::default(),
        );
        let Err(PredictError::Findings(findings)) = refused else {
            panic!("{spec} {target} was accepted");
        };
        assert!(
            findings[0].field.starts_with("faults[0].target"),
            "{}",
            findings[0].field
        );
        assert!(findings[0].message.contains(says), "{}", findings[0].message);
    }
    // A ratio of 0 fails nothing anywhere: sweeps begin with it.
    let network = Network::open(torus).unwrap();
    let none = json!({"faults": [{"target": {"kind": "switch", "ratio": 0}}]});
    let read = Experiment::from_json(&none.to_string()).unwrap();
    assert!(predict(&network, &read, &Progress::default()).is_ok());
}
