//! A program as the chip executes it: look-ups without allocation.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::action::Action;
use crate::entries::{Place, Table, Vif};
use crate::program::Program;
use crate::registers::Register;
use crate::tcam::Tcam;
use crate::udlk::{Key, Udlk};

/// An entry by its table and its rank there, in order of index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub table: Table,
    pub rank: u32,
}

/// The tables of a committed program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    udlks: [Option<Udlk>; 2],
    tcam: Tcam,
    em_mac: HashMap<[u8; 6], u32, FxBuildHasher>,
    em_ipv4: HashMap<u32, u32, FxBuildHasher>,
    em_mpls: HashMap<u32, u32, FxBuildHasher>,
    lpm: Lpm,
    /// By table: index and action of each rank.
    ranks: [Vec<(u32, Action)>; 5],
    vifs: Vec<Option<Vif>>,
    pub l3: bool,
    pub mpls: bool,
    pub miss_to_cpu: bool,
}

impl Tables {
    pub fn new(program: &Program) -> Tables {
        let ranked = |table: Table| (0_u32..).zip(program.table(table).values());
        let exact = |table| {
            ranked(table)
                .map(|(rank, entry)| (number(&entry.value), rank))
                .collect()
        };
        let switch =
            |register, otherwise| program.registers().get(&register).copied().unwrap_or(otherwise) == 1;
        let ranks = Table::ALL.map(|table| {
            let entries = program.table(table).iter();
            entries.map(|(&i, entry)| (i, entry.action)).collect()
        });
        let mac = |value: &[u8]| value.try_into().expect("a MAC has six bytes");
        let last = program
            .vifs()
            .last_key_value()
            .map_or(0, |(&i, _)| i as usize + 1);
        let mut vifs = vec![None; last];
        for (&i, &vif) in program.vifs() {
            vifs[i as usize] = Some(vif);
        }
        Tables {
            udlks: [program.udlk(1).cloned(), program.udlk(2).cloned()],
            tcam: Tcam::new(ranked(Table::Tcam)),
            em_mac: ranked(Table::EmMac)
                .map(|(rank, entry)| (mac(&entry.value), rank))
                .collect(),
            em_ipv4: exact(Table::EmIpv4),
            em_mpls: exact(Table::EmMpls),
            lpm: Lpm::new(program),
            ranks,
            vifs,
            l3: switch(Register::L3Enable, 1),
            mpls: switch(Register::MplsEnable, 1),
            miss_to_cpu: switch(Register::MissToCpu, 0),
        }
    }

    pub fn udlk(&self, i: usize) -> Option<&Udlk> {
        self.udlks[i].as_ref()
    }

    #[inline]
    pub fn keys(&self, in_port: u8, packet: &[u8]) -> [Key; 2] {
        let key = |udlk: &Option<Udlk>| {
            udlk.as_ref()
                .map_or(Key::default(), |udlk| udlk.key(in_port, packet))
        };
        [key(&self.udlks[0]), key(&self.udlks[1])]
    }

    #[inline]
    pub fn tcam(&self, keys: &[Key; 2]) -> Option<Slot> {
        slot(Table::Tcam, self.tcam.lookup(keys))
    }

    #[inline]
    pub fn mac(&self, mac: [u8; 6]) -> Option<Slot> {
        slot(Table::EmMac, self.em_mac.get(&mac).copied())
    }

    #[inline]
    pub fn ipv4(&self, destination: u32) -> Option<Slot> {
        slot(Table::EmIpv4, self.em_ipv4.get(&destination).copied())
    }

    #[inline]
    pub fn label(&self, label: u32) -> Option<Slot> {
        slot(Table::EmMpls, self.em_mpls.get(&label).copied())
    }

    #[inline]
    pub fn prefix(&self, destination: u32) -> Option<Slot> {
        slot(Table::LpmIpv4, self.lpm.lookup(destination))
    }

    pub fn action(&self, slot: Slot) -> Action {
        self.ranks[slot.table.at()][slot.rank as usize].1
    }

    pub fn place(&self, slot: Slot) -> Place {
        let i = self.ranks[slot.table.at()][slot.rank as usize].0;
        Place { table: slot.table, i }
    }

    pub fn len(&self, table: Table) -> usize {
        self.ranks[table.at()].len()
    }

    /// An entry of the interface table; a checked program has every one that its actions name.
    pub fn vif(&self, i: u16) -> Option<Vif> {
        self.vifs.get(usize::from(i)).copied().flatten()
    }
}

fn slot(table: Table, rank: Option<u32>) -> Option<Slot> {
    rank.map(|rank| Slot { table, rank })
}

/// Bytes as one number, the first the highest.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Longest prefix match: one table for each prefix length in use, the longest first.
#[derive(Clone, Debug, Default)]
struct Lpm(Vec<(u32, HashMap<u32, u32, FxBuildHasher>)>);

impl Lpm {
    fn new(program: &Program) -> Lpm {
        let mut lpm = Lpm::default();
        for length in (0..=32_u8).rev() {
            let of_length =
                (0_u32..)
                    .zip(program.table(Table::LpmIpv4).values())
                    .filter_map(|(rank, entry)| {
                        let prefix = entry.prefix().filter(|prefix| prefix.length == length)?;
                        Some((prefix.bits, rank))
                    });
            let entries: HashMap<u32, u32, FxBuildHasher> = of_length.collect();
            if !entries.is_empty() {
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                lpm.0.push((mask, entries));
            }
        }
        lpm
    }

    #[inline]
    fn lookup(&self, destination: u32) -> Option<u32> {
        self.0
            .iter()
            .find_map(|(mask, entries)| entries.get(&(destination & mask)).copied())
    }
}
