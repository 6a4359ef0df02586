//! A routing netlink socket. It stays in the namespace of the thread that opened it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, sockopt};

use super::message::{Answer, Batch, NLMSG_DONE, NLMSG_ERROR, answers};
use crate::error::{FabricError, Result};

/// Bytes of requests per send: thousands of requests, and less than a socket buffer.
const CHUNK_BYTES: usize = 128 * 1024;
/// Size of the buffer for answers; the kernel sends dumps in parts of 32 KiB.
const RECEIVE_BYTES: usize = 256 * 1024;

/// A connection to the kernel's network configuration of one namespace.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

/// Whether a refusal by the kernel is acceptable.
pub type Excuse = fn(Errno) -> bool;

/// Accepts no refusal at all.
pub fn no_excuse(_: Errno) -> bool {
    false
}

/// Accepts that an object to remove no longer exists.
pub fn gone_already(error: Errno) -> bool {
    matches!(
        error,
        Errno::NODEV | Errno::NOENT | Errno::SRCH | Errno::NXIO | Errno::ADDRNOTAVAIL
    )
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub fn open() -> Result<Netlink> {
        Netlink::open_with_groups(0)
    }

    /// Opens a socket that receives changes of links (RTNLGRP_LINK).
    pub fn open_for_link_events() -> Result<Netlink> {
        Netlink::open_with_groups(1)
    }

    /// Opens a socket for generic netlink families.
    pub fn open_generic() -> Result<Netlink> {
        Netlink::open_of(Some(rustix::net::netlink::GENERIC), 0)
    }

    /// Opens a socket for the packet filter.
    pub fn open_netfilter() -> Result<Netlink> {
        Netlink::open_of(Some(rustix::net::netlink::NETFILTER), 0)
    }

    fn open_with_groups(groups: u32) -> Result<Netlink> {
        // Protocol 0, routing, is the default.
        Netlink::open_of(None, groups)
    }

    fn open_of(protocol: Option<rustix::net::Protocol>, groups: u32) -> Result<Netlink> {
        let failed = |cause: Errno| FabricError::system("opening a netlink socket", cause);
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)
            .map_err(failed)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(failed)?;
        // Without privilege this fails, and the kernel's own limit applies.
        let _ = sockopt::set_socket_send_buffer_size_force(&socket, 4 * CHUNK_BYTES);
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, 4 * RECEIVE_BYTES);
        Ok(Netlink {
            socket,
            sequence: 1,
            buffer: vec![0; if groups == 0 { RECEIVE_BYTES } else { 16 * 1024 }],
        })
    }

    /// Carries out all requests in order. The error is the first refusal that `excuse` does not
    /// accept; later requests of the same chunk have been carried out too.
    pub fn run(&mut self, batch: &mut Batch, excuse: Excuse) -> Result<()> {
        self.run_and_read(batch, excuse, |_| {})
    }

    /// As [`Netlink::run`], and passes answers other than acknowledgements to `each`.
    pub fn run_and_read(
        &mut self,
        batch: &mut Batch,
        excuse: Excuse,
        mut each: impl FnMut(Answer<'_>),
    ) -> Result<()> {
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
                    if index >= count {
                        continue;
                    }
                    if answer.kind != NLMSG_ERROR {
                        each(answer);
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

    /// Carries out all requests or none of them. The first begins a transaction, the last commits
    /// it. Each request between them must demand an acknowledgement.
    pub fn run_transaction(&mut self, batch: &mut Batch) -> Result<()> {
        let (first, count) = (self.sequence, batch.len() as u32);
        self.sequence = first.wrapping_add(count);
        self.send(batch.bytes_of(0..batch.len(), first))?;
        loop {
            let length = self.receive()?;
            for answer in answers(&self.buffer[..length]).filter(|answer| answer.kind == NLMSG_ERROR) {
                let (index, number) = (answer.sequence.wrapping_sub(first), answer.error_number());
                if index < count && number != 0 {
                    let cause = Errno::from_raw_os_error(number);
                    return Err(FabricError::system(batch.purpose(index as usize), cause));
                }
                // Not every kernel acknowledges the commit itself; a failure of it comes before.
                if index + 2 == count {
                    return Ok(());
                }
            }
        }
    }

    /// Sends one dump request and passes every answer to `each`.
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

    /// Passes what the kernel announced since the last call to `each`, without waiting.
    pub fn announced(&mut self, mut each: impl FnMut(Answer<'_>)) -> Result<()> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT) {
                Ok((length, _)) => answers(&self.buffer[..length]).for_each(&mut each),
                // After an overrun some announcements are missing. The next announcement of a link
                // has its full state again.
                Err(Errno::NOBUFS | Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(cause) => return Err(FabricError::system("receiving link changes", cause)),
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
        .map_err(|cause| FabricError::system("sending a netlink request", cause))
    }

    fn receive(&mut self) -> Result<usize> {
        loop {
            match recv(&self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((length, _)) => return Ok(length),
                Err(Errno::INTR) => {}
                Err(cause) => return Err(FabricError::system("receiving a netlink answer", cause)),
            }
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
