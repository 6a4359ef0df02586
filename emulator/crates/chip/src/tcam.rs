//! Executes the TCAM: finds the matching entry with the highest index `[serverswitch §5.1]`.
//!
//! Entries with the same key and mask form a tuple: one look-up in a hash table finds whether any
//! of them matches. Before that, a bit vector over the tuples is ANDed for every byte of the keys,
//! so that only tuples are looked up in which each single byte can match: a BCube program of 2,028
//! entries has ten tuples, and a packet looks up about three. `[ours]`

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::entries::Entry;
use crate::udlk::{KEY_BYTES, Key};

/// The TCAM, ready for look-ups that allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct Tcam {
    tuples: Vec<Tuple>,
    /// Words of a bit vector over the tuples.
    words: usize,
    prune: Vec<Prune>,
    entries: HashMap<(u32, Key), u32, FxBuildHasher>,
}

/// Entries with the same key and mask.
#[derive(Clone, Debug)]
pub(crate) struct Tuple {
    /// The index of the key, 0 or 1.
    pub key: usize,
    pub mask: Key,
    /// The highest index of its entries.
    pub best: u32,
}

/// The tuples that can match for each value of one byte of one key: `words` words for each of 256
/// values.
#[derive(Clone, Debug)]
pub(crate) struct Prune {
    pub key: usize,
    pub at: usize,
    pub possible: Vec<u64>,
}

impl Tcam {
    /// Builds the TCAM from entries with their indices. O(masked bytes x (entries + 256 x tuples))
    /// for masks of whole bytes.
    pub fn new<'a>(entries: impl IntoIterator<Item = (u32, &'a Entry)>) -> Tcam {
        let entries: Vec<(u32, &Entry)> = entries.into_iter().collect();
        let mut best: HashMap<(usize, Key), u32, FxBuildHasher> = HashMap::default();
        for &(index, entry) in &entries {
            let tuple = best.entry(shape(entry)).or_insert(index);
            *tuple = index.max(*tuple);
        }
        let mut tuples: Vec<Tuple> = best
            .into_iter()
            .map(|((key, mask), best)| Tuple { key, mask, best })
            .collect();
        tuples.sort_by_key(|tuple| std::cmp::Reverse(tuple.best));
        let number: HashMap<(usize, Key), usize> = tuples
            .iter()
            .enumerate()
            .map(|(at, tuple)| ((tuple.key, tuple.mask), at))
            .collect();
        let mut tcam = Tcam {
            words: tuples.len().div_ceil(64),
            ..Tcam::default()
        };
        tcam.prune = tcam.prunes(&tuples, &entries, &number);
        for &(index, entry) in &entries {
            let slot = (number[&shape(entry)] as u32, Key::new(&entry.value));
            let found = tcam.entries.entry(slot).or_insert(index);
            *found = index.max(*found);
        }
        tcam.tuples = tuples;
        tcam
    }

    fn prunes(
        &self,
        tuples: &[Tuple],
        entries: &[(u32, &Entry)],
        number: &HashMap<(usize, Key), usize>,
    ) -> Vec<Prune> {
        let words = self.words;
        let mut prunes = Vec::new();
        let of_tuple: Vec<usize> = entries.iter().map(|(_, entry)| number[&shape(entry)]).collect();
        for key in 0..2 {
            for at in 0..KEY_BYTES {
                let cares = |tuple: &Tuple| tuple.key == key && tuple.mask.byte(at) != 0;
                if !tuples.iter().any(cares) {
                    continue;
                }
                let mut possible = vec![0_u64; 256 * words];
                for (tuple, _) in tuples.iter().enumerate().filter(|(_, tuple)| !cares(tuple)) {
                    for value in 0..256 {
                        possible[value * words + tuple / 64] |= 1 << (tuple % 64);
                    }
                }
                for ((_, entry), &tuple) in entries.iter().zip(&of_tuple) {
                    if !cares(&tuples[tuple]) {
                        continue;
                    }
                    for value in matching(entry.value[at], entry.mask[at]) {
                        possible[usize::from(value) * words + tuple / 64] |= 1 << (tuple % 64);
                    }
                }
                prunes.push(Prune { key, at, possible });
            }
        }
        prunes
    }

    /// The highest index whose entry matches.
    #[inline]
    pub fn lookup(&self, keys: &[Key; 2]) -> Option<u32> {
        let mut found: Option<u32> = None;
        for word in 0..self.words {
            let mut candidates = u64::MAX >> (64 - (self.tuples.len() - word * 64).min(64));
            for prune in &self.prune {
                let value = usize::from(keys[prune.key].byte(prune.at));
                candidates &= prune.possible[value * self.words + word];
            }
            while candidates != 0 {
                let number = word * 64 + candidates.trailing_zeros() as usize;
                candidates &= candidates - 1;
                let tuple = &self.tuples[number];
                // Tuples are in order of their best entries.
                if found.is_some_and(|found| found > tuple.best) {
                    return found;
                }
                let slot = (number as u32, keys[tuple.key].masked(&tuple.mask));
                found = found.max(self.entries.get(&slot).copied());
            }
        }
        found
    }

    /// Different pairs of key and mask.
    pub fn tuples(&self) -> usize {
        self.tuples.len()
    }

    /// Its parts, for an execution elsewhere: tuples by falling best index, bit vectors over them,
    /// and the highest index of each tuple and masked key.
    pub(crate) fn parts(&self) -> (&[Tuple], &[Prune], impl Iterator<Item = (u32, Key, u32)>) {
        let entries = self.entries.iter();
        let entries = entries.map(|(&(tuple, masked), &index)| (tuple, masked, index));
        (&self.tuples, &self.prune, entries)
    }
}

/// The values of a byte that match a value under its mask: one where the whole byte counts.
/// O(number of them).
fn matching(wanted: u8, mask: u8) -> impl Iterator<Item = u8> {
    let free = !mask;
    let mut rest = Some(0_u8);
    std::iter::from_fn(move || {
        let bits = rest?;
        // The next subset of the free bits, in order.
        rest = (bits != free).then(|| (bits | mask).wrapping_add(1) & free);
        Some(wanted | bits)
    })
}

fn shape(entry: &Entry) -> (usize, Key) {
    (usize::from(entry.iudlk) - 1, Key::new(&entry.mask))
}

/// The plain reference: every entry from the highest index down.
#[derive(Clone, Debug, Default)]
pub struct Linear(Vec<(u32, usize, Key, Key)>);

impl Linear {
    /// The reference of some entries by index.
    pub fn new<'a>(entries: impl IntoIterator<Item = (u32, &'a Entry)>) -> Linear {
        let row = |(index, entry): (u32, &Entry)| {
            let (key, mask) = shape(entry);
            (index, key, Key::new(&entry.value), mask)
        };
        let mut rows: Vec<_> = entries.into_iter().map(row).collect();
        rows.sort_by_key(|(index, ..)| std::cmp::Reverse(*index));
        Linear(rows)
    }

    /// The highest index whose entry matches.
    pub fn lookup(&self, keys: &[Key; 2]) -> Option<u32> {
        let matching = |(_, key, value, mask): &&(u32, usize, Key, Key)| keys[*key].masked(mask) == *value;
        self.0.iter().find(matching).map(|(index, ..)| *index)
    }
}
