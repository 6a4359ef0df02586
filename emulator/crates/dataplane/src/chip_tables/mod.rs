//! The tables of a switching chip in the kernel, in the layout of `layout`. A program is committed
//! as a whole, while packets use the previous one `[serverswitch §3.3.2]`.
//!
//! A protocol whose servers have a chip updates these tables when its own change; a switch that is
//! a chip is programmed by its CPU. The kernel has two generations of each table, so that a commit
//! changes a single word. Not here: packets, which the object in `bpf/serverswitch` forwards, and
//! programs, which belong to `cubeyard_chip`.

mod in_place;
pub mod layout;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use cubeyard_chip::compile::{CARES, Compiled, CompiledEntry, INTERFACES, TUPLES, compile};
use cubeyard_chip::{
    Action, Counters, EXTERNAL_PORTS, Flaw, Forward, Mpls, PORTS, Place, Program, Register, Table, text,
};
use in_place::Change;
use layout::{
    CpuSide, EXACT_ENTRIES, Entry, ExactKey, Interface, Keys, L3, MISS_TO_CPU, MPLS, Marking, PREFIX_ENTRIES,
    PrefixKey, TCAM_ENTRIES, TcamKey, Tuple, key_in,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::configuration::ConfigurationError;
use crate::inspection::{Cell, ColumnKind, Section};
use crate::object::{ReadCounter, ReadEntry, Translate};
use crate::tables::{TableError, TableKind, TableSchema, TableUpdate, Writer};

/// Number of programs that the tables can hold: the current one, and the one being written.
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

/// The schemas of the chip's tables.
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
        size_of::<Entry>(),
        GENERATIONS * TCAM_ENTRIES,
    ),
    table(
        "exact",
        TableKind::Hash,
        size_of::<ExactKey>(),
        size_of::<Entry>(),
        GENERATIONS * EXACT_ENTRIES,
    ),
    table(
        "prefixes",
        TableKind::Trie,
        size_of::<PrefixKey>(),
        size_of::<Entry>(),
        GENERATIONS * PREFIX_ENTRIES,
    ),
    table(
        "interfaces",
        TableKind::Array,
        4,
        size_of::<Interface>(),
        GENERATIONS * INTERFACES as usize,
    ),
    table("ports", TableKind::Array, 4, 4, EXTERNAL_PORTS as usize),
    table(
        "marking",
        TableKind::Array,
        4,
        size_of::<Marking>(),
        EXTERNAL_PORTS as usize,
    ),
    table(CPU, TableKind::Array, 4, size_of::<CpuSide>(), 1),
];

/// Name of the table with the CPU's data.
const CPU: &str = "cpu";

/// A chip in the kernel, with a copy of each generation of its tables.
#[derive(Debug, Default)]
pub struct ChipTables {
    /// The current program, which packets use.
    program: Option<Program>,
    /// Twice the number of commits: the value of `generation` between commits.
    version: u32,
    /// By generation: the entries with their map and key, ordered by table and index, and the
    /// numbers of interfaces.
    entries: [Vec<(Table, &'static str, Vec<u8>)>; GENERATIONS],
    interfaces: [Vec<u32>; GENERATIONS],
    /// Values of the counters when they were last cleared. Only the kernel can write counters, so
    /// these are subtracted.
    cleared: Counters,
    /// The compiled current program, and those of its entries that calls have set.
    compiled: Option<(Compiled, BTreeSet<Place>)>,
    /// Keys of the current program, with switches as registers have set them since the commit.
    keys: Option<Keys>,
}

/// A chip whose CPU commits whole programs.
pub fn programmed() -> Box<dyn Translate> {
    Box::<ChipTables>::default()
}

/// Columns of entries. Values are shown in hexadecimal digits, with `..` where the mask ignores a
/// digit; the TCAM's rows also name the key, the other tables' rows the table.
const TCAM_COLUMNS: &[(&str, &str, ColumnKind)] = &[
    ("index", "Index", ColumnKind::Count),
    ("hits", "Packets", ColumnKind::Count),
    ("udlk", "UDLK", ColumnKind::Count),
    ("match", "Value", ColumnKind::Text),
    ("action", "Action", ColumnKind::Text),
];
const OTHER_COLUMNS: &[(&str, &str, ColumnKind)] = &[
    ("index", "Index", ColumnKind::Count),
    ("hits", "Packets", ColumnKind::Count),
    ("table", "Table", ColumnKind::Text),
    ("match", "Value", ColumnKind::Text),
    ("action", "Action", ColumnKind::Text),
];
const REGISTER_COLUMNS: &[(&str, &str, ColumnKind)] = &[
    ("register", "Register", ColumnKind::Text),
    ("value", "Value", ColumnKind::Count),
];

impl Translate for ChipTables {
    fn translate(
        &mut self,
        update: &TableUpdate,
        _read: &ReadEntry<'_>,
    ) -> Result<Vec<TableUpdate>, TableError> {
        Ok(vec![update.clone()])
    }

    fn set_program(&mut self, text: &str) -> Result<Vec<TableUpdate>, TableError> {
        self.commit(&text::read(text).map_err(refused)?)
    }

    fn mark_every(&self, port: u8, bytes: u32) -> TableUpdate {
        let marking = Marking {
            left: 0,
            period: bytes,
            reserved: 0,
        };
        array("marking", port.into(), &marking)
    }

    /// Entries that have matched packets since the last commit, the busiest first, and registers
    /// other than 0. O(entries).
    fn inspect(&self, read: &ReadEntry<'_>, counters: &[u64]) -> Vec<Section> {
        let Some(program) = &self.program else {
            return Vec::new();
        };
        let of_tcam = self.hit(read, |table| table == Table::Tcam);
        let row = |(table, found): (Table, Entry), second: &dyn Fn(u8) -> Cell| {
            let entry = program.table(table).get(&found.index)?;
            Some(vec![
                Cell::Count(found.index.into()),
                Cell::Count(found.hits),
                second(entry.iudlk),
                Cell::Text(match entry.mask.is_empty() {
                    true => ternary(&entry.value, &vec![0xff; entry.value.len()]),
                    false => ternary(&entry.value, &entry.mask),
                }),
                Cell::Text(describe(&entry.action)),
            ])
        };
        let title = format!("Chip: TCAM entries hit, of {}", program.table(Table::Tcam).len());
        let rows = of_tcam
            .into_iter()
            .filter_map(|found| row(found, &|udlk| Cell::Count(udlk.into())));
        let mut sections = vec![Section::new("chip-tcam", &title, TCAM_COLUMNS, rows)];
        let others = program.entries() - program.table(Table::Tcam).len();
        if others > 0 {
            let title = format!("Chip: other entries hit, of {others}");
            let rows = self
                .hit(read, |table| table != Table::Tcam)
                .into_iter()
                .filter_map(|found| row(found, &|_| Cell::Text(found.0.name().to_owned())));
            sections.push(Section::new("chip-entries", &title, OTHER_COLUMNS, rows));
        }
        let registers = self
            .registers(counters)
            .into_iter()
            .filter(|(_, value)| *value > 0);
        let rows = registers.map(|(name, value)| vec![Cell::Text(name), Cell::Count(value)]);
        sections.push(Section::new(
            "chip-registers",
            "Chip: registers",
            REGISTER_COLUMNS,
            rows,
        ));
        sections
    }

    fn registers(&self, counters: &[u64]) -> Vec<(String, u64)> {
        let all = Register::all().into_iter();
        all.map(|register| {
            let value = self.value(register, &|slot| counters.get(slot).copied());
            (register.to_string(), value)
        })
        .collect()
    }

    fn register(&self, name: &str, counter: &ReadCounter<'_>) -> Result<u64, ConfigurationError> {
        Ok(self.value(Register::by_name(name).map_err(wrong)?, counter))
    }

    fn write_register(
        &mut self,
        name: &str,
        value: u64,
        counter: &ReadCounter<'_>,
    ) -> Result<Vec<TableUpdate>, ConfigurationError> {
        self.write(name, value, counter).map_err(wrong)
    }
}

/// Converts the error for a wrong name or value of a register.
pub(crate) fn wrong(flaw: Flaw) -> ConfigurationError {
    ConfigurationError {
        field: flaw.field.into(),
        value: flaw.value.into(),
        limit: flaw.limit.into(),
        fix: flaw.hint.into(),
    }
}

/// Converts the first flaw of a program to an error with its position.
pub(crate) fn refused(flaws: Vec<Flaw>) -> TableError {
    let first = flaws.into_iter().next();
    let message = first.map_or_else(String::new, |flaw| match flaw.line {
        0 => flaw.to_string(),
        line => format!("line {line}, column {}: {flaw}", flaw.column),
    });
    TableError::new("tcam", format!("the chip's program: {message}"))
}

/// Sets the interface, by number, through which a chip sends packets of an external port; 0 for
/// none.
pub fn set_port(port: u8, interface: u32) -> TableUpdate {
    array("ports", port.into(), &interface)
}

/// Sets the socket, by its cookie, whose packets a chip treats as packets of its CPU.
pub fn set_cpu_socket(cookie: u64) -> TableUpdate {
    let side = CpuSide {
        socket: cookie,
        ..CpuSide::default()
    };
    array(CPU, 0, &side)
}

/// Number of lost packets for users' programs.
pub fn lost_punts(read: &ReadEntry<'_>) -> u64 {
    let side = read(CPU, &0_u32.to_ne_bytes());
    side.and_then(|side| CpuSide::read_from_bytes(&side).ok())
        .map_or(0, |side| side.lost)
}

/// A value in hexadecimal digits. Bytes that the mask ignores are `..`; after a byte that it uses
/// in part, the mask's byte follows.
pub(crate) fn ternary(value: &[u8], mask: &[u8]) -> String {
    let byte = |(value, mask): (&u8, &u8)| match mask {
        0 => "..".to_owned(),
        0xff => format!("{value:02x}"),
        part => format!("{value:02x}/{part:02x}"),
    };
    value.iter().zip(mask).map(byte).collect::<Vec<_>>().join(" ")
}

/// An action in the language of programs.
fn describe(action: &Action) -> String {
    let mut text = match action.forward {
        Forward::Vif(vif) => format!("REDIRECT_VIF {vif}"),
        Forward::Port(port) => format!("REDIRECT_PORT {port}"),
        Forward::ToCpu => "TO_CPU".to_owned(),
        Forward::Discard => "DISCARD".to_owned(),
        Forward::Mirror(port) => format!("MIRROR {port}"),
        Forward::Duplicate(set) => {
            let ports = (0..PORTS).filter(|port| set >> port & 1 == 1);
            let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
            format!("DUPLICATE {}", ports.join(" "))
        }
    };
    let more = [
        action.mirror.map(|port| format!("mirror {port}")),
        action.dscp.map(|dscp| format!("dscp {dscp}")),
        action.count_up.map(|at| format!("count B{at}")),
        action.mpls.map(|change| match change {
            Mpls::Push(label) => format!("push {label}"),
            Mpls::Swap(label) => format!("swap {label}"),
            Mpls::Pop => "pop".to_owned(),
        }),
    ];
    for item in more.into_iter().flatten() {
        text = format!("{text}, {item}");
    }
    text
}

impl ChipTables {
    /// The current program; `None` before the first commit.
    pub fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// Number of packets that each entry has matched. O(entries).
    pub fn hits(&self, read: &ReadEntry<'_>) -> BTreeMap<Place, u64> {
        let hit = self.hit(read, |_| true).into_iter();
        hit.map(|(table, entry)| {
            let i = entry.index;
            (Place { table, i }, entry.hits)
        })
        .collect()
    }

    /// Entries of some tables that have matched packets, the busiest first.
    fn hit(&self, read: &ReadEntry<'_>, wanted: impl Fn(Table) -> bool) -> Vec<(Table, Entry)> {
        let keys = self.entries[self.current() as usize].iter();
        let entries = keys
            .filter(|(table, ..)| wanted(*table))
            .filter_map(|(table, map, key)| {
                let entry = Entry::read_from_bytes(&read(map, key)?).ok()?;
                Some((*table, entry))
            });
        let mut hit: Vec<_> = entries.filter(|(_, entry)| entry.hits > 0).collect();
        hit.sort_by_key(|(table, entry)| (Reverse(entry.hits), *table, entry.index));
        hit
    }

    /// The value of a register, given the kernel's counters.
    pub(crate) fn value(&self, register: Register, count_of: &ReadCounter<'_>) -> u64 {
        let flag = |flag: u32| u64::from(self.keys.is_some_and(|keys| keys.flags & flag != 0));
        match register {
            Register::L3Enable => flag(L3),
            Register::MplsEnable => flag(MPLS),
            Register::MissToCpu => flag(MISS_TO_CPU),
            counter => counter.slot().map_or(0, |slot| {
                let counted = count_of(slot).unwrap_or(0);
                counted.saturating_sub(self.cleared.0[slot])
            }),
        }
    }

    /// The updates that write a register: clear a counter, or turn a switch until the next commit.
    /// Errors: the register does not exist, or cannot have this value.
    pub(crate) fn write(
        &mut self,
        name: &str,
        value: u64,
        counter: &ReadCounter<'_>,
    ) -> Result<Vec<TableUpdate>, Flaw> {
        let register = Register::by_name(name)?;
        register.check(value)?;
        if let Some(slot) = register.slot() {
            self.cleared.0[slot] = counter(slot).unwrap_or(0);
            return Ok(Vec::new());
        }
        let current = self.current();
        let Some(keys) = &mut self.keys else {
            return Ok(Vec::new());
        };
        let flag = match register {
            Register::L3Enable => L3,
            Register::MplsEnable => MPLS,
            _ => MISS_TO_CPU,
        };
        keys.flags = keys.flags & !flag | if value == 1 { flag } else { 0 };
        Ok(vec![array("chip", current, keys)])
    }

    /// The updates that replace the current program: they write the generation that is not in use,
    /// and then select it. O(entries). Errors: a wrong program, or one that the kernel's chip
    /// cannot run; then nothing changes.
    pub fn commit(&mut self, program: &Program) -> Result<Vec<TableUpdate>, TableError> {
        let compiled = compile(program).map_err(refused)?;
        Ok(self.replace(program, compiled, BTreeSet::new(), &BTreeMap::new()))
    }

    /// Commits a program in which calls have set the entries for which `is_of_call` returns true;
    /// each entry's counter starts at its `hits`. If only one entry differs, and changing it alone
    /// is atomic for packets, only that entry is written. O(entries) of work, but few updates
    /// unless more differs.
    pub fn commit_called(
        &mut self,
        program: &Program,
        is_of_call: &dyn Fn(Place) -> bool,
        hits: impl FnOnce(&ChipTables) -> BTreeMap<Place, u64>,
    ) -> Result<Vec<TableUpdate>, Vec<Flaw>> {
        let compiled = compile(program)?;
        let places = compiled.entries.iter().map(place_of);
        let of_call: BTreeSet<Place> = places.filter(|place| is_of_call(*place)).collect();
        let in_place = self.compiled.as_ref().and_then(|(before, before_of_call)| {
            let same_keys = self.keys == Some(Keys::of(&compiled));
            let current = self.current();
            let change =
                same_keys.then(|| Change::between((before, before_of_call), (&compiled, &of_call)))??;
            Some((change.updates(current, before, &compiled, &of_call), change))
        });
        let Some((updates, change)) = in_place else {
            let hits = hits(self);
            return Ok(self.replace(program, compiled, of_call, &hits));
        };
        let keys = &mut self.entries[(self.version >> 1 & 1) as usize];
        let changed = key_in(self.version >> 1 & 1, change.key);
        keys.retain(|key| *key != changed);
        if change.entry.is_some() {
            keys.push(changed);
        }
        self.program = Some(program.clone());
        self.compiled = Some((compiled, of_call));
        Ok(updates)
    }

    /// Writes a whole program to the other generation.
    fn replace(
        &mut self,
        program: &Program,
        compiled: Compiled,
        of_call: BTreeSet<Place>,
        hits: &BTreeMap<Place, u64>,
    ) -> Vec<TableUpdate> {
        let next = 1 - self.current();
        let mut updates = vec![array("generation", 0, &self.version.wrapping_add(1))];
        updates.extend(self.empty(next));
        self.fill(next, &compiled, &of_call, hits, &mut updates);
        self.version = self.version.wrapping_add(2);
        updates.push(array("generation", 0, &self.version));
        self.program = Some(program.clone());
        self.compiled = Some((compiled, of_call));
        updates
    }

    /// The generation that packets use.
    fn current(&self) -> u32 {
        self.version >> 1 & 1
    }

    /// The updates that remove the entries of a generation.
    fn empty(&mut self, generation: u32) -> Vec<TableUpdate> {
        let (entries, interfaces) = (
            &mut self.entries[generation as usize],
            &mut self.interfaces[generation as usize],
        );
        let entries = entries
            .drain(..)
            .map(|(_, map, key)| TableUpdate::remove(map, &key));
        let none = Interface::default();
        let interfaces = interfaces
            .drain(..)
            .map(|i| array("interfaces", generation * INTERFACES + i, &none));
        entries.chain(interfaces).collect()
    }

    /// The updates that write a program to a generation.
    fn fill(
        &mut self,
        next: u32,
        program: &Compiled,
        of_call: &BTreeSet<Place>,
        hits: &BTreeMap<Place, u64>,
        updates: &mut Vec<TableUpdate>,
    ) {
        let keys = Keys::of(program);
        self.keys = Some(keys);
        updates.push(array("chip", next, &keys));
        for (care, at) in program.cares.iter().zip(next * CARES as u32..) {
            updates.push(array("prune", at, care.possible.as_ref()));
        }
        for (tuple, at) in program.tuples.iter().zip(next * TUPLES as u32..) {
            let (mask, key, best) = (tuple.mask, tuple.key, tuple.best);
            updates.push(array("tuples", at, &Tuple { mask, key, best }));
        }
        for entry in &program.entries {
            let (table, map, key) = key_in(next, entry.key);
            let place = place_of(entry);
            let hits = hits.get(&place).copied().unwrap_or(0);
            let entry = Entry::of(entry, of_call.contains(&place), hits);
            updates.push(TableUpdate::set(map, &key, entry.as_bytes()));
            self.entries[next as usize].push((table, map, key));
        }
        for interface in &program.interfaces {
            let value = Interface {
                dmac: interface.dmac.map_or([0; 6], |mac| mac.0),
                smac: interface.smac.map_or([0; 6], |mac| mac.0),
                sets_dmac: interface.dmac.is_some().into(),
                sets_smac: interface.smac.is_some().into(),
                port: interface.port,
                set: 1,
            };
            updates.push(array("interfaces", next * INTERFACES + interface.i, &value));
            self.interfaces[next as usize].push(interface.i);
        }
    }
}

/// The position of an entry in its program.
fn place_of(entry: &CompiledEntry) -> Place {
    Place {
        table: key_in(0, entry.key).0,
        i: entry.index,
    }
}

/// An entry of an array.
fn array(name: &'static str, index: u32, value: &(impl IntoBytes + Immutable + ?Sized)) -> TableUpdate {
    TableUpdate::set(name, &index.to_ne_bytes(), value.as_bytes())
}
