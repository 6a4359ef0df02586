//! The tables of a protocol's forwarding in the kernel, filled by updates as in a run.

use aya::Ebpf;
use aya::maps::lpm_trie::{Key, LpmTrie};
use aya::maps::{Array, HashMap, Map};
use cubeyard_dataplane::catalog::{ForwardingKind, ProtocolEntry};
use cubeyard_dataplane::object::{KernelObject, Translate};
use cubeyard_dataplane::tables::{TableKind, TableSchema, TableUpdate};

/// The tables of a forwarding, and the translation that updates the object's own tables.
#[derive(Debug)]
pub struct Tables {
    pub object: KernelObject,
    /// Schemas of the protocol's tables.
    schemas: &'static [TableSchema],
    translation: Option<Box<dyn Translate>>,
}

impl Tables {
    pub fn of(entry: &ProtocolEntry, forwarding: &str) -> Tables {
        let forwarding_entry = entry.forwarding(forwarding).unwrap();
        let ForwardingKind::Kernel(object) = forwarding_entry.kind else {
            panic!("{forwarding} is not in the kernel");
        };
        Tables {
            object,
            schemas: forwarding_entry.tables,
            translation: object.own_tables.map(|own| (own.translate)()),
        }
    }

    /// Writes an entry of the protocol's tables, with all entries derived from it.
    pub fn apply(&mut self, ebpf: &mut Ebpf, update: &TableUpdate) {
        let updates = match &mut self.translation {
            Some(translation) => translation.translate(update, &|_, _| None).unwrap(),
            None => vec![update.clone()],
        };
        updates.iter().for_each(|update| self.write(ebpf, update));
    }

    /// Commits a user's program to the object, which is a chip.
    #[allow(dead_code, reason = "benches commit none")]
    pub fn set_program(&mut self, ebpf: &mut Ebpf, text: &str) {
        let translation = self.translation.as_mut().expect("an object with a chip");
        let updates = translation.set_program(text).unwrap();
        updates.iter().for_each(|update| self.write(ebpf, update));
    }

    /// Writes an entry of one table.
    pub fn write(&self, ebpf: &mut Ebpf, update: &TableUpdate) {
        let own = self.object.own_tables.map_or(&[][..], |own| own.schemas);
        let mut schemas = self.schemas.iter().chain(own);
        let schema = schemas.find(|schema| schema.name == update.table).unwrap();
        let (key, value) = (&update.key.0[..], update.value.as_ref().map(|value| &value.0[..]));
        let map = ebpf.map_mut(&update.table).unwrap();
        match schema.kind {
            TableKind::Array => {
                let index = u32::from_ne_bytes(key.try_into().unwrap());
                match schema.value_bytes {
                    4 => set::<4>(map, index, value.unwrap()),
                    8 => set::<8>(map, index, value.unwrap()),
                    16 => set::<16>(map, index, value.unwrap()),
                    20 => set::<20>(map, index, value.unwrap()),
                    28 => set::<28>(map, index, value.unwrap()),
                    32 => set::<32>(map, index, value.unwrap()),
                    36 => set::<36>(map, index, value.unwrap()),
                    100 => set::<100>(map, index, value.unwrap()),
                    2048 => set::<2048>(map, index, value.unwrap()),
                    other => panic!("no array has values of {other} bytes"),
                }
            }
            TableKind::Hash | TableKind::LruHash => match (schema.key_bytes, schema.value_bytes) {
                (4, 16) => insert::<4, 16>(map, key, value),
                (4, 24) => insert::<4, 24>(map, key, value),
                (16, 24) => insert::<16, 24>(map, key, value),
                (32, 24) => insert::<32, 24>(map, key, value),
                (8, 24) => insert::<8, 24>(map, key, value),
                other => panic!("no hash has keys and values of {other:?} bytes"),
            },
            TableKind::Trie => {
                let (bits, data) = key.split_first_chunk::<4>().unwrap();
                let key = Key::new(u32::from_ne_bytes(*bits), <[u8; 8]>::try_from(data).unwrap());
                let mut trie: LpmTrie<_, [u8; 8], [u8; 24]> = map.try_into().unwrap();
                match value {
                    Some(value) => trie
                        .insert(&key, <[u8; 24]>::try_from(value).unwrap(), 0)
                        .unwrap(),
                    None => trie.remove(&key).unwrap(),
                }
            }
        }
    }
}

fn set<const N: usize>(map: &mut Map, index: u32, value: &[u8]) {
    let mut array: Array<_, [u8; N]> = map.try_into().unwrap();
    array.set(index, <[u8; N]>::try_from(value).unwrap(), 0).unwrap();
}

fn insert<const K: usize, const V: usize>(map: &mut Map, key: &[u8], value: Option<&[u8]>) {
    let key = <[u8; K]>::try_from(key).unwrap();
    let mut hash: HashMap<_, [u8; K], [u8; V]> = map.try_into().unwrap();
    match value {
        Some(value) => hash.insert(key, <[u8; V]>::try_from(value).unwrap(), 0).unwrap(),
        None => hash.remove(&key).unwrap(),
    }
}
