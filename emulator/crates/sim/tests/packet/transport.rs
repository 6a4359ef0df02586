//! One bottleneck: round trips, throughput, fairness, loss, waiting and incast.

use cubeyard_sim::packet::core::{Core, Stop};
use cubeyard_sim::packet::links::{Link, SECOND};
use cubeyard_sim::packet::rules::{Growth, Marks, Recovery, Transport};
use cubeyard_sim::packet::wheel::NEVER;

use crate::bench::{Dumbbell, MS, PACKET, PAYLOAD, US, delivered_between, rules};
use crate::cases::short_or_long;

/// Ratios of random losses, with the seconds after which the mean window is known. The least takes
/// five million packets.
const LOSSES: [(f64, u64); 3] = [(1e-4, 600), (1e-3, 200), (1e-2, 100)];

fn gigabit(pairs: u32) -> Dumbbell {
    Dumbbell {
        pairs,
        access_bits: 10e9,
        bottleneck_bits: 1e9,
        delay: 100 * US,
        queue_bytes: 0,
        rules: rules(),
    }
}

#[test]
fn an_idle_round_trip_is_exact() {
    let bell = gigabit(1);
    let mut core = bell.build(&[(0, PAYLOAD, 5 * US)]);
    assert_eq!(core.run(SECOND, u64::MAX), Stop::Finished);
    // 1.2 us and 12 us on the line, and two delays.
    assert_eq!(
        core.connections[0].end - core.connections[0].start,
        1_200_000 + 12_000_000 + 200 * US
    );
    // The acknowledgement takes 32 ns and one delay more: a measurement that changes an exact
    // estimate by nothing.
    let mut core = bell.build(&[(0, PAYLOAD, 5 * US), (0, PAYLOAD, SECOND)]);
    core.run(SECOND / 2, u64::MAX);
    assert_eq!(bell.round_trip(), 1_200_000 + 12_000_000 + 32_000 + 300 * US);
    assert_eq!(core.clocks[0].smoothed, bell.round_trip());
    assert_eq!(core.clocks[0].deviation, bell.round_trip() / 2 * 3 / 4);
}

#[test]
fn one_flow_fills_the_line_with_a_product_of_queue_and_three_quarters_without() {
    let line = 1e9 * PAYLOAD as f64 / PACKET as f64 / 8.0;
    let share = |queue_bytes: u64| {
        let bell = Dumbbell {
            queue_bytes,
            delay: MS,
            ..gigabit(1)
        };
        let mut core = bell.build(&[(0, 10 << 30, 0)]);
        // Start from the threshold after a loss, because slow start is not tested here.
        core.senders[0].threshold = 10.0;
        delivered_between(&mut core, 2 * SECOND, 10 * SECOND)[0] as f64 / 8.0 / line
    };
    let product = Dumbbell {
        delay: MS,
        ..gigabit(1)
    }
    .product();
    let full = share(product);
    assert!((full - 1.0).abs() < 0.005, "{full}");
    // Room for the packets that a window sends at once, and no more.
    let none = share(4 * PACKET);
    assert!((none - 0.75).abs() < 0.03, "{none}");
}

#[test]
fn throughput_falls_with_the_root_of_loss() {
    for &(loss, secs) in &LOSSES[short_or_long(1, 0)..] {
        let bell = Dumbbell {
            access_bits: 100e9,
            bottleneck_bits: 100e9,
            delay: 5 * MS,
            queue_bytes: 1 << 30,
            ..gigabit(1)
        };
        let mut core = bell.build(&[(0, 1 << 40, 0)]);
        core.links
            .change(0, |link| link.loss = (loss * f64::from(u32::MAX)) as u32);
        let bytes = delivered_between(&mut core, 10 * SECOND, secs * SECOND)[0] as f64;
        let window = bytes / PAYLOAD as f64 / (secs - 10) as f64 * bell.round_trip() as f64 / SECOND as f64;
        let mathis = (1.5 / loss).sqrt();
        assert!(
            (window / mathis - 1.0).abs() < 0.1,
            "{window} for {mathis} at {loss}"
        );
    }
}

#[test]
fn packets_wait_as_in_an_m_d_1_queue() {
    for &load in short_or_long(&[0.8][..], &[0.8, 0.5]) {
        let service = Link::new(1e9, 0, 0, 0).time_of(PACKET);
        let mut rules = rules();
        rules.transport = Transport::Udp {
            gap: (service as f64 / load) as u64,
            drawn: true,
        };
        let bell = Dumbbell {
            access_bits: 1e12,
            queue_bytes: 1 << 30,
            rules,
            ..gigabit(1)
        };
        let packets = 1_000_000;
        let mut core = bell.build(&[(0, packets * PAYLOAD, 0)]);
        assert_eq!(core.run(100 * SECOND, u64::MAX), Stop::Finished);
        let count = core.links.count(0);
        assert_eq!(count.packets, packets);
        let wait = count.wait as f64 * 1024.0 / packets as f64;
        let expected = load / (2.0 * (1.0 - load)) * service as f64;
        assert!(
            (wait / expected - 1.0).abs() < 0.02,
            "{wait} for {expected} at {load}"
        );
    }
}

#[test]
fn equal_flows_get_equal_shares() {
    let bell = gigabit(8);
    let bell = Dumbbell {
        queue_bytes: bell.product(),
        ..bell
    };
    let flows: Vec<_> = (0..8)
        .map(|pair| (pair, 10 << 30, u64::from(pair) * 1_237 * US))
        .collect();
    let mut core = bell.build(&flows);
    let rates = delivered_between(&mut core, SECOND, 20 * SECOND);
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), &rate| {
        (sum + rate as f64, squares + (rate as f64).powi(2))
    });
    let jain = sum * sum / (8.0 * squares);
    assert!(jain >= 0.95, "{jain}: {rates:?}");
}

/// Goodput of 32 senders of a block of 256 KiB to one receiver, over the line's rate.
fn incast(least_timeout: u64) -> (f64, u64) {
    let mut rules = rules();
    rules.least_timeout = least_timeout;
    let bell = Dumbbell {
        access_bits: 1e9,
        queue_bytes: 64 << 10,
        delay: 25 * US,
        rules,
        ..gigabit(32)
    };
    let block: u64 = 1 << 20;
    let flows: Vec<_> = (0..32)
        .map(|pair| (pair, block / 32, u64::from(pair) * 100_000))
        .collect();
    let mut core = bell.build(&flows);
    assert_eq!(core.run(1000 * SECOND, u64::MAX), Stop::Finished);
    let end = core
        .connections
        .iter()
        .map(|connection| connection.end)
        .max()
        .unwrap();
    (
        block as f64 * 8.0 / (end as f64 / SECOND as f64) / 1e9,
        core.totals.timeouts,
    )
}

#[test]
fn incast_collapses_with_a_long_timeout_only() {
    let (long, timeouts) = incast(200 * MS);
    assert!(long < 0.3 && timeouts > 0, "{long}");
    let (short, _) = incast(MS);
    assert!(short > 0.5, "{short}");
}

#[test]
fn linked_subflows_take_the_share_of_one_flow_and_unlinked_ones_their_number() {
    // One connection of two subflows competes with eight connections of one, with random loss of
    // one packet in 2,000. In a drop-tail queue without noise, losses would hit the growing flows
    // only, and linked subflows hardly grow.
    let shares = |growth| {
        let mut rules = rules();
        rules.growth = growth;
        rules.least_timeout = MS;
        let bell = Dumbbell {
            rules,
            bottleneck_bits: 10e9,
            queue_bytes: 1 << 20,
            ..gigabit(9)
        };
        let mut flows = vec![(0, 100 << 30, 0, 2)];
        flows.extend((1..9).map(|pair| (pair, 100 << 30, u64::from(pair) * 1_237 * US, 1)));
        let mut core = bell.build_mixed(&flows);
        core.links
            .change(0, |link| link.loss = (0.0005 * f64::from(u32::MAX)) as u32);
        let rates = delivered_between(&mut core, SECOND / 2, 8 * SECOND);
        rates[0] as f64 / (rates[1..].iter().sum::<u64>() as f64 / 8.0)
    };
    let linked = shares(Growth::Linked);
    assert!((linked - 1.0).abs() < 0.15, "{linked}");
    let unlinked = shares(Growth::Single);
    assert!((unlinked / 2.0 - 1.0).abs() < 0.15, "{unlinked}");
}

#[test]
fn marks_keep_a_queue_short_without_drops() {
    for (marks, share) in [(Marks::Halve, 0.75), (Marks::Proportion, 0.95)] {
        let mut rules = rules();
        rules.marks = marks;
        let bell = Dumbbell {
            queue_bytes: 1 << 20,
            rules,
            ..gigabit(2)
        };
        let threshold = bell.product() / 5;
        let mut core = bell.build(&[(0, 10 << 30, 0), (1, 10 << 30, 777 * US)]);
        core.links.change(0, |link| link.mark = link.time_of(threshold));
        let rates = delivered_between(&mut core, SECOND, 5 * SECOND);
        let line = 1e9 / 8.0 * PAYLOAD as f64 / PACKET as f64 * 4.0;
        let used = rates.iter().sum::<u64>() as f64 / line;
        assert!(used > share && core.totals.marks > 0, "{used}");
        assert_eq!(core.totals.drops, 0);
        let wait = core.links.count(0).wait as f64 * 1024.0 / core.links.count(0).packets as f64;
        assert!(wait < 3.0 * core.links.get(0).mark as f64, "{wait}");
    }
}

#[test]
fn delayed_acknowledgements_are_half_as_many_and_lose_nothing() {
    let mut rules = rules();
    rules.delayed_ack = 40 * MS;
    let bell = Dumbbell {
        queue_bytes: 1 << 20,
        rules,
        ..gigabit(1)
    };
    let mut core = bell.build(&[(0, 1001 * PAYLOAD - 7, 0)]);
    assert_eq!(core.run(10 * SECOND, u64::MAX), Stop::Finished);
    assert!(core.connections[0].end != NEVER);
    core.run(20 * SECOND, u64::MAX);
    let acks = core.links.count(2).packets;
    assert!((500..=520).contains(&acks), "{acks}");
}

/// The mean window, in packets, of a flow of which every `apart`th packet is lost, over `losses` of
/// them after a few at first.
fn mean_window(growth: Growth, apart: u64, round_trip: u64, losses: u64) -> f64 {
    let mut rules = rules();
    rules.growth = growth;
    rules.recovery = Recovery::Sack;
    rules.most_window = 16_384;
    let bell = Dumbbell {
        access_bits: 100e9,
        bottleneck_bits: 100e9,
        delay: round_trip / 3,
        queue_bytes: 1 << 30,
        rules,
        ..gigabit(1)
    };
    let mut core = bell.build(&[(0, 1 << 40, 0)]);
    // Skip slow start: it would raise the window far above the level that this loss rate allows.
    core.senders[0].threshold = 10.0;
    let settled = losses / 4;
    let mut from = (0, 0);
    for loss in 0..losses {
        while core.links.count(0).packets + core.totals.drops < (loss + 1) * apart {
            core.run(u64::MAX - 1, 1);
        }
        core.links.change(0, |link| link.dead = 1);
        while core.totals.drops <= loss {
            core.run(u64::MAX - 1, 1);
        }
        core.links.change(0, |link| link.dead = 0);
        if loss == settled {
            from = (core.now, core.totals.received);
        }
    }
    assert_eq!(core.totals.timeouts, 0);
    let packets = (core.totals.received - from.1) as f64 / PAYLOAD as f64;
    packets * bell.round_trip() as f64 / (core.now - from.0) as f64
}

/// RFC 9438, 5.1: 1.054 (RTT / p)^0.75 packets for C = 0.4, where that is more than Reno's sqrt(1.5
/// / p).
#[test]
fn cubic_s_mean_window_is_the_standard_s() {
    for &(apart, losses) in short_or_long(&[(10_000, 60)][..], &[(10_000, 60), (100_000, 24)]) {
        let window = mean_window(Growth::Cubic, apart, SECOND / 10, losses);
        let expected = 1.054 * (0.1 * apart as f64).powf(0.75);
        assert!((window / expected - 1.0).abs() < 0.1, "{window} for {expected}");
    }
}

#[test]
fn cubic_is_as_fast_as_reno_where_round_trips_are_short() {
    for apart in [1_000, 10_000] {
        let (cubic, reno) = (
            mean_window(Growth::Cubic, apart, SECOND / 1000, 80),
            mean_window(Growth::Single, apart, SECOND / 1000, 80),
        );
        let expected = (1.5 * apart as f64).sqrt();
        assert!(
            (reno / expected - 1.0).abs() < 0.05,
            "Reno: {reno} for {expected}"
        );
        assert!(
            (cubic / expected - 1.0).abs() < 0.15,
            "CUBIC: {cubic} for {expected}"
        );
    }
}

/// The constant of Mathis and others (1997) for losses that are independent of each other and
/// acknowledgements of each packet.
#[test]
fn scattered_random_losses_leave_selective_acknowledgements_mathis_window() {
    for &(loss, secs) in &LOSSES[short_or_long(1, 0)..] {
        let mut rules = rules();
        rules.recovery = Recovery::Sack;
        let bell = Dumbbell {
            access_bits: 100e9,
            bottleneck_bits: 100e9,
            delay: 5 * MS,
            queue_bytes: 1 << 30,
            rules,
            ..gigabit(1)
        };
        let mut core = bell.build(&[(0, 1 << 40, 0)]);
        core.links
            .change(0, |link| link.loss = (loss * f64::from(u32::MAX)) as u32);
        let bytes = delivered_between(&mut core, 10 * SECOND, secs * SECOND)[0] as f64;
        let window = bytes / PAYLOAD as f64 / (secs - 10) as f64 * bell.round_trip() as f64 / SECOND as f64;
        let mathis = 1.31 / loss.sqrt();
        assert!(
            (window / mathis - 1.0).abs() < 0.1,
            "{window} for {mathis} at {loss}"
        );
    }
}

/// Two flows that meet: the acknowledgements of each wait behind the data of the other and come in
/// bursts.
#[test]
fn opposite_flows_fill_a_line_in_both_directions_without_timeouts() {
    let mut rules = rules();
    rules.recovery = Recovery::Sack;
    let delay = 60 * US;
    let link = Link::new(1e9, delay, 33_000, PACKET);
    let mut core = Core::new(rules, vec![link; 4], 4, 2 * delay);
    for (flow, (there, back)) in [([0, 1], [2, 3]), ([2, 3], [0, 1])].into_iter().enumerate() {
        let there = core.add_route(there, flow as u32, false);
        let back = core.add_route(back, flow as u32, true);
        core.add_connection(50_000_000, flow as u64 * 37 * US, &[(there, back, 4 * delay)]);
        // Slow start is not tested here, and would lose packets by the dozen.
        core.senders[flow].threshold = 20.0;
    }
    core.start();
    assert_eq!(core.run(100 * SECOND, u64::MAX), Stop::Finished);
    let used = 50_000_000.0 * 8.0 / 1e9 / (core.now as f64 / SECOND as f64);
    assert!(used > 0.6, "{used} of the line, {:?}", core.totals);
    assert_eq!(core.totals.timeouts, 0);
    assert_eq!(core.totals.again, core.totals.drops);
}
