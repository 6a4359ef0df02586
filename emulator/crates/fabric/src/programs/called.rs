//! The interface through which users' programs use a server's chip in the kernel: tables and
//! registers. Packets take another path, between the kernel and the node. `[serverswitch §3.3.2]`

use std::collections::BTreeMap;

use cubeyard_chip::api::Tables;
use cubeyard_chip::trace::Trace;
use cubeyard_chip::{Flaw, Overlay, Place, Program, Register};
use cubeyard_dataplane::chip_tables::lost_punts;
use cubeyard_dataplane::object::CalledInKernel;
use cubeyard_dataplane::tables::TableUpdate;

use super::maps::Table;
use super::object::{counted, write};
use super::registers::Registers;

/// The chip and the maps that hold its tables.
pub struct CalledChip<'a> {
    pub(super) chip: &'a mut dyn CalledInKernel,
    pub(super) tables: &'a mut BTreeMap<&'static str, Table>,
    pub(super) registers: Option<&'a Registers>,
    /// Queue length of each port in bytes.
    pub(super) queues: &'a [(u16, u64)],
}

impl CalledChip<'_> {
    fn read(&self, table: &str, key: &[u8]) -> Option<Vec<u8>> {
        self.tables.get(table)?.get(key)
    }

    fn write_all(&mut self, updates: &[TableUpdate]) -> Result<(), Flaw> {
        let written = updates.iter().try_for_each(|update| write(self.tables, update));
        written.map_err(|error| {
            let fix = "Clear entries, or end other runs: the host is short of memory for tables.";
            Flaw::new("kernel-tables", "calls", error, "what the kernel takes", fix)
        })
    }
}

impl Tables for CalledChip<'_> {
    fn program(&self) -> &Program {
        self.chip.driver().chip().program()
    }

    fn overlay(&self) -> &Overlay {
        self.chip.driver().overlay()
    }

    fn hits(&self) -> BTreeMap<Place, u64> {
        self.chip.hits(&|table, key| self.read(table, key))
    }

    fn register(&self, register: Register) -> u64 {
        if let Register::QueueBytes(port) = register {
            let mut known = self.queues.iter();
            let queue = known.find(|(other, _)| *other == u16::from(port));
            return queue.map_or(0, |(_, bytes)| *bytes);
        }
        self.chip
            .value(register, &|slot| Some(counted(self.registers, slot)))
    }

    fn write_register(&mut self, name: &str, value: u64) -> Result<(), Flaw> {
        let registers = self.registers;
        let updates = self
            .chip
            .write(name, value, &|slot| Some(counted(registers, slot)))?;
        self.write_all(&updates)
    }

    fn execute(&mut self, calls: &str) -> Result<(), Vec<Flaw>> {
        let tables = &*self.tables;
        let read = |table: &str, key: &[u8]| tables.get(table)?.get(key);
        let updates = self.chip.execute(calls, &read)?;
        self.write_all(&updates).map_err(|flaw| vec![flaw])
    }

    fn trace(&self, port: u8, packet: &[u8]) -> Result<Trace, Flaw> {
        self.chip.driver().chip().clone().trace(port, packet)
    }

    fn lost_punts(&self) -> u64 {
        lost_punts(&|table, key| self.read(table, key))
    }
}
