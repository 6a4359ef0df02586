//! Connects users' programs with a chip in the kernel: packets arrive through a ring that the
//! kernel fills, and depart through a socket whose packets go into the chip. The fabric hands over
//! both. Requests about tables and registers go to the fabric, which has the maps.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use cubeyard_chip::api::{self, Answered, Limits, Sends, Session};
use cubeyard_chip::driver::PUNTS;
use cubeyard_chip::{DiscardReason, EXTERNAL_PORTS, Flaw, Verdict};
use cubeyard_dataplane::catalog;
use cubeyard_dataplane::wire_form::finish;
use cubeyard_messages::Configure;
use cubeyard_messages::limits::CHIP_REQUEST_BYTES;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;

use crate::chip::ServerChip;
use crate::chip_socket::ChipSocket;
use crate::packet_ring::{PacketRing, Record};
use crate::poller::{Interest, Poller, Token};
use crate::software::VIRTUAL_NIC_PEER;

/// Records appear in order. If another processor is still writing an earlier record, the expected
/// one is delayed up to this time.
const RECORD_WITHIN: Duration = Duration::from_millis(1);

/// The chip of one server, as its node uses it.
#[derive(Debug)]
pub struct KernelChip {
    ring: PacketRing,
    socket: ChipSocket,
    /// The interface whose packets the chip treats as packets of its CPU.
    cpu_index: u32,
    /// Interfaces of the external ports.
    ports: Vec<(u8, u32)>,
    /// Bytes of the protocol's header.
    header_bytes: usize,
    /// Packets for programs that were read while waiting for another record.
    punts: VecDeque<(u8, Vec<u8>)>,
    /// Packets that the kernel dropped because the ring was full.
    lost: u64,
    /// Packets dropped here, because the queue or the socket of a program was full.
    dropped: u64,
    /// Requests that must be sent to the fabric.
    asks: VecDeque<(u32, Vec<u8>)>,
}

impl KernelChip {
    /// Takes over the ring and the socket that the fabric has handed over. Errors: a sentence for
    /// the user.
    pub fn open(
        descriptors: Vec<OwnedFd>,
        configure: &Configure,
        poller: &Poller,
    ) -> Result<KernelChip, String> {
        let [ring, socket] = <[OwnedFd; 2]>::try_from(descriptors)
            .map_err(|_| "the chip in the kernel: the fabric has handed no ring and socket.".to_owned())?;
        let failed = |what: &str, error: Errno| format!("the chip in the kernel: {what}: {}", error.desc());
        let ring = PacketRing::open(ring).map_err(|error| failed("mapping its packets", error))?;
        poller
            .add(&ring, Token::ChipPackets, Interest::READ)
            .map_err(|error| failed("waiting for its packets", error))?;
        let index = |name: &str| if_nametoindex(name).map_err(|error| failed(name, error));
        let ports = configure.configuration.ports.iter();
        let ports = ports.map(|port| Ok((port.port, index(&port.name)?)));
        Ok(KernelChip {
            ring,
            socket: ChipSocket::new(socket),
            cpu_index: index(VIRTUAL_NIC_PEER)?,
            ports: ports.collect::<Result<_, String>>()?,
            header_bytes: catalog::protocol(&configure.protocol)
                .map_or(0, |entry| entry.header_bytes as usize),
            punts: VecDeque::new(),
            lost: 0,
            dropped: 0,
            asks: VecDeque::new(),
        })
    }

    /// The next request for the fabric, with its caller.
    pub fn next_ask(&mut self) -> Option<(u32, Vec<u8>)> {
        self.asks.pop_front()
    }

    /// Counts a packet that did not fit. It counts as lost behind a port, and is reported together
    /// with packets lost on their way to programs.
    fn without_room(&mut self) -> Verdict {
        self.dropped += 1;
        Verdict::Sent
    }

    /// Reads why the last packet was discarded; keeps other records that arrive meanwhile.
    fn discarded(&mut self) -> Option<DiscardReason> {
        let until = Instant::now() + RECORD_WITHIN;
        loop {
            match self.ring.next_record() {
                Some(Record::Discarded(reason)) => {
                    return DiscardReason::ALL.get(usize::from(reason)).copied();
                }
                Some(Record::Packet(lost, port, mut packet, part)) => {
                    self.lost = lost;
                    finish(&mut packet, self.header_bytes, part);
                    if self.punts.len() < PUNTS {
                        self.punts.push_back((port, packet));
                    } else {
                        self.dropped += 1;
                    }
                }
                None if Instant::now() < until => std::hint::spin_loop(),
                None => return None,
            }
        }
    }
}

impl Sends for KernelChip {
    fn send_packet(
        &mut self,
        packet: &[u8],
        port: u8,
        _out: &mut dyn FnMut(u8, &[u8]),
    ) -> Result<Verdict, Flaw> {
        let busy = |error: &str| {
            let fix = "Send it again, or less at once.";
            Flaw::new("chip-busy", "pkt", error, "a packet that the kernel takes", fix)
        };
        if port < EXTERNAL_PORTS {
            let known = self.ports.iter().find(|(other, _)| *other == port);
            let index = known.map(|(_, index)| *index);
            let sent = self.socket.send(index.unwrap_or(0), 0, packet);
            // A packet that meets a full queue is lost behind the port, as with forwarding in user
            // space.
            return match sent {
                Ok(()) | Err(Errno::ENOBUFS | Errno::ENETDOWN) => Ok(Verdict::Sent),
                Err(Errno::EAGAIN) => Ok(self.without_room()),
                Err(error) => Err(busy(error.desc())),
            };
        }
        match self.socket.send(self.cpu_index, port - EXTERNAL_PORTS, packet) {
            Ok(()) => Ok(Verdict::Sent),
            Err(Errno::EAGAIN) => Ok(self.without_room()),
            // The chip runs within the call, and has written a record.
            Err(Errno::ENOBUFS) => self
                .discarded()
                .map(Verdict::Discarded)
                .ok_or_else(|| busy("discarded, for a reason that found no room")),
            Err(error) => Err(busy(error.desc())),
        }
    }
}

impl ServerChip for KernelChip {
    fn call(
        &mut self,
        asker: u32,
        session: &mut Session,
        request: &[u8],
        limits: &Limits,
    ) -> Option<Answered> {
        if !api::is_about_tables(request) {
            return Some(session.handle_packets(request, limits, self, &mut |_, _| {}));
        }
        if request.len() > CHIP_REQUEST_BYTES {
            let (given, limit) = (
                format!("{} bytes", request.len()),
                format!("at most {CHIP_REQUEST_BYTES} bytes"),
            );
            let flaw = Flaw::new("message-length", "request", given, limit, "Send less at once.");
            let bytes = api::refusal(request, &flaw);
            return Some(Answered { bytes, cost: 5 });
        }
        self.asks.push_back((asker, request.to_vec()));
        None
    }

    fn next_punt(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some(punt) = self.punts.pop_front() {
                return Some(punt);
            }
            match self.ring.next_record()? {
                Record::Packet(lost, port, mut packet, part) => {
                    self.lost = lost;
                    finish(&mut packet, self.header_bytes, part);
                    return Some((port, packet));
                }
                // The record of an earlier call, which no longer waits for it.
                Record::Discarded(_) => {}
            }
        }
    }

    fn lost_punts(&mut self) -> u64 {
        self.lost + self.dropped
    }
}

impl AsFd for KernelChip {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}
