//! How much of something is taken in: a token bucket.

use std::time::Duration;

use crate::protocol::Time;

/// Lets `per_sec` through on average and twice a second's worth at once. `[ours]`
#[derive(Clone, Debug)]
pub struct RateLimit {
    per_sec: f64,
    tokens: f64,
    filled_at: Time,
}

impl RateLimit {
    /// A full bucket.
    pub fn new(per_sec: f64) -> RateLimit {
        RateLimit {
            per_sec,
            tokens: 2.0 * per_sec,
            filled_at: Duration::ZERO,
        }
    }

    /// Takes one; whether there was one.
    pub fn take(&mut self, now: Time) -> bool {
        let filled = self.tokens + now.saturating_sub(self.filled_at).as_secs_f64() * self.per_sec;
        self.tokens = filled.min(2.0 * self.per_sec);
        self.filled_at = now;
        let taken = self.tokens >= 1.0;
        if taken {
            self.tokens -= 1.0;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_cut_to_the_rate() {
        let mut limit = RateLimit::new(100.0);
        let through = (0..100_000)
            .filter(|micros| limit.take(Duration::from_micros(micros * 100)))
            .count();
        assert!((1190..=1210).contains(&through), "{through} in ten seconds");
    }
}
