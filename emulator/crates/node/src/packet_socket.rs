//! Packet sockets (AF_PACKET): whole frames from and to one interface. They need NET_RAW.
#![allow(unsafe_code, reason = "no library has a safe address of a packet socket")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socket};

/// Frames of one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    /// The interface's index.
    pub ifindex: u32,
}

impl PacketSocket {
    /// Opens an interface. Only what comes in is read, and only IPv4: a socket of one protocol does not see what it
    /// sends itself.
    pub fn open(interface: &str) -> nix::Result<PacketSocket> {
        let ifindex = if_nametoindex(interface)?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Protocol 0 until it is bound: otherwise frames of all interfaces would come first.
        let fd = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        // SAFETY: all fields are integers, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_IP as u16).to_be();
        address.sll_ifindex = ifindex as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of `address`, which outlives the call.
        let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        Errno::result(result)?;
        Ok(PacketSocket { fd, ifindex })
    }

    /// The next frame, if there is one: its length, which may be more than the buffer has room for.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            match recv(self.fd.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC) {
                Ok(length) => return Some(length),
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Sends a frame; whether the interface took it.
    pub fn send(&self, frame: &[u8]) -> bool {
        send(self.fd.as_raw_fd(), frame, MsgFlags::empty()).is_ok()
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
