//! Messages about detours: decoding returns the encoded message, and invalid bytes are rejected.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

use cubeyard_fabric::balance::detours::ToldDetours;
use cubeyard_fabric::balance::message::{Message, Refusal};
use cubeyard_fabric::balance::plan::Plan;
use cubeyard_routing::subways::{DetourPath, RackDetours};
use cubeyard_topology::{Topology, TopologySpec};

const LONG_LOOP: &str =
    r#"{"family":"subways","type":1,"p":2,"q":8,"l":8,"clusters":1,"aggs_per_cluster":2,"uplink_gbps":10}"#;

fn detours(plan: &Plan, rack: usize, steps: Vec<usize>, capacity: f64) -> ToldDetours {
    ToldDetours {
        side: 0,
        rack,
        at_millis: 500,
        controller: plan.racks.tor_node(plan.members(plan.loop_of(rack)).start),
        ways: RackDetours {
            straight: 1e8,
            detours: vec![(DetourPath { source: rack, steps }, capacity)],
        },
        withdrawn: 0b10,
    }
}

#[test]
fn detours_are_read_as_they_were_written_and_refused_where_none_can_be() {
    let spec = TopologySpec::from_json(&serde_json::from_str(LONG_LOOP).unwrap()).unwrap();
    let plan = Plan::of(&Topology::build(&spec).unwrap()).unwrap();
    let read = |known: ToldDetours| {
        let mut bytes = Vec::new();
        Message::Detours(known).write(&mut bytes);
        Message::read(&mut bytes.as_slice(), &plan)
    };
    // Rack 2 has ToRs 1 and 2, rack 3 ToRs 2 and 3, and so on.
    for steps in [
        vec![2, 3, 3],
        vec![2, 3, 3, 4, 4],
        vec![1, 1, 0],
        vec![1, 1, 0, 0, 7],
    ] {
        for side in [0, 1] {
            let known = ToldDetours {
                side,
                ..detours(&plan, 2, steps.clone(), 3e7)
            };
            assert_eq!(read(known.clone()), Ok(Message::Detours(known)));
        }
    }
    let too_far = vec![2, 3, 3, 4, 4, 5, 5];
    for steps in [
        too_far,
        vec![2],
        vec![2, 3],
        vec![3, 3, 2],
        vec![2, 4, 3],
        vec![2, 2, 1],
        vec![2, 3, 2],
        vec![2, 9, 9],
    ] {
        assert_eq!(
            read(detours(&plan, 2, steps.clone(), 3e7)),
            Err(Refusal::Way),
            "{steps:?}"
        );
    }
    for capacity in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(
            read(detours(&plan, 2, vec![2, 3, 3], capacity)),
            Err(Refusal::Number)
        );
    }
    let mut stranger = detours(&plan, 2, vec![2, 3, 3], 3e7);
    stranger.controller = 0;
    assert_eq!(read(stranger), Err(Refusal::Subject));
}
