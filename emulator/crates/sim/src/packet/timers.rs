//! Timers of subflows, and the earliest time at which the next one can be due.
//!
//! There are few timers compared with packets, so they have their own event queue (`wheel`). The
//! event loop compares a single number to see that no timer is due before the next packet.

use super::wheel::Wheel;

/// Timers `0..timers`, each due at one time or not set.
#[derive(Debug)]
pub(super) struct Timers {
    wheel: Wheel,
    /// No timer is due before this time.
    soonest: u64,
}

impl Timers {
    /// Timers that are mostly due within `turn` ps; among events of equal time they are numbered
    /// from `first`.
    pub fn new(first: u32, timers: usize, turn: u64) -> Timers {
        let wheel = Wheel::numbered_from(first, timers, turn, timers);
        Timers {
            soonest: wheel.soonest(),
            wheel,
        }
    }

    /// A time, in ps, before which none is due.
    #[inline]
    pub fn soonest(&self) -> u64 {
        self.soonest
    }

    /// The time at which a timer is due; [`super::wheel::NEVER`] if it is not set.
    #[inline]
    pub fn due(&self, timer: u32) -> u64 {
        self.wheel.due(timer)
    }

    /// Sets a timer that is not set.
    pub fn push(&mut self, timer: u32, time: u64) {
        self.wheel.push(timer, time);
        self.soonest = self.soonest.min(time);
    }

    /// Cancels a timer.
    pub fn remove(&mut self, timer: u32) {
        self.wheel.remove(timer);
    }

    /// Removes and returns the next timer if it is due at `soonest`.
    pub fn pop(&mut self, soonest: u64) -> Option<u32> {
        let popped = self.wheel.pop(soonest);
        self.soonest = self.wheel.soonest();
        popped.map(|(_, timer)| timer)
    }
}
