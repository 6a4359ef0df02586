//! A switch that is a switching chip: a separate namespace, with the chip's program at the ingress
//! of each port. `run/chips.rs` writes the chip's tables.

use cubeyard_dataplane::switch_control::ChipSwitches;

use super::SwitchKind;
use crate::error::Result;
use crate::host::packet_socket::{Frames, PacketSocket};
use crate::names::RunId;
use crate::netlink::Batch;
use crate::network::Network;
use crate::programs::Programs;

pub(super) static CHIP: ChipSwitch = ChipSwitch;

#[derive(Debug)]
pub(super) struct ChipSwitch;

impl SwitchKind for ChipSwitch {
    fn room_name(&self, run: &RunId, switch: u32) -> String {
        run.router_namespace(switch)
    }

    fn sysctls(&self, _network: &Network, _switch: usize) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn make(&self, _batch: &mut Batch, _network: &Network, _switch: usize) {}

    fn master(&self, _network: &Network, _switch: usize) -> Option<u32> {
        None
    }

    fn ports_are_hosts(&self) -> bool {
        false
    }

    fn add_port(&self, _batch: &mut Batch, _network: &Network, _link: usize, _end: usize) {}

    fn falls_silent_at_ends(&self) -> bool {
        true
    }

    fn set_forwarding(&self, _batch: &mut Batch, _network: &Network, _switch: usize, _forwarding: bool) {}
}

/// A chip in the kernel, with the socket of its CPU.
pub struct Chip {
    /// The chip's tables and program.
    pub programs: Programs,
    /// Receives the frames that the chip leaves to its CPU.
    pub cpu: PacketSocket,
}

impl Chip {
    /// Loads a chip with empty tables. The calling thread must be in the switch's namespace.
    pub fn load(chips: &ChipSwitches) -> Result<Chip> {
        Ok(Chip {
            programs: Programs::load(chips.object, &[])?,
            cpu: PacketSocket::open(Frames::Whole, chips.cpu_frames)?,
        })
    }
}
