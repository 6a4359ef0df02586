//! Compares CamCube's forwarding in user space with the vectors: every frame, and every reason for
//! a drop.

use crate::camcube_common as common;

use std::collections::BTreeSet;

use crate::forwarding_vectors::{Entrance, Verdict};
use common::Vectors;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::forwarding::Forwarding;
use proptest::prelude::*;

#[test]
fn user_space_agrees_with_the_vectors() {
    let vectors = Vectors::read();
    for case in &vectors.cases {
        let server = &vectors.servers[&case.server];
        let mut software = server.software();
        let expected = case.outcome(server);
        let outcome = server.in_software(&mut software, case.enters, &case.frame());
        assert_eq!(outcome, expected, "{}", case.name);
        let counts = |reason: &DropReason| software.drops()[reason.index()];
        let dropped =
            |reason: &DropReason| u64::from(expected.verdict == Verdict::Drop(reason.name().to_owned()));
        assert!(
            DropReason::ALL
                .iter()
                .all(|reason| counts(reason) == dropped(reason)),
            "{}",
            case.name
        );
    }
}

#[test]
fn every_reason_of_user_space_has_a_vector() {
    // Reasons that only occur in the kernel, and reasons that do not occur with this protocol.
    let of_others = [
        DropReason::AdjustFailed,
        DropReason::RedirectFailed,
        DropReason::UnknownNextHop,
        DropReason::OwnSource,
        DropReason::RetriesUsed,
    ];
    let vectors = Vectors::read();
    let outcomes = vectors.cases.iter();
    let seen: BTreeSet<String> = outcomes
        .filter_map(
            |case| match case.outcome(&vectors.servers[&case.server]).verdict {
                Verdict::Drop(reason) => Some(reason),
                _ => None,
            },
        )
        .collect();
    let wanted = DropReason::ALL
        .iter()
        .filter(|reason| !of_others.contains(reason));
    assert_eq!(seen, wanted.map(|reason| reason.name().to_owned()).collect());
}

#[test]
fn many_packets_share_the_links_by_bytes() {
    let vectors = Vectors::read();
    let server = &vectors.servers["base"];
    let mut software = server.software();
    let case = vectors
        .cases
        .iter()
        .find(|case| case.name == "two links on shortest paths")
        .unwrap();
    // Every other packet is four times as long. If links simply took turns, one link would get all
    // long packets.
    let short = case.frame();
    let mut long = short.clone();
    let bytes = 4 * (short.len() - 14);
    long.resize(14 + bytes, 0);
    long[16..18].copy_from_slice(&(bytes as u16).to_be_bytes());
    let mut sent = [0; 2];
    for turn in 0..1000 {
        let frame = if turn % 2 == 0 { &long } else { &short };
        let outcome = server.in_software(&mut software, Entrance::Vnic, frame);
        sent[usize::from(outcome.frame[8] == 2)] += outcome.frame.len();
    }
    let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
    assert!((0.49..0.51).contains(&share), "{sent:?}");
}

proptest! {
    /// Fuzz test: in any state, any frame gets a verdict, and drops are counted.
    #[test]
    fn no_frame_makes_a_panic(
        state in any::<prop::sample::Index>(),
        from_port in any::<bool>(),
        start in prop::collection::vec(any::<u8>(), 0..90),
        like in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let vectors = Vectors::read();
        let servers: Vec<_> = vectors.servers.values().collect();
        // Half of the frames start like one of the vectors, followed by random bytes.
        let mut frame = like.map_or_else(Vec::new, |case| case.get(&vectors.cases).frame());
        let at = frame.len().saturating_sub(start.len());
        frame.truncate(at);
        frame.extend(start);
        let enters = if from_port { Entrance::Port } else { Entrance::Vnic };
        let server = state.get(&servers);
        let mut software = server.software();
        let outcome = server.in_software(&mut software, enters, &frame);
        let dropped = matches!(outcome.verdict, Verdict::Drop(_));
        prop_assert_eq!(software.drops().iter().sum::<u64>(), u64::from(dropped));
    }
}
