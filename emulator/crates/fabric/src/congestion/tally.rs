//! Counters of the CPUs of a run's chips. CPUs are threads, so a lock guards the counters; a thread
//! holds it for one addition.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cubeyard_messages::{bucket, bucket_nanos};

/// Sums over the questions to one chip's CPU since they were last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Questions that reached the CPU.
    pub asked: u64,
    /// Sum of the queue lengths that it read.
    pub queue_bytes: u64,
    /// Answers that it sent.
    pub answered: u64,
    /// Time from each question until its answer was sent.
    pub reaction_nanos: u64,
    /// Time from each question until the network had forwarded its answer.
    pub sent_nanos: u64,
}

/// Distribution of reaction times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reactions {
    answered: u64,
    sum_nanos: u64,
    sent_nanos: u64,
    /// The longest reaction time.
    pub longest_nanos: u64,
    /// Answers by number of the histogram's bucket.
    buckets: BTreeMap<u16, u64>,
}

impl Reactions {
    /// Average reaction time; 0 without answers.
    pub fn mean_nanos(&self) -> u64 {
        self.sum_nanos / self.answered.max(1)
    }

    /// Average time until the network had forwarded an answer; 0 without answers.
    pub fn mean_sent_nanos(&self) -> u64 {
        self.sent_nanos / self.answered.max(1)
    }

    /// The reaction time that this share of answers did not exceed, to the width of a bucket; 0
    /// without answers.
    pub fn share_nanos(&self, share: f64) -> u64 {
        let wanted = (share * self.answered as f64).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|(_, count)| {
            seen += **count;
            seen >= wanted
        });
        bucket.map_or(0, |(number, _)| bucket_nanos(*number).min(self.longest_nanos))
    }

    fn add(&mut self, nanos: u64, sent_nanos: u64) {
        self.answered += 1;
        self.sent_nanos = self.sent_nanos.saturating_add(sent_nanos);
        self.sum_nanos = self.sum_nanos.saturating_add(nanos);
        self.longest_nanos = self.longest_nanos.max(nanos);
        *self.buckets.entry(bucket(nanos)).or_default() += 1;
    }
}

#[derive(Debug, Default)]
struct Counted {
    asked: u64,
    reactions: Reactions,
    /// Sums since the last [`Tally::take_seconds`], by server.
    seconds: BTreeMap<usize, Second>,
}

/// Counters since the start of the run.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counted>);

impl Tally {
    /// Counts a question to a server's CPU, and the queue length at that time.
    pub fn asked_for(&self, server: usize, queue_bytes: u64) {
        let mut counted = self.counted();
        counted.asked += 1;
        let second = counted.seconds.entry(server).or_default();
        second.asked += 1;
        second.queue_bytes += queue_bytes;
    }

    /// Counts an answer: it was sent `nanos` after the chip forwarded the question, and the network
    /// had forwarded it after `sent_nanos`.
    pub fn reacted(&self, server: usize, nanos: u64, sent_nanos: u64) {
        let mut counted = self.counted();
        counted.reactions.add(nanos, sent_nanos);
        let second = counted.seconds.entry(server).or_default();
        second.answered += 1;
        second.reaction_nanos += nanos;
        second.sent_nanos += sent_nanos;
    }

    /// Number of questions so far.
    pub fn asked(&self) -> u64 {
        self.counted().asked
    }

    /// The reaction times so far.
    pub fn reactions(&self) -> Reactions {
        self.counted().reactions.clone()
    }

    /// Sums of each server's CPU since the last call.
    pub fn take_seconds(&self) -> BTreeMap<usize, Second> {
        std::mem::take(&mut self.counted().seconds)
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_answers_are_accurate_to_a_sixteenth() {
        let tally = Tally::default();
        assert_eq!(tally.reactions().share_nanos(0.5), 0);
        for nanos in 1..=1000 {
            tally.asked_for(3, 10);
            tally.reacted(3, nanos * 100, nanos * 200);
        }
        let reactions = tally.reactions();
        for (share, nanos) in [(0.5, 50_000), (0.99, 99_000)] {
            let nearest = reactions.share_nanos(share);
            assert!(nearest.abs_diff(nanos) <= nanos / 16, "{nearest} for {nanos}");
        }
        assert_eq!(
            (reactions.mean_nanos(), reactions.longest_nanos),
            (50_050, 100_000)
        );
        assert_eq!(reactions.mean_sent_nanos(), 100_100);
        let seconds = tally.take_seconds();
        let second = Second {
            asked: 1000,
            queue_bytes: 10_000,
            answered: 1000,
            reaction_nanos: 50_050_000,
            sent_nanos: 100_100_000,
        };
        assert_eq!(seconds, BTreeMap::from([(3, second)]));
        assert!(tally.take_seconds().is_empty());
        assert_eq!(tally.asked(), 1000);
    }
}
