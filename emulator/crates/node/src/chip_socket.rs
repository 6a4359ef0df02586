//! The socket through which users' programs send. The fabric has opened it, since the node has no
//! right to. `[man 7 packet]`
#![allow(
    unsafe_code,
    reason = "no library has a safe way to name an interface to a packet socket"
)]

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

/// A packet socket that sends frames from any interface.
#[derive(Debug)]
pub struct ChipSocket {
    fd: OwnedFd,
    /// The current priority, which the chip interprets as the number of a CPU port.
    priority: Option<u8>,
}

impl ChipSocket {
    /// Takes over the fabric's descriptor.
    pub fn new(fd: OwnedFd) -> ChipSocket {
        ChipSocket { fd, priority: None }
    }

    /// Sends a frame from an interface with a priority. Errors: `ENOBUFS` if the interface, or a
    /// program attached to it, rejects the frame.
    pub fn send(&mut self, index: u32, priority: u8, frame: &[u8]) -> nix::Result<()> {
        if self.priority != Some(priority) {
            let value = libc::c_int::from(priority);
            // SAFETY: the pointer and the length are those of `value`, which outlives the call.
            let set = unsafe {
                libc::setsockopt(
                    self.fd.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_PRIORITY,
                    (&raw const value).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
            Errno::result(set)?;
            self.priority = Some(priority);
        }
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index as i32;
        loop {
            // SAFETY: both pointers and lengths are those of values that outlive the call.
            let sent = unsafe {
                libc::sendto(
                    self.fd.as_raw_fd(),
                    frame.as_ptr().cast(),
                    frame.len(),
                    libc::MSG_DONTWAIT,
                    (&raw const address).cast(),
                    size_of::<libc::sockaddr_ll>() as libc::socklen_t,
                )
            };
            match Errno::result(sent) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
    }
}
