//! Values in memory with a limit. Beyond it, other values are removed.

use std::collections::BTreeMap;

use super::Entry;
use crate::protocol::Time;

/// Maximum number of values of a server. `[ours]`
const MOST_VALUES: usize = 65_536;
/// Maximum bytes of keys and values of a server. `[ours]`
const MOST_BYTES: usize = 64 << 20;

/// All values of a server.
#[derive(Debug, Default)]
pub struct Values {
    entries: BTreeMap<Vec<u8>, Entry>,
    bytes: usize,
    latest: u64,
}

impl Values {
    /// A version for a write at this time, higher than all earlier ones. A server that takes over
    /// from a dead one continues from its own clock, so versions increase if the servers' clocks
    /// agree. `[ours]`
    pub fn next_version(&mut self, now: Time) -> u64 {
        self.latest = (now.as_nanos() as u64).max(self.latest + 1);
        self.latest
    }

    /// The value of a key, unless it is missing or has expired.
    pub fn get(&mut self, now: Time, key: &[u8]) -> Option<&Entry> {
        if self.entries.get(key)?.until.is_some_and(|until| until <= now) {
            self.remove(key);
        }
        self.entries.get(key)
    }

    /// The version of a key's value, even if it has expired.
    pub fn version(&self, key: &[u8]) -> Option<u64> {
        self.entries.get(key).map(|entry| entry.version)
    }

    /// Stores a value; may remove other keys' values to make space.
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

    /// Removes a value; returns whether it existed.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let removed = self.entries.remove(key);
        self.bytes -= removed.as_ref().map_or(0, |entry| key.len() + entry.data.len());
        removed.is_some()
    }

    /// Number of values, and of their bytes.
    pub fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Values are added, removed and expire in any order: the counters always equal those of
        /// the stored values.
        #[test]
        fn bytes_are_those_of_the_values(steps in prop::collection::vec((0u8..4, 0u8..3, 0usize..50, 0u64..400), 1..200)) {
            let (mut values, mut now) = (Values::default(), Duration::from_secs(1));
            for (key, deed, length, millis) in steps {
                now += Duration::from_millis(millis);
                match deed {
                    0 => {
                        let version = values.next_version(now);
                        values.put(vec![key], Entry {
                            data: vec![0; length],
                            flags: 0,
                            version,
                            until: Entry::end(now, 10 * length as u32),
                        });
                    }
                    1 => {
                        let was_there = values.version(&[key]).is_some();
                        prop_assert_eq!(values.remove(&[key]), was_there);
                    }
                    _ => {
                        let value = values.get(now, &[key]).and_then(|entry| entry.until);
                        prop_assert!(value.is_none_or(|until| until > now));
                    }
                }
                let bytes: usize = values.entries.iter().map(|(key, entry)| key.len() + entry.data.len()).sum();
                prop_assert_eq!(values.size(), (values.entries.len(), bytes));
            }
        }
    }
}
