//! A packet socket for the hellos of one namespace. `[man 7 packet]`
#![allow(
    unsafe_code,
    reason = "no library has a safe way to name an interface to a packet socket"
)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;

use crate::error::{During, Result};

/// EtherType for local experiments. `[IEEE 802, clause 9.2.4]`
const ETHER_TYPE: u16 = 0x88b5;
/// Everybody on the link, which is one other end.
const DESTINATION: [u8; 6] = [0xff; 6];
/// What a hello begins with; messages may follow.
const PAYLOAD: &[u8] = b"hello";
/// The most bytes of messages that a hello carries: of an Ethernet frame that every link takes.
pub const MESSAGE_BYTES: usize = 1400;

/// Sends and receives the hellos of a namespace.
#[derive(Debug)]
pub struct HelloSocket {
    descriptor: OwnedFd,
}

impl HelloSocket {
    /// Opens one in the namespace that the calling thread is in.
    pub fn open() -> Result<HelloSocket> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes numbers only.
        let number = unsafe { libc::socket(libc::AF_PACKET, kind, i32::from(ETHER_TYPE.to_be())) };
        Errno::result(number).during(|| "opening a socket for hellos".to_owned())?;
        // SAFETY: the descriptor is new and nobody else's.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
        Ok(HelloSocket { descriptor })
    }

    /// Sends a hello with messages from an interface. One that the kernel does not take is lost, as on the link.
    pub fn send(&self, index: u32, messages: &[u8]) {
        let payload = [PAYLOAD, messages].concat();
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ETHER_TYPE.to_be();
        address.sll_ifindex = index as i32;
        address.sll_halen = DESTINATION.len() as u8;
        address.sll_addr[..DESTINATION.len()].copy_from_slice(&DESTINATION);
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: both pointers and lengths are those of values that outlive the call.
        let _lost = unsafe {
            libc::sendto(
                self.descriptor.as_raw_fd(),
                payload.as_ptr().cast(),
                payload.len(),
                0,
                (&raw const address).cast(),
                length,
            )
        };
    }

    /// Passes the interface of each hello that waits to `each`, and the messages that it carries.
    pub fn heard(&self, mut each: impl FnMut(u32, &[u8])) {
        loop {
            // SAFETY: all fields are integers, for which zero is a valid value.
            let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            let mut payload = [0_u8; PAYLOAD.len() + MESSAGE_BYTES];
            // SAFETY: the kernel writes at most the lengths given, those of values that outlive the call.
            let received = unsafe {
                libc::recvfrom(
                    self.descriptor.as_raw_fd(),
                    payload.as_mut_ptr().cast(),
                    payload.len(),
                    0,
                    (&raw mut address).cast(),
                    &raw mut length,
                )
            };
            match Errno::result(received) {
                Ok(length) if payload[..length as usize].starts_with(PAYLOAD) => {
                    let messages = &payload[PAYLOAD.len()..length as usize];
                    each(address.sll_ifindex as u32, messages);
                }
                Ok(_) | Err(Errno::EINTR) => {}
                // An interface that goes down is told once; what waits on others stays.
                Err(Errno::ENETDOWN) => {}
                Err(_) => return,
            }
        }
    }
}
