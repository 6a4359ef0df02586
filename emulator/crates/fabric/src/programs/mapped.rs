//! Arrays of counters in memory that the kernel shares, so that reading them takes no system call.
#![allow(unsafe_code, reason = "the memory of a map is mapped by its descriptor")]

use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::{Map, MapData};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::object::failed;
use crate::error::{During, FabricError, Result};

/// The words of an array map in shared memory, which is unmapped when this is dropped.
pub struct Mapped {
    memory: NonNull<AtomicU64>,
    len: usize,
    /// Keeps the map open.
    _map: MapData,
}

// SAFETY: the memory stays mapped as long as this value, belongs to no thread, and is only read,
// atomically.
unsafe impl Send for Mapped {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps an array of `entries` values with `words` words each. Errors: another kind of map, or
    /// one that the kernel cannot map.
    pub fn open(map: Map, name: &'static str, entries: usize, words: usize) -> Result<Mapped> {
        let Map::Array(map) = map else {
            let wrong = format!("the object's map {name} is not an array");
            return Err(FabricError::system("loading programs", wrong));
        };
        let info = map.info().during(failed(format!("reading the map {name}")))?;
        let value_bytes = words * size_of::<u64>();
        if (info.max_entries() as usize, info.value_size() as usize) != (entries, value_bytes) {
            let wrong = format!("the object's map {name} has not {entries} values of {value_bytes} bytes");
            return Err(FabricError::system("loading programs", wrong));
        }
        let len = entries * words;
        // SAFETY: the kernel chooses the address; nothing else refers to that memory.
        let mapped = unsafe {
            mmap(
                ptr::null_mut(),
                len * size_of::<u64>(),
                ProtFlags::READ,
                MapFlags::SHARED,
                map.fd().as_fd(),
                0,
            )
        };
        let mapped = mapped.during(failed(format!("mapping the map {name}")))?;
        let memory = NonNull::new(mapped.cast())
            .ok_or_else(|| FabricError::system(format!("mapping the map {name}"), "it lies nowhere"))?;
        Ok(Mapped {
            memory,
            len,
            _map: map,
        })
    }

    /// Number of words in the mapped array.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Reads one word, and sees everything written before it; 0 for a word beyond the end.
    pub fn word(&self, at: usize) -> u64 {
        if at >= self.len {
            return 0;
        }
        // SAFETY: `open` mapped this many words, aligned to a page, and they stay mapped until
        // `drop`. The kernel writes each word atomically.
        unsafe { self.memory.add(at).as_ref() }.load(Ordering::Acquire)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `open` mapped the memory, and no reference to it outlives a call of `word`.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.len * size_of::<u64>()) };
    }
}
