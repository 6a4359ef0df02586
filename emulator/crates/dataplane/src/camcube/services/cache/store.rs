//! The values of one server, and which of them are out of date.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::words::{FOR_EVER, Words};
use crate::protocol::Time;

/// Values that a server keeps; beyond, it forgets others. `[ours]`
const MOST_VALUES: usize = 65_536;
/// Bytes of keys and values that a server keeps. `[ours]`
const MOST_BYTES: usize = 64 << 20;
/// Time in which an answer with an older version may still be under way to a secondary. `[ours]`
const LATE: Duration = Duration::from_secs(5);
/// Keys whose older versions a secondary refuses, at most. `[ours]`
const MOST_FORGOTTEN: usize = 4096;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it holds.
    pub data: Vec<u8>,
    /// For clients.
    pub flags: u32,
    /// Rises with every write.
    pub version: u64,
    /// When it ends; `None` for never.
    pub until: Option<Time>,
}

impl Entry {
    /// The time that is left, in milliseconds.
    pub fn lives_millis(&self, now: Time) -> u32 {
        let left = self.until.map(|until| until.saturating_sub(now).as_millis());
        left.map_or(FOR_EVER, |left| left.min(u128::from(FOR_EVER - 1)) as u32)
    }

    /// The end of a life of so many milliseconds.
    pub fn end(now: Time, lives_millis: u32) -> Option<Time> {
        (lives_millis != FOR_EVER).then(|| now + Duration::from_millis(lives_millis.into()))
    }
}

/// All values of a server.
#[derive(Debug, Default)]
pub struct Store {
    entries: BTreeMap<Vec<u8>, Entry>,
    bytes: usize,
    /// By key: the version before which all are out of date, and until when that is remembered.
    forgotten: BTreeMap<Vec<u8>, (u64, Time)>,
    /// The keys in order of these times.
    order: VecDeque<(Time, Vec<u8>)>,
    latest: u64,
}

impl Store {
    /// A version for a write now, above all before. A primary that takes a dead one's place goes on from its clock, so that
    /// versions rise where servers' clocks agree. `[ours]`
    pub fn next_version(&mut self, now: Time) -> u64 {
        self.latest = (now.as_nanos() as u64).max(self.latest + 1);
        self.latest
    }

    /// The value of a key, unless its time is over.
    pub fn get(&mut self, now: Time, key: &[u8]) -> Option<&Entry> {
        if self.entries.get(key)?.until.is_some_and(|until| until <= now) {
            self.remove(key);
        }
        self.entries.get(key)
    }

    /// Keeps a value; another key's may have to go for it.
    pub fn put(&mut self, key: Vec<u8>, entry: Entry) {
        self.remove(&key);
        self.bytes += key.len() + entry.data.len();
        self.entries.insert(key, entry);
        while self.entries.len() > MOST_VALUES || self.bytes > MOST_BYTES {
            let Some((key, entry)) = self.entries.pop_first() else {
                break;
            };
            self.bytes -= key.len() + entry.data.len();
        }
    }

    /// Removes a value; whether there was one.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.entries.remove(key);
        self.bytes -= removed.as_ref().map_or(0, |entry| key.len() + entry.data.len());
        removed.is_some()
    }

    /// Keeps the value that came with an answer, unless a later version has been told of.
    pub fn fill(&mut self, now: Time, words: &Words) {
        let forgotten = self.forgotten.get(&words.key).map_or(0, |(version, _)| *version);
        let here = self.get(now, &words.key).map_or(0, |entry| entry.version);
        if words.version >= forgotten.max(here) {
            let entry = Entry {
                data: words.value.clone(),
                flags: words.flags,
                version: words.version,
                until: Entry::end(now, words.lives_millis),
            };
            self.put(words.key.clone(), entry);
        }
    }

    /// Versions of a key before this one are out of date.
    pub fn forget(&mut self, now: Time, key: &[u8], version: u64) {
        if self.entries.get(key).is_some_and(|entry| entry.version < version) {
            self.remove(key);
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

    /// Values and their bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
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
        /// Fills and forgets in any order: what is found is never older than a version that was told of within `LATE`.
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
                if let (Some((least, _)), Some(entry)) = (least, store.get(now, &[key])) {
                    prop_assert!(entry.version >= *least);
                }
                let bytes: usize = store.entries.iter().map(|(key, entry)| key.len() + entry.data.len()).sum();
                prop_assert_eq!(store.size(), (store.entries.len(), bytes));
                prop_assert!(store.order.len() <= MOST_FORGOTTEN && store.forgotten.len() <= store.order.len());
            }
        }

        #[test]
        fn a_value_ends_when_its_time_is_over(lives in 0u32..5000, waits in 0u64..6000) {
            let mut store = Store::default();
            let began = Duration::from_secs(9);
            store.fill(began, &Words { lives_millis: lives, ..value(1, 1) });
            let now = began + Duration::from_millis(waits);
            let left = store.get(now, &[1]).map(|entry| entry.lives_millis(now));
            prop_assert_eq!(left, (waits < lives.into()).then(|| lives - waits as u32));
        }
    }
}
