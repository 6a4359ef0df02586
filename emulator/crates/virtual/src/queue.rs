//! Events in the order of their times, and of their arrival where times are equal: the same history
//! on every machine.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::time::Duration;

/// A queue of events.
#[derive(Debug)]
pub struct EventQueue<T> {
    now: Duration,
    heap: BinaryHeap<Reverse<Entry<T>>>,
    pushed: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Duration,
    number: u64,
    event: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Duration, u64) {
        (self.at, self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Entry<T>) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Entry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Entry<T>) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> EventQueue<T> {
        EventQueue {
            now: Duration::ZERO,
            heap: BinaryHeap::new(),
            pushed: 0,
        }
    }
}

impl<T> EventQueue<T> {
    /// The time of the latest event, or the one advanced to.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Adds an event that is due `after` from now. O(log n).
    pub fn push(&mut self, after: Duration, event: T) {
        self.pushed += 1;
        self.heap.push(Reverse(Entry {
            at: self.now + after,
            number: self.pushed,
            event,
        }));
    }

    /// Takes away the events for which `keep` does not hold. O(n).
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.heap.retain(|Reverse(entry)| keep(&entry.event));
    }

    /// The next event up to `end`, whose time is then now; `None`, and the time is `end`, where
    /// there is none. O(log n).
    pub fn pop_until(&mut self, end: Duration) -> Option<T> {
        if self.heap.peek().is_none_or(|Reverse(next)| next.at > end) {
            self.now = self.now.max(end);
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.at;
        Some(entry.event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_come_in_the_order_of_their_times_then_of_their_arrival(times in prop::collection::vec(0u64..20, 0..60), end in 0u64..25) {
            let mut queue = EventQueue::default();
            for (number, &millis) in times.iter().enumerate() {
                queue.push(Duration::from_millis(millis), number);
            }
            let end = Duration::from_millis(end);
            let mut came = Vec::new();
            while let Some(number) = queue.pop_until(end) {
                prop_assert_eq!(queue.now(), Duration::from_millis(times[number]));
                came.push(number);
            }
            let mut expected: Vec<usize> = (0..times.len()).filter(|&number| Duration::from_millis(times[number]) <= end).collect();
            expected.sort_by_key(|&number| (times[number], number));
            prop_assert_eq!(came, expected);
            prop_assert_eq!(queue.now(), end);
        }
    }
}
