//! The entries that calls have set over a running chip's program `[ours]`. The program below can be
//! regenerated at any time (BCube's is, whenever a neighbour changes); the entries of calls stay
//! over it.

use std::collections::BTreeMap;

use crate::action::{Forward, RawAction};
use crate::entries::{Entry, Place, Table, Vif};
use crate::program::Program;
use crate::registers::Register;
use crate::udlk::Udlk;

/// The entries and registers that calls have set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overlay {
    udlks: [Option<Udlk>; 2],
    entries: BTreeMap<Place, Entry>,
    vifs: BTreeMap<u32, Vif>,
    registers: BTreeMap<Register, u64>,
}

impl Overlay {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Overlay::default()
    }

    /// Whether a call has set this entry.
    pub fn has(&self, place: Place) -> bool {
        self.entries.contains_key(&place)
    }

    /// Whether a call has set this interface.
    pub fn has_vif(&self, i: u32) -> bool {
        self.vifs.contains_key(&i)
    }

    /// Entries that calls have set.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The program with this overlay applied. Entries that the program does not allow now are
    /// omitted: entries of interfaces that it does not have, or of a key of another length.
    /// O(entries).
    pub fn over(&self, base: &Program) -> Program {
        let mut program = base.clone();
        for (i, udlk) in (1..=2).zip(&self.udlks) {
            if let Some(udlk) = udlk
                && !base.looks_at(i)
            {
                program.put_udlk(i, udlk.clone());
            }
        }
        for (&i, &vif) in &self.vifs {
            program.put_vif(i, Some(vif));
        }
        for (&register, &value) in &self.registers {
            // The value was allowed when it was set, for any program.
            let _ = program.set_register(register, value);
        }
        for (&place, entry) in &self.entries {
            if fits(&program, place, entry) {
                program.put(place, Some(entry));
            }
        }
        program
    }

    /// The same without entries that conflict with the program's own: values that it has already.
    pub(crate) fn beside(&self, base: &Program) -> Program {
        let mut program = self.over(base);
        for (place, _) in program.check() {
            // Of two equal values the check names the one with the higher index; the overlay's
            // entry is removed in either case.
            let named = program.entry(place).cloned();
            let equal = |other: &Place| {
                let same = |entry: &Entry| named.as_ref().is_some_and(|named| named.value == entry.value);
                other.table == place.table && self.entries.get(other).is_some_and(same)
            };
            let ours: Vec<Place> = self.entries.keys().copied().filter(equal).collect();
            for place in ours {
                program.put(place, base.entry(place));
            }
        }
        program
    }
}

fn fits(program: &Program, place: Place, entry: &Entry) -> bool {
    let profile = program.profile();
    let has_interface = match entry.action.forward {
        Forward::Vif(vif) => program.vifs().contains_key(&u32::from(vif)),
        _ => true,
    };
    let key = program.key_bytes(place.table, entry.iudlk.into());
    let has_key = place.table != Table::Tcam || key.is_ok_and(|bytes| bytes == entry.value.len());
    has_interface && has_key && RawAction::from(&entry.action).check(profile).is_ok()
}

/// Calls under way, on a running chip's program.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub base: Program,
    pub overlay: Overlay,
}

impl Live {
    pub fn took_udlk(&mut self, i: u8, program: &Program) {
        self.overlay.udlks[usize::from(i) - 1] = program.udlk(i).cloned();
    }

    pub fn took(&mut self, place: Place, program: &Program) {
        if let Some(entry) = program.entry(place) {
            self.overlay.entries.insert(place, entry.clone());
        }
    }

    pub fn took_vif(&mut self, i: u32, program: &Program) {
        if let Some(vif) = program.vifs().get(&i) {
            self.overlay.vifs.insert(i, *vif);
        }
    }

    pub fn took_register(&mut self, register: Register, value: u64) {
        self.overlay.registers.insert(register, value);
    }

    /// `None` where no call has set anything.
    pub fn clear(&mut self, place: Option<Place>, program: &mut Program) -> Option<()> {
        let place = place?;
        self.overlay.entries.remove(&place)?;
        program.put(place, self.base.entry(place));
        Some(())
    }

    /// `None` where no call has set anything.
    pub fn clear_vif(&mut self, i: Option<u32>, program: &mut Program) -> Option<()> {
        let i = i?;
        self.overlay.vifs.remove(&i)?;
        program.put_vif(i, self.base.vifs().get(&i).copied());
        Some(())
    }
}
