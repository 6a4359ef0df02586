//! A program for the chip in the kernel: its keys, its tables and its interfaces, in tables of
//! fixed sizes.
//!
//! The kernel's chip has no tunnels, and supports fewer different masks. A program beyond that is
//! rejected with the offending entry; it can run in user space.

use crate::action::Action;
use crate::entries::{Entry, Mac, Place, Table, VIFS};
use crate::flaw::Flaw;
use crate::program::Program;
use crate::registers::Register;
use crate::tcam::Tcam;
use crate::udlk::{IN_PORT, KEY_BYTES, Key};

/// The most different pairs of key and mask in the kernel's chip, one bit each.
pub const TUPLES: usize = 64;
/// Interfaces that it has `[serverswitch §4.1]`.
pub const INTERFACES: u32 = VIFS as u32;
/// Bytes of both keys that masks can ask about.
pub const CARES: usize = 2 * KEY_BYTES;
/// Bytes of a key, in whole words.
pub const KEY_ROOM: usize = 24;
/// Source of a byte of a key that is always zero.
pub const ZERO: u8 = 0xfe;

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The source of each byte of both keys: a byte of the packet, [`ZERO`], or 255 for the port of
    /// arrival.
    pub sources: [u8; 2 * KEY_ROOM],
    /// Bytes of a packet that the keys need.
    pub parsed_bytes: u32,
    /// Bytes of the keys on which masks depend, with the tuples that can match for each value.
    pub cares: Vec<Care>,
    /// Pairs of key and mask, by falling best index.
    pub tuples: Vec<KeyAndMask>,
    /// Entries of all tables: the TCAM's first, each table's by index.
    pub entries: Vec<CompiledEntry>,
    /// The interfaces by number.
    pub interfaces: Vec<CompiledInterface>,
    /// Switches that are on: `L3_ENABLE`, `MPLS_ENABLE`, `MISS_TO_CPU`.
    pub switches: [bool; 3],
}

/// A byte of the keys that masks ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Care {
    /// Its place in both keys together, below `2 * KEY_ROOM`.
    pub place: u8,
    /// The tuples that can match for each value of the byte, a bit each.
    pub possible: Box<[u64; 256]>,
}

/// Entries of one key and one mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAndMask {
    /// The index of the key, 0 or 1.
    pub key: u32,
    /// The words of the mask.
    pub mask: [u64; 3],
    /// The highest index of its entries.
    pub best: u32,
}

/// The key under which an entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompiledKey {
    /// For the TCAM: the pair of key and mask, and the words of the value.
    Tcam(u32, [u64; 3]),
    /// For a table of exact matches: its value, padded with zeros.
    Exact(Table, [u8; 6]),
    /// A prefix: its length in bits, and the address.
    Prefix(u8, [u8; 4]),
}

/// An entry of any table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledEntry {
    /// The key of the entry.
    pub key: CompiledKey,
    /// Its index: in the TCAM the highest matching one decides.
    pub index: u32,
    /// The action on packets.
    pub action: Action,
}

/// An interface of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledInterface {
    /// The number of the interface.
    pub i: u32,
    /// Destination MAC that packets get.
    pub dmac: Option<Mac>,
    /// Source MAC that packets get.
    pub smac: Option<Mac>,
    /// Port that they leave by.
    pub port: u8,
}

/// Compiles a program. O(entries + cares x (256 + entries)). Errors: everything that is wrong with
/// the program, or that the kernel's chip does not have.
pub fn compile(program: &Program) -> Result<Compiled, Vec<Flaw>> {
    let mut flaws: Vec<Flaw> = program.check().into_iter().map(|(_, flaw)| flaw).collect();
    flaws.extend(absent(program));
    let table = program.table(Table::Tcam);
    let tcam = Tcam::new(table.iter().map(|(&index, entry)| (index, entry)));
    let (tuples, prunes, entries) = tcam.parts();
    if tuples.len() > TUPLES {
        let fix = "Use fewer masks, or the chip in user space.";
        let limit = format!("at most {TUPLES} pairs of key and mask in the kernel");
        flaws.push(Flaw::new("kernel-tuples", "mask", tuples.len(), limit, fix));
    }
    if !flaws.is_empty() {
        return Err(flaws);
    }
    let care = |key: usize, at: usize, possible: &[u64]| Care {
        place: (key * KEY_ROOM + at) as u8,
        possible: Box::new(std::array::from_fn(|value| possible[value])),
    };
    let sources = sources(program);
    let mut entries: Vec<CompiledEntry> = entries
        .map(|(tuple, masked, index)| CompiledEntry {
            key: CompiledKey::Tcam(tuple, masked.0),
            index,
            action: table[&index].action,
        })
        .collect();
    entries.sort_by_key(|entry| entry.index);
    let others = Table::ALL.into_iter().filter(|table| *table != Table::Tcam);
    entries.extend(others.flat_map(|table| {
        program
            .table(table)
            .iter()
            .map(move |(&i, entry)| other(table, i, entry))
    }));
    Ok(Compiled {
        parsed_bytes: sources
            .iter()
            .filter(|&&at| at < ZERO)
            .max()
            .map_or(0, |&last| u32::from(last) + 1),
        sources,
        cares: prunes
            .iter()
            .map(|prune| care(prune.key, prune.at, &prune.possible))
            .collect(),
        tuples: tuples
            .iter()
            .map(|tuple| KeyAndMask {
                key: tuple.key as u32,
                mask: tuple.mask.0,
                best: tuple.best,
            })
            .collect(),
        entries,
        interfaces: program
            .vifs()
            .iter()
            .map(|(&i, vif)| CompiledInterface {
                i,
                dmac: vif.dmac,
                smac: vif.smac,
                port: vif.port,
            })
            .collect(),
        switches: [
            (Register::L3Enable, 1),
            (Register::MplsEnable, 1),
            (Register::MissToCpu, 0),
        ]
        .map(|(register, first)| program.registers().get(&register).unwrap_or(&first) == &1),
    })
}

impl Compiled {
    /// The TCAM's entry with the highest index among those that match two keys: a simple reference,
    /// for tests.
    pub fn lookup(&self, keys: &[Key; 2]) -> Option<u32> {
        let matching = |entry: &&CompiledEntry| {
            let CompiledKey::Tcam(tuple, masked) = entry.key else {
                return false;
            };
            let tuple = &self.tuples[tuple as usize];
            keys[tuple.key as usize].masked(&Key(tuple.mask)).0 == masked
        };
        self.entries
            .iter()
            .filter(matching)
            .map(|entry| entry.index)
            .max()
    }
}

fn sources(program: &Program) -> [u8; 2 * KEY_ROOM] {
    let mut sources = [ZERO; 2 * KEY_ROOM];
    for key in 0..2 {
        let Some(udlk) = program.udlk(key as u8 + 1) else {
            continue;
        };
        for (place, &source) in sources[key * KEY_ROOM..].iter_mut().zip(udlk.sources()) {
            *place = source;
        }
    }
    const { assert!(IN_PORT > ZERO) };
    sources
}

/// An entry of a table of exact matches or prefixes.
fn other(table: Table, index: u32, entry: &Entry) -> CompiledEntry {
    let mut value = [0; 6];
    for (to, from) in value.iter_mut().zip(entry.value.iter()) {
        *to = *from;
    }
    let key = match entry.prefix() {
        Some(prefix) if table == Table::LpmIpv4 => {
            CompiledKey::Prefix(prefix.length, prefix.bits.to_be_bytes())
        }
        _ => CompiledKey::Exact(table, value),
    };
    CompiledEntry {
        key,
        index,
        action: entry.action,
    }
}

/// The features of a program that the kernel's chip does not support: tunnels.
fn absent(program: &Program) -> Vec<Flaw> {
    let fix = "Run the program on the chip in user space: dataplane serverswitch-software.";
    let with_tunnel = |table: Table| {
        let entries = program.table(table).iter();
        entries.filter_map(move |(&i, entry)| entry.action.tunnel.is_some().then_some(Place { table, i }))
    };
    Table::ALL
        .into_iter()
        .flat_map(with_tunnel)
        .map(|place| {
            Flaw::new(
                "kernel-action",
                "action.tunnel",
                place,
                "an action without a tunnel in the kernel",
                fix,
            )
        })
        .collect()
}
