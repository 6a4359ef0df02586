//! The built-in workload between nodes that run as separate processes on loopback.

mod fabric;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fabric::{Node, flow};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

fn start(nodes: &[&Node], flows: &[Vec<Value>]) {
    for (node, flows) in nodes.iter().zip(flows) {
        node.send(&json!({"t": "workload", "flows": flows}));
    }
    // Receivers first, so that senders need not try twice.
    for node in nodes.iter().rev() {
        node.send(&json!({"t": "start"}));
    }
}

fn done(row: &Value) -> bool {
    row["done"] == true
}

#[test]
fn every_byte_of_a_flow_arrives_and_both_ends_say_so() {
    let (a, b) = (Node::start("bytes-a"), Node::start("bytes-b"));
    a.configure(0);
    b.configure(1);
    let bytes = 50_000_001;
    start(
        &[&a, &b],
        &[
            vec![flow(1, "send", 1, Some(bytes))],
            vec![flow(1, "receive", 0, Some(bytes))],
        ],
    );
    let received = b.wait_row(1, done);
    assert_eq!(
        (received["bytes"].as_u64(), &received["reason"]),
        (Some(bytes), &Value::Null)
    );
    let sent = a.wait_row(1, done);
    assert_eq!(
        (sent["bytes"].as_u64(), &sent["role"]),
        (Some(bytes), &json!("send"))
    );
}

#[test]
fn a_pipeline_passes_on_what_it_has_received_and_no_more() {
    let nodes = ["pipe-a", "pipe-b", "pipe-c"].map(Node::start);
    nodes
        .iter()
        .zip(0..)
        .for_each(|(node, server)| node.configure(server));
    let bytes = 20_000_000;
    let mut first = flow(10, "send", 1, Some(bytes));
    first["rate_bits_per_sec"] = json!(80e6);
    let mut second = flow(11, "send", 2, None);
    second["pipeline"] = json!(10);
    let flows = [
        vec![first],
        vec![flow(10, "receive", 0, Some(bytes)), second],
        vec![flow(11, "receive", 1, None)],
    ];
    start(&[&nodes[0], &nodes[1], &nodes[2]], &flows);
    // The third server has received data long before the first flow ends.
    let early = nodes[2].wait_row(11, |row| row["bytes"].as_u64() > Some(0));
    assert!(early["bytes"].as_u64() < Some(bytes / 2), "{early}");
    let last = nodes[2].wait_row(11, done);
    assert_eq!(
        (last["bytes"].as_u64(), &last["reason"]),
        (Some(bytes), &Value::Null)
    );
}

#[test]
fn a_paced_flow_keeps_to_its_rate() {
    for proto in ["tcp", "udp"] {
        let (a, b) = (
            Node::start(&format!("{proto}-a")),
            Node::start(&format!("{proto}-b")),
        );
        a.configure(0);
        b.configure(1);
        let [send, receive] = [("send", 1), ("receive", 0)].map(|(role, peer)| {
            let mut order = flow(2, role, peer, Some(5_000_000));
            order["rate_bits_per_sec"] = json!(20e6);
            order["transport"] = json!(proto);
            order
        });
        let begun = Instant::now();
        start(&[&a, &b], &[vec![send], vec![receive]]);
        let row = b.wait_row(2, done);
        let elapsed = begun.elapsed().as_secs_f64();
        // At 20 Mb/s, 5 MB take two seconds.
        assert!((1.6..=3.5).contains(&elapsed), "{proto}: {elapsed} s");
        assert_eq!(
            (row["bytes"].as_u64(), row["lost"].as_u64()),
            (Some(5_000_000), Some(0)),
            "{proto}"
        );
    }
}

#[test]
fn a_flow_whose_peer_dies_is_done_with_the_reason() {
    let (a, mut b) = (Node::start("death-a"), Node::start("death-b"));
    a.configure(0);
    b.configure(1);
    start(
        &[&a, &b],
        &[vec![flow(3, "send", 1, None)], vec![flow(3, "receive", 0, None)]],
    );
    b.wait_row(3, |row| row["bytes"].as_u64() > Some(1_000_000));
    b.child.kill().unwrap();
    let row = a.wait_row(3, done);
    assert!(
        row["reason"].as_str().unwrap().starts_with("lost 127.0.1.2"),
        "{row}"
    );
}

#[test]
fn a_flow_begins_again_once_its_peer_is_restarted_whichever_end_that_is() {
    let (a, mut b) = (Node::start("again-a"), Node::start("again-b"));
    let sent = |peer| vec![flow(8, "send", peer, None), flow(9, "receive", peer, None)];
    let received = |peer| vec![flow(8, "receive", peer, None), flow(9, "send", peer, None)];
    a.configure(0);
    b.configure(1);
    start(&[&a, &b], &[sent(1), received(0)]);
    a.wait_row(9, |row| row["bytes"].as_u64() > Some(1_000_000));
    b.child.kill().unwrap();
    a.wait_row(8, done);
    let again = Node::start("again-c");
    again.configure(1);
    start(&[&a, &again], &[sent(1), received(0)]);
    again.wait_row(8, |row| row["bytes"].as_u64() > Some(1_000_000));
    let row = a.wait_row(9, |row| row["bytes"].as_u64() > Some(1_000_000) && !done(row));
    assert!(row["reason"].is_null(), "{row}");
}

#[test]
fn a_flow_without_a_receiver_gives_up_after_ten_seconds() {
    let a = Node::start("nobody");
    a.configure(0);
    let begun = Instant::now();
    start(&[&a], &[vec![flow(4, "send", 7, None)]]);
    let row = a.wait_row(4, done);
    assert!(
        row["reason"]
            .as_str()
            .unwrap()
            .starts_with("could not connect to 127.0.1.8"),
        "{row}"
    );
    assert!(begun.elapsed() >= Duration::from_secs(10));
}

#[test]
fn a_stopped_workload_is_forgotten_and_another_can_follow() {
    let (a, b) = (Node::start("stop-a"), Node::start("stop-b"));
    a.configure(0);
    b.configure(1);
    for _ in 0..3 {
        start(
            &[&a, &b],
            &[vec![flow(5, "send", 1, None)], vec![flow(5, "receive", 0, None)]],
        );
        b.wait_row(5, |row| row["bytes"].as_u64() > Some(1_000_000));
        // Wait until both have stopped, so that a sender cannot reach the receiver of the previous
        // start.
        for node in [&a, &b] {
            node.send(&json!({"t": "stop"}));
            node.send(&json!({"t": "inspect"}));
            node.wait(|message| message["t"] == "inspected");
        }
    }
}

#[test]
fn nonsense_is_refused_with_a_sentence_and_does_no_harm() {
    let mut node = Node::start("nonsense");
    node.send(&json!({"t": "start"}));
    let refused = |node: &Node, part: &str| {
        let error = node.wait(|message| message["t"] == "error");
        let sentence = error["message"].as_str().unwrap();
        assert!(sentence.contains(part), "{sentence}");
    };
    refused(&node, "send configure first");
    node.configure(0);
    for nonsense in [
        "",
        "{",
        "[]",
        "null",
        r#"{"t":"dance"}"#,
        r#"{"t":"workload","flows":7}"#,
        "\u{0}\u{ff}",
    ] {
        if !nonsense.is_empty() {
            node.send_bytes(nonsense.as_bytes());
            refused(&node, "Not a message of this version");
        }
    }
    node.send_bytes(&vec![b' '; 70_000]);
    refused(&node, "at most 65536");
    let mut wrong = flow(6, "send", 1, None);
    wrong["rate_bits_per_sec"] = json!(-1);
    node.send(&json!({"t": "workload", "flows": [wrong]}));
    refused(&node, "Flow 6: rate_bits_per_sec must be");
    let configure = |protocol: &str, settings: Value| {
        let spec = json!({"family": "bcube", "n": 4, "k": 1});
        let configuration = json!({"server": 0, "spec": spec, "ports": [], "virtual_nic": 1001, "rate_bits_per_sec": 1e8,
            "mtu": 9000, "settings": settings});
        json!({"t": "configure", "protocol": protocol, "forwarding": "kernel", "address": "127.0.1.1",
            "configuration": configuration})
    };
    node.send(&configure("bcube", json!({"hello_secs": 0})));
    refused(&node, "settings.hello_secs is 0, but must be 0.02 to 3600");
    node.send(&configure("bcube", json!({"hello_sec": 1})));
    refused(&node, "hello_sec");
    node.send(&configure("carrier-pigeon", json!({})));
    refused(&node, "protocol is carrier-pigeon");
    // After the connection is lost, the node opens a new one.
    node.reconnect();
    node.configure(0);
}

#[test]
fn a_node_ends_immediately_on_request() {
    let mut node = Node::start("term");
    node.configure(0);
    let begun = Instant::now();
    kill(Pid::from_raw(node.child.id() as i32), Signal::SIGTERM).unwrap();
    let status = node.child.wait().unwrap();
    assert!(status.success());
    assert!(begun.elapsed() < Duration::from_secs(1));
}

/// Makes the tests of requests run one after the other: they use the same addresses and ports.
static REQUESTS: Mutex<()> = Mutex::new(());

/// The flow orders of one client and two servers, with these additional fields of `asking`.
fn exchanges(transport: &str, asking: &Value) -> [Vec<Value>; 3] {
    let mut flows = [vec![], vec![], vec![]];
    for place in 0..2u32 {
        let mut asking = asking.clone();
        asking["client_seed"] = json!(7);
        asking["place"] = json!(place);
        asking["places"] = json!(2);
        asking["timeout_secs"] = json!(0.5);
        let exchange = json!({"response": 2 * place + 1, "request_bytes": 50, "response_bytes": 20_000, "asking": asking});
        let end = |role: &str, peer: u32| {
            let mut order = flow(2 * place, role, peer, None);
            order["transport"] = json!(transport);
            order["exchange"] = exchange.clone();
            order
        };
        flows[0].push(end("send", place + 1));
        flows[place as usize + 1].push(end("receive", 0));
    }
    flows
}

fn latencies(node: &Node, wanted: impl Fn(&Value) -> bool) -> Value {
    node.wait(|message| message["t"] == "latencies" && wanted(message))
}

#[test]
fn requests_are_answered_by_the_servers_that_are_drawn() {
    let _alone = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    for transport in ["tcp", "udp"] {
        for rate in [Value::Null, json!(2000.0)] {
            let nodes = ["a", "b", "c"].map(|name| Node::start(&format!("ask-{name}-{transport}-{rate}")));
            nodes
                .iter()
                .zip(0..)
                .for_each(|(node, server)| node.configure(server));
            let asking = json!({"count": 200, "rate_per_sec": rate, "bound_secs": 100.0});
            let flows = exchanges(transport, &asking);
            start(&[&nodes[0], &nodes[1], &nodes[2]], &flows);
            let bytes = RefCell::new(BTreeMap::new());
            let count = |report: &Value, field: &str| report[field].as_u64().unwrap();
            let report = nodes[0].wait(|message| {
                for row in message["rows"].as_array().into_iter().flatten() {
                    bytes
                        .borrow_mut()
                        .insert(row["id"].as_u64().unwrap(), row["bytes"].as_u64().unwrap());
                }
                message["t"] == "latencies" && count(message, "answered") + count(message, "timed_out") == 200
            });
            let answered = count(&report, "answered");
            // A busy machine loses datagrams; TCP retransmits them.
            assert!(
                answered > 0 && (answered == 200 || transport == "udp"),
                "{report}"
            );
            assert_eq!(
                (&report["asked"], count(&report, "within_bound")),
                (&json!(200), answered)
            );
            let buckets = report["buckets"].as_array().unwrap();
            let counted: u64 = buckets.iter().map(|bucket| bucket[1].as_u64().unwrap()).sum();
            assert_eq!(counted, answered, "{report}");
            let bytes = bytes.into_inner();
            assert_eq!(bytes[&0] + bytes[&2], 200 * 50, "{bytes:?}");
            assert!(bytes[&1] + bytes[&3] >= answered * 20_000, "{bytes:?}");
            for (node, requests) in [(&nodes[1], 0), (&nodes[2], 2)] {
                let most = bytes[&requests] / 50 * 20_000;
                assert!(bytes[&(requests + 1)] <= most, "{bytes:?}");
                assert!(transport == "udp" || bytes[&(requests + 1)] == most, "{bytes:?}");
                let sent = node.wait_row(requests as u32 + 1, |row| row["bytes"].as_u64() > Some(0));
                assert!(sent["role"] == "send" && sent["source_port"].is_u64(), "{sent}");
            }
        }
    }
}

#[test]
fn requests_over_udp_to_a_server_that_is_not_there_are_given_up() {
    let _alone = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    let nodes = ["ask-alone", "ask-half"].map(Node::start);
    nodes
        .iter()
        .zip(0..)
        .for_each(|(node, server)| node.configure(server));
    let flows = exchanges("udp", &json!({"rate_per_sec": 200.0, "count": 40}));
    start(&[&nodes[0], &nodes[1]], &flows[..2]);
    let report = latencies(&nodes[0], |report| {
        report["answered"].as_u64().unwrap() + report["timed_out"].as_u64().unwrap() == 40
    });
    assert!(
        report["answered"].as_u64() > Some(0) && report["timed_out"].as_u64() > Some(0),
        "{report}"
    );
    assert_eq!(report["within_bound"], 0, "without a bound");
}

#[test]
fn requests_go_on_once_a_server_or_the_client_is_restarted() {
    let _alone = REQUESTS.lock().unwrap_or_else(PoisonError::into_inner);
    for transport in ["tcp", "udp"] {
        let name = |who: &str| format!("ask-{who}-again-{transport}");
        let mut nodes = ["a", "b", "c"].map(|who| Node::start(&name(who)));
        nodes
            .iter()
            .zip(0..)
            .for_each(|(node, server)| node.configure(server));
        // The client sends one request at a time; a response that never arrives must not stop it.
        let [asks, first, second] = exchanges(transport, &json!({}));
        let field_of = |report: &Value, field: &str| report[field].as_u64().unwrap();
        let many = |latencies: &Value| field_of(latencies, "answered") > 50;
        start(
            &[&nodes[0], &nodes[1], &nodes[2]],
            &[asks.clone(), first.clone(), second.clone()],
        );
        latencies(&nodes[0], many);
        nodes[1].child.kill().unwrap();
        latencies(&nodes[0], |latencies| field_of(latencies, "timed_out") > 0);
        nodes[1] = Node::start(&name("server"));
        nodes[1].configure(1);
        start(&[&nodes[0], &nodes[1]], &[asks[..1].to_vec(), first.clone()]);
        nodes[1].wait_row(0, |row| row["bytes"].as_u64() > Some(50 * 50));
        nodes[0].child.kill().unwrap();
        nodes[0] = Node::start(&name("client"));
        nodes[0].configure(0);
        start(&[&nodes[0], &nodes[1], &nodes[2]], &[asks, first, second]);
        latencies(&nodes[0], many);
    }
}

#[test]
fn invalid_requests_are_refused() {
    let node = Node::start("ask-wrong");
    node.configure(0);
    for (field, value, said) in [
        ("request_bytes", json!(7), "request_bytes is 7, but must be 8 to"),
        ("request_bytes", json!(9_000), "request_bytes is 9000"),
        ("response_bytes", json!(100_000), "response_bytes is 100000"),
    ] {
        let mut order = exchanges("udp", &json!({}))[0][0].clone();
        order["exchange"][field] = value;
        node.send(&json!({"t": "workload", "flows": [order]}));
        let error = node.wait(|message| message["t"] == "error");
        assert!(error["message"].as_str().unwrap().contains(said), "{error}");
    }
}
