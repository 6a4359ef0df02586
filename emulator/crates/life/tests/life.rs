//! Lives against closed forms, and what must hold for any plan, rates and policies.

#[path = "../../topology/tests/cases.rs"]
mod cases;

use cubeyard_life::{RATES, live};
use cubeyard_plan::builtin_book;
use cubeyard_sim::{PredictError, Progress};
use cubeyard_topology::Finding;
use proptest::prelude::*;
use serde_json::{Value, json};

fn lived(question: &Value) -> Value {
    let book = builtin_book("current-2026").expect("a built-in book");
    live(&question.to_string(), &book, &Progress::default(), &mut |_| {}).expect("a possible question")
}

fn findings(question: &Value) -> Vec<Finding> {
    let book = builtin_book("current-2026").expect("a built-in book");
    match live(&question.to_string(), &book, &Progress::default(), &mut |_| {}) {
        Err(PredictError::Findings(findings)) => findings,
        other => panic!("expected findings, not {other:?}"),
    }
}

/// Rates of 0, except these.
fn only(rates: &[(&str, f64)]) -> Value {
    let of = |part: &str| {
        rates
            .iter()
            .find(|(name, _)| *name == part)
            .map_or(0.0, |(_, afr)| *afr)
    };
    RATES
        .iter()
        .map(|rate| (rate.part.clone(), json!(of(&rate.part))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn numbers(value: &Value) -> Vec<f64> {
    let values = value.as_array().expect("an array");
    values
        .iter()
        .map(|value| value.as_f64().expect("a number"))
        .collect()
}

fn small() -> Value {
    json!({"family": "bcube", "n": 4, "k": 1})
}

/// Without repairs, a server with independent parts is alive at `t` with probability
/// `exp(-sum of (t / scale)^shape)`. The mean of 300 lives of 64 servers is within 4.5 standard
/// errors at every point of three curves.
#[test]
fn the_mean_of_servers_alive_is_the_closed_form() {
    for (shape, rates) in [
        (1.0, vec![("disk", 0.1)]),
        (1.0, vec![("server", 0.04), ("nic", 0.07)]),
        (2.5, vec![("psu", 0.1)]),
    ] {
        let document = lived(&json!({
            "plan": {"family": "bcube", "n": 8, "k": 1}, "seeds": 300, "step_months": 6, "shape": shape,
            "rates": only(&rates), "exact_states": 2,
        }));
        let means = numbers(&document["policies"][0]["curves"]["servers_mean"]);
        for (month, mean) in numbers(&document["months"]).into_iter().zip(means) {
            let hazard: f64 = rates
                .iter()
                .map(|(_, afr)| -(1.0 - afr).ln() * (month / 12.0f64).powf(shape))
                .sum();
            let alive = (-hazard).exp();
            let error = (64.0 * alive * (1.0 - alive) / 300.0).sqrt();
            assert!(
                (mean - 64.0 * alive).abs() <= 4.5 * error + 1e-9,
                "{rates:?} at {month}: {mean}"
            );
        }
    }
}

/// A PDU takes all that it feeds with it: with PDUs alone failing, servers go by the same closed
/// form.
#[test]
fn a_pdu_takes_its_servers_and_switches_down() {
    let document = lived(&json!({
        "plan": small(), "seeds": 400, "step_months": 12, "rates": only(&[("pdu", 0.2)]), "exact_states": 2,
    }));
    let curves = &document["policies"][0]["curves"];
    let (means, pdus) = (
        numbers(&curves["servers_mean"]),
        document["pdus"].as_f64().unwrap(),
    );
    for (year, mean) in means.iter().enumerate() {
        let alive = 0.8f64.powi(year as i32);
        let error = 16.0 * (alive * (1.0 - alive) / 400.0 / pdus).sqrt();
        assert!(
            (mean - 16.0 * alive).abs() <= 4.5 * error + 1e-9,
            "year {year}: {mean}"
        );
    }
    // With all of them down, all is down.
    let all = lived(&json!({"plan": small(), "seeds": 5, "rates": only(&[("pdu", 0.999_999)]), "years": 10}));
    let curves = &all["policies"][0]["curves"];
    assert_eq!(curves["servers"]["p95"][119], 0);
    assert_eq!(curves["switches_down"]["p5"][119], all["switches"]);
    assert_eq!(curves["abt_gbps"]["median"][119], 0.0);
}

#[test]
fn without_failures_everything_stays() {
    let document =
        lived(&json!({"plan": small(), "seeds": 3, "rate_factor": 0, "policies": [{}, {"visit_months": 6}]}));
    for policy in document["policies"].as_array().unwrap() {
        for (curve, value) in [
            ("servers", json!(16)),
            ("connected", json!(16)),
            ("abt_gbps", document["abt_gbps"].clone()),
        ] {
            for quantile in ["p5", "median", "p95"] {
                let values = policy["curves"][curve][quantile].as_array().unwrap();
                assert!(values.iter().all(|one| *one == value), "{curve}");
            }
        }
        assert_eq!(policy["below"]["abt"]["probability"], 0.0);
        assert_eq!(policy["swaps"]["server"], 0.0);
    }
    assert_eq!(document["policies"][1]["buys"]["server_years"], 0.0);
}

/// Values between computed states against computing every state: the median of ABT, by month, and
/// the stated error.
#[test]
fn interpolated_throughput_is_near_the_computed_one() {
    let question = |states: usize| {
        json!({
            "plan": {"family": "bcube", "n": 4, "k": 2}, "seeds": 20, "step_months": 3, "exact_states": states,
            "rates": {"switch": 0.08}, "policies": [{}, {"visit_months": 12}],
        })
    };
    let (some, all) = (lived(&question(40)), lived(&question(2_000)));
    assert_eq!(all["throughput"]["interpolated"], false);
    assert_eq!(all["throughput"]["computed"], all["throughput"]["states"]);
    assert_eq!(some["throughput"]["interpolated"], true);
    assert!(some["throughput"]["computed"].as_u64() <= Some(40));
    let whole = all["abt_gbps"].as_f64().unwrap();
    let told = some["throughput"]["error_mean"].as_f64().unwrap();
    for policy in 0..2 {
        let curve = |document: &Value| numbers(&document["policies"][policy]["curves"]["abt_gbps"]["median"]);
        let off: Vec<f64> = curve(&some)
            .iter()
            .zip(curve(&all))
            .map(|(a, b)| (a - b).abs() / whole)
            .collect();
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        assert!(
            mean <= 2.0 * told + 0.01,
            "policy {policy}: {mean} off, told {told}"
        );
        let exact = numbers(&all["policies"][policy]["curves"]["abt_gbps"]["exact_share"]);
        assert!(exact.iter().all(|&share| share == 1.0));
    }
}

#[test]
fn what_cannot_be_is_refused_by_field() {
    let with = |change: Value| {
        let mut question = json!({"plan": small(), "seeds": 2});
        question
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        question
    };
    for (change, field) in [
        (json!({"years": 0}), "years"),
        (json!({"years": 31}), "years"),
        (json!({"seeds": 0}), "seeds"),
        (json!({"step_months": 13}), "step_months"),
        (json!({"shape": 0}), "shape"),
        (json!({"rate_factor": -1}), "rate_factor"),
        (json!({"rates": {"disk": 1.0}}), "rates.disk"),
        (json!({"rates": {"wheel": 0.1}}), "rates.wheel"),
        (json!({"floors": {"abt": 1.5}}), "floors.abt"),
        (json!({"policies": []}), "policies"),
        (
            json!({"policies": [{"visit_months": 0}]}),
            "policies[0].visit_months",
        ),
        (
            json!({"policies": [{"spares": {"disk": 1}, "visit_months": 6}]}),
            "policies[0].spares.disk",
        ),
        (
            json!({"policies": [{"spares": {"server": 1}}]}),
            "policies[0].spares",
        ),
        (
            json!({"policies": [{"visit_months": 6, "visit_below": 0.9}]}),
            "policies[0].visit_below",
        ),
        (
            json!({"policies": [{"lead_months": 2}]}),
            "policies[0].lead_months",
        ),
        (json!({"routing": "pigeon"}), "routing"),
        (json!({"plan": {"family": "bcube", "n": 1, "k": 1}}), "topology.n"),
        (json!({"plan": {"family": "bcube", "n": 8, "k": 5}}), "plan"),
        (json!({"colour": "red"}), "colour"),
    ] {
        let found = findings(&with(change.clone()));
        assert!(found.iter().any(|one| one.field == field), "{change}: {found:?}");
        assert!(
            found
                .iter()
                .all(|one| !one.hint.is_empty() && !one.message.is_empty())
        );
    }
}

/// A visit that is called below a floor brings the servers back; a kit that is used up ends the
/// visits.
#[test]
fn visits_below_a_floor_come_when_called() {
    let document = lived(&json!({
        "plan": {"family": "bcube", "n": 8, "k": 1}, "seeds": 20, "rates": only(&[("disk", 0.15)]), "exact_states": 2,
        "floors": {"servers": 0.8},
        "policies": [{}, {"visit_below": 0.9, "lead_months": 0.5}, {"visit_below": 0.9, "spares": {"server": 10}}],
    }));
    let [sealed, called, kit] = [0, 1, 2].map(|policy| &document["policies"][policy]);
    assert_eq!(sealed["visits"], 0.0);
    assert!(called["visits"].as_f64() > Some(2.0));
    assert_eq!(called["below"]["servers"]["probability"], 0.0);
    assert!(kit["swaps"]["server"].as_f64() <= Some(10.0));
    assert!(kit["wanting"]["server"].as_f64() > Some(0.0));
    let left = |policy: &Value| policy["server_years"].as_f64().unwrap();
    assert!(left(sealed) < left(kit) && left(kit) < left(called));
    assert!(called["cost"]["total"].as_f64() > kit["cost"]["total"].as_f64());
}

fn any_plan() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(small()),
        Just(json!({"family": "fat_tree", "ports": 4, "layers": 2})),
        Just(json!({"family": "dcell", "n": 2, "k": 1})),
        Just(json!({"family": "torus3d", "x": 3, "y": 2, "z": 2})),
    ]
}

proptest! {
    #![proptest_config(cases::cases(24))]

    /// In every life and at every time: without repairs, dead parts stay dead, and more spares
    /// never leave fewer parts alive.
    #[test]
    fn more_spares_never_leave_less(
        plan in any_plan(), seed in any::<u64>(), shape in 0.5f64..3.0, factor in 1.0f64..20.0,
        every in 3u32..20, servers in 0u32..6, switches in 0u32..6, cables in 0u32..6, more in 1u32..5,
    ) {
        let kit = |extra: u32| json!({
            "server": servers + extra, "switch": switches + extra, "cable": cables + extra, "pdu": extra,
        });
        let document = lived(&json!({
            "plan": plan, "seeds": 1, "first_seed": seed, "shape": shape, "rate_factor": factor, "exact_states": 2,
            "policies": [
                {}, {"visit_months": every, "spares": kit(0)}, {"visit_months": every, "spares": kit(more)},
                {"visit_months": every},
            ],
        }));
        let curve = |policy: usize, name: &str| {
            numbers(&document["policies"][policy]["curves"][name]["median"])
        };
        for name in ["servers", "connected"] {
            for (fewer, more) in [(0, 1), (1, 2), (2, 3)] {
                let both = curve(fewer, name).into_iter().zip(curve(more, name));
                prop_assert!(both.into_iter().all(|(less, more)| less <= more), "{name}");
            }
            prop_assert!(curve(0, name).windows(2).all(|pair| pair[0] >= pair[1]));
        }
        for name in ["switches_down", "links_down"] {
            prop_assert!(curve(0, name).windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(curve(1, name).into_iter().zip(curve(2, name)).all(|(fewer, more)| fewer >= more));
        }
    }

    /// The same question gives the same bytes on any number of threads.
    #[test]
    fn threads_change_nothing(plan in any_plan(), seed in any::<u64>(), states in 2usize..30) {
        let question = json!({
            "plan": plan, "seeds": 6, "first_seed": seed, "rate_factor": 4, "step_months": 6, "exact_states": states,
            "policies": [{}, {"visit_months": 9}],
        });
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| lived(&question).to_string())
        };
        let one = on(1);
        prop_assert_eq!(&one, &on(3));
        prop_assert_eq!(&one, &on(1));
    }
}
