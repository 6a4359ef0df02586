//! The rate limit of events, the same as in `bpf/events.h`.

use crate::maps::{EVENT_BURST, EVENT_GAP_NANOS};

/// Lets events of one kind pass at a rate, with bursts after silence.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// When the next event would be due if all came evenly; may run ahead of the clock by a burst.
    due_nanos: u64,
}

impl Limit {
    /// Takes one event from what the limit allows at a time that never goes back.
    pub(crate) fn is_due(&mut self, now_nanos: u64) -> bool {
        let due = self.due_nanos.max(now_nanos);
        let passes = due <= now_nanos + EVENT_GAP_NANOS * (EVENT_BURST - 1);
        if passes {
            self.due_nanos = due + EVENT_GAP_NANOS;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut limit = Limit::default();
        let passed =
            |limit: &mut Limit, at: u64, asked: u64| (0..asked).filter(|_| limit.is_due(at)).count() as u64;
        assert_eq!(passed(&mut limit, 0, 1000), EVENT_BURST);
        assert_eq!(passed(&mut limit, 10 * EVENT_GAP_NANOS, 1000), 10);
        let later = EVENT_GAP_NANOS * EVENT_BURST * 100;
        assert_eq!(passed(&mut limit, later, 1000), EVENT_BURST);
    }
}
