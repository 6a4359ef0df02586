//! Stores values, and remembers which older versions are out of date.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::words::Words;
use crate::key_value::Entry;
use crate::key_value::values::Values;
use crate::protocol::Time;

/// How late an answer with an old version may arrive at a secondary. `[ours]`
const LATE: Duration = Duration::from_secs(5);
/// Maximum number of keys whose old versions a secondary refuses. `[ours]`
const MOST_FORGOTTEN: usize = 4096;

/// The values of a server, with the invalidated versions.
#[derive(Debug, Default)]
pub struct Store {
    /// The values of the server.
    pub values: Values,
    /// By key: values older than this version are out of date, and the time until which this is
    /// remembered.
    forgotten: BTreeMap<Vec<u8>, (u64, Time)>,
    /// The keys, ordered by these times.
    order: VecDeque<(Time, Vec<u8>)>,
}

impl Store {
    /// Stores the value of an answer, unless a later version was announced.
    pub fn fill(&mut self, now: Time, words: &Words) {
        let forgotten = self.forgotten.get(&words.key).map_or(0, |(version, _)| *version);
        let here = self.values.get(now, &words.key).map_or(0, |entry| entry.version);
        if words.version >= forgotten.max(here) {
            let entry = Entry {
                data: words.value.clone(),
                flags: words.flags,
                version: words.version,
                until: Entry::end(now, words.lives_millis),
            };
            self.values.put(words.key.clone(), entry);
        }
    }

    /// Discards values of a key that are older than this version.
    pub fn forget(&mut self, now: Time, key: &[u8], version: u64) {
        if self.values.version(key).is_some_and(|here| here < version) {
            self.values.remove(key);
        }
        let until = now + LATE;
        let before = self.forgotten.entry(key.to_vec()).or_default();
        *before = (version.max(before.0), until);
        self.order.push_back((until, key.to_vec()));
        while let Some((until, _)) = self.order.front()
            && (*until <= now || self.order.len() > MOST_FORGOTTEN)
        {
            let Some((until, key)) = self.order.pop_front() else {
                break;
            };
            if self
                .forgotten
                .get(&key)
                .is_some_and(|(_, latest)| *latest <= until)
            {
                self.forgotten.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::words::What;
    use super::*;

    fn value(key: u8, version: u64) -> Words {
        Words {
            version,
            value: version.to_be_bytes().to_vec(),
            ..Words::new(What::Value, [0; 3], vec![key])
        }
    }

    proptest! {
        /// For any order of answers and invalidations, a value in the store is never older than a
        /// version announced within `LATE`.
        #[test]
        fn no_late_answer_brings_an_old_value_back(
            steps in prop::collection::vec((0u8..4, 0u64..40, any::<bool>(), 0u64..400), 1..200),
        ) {
            let (mut store, mut now) = (Store::default(), Duration::from_secs(1));
            let mut told: BTreeMap<u8, (u64, Time)> = BTreeMap::new();
            for (key, version, forget, millis) in steps {
                now += Duration::from_millis(millis);
                if forget {
                    store.forget(now, &[key], version);
                    let before = told.get(&key).filter(|(_, at)| *at + LATE > now).map_or(0, |(before, _)| *before);
                    told.insert(key, (version.max(before), now));
                } else {
                    store.fill(now, &value(key, version));
                }
                let least = told.get(&key).filter(|(_, at)| *at + LATE > now);
                if let (Some((least, _)), Some(entry)) = (least, store.values.get(now, &[key])) {
                    prop_assert!(entry.version >= *least);
                }
                prop_assert!(store.order.len() <= MOST_FORGOTTEN && store.forgotten.len() <= store.order.len());
            }
        }

        #[test]
        fn a_value_ends_when_its_time_is_over(lives in 0u32..5000, waits in 0u64..6000) {
            let mut store = Store::default();
            let began = Duration::from_secs(9);
            store.fill(began, &Words { lives_millis: lives, ..value(1, 1) });
            let now = began + Duration::from_millis(waits);
            let left = store.values.get(now, &[1]).map(|entry| entry.lives_millis(now));
            prop_assert_eq!(left, (waits < lives.into()).then(|| lives - waits as u32));
        }
    }
}
