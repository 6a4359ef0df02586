//! Degraded links: their effects on loads, rates, times and choices, and the rejected values.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that cannot set itself up should fail"
)]

use std::fmt::Write;

use cubeyard_routing::names_for;
use cubeyard_sim::{Experiment, Network, PredictError, Progress, predict};
use proptest::prelude::*;
use serde_json::{Value, json};

const SMALL: &str = r#"{"family":"bcube","n":4,"k":1}"#;
/// The rate of every link.
const OWN: f64 = 1e9;
const LINKS: usize = 32;

fn ask(network: &Network, fields: Value) -> Result<Value, PredictError> {
    let mut experiment = json!({"link_gbps": OWN / 1e9, "flow_rates": true});
    experiment
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let experiment = Experiment::from_json(&experiment.to_string()).map_err(PredictError::Findings)?;
    predict(network, &experiment, &Progress::default())
}

fn run(spec: &str, fields: Value) -> Value {
    ask(&Network::open(spec).unwrap(), fields).unwrap()
}

/// The link's name, by its two ends.
fn link(network: &Network, link: usize) -> String {
    let topology = network.topology();
    let (a, b) = (topology.links().a[link], topology.links().b[link]);
    format!("{}/{}", topology.node_name(a), topology.node_name(b))
}

fn slower(name: &str, rate_bits_per_sec: f64) -> Value {
    json!({"target": {"names": [name]}, "kind": "link-rate", "rate_bits_per_sec": rate_bits_per_sec})
}

fn lossy(name: &str, loss_ratio: f64) -> Value {
    json!({"target": {"names": [name]}, "kind": "link-loss", "loss_ratio": loss_ratio})
}

fn rates(document: &Value) -> Vec<f64> {
    let rates = document["flow_rates"]["gbps"].as_array().unwrap();
    rates.iter().map(|rate| rate.as_f64().unwrap()).collect()
}

/// All but the faults as they were written.
fn outcome(mut document: Value) -> Value {
    document["failures"]["faults"] = Value::Null;
    document
}

fn abt(document: &Value) -> f64 {
    document["abt_gbps"].as_f64().unwrap()
}

proptest! {
    #![proptest_config(crate::cases::cases(48))]

    #[test]
    fn a_limit_that_limits_nothing_changes_nothing(
        family in 0usize..5, more in 1.0..10.0f64, ratio in 0.1..1.0f64, seed in 0u64..1000,
    ) {
        let spec = [
            SMALL,
            r#"{"family":"dcell","n":3,"k":1}"#,
            r#"{"family":"fat_tree","ports":4,"layers":3}"#,
            r#"{"family":"torus3d","x":3,"y":3,"z":2}"#,
            r#"{"family":"subways","type":1,"p":2,"q":4,"l":6,"clusters":2,"uplink_gbps":10}"#,
        ][family];
        let network = Network::open(spec).unwrap();
        let down = json!({"target": {"kind": "link", "ratio": 0.1}});
        let all = json!({"kind": "link", "ratio": ratio});
        let idle = [
            json!({"target": all, "kind": "link-rate", "rate_bits_per_sec": OWN * more}),
            json!({"target": all, "kind": "link-loss", "loss_ratio": 0}),
        ];
        for (routing, _) in names_for(network.topology().spec()) {
            let with = |faults: Value| {
                outcome(ask(&network, json!({"routing": routing, "faults": faults, "seeds": [seed]})).unwrap()).to_string()
            };
            prop_assert_eq!(with(json!([down])), with(json!([down, idle[0], idle[1]])), "{}", routing);
        }
    }

    /// With fixed paths every link's share falls with its rate, so their minimum cannot rise.
    #[test]
    fn a_slower_link_never_raises_abt_over_fixed_ways(
        at in 0..LINKS, one in 1e4..2.0 * OWN, other in 1e4..2.0 * OWN, seed in 0u64..100,
    ) {
        let network = Network::open(SMALL).unwrap();
        let name = link(&network, at);
        let abt_at = |rate: f64| {
            let faults = json!([slower(&name, rate)]);
            abt(&ask(&network, json!({"routing": "bcube-fixed", "faults": faults, "seeds": [seed]})).unwrap())
        };
        prop_assert!(abt_at(one.min(other)) <= abt_at(one.max(other)));
        prop_assert!(abt_at(one) <= abt_at(OWN));
    }

    /// Several flows that share only one link: a slower link cannot help any of them. (With other
    /// links it can, because flows that are limited on it leave more to others.)
    #[test]
    fn a_slower_bottleneck_never_raises_the_fair_rates(
        senders in 1u32..8, one in 1e4..2.0 * OWN, other in 1e4..2.0 * OWN,
    ) {
        let spec = r#"{"family":"bcube","n":8,"k":0}"#;
        let sources: Vec<String> = (1..=senders.min(7)).map(|sender| sender.to_string()).collect();
        let total = |rate: f64| {
            let workload = json!({"kind": "incast", "destination": "0", "sources": sources});
            rates(&run(spec, json!({"workload": workload, "faults": [slower("0/<0,>", rate)]}))).iter().sum::<f64>()
        };
        prop_assert!(total(one.min(other)) <= total(one.max(other)) * (1.0 + 1e-12));
    }

    /// A link with almost no rate leaves others the same rates as without it, over fixed paths,
    /// where flows of a failed link are dropped instead of moved.
    #[test]
    fn a_link_of_next_to_no_rate_is_as_good_as_failed(at in 0..LINKS, seed in 0u64..100) {
        let network = Network::open(SMALL).unwrap();
        let name = link(&network, at);
        let with = |fault: Value| {
            let asked = json!({"routing": "bcube-fixed", "faults": [fault], "workload": "permutation", "seeds": [seed]});
            ask(&network, asked).unwrap()
        };
        let failed = rates(&with(json!({"target": {"names": [name]}})));
        // The least rate that the catalogue allows is 1e-5 Gb/s.
        for (nearly, left_gbps) in
            [(slower(&name, 1e4), 1e-5), (lossy(&name, 1.0 - 1e-9), 1e-8), (lossy(&name, 1.0), 0.0)]
        {
            for (flow, (degraded, failed)) in rates(&with(nearly)).iter().zip(&failed).enumerate() {
                prop_assert!((degraded - failed).abs() <= left_gbps + 1e-12, "flow {flow}: {degraded}, without the link {failed}");
            }
        }
    }

    #[test]
    fn limits_on_one_link_add_up(
        at in 0..LINKS, one in 1e4..2.0 * OWN, other in 1e4..2.0 * OWN, lost in 0.0..1.0f64, again in 0.0..1.0f64,
    ) {
        let network = Network::open(SMALL).unwrap();
        let name = link(&network, at);
        let with = |faults: Vec<Value>| {
            ask(&network, json!({"routing": "bcube-fixed", "faults": faults, "flow_gigabits": 1.0})).unwrap()
        };
        prop_assert_eq!(
            outcome(with(vec![slower(&name, one), slower(&name, other)])),
            outcome(with(vec![slower(&name, one.min(other))]))
        );
        let both = abt(&with(vec![lossy(&name, lost), slower(&name, one), lossy(&name, again)]));
        let left = one.min(OWN) * (1.0 - lost) * (1.0 - again);
        // The least rate that a fault may leave.
        prop_assume!(left >= 1e4);
        let at_once = abt(&with(vec![slower(&name, left)]));
        prop_assert!((both - at_once).abs() <= 1e-9 * at_once, "{both}, not {at_once}");
    }

    /// Draws depend on a fault's index: adding a degrading fault does not change the targets of
    /// others.
    #[test]
    fn what_other_faults_strike_stays(seed in 0u64..1000, ratio in 0.1..0.9f64) {
        let network = Network::open(SMALL).unwrap();
        let down = json!({"target": {"kind": "switch", "ratio": 0.25}});
        let last = json!({"target": {"selector": "3 servers"}});
        let flows = |middle: Value| {
            let asked = json!({"faults": [down, middle, last], "seeds": [seed], "workload": "all-to-all"});
            let document = ask(&network, asked).unwrap();
            (document["flow_rates"]["gbps"].as_array().unwrap().iter().map(|rate| *rate == 0.0).collect::<Vec<_>>(),
             document["dropped"].clone())
        };
        let links = json!({"kind": "link", "ratio": ratio});
        prop_assert_eq!(
            flows(json!({"target": links, "kind": "link-rate", "rate_bits_per_sec": OWN / 2.0})),
            flows(json!({"target": {"names": ["00/<0,0>"]}, "kind": "link-loss", "loss_ratio": 0.5}))
        );
    }
}

/// BCube(4,1), 00 to 33: two hops, so a way by each of its ports. A fixed way has to take what its
/// link leaves; BSR's probes see rates, but no loss.
#[test]
fn one_to_one_over_a_degraded_link() {
    let cases = [
        ("whole", json!([])),
        ("its first link at 100 Mb/s", json!([slower("00/<1,0>", 1e8)])),
        ("its other link at 100 Mb/s", json!([slower("00/<0,0>", 1e8)])),
        (
            "both at 100 and 300 Mb/s",
            json!([slower("00/<1,0>", 1e8), slower("00/<0,0>", 3e8)]),
        ),
        ("its first link loses a quarter", json!([lossy("00/<1,0>", 0.25)])),
        ("its other link loses a quarter", json!([lossy("00/<0,0>", 0.25)])),
        ("everything lost on the other", json!([lossy("00/<0,0>", 1.0)])),
        (
            "500 Mb/s and a quarter lost",
            json!([slower("00/<1,0>", 5e8), lossy("00/<1,0>", 0.25)]),
        ),
        ("everything lost on the first", json!([lossy("00/<1,0>", 1.0)])),
        (
            "slow until before the last fault",
            json!([
                {"target": {"names": ["00/<1,0>"]}, "kind": "link-rate", "rate_bits_per_sec": 1e8, "until_secs": 5},
                {"target": {"names": ["00/<0,0>"]}, "kind": "link-rate", "rate_bits_per_sec": 1e8, "at_secs": 5},
            ]),
        ),
        (
            "a tenth of the links at half",
            json!([
                {"target": {"kind": "link", "ratio": 0.1}, "kind": "link-rate", "rate_bits_per_sec": 5e8},
            ]),
        ),
    ];
    let mut table = format!(
        "{:<34} {:<12} {:>9} {:>10} {:>7} {:>8} {:>9} {:>9}\n",
        "what", "routing", "ABT Gb/s", "fair Gb/s", "ends s", "dropped", "degraded", "least"
    );
    for (what, faults) in &cases {
        for routing in ["bcube-fixed", "bsr", "bsr-greedy"] {
            let asked = json!({
                "workload": {"kind": "one-to-one", "source": "00", "destination": "33"}, "routing": routing, "faults": faults,
                "flow_gigabits": 1.0,
            });
            let found = run(SMALL, asked);
            writeln!(
                table,
                "{what:<34} {routing:<12} {:>9.3} {:>10.3} {:>7} {:>8} {:>9} {:>9}",
                abt(&found),
                rates(&found)[0],
                found["completion"]["last_secs"]
                    .as_f64()
                    .map_or("never".to_owned(), |secs| format!("{secs:.3}")),
                found["dropped_flows"].to_string(),
                found["failures"]["degraded_links"].to_string(),
                found["link_gbps"]["min"].to_string(),
            )
            .unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// Sixteen flows of one server to its neighbours of both levels: schemes that see the load spread
/// it by the links' capacity.
#[test]
fn flows_that_see_the_load_leave_a_slow_link_its_share() {
    let entries: Vec<Value> = (0..16).map(|_| json!(["00", "33", 1.0])).collect();
    let asked = |routing: &str| {
        run(
            SMALL,
            json!({
                "workload": {"kind": "matrix", "entries": entries}, "routing": routing, "link_load": true,
                "faults": [slower("00/<0,0>", OWN / 3.0)],
            }),
        )
    };
    let greedy = asked("bsr-greedy");
    let network = Network::open(SMALL).unwrap();
    let on = |name: &str| {
        let at = (0..LINKS).find(|&at| link(&network, at) == name).unwrap();
        greedy["link_load"]["a_to_b"][at].as_u64().unwrap()
    };
    assert_eq!(
        (on("00/<0,0>"), on("00/<1,0>")),
        (4, 12),
        "one to three, as the rates"
    );
    let (seeing, blind) = (abt(&greedy), abt(&asked("bsr")));
    assert!((seeing - 16.0 / 12.0).abs() < 1e-9, "{seeing}");
    assert!(
        (blind - 1.0).abs() < 1e-9,
        "probed on an idle network, all take the wide link: {blind}"
    );
}

#[test]
fn what_degrades_no_link_is_refused_with_the_way_out() {
    let link = json!({"names": ["00/<0,0>"]});
    let cases = [
        (
            json!({"target": link, "kind": "link-rate"}),
            ".rate_bits_per_sec",
            Value::Null,
            "needs rate_bits_per_sec",
        ),
        (
            json!({"target": link, "kind": "link-rate", "rate_bits_per_sec": 0}),
            ".rate_bits_per_sec",
            json!(0.0),
            "is 0;",
        ),
        (
            json!({"target": link, "kind": "link-rate", "rate_bits_per_sec": -5}),
            ".rate_bits_per_sec",
            json!(-5.0),
            "-5",
        ),
        (
            json!({"target": link, "rate_bits_per_sec": 1e7}),
            ".rate_bits_per_sec",
            json!(1e7),
            "of kind down",
        ),
        (
            json!({"target": link, "kind": "link-loss", "loss_ratio": 0.1, "rate_bits_per_sec": 1e7}),
            ".rate_bits_per_sec",
            json!(1e7),
            "of kind link-loss",
        ),
        (
            json!({"target": link, "kind": "link-loss"}),
            ".loss_ratio",
            Value::Null,
            "needs loss_ratio",
        ),
        (
            json!({"target": link, "kind": "link-loss", "loss_ratio": 1.5}),
            ".loss_ratio",
            json!(1.5),
            "1.5",
        ),
        (
            json!({"target": link, "loss_ratio": 0.5}),
            ".loss_ratio",
            json!(0.5),
            "of kind down",
        ),
        (
            json!({"target": {"names": ["00"]}, "kind": "link-rate", "rate_bits_per_sec": 1e7}),
            ".target",
            json!({"names": ["00"]}),
            "affects no link",
        ),
        (
            json!({"target": {"kind": "switch", "ratio": 0.5}, "kind": "link-loss", "loss_ratio": 0.5}),
            ".target",
            json!({"kind": "switch", "ratio": 0.5}),
            "affects no link",
        ),
        (
            json!({"target": {"selector": "2 servers"}, "kind": "link-loss", "loss_ratio": 0.5}),
            ".target",
            json!({"selector": "2 servers"}),
            "affects no link",
        ),
        (
            json!({"target": link, "kind": "link-delay"}),
            ".kind",
            json!("link-delay"),
            "link-rate",
        ),
        (
            json!({"target": link, "kind": "server-off"}),
            ".target",
            json!({"names": ["00/<0,0>"]}),
            "affects no server",
        ),
        (
            json!({"target": link, "at_secs": 2, "until_secs": 1}),
            ".until_secs",
            json!(1.0),
            "before it begins",
        ),
    ];
    let network = Network::open(SMALL).unwrap();
    for (fault, field, value, says) in cases {
        let Err(PredictError::Findings(findings)) = ask(&network, json!({"faults": [fault]})) else {
            panic!("{fault} was taken");
        };
        let finding = &findings[0];
        assert_eq!(
            finding.field,
            format!("faults[0]{field}"),
            "{fault}: {}",
            finding.message
        );
        assert_eq!(finding.value.clone().unwrap_or_default(), value, "{fault}");
        assert!(finding.message.contains(says), "{fault}: {}", finding.message);
        assert!(!finding.hint.is_empty(), "{fault}");
    }
}

/// Values that JSON cannot express, but a caller in Rust can pass.
#[test]
fn a_rate_that_is_no_number_is_refused() {
    let network = Network::open(SMALL).unwrap();
    for rate in [f64::NAN, f64::INFINITY] {
        let mut experiment =
            Experiment::from_json(&json!({"faults": [slower("00/<0,0>", 1.0)]}).to_string()).unwrap();
        let fault = &mut experiment.faults[0];
        fault.values.set(&fault.kind.entry().parameters[0], rate);
        let refused = predict(&network, &experiment, &Progress::default());
        assert!(matches!(refused, Err(PredictError::Findings(_))), "{rate}");
    }
}
