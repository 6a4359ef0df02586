//! Reads and writes the entries of a map as bytes. Works for the maps of any protocol: their
//! schemas give the sizes. `[man 2 bpf]`
#![allow(unsafe_code, reason = "the system call takes pointers to keys and values")]

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use aya::maps::{Map, MapData};
use cubeyard_dataplane::tables::{TableError, TableKind, TableSchema, TableUpdate};
use nix::errno::Errno;
use nix::libc;

const LOOKUP: libc::c_long = 1;
const UPDATE: libc::c_long = 2;
const DELETE: libc::c_long = 3;
const NEXT_KEY: libc::c_long = 4;

/// A map that is not preallocated takes new entries from a small store, which the kernel refills in
/// the background. An update that finds the store empty is repeated this often, with a pause
/// between tries.
const TRIES: u32 = 20;
const REFILL: Duration = Duration::from_millis(1);

/// The part of `union bpf_attr` that these commands use.
#[repr(C)]
struct Attributes {
    map: u32,
    padding: u32,
    key: u64,
    /// Address of the value, or of the buffer for the next key.
    value: u64,
    flags: u64,
}

/// A map of a protocol's object, with its schema.
#[derive(Debug)]
pub struct Table {
    map: MapData,
    schema: &'static TableSchema,
}

impl Table {
    /// Opens a map as a table; `None` if the map's kind differs from the schema's.
    pub fn open(map: Map, schema: &'static TableSchema) -> Option<Table> {
        let map = match (map, schema.kind) {
            (Map::Array(map), TableKind::Array)
            | (Map::HashMap(map), TableKind::Hash)
            | (Map::LruHashMap(map), TableKind::LruHash)
            | (Map::LpmTrie(map), TableKind::Trie) => map,
            _ => return None,
        };
        let info = map.info().ok()?;
        let sizes = [info.key_size(), info.value_size(), info.max_entries()].map(|size| size as usize);
        let fits = sizes == [schema.key_bytes, schema.value_bytes, schema.entries];
        fits.then_some(Table { map, schema })
    }

    /// Its schema.
    pub fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Sets or removes an entry. A missing entry can be removed without an error: the kernel evicts
    /// some entries by itself.
    pub fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        let sized = update.key.0.len() == self.schema.key_bytes
            && update
                .value
                .as_ref()
                .is_none_or(|value| value.0.len() == self.schema.value_bytes);
        if !sized {
            return Err(TableError::new(
                &update.table,
                "a key or value of the wrong length",
            ));
        }
        let mut key = update.key.0.clone();
        let mut result = Ok(());
        for _ in 0..TRIES {
            result = match &update.value {
                Some(value) => self.call(UPDATE, &mut key, &mut value.0.clone()),
                None => self.delete(&mut key),
            };
            if result != Err(Errno::ENOMEM) {
                break;
            }
            std::thread::sleep(REFILL);
        }
        result.map_err(|errno| TableError::new(&update.table, errno.desc()))
    }

    /// All keys. Entries that are added or removed meanwhile may be missing.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        let mut next = vec![0; self.schema.key_bytes];
        // For a key that does not exist, the kernel returns the first key. A key that has been
        // removed therefore restarts the iteration.
        while keys.len() < self.schema.entries {
            let result = match keys.last() {
                Some(last) => self.call(NEXT_KEY, &mut last.clone(), &mut next),
                None => self.first_key(&mut next),
            };
            if result.is_err() {
                break;
            }
            keys.push(next.clone());
        }
        keys
    }

    /// The value of a key; `None` if there is no such entry.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut value = vec![0; self.schema.value_bytes];
        let result =
            (key.len() == self.schema.key_bytes).then(|| self.call(LOOKUP, &mut key.to_vec(), &mut value));
        result.is_some_and(|result| result.is_ok()).then_some(value)
    }

    /// Removes every entry; does nothing for an array, whose entries always exist.
    pub fn clear(&mut self) {
        for mut key in self.keys() {
            let _ = self.delete(&mut key);
        }
    }

    /// Removes an entry; a missing entry is no error. The kernel refuses a removal with a value.
    fn delete(&self, key: &mut [u8]) -> Result<(), Errno> {
        match self.bpf(DELETE, key.as_mut_ptr() as u64, 0) {
            Err(Errno::ENOENT) => Ok(()),
            result => result,
        }
    }

    fn first_key(&self, next: &mut [u8]) -> Result<(), Errno> {
        self.bpf(NEXT_KEY, 0, next.as_mut_ptr() as u64)
    }

    fn call(&self, command: libc::c_long, key: &mut [u8], value: &mut [u8]) -> Result<(), Errno> {
        self.bpf(command, key.as_mut_ptr() as u64, value.as_mut_ptr() as u64)
    }

    fn bpf(&self, command: libc::c_long, key: u64, value: u64) -> Result<(), Errno> {
        let attributes = Attributes {
            map: self.map.fd().as_fd().as_raw_fd() as u32,
            padding: 0,
            key,
            value,
            flags: 0,
        };
        // SAFETY: the buffers are as long as the map's keys and values: `open` has compared the
        // map's sizes with the schema, and every caller the buffers with the schema. Buffers and
        // attributes outlive the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command,
                &raw const attributes,
                size_of::<Attributes>(),
            )
        };
        Errno::result(result).map(drop)
    }
}
