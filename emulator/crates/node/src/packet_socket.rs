//! Packet sockets (AF_PACKET): whole frames from and to one interface. They need NET_RAW.
//! `[man 7 packet]`
#![allow(
    unsafe_code,
    reason = "no library has a safe address, message or option of a packet socket"
)]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, send, setsockopt, socket, sockopt};

/// EtherType of a frame with a VLAN tag.
const TAGGED: [u8; 2] = [0x81, 0x00];
/// Bytes that may wait for reading or sending; the kernel grants as many as the host allows.
const WAITING_BYTES: usize = 4 << 20;

/// A socket for the frames of one interface.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    /// Index of the interface.
    pub ifindex: u32,
}

/// Buffer for one control message with [`libc::tpacket_auxdata`], aligned like its header.
#[repr(C)]
union Control {
    header: libc::cmsghdr,
    room: [u8; 64],
}

impl PacketSocket {
    /// Opens an interface. The socket reads incoming frames before the rest of the kernel's stack;
    /// it does not read outgoing frames.
    pub fn open(interface: &str) -> nix::Result<PacketSocket> {
        let ifindex = if_nametoindex(interface)?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Protocol 0 until it is bound. Otherwise it would receive frames of all interfaces at
        // first.
        let fd = socket(AddressFamily::Packet, SockType::Raw, flags, None)?;
        set_on(&fd, libc::PACKET_IGNORE_OUTGOING)?;
        set_on(&fd, libc::PACKET_AUXDATA)?;
        setsockopt(&fd, sockopt::RcvBuf, &WAITING_BYTES)?;
        setsockopt(&fd, sockopt::SndBuf, &WAITING_BYTES)?;
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        // Bind to all protocols: sockets for a single protocol see frames after TC, where the guard
        // has dropped the node's packets.
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = ifindex as i32;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the pointer and the length are those of `address`, which outlives the call.
        let result = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
        Errno::result(result)?;
        Ok(PacketSocket { fd, ifindex })
    }

    /// The next frame, if one is waiting: its length, which may exceed the buffer. The kernel
    /// removes VLAN tags; for a tagged frame, this sets the EtherType to the tag's.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut control = Control { room: [0; 64] };
        let mut part = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: all fields are integers and pointers, for which zero is a valid value.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>();
        let length = loop {
            // SAFETY: the message points to `part`, which has the address and length of `buffer`,
            // and to `control`, whose size is set next to it; all of them outlive the call.
            let result = unsafe { libc::recvmsg(self.fd.as_raw_fd(), &raw mut message, libc::MSG_TRUNC) };
            match Errno::result(result) {
                Ok(length) => break length as usize,
                Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        };
        if is_tagged(&message)
            && let Some(ethertype) = buffer.get_mut(12..14)
        {
            ethertype.copy_from_slice(&TAGGED);
        }
        Some(length)
    }

    /// Sends a frame; returns whether the interface accepted it. A frame that the interface's queue
    /// drops counts as accepted, since the queue counts the drop.
    pub fn send(&self, frame: &[u8]) -> bool {
        let sent = send(self.fd.as_raw_fd(), frame, MsgFlags::empty());
        matches!(sent, Ok(_) | Err(Errno::ENOBUFS))
    }

    /// Frames that were dropped since the last call because the socket's buffer was full.
    pub fn take_overrun(&self) -> u64 {
        let mut stats = libc::tpacket_stats {
            tp_packets: 0,
            tp_drops: 0,
        };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `stats`, which outlives the
        // call.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        Errno::result(result).map_or(0, |_| u64::from(stats.tp_drops))
    }
}

/// Whether the kernel removed a VLAN tag from a frame.
fn is_tagged(message: &libc::msghdr) -> bool {
    // SAFETY: the message is as recvmsg left it, and its buffer of control messages still exists.
    let header = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() };
    let Some(header) = header.filter(|header| {
        header.cmsg_level == libc::SOL_PACKET
            && header.cmsg_type == libc::PACKET_AUXDATA
            && header.cmsg_len >= size_of::<libc::cmsghdr>() + size_of::<libc::tpacket_auxdata>()
    }) else {
        return false;
    };
    // SAFETY: the header says that the data is a `tpacket_auxdata`, and it is long enough; it need
    // not be aligned.
    let auxdata = unsafe {
        libc::CMSG_DATA(header)
            .cast::<libc::tpacket_auxdata>()
            .read_unaligned()
    };
    auxdata.tp_status & libc::TP_STATUS_VLAN_VALID != 0
}

fn set_on(fd: &OwnedFd, option: libc::c_int) -> nix::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the length are those of `on`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop)
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
