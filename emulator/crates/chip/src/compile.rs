//! A program for the chip in the kernel: its two keys, its TCAM and its interfaces as tables of fixed sizes.
//!
//! The kernel's chip is smaller than the model: it has no exact matches, prefixes and MPLS, no copies and no tunnels. A program that
//! uses them is refused with the entry, and runs in user space.

use crate::action::{Action, Forward};
use crate::entries::{Mac, Place, Table};
use crate::flaw::Flaw;
use crate::program::Program;
use crate::registers::Register;
use crate::tcam::Tcam;
use crate::udlk::{IN_PORT, KEY_BYTES, Key};

/// Pairs of key and mask that the kernel's chip tells apart, one bit each.
pub const TUPLES: usize = 64;
/// Interfaces that it has.
pub const INTERFACES: u32 = 256;
/// Bytes of both keys that masks can ask about.
pub const CARES: usize = 2 * KEY_BYTES;
/// Bytes of a key, in whole words.
pub const KEY_ROOM: usize = 24;
/// Source of a byte of a key that is always zero.
pub const ZERO: u8 = 0xfe;

/// The tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Of each byte of both keys: a byte of the packet, [`ZERO`], or 255 for the port that the packet came in by.
    pub sources: [u8; 2 * KEY_ROOM],
    /// Bytes of a packet that the keys need.
    pub parsed_bytes: u32,
    /// Bytes of the keys that masks ask about, with the tuples that each value leaves possible.
    pub cares: Vec<Care>,
    /// Pairs of key and mask, by falling best index.
    pub tuples: Vec<KeyAndMask>,
    /// Entries by tuple and masked key.
    pub entries: Vec<CompiledEntry>,
    /// Interfaces by number.
    pub interfaces: Vec<CompiledInterface>,
    /// Whether packets without an entry go to the CPU.
    pub miss_to_cpu: bool,
}

/// A byte of the keys that masks ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Care {
    /// Its place in both keys together, below `2 * KEY_ROOM`.
    pub place: u8,
    /// The tuples that each value of the byte leaves possible, a bit each.
    pub possible: Box<[u64; 256]>,
}

/// Entries of one key and one mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAndMask {
    /// 0 or 1.
    pub key: u32,
    /// The mask's words.
    pub mask: [u64; 3],
    /// The highest index of its entries.
    pub best: u32,
}

/// An entry of the TCAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledEntry {
    /// Its pair of key and mask.
    pub tuple: u32,
    /// The words of its value.
    pub masked: [u64; 3],
    /// Its index: the highest matching one decides.
    pub index: u32,
    /// Where packets go.
    pub forward: Forward,
}

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompiledInterface {
    /// Its number.
    pub i: u32,
    /// Destination MAC that packets get.
    pub dmac: Option<Mac>,
    /// Source MAC that packets get.
    pub smac: Option<Mac>,
    /// Port that they leave by.
    pub port: u8,
}

/// Compiles a program. O(entries + cares x (256 + entries)). Errors: everything that is wrong with the program, or that the
/// kernel's chip does not have.
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
            tuple,
            masked: masked.0,
            index,
            forward: table[&index].action.forward,
        })
        .collect();
    entries.sort_by_key(|entry| entry.index);
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
        miss_to_cpu: program.registers().get(&Register::MissToCpu) == Some(&1),
    })
}

impl Compiled {
    /// The tuple's entry with the highest index of those that two keys match: the plain reading of the tables, for tests.
    pub fn lookup(&self, keys: &[Key; 2]) -> Option<u32> {
        let matching = |entry: &&CompiledEntry| {
            let tuple = &self.tuples[entry.tuple as usize];
            keys[tuple.key as usize].masked(&Key(tuple.mask)).0 == entry.masked
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

/// What a program uses and the kernel's chip does not have.
fn absent(program: &Program) -> Vec<Flaw> {
    let fix = "Run the program on the chip in user space: dataplane serverswitch-software.";
    let mut flaws = Vec::new();
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Tcam) {
        if let Some((&i, _)) = program.table(table).first_key_value() {
            let place = Place { table, i };
            flaws.push(Flaw::new(
                "kernel-table",
                "table",
                place,
                "entries of TCAM in the kernel",
                fix,
            ));
        }
    }
    for (&i, entry) in program.table(Table::Tcam) {
        let Action {
            forward,
            mirror,
            dscp,
            mpls,
            tunnel,
            count_up,
        } = entry.action;
        let plain =
            mirror.is_none() && dscp.is_none() && mpls.is_none() && tunnel.is_none() && count_up.is_none();
        let known = matches!(
            forward,
            Forward::Vif(_) | Forward::Port(_) | Forward::ToCpu | Forward::Discard
        );
        if !plain || !known {
            let limit = "REDIRECT_VIF, REDIRECT_PORT, TO_CPU or DISCARD in the kernel";
            let place = Place {
                table: Table::Tcam,
                i,
            };
            flaws.push(Flaw::new("kernel-action", "action", place, limit, fix));
        }
    }
    if let Some((&i, _)) = program.vifs().range(INTERFACES..).next() {
        let limit = format!("0 to {} in the kernel", INTERFACES - 1);
        flaws.push(Flaw::new("kernel-interface", "i", i, limit, fix));
    }
    for register in [Register::L3Enable, Register::MplsEnable] {
        if program.registers().get(&register) == Some(&0) {
            flaws.push(Flaw::new(
                "kernel-register",
                "reg",
                register,
                "1 in the kernel",
                fix,
            ));
        }
    }
    flaws
}
