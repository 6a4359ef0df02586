//! The chip: moves one packet from its port of arrival to the ports by which it leaves
//! `[serverswitch §4.1, Fig. 4]`.
//!
//! Forwarding a packet allocates nothing. A trace runs the same code with an observer.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::action::{Action, Forward};
use crate::entries::{Place, Table};
use crate::flaw::Flaw;
use crate::frame::Frame;
use crate::modify::{Change, changes, make, set_macs};
use crate::parser::{Parsed, Protocol, parse};
use crate::profile::{CPU_PORTS, EXTERNAL_PORTS, PORTS};
use crate::program::Program;
use crate::registers::{Counters, Register};
use crate::tables::{Slot, Tables};
use crate::trace::{Observer, Silent, Stage};

/// Why a packet was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscardReason {
    /// A header is cut off or cannot be.
    Malformed,
    /// The checksum of the IPv4 header is wrong.
    IpChecksum,
    /// No entry matches the packet.
    NoMatch,
    /// The entry's action is `DISCARD`.
    Action,
    /// Redirected to an interface with a TTL of 1 or 0.
    Ttl,
    /// The entry changes what the packet does not have, such as the label of a packet without one.
    NotApplicable,
}

impl DiscardReason {
    /// All reasons.
    pub const ALL: [DiscardReason; 6] = [
        DiscardReason::Malformed,
        DiscardReason::IpChecksum,
        DiscardReason::NoMatch,
        DiscardReason::Action,
        DiscardReason::Ttl,
        DiscardReason::NotApplicable,
    ];

    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        [
            "malformed",
            "ip-checksum",
            "no-match",
            "action",
            "ttl",
            "not-applicable",
        ][self as usize]
    }

    /// An explanation for users.
    pub fn sentence(self) -> &'static str {
        match self {
            DiscardReason::Malformed => "Discarded: a header is cut off or cannot be.",
            DiscardReason::IpChecksum => "Discarded: the checksum of the IPv4 header is wrong.",
            DiscardReason::NoMatch => "Discarded: no entry matches, and MISS_TO_CPU is 0.",
            DiscardReason::Action => "Discarded: the entry's action is DISCARD.",
            DiscardReason::Ttl => "Discarded: redirected to an interface with a TTL of 1 or 0.",
            DiscardReason::NotApplicable => "Discarded: the entry changes what this packet does not have.",
        }
    }
}

/// The result of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It left, by one port or several. Copies by mirrors do not count.
    Sent,
    /// It was discarded.
    Discarded(DiscardReason),
}

/// A chip with the program that was committed last.
#[derive(Clone, Debug, Default)]
pub struct Chip {
    program: Program,
    tables: Tables,
    counters: Counters,
    /// By table and rank.
    hits: [Vec<u64>; 5],
}

/// Where packets leave: a port and the bytes.
pub type Out<'a> = &'a mut dyn FnMut(u8, &[u8]);

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The port that it leaves by.
    pub port: u8,
    /// The entry that sent it there; `None` where none matched.
    pub by: Option<Place>,
    /// The bytes of the packet.
    pub packet: &'a [u8],
}

struct Teller<'a> {
    by: Option<Place>,
    out: &'a mut dyn FnMut(Leaving<'_>),
}

impl Observer for Teller<'_> {
    fn chosen(&mut self, place: &Place, _: &Action) {
        self.by = Some(*place);
    }

    fn missed(&mut self) {
        self.by = None;
    }

    fn sent(&mut self, port: u8, packet: &[u8], _copy: bool) {
        let by = self.by;
        (self.out)(Leaving { port, by, packet });
    }
}

impl Chip {
    /// A chip with a program. Errors: everything that is wrong with the program.
    pub fn new(program: Program) -> Result<Chip, Vec<Flaw>> {
        let mut chip = Chip::default();
        chip.commit(program)?;
        Ok(chip)
    }

    /// Replaces the program as a whole: each packet meets either the old or the new one. Counters
    /// of ports, and of entries that stay the same, continue. Errors: everything that is wrong with
    /// it; then nothing has changed.
    pub fn commit(&mut self, program: Program) -> Result<(), Vec<Flaw>> {
        let flaws: Vec<Flaw> = program.check().into_iter().map(|(_, flaw)| flaw).collect();
        if !flaws.is_empty() {
            return Err(flaws);
        }
        let before = self.hits();
        self.tables = Tables::new(&program);
        self.hits = Table::ALL.map(|table| {
            let entries = program.table(table).iter();
            let kept = entries.map(|(&i, entry)| {
                let place = Place { table, i };
                let hits = before.get(&place).copied().unwrap_or(0);
                let stays = hits > 0 && self.program.entry(place) == Some(entry);
                if stays { hits } else { 0 }
            });
            kept.collect()
        });
        self.program = program;
        Ok(())
    }

    /// The committed program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Packets that each entry decided about, by table and index; entries without any are left out.
    pub fn hits(&self) -> BTreeMap<Place, u64> {
        let of_table = |table: Table| {
            let hits = (0_u32..)
                .zip(&self.hits[table.at()])
                .filter(|(_, hits)| **hits > 0);
            hits.map(move |(rank, hits)| (self.tables.place(Slot { table, rank }), *hits))
        };
        Table::ALL.into_iter().flat_map(of_table).collect()
    }

    /// The value of a register (`ReadRegister`).
    pub fn read_register(&self, register: Register) -> u64 {
        match register {
            Register::L3Enable => u64::from(self.tables.l3),
            Register::MplsEnable => u64::from(self.tables.mpls),
            Register::MissToCpu => u64::from(self.tables.miss_to_cpu),
            counter => counter
                .slot()
                .and_then(|slot| self.counters.0.get(slot))
                .copied()
                .unwrap_or(0),
        }
    }

    /// `WriteRegister(reg, value)`: clears a counter, or sets how the chip behaves until the next
    /// commit.
    pub fn write_register(&mut self, register: Register, value: u64) -> Result<(), Flaw> {
        register.check(value)?;
        if let Some(counter) = register.slot().and_then(|slot| self.counters.0.get_mut(slot)) {
            *counter = value;
        }
        match register {
            Register::L3Enable => self.tables.l3 = value == 1,
            Register::MplsEnable => self.tables.mpls = value == 1,
            Register::MissToCpu => self.tables.miss_to_cpu = value == 1,
            _ => {}
        }
        Ok(())
    }

    /// Sets the number of bytes that wait at a port, as reported by its owner:
    /// `OUTPUT_QUEUE_BYTES_PORT0`.
    pub fn set_queue_bytes(&mut self, port: u8, bytes: u64) {
        if port < PORTS {
            self.change(Register::QueueBytes(port), |_| bytes);
        }
    }

    /// A packet comes in by a port. Errors: no such port.
    pub fn receive(&mut self, in_port: u8, frame: &mut Frame, out: Out<'_>) -> Result<Verdict, Flaw> {
        self.process(in_port, frame, out, &mut Silent)
    }

    /// The same, but passes each packet that leaves together with the entry that decided on it.
    pub fn receive_told(
        &mut self,
        in_port: u8,
        frame: &mut Frame,
        out: &mut dyn FnMut(Leaving<'_>),
    ) -> Result<Verdict, Flaw> {
        let mut teller = Teller { by: None, out };
        self.process(in_port, frame, &mut |_, _| {}, &mut teller)
    }

    pub(crate) fn process<O: Observer>(
        &mut self,
        in_port: u8,
        frame: &mut Frame,
        out: Out<'_>,
        observer: &mut O,
    ) -> Result<Verdict, Flaw> {
        if in_port >= PORTS {
            let limit = format!("0 to {}", PORTS - 1);
            let fix = "Ports 0 to 3 are external, 4 to 7 go to the CPU.";
            return Err(Flaw::new("port-range", "in_port", in_port, limit, fix));
        }
        self.count(Register::InPackets(in_port), 1);
        self.count(Register::InBytes(in_port), frame.bytes().len());
        let done = self.forward(in_port, frame, out, observer);
        Ok(match done {
            Ok(()) => Verdict::Sent,
            Err(reason) => {
                self.count(Register::Discards(reason), 1);
                observer.discarded(reason);
                Verdict::Discarded(reason)
            }
        })
    }

    fn forward<O: Observer>(
        &mut self,
        in_port: u8,
        frame: &mut Frame,
        out: Out<'_>,
        observer: &mut O,
    ) -> Result<(), DiscardReason> {
        let parsed = parse(frame.bytes(), self.tables.l3, self.tables.mpls);
        observer.parsed(in_port, frame.bytes(), &parsed, &self.tables);
        let parsed = parsed?;
        let keys = self.tables.keys(in_port, frame.bytes());
        // [serverswitch §4.1]: TCAM > EM > LPM, looked up in parallel.
        let exact = match parsed.protocol {
            Protocol::Ethernet => self.tables.mac(parsed.dmac),
            Protocol::Ipv4 => self.tables.ipv4(parsed.destination),
            Protocol::Mpls => self.tables.label(parsed.label),
        };
        let ip = parsed.protocol == Protocol::Ipv4;
        let prefix = if ip {
            self.tables.prefix(parsed.destination)
        } else {
            None
        };
        let found = [self.tables.tcam(&keys), exact, prefix];
        observer.looked_up(&keys, &parsed, &found, &self.tables, &self.program);
        for slot in found.into_iter().flatten() {
            let action = self.tables.action(slot);
            self.hits[slot.table.at()][slot.rank as usize] += 1;
            observer.chosen(&self.tables.place(slot), &action);
            if let Some(port) = action.mirror {
                self.emit(port, frame, out, observer, true);
            }
            match action.forward {
                Forward::Vif(vif) => return self.redirect(vif, &action, frame, &parsed, out, observer),
                Forward::Port(port) => self.emit(port, frame, out, observer, false),
                Forward::ToCpu => self.emit(cpu_port(in_port), frame, out, observer, false),
                Forward::Discard => return Err(DiscardReason::Action),
                Forward::Duplicate(set) => {
                    for port in (0..PORTS).filter(|port| set >> port & 1 == 1) {
                        self.emit(port, frame, out, observer, false);
                    }
                }
                Forward::Mirror(port) => {
                    self.emit(port, frame, out, observer, true);
                    continue;
                }
            }
            return Ok(());
        }
        observer.missed();
        if self.tables.miss_to_cpu {
            self.emit(cpu_port(in_port), frame, out, observer, false);
            return Ok(());
        }
        Err(DiscardReason::NoMatch)
    }

    /// Through the interface table and the modifiers.
    fn redirect<O: Observer>(
        &mut self,
        vif: u16,
        action: &Action,
        frame: &mut Frame,
        parsed: &Parsed,
        out: Out<'_>,
        observer: &mut O,
    ) -> Result<(), DiscardReason> {
        let found = self.tables.vif(vif).ok_or(DiscardReason::NoMatch)?;
        observer.interface(vif, &found);
        for change in changes(action) {
            if matches!(change, Change::Ttl) && parsed.protocol == Protocol::Ethernet {
                continue;
            }
            observer.before(frame.bytes());
            make(change, frame, parsed)?;
            observer.changed(Stage::L3Modifier, Some(change), frame.bytes());
        }
        if found.dmac.is_some() || found.smac.is_some() {
            observer.before(frame.bytes());
            set_macs(frame, &found);
            observer.changed(Stage::L2Modifier, None, frame.bytes());
        }
        self.emit(found.port, frame, out, observer, false);
        Ok(())
    }

    #[inline]
    fn count(&mut self, register: Register, more: usize) {
        self.change(register, |count| count + more as u64);
    }

    #[inline]
    fn change(&mut self, register: Register, changed: impl FnOnce(u64) -> u64) {
        if let Some(count) = register.slot().and_then(|slot| self.counters.0.get_mut(slot)) {
            *count = changed(*count);
        }
    }

    fn emit<O: Observer>(&mut self, port: u8, frame: &Frame, out: Out<'_>, observer: &mut O, copy: bool) {
        self.count(Register::OutPackets(port), 1);
        self.count(Register::OutBytes(port), frame.bytes().len());
        observer.sent(port, frame.bytes(), copy);
        out(port, frame.bytes());
    }
}

/// The CPU port of a port: 0 to 4, 1 to 5, 2 to 6, 3 to 7 `[serverswitch §5.1]`; a CPU port is its
/// own.
fn cpu_port(in_port: u8) -> u8 {
    const { assert!(EXTERNAL_PORTS == CPU_PORTS) };
    if in_port < EXTERNAL_PORTS {
        in_port + EXTERNAL_PORTS
    } else {
        in_port
    }
}
