//! Latencies of all clients' requests, per tick.

use std::collections::BTreeMap;

use cubeyard_messages::Latencies;

/// The nodes' reports, and which part of them is in frames already.
#[derive(Debug, Default)]
pub struct LatencyCounts {
    /// The latest report of each server.
    now: BTreeMap<usize, Latencies>,
    /// The report of each server at the last frame.
    told: BTreeMap<usize, Latencies>,
    longest_nanos: u64,
}

impl LatencyCounts {
    /// Stores a node's report. A restarted node counts from zero.
    pub fn set(&mut self, server: usize, counts: Latencies) {
        if self
            .told
            .get(&server)
            .is_some_and(|told| counts.asked < told.asked)
        {
            self.told.remove(&server);
        }
        self.longest_nanos = self.longest_nanos.max(counts.longest_nanos);
        self.now.insert(server, counts);
    }

    /// Latencies since the last call; `None` without any.
    pub fn take(&mut self) -> Option<Latencies> {
        let mut sum = Latencies {
            longest_nanos: std::mem::take(&mut self.longest_nanos),
            ..Latencies::default()
        };
        let mut buckets: BTreeMap<u16, u64> = BTreeMap::new();
        for (server, now) in &self.now {
            let told = self.told.entry(*server).or_default();
            let more = |count: fn(&Latencies) -> u64| count(now).saturating_sub(count(told));
            sum.asked += more(|counts| counts.asked);
            sum.answered += more(|counts| counts.answered);
            sum.within_bound += more(|counts| counts.within_bound);
            sum.timed_out += more(|counts| counts.timed_out);
            sum.sum_nanos = sum.sum_nanos.saturating_add(more(|counts| counts.sum_nanos));
            let before: BTreeMap<u16, u64> = told.buckets.iter().copied().collect();
            for &(number, count) in &now.buckets {
                let more = count.saturating_sub(before.get(&number).copied().unwrap_or_default());
                if more > 0 {
                    *buckets.entry(number).or_default() += more;
                }
            }
            told.clone_from(now);
        }
        sum.buckets = buckets.into_iter().collect();
        (sum != Latencies::default()).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(asked: u64, longest_nanos: u64, buckets: &[(u16, u64)]) -> Latencies {
        Latencies {
            asked,
            answered: buckets.iter().map(|(_, count)| count).sum(),
            longest_nanos,
            buckets: buckets.to_vec(),
            ..Latencies::default()
        }
    }

    #[test]
    fn a_tick_has_what_came_since_the_one_before_of_all_clients() {
        let mut latencies = LatencyCounts::default();
        assert_eq!(latencies.take(), None);
        latencies.set(0, counts(5, 40, &[(3, 2), (7, 1)]));
        latencies.set(1, counts(4, 90, &[(7, 4)]));
        assert_eq!(latencies.take(), Some(counts(9, 90, &[(3, 2), (7, 5)])));
        assert_eq!(latencies.take(), None);
        latencies.set(0, counts(8, 10, &[(3, 2), (7, 2), (9, 1)]));
        assert_eq!(latencies.take(), Some(counts(3, 10, &[(7, 1), (9, 1)])));
        // This node was restarted, so it counts from zero.
        latencies.set(0, counts(2, 0, &[(3, 1)]));
        assert_eq!(latencies.take(), Some(counts(2, 0, &[(3, 1)])));
    }
}
