//! A map that removes the least recently used entry when it is full, like the kernel's LRU hash.

use std::collections::BTreeMap;

/// A map with at most `limit` entries.
#[derive(Clone, Debug)]
pub struct Lru<K, V> {
    limit: usize,
    uses: u64,
    entries: BTreeMap<K, (V, u64)>,
    by_use: BTreeMap<u64, K>,
}

impl<K: Ord + Copy, V> Lru<K, V> {
    /// An empty map with at most `limit` entries, which must be at least one.
    pub fn new(limit: usize) -> Lru<K, V> {
        Lru {
            limit,
            uses: 0,
            entries: BTreeMap::new(),
            by_use: BTreeMap::new(),
        }
    }

    /// The value of a key; marks it as recently used.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (value, used) = self.entries.get_mut(key)?;
        self.by_use.remove(used);
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert(self.uses, *key);
        Some(value)
    }

    /// Sets the value of a key. If the map is full, removes the least recently used key.
    pub fn insert(&mut self, key: K, value: V) {
        self.remove(&key);
        if self.entries.len() >= self.limit
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.uses += 1;
        self.by_use.insert(self.uses, key);
        self.entries.insert(key, (value, self.uses));
    }

    /// Removes a key.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let (value, used) = self.entries.remove(key)?;
        self.by_use.remove(&used);
        Some(value)
    }

    /// The entries in the order of their keys, without marking them as used.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, (value, _))| (key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;
    use proptest::prelude::*;

    proptest! {
        /// Compares the map with the simplest correct implementation, a list in the order of use.
        #[test]
        fn forgets_the_least_recently_used(limit in 1usize..5, calls in prop::collection::vec((0u8..3, 0u8..8), 0..60)) {
            let mut lru = Lru::new(limit);
            let mut plain: Vec<(u8, usize)> = Vec::new();
            for (step, (call, key)) in calls.into_iter().enumerate() {
                let at = plain.iter().position(|&(known, _)| known == key);
                let known = at.map(|at| plain.remove(at));
                match call {
                    0 => {
                        prop_assert_eq!(lru.get_mut(&key).map(|value| *value), known.map(|(_, value)| value));
                        plain.extend(known);
                    }
                    1 => {
                        lru.insert(key, step);
                        if plain.len() == limit {
                            plain.remove(0);
                        }
                        plain.push((key, step));
                    }
                    _ => prop_assert_eq!(lru.remove(&key), known.map(|(_, value)| value)),
                }
                let mut sorted = plain.clone();
                sorted.sort_unstable();
                prop_assert_eq!(lru.iter().map(|(&key, &value)| (key, value)).collect::<Vec<_>>(), sorted);
            }
        }
    }
}
