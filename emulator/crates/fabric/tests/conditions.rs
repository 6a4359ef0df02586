//! The combined effect of several faults, without a kernel.

mod common;

use common::{bcube, describe};
use cubeyard_fabric::faults::{Conditions, EndCondition, Fault, QueueCondition, ServerCondition};
use cubeyard_fabric::network::{Network, Place};
use proptest::prelude::*;
use serde_json::{Value, json};

const RUN: &str = "conditions1234";
const LINK: usize = 3;

fn under(network: &Network, faults: &[Value]) -> Conditions {
    let faults: Vec<Fault> = faults
        .iter()
        .enumerate()
        .map(|(id, fault)| {
            let mut fault = fault.clone();
            fault["id"] = json!(id);
            Fault::from_json(network, fault).expect("a fault")
        })
        .collect();
    Conditions::under(network, &faults)
}

fn on_link(fault: &Value) -> Value {
    let mut fault = fault.clone();
    fault["target"] = json!({"link": LINK});
    fault
}

fn a_fault() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1e5..2e8).prop_map(|rate| json!({"kind": "link-rate", "rate_bits_per_sec": rate})),
        (0.01..1.0).prop_map(|loss| json!({"kind": "link-loss", "loss_ratio": loss})),
        (0.001..0.1).prop_map(|delay| json!({"kind": "link-delay", "delay_secs": delay})),
        Just(json!({"kind": "cable-pulled"})),
        Just(json!({"kind": "cable-cut-silent"})),
    ]
}

fn near(first: &EndCondition, other: &EndCondition) -> bool {
    let close = |item: f64, other: f64| (item - other).abs() <= 1e-9;
    first.up == other.up
        && first.rate_bits_per_sec == other.rate_bits_per_sec
        && close(first.loss, other.loss)
        && match (first.queue, other.queue) {
            (QueueCondition::Delayed(secs), QueueCondition::Delayed(other_secs)) => close(secs, other_secs),
            (item, other) => item == other,
        }
}

proptest! {
    #[test]
    fn the_order_of_faults_on_a_link_does_not_matter(
        faults in prop::collection::vec(a_fault(), 0..6),
        turn in any::<prop::sample::Index>(),
    ) {
        let network = bcube(2, 1, RUN);
        let faults: Vec<Value> = faults.iter().map(on_link).collect();
        let mut turned = faults.clone();
        if !turned.is_empty() {
            turned.rotate_left(turn.index(faults.len()));
        }
        let (first, other) = (under(&network, &faults), under(&network, &turned));
        for end in 0..2 {
            prop_assert!(near(&first.ends[LINK][end], &other.ends[LINK][end]), "{:?} {:?}", first.ends, other.ends);
        }
    }

    #[test]
    fn a_further_fault_makes_no_link_better(
        faults in prop::collection::vec(a_fault(), 0..5),
        further in a_fault(),
    ) {
        let network = bcube(2, 1, RUN);
        let mut faults: Vec<Value> = faults.iter().map(on_link).collect();
        let before = under(&network, &faults);
        faults.push(on_link(&further));
        let after = under(&network, &faults);
        for (before, after) in before.ends[LINK].iter().zip(&after.ends[LINK]) {
            prop_assert!(after.rate_bits_per_sec <= before.rate_bits_per_sec);
            prop_assert!(before.up || !after.up);
            prop_assert!(after.loss >= before.loss - 1e-12);
            prop_assert!(!matches!((before.queue, after.queue),
                (QueueCondition::Cut | QueueCondition::Delayed(_), QueueCondition::Normal)));
            if let (QueueCondition::Delayed(before), QueueCondition::Delayed(after)) = (before.queue, after.queue) {
                prop_assert!(after >= before);
            }
        }
    }
}

#[test]
fn faults_on_one_link_add_up_as_in_the_flow_engine() {
    let network = bcube(2, 1, RUN);
    let faults = [
        json!({"kind": "link-rate", "rate_bits_per_sec": 1e7}),
        json!({"kind": "link-rate", "rate_bits_per_sec": 4e7}),
        json!({"kind": "link-loss", "loss_ratio": 0.5}),
        json!({"kind": "link-loss", "loss_ratio": 0.2}),
        json!({"kind": "link-delay", "delay_secs": 0.01}),
    ];
    let struck = under(&network, &faults.iter().map(on_link).collect::<Vec<_>>());
    let expected = EndCondition {
        up: true,
        queue: QueueCondition::Delayed(0.01),
        loss: 0.6,
        rate_bits_per_sec: 1e7,
    };
    for end in &struck.ends[LINK] {
        assert!(near(end, &expected), "{end:?}");
    }
    let faster = under(
        &network,
        &[on_link(&json!({"kind": "link-rate", "rate_bits_per_sec": 1e9}))],
    );
    assert_eq!(
        faster,
        Conditions::under(&network, []),
        "a link is never faster than it was made"
    );
}

#[test]
fn a_port_is_down_at_one_end_of_its_cable_between_switches_too() {
    let spec = json!({"family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 1, "server_gbps": 1, "uplink_gbps": 1});
    let network = Network::from_json(describe(&spec, RUN, "routers", 1e8)).expect("a network");
    let link = network
        .places
        .iter()
        .position(|places| places.iter().all(Place::is_switch));
    let link = link.expect("a cable between switches");
    let down = |target: Value| under(&network, &[json!({"kind": "port-down", "target": target})]).ends;
    assert_eq!(down(json!({"link": link}))[link].map(|end| end.up), [false, true]);
    let of_server = down(json!({"port": [0, 0]}));
    assert_eq!(of_server.iter().flatten().filter(|end| !end.up).count(), 1);
}

#[test]
fn a_server_that_is_killed_takes_its_ports_along_and_a_frozen_one_keeps_them() {
    let network = bcube(2, 1, RUN);
    let killed = under(
        &network,
        &[
            json!({"kind": "server-frozen", "target": {"server": 1}}),
            json!({"kind": "server-killed", "target": {"server": 0}}),
        ],
    );
    assert_eq!(
        killed.servers[..2],
        [ServerCondition::Killed, ServerCondition::Frozen]
    );
    let down = killed.ends.iter().flatten().filter(|end| !end.up).count();
    assert_eq!(down, 2, "its own two ports");
}

#[test]
fn a_silent_server_drops_everything_on_its_links_and_keeps_every_carrier() {
    let network = bcube(2, 1, RUN);
    let silent = under(
        &network,
        &[json!({"kind": "server-silent", "target": {"server": 1}})],
    );
    assert!(silent.ends.iter().flatten().all(|end| end.up));
    assert_eq!(silent.servers, Conditions::under(&network, []).servers);
    for (places, ends) in network.places.iter().zip(&silent.ends) {
        let struck = places.iter().any(|place| place.is_of_server(1));
        let expected = if struck {
            QueueCondition::Cut
        } else {
            QueueCondition::Normal
        };
        assert!(
            ends.iter().all(|end| end.queue == expected),
            "{places:?} {ends:?}"
        );
    }
}
