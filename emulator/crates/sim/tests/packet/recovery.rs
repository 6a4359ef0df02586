//! Tahoe, Reno, NewReno and selective acknowledgements after several losses in one window, as Fall
//! and Floyd (1996) compare them.

use cubeyard_sim::packet::core::{Core, Stop};
use cubeyard_sim::packet::links::SECOND;
use cubeyard_sim::packet::rules::Recovery;

use crate::bench::{Dumbbell, MS, PAYLOAD, US, rules};

/// The result of a flow that lost consecutive packets of one window.
#[derive(Debug)]
struct Told {
    timeouts: u64,
    least_window: f64,
    again: u64,
    end: u64,
}

/// A flow with a window of 16 packets loses `losses` in a row, once.
fn after(recovery: Recovery, losses: u64) -> Told {
    let mut rules = rules();
    rules.recovery = recovery;
    rules.initial_window = 16;
    let bell = Dumbbell {
        pairs: 1,
        access_bits: 100e6,
        bottleneck_bits: 100e6,
        delay: 10 * MS,
        queue_bytes: 1 << 20,
        rules,
    };
    let mut core = bell.build(&[(0, 400 * PAYLOAD, 5 * US)]);
    core.senders[0].threshold = 16.0;
    let step = |core: &mut Core| core.run(100 * SECOND, 1);
    while core.links.count(0).packets < 40 {
        step(&mut core);
    }
    core.links.change(0, |link| link.dead = 1);
    while core.totals.drops < losses {
        step(&mut core);
    }
    core.links.change(0, |link| link.dead = 0);
    let mut least_window = f64::INFINITY;
    while step(&mut core) != Stop::Finished {
        least_window = core.senders[0].window.min(least_window);
    }
    assert_eq!(core.totals.drops, losses);
    Told {
        timeouts: core.totals.timeouts,
        least_window,
        again: core.totals.again,
        end: core.connections[0].end,
    }
}

#[test]
fn one_loss_sends_tahoe_to_slow_start_and_halves_the_others() {
    let tahoe = after(Recovery::Tahoe, 1);
    assert_eq!((tahoe.least_window, tahoe.timeouts), (1.0, 0), "{tahoe:?}");
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        let told = after(recovery, 1);
        assert!(told.least_window >= 8.0, "{recovery:?}: {told:?}");
        assert_eq!((told.timeouts, told.again), (0, 1), "{recovery:?}: {told:?}");
        assert!(told.end < tahoe.end, "{recovery:?}: {told:?} beside {tahoe:?}");
    }
}

#[test]
fn several_losses_stop_reno_until_its_timer_and_not_the_others() {
    for losses in [3, 4] {
        let (tahoe, reno, new) = (
            after(Recovery::Tahoe, losses),
            after(Recovery::Reno, losses),
            after(Recovery::NewReno, losses),
        );
        assert!(reno.timeouts >= 1, "{reno:?}");
        assert_eq!((tahoe.timeouts, new.timeouts), (0, 0), "{tahoe:?} {new:?}");
        assert!(new.least_window > 2.0, "{new:?}");
        assert_eq!(
            new.again, losses,
            "one packet a round trip, and none that had arrived"
        );
        assert!(
            tahoe.again > losses,
            "packets that had arrived are sent again: {tahoe:?}"
        );
        assert!(
            new.end < reno.end && tahoe.end < reno.end,
            "{tahoe:?} {reno:?} {new:?}"
        );
    }
}

#[test]
fn two_losses_halve_reno_twice_and_new_reno_once() {
    let (reno, new) = (after(Recovery::Reno, 2), after(Recovery::NewReno, 2));
    assert!(reno.least_window < new.least_window, "{reno:?} {new:?}");
    assert_eq!((new.timeouts, new.again), (0, 2));
}

#[test]
fn selective_acknowledgements_send_all_losses_again_within_a_round_trip() {
    for losses in 1..=6 {
        let (sack, new) = (after(Recovery::Sack, losses), after(Recovery::NewReno, losses));
        assert_eq!((sack.timeouts, sack.again), (0, losses), "{sack:?}");
        assert!(sack.least_window >= 8.0, "the window is halved once: {sack:?}");
        assert!(sack.end <= new.end, "{losses} losses: {sack:?} beside {new:?}");
        // NewReno sends one lost packet a round trip of 30 ms.
        if losses > 2 {
            assert!(
                sack.end + (losses - 2) * 20 * MS < new.end,
                "{losses} losses: {sack:?} beside {new:?}"
            );
        }
    }
}

/// A flow of 300 packets of whose window of 32 the packets from the `from`th on are lost, every
/// `every`th of `losses`.
fn scattered(recovery: Recovery, losses: u64, every: u64) -> (u64, u64) {
    let mut rules = rules();
    rules.recovery = recovery;
    rules.initial_window = 32;
    let bell = Dumbbell {
        pairs: 1,
        access_bits: 100e6,
        bottleneck_bits: 100e6,
        delay: 10 * MS,
        queue_bytes: 1 << 20,
        rules,
    };
    let mut core = bell.build(&[(0, 300 * PAYLOAD, 5 * US)]);
    core.senders[0].threshold = 32.0;
    for loss in 0..losses {
        while core.links.count(0).packets + core.totals.drops < 70 + loss * every {
            core.run(100 * SECOND, 1);
        }
        core.links.change(0, |link| link.dead = 1);
        while core.totals.drops <= loss {
            core.run(100 * SECOND, 1);
        }
        core.links.change(0, |link| link.dead = 0);
    }
    assert_eq!(core.run(100 * SECOND, u64::MAX), Stop::Finished);
    (core.totals.timeouts, core.connections[0].end)
}

#[test]
fn scattered_losses_in_a_window_cost_selective_acknowledgements_no_timeouts() {
    let (mut timeouts, mut ends) = ([0, 0], [0, 0]);
    for losses in 4..=9 {
        for (place, recovery) in [Recovery::NewReno, Recovery::Sack].into_iter().enumerate() {
            let (more, end) = scattered(recovery, losses, 3);
            timeouts[place] += more;
            ends[place] += end;
        }
    }
    assert_eq!(timeouts[1], 0);
    // NewReno's timer is not restarted after the first of several losses, and expires before the
    // last is repaired.
    assert!(timeouts[0] > 0, "{timeouts:?}");
    assert!(ends[1] < ends[0], "{ends:?}");
}

/// A timer that expires in recovery must not raise the threshold above its value at the start of
/// recovery, because the data sent meanwhile exceeds the capacity of the path. Otherwise each
/// timeout is followed by the next burst of losses; ns-3 fills nine tenths of this line.
#[test]
fn a_burst_of_losses_in_slow_start_is_not_followed_by_others() {
    let bell = Dumbbell {
        pairs: 1,
        access_bits: 1e9,
        bottleneck_bits: 100e6,
        delay: MS,
        queue_bytes: 60_000,
        rules: rules(),
    };
    let mut core = bell.build(&[(0, 20_000_000, 5 * US)]);
    assert_eq!(core.run(100 * SECOND, u64::MAX), Stop::Finished);
    let used = 20_000_000.0 * 8.0 / 100e6 / (core.now as f64 / SECOND as f64);
    assert!(
        core.totals.drops > 20 && core.totals.timeouts <= 2,
        "{:?}",
        core.totals
    );
    assert!(used > 0.75, "{used} of the line");
}
