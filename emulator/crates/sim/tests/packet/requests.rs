//! Requests and responses: exact latencies of idle networks, rates, chains, and rejected input.

use cubeyard_sim::packet::answered_since;
use cubeyard_sim::{EngineKind, Experiment, Network, Progress};
use proptest::prelude::*;
use serde_json::{Value, json};

const SPEC: &str = r#"{"family": "bcube", "n": 4, "k": 0}"#;

fn experiment(workload: &Value, settings: &Value, seed: u64) -> Experiment {
    let fields = json!({
        "engine": "packet", "workload": workload, "link_gbps": 1, "seeds": [seed], "packet": settings,
    });
    Experiment::from_json(&fields.to_string()).unwrap()
}

fn simulate(workload: &Value, settings: &Value, seed: u64) -> Value {
    let network = Network::open(SPEC).unwrap();
    let engine = EngineKind::Packet.engine();
    engine
        .run(
            &network,
            &experiment(workload, settings, seed),
            &Progress::default(),
            &mut |_| {},
        )
        .unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn an_idle_server_answers_after_two_exact_journeys() {
    let document = simulate(
        &json!({
            "kind": "requests", "servers": ["0"], "clients": ["1"], "count": 3, "request_bytes": 60, "response_bytes": 1460,
            "think_secs": 0.001, "latency_bound_secs": 0.001,
        }),
        &json!({"hop_delay_secs": 10e-6, "flow_times": true, "start_jitter_secs": 0}),
        1,
    );
    // Two links each way: 100 bytes there and 1,500 back, 10 us a link; the request's
    // acknowledgement of 40 bytes goes first.
    let latency = 2.0 * (0.8e-6 + 10e-6) + 0.32e-6 + 2.0 * (12e-6 + 10e-6);
    let told = &document["latency_secs"];
    assert_eq!((&told["requests"], &told["unanswered"]), (&json!(3), &json!(0)));
    for name in ["min", "median", "p99", "max"] {
        assert!((number(&told[name]) - latency).abs() < 1e-12, "{told}");
    }
    assert_eq!(told["within_bound"], 1.0);
    // A chain: each request starts a millisecond after the response before it.
    let starts: Vec<f64> = serde_json::from_value(document["flow_times"]["start_secs"].clone()).unwrap();
    for (request, start) in starts.iter().step_by(2).enumerate() {
        assert!(
            (start - request as f64 * (latency + 1e-3)).abs() < 1e-9,
            "{starts:?}"
        );
    }
    assert_eq!(document["predicted"], Value::Null);
}

#[test]
fn requests_come_at_the_rate_and_wait_as_in_a_queue() {
    // A response of 1,500 bytes behind the request's acknowledgement of 40 occupies the server's
    // line for 12.32 us.
    let service = 12.32e-6;
    for load in [0.5, 0.8] {
        let rate = load / service / 3.0;
        let document = simulate(
            &json!({
                "kind": "requests", "count": 30_000, "rate_per_sec": rate, "response_bytes": 1_460, "latency_bound_secs": 100e-6,
            }),
            &json!({"hop_delay_secs": 10e-6, "queue_bytes": 1_000_000}),
            5,
        );
        let told = &document["latency_secs"];
        let secs = number(&document["simulated_secs"]);
        assert!((secs * rate / 30_000.0 - 1.0).abs() < 0.05, "{secs} s: {told}");
        // An M/D/1 queue: responses that follow each other on that line do not wait for each other
        // again.
        let expected = load / (2.0 * (1.0 - load)) * service;
        let waits = number(&told["mean"]) - number(&told["min"]);
        assert!((waits / expected - 1.0).abs() < 0.1, "{waits} for {expected}");
        let within = number(&told["within_bound"]);
        assert!(0.5 < within && within < 1.0, "{within}");
    }
}

#[test]
fn what_a_request_cannot_be_is_refused_by_name() {
    let network = Network::open(SPEC).unwrap();
    for (workload, settings, field) in [
        (json!({"servers": ["9"]}), json!({}), "workload.servers"),
        (
            json!({"servers": ["0"], "clients": ["0"]}),
            json!({}),
            "workload.servers",
        ),
        (json!({"rate_per_sec": 0}), json!({}), "workload.rate_per_sec"),
        (
            json!({"rate_per_sec": 10, "think_secs": 1}),
            json!({}),
            "workload.think_secs",
        ),
        (json!({"response_bytes": 0}), json!({}), "workload.response_bytes"),
        (json!({"count": 900_000}), json!({}), "workload.count"),
    ] {
        let mut workload = workload;
        workload["kind"] = json!("requests");
        let engine = EngineKind::Packet.engine();
        let findings = engine
            .outline(&network, &experiment(&workload, &settings, 1))
            .unwrap_err();
        assert_eq!(findings[0].field, field, "{findings:?}");
        assert!(
            findings[0].value.is_some() && findings[0].limit.is_some()
                || findings[0].code == "no-such-server"
        );
    }
    let fields = json!({"workload": "requests"});
    let flow = Experiment::from_json(&fields.to_string()).unwrap();
    let findings = EngineKind::Flow.engine().outline(&network, &flow).unwrap_err();
    assert_eq!(findings[0].code, "requests-need-packets");
}

#[test]
fn over_udp_a_lost_response_leaves_its_request_unanswered() {
    // All clients ask at once, and the server's port has room for the response that it sends only.
    let document = simulate(
        &json!({"kind": "requests", "servers": ["0"], "count": 1, "request_bytes": 22, "response_bytes": 1472}),
        &json!({
            "transport": "udp", "header_bytes": 28, "queue_bytes": 0, "start_jitter_secs": 0, "hop_delay_secs": 10e-6,
        }),
        1,
    );
    let told = &document["latency_secs"];
    assert_eq!(
        (&told["requests"], &told["unanswered"]),
        (&json!(3), &json!(2)),
        "{document}"
    );
    assert_eq!((&document["drops"], &document["flows"]), (&json!(2), &json!(6)));
    // 50 bytes over two links and 1,500 over two, 10 us a link.
    let latency = 2.0 * (0.4e-6 + 10e-6) + 2.0 * (12e-6 + 10e-6);
    assert!((number(&told["max"]) - latency).abs() < 1e-12, "{told}");
    assert_eq!(
        (&document["timeouts"], &document["ack_drops"]),
        (&json!(0), &json!(0))
    );
}

#[test]
fn a_client_that_waits_over_udp_gives_up_after_two_seconds_and_asks_again() {
    let fields = json!({
        "engine": "packet", "link_gbps": 1, "seeds": [1],
        "workload": {
            "kind": "requests", "servers": ["0"], "clients": ["1"], "count": 5, "request_bytes": 50, "response_bytes": 5_000,
            "think_secs": 1.0,
        },
        "packet": {"transport": "udp", "flow_times": true, "start_jitter_secs": 0, "silent_detection_secs": 100},
        "faults": [{"kind": "switch-silent", "target": {"selector": "1 level-0 switch"}, "at_secs": 0.5, "until_secs": 5.0}],
    });
    let experiment = Experiment::from_json(&fields.to_string()).unwrap();
    let network = Network::open(SPEC).unwrap();
    let document = EngineKind::Packet
        .engine()
        .run(&network, &experiment, &Progress::default(), &mut |_| {})
        .unwrap();
    // The second and the third request are lost: each costs two seconds, and the second of thought
    // that every one does.
    let starts: Vec<Option<f64>> =
        serde_json::from_value(document["flow_times"]["start_secs"].clone()).unwrap();
    let requests: Vec<f64> = starts.iter().step_by(2).map(|start| start.unwrap()).collect();
    for (start, whole) in requests.iter().zip([0.0, 1.0, 4.0, 7.0, 8.0]) {
        assert!((whole..whole + 0.01).contains(start), "{requests:?}");
    }
    let told = &document["latency_secs"];
    assert_eq!((&told["requests"], &told["unanswered"]), (&json!(5), &json!(2)));
    let listed = |name: &str| document["completion_secs"][name].as_u64().unwrap();
    assert_eq!((listed("flows"), listed("unfinished")), (8, 2));
}

/// Statistics of the requests after a moment: below the server's line rate all are answered at
/// once, above it most wait or are lost.
#[test]
fn requests_of_a_time_are_told_with_what_became_of_them() {
    let network = Network::open(SPEC).unwrap();
    let settings = json!({
        "transport": "udp", "header_bytes": 28, "hop_delay_secs": 10e-6, "queue_bytes": 30_000, "path_hash": "addresses",
    });
    let told = |load: f64, from_secs: f64| {
        let workload = json!({
            "kind": "requests", "count": 2_000, "rate_per_sec": load / 12e-6 / 3.0, "request_bytes": 22, "response_bytes": 1472,
        });
        let experiment = experiment(&workload, &settings, 3);
        answered_since(&network, &experiment, from_secs, &Progress::default()).unwrap()
    };
    let idle = 2.0 * (0.4e-6 + 10e-6) + 2.0 * (12e-6 + 10e-6);
    let (calm, later) = (told(0.5, 0.0), told(0.5, 0.07));
    assert_eq!((calm.requests, calm.answered), (6_000, 6_000));
    assert!(
        (1_500..4_500).contains(&later.requests) && later.answered == later.requests,
        "{later:?}"
    );
    // Half the time that a full port takes for a response, for a mean of waiting.
    assert!((calm.mean_secs - idle - 6e-6).abs() < 1.5e-6, "{calm:?}");
    // A port at 1.25 of its rate sends all the time and its queue, of 240 us, is more than half
    // full.
    let over = told(1.25, 0.05);
    let share = over.answered as f64 / over.requests as f64;
    assert!((share - 0.8).abs() < 0.03, "{over:?}");
    assert!((120e-6..252e-6).contains(&(over.mean_secs - idle)), "{over:?}");
}

proptest! {
    #![proptest_config(crate::cases::cases(40))]
    #[test]
    fn every_request_is_answered_once_and_the_same_seed_answers_alike(
        seed: u64,
        count in 1..40u64,
        bytes in (1..3_000u64, 1..40_000u64),
        rate in proptest::option::of(100.0..50_000.0f64),
        queue in 3_000..50_000u64,
    ) {
        let mut workload = json!({
            "kind": "requests", "servers": ["0", "2"], "clients": ["0", "1", "2", "3"], "count": count,
            "request_bytes": bytes.0, "response_bytes": bytes.1, "latency_bound_secs": 0.01,
        });
        if let Some(rate) = rate {
            workload["rate_per_sec"] = json!(rate);
        }
        let settings = json!({"queue_bytes": queue, "rto_min_secs": 0.001, "recovery": "sack"});
        let mut over_udp = settings.clone();
        over_udp["transport"] = json!("udp");
        let lossy = simulate(&workload, &over_udp, seed);
        let told = |name: &str| lossy["bytes"][name].as_u64().unwrap();
        prop_assert_eq!(told("sent"), told("received") + told("dropped"));
        let unanswered = lossy["latency_secs"]["unanswered"].as_u64().unwrap();
        prop_assert_eq!(unanswered > 0, lossy["drops"].as_u64().unwrap() > 0);
        prop_assert_eq!(&lossy["latency_secs"]["requests"], &json!(4 * count));
        let document = simulate(&workload, &settings, seed);
        prop_assert_eq!(&document["latency_secs"]["requests"], &json!(4 * count));
        prop_assert_eq!(&document["latency_secs"]["unanswered"], &json!(0));
        prop_assert_eq!(&document["flows"], &json!(8 * count));
        let told = |name: &str| document["bytes"][name].as_u64().unwrap();
        prop_assert_eq!(told("sent"), told("received") + told("dropped") + told("in_flight"));
        prop_assert!(told("received") >= 4 * count * (bytes.0 + bytes.1));
        prop_assert_eq!(document.to_string(), simulate(&workload, &settings, seed).to_string());
    }
}
