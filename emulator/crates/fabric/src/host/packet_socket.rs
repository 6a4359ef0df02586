//! A packet socket: Ethernet frames of one type, of all interfaces of a namespace. `[man 7 packet]`
#![allow(
    unsafe_code,
    reason = "no library has a safe way to name an interface to a packet socket"
)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

use crate::error::{During, Result};

/// Format of the data that a socket sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frames {
    /// Whole frames, with their Ethernet headers.
    Whole,
    /// Payloads only: the kernel adds the headers, with the link's broadcast address.
    Contents,
}

/// Bytes of packets that may wait for sending if another process sends: as many as in a node that
/// forwards packets.
const WAITING_BYTES: usize = 4 << 20;

/// The broadcast address of a link.
const EVERYBODY: [u8; 6] = [0xff; 6];

/// Sends and receives frames of one type.
#[derive(Debug)]
pub struct PacketSocket {
    descriptor: OwnedFd,
    ether_type: u16,
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl PacketSocket {
    /// Opens a non-blocking socket in the namespace of the calling thread.
    pub fn open(frames: Frames, ether_type: u16) -> Result<PacketSocket> {
        let kind = match frames {
            Frames::Whole => libc::SOCK_RAW,
            Frames::Contents => libc::SOCK_DGRAM,
        };
        let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers only.
        let number = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(ether_type.to_be())) };
        Errno::result(number).during(|| format!("opening a socket for frames of type {ether_type:#06x}"))?;
        // SAFETY: the descriptor is new, so nothing else owns it.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(PacketSocket {
            descriptor,
            ether_type,
        })
    }

    /// Opens a socket that receives nothing and sends whole frames, for handing to another process.
    pub fn open_to_send() -> Result<PacketSocket> {
        let socket = PacketSocket::open(Frames::Whole, 0)?;
        setsockopt(&socket.descriptor, sockopt::SndBufForce, &WAITING_BYTES)
            .during(|| "making room for packets of programs".to_owned())?;
        Ok(socket)
    }

    /// The kernel's cookie of the socket, unique on this host.
    pub fn cookie(&self) -> Result<u64> {
        rustix::net::sockopt::socket_cookie(&self.descriptor)
            .during(|| "reading a socket's number".to_owned())
    }

    /// Sends a frame from an interface. A frame that the kernel refuses is lost, as on a link.
    pub fn send(&self, index: u32, frame: &[u8]) {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = self.ether_type.to_be();
        address.sll_ifindex = index as i32;
        address.sll_halen = EVERYBODY.len() as u8;
        address.sll_addr[..EVERYBODY.len()].copy_from_slice(&EVERYBODY);
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: both pointers and lengths are those of values that outlive the call.
        let _lost = unsafe {
            libc::sendto(
                self.descriptor.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const address).cast(),
                length,
            )
        };
    }

    /// Receives the next waiting frame: the number of its interface, and its length. The frame is
    /// truncated to `room`. `None` if no frame waits.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(u32, usize)> {
        loop {
            // SAFETY: all fields are integers, for which zero is a valid value.
            let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            // SAFETY: the kernel writes at most the lengths given, those of values that outlive the
            // call.
            let received = unsafe {
                libc::recvfrom(
                    self.descriptor.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    0,
                    (&raw mut address).cast(),
                    &raw mut length,
                )
            };
            match Errno::result(received) {
                Ok(length) => return Some((address.sll_ifindex as u32, length as usize)),
                // The kernel reports once that an interface went down; frames of other interfaces
                // still wait.
                Err(Errno::EINTR | Errno::ENETDOWN) => {}
                Err(_) => return None,
            }
        }
    }
}
