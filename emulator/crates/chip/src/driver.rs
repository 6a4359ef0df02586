//! The paper's API `[serverswitch §3.3.2]`: tables by call, registers by name, packets to and from the CPU.
//!
//! Calls that set tables collect a program; `commit` puts it into the chip at once. The paper's calls take effect one by one.

use std::collections::VecDeque;

use crate::action::RawAction;
use crate::entries::{Place, Table};
use crate::flaw::Flaw;
use crate::frame::Frame;
use crate::pipeline::{Chip, Verdict};
use crate::profile::{EXTERNAL_PORTS, PORTS};
use crate::program::{Bytes, Program};
use crate::registers::Register;
use crate::udlk::Field;

/// Packets for the CPU that wait to be received; more are lost and counted. `[ours]`
pub const PUNTS: usize = 256;

/// A chip with its driver.
#[derive(Clone, Debug, Default)]
pub struct ServerSwitch {
    chip: Chip,
    next: Program,
    punts: VecDeque<(u8, Vec<u8>)>,
    lost: u64,
}

impl ServerSwitch {
    /// An empty chip.
    pub fn new() -> ServerSwitch {
        ServerSwitch::default()
    }

    /// The chip.
    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// `SetUDLK(int i, UDLK udlk)`; Fig. 6 writes `SetUDLF`.
    #[doc(alias = "SetUDLK")]
    pub fn set_udlk(&mut self, i: u64, udlk: Vec<Field>) -> Result<(), Flaw> {
        self.next.set_udlk(i, udlk)
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
        self.next.set_lookup_table(table, i, iudlk, value, mask, action)
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
        self.next.set_vif_table(i, dmac, smac, oport)
    }

    /// `int ReadRegister(int regname)`.
    #[doc(alias = "ReadRegister")]
    pub fn read_register(&self, name: &str) -> Result<u64, Flaw> {
        Register::by_name(name).map(|register| self.chip.read_register(register))
    }

    /// `int WriteRegister(int regname, int value)`.
    #[doc(alias = "WriteRegister")]
    pub fn write_register(&mut self, name: &str, value: u64) -> Result<(), Flaw> {
        let register = Register::by_name(name)?;
        self.chip.write_register(register, value)?;
        if register.is_switch() {
            self.next.set_register(register, value)?;
        }
        Ok(())
    }

    /// Puts what was set since into the chip, at once `[ours]`. Errors: everything that is wrong; then the chip is as before.
    pub fn commit(&mut self) -> Result<(), Vec<Flaw>> {
        self.chip.commit(self.next.clone())
    }

    /// Loads a whole program. Errors: as of [`ServerSwitch::commit`].
    pub fn load(&mut self, program: Program) -> Result<(), Vec<Flaw>> {
        self.chip.commit(program.clone())?;
        self.next = program;
        Ok(())
    }

    /// `int SendPacket(char *pkt, int oport)`: by a CPU port (4 to 7) into the chip's pipeline; by an external port straight out.
    /// What leaves goes to `out`, what comes back to the CPU waits for [`ServerSwitch::recv_packet`].
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

    /// A packet comes in by a port.
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
            } else if punts.len() < PUNTS {
                punts.push_back((port, bytes.to_vec()));
            } else {
                *lost += 1;
            }
        })
    }

    /// `int RecvPacket(char *pkt, int *iport)`: the next packet for the CPU and the CPU port that it arrived at, in order.
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
