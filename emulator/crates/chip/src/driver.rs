//! The paper's API `[serverswitch §3.3.2]`: tables by call, registers by name, packets to and from
//! the CPU.
//!
//! A chip has a program, which its protocol may make again at any time, and over it what calls have
//! set ([`Overlay`]). Calls are collected and take effect at once with `commit`; `execute` is a
//! text of calls and the commit in one. The paper's calls take effect one by one: a commit after
//! each.

use std::collections::VecDeque;

use crate::action::RawAction;
use crate::entries::{Place, Table};
use crate::flaw::Flaw;
use crate::frame::Frame;
use crate::overlay::{Live, Overlay};
use crate::pipeline::{Chip, Leaving, Verdict};
use crate::profile::{EXTERNAL_PORTS, PORTS};
use crate::program::{Bytes, Program};
use crate::registers::Register;
use crate::text::Source;
use crate::udlk::Field;

/// Packets for the CPU that wait to be received; more are lost and counted. `[ours]`
pub const PUNTS: usize = 256;

/// A chip with its driver.
#[derive(Clone, Debug, Default)]
pub struct ServerSwitch {
    chip: Chip,
    base: Program,
    overlay: Overlay,
    /// The changes by calls since the last commit, applied to the overlay.
    pending: Overlay,
    next: Program,
    punts: VecDeque<(u8, Vec<u8>)>,
    lost: u64,
}

impl ServerSwitch {
    /// A chip without entries.
    pub fn new() -> ServerSwitch {
        ServerSwitch::default()
    }

    /// The chip's state.
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// The chip, for packets that its owner handles.
    pub fn chip_mut(&mut self) -> &mut Chip {
        &mut self.chip
    }

    /// The entries that calls have set.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// `SetUDLK(int i, UDLK udlk)`; Fig. 6 writes `SetUDLF`.
    #[doc(alias = "SetUDLK")]
    pub fn set_udlk(&mut self, i: u64, udlk: Vec<Field>) -> Result<(), Flaw> {
        self.next.set_udlk(i, udlk)?;
        self.took(|live, next| live.took_udlk(i as u8, next));
        Ok(())
    }

    /// `SetLookupTable(int type, int i, int iudlk, char *value, char *mask, ACTION *action)`.
    #[doc(alias = "SetLookupTable")]
    pub fn set_lookup_table(
        &mut self,
        table: Table,
        i: u64,
        iudlk: u64,
        value: &[u8],
        mask: Bytes<'_>,
        action: &RawAction,
    ) -> Result<Place, Flaw> {
        let place = self.next.set_lookup_table(table, i, iudlk, value, mask, action)?;
        self.took(|live, next| live.took(place, next));
        Ok(place)
    }

    /// `SetVIfTable(int i, char *dmac, char *smac, int oport)`.
    #[doc(alias = "SetVIfTable")]
    pub fn set_vif_table(
        &mut self,
        i: u64,
        dmac: Bytes<'_>,
        smac: Bytes<'_>,
        oport: u64,
    ) -> Result<(), Flaw> {
        self.next.set_vif_table(i, dmac, smac, oport)?;
        self.took(|live, next| live.took_vif(i as u32, next));
        Ok(())
    }

    fn took(&mut self, take: impl FnOnce(&mut Live, &Program)) {
        let mut live = Live {
            base: Program::default(),
            overlay: std::mem::take(&mut self.pending),
        };
        take(&mut live, &self.next);
        self.pending = live.overlay;
    }

    /// The paper's `int ReadRegister(int regname)`.
    #[doc(alias = "ReadRegister")]
    pub fn read_register(&self, name: &str) -> Result<u64, Flaw> {
        Register::by_name(name).map(|register| self.chip.read_register(register))
    }

    /// `int WriteRegister(int regname, int value)`. Takes effect at once.
    #[doc(alias = "WriteRegister")]
    pub fn write_register(&mut self, name: &str, value: u64) -> Result<(), Flaw> {
        let register = Register::by_name(name)?;
        self.chip.write_register(register, value)?;
        if register.is_switch() {
            self.next.set_register(register, value)?;
            self.took(|live, _| live.took_register(register, value));
            let mut live = Live {
                base: Program::default(),
                overlay: std::mem::take(&mut self.overlay),
            };
            live.took_register(register, value);
            self.overlay = live.overlay;
        }
        Ok(())
    }

    /// Applies all changes since the last commit to the chip at once `[ours]`. Errors: everything
    /// that is wrong; then the chip is unchanged.
    pub fn commit(&mut self) -> Result<(), Vec<Flaw>> {
        self.chip.commit(self.next.clone())?;
        self.overlay = self.pending.clone();
        Ok(())
    }

    /// Executes a text of calls ([`Source::calls`]) and commits, all of it or none. Errors:
    /// everything that is wrong; then nothing has changed.
    pub fn execute(&mut self, calls: &str) -> Result<(), Vec<Flaw>> {
        let pending = Source::parse(calls)?.calls(&self.base, &self.pending)?;
        let next = pending.over(&self.base);
        self.chip.commit(next.clone())?;
        self.next = next;
        self.overlay = pending.clone();
        self.pending = pending;
        Ok(())
    }

    /// Loads a whole program and discards the entries set by calls. Errors: the same as
    /// [`ServerSwitch::commit`].
    pub fn load(&mut self, program: Program) -> Result<(), Vec<Flaw>> {
        self.chip.commit(program.clone())?;
        (self.overlay, self.pending) = (Overlay::default(), Overlay::default());
        (self.base, self.next) = (program.clone(), program);
        Ok(())
    }

    /// Another program below what calls have set, which stays over it as far as the program allows.
    /// Errors: the program is wrong; then nothing has changed.
    pub fn rebase(&mut self, program: Program) -> Result<(), Vec<Flaw>> {
        if self.overlay.is_empty() && self.pending.is_empty() {
            return self.load(program);
        }
        let flaws: Vec<Flaw> = program.check().into_iter().map(|(_, flaw)| flaw).collect();
        if !flaws.is_empty() {
            return Err(flaws);
        }
        self.chip.commit(self.overlay.beside(&program))?;
        self.next = self.pending.beside(&program);
        self.base = program;
        Ok(())
    }

    /// `int SendPacket(char *pkt, int oport)`: by a CPU port (4 to 7) into the chip's pipeline; by
    /// an external port straight out. Packets that leave go to `out`; packets for the CPU wait for
    /// [`ServerSwitch::recv_packet`].
    #[doc(alias = "SendPacket")]
    pub fn send_packet(
        &mut self,
        packet: &[u8],
        oport: u8,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw> {
        let mut frame = Frame::new(packet)?;
        if oport < EXTERNAL_PORTS {
            out(oport, frame.bytes());
            return Ok(Verdict::Sent);
        }
        self.receive(oport, &mut frame, out)
    }

    /// A packet arrives by a port; packets for the CPU wait for [`ServerSwitch::recv_packet`].
    pub fn receive(
        &mut self,
        in_port: u8,
        frame: &mut Frame,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw> {
        let (punts, lost) = (&mut self.punts, &mut self.lost);
        self.chip.receive(in_port, frame, &mut |port, bytes| {
            if port < EXTERNAL_PORTS {
                out(port, bytes);
            } else {
                punt(punts, lost, port, bytes);
            }
        })
    }

    /// A packet arrives by a port of a chip whose CPU runs a protocol. Packets that an entry set by
    /// a call sends to the CPU wait for [`ServerSwitch::recv_packet`]; all others, including those
    /// for the CPU, go to `out`.
    pub fn receive_beside(
        &mut self,
        in_port: u8,
        frame: &mut Frame,
        out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw> {
        let (punts, lost, overlay) = (&mut self.punts, &mut self.lost, &self.overlay);
        self.chip
            .receive_told(in_port, frame, &mut |leaving: Leaving<'_>| {
                let owned = leaving.port >= EXTERNAL_PORTS && leaving.by.is_some_and(|by| overlay.has(by));
                if owned {
                    punt(punts, lost, leaving.port, leaving.packet);
                } else {
                    out(leaving.port, leaving.packet);
                }
            })
    }

    /// `int RecvPacket(char *pkt, int *iport)`: the next packet for the CPU and the CPU port that
    /// it arrived at, in order.
    #[doc(alias = "RecvPacket")]
    pub fn recv_packet(&mut self) -> Option<(u8, Vec<u8>)> {
        self.punts.pop_front()
    }

    /// Packets for the CPU that found [`PUNTS`] waiting.
    pub fn lost_punts(&self) -> u64 {
        self.lost
    }

    /// Ports that [`ServerSwitch::recv_packet`] names.
    pub fn cpu_ports() -> std::ops::Range<u8> {
        EXTERNAL_PORTS..PORTS
    }
}

fn punt(punts: &mut VecDeque<(u8, Vec<u8>)>, lost: &mut u64, port: u8, bytes: &[u8]) {
    if punts.len() < PUNTS {
        punts.push_back((port, bytes.to_vec()));
    } else {
        *lost += 1;
    }
}
