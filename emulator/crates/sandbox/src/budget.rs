//! Limits the computation of an instance, and restarts it with increasing delays after failures.

use std::time::Duration;

use crate::limits::{
    ANSWERS_AT_ONCE, ANSWERS_PER_SEC, FAILURES, FAILURES_WITHIN, FIRST_STOP, FUEL_PER_SEC, FUEL_SAVED,
    LONGEST_STOP,
};

/// Time since the origin of the caller's clock.
pub type Time = Duration;

/// Fuel and answers that an instance has left.
#[derive(Clone, Debug)]
pub struct Budget {
    fuel: u64,
    answers: f64,
    since: Time,
}

impl Budget {
    /// A full budget.
    pub fn new(now: Time) -> Budget {
        Budget {
            fuel: FUEL_SAVED,
            answers: ANSWERS_AT_ONCE,
            since: now,
        }
    }

    /// Adds what the time that passed brings.
    pub fn refill(&mut self, now: Time) {
        let passed = now.saturating_sub(self.since);
        let fuel = passed.as_nanos() * u128::from(FUEL_PER_SEC) / 1_000_000_000;
        // Less than one unit waits for more time to pass.
        if fuel > 0 {
            self.fuel = FUEL_SAVED.min(self.fuel + u64::try_from(fuel).unwrap_or(FUEL_SAVED));
            self.answers = ANSWERS_AT_ONCE.min(self.answers + passed.as_secs_f64() * ANSWERS_PER_SEC);
            self.since = now;
        }
    }

    /// Fuel that is left.
    pub fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Takes the used fuel, or all that is left.
    pub fn burn(&mut self, fuel: u64) {
        self.fuel = self.fuel.saturating_sub(fuel);
    }

    /// Takes an answer, if there is one left.
    pub fn take_answer(&mut self) -> bool {
        let left = self.answers >= 1.0;
        if left {
            self.answers -= 1.0;
        }
        left
    }
}

/// Failed calls, and the stop that follows from many.
#[derive(Clone, Debug, Default)]
pub struct Failures {
    since: Time,
    count: u32,
    stops: u32,
    until: Option<Time>,
}

impl Failures {
    /// A call failed. Whether the instance stops now.
    pub fn on_failure(&mut self, now: Time) -> bool {
        if now.saturating_sub(self.since) > FAILURES_WITHIN {
            self.since = now;
            self.count = 0;
        }
        self.count += 1;
        let stops = self.count >= FAILURES;
        if stops {
            self.stop(now);
        }
        stops
    }

    /// Stops the instance now; each stop lasts twice as long as the one before, up to a limit.
    pub fn stop(&mut self, now: Time) {
        let doubled = FIRST_STOP.saturating_mul(1 << self.stops.min(16));
        self.until = Some(now + doubled.min(LONGEST_STOP));
        self.stops += 1;
        self.count = 0;
    }

    /// Until when it is stopped.
    pub fn stopped_until(&self) -> Option<Time> {
        self.until
    }

    /// Records that the instance starts again.
    pub fn on_start(&mut self) {
        self.until = None;
    }

    /// How often it was stopped.
    pub fn stops(&self) -> u32 {
        self.stops
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_a_seconds_fuel_however_often_it_is_looked_at() {
        for looks in [1, 7, 1000, 1_000_000] {
            let mut budget = Budget::new(Duration::ZERO);
            budget.burn(FUEL_SAVED);
            for look in 1..=looks {
                budget.refill(Duration::from_nanos(200_000_000 * look / looks));
            }
            let wanted = FUEL_PER_SEC / 5;
            assert!(
                budget.fuel() <= wanted && budget.fuel() * 100 >= wanted * 90,
                "{looks}: {}",
                budget.fuel()
            );
        }
    }

    #[test]
    fn stops_become_longer_up_to_a_limit() {
        let mut failures = Failures::default();
        let mut now = Duration::ZERO;
        let mut stops = Vec::new();
        for _ in 0..9 {
            while !failures.on_failure(now) {}
            let until = failures.stopped_until().unwrap();
            stops.push((until - now).as_secs());
            now = until;
            failures.on_start();
        }
        assert_eq!(stops, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn failures_now_and_then_stop_nothing() {
        let mut failures = Failures::default();
        assert!((0..1000).all(|second| !failures.on_failure(Duration::from_secs(2 * second))));
    }
}
