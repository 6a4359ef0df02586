//! What a chip in the kernel has counted, read without a system call: the map `registers` is memory that both have.
#![allow(unsafe_code, reason = "the memory of a map is mapped by its descriptor")]

use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use aya::maps::{Array, Map, MapData};
use aya::util::nr_cpus;
use cubeyard_dataplane::object::REGISTER_STRIDE;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::object::failed;
use crate::error::{During, FabricError, Result};

/// The name of the map in an object with a chip.
pub const MAP: &str = "registers";

/// Entries that the map must have on this host: registers of every processor that may ever run.
pub fn entries() -> u32 {
    let processors = nr_cpus().unwrap_or(1);
    (processors * REGISTER_STRIDE) as u32
}

/// The registers of one chip, as long as it is there.
pub struct Registers {
    /// Of a processor after the other.
    memory: NonNull<AtomicU64>,
    len: usize,
    /// The map itself, which goes with this.
    _map: Array<MapData, u64>,
}

// SAFETY: the memory stays mapped as long as this is, belongs to no thread, and is only read, atomically.
unsafe impl Send for Registers {}
// SAFETY: as above.
unsafe impl Sync for Registers {}

impl Registers {
    /// Maps the memory of a map. Errors: a map that is none of registers, or that the kernel does not map.
    pub fn open(map: Map) -> Result<Registers> {
        let Map::Array(data) = &map else {
            let wrong = "the object's map registers is not an array";
            return Err(FabricError::system("loading programs", wrong));
        };
        // SAFETY: the kernel chooses where; nothing else refers to that memory.
        let mapped = unsafe {
            mmap(
                ptr::null_mut(),
                entries() as usize * size_of::<u64>(),
                ProtFlags::READ,
                MapFlags::SHARED,
                data.fd().as_fd(),
                0,
            )
        };
        let mapped = mapped.during(failed("mapping the map registers"))?;
        let memory = NonNull::new(mapped.cast())
            .ok_or_else(|| FabricError::system("mapping the map registers", "it lies nowhere"))?;
        Ok(Registers {
            memory,
            len: entries() as usize,
            _map: map.try_into().during(failed("opening the map registers"))?,
        })
    }

    /// What a register has counted, added up over processors; 0 of one that is not. O(processors).
    pub fn counted(&self, register: usize) -> u64 {
        let places = (register..self.len).step_by(REGISTER_STRIDE);
        // SAFETY: `open` mapped that many counters, aligned to a page, and they stay until `drop`. The kernel writes each at once.
        let count = |at| unsafe { self.memory.add(at).as_ref() }.load(Ordering::Relaxed);
        places.map(count).sum()
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        // SAFETY: `open` mapped it, and no reference to it lives longer than a call of `counted`.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.len * size_of::<u64>()) };
    }
}
