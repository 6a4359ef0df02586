//! Counters of a chip in the kernel: the map `registers`, read from shared memory.

use aya::maps::Map;
use aya::util::nr_cpus;
use cubeyard_dataplane::object::REGISTER_STRIDE;

use super::mapped::Mapped;
use crate::error::Result;

/// The name of this map in a BPF object that contains a chip.
pub const MAP: &str = "registers";

/// Number of entries of the map on this host: the registers for every processor that may ever run.
pub fn entries() -> u32 {
    let processors = nr_cpus().unwrap_or(1);
    (processors * REGISTER_STRIDE) as u32
}

/// The registers of one chip, one processor after the other.
pub struct Registers(Mapped);

impl Registers {
    /// Maps the registers into memory. Errors: a map that does not hold registers, or that the
    /// kernel cannot map.
    pub fn open(map: Map) -> Result<Registers> {
        Ok(Registers(Mapped::open(map, MAP, entries() as usize, 1)?))
    }

    /// A register's count, summed over processors; 0 for an unknown register. O(processors).
    pub fn counted(&self, register: usize) -> u64 {
        let places = (register..self.0.len()).step_by(REGISTER_STRIDE);
        places.map(|at| self.0.word(at)).sum()
    }
}
