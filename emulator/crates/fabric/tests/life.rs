//! The whole life of a run over the socket: prepare, wire, frames, faults, destroy.

mod common;

use std::io::Write;
use std::path::Path;

use common::{Host, can_emulate, connect, describe, fresh_run};
use cubeyard_fabric::host::namespace;
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect as connect_socket, recv,
    socket_with,
};
use serde_json::{Value, json};

fn bcube_16() -> Value {
    describe(
        &json!({"family": "bcube", "n": 4, "k": 1}),
        &fresh_run(),
        "kernel",
        1e8,
    )
}

fn names_of(run: &str) -> Vec<String> {
    namespace::names_with_prefix(&format!("cy-{}", &run[..8]))
}

#[test]
fn a_run_is_built_and_gone_again() {
    if !can_emulate("a_run_is_built_and_gone_again") {
        return;
    }
    let mut host = Host::start();
    let run = host.build(&bcube_16());
    assert_eq!(names_of(&run).len(), 17, "16 servers and the switches");
    host.ask("subscribe", json!({"run": run}));
    let frame = host.next_frame();
    let length = |value: &Value| value.as_array().map(Vec::len);
    assert_eq!(length(&frame["links"]["tx"]), Some(32));
    for both_ways in ["packets", "drops", "queue"] {
        assert_eq!(length(&frame["links"][both_ways]), Some(64), "{both_ways}");
    }
    assert_eq!(length(&frame["servers"]["relayed"]), Some(16));
    assert_eq!(frame["drops"], json!({}));
    let known = host.ask("inspect", json!({"run": run, "server": 3}));
    assert_eq!(known["sections"], json!([]));
    let destroyed = host.ask("destroy", json!({"run": run}));
    assert_eq!(destroyed["removed"], 17);
    assert_eq!(names_of(&run), Vec::<String>::new());
    assert_eq!(host.ask("runs", json!({}))["runs"], json!([]));
    assert_eq!(host.ask("destroy", json!({"run": run}))["removed"], 0);
}

#[test]
fn a_pulled_cable_is_seen_at_once_and_put_back() {
    if !can_emulate("a_pulled_cable_is_seen_at_once_and_put_back") {
        return;
    }
    let mut host = Host::start();
    let run = host.build(&bcube_16());
    host.ask("subscribe", json!({"run": run}));
    for up in [false, true] {
        let done = match up {
            false => host.ask(
                "inject",
                json!({"run": run, "fault": {"id": 1, "kind": "cable-pulled", "target": {"port": [3, 1]}}}),
            ),
            true => host.ask("recover", json!({"run": run, "fault": 1})),
        };
        let event = host.wait_for_event(|event| event["kind"] == "carrier");
        assert_eq!(
            (&event["server"], &event["port"], &event["up"]),
            (&json!(3), &json!(1), &json!(up))
        );
        let nanos = |value: &Value| value["at_nanos"].as_u64().expect("nanoseconds");
        assert!(
            nanos(&event).abs_diff(nanos(&done)) < 100_000_000,
            "{event} after {done}"
        );
    }
}

#[test]
fn a_node_that_floods_its_socket_is_reported_and_delays_no_other() {
    if !can_emulate("a_node_that_floods_its_socket_is_reported_and_delays_no_other") {
        return;
    }
    let mut host = Host::start();
    let mut network = bcube_16();
    network["seed"] = json!(666);
    let run = host.build(&network);
    host.ask("subscribe", json!({"run": run}));
    let flood = host.wait_for_event(|event| event["kind"] == "node-flooding");
    assert_eq!(flood["server"], 0);
    assert!(flood["messages"].as_u64() > Some(0), "{flood}");
    let first = host.next_frame()["tick"].as_u64();
    // Drop earlier frames, which arrived while waiting for the event.
    host.frames.clear();
    let known = host.ask("inspect", json!({"run": run, "server": 3}));
    assert_eq!(
        known["sections"],
        json!([]),
        "messages of other nodes still arrive"
    );
    for later in 1..=10 {
        let tick = host.frames.pop().unwrap_or_else(|| host.next_frame())["tick"].as_u64();
        assert!(tick > first, "frame {later} of {first:?}: {tick:?}");
    }
    assert_eq!(host.ask("destroy", json!({"run": run}))["removed"], 17);
}

#[test]
fn another_process_at_a_servers_socket_is_refused_and_reported() {
    if !can_emulate("another_process_at_a_servers_socket_is_refused_and_reported") {
        return;
    }
    let mut host = Host::start();
    let network = bcube_16();
    let run = network["run"].clone();
    let prepared = host.ask("prepare", json!({"run": run, "network": network}));
    host.ask("wire", json!({"run": run, "plain": true}));
    host.ask("subscribe", json!({"run": run}));
    let folder = Path::new(prepared["servers"][3]["mount"].as_str().expect("a folder"));
    for _ in 0..2 {
        let other = socket_with(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .expect("a socket");
        connect_socket(
            &other,
            &SocketAddrUnix::new(folder.join("fabric.sock")).expect("a path"),
        )
        .expect("the fabric listens");
        let mut buffer = [0; 64];
        let (length, _) = recv(&other, &mut buffer[..], RecvFlags::empty()).expect("an end");
        assert_eq!(length, 0, "it gets no configuration");
    }
    let event = host.wait_for_event(|event| event["kind"] == "node-refused");
    assert_eq!(event["server"], 3);
    assert!(
        event["message"].as_str().expect("words").contains("closed"),
        "{event}"
    );
    let known = host.ask("inspect", json!({"run": run, "server": 3}));
    assert_eq!(known["sections"], json!([]), "the node keeps its connection");
}

#[test]
fn an_inspection_that_is_never_answered_does_not_delay_later_ones() {
    if !can_emulate("an_inspection_that_is_never_answered_does_not_delay_later_ones") {
        return;
    }
    let mut host = Host::start();
    let mut network = bcube_16();
    network["seed"] = json!(667);
    let run = host.build(&network);
    let request = json!({"id": 1, "method": "inspect", "params": {"run": run, "server": 3}});
    let mut impatient = connect(host.folder());
    writeln!(impatient, "{request}").expect("the fabric reads");
    host.ask("subscribe", json!({"run": run}));
    host.next_frame();
    for _ in 0..2 {
        let known = host.ask("inspect", json!({"run": run, "server": 3}));
        assert_eq!(known["sections"], json!([]));
    }
}

#[test]
fn an_inspection_that_is_never_answered_ends_in_an_error() {
    if !can_emulate("an_inspection_that_is_never_answered_ends_in_an_error") {
        return;
    }
    let mut host = Host::start();
    let mut network = bcube_16();
    network["seed"] = json!(667);
    let run = host.build(&network);
    let error = host
        .call("inspect", &json!({"run": run, "server": 3}))
        .unwrap_err();
    assert_eq!(error["code"], "state");
    assert_eq!(error["message"], "the node of server 3 does not answer");
    let known = host.ask("inspect", json!({"run": run, "server": 3}));
    assert_eq!(known["sections"], json!([]), "the connection still works");
}
