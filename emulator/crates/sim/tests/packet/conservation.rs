//! At every instant, bytes sent equal bytes received, dropped or on a link, for any change of
//! links.

use cubeyard_sim::packet::change::LinkState;
use cubeyard_sim::packet::core::Stop;
use cubeyard_sim::packet::links::SECOND;
use cubeyard_sim::packet::rules::{Growth, Marks, Recovery, Rules, Transport};
use proptest::prelude::*;

use crate::bench::{Dumbbell, MS, US, rules};
use crate::notices::qcn;

/// A change of the bottleneck after a number of events.
#[derive(Clone, Debug)]
struct Change {
    events: u64,
    rate_mbps: f64,
    delay_us: u64,
    loss: f64,
    dead: bool,
}

fn change() -> impl Strategy<Value = Change> {
    (
        0..2_000u64,
        1.0..2_000.0f64,
        1..3_000u64,
        0.0..0.3f64,
        proptest::bool::weighted(0.2),
    )
        .prop_map(|(events, rate_mbps, delay_us, loss, dead)| Change {
            events,
            rate_mbps,
            delay_us,
            loss,
            dead,
        })
}

fn any_rules() -> impl Strategy<Value = Rules> {
    (
        prop_oneof![
            Just(Recovery::NewReno),
            Just(Recovery::Sack),
            Just(Recovery::Reno),
            Just(Recovery::Tahoe)
        ],
        prop_oneof![
            4 => Just(Transport::Tcp),
            1 => (1..50u64, any::<bool>()).prop_map(|(us, drawn)| Transport::Udp { gap: us * US, drawn })
        ],
        prop_oneof![Just(Growth::Single), Just(Growth::Linked), Just(Growth::Cubic)],
        prop_oneof![Just(Marks::Halve), Just(Marks::Proportion)],
        prop_oneof![Just(0), Just(2 * MS)],
        1..20u32,
        (any::<u64>(), proptest::option::weighted(0.3, 1_000..100_000u64)),
    )
        .prop_map(
            |(recovery, transport, growth, marks, delayed_ack, initial_window, (seed, aim))| Rules {
                // Notifications return over the reverse links that the dumbbell has.
                qcn: aim.map(qcn),
                recovery,
                transport,
                growth,
                marks,
                delayed_ack,
                initial_window,
                seed,
                most_window: 128,
                least_timeout: 5 * MS,
                most_timeout: 40 * MS,
                ..rules()
            },
        )
}

proptest! {
    #[test]
    fn bytes_are_conserved_and_every_flow_ends(
        rules in any_rules(),
        queue_bytes in 0..200_000u64,
        mark in proptest::option::of(0..100_000u64),
        flows in proptest::collection::vec((0..4u32, 1..400_000u64, 0..3_000u64, 1..4u32), 1..8),
        changes in proptest::collection::vec(change(), 0..6),
    ) {
        let udp = rules.transport != Transport::Tcp;
        let bell = Dumbbell { pairs: 4, access_bits: 1e9, bottleneck_bits: 300e6, delay: 50 * US, queue_bytes, rules };
        let flows: Vec<_> = flows
            .into_iter()
            .map(|(pair, bytes, start, subflows)| (pair, bytes, start * US, if udp { 1 } else { subflows }))
            .collect();
        let mut core = bell.build_mixed(&flows);
        if let Some(bytes) = mark {
            core.links.change(0, |link| link.mark = link.time_of(bytes));
        }
        let whole = |core: &cubeyard_sim::packet::core::Core| {
            let totals = core.totals;
            (totals.sent, totals.received + totals.dropped + core.in_flight())
        };
        for one in changes {
            for _ in 0..one.events.div_ceil(50) {
                core.run(1000 * SECOND, 50);
                let (sent, accounted) = whole(&core);
                prop_assert_eq!(sent, accounted);
            }
            core.set_link(0, LinkState {
                rate_bits_per_sec: one.rate_mbps * 1e6,
                queue_bytes,
                mark_bytes: mark,
                delay: one.delay_us * US,
                loss_ratio: one.loss,
                dead: u32::from(one.dead),
            });
            let (sent, accounted) = whole(&core);
            prop_assert_eq!(sent, accounted);
        }
        core.set_link(0, LinkState {
            rate_bits_per_sec: 300e6,
            queue_bytes,
            mark_bytes: mark,
            delay: 50 * US,
            loss_ratio: 0.0,
            dead: 0,
        });
        prop_assert_eq!(core.run(1000 * SECOND, 10_000_000), Stop::Finished);
        let (sent, accounted) = whole(&core);
        prop_assert_eq!(sent, accounted);
        let bytes: u64 = flows.iter().map(|flow| flow.1).sum();
        if udp {
            prop_assert_eq!(sent, bytes);
        } else {
            prop_assert!(core.totals.received >= bytes, "all has arrived: {} of {}", core.totals.received, bytes);
        }
        for one in &core.connections {
            prop_assert!(one.end >= one.start && one.missing == 0 && one.unsent == 0);
        }
    }
}
