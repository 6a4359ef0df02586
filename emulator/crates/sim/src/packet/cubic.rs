//! CUBIC: a window that grows by the time since the last loss, not by round trips. (RFC 9438)
//!
//! Windows count packets, times are in seconds here. Not here: slow start, recovery and timers,
//! which are those of `tcp`.

use super::links::SECOND;

/// The cubic's steepness, in packets per s^3. (RFC 9438, 5)
const STEEPNESS: f64 = 0.4;
/// The factor by which a loss reduces the window. (RFC 9438, 4.6)
pub const DECREASE: f64 = 0.7;
/// Growth of the estimate of Reno's window, in packets a round trip: fair to Reno at [`DECREASE`].
/// (RFC 9438, 4.3)
const RENO_STEP: f64 = 3.0 * (1.0 - DECREASE) / (1.0 + DECREASE);
/// The most that a round trip may multiply the window by. (RFC 9438, 4.2)
const MOST_GROWTH: f64 = 1.5;

/// CUBIC's state per subflow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cubic {
    /// The window at the last loss, reduced if losses occur before the window is that large again.
    plateau: f64,
    /// The window just before the last loss.
    before: f64,
    /// The window of Reno in the same situation.
    reno: f64,
    /// Time from the start of this congestion avoidance to the plateau, in s.
    ascent: f64,
    /// When this congestion avoidance started, in ps; `None` before its first acknowledgement.
    since: Option<u64>,
    /// After a fast retransmission the curve rises to the plateau. Otherwise it starts at the
    /// present window.
    climbs: bool,
}

impl Cubic {
    /// Reduces the window after a loss or a mark. After a timeout the next congestion avoidance
    /// starts on a new plateau. (RFC 9438, 4.6 to 4.8)
    pub fn reduce(&mut self, window: f64, timeout: bool) {
        self.plateau = if window < self.plateau {
            window * (1.0 + DECREASE) / 2.0
        } else {
            window
        };
        self.before = window;
        self.since = None;
        self.climbs = !timeout;
    }

    /// The window after an acknowledgement of `packets` in congestion avoidance, with a round trip
    /// in ps.
    pub fn grow(&mut self, window: f64, packets: u32, now: u64, round_trip: u64) -> f64 {
        let since = *self.since.get_or_insert_with(|| {
            if !self.climbs {
                self.plateau = window;
            }
            self.ascent = ((self.plateau - window).max(0.0) / STEEPNESS).cbrt();
            self.reno = window;
            now
        });
        let secs = |ps: u64| ps as f64 / SECOND as f64;
        let at = |time: f64| self.plateau + STEEPNESS * (time - self.ascent).powi(3);
        let time = secs(now - since);
        let step = if self.reno < self.before { RENO_STEP } else { 1.0 };
        self.reno += step * f64::from(packets) / window;
        if at(time) < self.reno {
            return self.reno.max(window);
        }
        let target = at(time + secs(round_trip)).clamp(window, MOST_GROWTH * window);
        window + f64::from(packets) * (target - window) / window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Acknowledgements never shrink a window, and a round trip multiplies it by at most 1.5.
        #[test]
        fn windows_never_fall_and_never_leap(
            windows in proptest::collection::vec((2.0..10_000.0f64, any::<bool>()), 1..4),
            round_trip in 1_000_000u64..2 * SECOND,
            steps in proptest::collection::vec((0..SECOND, 1..3u32), 1..100),
        ) {
            let mut cubic = Cubic::default();
            let mut window = 10.0;
            for (at, timeout) in windows {
                cubic.reduce(at, timeout);
                window = at * DECREASE;
            }
            let mut now = 0;
            for (gap, packets) in steps {
                now += gap;
                let next = cubic.grow(window, packets, now, round_trip);
                let most = window + f64::from(packets) * (MOST_GROWTH - 1.0);
                prop_assert!(next >= window && next <= most.max(cubic.reno) * (1.0 + 1e-12), "{window} to {next}");
                window = next;
            }
        }
    }

    #[test]
    fn the_curve_is_back_at_the_plateau_after_the_ascent() {
        let mut cubic = Cubic::default();
        cubic.reduce(1000.0, false);
        let (mut window, mut now, round_trip) = (700.0, 0, SECOND / 10);
        let ascent = (300.0 / STEEPNESS).cbrt();
        while secs(now) < ascent {
            now += round_trip / window as u64;
            window = cubic.grow(window, 1, now, round_trip);
        }
        assert!((window / 1000.0 - 1.0).abs() < 0.01, "{window}");
    }

    fn secs(ps: u64) -> f64 {
        ps as f64 / SECOND as f64
    }
}
