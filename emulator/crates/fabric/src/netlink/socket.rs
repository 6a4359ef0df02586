//! A routing netlink socket. It belongs for ever to the namespace of the thread that opened it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sockopt};

use super::message::{Answer, Batch, NLMSG_DONE, NLMSG_ERROR, answers};
use crate::error::{FabricError, Result};

/// Bytes of requests in one send: below what a socket buffer takes, and thousands of requests all the same.
const CHUNK_BYTES: usize = 128 * 1024;
/// Room for answers; a dump of the kernel fills 32 KiB at a time.
const RECEIVE_BYTES: usize = 256 * 1024;

/// A connection to the kernel's network configuration of one namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

/// What to do with a request the kernel refuses.
pub type Excuse = fn(Errno) -> bool;

/// No refusal is excused.
pub fn no_excuse(_: Errno) -> bool {
    false
}

/// What is to be removed may be gone already.
pub fn gone_already(error: Errno) -> bool {
    matches!(
        error,
        Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::NXIO | Errno::ADDRNOTAVAIL
    )
}

impl Netlink {
    /// Opens a socket in the namespace the calling thread is in.
    pub fn open() -> Result<Netlink> {
        Netlink::open_with_groups(0)
    }

    /// The same, and hears of link changes (RTNLGRP_LINK) on it.
    pub fn open_for_link_events() -> Result<Netlink> {
        Netlink::open_with_groups(1)
    }

    fn open_with_groups(groups: u32) -> Result<Netlink> {
        let failed = |cause: Errno| FabricError::system("opening a netlink socket", cause);
        let flags = SocketFlags::CLOEXEC;
        // Routing is netlink's protocol 0, which is also what no protocol means.
        let socket =
            rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None).map_err(failed)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(failed)?;
        // Refused without privilege; the kernel's own limit then stands.
        let _ = sockopt::set_socket_send_buffer_size_force(&socket, 4 * CHUNK_BYTES);
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, 4 * RECEIVE_BYTES);
        Ok(Netlink {
            socket,
            sequence: 1,
            buffer: vec![0; if groups == 0 { RECEIVE_BYTES } else { 16 * 1024 }],
        })
    }

    /// Carries out all requests in order. The first refusal that is not excused is the error; the requests behind
    /// it have been carried out too.
    pub fn run(&mut self, batch: &mut Batch, excuse: Excuse) -> Result<()> {
        for chunk in batch.chunks(CHUNK_BYTES) {
            let first = self.sequence;
            self.sequence = first.wrapping_add(chunk.len() as u32);
            let (start, count) = (chunk.start, chunk.len() as u32);
            self.send(batch.bytes_of(chunk, first))?;
            let mut refused: Option<(usize, Errno)> = None;
            let mut finished = false;
            while !finished {
                let length = self.receive()?;
                for answer in answers(&self.buffer[..length]) {
                    let index = answer.sequence.wrapping_sub(first);
                    if answer.kind != NLMSG_ERROR || index >= count {
                        continue;
                    }
                    let number = answer.error_number();
                    if number != 0 && refused.is_none() && !excuse(Errno::from_raw_os_error(number)) {
                        refused = Some((start + index as usize, Errno::from_raw_os_error(number)));
                    }
                    finished |= index == count - 1;
                }
            }
            if let Some((index, cause)) = refused {
                return Err(FabricError::system(batch.purpose(index), cause));
            }
        }
        Ok(())
    }

    /// Sends one dump request and gives every answer to `each`.
    pub fn dump(&mut self, batch: &mut Batch, mut each: impl FnMut(Answer<'_>)) -> Result<()> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        self.send(batch.bytes_of(0..1, sequence))?;
        loop {
            let length = self.receive()?;
            for answer in answers(&self.buffer[..length]).filter(|answer| answer.sequence == sequence) {
                match answer.kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let cause = Errno::from_raw_os_error(answer.error_number());
                        return Err(FabricError::system(batch.purpose(0), cause));
                    }
                    _ => each(answer),
                }
            }
        }
    }

    /// What the kernel announced since the last call, without waiting; false from the last datagram on.
    pub fn announced(&mut self, mut each: impl FnMut(Answer<'_>)) -> Result<()> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => answers(&self.buffer[..length]).for_each(&mut each),
                // An overrun lost announcements; whoever listens looks at the state itself as well.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(cause) => return Err(FabricError::system("hearing of link changes", cause)),
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> Result<()> {
        rustix::net::sendto(
            &self.socket,
            bytes,
            SendFlags::empty(),
            &SocketAddrNetlink::new(0, 0),
        )
        .map(drop)
        .map_err(|cause| FabricError::system("asking the kernel over netlink", cause))
    }

    fn receive(&mut self) -> Result<usize> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => return Ok(length),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(FabricError::system("hearing from the kernel over netlink", cause)),
            }
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
