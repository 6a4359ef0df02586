//! Whole experiments: the document, rejected input, faults over time, and known results for
//! fat-trees and max-min rates.

use std::sync::atomic::Ordering;

use cubeyard_sim::packet::calendar::Calendar;
use cubeyard_sim::packet::cubic::Cubic;
use cubeyard_sim::packet::flows::{Clock, Connection, Receiver, Sender};
use cubeyard_sim::packet::heat::BYTES_PER_LINK;
use cubeyard_sim::packet::links::Links;
use cubeyard_sim::packet::qcn::{Point, Reaction};
use cubeyard_sim::packet::sack::Scoreboard;
use cubeyard_sim::packet::wheel::Wheel;
use cubeyard_sim::{EngineKind, Experiment, Network, PredictError, Progress, predict};
use serde_json::{Value, json};

fn open(spec: &Value) -> Network {
    Network::open(&spec.to_string()).unwrap()
}

fn experiment(fields: Value) -> Experiment {
    let mut fields = fields;
    fields["engine"] = json!("packet");
    Experiment::from_json(&fields.to_string()).unwrap()
}

fn simulate(spec: &Value, fields: Value) -> Value {
    let engine = EngineKind::Packet.engine();
    engine
        .run(
            &open(spec),
            &experiment(fields),
            &Progress::default(),
            &mut |_| {},
        )
        .unwrap()
}

fn balanced(document: &Value) -> bool {
    let bytes = |name: &str| document["bytes"][name].as_u64().unwrap();
    bytes("sent") == bytes("received") + bytes("dropped") + bytes("in_flight")
}

#[test]
fn a_single_flow_ends_when_its_last_byte_arrives() {
    let document = simulate(
        &json!({"family": "bcube", "n": 4, "k": 0}),
        json!({
            "workload": {"kind": "one-to-one", "bytes": 1460}, "link_gbps": 1,
            "packet": {"hop_delay_secs": 10e-6},
        }),
    );
    // Two links of 12 us a packet and 10 us more each.
    assert_eq!(document["completion_secs"]["max"], 44e-6);
    assert_eq!(
        document["bytes"],
        json!({"sent": 1460, "received": 1460, "dropped": 0, "in_flight": 0})
    );
    assert_eq!(document["flows"], 1);
}

#[test]
fn the_flow_engine_s_times_stand_beside_those_of_packets() {
    let spec = json!({"family": "bcube", "n": 4, "k": 1});
    let asked = |more: Value| {
        let mut fields = json!({"workload": {"kind": "permutation"}, "flow_gigabits": 0.08, "link_gbps": 1});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        fields
    };
    let simulated = simulate(&spec, asked(json!({})));
    let experiment = Experiment::from_json(&asked(json!({})).to_string()).unwrap();
    let predicted = predict(&open(&spec), &experiment, &Progress::default()).unwrap();
    assert_eq!(
        simulated["predicted"]["max"],
        predicted["completion"]["last_secs"]
    );
    assert_eq!(
        simulated["predicted"]["median"],
        predicted["completion"]["median_secs"]
    );
    assert!(simulated["bytes"]["sent"].as_u64().unwrap() >= 160_000_000);
    let last = |document: &Value| document.as_f64().unwrap();
    assert!(last(&simulated["completion_secs"]["max"]) > last(&simulated["predicted"]["max"]));
    for more in [
        json!({"packet": {"subflows": 2}}),
        json!({"faults": [{"at_secs": 0.01, "target": {"selector": "1 link"}}]}),
    ] {
        assert_eq!(simulate(&spec, asked(more))["predicted"], Value::Null);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            simulate(
                &json!({"family": "bcube", "n": 4, "k": 1}),
                json!({
                    "workload": {"kind": "random-pairs", "count": 40, "bytes": 200_000}, "link_gbps": 1, "seeds": [3, 4, 5],
                    "packet": {"subflows": 2, "flow_times": true},
                    "faults": [{"target": {"selector": "1 link"}, "kind": "link-loss", "loss_ratio": 0.02}],
                }),
            )
            .to_string()
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
    let document: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(document["by_seed"].as_array().unwrap().len(), 3);
    assert_ne!(
        document["by_seed"][0]["packet_hops"],
        document["by_seed"][1]["packet_hops"]
    );
    assert!(document["drops"].as_u64().unwrap() > 0 && balanced(&document));
}

#[test]
fn listed_flows_start_at_their_times_and_are_listed_with_theirs() {
    let document = simulate(
        &json!({"family": "bcube", "n": 4, "k": 0}),
        json!({
            "workload": {"kind": "listed", "flows": [["0", "1", 1_000_000, 0.5], ["2", "3", 2_000_000, 0.0]]}, "link_gbps": 1,
            "packet": {"flow_times": true, "start_jitter_secs": 0},
        }),
    );
    let times = &document["flow_times"];
    assert_eq!(times["start_secs"], json!([0.5, 0.0]));
    assert_eq!(times["bytes"], json!([1_000_000, 2_000_000]));
    assert_eq!(times["source"], json!(["0", "2"]));
    let each: Vec<f64> = serde_json::from_value(times["completion_secs"].clone()).unwrap();
    assert!(each[0] > 0.008 && each[1] > 0.016, "{each:?}");
    assert!(document["simulated_secs"].as_f64().unwrap() > 0.5);
}

/// Flows that are too many for every partial frame are listed in parts while they end, each once,
/// as they are at the end.
#[test]
fn many_flows_are_listed_in_parts_while_they_end() {
    let network = Network::open(r#"{"family": "bcube", "n": 4, "k": 1}"#).unwrap();
    let count = 60_000;
    let flows: Vec<Value> = (0..count)
        .map(|flow| json!(["00", "33", 1_000, f64::from(flow) * 20e-6]))
        .collect();
    let experiment = json!({
        "engine": "packet", "workload": {"kind": "listed", "flows": flows}, "link_gbps": 1,
        "packet": {"flow_times": true},
    });
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    let times = |list: &Value| -> Vec<(u64, Option<f64>)> {
        let flows: Vec<u64> = serde_json::from_value(list["flow"].clone()).unwrap();
        let secs: Vec<Option<f64>> = serde_json::from_value(list["completion_secs"].clone()).unwrap();
        flows.into_iter().zip(secs).collect()
    };
    let mut parts: Vec<Vec<(u64, Option<f64>)>> = Vec::new();
    let document = EngineKind::Packet
        .engine()
        .run(&network, &experiment, &Progress::default(), &mut |frame| {
            if frame.kind == "flows" {
                assert_eq!(frame.fields["part"], parts.len());
                parts.push(times(&frame.fields["flow_times"]));
            } else {
                assert!(!frame.fields.contains_key("flow_times"));
            }
        })
        .unwrap();
    let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
    // A look is every 32,768 events, of which each flow has eight and its start.
    assert!(
        sizes.len() >= 2 && sizes.iter().all(|&size| (1..=24_000).contains(&size)),
        "{sizes:?}"
    );
    let mut listed = parts.concat();
    assert!(listed.len() > count as usize / 2, "{sizes:?}");
    listed.sort_by_key(|item| item.0);
    assert!(listed.windows(2).all(|pair| pair[0].0 < pair[1].0), "each once");
    let last = times(&document["flow_times"]);
    assert_eq!(last.len(), count as usize);
    assert!(listed.iter().all(|one| last[one.0 as usize] == *one));
}

/// During a run, ended flows are listed with the times that they have in the final result.
#[test]
fn the_list_of_flows_grows_while_they_end() {
    let spec = json!({"family": "bcube", "n": 4, "k": 1});
    let network = Network::open(&spec.to_string()).unwrap();
    let flows: Vec<Value> = (0..60)
        .map(|flow| json!(["00", "33", 5_000_000, f64::from(flow) * 0.05]))
        .collect();
    let experiment = json!({
        "engine": "packet", "workload": {"kind": "listed", "flows": flows}, "link_gbps": 1,
        "packet": {"flow_times": true},
    });
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    let mut lists: Vec<Value> = Vec::new();
    let document = EngineKind::Packet
        .engine()
        .run(&network, &experiment, &Progress::default(), &mut |frame| {
            if frame.kind == "partial" {
                lists.push(frame.fields["flow_times"].clone());
            }
        })
        .unwrap();
    let times = |list: &Value| -> Vec<(u64, f64)> {
        let flows: Vec<u64> = serde_json::from_value(list["flow"].clone()).unwrap();
        let secs: Vec<f64> = serde_json::from_value(list["completion_secs"].clone()).unwrap();
        flows.into_iter().zip(secs).collect()
    };
    let last = times(&document["flow_times"]);
    assert_eq!(last.len(), 60);
    let grown: Vec<usize> = lists.iter().map(|list| times(list).len()).collect();
    assert!(
        grown.is_sorted() && grown.iter().any(|&count| (1..60).contains(&count)),
        "{grown:?}"
    );
    for list in &lists {
        assert!(times(list).iter().all(|one| last.contains(one)));
    }
}

/// Acknowledgements clock the four senders alike, so that their packets reach the full queue at the
/// same times. Were the order of links to decide who gets the place, one would take them all: 0.77
/// of the line, with 19 timeouts. ns-3 reaches 0.928.
#[test]
fn senders_whose_packets_meet_at_one_time_share_a_queue() {
    let flows: Vec<Value> = (0..4)
        .map(|flow| {
            json!([
                format!("0.{flow}"),
                format!("1.{flow}"),
                10_000_000,
                0.01 * f64::from(flow)
            ])
        })
        .collect();
    let document = simulate(
        &json!({"family": "tree", "edge_ports": 4, "root_ports": 4, "servers": 8}),
        json!({
            "workload": {"kind": "listed", "flows": flows}, "link_gbps": 0.1,
            "packet": {
                "flow_times": true, "start_jitter_secs": 0, "rto_min_secs": 0.2, "queue_bytes": 40 * 1502, "framing_bytes": 2,
                "hop_delay_secs": 0.0005,
            },
        }),
    );
    let times = &document["flow_times"]["completion_secs"];
    let each: Vec<f64> = serde_json::from_value(times.clone()).unwrap();
    let last = each
        .iter()
        .zip(0..4)
        .map(|(secs, flow)| secs + 0.01 * f64::from(flow));
    let share = 4.0 * 10e6 * 8.0 / last.fold(0.0, f64::max) / 100e6;
    assert!(
        share > 0.85,
        "{share} of the line, {} timeouts",
        document["timeouts"]
    );
}

/// At most 512 bytes a flow, 128 an idle directed link and 24 a packet on a link, with every kind
/// of state that there is; and the estimate for a permutation of 8,000 servers is within a
/// gibibyte.
#[test]
fn memory_stays_within_what_is_promised() {
    let event = Wheel::BYTES_PER_EVENT;
    let link = Links::BYTES_PER_LINK + size_of::<Point>() + BYTES_PER_LINK;
    let subflow = size_of::<Sender>() + size_of::<Clock>() + size_of::<Receiver>();
    let flow = size_of::<Connection>()
        + subflow
        + size_of::<Scoreboard>()
        + size_of::<Cubic>()
        + size_of::<Reaction>()
        + 3 * event;
    assert!(flow <= 512, "{flow} a flow");
    assert!(link <= 128, "{link} an idle directed link");
    const { assert!(Calendar::BYTES_PER_PACKET <= 24) };
    let torus = open(&json!({"family": "torus3d", "x": 20, "y": 20, "z": 20}));
    let fields = json!({"workload": {"kind": "permutation", "bytes": 1_000_000}, "link_gbps": 1});
    let outline = EngineKind::Packet
        .engine()
        .outline(&torus, &experiment(fields))
        .unwrap();
    let memory = outline["simulation"]["memory_bytes"].as_u64().unwrap();
    assert!((10 << 20..1 << 30).contains(&memory), "{memory}");
}

/// The reason for which an experiment is rejected: code and field of the first finding.
fn refused(spec: &Value, fields: Value) -> (String, String, String) {
    let engine = EngineKind::Packet.engine();
    let mut fields = fields;
    fields["engine"] = json!("packet");
    let findings = Experiment::from_json(&fields.to_string())
        .and_then(|experiment| engine.outline(&open(spec), &experiment))
        .unwrap_err();
    assert!(
        !findings[0].hint.is_empty() && findings[0].value.is_some(),
        "{:?}",
        findings[0]
    );
    (
        findings[0].code.to_owned(),
        findings[0].field.clone(),
        findings[0].message.clone(),
    )
}

#[test]
fn too_much_is_refused_with_the_estimate_and_zeros_by_name() {
    let bcube = json!({"family": "bcube", "n": 8, "k": 3});
    let (code, field, message) = refused(
        &bcube,
        json!({"workload": {"kind": "one-to-one", "bytes": 1_000_000_000_000u64}}),
    );
    assert_eq!(
        (code.as_str(), field.as_str()),
        ("too-many-bytes", "workload.bytes")
    );
    assert!(
        message.contains("Estimate") && message.contains("1000000000000"),
        "{message}"
    );
    let (code, _, message) = refused(
        &bcube,
        json!({"workload": {"kind": "random-pairs", "count": 10_000_000, "bytes": 1}}),
    );
    assert_eq!(code, "too-many-flows");
    assert!(message.contains("10000000"), "{message}");
    let (code, _, _) = refused(
        &bcube,
        json!({"workload": {"kind": "random-pairs", "count": 10_000_000, "bytes": u64::MAX}}),
    );
    assert_eq!(code, "too-many-flows");
    for (name, fields) in [
        ("link_gbps", json!({"link_gbps": 0})),
        ("link_gbps", json!({"link_gbps": 1e-9})),
        ("packet.hop_delay_secs", json!({"packet": {"hop_delay_secs": 0}})),
        ("packet.udp_gbps", json!({"packet": {"udp_gbps": 0}})),
        (
            "packet.watch_link",
            json!({"packet": {"watch_link": "nowhere/else"}}),
        ),
        (
            "packet.watch_flow",
            json!({"workload": {"kind": "one-to-one"}, "packet": {"watch_flow": 1}}),
        ),
        (
            "faults[0].kind",
            json!({"faults": [{"target": {"selector": "1 server"}, "kind": "server-frozen"}]}),
        ),
    ] {
        let engine = EngineKind::Packet.engine();
        let mut fields = fields;
        fields["engine"] = json!("packet");
        let small = open(&json!({"family": "bcube", "n": 4, "k": 1}));
        let findings = Experiment::from_json(&fields.to_string())
            .map(|experiment| engine.run(&small, &experiment, &Progress::default(), &mut |_| {}));
        let findings = match findings {
            Ok(Err(PredictError::Findings(findings))) | Err(findings) => findings,
            other => panic!("{other:?}"),
        };
        assert_eq!(findings[0].field, name, "{findings:?}");
    }
}

/// Eight connections of one pair over the trunks of type 0: by addresses they are on one path.
#[test]
fn connections_of_a_pair_stay_together_where_addresses_are_hashed() {
    let run = |hash: &str| {
        let spec = json!({
            "family": "subways", "type": 0, "p": 2, "q": 8, "l": 4, "aggs_per_cluster": 2, "server_gbps": 0.5, "uplink_gbps": 0.5,
        });
        let network = open(&spec);
        let [from, to] = [0, 4].map(|server| network.topology().node_name(server));
        let flows: Vec<Value> = (0..8).map(|_| json!([from, to, 5_000_000, 0.0])).collect();
        simulate(
            &spec,
            json!({
                "workload": {"kind": "listed", "flows": flows}, "routing": "subways-ecmp", "packet": {"path_hash": hash, "queue_bytes": 150_000},
            }),
        )
    };
    let (apart, together) = (run("connection"), run("addresses"));
    // Acknowledgements are far fewer bytes.
    let links = |document: &Value| {
        let busiest = document["busiest_links"].as_array().unwrap();
        let with_data = busiest
            .iter()
            .filter(|link| link["bytes"].as_u64().unwrap() > 5_000_000);
        with_data.count()
    };
    assert_eq!(links(&together), 4);
    assert!(links(&apart) > 5, "{}", links(&apart));
    assert_eq!(together["choices"]["path_hash"], "addresses");
}

#[test]
fn a_silent_switch_stops_flows_until_routing_knows() {
    let run = |kind: &str| {
        simulate(
            &json!({"family": "bcube", "n": 4, "k": 1}),
            json!({
                "workload": {"kind": "permutation", "bytes": 20_000_000}, "link_gbps": 1,
                "faults": [{"at_secs": 0.05, "target": {"selector": "1 level-0 switch"}, "kind": kind}],
                "packet": {"rto_min_secs": 0.01},
            }),
        )
    };
    let (silent, off) = (run("switch-silent"), run("switch-off"));
    for document in [&silent, &off] {
        assert_eq!(document["completion_secs"]["unfinished"], 0);
        assert!(document["timeouts"].as_u64().unwrap() > 0 && balanced(document));
    }
    // Timers expire again and again for 150 ms, or hardly for 10 ms.
    let timeouts = |document: &Value| document["timeouts"].as_u64().unwrap();
    assert!(
        timeouts(&silent) > timeouts(&off),
        "{} {}",
        timeouts(&off),
        timeouts(&silent)
    );
    assert!(silent["completion_secs"]["max"].as_f64().unwrap() > 0.05 + 0.15);
}

#[test]
fn cancelling_ends_a_run() {
    let progress = Progress::default();
    let network = open(&json!({"family": "bcube", "n": 4, "k": 1}));
    let experiment =
        experiment(json!({"workload": {"kind": "all-to-all", "bytes": 100_000_000}, "link_gbps": 10}));
    let mut frames = Vec::new();
    let outcome = EngineKind::Packet
        .engine()
        .run(&network, &experiment, &progress, &mut |frame| {
            frames.push(frame);
            progress.cancelled.store(true, Ordering::Relaxed);
        });
    assert_eq!(outcome, Err(PredictError::Cancelled));
    assert_eq!((frames.len(), frames[0].kind), (1, "partial"));
    assert!(balanced(&Value::Object(frames[0].fields.clone())));
}

/// A permutation on a fat-tree: mean goodput of a flow as a share of the line. (Raiciu et al. 2011)
fn permutation(subflows: u64) -> f64 {
    let document = simulate(
        &json!({"family": "fat_tree", "ports": 8}),
        json!({
            "workload": {"kind": "permutation", "bytes": 1_000_000_000}, "link_gbps": 0.1,
            "packet": {
                "subflows": subflows, "coupling": "lia", "until_secs": 2, "hop_delay_secs": 20e-6, "queue_bytes": 50_000,
            },
        }),
    );
    late_goodput(&document) / 128.0 / 0.1
}

/// Goodput of all flows after slow start, in Gb/s on the line.
fn late_goodput(document: &Value) -> f64 {
    let rates: Vec<f64> = serde_json::from_value(document["series"]["goodput_gbps"].clone()).unwrap();
    let late = &rates[rates.len() / 2..];
    late.iter().sum::<f64>() / late.len() as f64 * 1500.0 / 1460.0
}

#[test]
fn subflows_fill_a_fat_tree_that_single_flows_half_fill() {
    let (one, eight) = (permutation(1), permutation(8));
    assert!((0.4..0.6).contains(&one), "{one}");
    assert!(eight > 0.85, "{eight}");
}

/// Three permutations each. TCP is not max-min fair to a single flow, because other flows can push
/// it below its share.
#[test]
fn long_flows_get_their_max_min_rates() {
    for spec in [
        json!({"family": "bcube", "n": 4, "k": 1}),
        json!({"family": "fat_tree", "ports": 4}),
        json!({"family": "dcell", "n": 4, "k": 1}),
    ] {
        let (mut total, mut expected) = (0.0, 0.0);
        for seed in [11, 12, 13] {
            let fields = json!({
                "workload": {"kind": "permutation", "bytes": 1_000_000_000}, "link_gbps": 0.1, "seeds": [seed],
            });
            let question = Experiment::from_json(&fields.to_string()).unwrap();
            let predicted = predict(&open(&spec), &question, &Progress::default()).unwrap();
            let mut packets = fields;
            packets["packet"] = json!({"until_secs": 6, "queue_bytes": 150_000});
            total += late_goodput(&simulate(&spec, packets));
            expected += predicted["maxmin"]["total_gbps"].as_f64().unwrap();
        }
        assert!(
            (total / expected - 1.0).abs() < 0.1,
            "{total} for {expected} in {spec}"
        );
    }
}
