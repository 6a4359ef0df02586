//! Keeps the tables of a server's chip in the kernel consistent with BCube's tables: every change
//! of a neighbour commits a new program, and so does every call of a user's program, whose entries
//! take precedence over BCube's `[serverswitch §3.3.2]`. The tables are `chip_tables/`.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_chip::bcube::PROTOCOL;
use cubeyard_chip::{EXTERNAL_PORTS, Flaw, Place, Register, ServerSwitch};
use zerocopy::FromBytes;

use super::chip_program::ChipProgram;
use super::header::HEADER_BYTES;
use super::nha::Nha;
use super::state::State;
use super::tables::{CONFIG, NST};
use crate::chip_tables::layout::Punt;
use crate::chip_tables::{ChipTables, refused, set_port, wrong};
use crate::configuration::ConfigurationError;
use crate::frame::ETHERNET_BYTES;
use crate::inspection::Section;
use crate::object::{CalledInKernel, Question, ReadCounter, ReadEntry, Translate};
use crate::tables::{TableError, TableUpdate};

/// Offsets in the header of the paper's Fig. 5: protocol number, hops, number of hops, and the mark
/// of its source `[ours]`.
const PROTOCOL_AT: usize = 9;
const HOPS_AT: usize = 20;
const COUNT_AT: usize = 29;
const MARK_AT: usize = 30;

/// A server's chip in the kernel: BCube's tables, and the chip's tables.
#[derive(Debug, Default)]
pub struct BcubeChip {
    state: State,
    /// The source of its programs.
    source: ChipProgram,
    /// The current program, with the entries that calls have set.
    driver: ServerSwitch,
    /// The tables of the chip.
    pub tables: ChipTables,
}

/// The state of a server that has no address and no known neighbours.
pub fn bcube_chip() -> Box<dyn Translate> {
    Box::<BcubeChip>::default()
}

/// Parses the question in a marked packet's copy for the CPU.
pub fn question(record: &[u8]) -> Option<Question> {
    let punt = Punt::ref_from_prefix(record).ok()?.0;
    let packet = punt.data.get(ETHERNET_BYTES..usize::from(punt.taken))?;
    let (header, _) = packet.split_first_chunk::<HEADER_BYTES>()?;
    let count = usize::from(header[COUNT_AT]);
    let hops = header[HOPS_AT..COUNT_AT - 1].get(..count)?;
    let is_marked = header[PROTOCOL_AT] == PROTOCOL && header[MARK_AT] == 1;
    (is_marked && punt.out_port < EXTERNAL_PORTS).then_some(Question {
        at_nanos: punt.at_nanos,
        source: Ipv4Addr::new(header[12], header[13], header[14], header[15]),
        // The header lists hops in reverse order, so the source's own hop is the last one.
        source_port: Nha(*hops.last()?).level() as u8,
        out_port: punt.out_port,
        processor: punt.processor,
    })
}

impl Translate for BcubeChip {
    /// Returns the update itself and, if the input of the chip's program has changed, the updates
    /// that commit a new program. O(entries). Entries set by calls are removed if the kernel's chip
    /// has no space for them next to the new program.
    fn translate(
        &mut self,
        update: &TableUpdate,
        read: &ReadEntry<'_>,
    ) -> Result<Vec<TableUpdate>, TableError> {
        if !matches!(&*update.table, CONFIG | NST) {
            return Ok(vec![update.clone()]);
        }
        self.state.apply(update)?;
        let program = self.source.of(&self.state)?;
        let mut updates = vec![update.clone()];
        updates.extend(self.ports());
        let beside = |driver: &mut ServerSwitch| driver.rebase(program.clone());
        let committed = self.commit(beside, read);
        let committed = committed.or_else(|_| self.commit(|driver| driver.load(program.clone()), read));
        updates.extend(committed.map_err(refused)?);
        Ok(updates)
    }

    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError> {
        let source = ChipProgram::of_text(text)?;
        let program = source.of(&self.state)?;
        let loaded = self.commit(|driver| driver.load(program), &|_, _| None);
        let updates = loaded.map_err(refused)?;
        self.source = source;
        Ok(updates)
    }

    fn mark_every(&self, port: u8, bytes: u32) -> TableUpdate {
        self.tables.mark_every(port, bytes)
    }

    fn inspect(&self, read: &ReadEntry<'_>, counters: &[u64]) -> Vec<Section> {
        self.tables.inspect(read, counters)
    }

    fn registers(&self, counters: &[u64]) -> Vec<(String, u64)> {
        self.tables.registers(counters)
    }

    fn register(&self, name: &str, counter: &ReadCounter<'_>) -> Result<u64, ConfigurationError> {
        self.tables.register(name, counter)
    }

    fn write_register(
        &mut self,
        name: &str,
        value: u64,
        counter: &ReadCounter<'_>,
    ) -> Result<Vec<TableUpdate>, ConfigurationError> {
        self.write(name, value, counter).map_err(wrong)
    }

    fn called(&mut self) -> Option<&mut dyn CalledInKernel> {
        Some(self)
    }
}

impl CalledInKernel for BcubeChip {
    fn driver(&self) -> &ServerSwitch {
        &self.driver
    }

    fn execute(&mut self, calls: &str, read: &ReadEntry<'_>) -> Result<Vec<TableUpdate>, Vec<Flaw>> {
        self.commit(|driver| driver.execute(calls), read)
    }

    fn hits(&self, read: &ReadEntry<'_>) -> BTreeMap<Place, u64> {
        self.tables.hits(read)
    }

    fn value(&self, register: Register, counter: &ReadCounter<'_>) -> u64 {
        self.tables.value(register, counter)
    }

    /// Switch registers keep their values when the program changes.
    fn write(&mut self, name: &str, value: u64, counter: &ReadCounter<'_>) -> Result<Vec<TableUpdate>, Flaw> {
        let updates = self.tables.write(name, value, counter)?;
        self.driver.write_register(name, value)?;
        Ok(updates)
    }
}

impl BcubeChip {
    /// Changes the program, and returns the updates that commit it; unchanged entries keep their
    /// counters. O(entries). Errors: of the change, or of a program that the kernel's chip does not
    /// support; then nothing has changed.
    fn commit(
        &mut self,
        change: impl FnOnce(&mut ServerSwitch) -> Result<(), Vec<Flaw>>,
        read: &ReadEntry<'_>,
    ) -> Result<Vec<TableUpdate>, Vec<Flaw>> {
        let mut driver = self.driver.clone();
        change(&mut driver)?;
        let (before, program) = (self.driver.chip().program(), driver.chip().program());
        let hits = |tables: &ChipTables| {
            let mut hits = tables.hits(read);
            hits.retain(|&place, _| before.entry(place) == program.entry(place));
            hits
        };
        let of_call = |place: Place| driver.overlay().has(place);
        let updates = self.tables.commit_called(program, &of_call, hits)?;
        self.driver = driver;
        Ok(updates)
    }

    /// Sets the interface of each external port.
    fn ports(&self) -> impl Iterator<Item = TableUpdate> {
        (0..EXTERNAL_PORTS).map(|port| {
            let mut known = self.state.nst.iter();
            let next = known.find(|next| next.ifindex != 0 && next.port == port);
            set_port(port, next.map_or(0, |next| next.ifindex))
        })
    }
}
