//! Quantized congestion notification: the feedback of a queue to the sources of sampled packets,
//! and the rate at which a source then sends. (IEEE 802.1Qau, after version 2.3 of its authors'
//! pseudo-code; `[serverswitch §5.2]`)
//!
//! A congestion point samples a packet after a number of bytes, which shrinks as congestion grows.
//! A reaction point lowers its rate by the feedback, and raises it again after each cycle of bytes
//! or time: five times halfway back to the old rate, then further. Periods are drawn within 15 % of
//! their length, so that sources do not move together.
//!
//! Times are in picoseconds from any origin, the unit of the packet engine; the emulator converts
//! to it.
//!
//! Not here: how notices travel, and when a source sends.

/// One second in picoseconds.
pub const SECOND: u64 = 1_000_000_000_000;
/// A time that is never reached.
pub const NEVER: u64 = u64::MAX;

/// The largest quantized feedback: six bits.
pub const MOST_FEEDBACK: u32 = 63;
/// Bytes between samples by the upper three bits of the feedback, as shares of those of an idle
/// queue. (Pseudo-code 2.3)
const PERIODS: [f64; 8] = [
    1.0,
    0.5,
    1.0 / 3.0,
    0.25,
    0.2,
    1.0 / 6.0,
    21.5 / 150.0,
    18.5 / 150.0,
];
/// The least factor by which a notification reduces a rate.
const LEAST_FACTOR: f64 = 0.5;
/// The shortest period that is drawn, relative to its length, and the width of the range.
const SHORTEST: f64 = 0.85;
const RANGE: f64 = 0.3;
/// A target this number of times the rate after the first cycle...
const FAR: f64 = 10.0;
/// ...is divided by this.
const NEARER: f64 = 8.0;

/// The parameters of QCN.
#[derive(Clone, Debug, PartialEq)]
pub struct Qcn {
    /// The queue that a congestion point aims at, in bytes: `Q_EQ`.
    pub queue_bytes: u64,
    /// Weight of a queue's growth relative to its length: `w`.
    pub weight: f64,
    /// Bytes between samples while there is no congestion.
    pub sample_bytes: u64,
    /// The decrease of the rate per unit of feedback: `G_d`.
    pub gain: f64,
    /// Bytes of a cycle of a source: `BC_LIMIT`.
    pub cycle_bytes: u64,
    /// Cycles of fast recovery.
    pub recovery_cycles: u32,
    /// A cycle in time, in ps.
    pub timer: u64,
    /// The increase of the target per cycle after fast recovery, in bit/s: `R_AI`.
    pub increase: f64,
    /// The same, times the cycles since, once bytes and time are both beyond fast recovery:
    /// `R_HAI`.
    pub hyper_increase: f64,
    /// No rate is below this, in bit/s.
    pub least_rate: f64,
}

/// A length within 15 % of the usual one, by a draw from 0 to 1.
fn about(usual: f64, unit: f64) -> f64 {
    usual * (SHORTEST + RANGE * unit)
}

impl Qcn {
    /// The baseline parameters `[serverswitch §6.3]`, which are for lines of 1 Gb/s: on slower ones
    /// time goes slower and rates are smaller in the same proportion. `[ours]`
    pub fn baseline(queue_bytes: u64, line: f64) -> Qcn {
        let scale = line / 1e9;
        Qcn {
            queue_bytes,
            weight: 2.0,
            sample_bytes: 150_000,
            gain: 1.0 / 128.0,
            cycle_bytes: 150_000,
            recovery_cycles: 5,
            timer: (0.015 / scale * SECOND as f64) as u64,
            increase: 5e6 * scale,
            hyper_increase: 50e6 * scale,
            least_rate: 10e6 * scale,
        }
    }

    /// The quantized feedback of a queue that had `old` bytes at the last sample; 0: it is not
    /// congested.
    pub fn feedback(&self, queue: u64, old: u64) -> u32 {
        let (queue, old, aim) = (queue as f64, old as f64, self.queue_bytes as f64);
        let most = aim * (1.0 + 2.0 * self.weight);
        let excess = (queue - aim) + self.weight * (queue - old);
        (excess.clamp(0.0, most) / most * f64::from(MOST_FEEDBACK)) as u32
    }

    /// Bytes until the next sample after this feedback.
    fn period(&self, feedback: u32, unit: f64) -> i64 {
        about(self.mean_period(feedback), unit) as i64
    }

    /// The same on average.
    pub fn mean_period(&self, feedback: u32) -> f64 {
        self.sample_bytes as f64 * PERIODS[feedback.min(MOST_FEEDBACK) as usize / PERIODS.len()]
    }

    fn cycle(&self, beyond: bool, unit: f64) -> i64 {
        let bytes = self.cycle_bytes as f64 / if beyond { 2.0 } else { 1.0 };
        about(bytes, unit) as i64
    }

    fn time(&self, beyond: bool, unit: f64) -> u64 {
        let time = self.timer as f64 / if beyond { 2.0 } else { 1.0 };
        (about(time, unit) as u64).max(1)
    }
}

/// A queue's congestion point.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Bytes before the next sample.
    left: i64,
    /// The queue at the last sample, in bytes.
    old: u32,
    /// The number of samples so far.
    samples: u32,
}

impl Point {
    /// A congestion point with an empty queue.
    pub fn new(qcn: &Qcn) -> Point {
        Point {
            left: qcn.sample_bytes as i64,
            old: 0,
            samples: 0,
        }
    }

    /// Packets that it has looked at.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// A packet has joined the queue; whether it is a sample.
    #[inline]
    pub fn count(&mut self, bytes: u32) -> bool {
        self.left -= i64::from(bytes);
        self.left < 0
    }

    /// The feedback for a sample if `queue` bytes wait. `unit` is a random number from 0 to 1.
    pub fn sample(&mut self, qcn: &Qcn, queue: u64, unit: f64) -> u32 {
        let feedback = qcn.feedback(queue, u64::from(self.old));
        self.old = u32::try_from(queue).unwrap_or(u32::MAX);
        self.samples += 1;
        self.left = qcn.period(feedback, unit);
        feedback
    }
}

/// A subflow's reaction point. It limits its rate from the first notice until the rate is the
/// line's again.
#[derive(Clone, Copy, Debug)]
pub struct Reaction {
    /// The current rate in bit/s.
    rate: f64,
    /// The rate before the reduction, to which it recovers.
    target: f64,
    /// The rate of the link.
    line: f64,
    /// Bytes left in this cycle.
    left: i64,
    /// Number of cycles of bytes that have ended since the last notification, and of cycles of
    /// time.
    cycles: u32,
    ticks: u32,
    /// End of this cycle of time; [`NEVER`]: time does not limit.
    timer: u64,
    /// The time at which the next packet can be sent.
    pub free: u64,
    /// A packet waits for that.
    pub waits: bool,
}

impl Reaction {
    /// A reaction point without a limit.
    pub const IDLE: Reaction = Reaction {
        rate: 0.0,
        target: 0.0,
        line: 0.0,
        left: 0,
        cycles: 0,
        ticks: 0,
        timer: NEVER,
        free: 0,
        waits: false,
    };

    /// The rate that it limits to, in bit/s; `None`: it does not.
    pub fn limit(&self) -> Option<f64> {
        (self.timer != NEVER).then_some(self.rate)
    }

    /// The end of its cycle of time.
    pub fn timer(&self) -> u64 {
        self.timer
    }

    /// It limits no longer.
    pub fn stop(&mut self) {
        self.timer = NEVER;
    }

    /// A notice has arrived. `line` is the rate of the subflow's first link in bit/s.
    pub fn told(&mut self, qcn: &Qcn, feedback: u32, line: f64, now: u64, unit: f64) {
        if self.timer == NEVER {
            (self.rate, self.target, self.left) = (line, line, qcn.cycle(false, unit));
            self.free = now;
        } else if self.cycles != 0 {
            // Within the first cycle another notification does not change the target.
            (self.target, self.left) = (self.rate, qcn.cycle(false, unit));
        }
        (self.line, self.cycles, self.ticks) = (line, 0, 0);
        let factor = (1.0 - qcn.gain * f64::from(feedback)).max(LEAST_FACTOR);
        self.rate = (self.rate * factor).max(qcn.least_rate.min(line));
        self.timer = now + qcn.time(false, unit);
    }

    /// Time that this number of bytes takes at the limited rate, in ps.
    pub fn service(&self, bytes: u32) -> u64 {
        (f64::from(bytes) * 8.0 / self.rate * SECOND as f64) as u64
    }

    /// A packet was sent under the limit.
    pub fn sent(&mut self, qcn: &Qcn, bytes: u32, now: u64, unit: f64) {
        self.free = self.free.max(now) + self.service(bytes);
        self.left -= i64::from(bytes);
        if self.left < 0 {
            self.cycles += 1;
            self.left = qcn.cycle(self.cycles > qcn.recovery_cycles, unit);
            self.raise(qcn);
        }
    }

    /// Ends a cycle of time.
    pub fn tick(&mut self, qcn: &Qcn, now: u64, unit: f64) {
        self.ticks += 1;
        self.timer = now + qcn.time(self.ticks > qcn.recovery_cycles, unit);
        self.raise(qcn);
    }

    /// Ends a cycle: the rate moves halfway to its target, which rises after fast recovery.
    fn raise(&mut self, qcn: &Qcn) {
        let (most, least) = (self.cycles.max(self.ticks), self.cycles.min(self.ticks));
        if most == 1 && self.target > FAR * self.rate {
            self.target /= NEARER;
        } else if least > qcn.recovery_cycles {
            self.target += qcn.hyper_increase * f64::from(least - qcn.recovery_cycles);
        } else if most > qcn.recovery_cycles {
            self.target += qcn.increase;
        }
        self.target = self.target.min(2.0 * self.line);
        self.rate = self.rate.midpoint(self.target);
        if self.rate >= self.line {
            self.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: f64 = 1e9;

    fn qcn() -> Qcn {
        Qcn::baseline(50_000, LINE)
    }

    /// Feedback by length and growth, and bytes to the next sample, as the pseudo-code's table has
    /// them.
    #[test]
    fn feedback_and_samples_are_those_of_the_pseudo_code() {
        let qcn = qcn();
        for (queue, old, feedback) in [
            (50_000, 50_000, 0),
            (49_000, 0, 24),
            (75_000, 75_000, 6),
            (75_000, 87_500, 0),
            (100_000, 50_000, 37),
            (150_000, 100_000, 50),
            (300_000, 300_000, 63),
            (300_000, 0, 63),
        ] {
            assert_eq!(qcn.feedback(queue, old), feedback, "{queue} after {old}");
        }
        let periods: Vec<i64> = (0..64)
            .step_by(8)
            .map(|feedback| qcn.period(feedback, 0.5))
            .collect();
        assert_eq!(
            periods,
            [150_000, 75_000, 50_000, 37_500, 30_000, 25_000, 21_500, 18_500]
        );
        assert_eq!((qcn.period(7, 0.0), qcn.period(0, 1.0)), (127_500, 172_500));
    }

    /// One notice, then only cycles of bytes: five times halfway back, then 5 Mb/s more each.
    #[test]
    fn a_rate_recovers_by_halves_and_then_grows() {
        let qcn = qcn();
        let mut point = Reaction::IDLE;
        point.told(&qcn, 32, LINE, 0, 0.5);
        assert_eq!(point.limit(), Some(0.75 * LINE));
        let mut missing = 0.25 * LINE;
        for _ in 0..5 {
            for _ in 0..=150_000 / 1500 {
                point.sent(&qcn, 1500, 0, 0.5);
            }
            missing /= 2.0;
            assert_eq!(point.limit(), Some(LINE - missing));
        }
        for _ in 0..=75_000 / 1500 + 50 {
            point.sent(&qcn, 1500, 0, 0.5);
        }
        assert_eq!(point.target, LINE + 5e6);
        // A second notification in the first cycle does not change the target.
        let mut point = Reaction::IDLE;
        point.told(&qcn, 63, LINE, 0, 0.5);
        point.told(&qcn, 63, LINE, 0, 0.5);
        assert_eq!(point.target, LINE);
        assert!(point.rate < 0.26 * LINE && point.rate > 0.25 * LINE);
    }

    proptest! {
        /// For any feedback and traffic, rates stay between the minimum and the line rate, and
        /// feedback fits its bits.
        #[test]
        fn rates_stay_within_their_limits(
            steps in proptest::collection::vec((0..4u32, 0..64u32, 0.0..1.0f64), 1..300),
            line in 1e6..1e11f64,
            queues in (0..u64::MAX / 4, 0..u64::MAX / 4),
        ) {
            let qcn = qcn();
            prop_assert!(qcn.feedback(queues.0, queues.1) <= MOST_FEEDBACK);
            let mut point = Reaction::IDLE;
            let mut now = 0;
            for (step, feedback, unit) in steps {
                now += SECOND / 1000;
                match (step, point.limit()) {
                    (0, _) => point.told(&qcn, feedback.max(1), line, now, unit),
                    (1, Some(_)) => point.tick(&qcn, now, unit),
                    (_, Some(_)) => point.sent(&qcn, 1500, now, unit),
                    _ => {}
                }
                if let Some(rate) = point.limit() {
                    prop_assert!(rate < line * (1.0 + 1e-12) && rate >= qcn.least_rate.min(line), "{rate} of {line}");
                    prop_assert!(point.service(1500) > 0);
                }
            }
        }
    }
}
