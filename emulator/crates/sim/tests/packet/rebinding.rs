//! Subways' controllers while packets are on their way.

use cubeyard_sim::{EngineKind, Experiment, Network, Progress};
use serde_json::{Value, json};

/// Servers of a rack.
const SERVERS: u32 = 10;

fn simulate(routing: &str, racks: &[u32], packet: &Value, faults: &Value) -> Value {
    let spec = json!({
        "family": "subways", "type": 1, "p": 2, "q": SERVERS * 2, "l": 12, "clusters": 2, "c": 1, "uplink_gbps": 10,
    });
    let network = Network::open(&spec.to_string()).unwrap();
    let name = |server| network.topology().node_name(server).to_string();
    let servers = |rack: u32| rack * SERVERS..(rack + 1) * SERVERS;
    let pairs = racks.iter().flat_map(|&rack| servers(rack)).flat_map(|from| {
        let to = (6..12).flat_map(servers);
        to.map(move |to| json!([name(from), name(to), 200_000, 0.0]))
    });
    let fields = json!({
        "engine": "packet", "routing": routing, "link_gbps": 1, "packet": packet, "faults": faults,
        "workload": {"kind": "listed", "flows": pairs.collect::<Vec<_>>()},
    });
    let experiment = Experiment::from_json(&fields.to_string()).unwrap();
    let engine = EngineKind::Packet.engine();
    engine
        .run(&network, &experiment, &Progress::default(), &mut |_| {})
        .unwrap()
}

fn settings(more: &Value) -> Value {
    let mut settings = json!({"recovery": "sack", "rto_min_secs": 0.01, "rebind_secs": 0.005});
    let fields = more.as_object().unwrap().clone();
    settings.as_object_mut().unwrap().extend(fields);
    settings
}

fn last(document: &Value) -> f64 {
    document["completion_secs"]["max"].as_f64().unwrap()
}

/// The example of §5: two adjacent racks put twice the load on the ToR that they share, 1:2:1. With
/// balancing, all three ToRs carry the same load, so the last flow ends in two thirds of the time;
/// flows that move lose no byte.
#[test]
fn flows_move_until_three_tors_carry_as_much() {
    let run = |routing, more| simulate(routing, &[2, 3], &settings(&more), &json!([]));
    let ecmp = run("subways-ecmp", json!({}));
    assert!(ecmp.get("controllers").is_none() && ecmp["choices"].get("rebind_secs").is_none());
    let adaptive = run("subways-adaptive", json!({}));
    let settled = run("subways-adaptive", json!({"rebind_secs": 0}));
    assert!(last(&adaptive) < 0.8 * last(&ecmp), "{adaptive} against {ecmp}");
    assert!(last(&adaptive) < 1.15 * last(&settled));
    assert!(adaptive["controllers"]["rounds"].as_u64() > Some(10));
    assert!(adaptive["controllers"]["moves"].as_u64() > Some(100));
    assert!(settled.get("controllers").is_none());
    for document in [&adaptive, &settled] {
        assert_eq!(document["completion_secs"]["unfinished"], 0);
        let bytes = |name: &str| document["bytes"][name].as_u64().unwrap();
        assert_eq!(
            bytes("sent"),
            bytes("received") + bytes("dropped") + bytes("in_flight")
        );
    }
    assert_eq!(
        run("subways-adaptive", json!({})),
        adaptive,
        "the same bytes again"
    );
}

#[test]
fn detours_begin_while_a_rack_is_hot() {
    let run = |routing| simulate(routing, &[2], &settings(&json!({})), &json!([]));
    let (straight, detoured) = (run("subways-adaptive"), run("subways-detour"));
    // Not the last flow: it has waited for one timer after another, with detours and without.
    for (name, most) in [("median", 0.85), ("mean", 0.85), ("p99", 0.7)] {
        let secs = |document: &Value| document["completion_secs"][name].as_f64().unwrap();
        let share = secs(&detoured) / secs(&straight);
        assert!(share < most, "{name}: {share}");
    }
    assert_eq!(detoured["completion_secs"]["unfinished"], 0);
}

/// A ToR that fails takes its links out of the weights, and comes back into them.
#[test]
fn controllers_know_failures_as_routing_does() {
    let faults = json!([{"kind": "switch-off", "target": {"selector": "1 level-0 switch"}, "at_secs": 0.03, "until_secs": 0.08}]);
    for routing in ["subways-adaptive", "subways-detour"] {
        let document = simulate(routing, &[2, 3], &settings(&json!({})), &faults);
        assert_eq!(document["completion_secs"]["unfinished"], 0, "{document}");
        assert!(document["drops"].as_u64() > Some(0));
    }
}
