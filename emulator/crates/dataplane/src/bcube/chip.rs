//! BCube packets through the tables of a switching chip, in user space `[serverswitch §5.1]`: the
//! program of the paper's Fig. 6 with this server's neighbours, and the header on which it matches.
//! `bpf/serverswitch` does the same in the kernel.
//!
//! The server is the chip's CPU: it adds and removes the header, and gets the packets whose next
//! hop is dead. If an entry set by a user's calls sends packets to the CPU, they belong to the user
//! ([`Forwarding::chip`]). The path's number follows the paper's header, so that both of BCube's
//! headers have the same length. `[ours]`

use std::cmp::Reverse;
use std::net::Ipv4Addr;

use cubeyard_chip::bcube::{self, PROTOCOL};
use cubeyard_chip::{DiscardReason, EXTERNAL_PORTS, Frame, Place, ServerSwitch, Verdict as Left};

use super::chip_program::ChipProgram;
use super::header::{HEADER_BYTES, INNER_LEAST_BYTES};
use super::nha::Nha;
use super::state::State;
use super::tables::{CONFIG, NST, Notice};
use crate::chip_tables::{refused, ternary};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{FlowCount, Traffic};
use crate::drops::DropReason;
use crate::flow::Flow;
use crate::forwarding::{Forwarding, Verdict};
use crate::frame::{ETHERNET_BYTES, PacketBuffer};
use crate::inspection::{Cell, ColumnKind, Section};
use crate::packet::Ipv4Packet;
use crate::protocol::Time;
use crate::tables::{TableError, TableUpdate};

const _: () = assert!(HEADER_BYTES == bcube::HEADER_BYTES + size_of::<u32>());
/// The port through which the CPU hands packets to the chip.
const FROM_CPU: u8 = EXTERNAL_PORTS;
const TTL_AT: usize = 8;

/// Columns of the entries: values in hexadecimal digits, with `..` where the mask ignores a byte.
const COLUMNS: &[(&str, &str, ColumnKind)] = &[
    ("table", "Table", ColumnKind::Text),
    ("index", "Index", ColumnKind::Count),
    ("hits", "Packets", ColumnKind::Count),
    ("match", "Value", ColumnKind::Text),
    ("action", "Action", ColumnKind::Text),
    ("by_calls", "Set by a call", ColumnKind::Flag),
];

/// The forwarding state of one server.
#[derive(Clone, Debug, Default)]
pub struct ChipForwarding {
    state: State,
    program: ChipProgram,
    switch: ServerSwitch,
    frame: Frame,
    /// Frames to send in addition to the one in the buffer.
    copies: Vec<Verdict>,
}

/// The initial state: a server with its neighbours but without paths.
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
        out.append(&mut self.copies);
    }

    fn receive(&mut self, port: u8, packet: &mut PacketBuffer, now: Time, out: &mut Vec<Verdict>) {
        let received = self.classify(port, packet, now);
        out.push(self.state.conclude(received));
        out.append(&mut self.copies);
    }

    /// If the input of the chip's program changes, a new program replaces the old one at once.
    fn apply(&mut self, update: &TableUpdate) -> Result<(), TableError> {
        self.state.apply(update)?;
        match &*update.table {
            CONFIG | NST => self.commit(),
            _ => Ok(()),
        }
    }

    fn set_program(&mut self, text: &str) -> Result<(), TableError> {
        let source = ChipProgram::of_text(text)?;
        self.switch.load(source.of(&self.state)?).map_err(refused)?;
        self.program = source;
        Ok(())
    }

    fn chip(&mut self) -> Option<&mut ServerSwitch> {
        Some(&mut self.switch)
    }

    /// Entries that have matched packets, the busiest first. O(entries).
    fn inspect(&self) -> Vec<Section> {
        let (chip, overlay) = (self.switch.chip(), self.switch.overlay());
        let mut hits: Vec<_> = chip.hits().into_iter().collect();
        hits.sort_by_key(|&(place, packets)| (Reverse(packets), place));
        let row = |(place, packets): (Place, u64)| {
            let entry = chip.program().entry(place)?;
            let mask = if entry.mask.is_empty() {
                vec![0xff; entry.value.len()]
            } else {
                entry.mask.to_vec()
            };
            Some(vec![
                Cell::Text(place.table.name().to_owned()),
                Cell::Count(place.i.into()),
                Cell::Count(packets),
                Cell::Text(ternary(&entry.value, &mask)),
                Cell::Text(entry.action.to_string()),
                Cell::Flag(overlay.has(place)),
            ])
        };
        let title = format!("Chip: entries hit, of {}", chip.program().entries());
        vec![Section::new(
            "chip-entries",
            &title,
            COLUMNS,
            hits.into_iter().filter_map(row),
        )]
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
    /// Commits the program for the current neighbours to the chip. O(neighbours).
    fn commit(&mut self) -> Result<(), TableError> {
        let program = self.program.of(&self.state)?;
        self.switch.rebase(program).map_err(refused)
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
        let Some(port) = self.through_chip(FROM_CPU, buffer)? else {
            return Ok(Verdict::Pass);
        };
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
        let Some(port) = self.through_chip(port, buffer)? else {
            return Ok(Verdict::Pass);
        };
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
        // A packet for another server reaches the CPU if its next hop is dead.
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

    /// Passes the buffer's frame through the chip. Returns the port by which it leaves: an external
    /// port or one to the CPU; `None` if only the user's program got it. If it leaves by several
    /// ports, all but the last get a copy.
    fn through_chip(&mut self, in_port: u8, buffer: &mut PacketBuffer) -> Result<Option<u8>, DropReason> {
        self.frame.set(buffer.frame()).map_err(|_| DropReason::TooBig)?;
        let (copies, mut last) = (&mut self.copies, None);
        let whole = buffer.frame();
        let done = self
            .switch
            .receive_beside(in_port, &mut self.frame, &mut |port, _| {
                // All copies except the last are unchanged: only a redirection changes a packet,
                // and it ends the pipeline.
                if let Some(port) = last.replace(port).filter(|&port| port < EXTERNAL_PORTS) {
                    let frame = whole.to_vec();
                    copies.push(Verdict::SendCopy { port, frame });
                }
            });
        match done.map_err(|_| DropReason::Malformed)? {
            Left::Sent => {
                let frame = self.frame.bytes();
                match last {
                    Some(_) if frame.len() == buffer.frame().len() => {
                        buffer.frame_mut().copy_from_slice(frame);
                    }
                    // Labels and tunnels change the length.
                    Some(port) if port < EXTERNAL_PORTS => {
                        let frame = frame.to_vec();
                        copies.push(Verdict::SendCopy { port, frame });
                        return Ok(None);
                    }
                    Some(_) => return Err(DropReason::Malformed),
                    None => {}
                }
                Ok(last)
            }
            Left::Discarded(reason) => Err(match reason {
                DiscardReason::IpChecksum => DropReason::BadChecksum,
                // A packet at the end of its path belongs to its destination.
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

/// Length of a packet with its header; `None` if the frame is shorter, or the length is too small
/// for the content.
fn total_bytes(frame: &[u8]) -> Option<usize> {
    let packet = frame.get(ETHERNET_BYTES..)?;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let least = HEADER_BYTES + INNER_LEAST_BYTES;
    (packet[0] == 0x45 && total >= least && total <= packet.len()).then_some(total)
}

fn address(packet: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3])
}
