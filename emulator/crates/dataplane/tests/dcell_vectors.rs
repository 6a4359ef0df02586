//! Compares the forwarding in user space with the vectors: every frame, and every reason for a
//! drop.

use crate::dcell_common as common;

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
        for reason in DropReason::ALL {
            let dropped = expected.verdict == Verdict::Drop(reason.name().to_owned());
            assert_eq!(
                software.drops()[reason.index()],
                u64::from(dropped),
                "{}",
                case.name
            );
        }
    }
}

#[test]
fn every_reason_of_user_space_has_a_vector() {
    // Reasons that only occur in the kernel, and reasons that do not occur with this protocol.
    let others = [
        DropReason::AdjustFailed,
        DropReason::RedirectFailed,
        DropReason::BadIndex,
        DropReason::UnknownNextHop,
        DropReason::NotMine,
        DropReason::OwnSource,
    ];
    let vectors = Vectors::read();
    let verdicts = vectors
        .cases
        .iter()
        .map(|case| case.outcome(&vectors.servers[&case.server]).verdict);
    let seen: BTreeSet<String> = verdicts
        .filter_map(|verdict| match verdict {
            Verdict::Drop(reason) => Some(reason),
            _ => None,
        })
        .collect();
    let wanted = DropReason::ALL.iter().filter(|reason| !others.contains(reason));
    assert_eq!(seen, wanted.map(|reason| reason.name().to_owned()).collect());
}

proptest! {
    /// Fuzz test: any frame gets one verdict, and drops are counted.
    #[test]
    fn no_frame_makes_a_panic(from_port: bool, start in prop::collection::vec(any::<u8>(), 0..90), like in prop::option::of(any::<prop::sample::Index>())) {
        let vectors = Vectors::read();
        // Half of the frames start like one of the vectors, followed by random bytes.
        let mut frame = like.map_or_else(Vec::new, |case| case.get(&vectors.cases).frame());
        frame.truncate(frame.len().saturating_sub(start.len()));
        frame.extend(start);
        let enters = if from_port { Entrance::Port } else { Entrance::Vnic };
        let server = &vectors.servers["plain"];
        let mut software = server.software();
        let outcome = server.in_software(&mut software, enters, &frame);
        let dropped = matches!(outcome.verdict, Verdict::Drop(_));
        prop_assert_eq!(software.drops().iter().sum::<u64>(), u64::from(dropped));
    }
}
