//! Compares the forwarding in user space with the vectors: every frame, and every reason for a
//! drop.

use crate::bcube_common as common;

use std::collections::BTreeSet;

use crate::forwarding_vectors::{Entrance, Verdict};
use common::{Outcome, Vectors};
use cubeyard_dataplane::bcube::forwarding::SoftwareForwarding;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::forwarding::Forwarding;
use proptest::prelude::*;

#[test]
fn user_space_agrees_with_the_vectors() {
    let vectors = Vectors::read();
    for case in &vectors.cases {
        let server = &vectors.servers[&case.server];
        let mut software = server.software::<SoftwareForwarding>();
        let expected = case.outcome(server);
        let outcome = server.in_software(&mut software, case.enters, &case.frame());
        assert_eq!(outcome, expected, "{}", case.name);
        let counted: Vec<_> = DropReason::ALL
            .iter()
            .map(|reason| software.drops()[reason.index()])
            .collect();
        let dropped =
            |reason: &DropReason| u64::from(expected.verdict == Verdict::Drop(reason.name().to_owned()));
        assert_eq!(
            counted,
            DropReason::ALL.iter().map(dropped).collect::<Vec<_>>(),
            "{}",
            case.name
        );
    }
}

#[test]
fn every_reason_of_user_space_has_a_vector() {
    // Reasons that only occur in the kernel, and reasons that do not occur with this protocol.
    let others = [
        DropReason::AdjustFailed,
        DropReason::RedirectFailed,
        DropReason::IpOptions,
        DropReason::RetriesUsed,
    ];
    let vectors = Vectors::read();
    let seen: BTreeSet<String> = vectors
        .cases
        .iter()
        .filter_map(
            |case| match case.outcome(&vectors.servers[&case.server]).verdict {
                Verdict::Drop(reason) => Some(reason),
                _ => None,
            },
        )
        .collect();
    let wanted = DropReason::ALL.iter().filter(|reason| !others.contains(reason));
    assert_eq!(seen, wanted.map(|reason| reason.name().to_owned()).collect());
}

#[test]
fn traffic_is_counted_by_whose_it_is() {
    let vectors = Vectors::read();
    let server = &vectors.servers["plain"];
    let mut software = server.software::<SoftwareForwarding>();
    let (mut own, mut relayed, mut delivered) = ((0, 0), (0, 0), (0, 0));
    for case in vectors.cases.iter().filter(|case| case.server == "plain") {
        let Outcome { verdict, frame, .. } = server.in_software(&mut software, case.enters, &case.frame());
        let (counter, bytes) = match (verdict, case.enters) {
            (Verdict::Send, Entrance::Vnic) => (&mut own, frame.len() - 50),
            (Verdict::Send, Entrance::Port) => {
                let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
                (&mut relayed, total - 36)
            }
            (Verdict::Deliver, _) => (&mut delivered, frame.len() - 14),
            _ => continue,
        };
        counter.0 += 1;
        counter.1 += bytes as u64;
    }
    let traffic = software.traffic();
    assert_eq!((traffic.own_packets, traffic.own_bytes), own);
    assert_eq!((traffic.relayed_packets, traffic.relayed_bytes), relayed);
    assert_eq!((traffic.delivered_packets, traffic.delivered_bytes), delivered);
    assert_eq!(traffic.sent_packets.iter().sum::<u64>(), own.0 + relayed.0);
    let counted: u64 = software
        .flow_counts()
        .iter()
        .map(|(_, count)| count.packets)
        .sum();
    assert_eq!(
        counted, own.0,
        "every packet of the server's own belongs to a flow"
    );
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
        let mut software = server.software::<SoftwareForwarding>();
        let outcome = server.in_software(&mut software, enters, &frame);
        let dropped = matches!(outcome.verdict, Verdict::Drop(_));
        prop_assert_eq!(software.drops().iter().sum::<u64>(), u64::from(dropped));
    }
}
