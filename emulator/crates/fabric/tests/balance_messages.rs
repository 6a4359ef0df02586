//! Messages between nodes that balance by load: accepted and rejected ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

use cubeyard_fabric::balance::agent::{Agent, Periods};
use cubeyard_fabric::balance::message::{Message, RackWeights, Refusal, Report};
use cubeyard_fabric::balance::plan::Plan;
use cubeyard_topology::{NodeId, Topology, TopologySpec};
use proptest::prelude::*;

const ONE_CLUSTER: &str =
    r#"{"family":"subways","type":1,"p":2,"q":4,"l":4,"clusters":2,"aggs_per_cluster":2,"cores":2}"#;
const PERIODS: Periods = Periods {
    rebind: 0.5,
    report: 0.1,
    dead: 1.0,
    hot: None,
};
const FRAME_BYTES: usize = 1400;
/// Rate of every link.
const RATE: f64 = 1e8;

fn plan(spec: &str) -> Plan {
    let spec = TopologySpec::from_json(&serde_json::from_str(spec).unwrap()).unwrap();
    Plan::of(&Topology::build(&spec).unwrap()).unwrap()
}

fn report(plan: &Plan, tor: usize) -> Report {
    Report {
        tor,
        at_millis: 500,
        capacity: 2e8,
        used: [0.5, 0.25],
        carried: vec![[1e6, 2e6]; plan.server_links[tor].len()],
        detoured: Vec::new(),
    }
}

fn weights(plan: &Plan, rack: usize) -> RackWeights {
    RackWeights {
        rack,
        at_millis: 500,
        controller: plan.racks.tor_node(plan.members(plan.loop_of(rack)).start),
        links: vec![[1.0 / plan.racks.ring.ports as f32; 2]; plan.rack_links[rack].len()],
    }
}

fn bytes(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.write(&mut bytes);
    bytes
}

fn read(plan: &Plan, bytes: &[u8]) -> Result<Message, Refusal> {
    Message::read(&mut &bytes[..], plan)
}

#[test]
fn numbers_that_no_counter_and_no_weight_can_be_are_refused() {
    let plan = plan(ONE_CLUSTER);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e-6, f32::MAX] {
        for change in [
            |report: &mut Report, bad| report.capacity = bad,
            |report: &mut Report, bad| report.used[0] = bad,
            |report: &mut Report, bad| report.used[1] = bad,
            |report: &mut Report, bad| report.carried[3][1] = bad,
        ] {
            let mut forged = report(&plan, 1);
            change(&mut forged, bad);
            assert_eq!(
                read(&plan, &bytes(&Message::Report(forged))),
                Err(Refusal::Number)
            );
        }
        let mut forged = weights(&plan, 1);
        forged.links[2][0] = bad;
        assert_eq!(
            read(&plan, &bytes(&Message::Weights(forged))),
            Err(Refusal::Number)
        );
    }
    for of_server in [[0.0, 0.0], [0.5, 0.4], [1.0, 1.0]] {
        for side in 0..2 {
            let mut forged = weights(&plan, 1);
            (forged.links[2][side], forged.links[3][side]) = (of_server[0], of_server[1]);
            assert_eq!(read(&plan, &bytes(&Message::Weights(forged))), Err(Refusal::Sum));
        }
    }
    let mut forged = weights(&plan, 1);
    forged.controller = plan.racks.tor_node(plan.racks.ring.size);
    assert_eq!(
        read(&plan, &bytes(&Message::Weights(forged.clone()))),
        Err(Refusal::Subject),
        "another loop's"
    );
    forged.controller = 0;
    assert_eq!(
        read(&plan, &bytes(&Message::Weights(forged))),
        Err(Refusal::Subject),
        "a server's"
    );
    let mut forged = report(&plan, 1);
    forged.carried.pop();
    assert_eq!(
        read(&plan, &bytes(&Message::Report(forged))),
        Err(Refusal::Subject)
    );
}

/// Servers run applications, which could send forged messages.
#[test]
fn messages_from_a_servers_port_or_for_another_node_are_refused() {
    let plan = plan(ONE_CLUSTER);
    let tor = plan.racks.tor_node(0);
    let other_loop = plan.racks.tor_node(plan.racks.ring.size);
    let neighbour = plan.racks.tor_node(plan.racks.count);
    let good = [
        bytes(&Message::Report(report(&plan, 1))),
        bytes(&Message::Weights(weights(&plan, 1))),
    ]
    .concat();
    let heard = |node: NodeId, from: NodeId, at_secs: f64| {
        let mut agent = Agent::new(&plan, node);
        agent.hear(&plan, from, &good, at_secs);
        (
            agent.report(1).is_some(),
            agent.weights(1).is_some(),
            agent.refused,
        )
    };
    assert_eq!(heard(tor, neighbour, 1.0), (true, true, 0));
    assert_eq!(heard(tor, 0, 1.0), (false, false, 1), "from a server");
    assert_eq!(heard(tor, neighbour, 0.1), (false, false, 1), "from the future");
    assert_eq!(
        heard(other_loop, neighbour, 1.0),
        (false, false, 1),
        "another loop's report"
    );
    assert_eq!(heard(0, tor, 1.0), (false, false, 1), "a report to a server");
}

proptest! {
    #[test]
    fn what_is_written_is_read(rack in 0usize..8, first in 0.0f32..=1.0, at_millis: u32, used in 0.0f32..=1.0, rate in 0.0f32..1e12) {
        let plan = plan(ONE_CLUSTER);
        let mut set = weights(&plan, rack);
        set.at_millis = at_millis;
        for pair in set.links.chunks_mut(2) {
            (pair[0], pair[1]) = ([first, 1.0 - first], [1.0 - first, first]);
        }
        let mut seen = report(&plan, rack);
        (seen.used, seen.capacity, seen.carried[0]) = ([used, 1.0 - used], rate, [rate, 0.0]);
        let (set, seen) = (Message::Weights(set), Message::Report(seen));
        let both = [bytes(&set), bytes(&seen)].concat();
        let mut rest = &both[..];
        prop_assert_eq!(Message::read(&mut rest, &plan), Ok(set));
        prop_assert_eq!(Message::read(&mut rest, &plan), Ok(seen));
        prop_assert!(rest.is_empty());
    }

    /// After any received bytes, a node has valid weights and counters, and continues.
    #[test]
    fn no_bytes_break_a_node(
        noise in prop::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>(), flips in prop::collection::vec((any::<prop::sample::Index>(), 1u8..), 0..4),
        cut in any::<prop::sample::Index>(), from in 0u32..30,
    ) {
        let plan = plan(ONE_CLUSTER);
        let mut frame = [bytes(&Message::Weights(weights(&plan, 1))), bytes(&Message::Report(report(&plan, 2)))].concat();
        for (place, by) in flips {
            let place = place.index(frame.len());
            frame[place] ^= by;
        }
        frame.truncate(cut.index(frame.len() + 1));
        let place = at.index(frame.len() + 1);
        frame.splice(place..place, noise);
        let mut agent = Agent::new(&plan, plan.racks.tor_node(0));
        agent.hear(&plan, from, &frame, 1.0);
        for known in (0..plan.racks.count).filter_map(|rack| agent.weights(rack)) {
            prop_assert!(from >= 16, "servers set no weights");
            for of_server in known.links.chunks(plan.racks.ring.ports) {
                for side in 0..2 {
                    let sum: f32 = of_server.iter().map(|pair| pair[side]).sum();
                    prop_assert!((sum - 1.0).abs() < 0.01 && of_server.iter().all(|pair| pair[side] >= 0.0));
                }
            }
        }
        for (_, seen) in (0..plan.racks.count).filter_map(|tor| agent.report(tor)) {
            prop_assert!(seen.capacity.is_finite() && seen.used.iter().all(|used| (0.0..=1.0).contains(used)));
            prop_assert!(seen.carried.iter().flatten().all(|rate| rate.is_finite() && *rate >= 0.0));
        }
        agent.work(&plan, PERIODS, 1.0, |_| RATE);
        agent.frames(&plan, plan.racks.tor_node(plan.racks.count), FRAME_BYTES);
    }

    /// The weights of a controller are valid for any reports of ToRs.
    #[test]
    fn weights_are_valid_for_any_reports(
        used in prop::collection::vec((0.0f32..=1.0, 0.0f32..=1.0, 0.0f32..1e9), 4), rounds in 1usize..40,
    ) {
        let plan = plan(ONE_CLUSTER);
        let node = plan.racks.tor_node(0);
        let mut agent = Agent::new(&plan, node);
        for round in 0..rounds {
            let now_secs = 0.3 * (round + 1) as f64;
            for (tor, &(up, down, carried)) in used.iter().enumerate().skip(1) {
                let mut seen = report(&plan, tor);
                seen.at_millis = (now_secs * 1e3) as u32;
                (seen.used, seen.carried[1]) = ([up, down], [carried, carried]);
                agent.hear(&plan, plan.racks.tor_node(plan.racks.count), &bytes(&Message::Report(seen)), now_secs);
            }
            agent.count(&plan, PERIODS, now_secs, |_| {}, |_| Some(RATE));
            agent.work(&plan, PERIODS, now_secs, |_| RATE);
            for rack in plan.members(0) {
                if let Some(known) = agent.weights(rack) {
                    let message = Message::Weights(known.clone());
                    prop_assert_eq!(read(&plan, &bytes(&message)), Ok(message));
                }
            }
        }
    }
}
