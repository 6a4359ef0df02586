//! The front of a search is that of an exhaustive one, which plans and predicts every candidate;
//! nothing depends on time.

#[path = "../../topology/tests/cases.rs"]
mod cases;

use std::sync::atomic::Ordering;

use cubeyard_plan::{Book, PlanSpec, builtin_book, plan};
use cubeyard_search::metric::{METRICS, index_of};
use cubeyard_search::{SearchSpec, search};
use cubeyard_sim::{Experiment, Network, PredictError, Progress, predict};
use proptest::prelude::*;
use serde_json::{Value, json};

fn book() -> Book {
    builtin_book("current-2026").expect("a built-in book")
}

fn searched(question: &Value) -> Value {
    search(&question.to_string(), &book(), &Progress::default(), &mut |_| {}).expect("a possible question")
}

/// A candidate's metrics by the plan and the prediction, without any part of the search.
fn known(spec: &PlanSpec, failures: &Value) -> Option<Value> {
    let built = plan(spec, &book()).ok()?;
    if built.cost.at_least {
        return None;
    }
    let network = Network::open(&json!(spec).to_string()).ok()?;
    let abt = |faults: Value| {
        let experiment =
            json!({"workload": "all-to-all", "max_min": false, "faults": faults, "seeds": failures["seeds"]});
        let experiment = Experiment::from_json(&experiment.to_string()).expect("an experiment");
        predict(&network, &experiment, &Progress::default())
    };
    let healthy = abt(json!([])).expect("a prediction")["abt_gbps"].as_f64()?;
    let target = json!([{"target": {"kind": failures["kind"], "ratio": failures["ratio"]}}]);
    // A structure without switches keeps them all.
    let degraded = match abt(target) {
        Ok(document) => document["abt_gbps"].as_f64()?,
        Err(_) => healthy,
    };
    Some(json!({
        "cost": built.cost.total, "power": built.power.total, "abt": healthy, "abt_degraded": degraded,
        "racks": built.layout.racks.name.len(), "servers": built.topology.server_count(),
    }))
}

/// The specs on the exhaustive front: nothing keeps the limits and is at least as good in
/// everything, better in one.
fn exhaustive(question: &Value) -> Vec<Vec<f64>> {
    let asked = SearchSpec::from_json(&question.to_string()).expect("a question");
    let space = asked.spec.space.candidates(asked.servers, &|| true);
    let vectors: Vec<Vec<f64>> = space
        .candidates
        .iter()
        .filter_map(|candidate| {
            let spec = PlanSpec {
                topology: candidate.topology.clone(),
                ..asked.base.clone()
            };
            let values = known(&spec, &json!(asked.spec.failures))?;
            let value = |metric: usize| values[METRICS[metric].name].as_f64().expect("a tested metric");
            let keeps = asked.limits.iter().all(|limit| limit.keeps(value(limit.metric)));
            let turned = |&(metric, more): &(usize, bool)| if more { -value(metric) } else { value(metric) };
            keeps.then(|| asked.objectives.iter().map(turned).collect())
        })
        .collect();
    let better = |a: &[f64], b: &[f64]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    let mut front: Vec<Vec<f64>> = vectors
        .iter()
        .filter(|vector| !vectors.iter().any(|other| better(other, vector)))
        .cloned()
        .collect();
    front.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    front.dedup();
    front
}

fn front_of(document: &Value) -> Vec<Vec<f64>> {
    let objectives = document["question"]["objectives"].as_array().expect("a list");
    let mut front: Vec<Vec<f64>> = document["front"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|point| {
            let of = |objective: &Value| {
                let name = objective["metric"].as_str().expect("a name");
                let value = point["values"][name].as_f64().expect("a value");
                if METRICS[index_of(name).expect("a metric")].more {
                    -value
                } else {
                    value
                }
            };
            objectives.iter().map(of).collect()
        })
        .collect();
    front.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
    front
}

/// Every family, in small.
fn small(least: u64, most: u64) -> Value {
    json!({
        "most_servers": most, "server_steps": 2,
        "values": {
            "bcube": {"n": [2, 3, 4], "k": [1, 2]}, "dcell": {"n": [3, 4], "k": [1], "growth": [0]},
            "torus3d": {"x": [2, 3], "y": [3], "z": [2, 3]},
            "subways": {"type": [1], "p": [2], "q": [8], "l": [2, least.max(4) / 4], "c": [1], "clusters": [1, 2], "loops_per_cluster": [1]},
            "fat_tree": {"ports": [4, 8], "layers": [2, 3]}, "tree": {"edge_ports": [8], "root_ports": [8]},
            "leaf_spine": {"servers_per_leaf": [4, 8], "spines": [2, 3], "uplinks_per_spine": [1], "server_gbps": [1], "uplink_gbps": [1, 10]},
            "torus2d": {"x": [3, 4], "y": [3, 4, 5]},
            "jellyfish": {"ports": [4, 6], "servers_per_switch": [2, 3], "link_gbps": [1]},
            "dragonfly": {"a": [2, 3], "p": [1, 2], "h": [1, 2], "groups": [2, 3, 4], "link_gbps": [10]},
        },
    })
}

fn objectives() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        Just(vec!["cost"]),
        Just(vec!["cost", "abt_degraded"]),
        Just(vec!["abt_degraded"]),
        Just(vec!["cost", "abt", "abt_degraded"]),
        Just(vec!["power", "abt_degraded", "racks"]),
    ]
}

proptest! {
    #![proptest_config(cases::cases(12))]

    #[test]
    fn the_front_is_that_of_an_exhaustive_search(
        least in 8u64..14,
        span in 0u64..12,
        objectives in objectives(),
        kind in prop_oneof![Just("switch"), Just("server"), Just("link")],
        ratio in prop_oneof![Just(0.0), Just(0.1), Just(0.3)],
        seeds in prop_oneof![Just(vec![7u64]), Just(vec![1, 2])],
        abt in prop_oneof![Just(0.0), 1.0..20.0f64],
    ) {
        // With one seed: a prediction of several gives them one by one.
        let seeds = &seeds[..1];
        let question = json!({
            "constraints": [{"metric": "servers", "at_least": least}, {"metric": "abt_degraded", "at_least": abt}],
            "objectives": objectives.iter().map(|name| json!({"metric": name})).collect::<Vec<_>>(),
            "failures": {"kind": kind, "ratio": ratio, "seeds": seeds},
            "space": small(least, least + span + 4),
            "evaluations": 5000,
        });
        let document = searched(&question);
        prop_assert_eq!(&document["complete"], true);
        prop_assert_eq!(front_of(&document), exhaustive(&question));
        // The same question gives the same bytes.
        prop_assert_eq!(document.to_string(), searched(&question).to_string());
        let left_out: u64 = document["constraints"].as_array().expect("a list").iter().filter_map(|one| one["left_out"].as_u64()).sum();
        let of = |name: &str| document[name].as_u64().expect("a count");
        let settled = (document["front"].as_array().map_or(0, Vec::len) + document["others"].as_array().map_or(0, Vec::len)) as u64;
        let short = document["others"].as_array().into_iter().flatten().filter(|one| one["meets"] == false).count() as u64;
        prop_assert_eq!(of("candidates"), of("no_plan") + of("no_price") + left_out + of("passed_over") + settled - short);
    }
}

fn question() -> Value {
    json!({
        "constraints": [{"metric": "servers", "at_least": 12}],
        "objectives": [{"metric": "cost"}, {"metric": "abt_degraded"}],
        "space": small(12, 24),
    })
}

#[test]
fn a_search_is_cancelled_at_any_frame() {
    let whole = {
        let mut count = 0;
        search(
            &question().to_string(),
            &book(),
            &Progress::default(),
            &mut |_| count += 1,
        )
        .expect("a front");
        count
    };
    for at in 1..whole {
        let progress = Progress::default();
        let mut seen = 0;
        let outcome = search(&question().to_string(), &book(), &progress, &mut |_| {
            seen += 1;
            if seen == at {
                progress.cancelled.store(true, Ordering::Relaxed);
            }
        });
        // A search cancelled at its very end may already be complete.
        assert!(
            outcome == Err(PredictError::Cancelled) || at + 1 >= whole,
            "at frame {at} of {whole}"
        );
        assert!(seen <= at + 1, "{seen} frames, cancelled at {at}");
    }
}

#[test]
fn a_search_says_when_its_evaluations_were_not_enough() {
    let mut question = question();
    question["evaluations"] = json!(1);
    let document = searched(&question);
    assert_eq!(document["complete"], false);
    assert!(document["unexplored"].as_u64() > Some(0));
}

#[test]
fn bad_input_is_named_by_field() {
    for (change, field) in [
        (
            json!({"constraints": [{"metric": "beauty", "at_least": 1}]}),
            "constraints[0].metric",
        ),
        (
            json!({"constraints": [{"metric": "servers", "at_least": "1 kW"}]}),
            "constraints[0].at_least",
        ),
        (json!({"constraints": [{"metric": "servers"}]}), "constraints[0]"),
        (
            json!({"constraints": [{"metric": "cost", "at_least": 2, "at_most": 1}, {"metric": "servers", "at_least": 9}]}),
            "constraints[0].at_most",
        ),
        (json!({"constraints": [], "space": {}}), "constraints"),
        (json!({"objectives": []}), "objectives"),
        (
            json!({"objectives": [{"metric": "cost"}, {"metric": "cost"}]}),
            "objectives[1].metric",
        ),
        (json!({"failures": {"ratio": 1.5}}), "failures.ratio"),
        (json!({"failures": {"kind": "rack"}}), "failures.kind"),
        (json!({"failures": {"seeds": []}}), "failures.seeds"),
        (json!({"space": {"families": ["ring"]}}), "space.families[0]"),
        (
            json!({"space": {"values": {"bcube": {"n": [1]}}}}),
            "space.values.bcube.n",
        ),
        (
            json!({"space": {"values": {"bcube": {"servers": [16]}}}}),
            "space.values.bcube.servers",
        ),
        (json!({"space": {"most_servers": 5}}), "space.most_servers"),
        (json!({"space": {"server_steps": 0}}), "space.server_steps"),
        (json!({"plan": {"topology": {}}}), "plan.topology"),
        (json!({"plan": {"sight": {}}}), "plan.sight"),
        (json!({"evaluations": 0}), "evaluations"),
        (json!({"speed": 1}), "speed"),
    ] {
        let mut asked = question();
        for (key, value) in change.as_object().expect("an object") {
            asked[key] = value.clone();
        }
        let findings = SearchSpec::from_json(&asked.to_string()).expect_err(field);
        assert_eq!(findings[0].field, field, "{}", findings[0].message);
    }
}

#[test]
fn amounts_are_in_the_price_books_currency() {
    let euros = Book {
        currency: "EUR".to_owned(),
        ..book()
    };
    let asked = |most: &str| {
        let mut question = question();
        question["constraints"] =
            json!([{"metric": "servers", "at_least": 12}, {"metric": "cost", "at_most": most}]);
        search(&question.to_string(), &euros, &Progress::default(), &mut |_| {})
    };
    assert_eq!(asked("1 MEUR").expect("an answer")["book"]["currency"], "EUR");
    let Err(PredictError::Findings(findings)) = asked("1 MUSD") else {
        panic!("dollars are no euros");
    };
    assert_eq!(findings[0].code, "search-currency");
    assert_eq!(findings[0].field, "constraints[1].at_most");
}
