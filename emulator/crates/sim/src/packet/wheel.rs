//! An event queue for timers: a timing wheel in which every timer has at most one event. Packets
//! are in a `calendar`.
//!
//! The wheel has buckets of a power of two of picoseconds. An event within one turn of the wheel is
//! in the list of its bucket, which is linked through the columns `next` and `time`; the events of
//! the current bucket are sorted in `current`. Later events (retransmission timers, starts) wait in
//! a heap. Events come out by time; nothing is allocated once the vectors have grown to what a run
//! needs. `[ours]`
//!
//! Events at the same time come in random order, by a hash of that time. Acknowledgements clock
//! senders by the departures of one queue, so their packets reach the queue simultaneously again
//! and again. If the lowest number were always first, its sender would take every free slot, and
//! the others would lose whole windows. `[floyd-jacobson: phase effects]`

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Marks the absence of an event.
pub const NEVER: u64 = u64::MAX;
/// End of a bucket's list.
const NONE: u32 = u32::MAX;
/// In place of a successor: the event waits in the heap.
const IN_HEAP: u32 = u32::MAX - 1;
/// The widest bucket, in bits of picoseconds: offsets within it fit the upper half of a key.
const MAX_SHIFT: u32 = 31;

/// A mask that converts an event's number to its order among the events of a time, and back. For
/// any two events, each is first at half of all times.
#[inline]
pub(super) fn draw(time: u64) -> u32 {
    (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// An event queue for events `0..events`.
#[derive(Debug)]
pub struct Wheel {
    /// Log2 of a bucket's width in picoseconds.
    shift: u32,
    mask: u64,
    /// An offset added to an event's number where the number decides the order of events at one
    /// time.
    first: u32,
    /// The bucket whose events are in `current`.
    now: u64,
    heads: Vec<u32>,
    /// One bit per bucket that is not empty, one bit per word of these, and one bit per word of
    /// those.
    occupied: [Vec<u64>; 3],
    /// Events of the bucket `now`, the next one last: offset in the bucket in the upper half, place
    /// among those of one time in the lower.
    current: Vec<u64>,
    far: BinaryHeap<Reverse<(u64, u32)>>,
    time: Vec<u64>,
    next: Vec<u32>,
}

impl Wheel {
    /// An empty wheel whose turn is at least `turn` picoseconds long, with about eight buckets for
    /// each of `busy` events that are due within a turn, so that most buckets have at most one
    /// event and need no sorting.
    pub fn new(events: usize, turn: u64, busy: usize) -> Wheel {
        Wheel::numbered_from(0, events, turn, busy)
    }

    /// The same for events that stand, among those of one time, as if they were numbered from
    /// `first` on.
    pub(super) fn numbered_from(first: u32, events: usize, turn: u64, busy: usize) -> Wheel {
        let buckets = (8 * busy).clamp(1 << 12, 1 << 18).next_power_of_two();
        let width = (turn / buckets as u64).max(1).next_power_of_two();
        let words = buckets / 64;
        Wheel {
            shift: width.trailing_zeros().min(MAX_SHIFT),
            mask: buckets as u64 - 1,
            first,
            now: 0,
            heads: vec![NONE; buckets],
            occupied: [
                vec![0; words],
                vec![0; words.div_ceil(64)],
                vec![0; words.div_ceil(64 * 64)],
            ],
            current: Vec::with_capacity(64),
            far: BinaryHeap::new(),
            time: vec![NEVER; events],
            next: vec![NONE; events],
        }
    }

    /// Bytes that an event's place takes, whether or not it is due.
    pub const BYTES_PER_EVENT: usize = 12;

    /// When an event is due; [`NEVER`] when it is not.
    #[inline]
    pub fn due(&self, event: u32) -> u64 {
        self.time[event as usize]
    }

    /// Adds an event that is not scheduled yet. Its time must not be before the last event that
    /// came out, nor before an `until` at which none did.
    #[inline]
    pub fn push(&mut self, event: u32, time: u64) {
        debug_assert_eq!(self.time[event as usize], NEVER, "an event has one time");
        self.time[event as usize] = time;
        let bucket = time >> self.shift;
        let ahead = bucket.wrapping_sub(self.now);
        if ahead == 0 {
            self.insert_current(event, time);
        } else if ahead <= self.mask {
            self.link(bucket, event);
        } else {
            debug_assert!(bucket > self.now, "time does not go back");
            self.next[event as usize] = IN_HEAP;
            self.far.push(Reverse((time, event)));
        }
    }

    #[inline]
    fn insert_current(&mut self, event: u32, time: u64) {
        let key = self.key(event, time);
        // New events are mostly the latest of their bucket, which come first.
        let place = self.current.partition_point(|&other| other > key);
        self.current.insert(place, key);
    }

    #[inline]
    fn key(&self, event: u32, time: u64) -> u64 {
        (time & ((1 << self.shift) - 1)) << 32 | u64::from((event + self.first) ^ draw(time))
    }

    #[inline]
    fn link(&mut self, bucket: u64, event: u32) {
        let slot = (bucket & self.mask) as usize;
        let head = std::mem::replace(&mut self.heads[slot], event);
        self.next[event as usize] = head;
        if head != NONE {
            return;
        }
        let (word, upper) = (slot / 64, slot / 4096);
        let before = self.occupied[0][word];
        self.occupied[0][word] = before | 1 << (slot % 64);
        if before == 0 {
            self.occupied[1][upper] |= 1 << (word % 64);
            self.occupied[2][upper / 64] |= 1 << (upper % 64);
        }
    }

    /// Takes an event out before it is due.
    pub fn remove(&mut self, event: u32) {
        let time = std::mem::replace(&mut self.time[event as usize], NEVER);
        if time == NEVER || self.next[event as usize] == IN_HEAP {
            // The heap keeps a stale entry with another time, which is skipped later.
            self.next[event as usize] = NONE;
            return;
        }
        let bucket = time >> self.shift;
        if bucket == self.now {
            let key = self.key(event, time);
            self.current.retain(|&other| other != key);
            return;
        }
        let slot = (bucket & self.mask) as usize;
        let successor = std::mem::replace(&mut self.next[event as usize], NONE);
        if self.heads[slot] == event {
            self.heads[slot] = successor;
            if successor == NONE {
                self.clear_bit(slot);
            }
            return;
        }
        let mut before = self.heads[slot];
        while self.next[before as usize] != event {
            before = self.next[before as usize];
        }
        self.next[before as usize] = successor;
    }

    /// The next event that is due at `until` or before.
    #[inline]
    pub fn pop(&mut self, until: u64) -> Option<(u64, u32)> {
        loop {
            if let Some(&key) = self.current.last() {
                let time = (self.now << self.shift) | (key >> 32);
                if time > until {
                    return None;
                }
                self.current.pop();
                let event = (key as u32 ^ draw(time)) - self.first;
                self.time[event as usize] = NEVER;
                return Some((time, event));
            }
            if !self.advance(until) {
                return None;
            }
        }
    }

    /// A time before which no event is due; [`NEVER`] if none is due at all.
    pub(super) fn soonest(&self) -> u64 {
        if let Some(&key) = self.current.last() {
            return (self.now << self.shift) | (key >> 32);
        }
        let near = self.next_bucket().map_or(NEVER, |bucket| bucket << self.shift);
        let far = self.far.peek().map_or(NEVER, |&Reverse((time, _))| time);
        near.min(far)
    }

    /// Advances to the next bucket that is not empty and starts at `until` or before; returns
    /// whether there is one.
    fn advance(&mut self, until: u64) -> bool {
        let mut bucket = self.next_bucket();
        // Far events that come before it, or into it, move to the wheel.
        while let Some(&Reverse((time, event))) = self.far.peek() {
            let far = time >> self.shift;
            if self.time[event as usize] != time || self.next[event as usize] != IN_HEAP {
                self.far.pop();
                continue;
            }
            if bucket.is_some_and(|bucket| far > bucket) || (bucket.is_none() && far << self.shift > until) {
                break;
            }
            self.far.pop();
            self.next[event as usize] = NONE;
            bucket = Some(far);
            if far - self.now > self.mask {
                // The wheel is empty: it starts again from here.
                self.now = far;
                self.insert_current(event, time);
            } else if far == self.now {
                self.insert_current(event, time);
            } else {
                self.link(far, event);
            }
        }
        let Some(bucket) = bucket.filter(|bucket| bucket << self.shift <= until) else {
            return !self.current.is_empty();
        };
        if bucket == self.now && !self.current.is_empty() {
            return true;
        }
        self.now = bucket;
        let slot = (bucket & self.mask) as usize;
        let mut event = std::mem::replace(&mut self.heads[slot], NONE);
        // A list is in reverse order of insertion, and later insertions are mostly due later, so it
        // is nearly in the order of `current`.
        while event != NONE {
            let key = self.key(event, self.time[event as usize]);
            self.current.push(key);
            event = std::mem::replace(&mut self.next[event as usize], NONE);
        }
        self.clear_bit(slot);
        match self.current[..] {
            [_] => {}
            [ref mut item, ref mut other] => {
                if *item < *other {
                    std::mem::swap(item, other);
                }
            }
            _ => self.current.sort_unstable_by(|a, b| b.cmp(a)),
        }
        true
    }

    fn clear_bit(&mut self, slot: usize) {
        let (word, upper) = (slot / 64, slot / 4096);
        self.occupied[0][word] &= !(1 << (slot % 64));
        if self.occupied[0][word] == 0 {
            self.occupied[1][upper] &= !(1 << (word % 64));
            if self.occupied[1][upper] == 0 {
                self.occupied[2][upper / 64] &= !(1 << (upper % 64));
            }
        }
    }

    /// The first bucket after `now`, within one turn, that is not empty.
    fn next_bucket(&self) -> Option<u64> {
        let slot = (self.now & self.mask) as usize;
        let found = self.bit_from(slot + 1).or_else(|| self.bit_from(0))?;
        let ahead = (found as u64).wrapping_sub(self.now) & self.mask;
        Some(self.now + ahead)
    }

    /// The first occupied slot from `slot` on.
    fn bit_from(&self, slot: usize) -> Option<usize> {
        fn first(words: &[u64], from: usize) -> Option<usize> {
            let word = words.get(from / 64)? & (u64::MAX << (from % 64));
            (word != 0).then(|| from / 64 * 64 + word.trailing_zeros() as usize)
        }
        first(&self.occupied[0], slot).or_else(|| {
            let word = slot / 64 + 1;
            let upper = first(&self.occupied[1], word).or_else(|| {
                // One word is enough for the largest wheel.
                let top = first(&self.occupied[2], word / 64 + 1)?;
                first(&self.occupied[1], top * 64)
            })?;
            first(&self.occupied[0], upper * 64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// A random action of a caller.
    #[derive(Clone, Debug)]
    enum Step {
        /// Push an event this number of picoseconds after the last one that came out.
        Push(u32, u64),
        Remove(u32),
        Pop(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let after = prop_oneof![0..50u64, 0..5_000u64, 0..5_000_000u64, 0..5_000_000_000_000u64];
        prop_oneof![
            4 => (0..40u32, after.clone()).prop_map(|(event, after)| Step::Push(event, after)),
            1 => (0..40u32).prop_map(Step::Remove),
            3 => after.prop_map(Step::Pop),
        ]
    }

    proptest! {
        #[test]
        fn events_come_out_by_time_and_those_of_one_time_as_drawn(
            turn in prop_oneof![Just(1u64), Just(1_000_000), Just(u64::MAX / 2)],
            steps in proptest::collection::vec(step(), 1..400),
        ) {
            let mut wheel = Wheel::new(40, turn, 64);
            let mut sorted: BTreeSet<(u64, u32)> = BTreeSet::new();
            let place = |event: u32, time: u64| (time, event ^ draw(time));
            let event_at = |(time, place): (u64, u32)| (time, place ^ draw(time));
            let mut now = 0;
            for step in steps {
                match step {
                    Step::Push(event, after) => {
                        if wheel.due(event) == NEVER {
                            wheel.push(event, now + after);
                            sorted.insert(place(event, now + after));
                        }
                    }
                    Step::Remove(event) => {
                        sorted.remove(&place(event, wheel.due(event)));
                        wheel.remove(event);
                    }
                    Step::Pop(after) => {
                        let until = now + after;
                        let expected = sorted.first().copied().filter(|&(time, _)| time <= until);
                        prop_assert_eq!(wheel.pop(until), expected.map(event_at));
                        now = expected.map_or(until, |(time, _)| time);
                        if let Some(first) = expected {
                            sorted.remove(&first);
                        }
                    }
                }
            }
            while let Some(first) = sorted.pop_first() {
                prop_assert_eq!(wheel.pop(NEVER - 1), Some(event_at(first)));
            }
            prop_assert_eq!(wheel.pop(NEVER - 1), None);
        }
    }
    #[test]
    fn of_two_events_at_one_time_each_is_first_at_half_of_all_times() {
        let mut wheel = Wheel::new(40, 1_000_000, 64);
        let mut firsts = 0;
        for turn in 1..=1000 {
            // The time that a packet of 1500 bytes takes on a link of 100 Mb/s.
            let time = turn * 120_160_000;
            wheel.push(3, time);
            wheel.push(17, time);
            firsts += u32::from(wheel.pop(time) == Some((time, 3)));
            wheel.pop(time);
        }
        assert!((450..=550).contains(&firsts), "{firsts}");
    }
}
