//! A program: the content of the chip's tables as a user writes it, checked entry by entry and as a
//! whole.

use std::collections::BTreeMap;

use crate::action::{Forward, RawAction};
use crate::entries::{Entry, Mac, Place, Table, VIFS, Vif};
use crate::flaw::Flaw;
use crate::profile::{PORTS, Profile};
use crate::registers::Register;
use crate::udlk::{Field, Udlk};

/// Everything that a user sets. An entry set again is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    profile: Profile,
    udlks: [Option<Udlk>; 2],
    tables: [BTreeMap<u32, Entry>; 5],
    vifs: BTreeMap<u32, Vif>,
    registers: BTreeMap<Register, u64>,
}

/// Value or mask of an entry as it is given.
pub type Bytes<'a> = Option<&'a [u8]>;

impl Program {
    /// An empty program for a profile.
    pub fn new(profile: Profile) -> Program {
        Program {
            profile,
            ..Program::default()
        }
    }

    /// The profile of the chip.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// `SetProfile` `[ours]`: which chip the program is for. Errors: the program has entries
    /// already.
    pub fn set_profile(&mut self, profile: Profile) -> Result<(), Flaw> {
        if profile != self.profile && self.tables.iter().any(|table| !table.is_empty()) {
            let fix = "Write SetProfile before the entries.";
            return Err(Flaw::new(
                "profile-late",
                "profile",
                profile.name(),
                "set before the first entry",
                fix,
            ));
        }
        self.profile = profile;
        Ok(())
    }

    /// A key, by its number 1 or 2.
    pub fn udlk(&self, i: u8) -> Option<&Udlk> {
        self.udlks.get(usize::from(i).checked_sub(1)?)?.as_ref()
    }

    /// Entries of a lookup table by index.
    pub fn table(&self, table: Table) -> &BTreeMap<u32, Entry> {
        &self.tables[table.at()]
    }

    /// Entries of the interface table by index.
    pub fn vifs(&self) -> &BTreeMap<u32, Vif> {
        &self.vifs
    }

    /// Registers that the program writes.
    pub fn registers(&self) -> &BTreeMap<Register, u64> {
        &self.registers
    }

    /// The entry at a place.
    pub fn entry(&self, place: Place) -> Option<&Entry> {
        self.table(place.table).get(&place.i)
    }

    /// Puts a checked entry in its place, or leaves the place empty.
    pub(crate) fn put(&mut self, place: Place, entry: Option<&Entry>) {
        let table = &mut self.tables[place.table.at()];
        match entry {
            Some(entry) => drop(table.insert(place.i, entry.clone())),
            None => drop(table.remove(&place.i)),
        }
    }

    /// Puts a checked interface in its place, or leaves the place empty.
    pub(crate) fn put_vif(&mut self, i: u32, vif: Option<Vif>) {
        match vif {
            Some(vif) => drop(self.vifs.insert(i, vif)),
            None => drop(self.vifs.remove(&i)),
        }
    }

    /// Whether an entry of the TCAM looks at key `i`.
    pub(crate) fn looks_at(&self, i: u8) -> bool {
        self.table(Table::Tcam).values().any(|entry| entry.iudlk == i)
    }

    /// Puts a checked key in its place.
    pub(crate) fn put_udlk(&mut self, i: u8, udlk: Udlk) {
        self.udlks[usize::from(i) - 1] = Some(udlk);
    }

    /// Entries of all lookup tables.
    pub fn entries(&self) -> usize {
        self.tables.iter().map(BTreeMap::len).sum()
    }

    /// `SetUDLK(i, udlk)`. Errors: no such key, fields beyond its limits, entries that look at it
    /// as it was.
    pub fn set_udlk(&mut self, i: u64, fields: Vec<Field>) -> Result<(), Flaw> {
        if i != 1 && i != 2 {
            let fix = "The programmable parser has two keys.";
            return Err(Flaw::new("udlk-number", "i", i, "1 or 2", fix));
        }
        let udlk = Udlk::new(fields)?;
        let slot = &mut self.udlks[i as usize - 1];
        let entries = &self.tables[Table::Tcam.at()];
        let used = entries.iter().find(|(_, entry)| u64::from(entry.iudlk) == i);
        if let (Some((index, _)), Some(before)) = (used, slot.as_ref())
            && *before != udlk
        {
            let limit = format!("{before}, as TCAM entry {index} looks at it");
            let fix = "Set a key once, before the entries that look at it.";
            return Err(Flaw::new("udlk-used", "udlk", udlk, limit, fix));
        }
        *slot = Some(udlk);
        Ok(())
    }

    /// Number of bytes of a table's values; for the TCAM, those of key `iudlk`. Errors: no such
    /// key, or it is not set.
    pub fn key_bytes(&self, table: Table, iudlk: u64) -> Result<usize, Flaw> {
        if let Some(bytes) = table.key_bytes() {
            return Ok(bytes);
        }
        let number = u8::try_from(iudlk).ok().filter(|number| (1..=2).contains(number));
        let Some(number) = number else {
            return Err(Flaw::new(
                "udlk-number",
                "iudlk",
                iudlk,
                "1 or 2",
                "Each TCAM entry looks at one of the two keys.",
            ));
        };
        self.udlk(number).map(Udlk::len).ok_or_else(|| {
            let fix = format!("Write SetUDLK({iudlk}, (…)) before the entry.");
            Flaw::new("udlk-unset", "iudlk", iudlk, "a key that is set", fix)
        })
    }

    /// `SetLookupTable(type, i, iudlk, value, mask, action)`: `iudlk` counts in the TCAM only, the
    /// mask must be `None` in tables of exact matches, and `None` in the TCAM and LPM means that
    /// all bits count. Errors name the argument.
    pub fn set_lookup_table(
        &mut self,
        table: Table,
        i: u64,
        iudlk: u64,
        value: &[u8],
        mask: Bytes<'_>,
        action: &RawAction,
    ) -> Result<Place, Flaw> {
        let index = within(
            "i",
            i,
            table.size(),
            &format!("{table} has {} entries.", table.size()),
            "table-full",
        )?;
        let length = self.key_bytes(table, iudlk)?;
        let of = match table {
            Table::Tcam => format!("{length} bytes, as key {iudlk} has"),
            _ => format!("{length} bytes, as a key of {table} has"),
        };
        let sized = |field: &str, bytes: &[u8]| {
            let fix = "Give every byte of the key; the mask says which count.";
            let wrong = || Flaw::new("key-length", field, format!("{} bytes", bytes.len()), &of, fix);
            (bytes.len() == length).then_some(()).ok_or_else(wrong)
        };
        sized("value", value)?;
        let masked = matches!(table, Table::Tcam | Table::LpmIpv4);
        let mask = match mask {
            Some(mask) if masked => {
                sized("mask", mask)?;
                mask.to_vec()
            }
            Some(_) => {
                let fix = format!("Write NULL, or use the TCAM: {table} matches exactly.");
                return Err(Flaw::new(
                    "mask-exact",
                    "mask",
                    "given",
                    format!("NULL in {table}"),
                    fix,
                ));
            }
            None if masked => vec![0xff; length],
            None => Vec::new(),
        };
        if table == Table::EmMpls && value[0] > 0x0f {
            return Err(Flaw::new(
                "label-range",
                "value",
                crate::entries::hex(value),
                "at most 0fffff",
                "A label has 20 bits.",
            ));
        }
        let cares = mask.iter().copied().chain(std::iter::repeat(0xff));
        let entry = Entry {
            iudlk: if table == Table::Tcam { iudlk as u8 } else { 0 },
            value: value.iter().zip(cares).map(|(byte, care)| byte & care).collect(),
            mask: mask.into(),
            action: action.check(self.profile).map_err(|flaw| flaw.inside("action"))?,
        };
        if table == Table::LpmIpv4 && entry.prefix().is_none() {
            let mask = crate::entries::hex(&entry.mask);
            let fix = "Write for example \"255.255.0.0\", or use the TCAM for any bits.";
            return Err(Flaw::new(
                "mask-prefix",
                "mask",
                mask,
                "ones followed by zeros",
                fix,
            ));
        }
        self.tables[table.at()].insert(index, entry);
        Ok(Place { table, i: index })
    }

    /// `SetVIfTable(i, dmac, smac, oport)`; `None` keeps the packet's MAC. Errors name the
    /// argument.
    pub fn set_vif_table(
        &mut self,
        i: u64,
        dmac: Bytes<'_>,
        smac: Bytes<'_>,
        oport: u64,
    ) -> Result<(), Flaw> {
        let index = within(
            "i",
            i,
            VIFS,
            &format!("The interface table has {VIFS} entries."),
            "vif-full",
        )?;
        let mac = |field: &'static str, bytes: Bytes<'_>| {
            bytes.map(|bytes| {
                let fix = "Write for example \"001F29D417E8\", or NULL to keep the packet's.";
                let wrong = |_| {
                    Flaw::new(
                        "mac-length",
                        field,
                        format!("{} bytes", bytes.len()),
                        "6 bytes",
                        fix,
                    )
                };
                bytes.try_into().map(Mac).map_err(wrong)
            })
        };
        let fix = "Ports 0 to 3 are external, 4 to 7 go to the CPU.";
        let port = within("oport", oport, PORTS.into(), fix, "port-range")? as u8;
        let vif = Vif {
            dmac: mac("dmac", dmac).transpose()?,
            smac: mac("smac", smac).transpose()?,
            port,
        };
        self.vifs.insert(index, vif);
        Ok(())
    }

    /// `WriteRegister(reg, value)`: registers that the program sets when it is committed. Errors:
    /// not writable, or not so.
    pub fn set_register(&mut self, register: Register, value: u64) -> Result<(), Flaw> {
        register.check(value)?;
        if !register.is_switch() {
            let limit = "a register that a program sets";
            let fix = "Programs write switches like L3_ENABLE; clear counters on the chip itself.";
            return Err(Flaw::new("register-counter", "reg", register, limit, fix));
        }
        self.registers.insert(register, value);
        Ok(())
    }

    /// The errors in the program as a whole, each with its entry: interfaces that are not set, and
    /// values that occur twice in a table of exact matches or prefixes.
    pub fn check(&self) -> Vec<(Place, Flaw)> {
        let mut flaws = Vec::new();
        for table in Table::ALL {
            let mut seen: BTreeMap<(&[u8], &[u8]), u32> = BTreeMap::new();
            for (&i, entry) in self.table(table) {
                let place = Place { table, i };
                if let Forward::Vif(vif) = entry.action.forward
                    && !self.vifs.contains_key(&u32::from(vif))
                {
                    let fix = format!("Write SetVIfTable({vif}, dmac, smac, oport).");
                    let limit = "an entry of the interface table that is set";
                    flaws.push((place, Flaw::new("vif-unset", "action.vif", vif, limit, fix)));
                }
                if table == Table::Tcam {
                    continue;
                }
                if let Some(before) = seen.insert((&entry.value, &entry.mask), i) {
                    let value = crate::entries::hex(&entry.value);
                    let limit = format!("in {table} once; entry {before} has it");
                    flaws.push((
                        place,
                        Flaw::new(
                            "value-twice",
                            "value",
                            value,
                            limit,
                            "Remove one of the two entries.",
                        ),
                    ));
                }
            }
        }
        flaws
    }

    /// TCAM entries that can never match, as one of a higher index has the same key, value and
    /// mask: (it, the other).
    pub fn shadowed(&self) -> Vec<(u32, u32)> {
        let mut seen: BTreeMap<(u8, &[u8], &[u8]), u32> = BTreeMap::new();
        let entries = self.table(Table::Tcam).iter().rev();
        let mut shadowed: Vec<(u32, u32)> = entries
            .filter_map(|(&i, entry)| {
                let key = (entry.iudlk, &*entry.value, &*entry.mask);
                let above = seen.get(&key).copied();
                above.map(|above| (i, above)).or_else(|| {
                    seen.insert(key, i);
                    None
                })
            })
            .collect();
        shadowed.reverse();
        shadowed
    }
}

fn within(field: &str, value: u64, size: usize, why: &str, code: &'static str) -> Result<u32, Flaw> {
    let limit = format!("0 to {}", size - 1);
    let wrong = || Flaw::new(code, field, value, limit, why);
    u32::try_from(value)
        .ok()
        .filter(|&index| (index as usize) < size)
        .ok_or_else(wrong)
}
