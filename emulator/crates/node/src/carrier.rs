//! Carriers of ports, from the kernel's messages about its interfaces (rtnetlink).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};

const HEADER_BYTES: usize = 16;
const LINK_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// Size of the buffer, larger than any datagram of the kernel.
const BUFFER_BYTES: usize = 32 * 1024;

/// A message of the kernel about an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNews {
    /// Name of the interface.
    pub name: String,
    /// Whether the interface is up and has a carrier.
    pub carrier: bool,
}

/// The socket that receives messages about interfaces.
#[derive(Debug)]
pub struct CarrierWatch(OwnedFd);

impl CarrierWatch {
    /// Starts to receive messages, and requests the current state.
    pub fn new() -> nix::Result<CarrierWatch> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            flags,
            SockProtocol::NetlinkRoute,
        )?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, libc::RTMGRP_LINK as u32))?;
        let watch = CarrierWatch(fd);
        watch.ask()?;
        Ok(watch)
    }

    /// Requests the state of all interfaces.
    fn ask(&self) -> nix::Result<()> {
        let mut request = Vec::with_capacity(HEADER_BYTES + LINK_BYTES);
        request.extend(((HEADER_BYTES + LINK_BYTES) as u32).to_ne_bytes());
        request.extend(libc::RTM_GETLINK.to_ne_bytes());
        request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
        request.resize(HEADER_BYTES + LINK_BYTES, 0);
        send(self.0.as_raw_fd(), &request, MsgFlags::empty()).map(drop)
    }

    /// Returns the messages that have arrived.
    pub fn receive(&self) -> Vec<LinkNews> {
        let mut news = Vec::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) if length > 0 => news.extend(read_news(&buffer[..length])),
                // The kernel's messages did not fit the buffer: request the whole state again.
                Err(Errno::ENOBUFS) if self.ask().is_ok() => {}
                Err(Errno::EINTR) => {}
                _ => return news,
            }
        }
    }
}

impl AsFd for CarrierWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    four.try_into().ok().map(u32::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..at + 2)?;
    two.try_into().ok().map(u16::from_ne_bytes)
}

/// Parses the links in a datagram of rtnetlink messages; skips incomplete messages.
fn read_news(mut bytes: &[u8]) -> Vec<LinkNews> {
    let mut news = Vec::new();
    while let (Some(length), Some(kind)) = (number(bytes, 0), short(bytes, 4)) {
        let length = length as usize;
        let Some(body) = bytes.get(HEADER_BYTES..length) else {
            break;
        };
        match kind {
            libc::RTM_NEWLINK => news.extend(read_link(body, true)),
            libc::RTM_DELLINK => news.extend(read_link(body, false)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    news
}

fn read_link(body: &[u8], exists: bool) -> Option<LinkNews> {
    let flags = number(body, 8)? as i32;
    let wanted = libc::IFF_UP | libc::IFF_LOWER_UP;
    let mut attributes = body.get(LINK_BYTES..)?;
    while let (Some(length), Some(kind)) = (short(attributes, 0), short(attributes, 2)) {
        let length = usize::from(length);
        let value = attributes.get(ATTRIBUTE_BYTES..length)?;
        if kind == libc::IFLA_IFNAME {
            let name = value.split(|&byte| byte == 0).next()?;
            return Some(LinkNews {
                name: String::from_utf8_lossy(name).into_owned(),
                carrier: exists && flags & wanted == wanted,
            });
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_kernel_tells_that_loopback_is_there() {
        let watch = CarrierWatch::new().unwrap();
        let mut names = Vec::new();
        for _ in 0..100 {
            names.extend(watch.receive().into_iter().map(|news| news.name));
            if names.iter().any(|name| name == "lo") {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("no loopback among {names:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), length in 0u32..220, kind in 14u16..19) {
            let mut bytes = bytes;
            if bytes.len() >= HEADER_BYTES {
                bytes[..4].copy_from_slice(&length.to_ne_bytes());
                bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
            }
            prop_assert!(read_news(&bytes).len() <= bytes.len());
        }
    }
}
