//! Changes between programs that differ in one entry: writes the tables in use directly, so that a
//! call that sets one entry among thousands costs a few updates. A packet meets either the old or
//! the new entry. `[ours]`

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_chip::Place;
use cubeyard_chip::compile::{CARES, Compiled, CompiledEntry, CompiledKey, TUPLES};
use zerocopy::IntoBytes;

use super::layout::{Entry, Tuple, key_in};
use super::{array, place_of};
use crate::tables::TableUpdate;

/// The one entry that differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    /// The key of the entry.
    pub key: CompiledKey,
    /// The new entry; `None` if it was removed.
    pub entry: Option<CompiledEntry>,
}

/// A compiled program, with those of its entries that calls have set.
type Called<'a> = (&'a Compiled, &'a BTreeSet<Place>);

impl Change {
    /// The difference between two programs with equal keys; `None` if several entries differ.
    /// O(entries).
    pub fn between((before, of_call): Called<'_>, (after, of_call_after): Called<'_>) -> Option<Change> {
        let masks = |program: &Compiled| -> Vec<(u32, [u64; 3])> {
            program
                .tuples
                .iter()
                .map(|tuple| (tuple.key, tuple.mask))
                .collect()
        };
        if masks(before) != masks(after) || before.interfaces != after.interfaces {
            return None;
        }
        let entries =
            |program: &Compiled, of_call: &BTreeSet<Place>| -> BTreeMap<CompiledKey, (CompiledEntry, bool)> {
                let with_caller =
                    |entry: &CompiledEntry| (entry.key, (*entry, of_call.contains(&place_of(entry))));
                program.entries.iter().map(with_caller).collect()
            };
        let (before, after) = (entries(before, of_call), entries(after, of_call_after));
        let set = after.iter().filter(|(key, entry)| before.get(key) != Some(entry));
        let set = set.map(|(key, (entry, _))| Change {
            key: *key,
            entry: Some(*entry),
        });
        let gone = before.keys().filter(|key| !after.contains_key(key));
        let gone = gone.map(|key| Change {
            key: *key,
            entry: None,
        });
        let mut changes = set.chain(gone);
        let change = changes.next()?;
        changes.next().is_none().then_some(change)
    }

    /// The updates for the change. An entry is written before references to it, and removed after
    /// them.
    pub fn updates(
        &self,
        generation: u32,
        before: &Compiled,
        after: &Compiled,
        of_call: &BTreeSet<Place>,
    ) -> Vec<TableUpdate> {
        let mut ways = Vec::new();
        let cares = before.cares.iter().zip(&after.cares);
        for ((old, new), at) in cares.zip(generation * CARES as u32..) {
            if old.possible != new.possible {
                ways.push(array("prune", at, new.possible.as_ref()));
            }
        }
        let tuples = before.tuples.iter().zip(&after.tuples);
        for ((old, new), at) in tuples.zip(generation * TUPLES as u32..) {
            if old.best != new.best {
                let (mask, key, best) = (new.mask, new.key, new.best);
                ways.push(array("tuples", at, &Tuple { mask, key, best }));
            }
        }
        let (_, map, key) = key_in(generation, self.key);
        match &self.entry {
            Some(entry) => {
                let of_call = of_call.contains(&place_of(entry));
                let value = Entry::of(entry, of_call, 0);
                ways.push(TableUpdate::set(map, &key, value.as_bytes()));
                ways
            }
            None => {
                ways.insert(0, TableUpdate::remove(map, &key));
                ways
            }
        }
    }
}
