//! BCube packets by the tables of a switching chip, in user space `[serverswitch §5.1]`: the program of the paper's Fig. 6 with
//! this server's neighbours, and the header that it forwards by. `bpf/serverswitch` does the same in the kernel.
//!
//! The server is the chip's CPU: it puts the header on, takes it off, and gets the packets whose next hop is dead. The path's
//! number stands behind the paper's header, so that both headers of BCube are equally long. `[ours]`

use std::net::Ipv4Addr;

use cubeyard_chip::bcube::{self, PROTOCOL};
use cubeyard_chip::{Chip, DiscardReason, EXTERNAL_PORTS, Frame, Verdict as Left};

use super::chip_program::{ChipProgram, refused};
use super::header::{HEADER_BYTES, INNER_LEAST_BYTES};
use super::nha::Nha;
use super::state::State;
use super::tables::{CONFIG, NST, Notice};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FlowCount, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, PacketBuffer};
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate};

const _: () = assert!(HEADER_BYTES == bcube::HEADER_BYTES + size_of::<u32>());
/// The port by which the CPU gives packets to the chip.
const FROM_CPU: u8 = EXTERNAL_PORTS;
const TTL_AT: usize = 8;

/// The forwarding state of one server.
#[derive(Clone, Debug, Default)]
pub struct ChipForwarding {
    state: State,
    program: ChipProgram,
    chip: Chip,
    frame: Frame,
}

/// The forwarding of a server that knows its neighbours and no path yet.
pub fn forwarding(configuration: &Configuration) -> Result<Box<dyn Forwarding>, ConfigurationError> {
    let mut forwarding = ChipForwarding {
        state: State::of(configuration)?,
        ..ChipForwarding::default()
    };
    forwarding.commit().map_err(|error| ConfigurationError {
        field: "ports".to_owned(),
        value: error.table,
        limit: "entries that the chip has room for".to_owned(),
        fix: error.message,
    })?;
    Ok(Box::new(forwarding))
}

impl Forwarding for ChipForwarding {
    fn headroom_bytes(&self) -> usize {
        HEADER_BYTES
    }

    fn send(&mut self, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let sent = self.encapsulate(packet, now);
        out.push(self.state.conclude(sent));
    }

    fn receive(&mut self, port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let received = self.classify(port, packet, now);
        out.push(self.state.conclude(received));
    }

    /// A change of what the chip's program is made of puts a new program in place of the old one, at once.
    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        self.state.apply(update)?;
        match &*update.table {
            CONFIG | NST => self.commit(),
            _ => Ok(()),
        }
    }

    fn set_program(&mut self, text: &str) -> Result<(), TableError> {
        let before = std::mem::replace(&mut self.program, ChipProgram::of_text(text)?);
        self.commit().inspect_err(|_| self.program = before)
    }

    fn traffic(&self) -> Traffic {
        self.state.traffic
    }

    fn drops(&self) -> &[u64; DropReason::COUNT] {
        &self.state.drops
    }

    fn flow_counts(&self) -> Vec<(Flow, FlowCount)> {
        self.state.flow_counts()
    }

    fn take_notices(&mut self) -> Vec<Vec<u8>> {
        self.state.take_notices()
    }
}

impl ChipForwarding {
    /// Puts the program of the present neighbours into the chip. O(neighbours).
    fn commit(&mut self) -> Result<(), TableError> {
        self.chip.commit(self.program.of(&self.state)?).map_err(refused)
    }

    fn encapsulate(&mut self, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        let sent = self.state.outgoing(buffer.frame(), now)?;
        let (own, end) = (self.state.own_ip(), Ipv4Addr::from(sent.path.dst));
        let hops = sent.path.nha.get(..usize::from(sent.path.count));
        let id = sent.path.id.to_be_bytes();
        let header = hops.and_then(|hops| bcube::header(own, end, hops, id.len() + sent.bytes).ok());
        let header = header.ok_or(DropReason::BadIndex)?;
        if !buffer.insert_header(HEADER_BYTES) {
            return Err(DropReason::AdjustFailed);
        }
        let place = &mut buffer.frame_mut()[ETHERNET_BYTES..ETHERNET_BYTES + HEADER_BYTES];
        place[..bcube::HEADER_BYTES].copy_from_slice(&header);
        place[bcube::HEADER_BYTES..].copy_from_slice(&id);
        let port = self.through_chip(FROM_CPU, buffer)?;
        if port >= EXTERNAL_PORTS {
            let first = Nha(sent.path.nha[0]);
            return Err(self.state.dead_next_hop(first, now, || sent.notice(own.octets())));
        }
        self.state.count_own(&sent, port);
        Ok(Verdict::Send { port })
    }

    fn classify(&mut self, port: u8, buffer: &mut PacketBuffer, now: Time) -> Result<Verdict, DropReason> {
        if let Some(other) = self.state.ours(buffer.frame(), PROTOCOL)? {
            return Ok(other);
        }
        let total = total_bytes(buffer.frame()).ok_or(DropReason::Malformed)?;
        let port = self.through_chip(port, buffer)?;
        let inner_bytes = total - HEADER_BYTES;
        if port < EXTERNAL_PORTS {
            self.state.count_relayed(inner_bytes, port);
            return Ok(Verdict::Send { port });
        }
        let packet = &buffer.frame()[ETHERNET_BYTES..ETHERNET_BYTES + total];
        let (source, destination) = (address(packet, 12), address(packet, 16));
        let inner = &packet[HEADER_BYTES..];
        if destination == self.state.own_ip() {
            self.state.accept(source, destination, inner)?;
            return Ok(self.state.decapsulate(buffer, ETHERNET_BYTES + total));
        }
        // What comes to the CPU and is for another server has a dead next hop.
        let index = usize::from(packet[TTL_AT]).saturating_sub(2);
        let hop = packet.get(20 + index).copied().unwrap_or_default();
        Err(self.state.dead_next_hop(Nha(hop), now, || Notice {
            path_id: u32::from_be_bytes([packet[32], packet[33], packet[34], packet[35]]),
            src: source.octets(),
            dst: destination.octets(),
            flow: Ipv4Packet::unchecked(inner).flow(),
            ..Notice::default()
        }))
    }

    /// Has the chip forward the buffer's frame, which it may change but not make longer or shorter. Returns the port that it
    /// leaves by: an external one, or one to the CPU.
    fn through_chip(&mut self, in_port: u8, buffer: &mut PacketBuffer) -> Result<u8, DropReason> {
        self.frame.set(buffer.frame()).map_err(|_| DropReason::TooBig)?;
        let mut left = FROM_CPU;
        let done = self
            .chip
            .receive(in_port, &mut self.frame, &mut |port, _| left = port);
        match done.map_err(|_| DropReason::Malformed)? {
            Left::Sent => {
                buffer.frame_mut().copy_from_slice(self.frame.bytes());
                Ok(left)
            }
            Left::Discarded(reason) => Err(match reason {
                DiscardReason::IpChecksum => DropReason::BadChecksum,
                // A packet at the end of its path is its destination's.
                DiscardReason::NoMatch if self.frame.bytes()[ETHERNET_BYTES + TTL_AT] <= 1 => {
                    DropReason::NotMine
                }
                DiscardReason::NoMatch => DropReason::UnknownNextHop,
                DiscardReason::Ttl => DropReason::TtlExpired,
                DiscardReason::Malformed | DiscardReason::Action | DiscardReason::NotApplicable => {
                    DropReason::Malformed
                }
            }),
        }
    }
}

/// Length of a packet with its header; `None` where the frame does not hold so many bytes, or too few for what is in it.
fn total_bytes(frame: &[u8]) -> Option<usize> {
    let packet = frame.get(ETHERNET_BYTES..)?;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let least = HEADER_BYTES + INNER_LEAST_BYTES;
    (packet[0] == 0x45 && total >= least && total <= packet.len()).then_some(total)
}

fn address(packet: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3])
}
