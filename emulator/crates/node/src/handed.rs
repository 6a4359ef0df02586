//! Datagrams with descriptors, by which the fabric hands over sockets and maps. `[man 7 unix]`
#![allow(unsafe_code, reason = "descriptors come as numbers")]

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};

/// Descriptors that arrived before the configuration that uses them.
#[derive(Debug, Default)]
pub struct Handed {
    /// The ring of packets and the socket of the server's chip in the kernel.
    pub chip: Vec<OwnedFd>,
    /// The listening socket for programs that call the server's chip.
    pub chip_listener: Option<OwnedFd>,
}

/// Receives a datagram. Returns its length, which may exceed the buffer, and its descriptors.
pub fn receive_with(socket: &OwnedFd, buffer: &mut [u8]) -> nix::Result<(usize, Vec<OwnedFd>)> {
    let mut space = nix::cmsg_space!([i32; 2]);
    let mut parts = [IoSliceMut::new(buffer)];
    let flags = MsgFlags::MSG_TRUNC | MsgFlags::MSG_CMSG_CLOEXEC;
    let received = recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut descriptors = Vec::new();
    for message in received.cmsgs()? {
        if let ControlMessageOwned::ScmRights(numbers) = message {
            // SAFETY: the kernel has just created these descriptors for this process, so nothing
            // else owns them.
            let owned = numbers
                .into_iter()
                .map(|number| unsafe { OwnedFd::from_raw_fd(number) });
            descriptors.extend(owned);
        }
    }
    Ok((received.bytes, descriptors))
}
