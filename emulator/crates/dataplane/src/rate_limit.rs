//! Rate limits for messages, for rounds of probing, and for notices of the kernel
//! (`bpf/common/events.h`).

use std::time::Duration;

use crate::protocol::Time;

/// Limits the rate of events, with bursts after silence. It stores when the next event would be due
/// at regular intervals; this time may be ahead of the clock by the burst (GCRA).
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    gap_nanos: u64,
    burst: u64,
    due_nanos: u64,
}

impl RateLimit {
    /// One event per `gap_nanos` on average, and `burst` events (at least 1) at once after silence.
    pub const fn new(gap_nanos: u64, burst: u64) -> RateLimit {
        RateLimit {
            gap_nanos,
            burst,
            due_nanos: 0,
        }
    }

    /// `per_sec` events per second on average, and those of two seconds at once. `[ours]`
    pub fn per_sec(per_sec: f64) -> RateLimit {
        RateLimit::new((1e9 / per_sec) as u64, (2.0 * per_sec) as u64)
    }

    /// Counts an event; returns whether the limit allows it. `now` never decreases.
    pub fn take(&mut self, now: Time) -> bool {
        let now_nanos = now.as_nanos() as u64;
        let due = self.due_nanos.max(now_nanos);
        let passes = due <= now_nanos + self.gap_nanos * (self.burst - 1);
        if passes {
            self.due_nanos = due + self.gap_nanos;
        }
        passes
    }
}

/// Average time between notices of one kind from a forwarding: `CY_NOTICE_GAP_NANOS`.
pub const NOTICE_GAP_NANOS: u64 = 1_000_000;
/// Notices of one kind that may follow at once after silence: `CY_NOTICE_BURST`.
pub const NOTICE_BURST: u64 = 256;

/// The rate limit for one kind of notice.
pub const fn notices() -> RateLimit {
    RateLimit::new(NOTICE_GAP_NANOS, NOTICE_BURST)
}

/// Shorthand for a time in nanoseconds.
pub const fn nanos(nanos: u64) -> Time {
    Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(limit: &mut RateLimit, at_nanos: u64, events: u64) -> u64 {
        (0..events).filter(|_| limit.take(nanos(at_nanos))).count() as u64
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut limit = notices();
        assert_eq!(passed(&mut limit, 0, 1000), NOTICE_BURST);
        assert_eq!(passed(&mut limit, 10 * NOTICE_GAP_NANOS, 1000), 10);
        let later = NOTICE_GAP_NANOS * NOTICE_BURST * 100;
        assert_eq!(passed(&mut limit, later, 1000), NOTICE_BURST);
    }

    #[test]
    fn a_flood_is_cut_to_the_rate() {
        let mut limit = RateLimit::per_sec(100.0);
        let through = (0..100_000u64)
            .filter(|micros| limit.take(nanos(micros * 100_000)))
            .count();
        assert!((1190..=1210).contains(&through), "{through} in ten seconds");
    }
}
