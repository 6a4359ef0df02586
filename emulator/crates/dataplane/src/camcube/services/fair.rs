//! Fair shares of a link: start-time fair queueing (Goyal, Vin, Cheng 1996), by bytes and weights.
//! `[camcube §2.1.1, §5]`

use std::collections::BTreeMap;

/// Virtual time per byte at weight 1; large, so that division by weights keeps precision.
const TICKS_PER_BYTE: u64 = 1 << 20;

/// Turns of the senders that share a link.
#[derive(Clone, Debug, Default)]
pub struct Fair {
    now: u64,
    finished: BTreeMap<usize, u64>,
}

impl Fair {
    /// The virtual time of a sender's next turn; the sender with the lowest time is next. Idle
    /// senders collect no turns.
    pub fn turn(&self, sharer: usize) -> u64 {
        let finished = self.finished.get(&sharer).copied().unwrap_or(0);
        finished.max(self.now)
    }

    /// Records a packet that a sender has sent in its turn.
    pub fn take(&mut self, sharer: usize, bytes: usize, weight: u32) {
        let turn = self.turn(sharer);
        self.now = turn;
        let ticks = bytes as u64 * TICKS_PER_BYTE / u64::from(weight.max(1));
        self.finished.insert(sharer, turn + ticks);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Senders that always have packets get bytes in proportion to their weights, for any
        /// packet lengths.
        #[test]
        fn shares_are_as_weights(weights in prop::collection::vec(1u32..10, 2..5), lengths in prop::collection::vec(60usize..9000, 5)) {
            let mut fair = Fair::default();
            let mut bytes = vec![0; weights.len()];
            for _ in 0..20_000 {
                let next = (0..weights.len()).min_by_key(|&sharer| fair.turn(sharer)).unwrap();
                fair.take(next, lengths[next], weights[next]);
                bytes[next] += lengths[next];
            }
            let total: usize = bytes.iter().sum();
            let weight: u32 = weights.iter().sum();
            for (bytes, own) in bytes.iter().zip(&weights) {
                let share = *bytes as f64 / total as f64 / (f64::from(*own) / f64::from(weight));
                prop_assert!((0.95..1.05).contains(&share), "{}", share);
            }
        }

        /// A sender that starts later gets no compensation for the time before.
        #[test]
        fn idling_saves_nothing_up(first in 1usize..1000) {
            let mut fair = Fair::default();
            for _ in 0..first {
                fair.take(0, 1000, 1);
            }
            let mut late = 0;
            for _ in 0..100 {
                let next = usize::from(fair.turn(1) < fair.turn(0));
                fair.take(next, 1000, 1);
                late += next;
            }
            prop_assert!((49..=51).contains(&late), "{}", late);
        }
    }
}
