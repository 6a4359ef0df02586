//! The chip's tables in the kernel, byte for byte the maps of `bpf/serverswitch/chip.h`, and what keeps them in step with BCube's:
//! every change of a neighbour commits a new program, whole, while packets go by the one before `[serverswitch §3.3.2]`.

use std::cmp::Reverse;

use cubeyard_chip::compile::{CARES, Compiled, INTERFACES, KEY_ROOM, TUPLES, compile};
use cubeyard_chip::{EXTERNAL_PORTS, Forward, Program, Table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::chip_program::{ChipProgram, refused};
use super::state::State;
use super::tables::{CONFIG, NST};
use crate::inspection::{Cell, ColumnKind, Section};
use crate::object::{ReadEntry, Translate};
use crate::tables::{TableError, TableKind, TableSchema, TableUpdate, Writer};

/// Entries of the TCAM `[serverswitch §4.1]`.
pub const TCAM_ENTRIES: usize = 2048;
/// Programs that every table holds: the one that packets go by, and the one that is written.
const GENERATIONS: usize = 2;

const fn table(
    name: &'static str,
    kind: TableKind,
    key_bytes: usize,
    value_bytes: usize,
    entries: usize,
) -> TableSchema {
    TableSchema {
        name,
        kind,
        key_bytes,
        value_bytes,
        entries,
        writer: Writer::SetUp,
    }
}

/// The chip's tables.
pub const SCHEMAS: &[TableSchema] = &[
    table("generation", TableKind::Array, 4, 4, 1),
    table("chip", TableKind::Array, 4, size_of::<Keys>(), GENERATIONS),
    table("prune", TableKind::Array, 4, 2048, GENERATIONS * CARES),
    table(
        "tuples",
        TableKind::Array,
        4,
        size_of::<Tuple>(),
        GENERATIONS * TUPLES,
    ),
    table(
        "tcam",
        TableKind::Hash,
        size_of::<TcamKey>(),
        size_of::<TcamEntry>(),
        GENERATIONS * TCAM_ENTRIES,
    ),
    table(
        "interfaces",
        TableKind::Array,
        4,
        size_of::<Interface>(),
        GENERATIONS * INTERFACES as usize,
    ),
    table("ports", TableKind::Array, 4, 4, EXTERNAL_PORTS as usize),
];

/// A program's keys: an entry of `chip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Keys {
    sources: [u8; 2 * KEY_ROOM],
    cares: [u8; CARES],
    reserved: [u8; 2],
    care_count: u32,
    tuple_count: u32,
    parsed_bytes: u32,
    miss_to_cpu: u32,
}

/// A pair of key and mask: an entry of `tuples`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Tuple {
    mask: [u64; 3],
    key: u32,
    best: u32,
}

/// A key of `tcam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TcamKey {
    masked: [u64; 3],
    tuple: u32,
    generation: u32,
}

/// An entry of `tcam`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TcamEntry {
    index: u32,
    act: u8,
    port: u8,
    vif: u16,
    hits: u64,
}

/// An entry of `interfaces`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Interface {
    dmac: [u8; 6],
    smac: [u8; 6],
    sets_dmac: u8,
    sets_smac: u8,
    port: u8,
    set: u8,
}

/// Acts of [`TcamEntry`], as in `chip.h`.
pub const ACTS: [(&str, u8); 4] = [
    ("CHIP_REDIRECT_VIF", 0),
    ("CHIP_REDIRECT_PORT", 1),
    ("CHIP_TO_CPU", 2),
    ("CHIP_DISCARD", 3),
];

/// A server's chip in the kernel: what BCube's tables say, and what each generation of the chip's holds.
#[derive(Debug, Default)]
pub struct ChipTables {
    state: State,
    /// What programs are made by.
    source: ChipProgram,
    /// The program that packets go by.
    program: Option<Program>,
    /// Twice the number of commits: what `generation` says between them.
    version: u32,
    /// By generation: keys of `tcam` in order of index, and numbers of interfaces.
    entries: [Vec<TcamKey>; GENERATIONS],
    interfaces: [Vec<u32>; GENERATIONS],
}

/// A server that has no address and knows no neighbour yet.
pub fn chip_tables() -> Box<dyn Translate> {
    Box::<ChipTables>::default()
}

/// Columns of the TCAM: of each entry its values stand in hexadecimal digits, `..` where the mask does not care.
const COLUMNS: &[(&str, &str, ColumnKind)] = &[
    ("index", "Index", ColumnKind::Count),
    ("udlk", "UDLK", ColumnKind::Count),
    ("match", "Value", ColumnKind::Text),
    ("action", "Action", ColumnKind::Text),
    ("hits", "Packets", ColumnKind::Count),
];

impl Translate for ChipTables {
    /// The update itself, and after a change of what the chip's program is made of the updates that commit a new one. O(entries).
    fn translate(&mut self, update: &TableUpdate) -> Result<Vec<TableUpdate>, TableError> {
        if !matches!(&*update.table, CONFIG | NST) {
            return Ok(vec![update.clone()]);
        }
        self.state.apply(update)?;
        let program = self.source.of(&self.state)?;
        let mut updates = vec![update.clone()];
        updates.extend(self.ports());
        updates.extend(self.commit(&program)?);
        Ok(updates)
    }

    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError> {
        let source = ChipProgram::of_text(text)?;
        let updates = self.commit(&source.of(&self.state)?)?;
        self.source = source;
        Ok(updates)
    }

    /// The TCAM's entries that have decided about packets since the last commit, the busiest first. O(entries).
    fn inspect(&self, read: &ReadEntry<'_>) -> Vec<Section> {
        let Some(program) = &self.program else {
            return Vec::new();
        };
        let keys = self.entries[self.current() as usize].iter();
        let entries = keys.filter_map(|key| TcamEntry::read_from_bytes(&read("tcam", key.as_bytes())?).ok());
        let mut hit: Vec<TcamEntry> = entries.filter(|entry| entry.hits > 0).collect();
        hit.sort_by_key(|entry| (Reverse(entry.hits), entry.index));
        let rows = hit.iter().filter_map(|found| {
            let entry = program.table(Table::Tcam).get(&found.index)?;
            Some(vec![
                Cell::Count(found.index.into()),
                Cell::Count(entry.iudlk.into()),
                Cell::Text(ternary(&entry.value, &entry.mask)),
                Cell::Text(describe(entry.action.forward)),
                Cell::Count(found.hits),
            ])
        });
        let title = format!("Chip: TCAM entries hit, of {}", program.table(Table::Tcam).len());
        vec![Section::new("chip-tcam", &title, COLUMNS, rows)]
    }
}

/// A value in hexadecimal digits, `..` for bytes that the mask leaves out, and the mask behind a byte of which it takes a part.
pub(super) fn ternary(value: &[u8], mask: &[u8]) -> String {
    let byte = |(value, mask): (&u8, &u8)| match mask {
        0 => "..".to_owned(),
        0xff => format!("{value:02x}"),
        part => format!("{value:02x}/{part:02x}"),
    };
    value.iter().zip(mask).map(byte).collect::<Vec<_>>().join(" ")
}

fn describe(forward: Forward) -> String {
    match forward {
        Forward::Vif(vif) => format!("REDIRECT_VIF {vif}"),
        Forward::Port(port) => format!("REDIRECT_PORT {port}"),
        Forward::ToCpu => "TO_CPU".to_owned(),
        Forward::Discard | Forward::Duplicate(_) | Forward::Mirror(_) => "DISCARD".to_owned(),
    }
}

impl ChipTables {
    /// The interface of each external port.
    fn ports(&self) -> impl Iterator<Item = TableUpdate> {
        (0..u32::from(EXTERNAL_PORTS)).map(|port| {
            let mut known = self.state.nst.iter();
            let next = known.find(|next| next.ifindex != 0 && u32::from(next.port) == port);
            array("ports", port, &next.map_or(0, |next| next.ifindex))
        })
    }

    /// The updates that put a program in place of the present one: they write the generation that packets do not go by, and then
    /// name it. O(entries). Errors: a program that is wrong, or that the kernel's chip cannot run; then nothing has changed.
    pub fn commit(&mut self, program: &Program) -> Result<Vec<TableUpdate>, TableError> {
        let compiled = compile(program).map_err(refused)?;
        let next = 1 - self.current();
        let mut updates = vec![array("generation", 0, &self.version.wrapping_add(1))];
        updates.extend(self.empty(next));
        self.fill(next, &compiled, &mut updates);
        self.version = self.version.wrapping_add(2);
        updates.push(array("generation", 0, &self.version));
        self.program = Some(program.clone());
        Ok(updates)
    }

    /// The generation that packets go by.
    fn current(&self) -> u32 {
        self.version >> 1 & 1
    }

    /// Removes the entries of a generation.
    fn empty(&mut self, generation: u32) -> Vec<TableUpdate> {
        let (entries, interfaces) = (
            &mut self.entries[generation as usize],
            &mut self.interfaces[generation as usize],
        );
        let entries = entries
            .drain(..)
            .map(|key| TableUpdate::remove("tcam", key.as_bytes()));
        let none = Interface::default();
        let interfaces = interfaces
            .drain(..)
            .map(|i| array("interfaces", generation * INTERFACES + i, &none));
        entries.chain(interfaces).collect()
    }

    /// Writes a program into a generation.
    fn fill(&mut self, next: u32, program: &Compiled, updates: &mut Vec<TableUpdate>) {
        updates.push(array("chip", next, &Keys::of(program)));
        for (care, at) in program.cares.iter().zip(next * CARES as u32..) {
            updates.push(array("prune", at, care.possible.as_ref()));
        }
        for (tuple, at) in program.tuples.iter().zip(next * TUPLES as u32..) {
            let (mask, key, best) = (tuple.mask, tuple.key, tuple.best);
            updates.push(array("tuples", at, &Tuple { mask, key, best }));
        }
        for entry in &program.entries {
            let key = TcamKey {
                masked: entry.masked,
                tuple: entry.tuple,
                generation: next,
            };
            let value = TcamEntry::of(entry.index, entry.forward);
            updates.push(TableUpdate::set("tcam", key.as_bytes(), value.as_bytes()));
            self.entries[next as usize].push(key);
        }
        for one in &program.interfaces {
            let value = Interface {
                dmac: one.dmac.map_or([0; 6], |mac| mac.0),
                smac: one.smac.map_or([0; 6], |mac| mac.0),
                sets_dmac: one.dmac.is_some().into(),
                sets_smac: one.smac.is_some().into(),
                port: one.port,
                set: 1,
            };
            updates.push(array("interfaces", next * INTERFACES + one.i, &value));
            self.interfaces[next as usize].push(one.i);
        }
    }
}

impl Keys {
    fn of(program: &Compiled) -> Keys {
        let mut cares = [0; CARES];
        for (place, care) in cares.iter_mut().zip(&program.cares) {
            *place = care.place;
        }
        Keys {
            sources: program.sources,
            cares,
            reserved: [0; 2],
            care_count: program.cares.len() as u32,
            tuple_count: program.tuples.len() as u32,
            parsed_bytes: program.parsed_bytes,
            miss_to_cpu: program.miss_to_cpu.into(),
        }
    }
}

impl TcamEntry {
    fn of(index: u32, forward: Forward) -> TcamEntry {
        let (act, port, vif) = match forward {
            Forward::Vif(vif) => (ACTS[0].1, 0, vif),
            Forward::Port(port) => (ACTS[1].1, port, 0),
            Forward::ToCpu => (ACTS[2].1, 0, 0),
            // Compiled programs have no copies.
            Forward::Discard | Forward::Duplicate(_) | Forward::Mirror(_) => (ACTS[3].1, 0, 0),
        };
        TcamEntry {
            index,
            act,
            port,
            vif,
            hits: 0,
        }
    }
}

/// An entry of an array.
fn array(name: &'static str, index: u32, value: &(impl IntoBytes + Immutable + ?Sized)) -> TableUpdate {
    TableUpdate::set(name, &index.to_ne_bytes(), value.as_bytes())
}
