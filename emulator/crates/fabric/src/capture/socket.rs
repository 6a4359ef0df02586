//! A packet socket that receives what an interface sends and receives, with the kernel's
//! timestamps. `[man 7 packet]`
#![allow(
    unsafe_code,
    reason = "no library has a safe bind or statistics of a packet socket"
)]

use std::io::IoSliceMut;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockType, recvmsg, setsockopt, socket,
    sockopt,
};
use nix::sys::time::TimeSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{During, Result};

/// Bytes of packets that may wait for reading: 0.3 s of a link with 100 Mb/s.
const WAITING_BYTES: usize = 4 << 20;

/// Captures the packets of one interface.
#[derive(Debug)]
pub struct CaptureSocket {
    descriptor: OwnedFd,
    /// Name of the interface.
    pub interface: String,
}

/// A packet, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length of the packet.
    pub bytes: usize,
    /// Number of its bytes in the buffer.
    pub kept_bytes: usize,
    /// When the kernel saw it, in nanoseconds since 1970.
    pub at_nanos: u64,
    /// Whether the interface sent it.
    pub outgoing: bool,
}

/// The result of waiting for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A packet was received.
    Packet(Packet),
    /// No packet arrived in time.
    Nothing,
    /// The interface is down or gone.
    InterfaceDown,
    /// The caller has closed its connection.
    CallerGone,
}

impl CaptureSocket {
    /// Opens a socket for an interface, by its number, in the namespace of the calling thread.
    pub fn open(interface: &str, index: u32) -> Result<CaptureSocket> {
        let what = || format!("opening {interface} for a capture");
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // A socket with a protocol would receive packets of all interfaces until it is bound.
        let descriptor = socket(AddressFamily::Packet, SockType::Raw, flags, None).during(what)?;
        setsockopt(&descriptor, sockopt::ReceiveTimestampns, &true).during(what)?;
        // Without privilege the host's limit on buffers applies.
        let _ = setsockopt(&descriptor, sockopt::RcvBufForce, &WAITING_BYTES);
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of `address`, which outlives the call.
        let result = unsafe { libc::bind(descriptor.as_raw_fd(), (&raw const address).cast(), length) };
        Errno::result(result).during(what)?;
        let interface = interface.to_owned();
        Ok(CaptureSocket {
            descriptor,
            interface,
        })
    }

    /// Waits for the next packet, and writes its start to `buffer`.
    pub fn receive(&self, buffer: &mut [u8], timeout: Duration, caller: BorrowedFd<'_>) -> Received {
        let mut sources = [
            PollFd::new(&self.descriptor, PollFlags::IN),
            PollFd::from_borrowed_fd(caller, PollFlags::RDHUP),
        ];
        let timeout = Timespec {
            tv_sec: timeout.as_secs() as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        if poll(&mut sources, Some(&timeout)).is_err() {
            return Received::Nothing;
        }
        if !sources[1].revents().is_empty() {
            return Received::CallerGone;
        }
        self.read(buffer)
    }

    fn read(&self, buffer: &mut [u8]) -> Received {
        let mut control = nix::cmsg_space!(TimeSpec);
        let room = buffer.len();
        let mut parts = [IoSliceMut::new(buffer)];
        let flags = MsgFlags::MSG_TRUNC;
        let message = recvmsg::<LinkAddr>(self.descriptor.as_raw_fd(), &mut parts, Some(&mut control), flags);
        let message = match message {
            Ok(message) => message,
            Err(Errno::ENETDOWN | Errno::ENXIO) => return Received::InterfaceDown,
            Err(_) => return Received::Nothing,
        };
        let time = message.cmsgs().ok().and_then(|mut all| {
            all.find_map(|item| match item {
                ControlMessageOwned::ScmTimestampns(time) => Some(time),
                _ => None,
            })
        });
        let time = time.map_or(0, |time| {
            time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64
        });
        let kind = message.address.map_or(0, |address| address.pkttype());
        Received::Packet(Packet {
            bytes: message.bytes,
            kept_bytes: message.bytes.min(room),
            at_nanos: time,
            outgoing: kind == libc::PACKET_OUTGOING,
        })
    }

    /// Packets lost since the last call because too many were waiting.
    pub fn missed(&self) -> u64 {
        let mut statistics = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `statistics`, which
        // outlives the call.
        let result = unsafe {
            libc::getsockopt(
                self.descriptor.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        Errno::result(result).map_or(0, |_| u64::from(statistics.tp_drops))
    }
}

impl AsFd for CaptureSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
