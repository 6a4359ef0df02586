//! The socket of one node: JSON datagrams over SEQPACKET. Each server has its own socket, which
//! identifies its node.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use cubeyard_dataplane::rate_limit::RateLimit;
use cubeyard_messages::limits::{DATAGRAM_BYTES, NODE_MESSAGES_PER_SEC, WAITING_FOR_NODE};
use cubeyard_messages::{ToNode, encode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, Mode, chmodat};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, accept_with, bind, listen, recv, send, sendmsg, sockopt,
};

use crate::error::{During, Result};
use crate::host::clock::monotonic_nanos;
use crate::host::folder::Folder;

/// File name of a node's socket in its server's folder.
pub const NAME: &str = "fabric.sock";

/// Listens in a folder that only we can write to; replaces an earlier socket of this name. Every
/// process that reaches the socket may connect.
pub fn listen_in(folder: &Folder, name: &str, kind: SocketType) -> Result<OwnedFd> {
    let attempt = || -> std::io::Result<OwnedFd> {
        folder.remove_file(name)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(folder.by_descriptor(name))?)?;
        listen(&socket, BACKLOG)?;
        chmodat(folder, name, Mode::from_raw_mode(0o666), AtFlags::empty())?;
        Ok(socket)
    };
    attempt().during(|| format!("listening at {}", folder.path().join(name).display()))
}

/// Maximum number of connections that wait for acceptance.
const BACKLOG: i32 = 4;

/// Name of the abstract socket for nodes that cannot see a folder of ours:
/// `cubeyard-node --socket @cubeyard`.
pub const ABSTRACT_NAME: &[u8] = b"cubeyard";

/// Listens for a node in the network namespace of the calling thread. Only processes of that
/// namespace can connect, and no folder need be mounted. `[man 7 unix]`
pub fn listen_inside() -> Result<OwnedFd> {
    let attempt = || -> std::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        bind(&socket, &SocketAddrUnix::new_abstract_name(ABSTRACT_NAME)?)?;
        listen(&socket, BACKLOG)?;
        Ok(socket)
    };
    attempt().during(|| "listening in a server's namespace".to_owned())
}

/// The connection to a node.
#[derive(Debug)]
pub struct NodeSocket {
    socket: OwnedFd,
    /// Datagrams that were not sent yet, with their descriptors.
    waiting: VecDeque<(Vec<u8>, Vec<OwnedFd>)>,
    limit: RateLimit,
    /// Number of datagrams that were dropped because there were too many.
    refused: u64,
    /// Why the last message that was too long was not sent.
    unsent: Option<String>,
}

/// The result of reading.
#[derive(Debug)]
pub enum Received {
    /// A datagram was received.
    Datagram(Vec<u8>),
    /// A datagram was received and dropped.
    Refused,
    /// No datagram is waiting.
    Nothing,
    /// The node has closed the connection.
    Closed,
}

impl NodeSocket {
    /// Accepts a connection if one waits.
    pub fn accept(listener: &OwnedFd) -> Option<NodeSocket> {
        let socket = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok()?;
        let _ = sockopt::set_socket_send_buffer_size(&socket, 4 * DATAGRAM_BYTES);
        Some(NodeSocket {
            socket,
            waiting: VecDeque::new(),
            limit: RateLimit::per_sec(NODE_MESSAGES_PER_SEC),
            refused: 0,
            unsent: None,
        })
    }

    /// Whether the node has closed the connection, or has ended.
    pub fn is_closed(&self) -> bool {
        let mut polled = [PollFd::new(&self.socket, PollFlags::empty())];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut polled, Some(&now)).is_err() || polled[0].revents().contains(PollFlags::HUP)
    }

    /// Process id of the peer, if it is visible here.
    pub fn peer(&self) -> Option<u32> {
        let credentials = sockopt::socket_peercred(&self.socket).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    /// Receives the next datagram. Drops datagrams above the rate limit.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match recv(&self.socket, &mut buffer[..DATAGRAM_BYTES], RecvFlags::TRUNC) {
            Ok((0, _)) => Received::Closed,
            Ok((length, whole)) if whole <= DATAGRAM_BYTES && self.allow() => {
                Received::Datagram(buffer[..length].to_vec())
            }
            Ok(_) => {
                self.refused += 1;
                Received::Refused
            }
            Err(Errno::AGAIN | Errno::INTR) => Received::Nothing,
            Err(_) => Received::Closed,
        }
    }

    /// Why a message could not be sent since the last call, if one could not.
    pub fn take_unsent(&mut self) -> Option<String> {
        self.unsent.take()
    }

    /// Number of datagrams dropped since the last call.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn allow(&mut self) -> bool {
        self.limit.take(Duration::from_nanos(monotonic_nanos()))
    }

    /// Sends a message that must arrive; it is queued if necessary.
    pub fn send(&mut self, message: &ToNode) {
        self.hand_over(message, Vec::new());
    }

    /// Sends a message together with descriptors, which the node receives. `[man 7 unix]`
    pub fn hand_over(&mut self, message: &ToNode, descriptors: Vec<OwnedFd>) {
        match encode(message) {
            Ok(bytes) => {
                self.waiting.push_back((bytes, descriptors));
                self.flush();
            }
            // Callers split long messages, so a message that is too long is a defect, and is
            // reported.
            Err(why) => self.unsent = Some(why),
        }
    }

    /// Sends a message that a busy node may miss; returns whether it was sent.
    pub fn announce(&mut self, message: &ToNode) -> bool {
        let fits = self.waiting.len() < WAITING_FOR_NODE;
        if fits {
            self.send(message);
        }
        fits
    }

    /// Sends queued datagrams until the socket is full. Ignores a closed connection, which the next
    /// read detects.
    pub fn flush(&mut self) {
        while let Some((bytes, descriptors)) = self.waiting.front() {
            if send_with(&self.socket, bytes, descriptors) == Err(Errno::AGAIN) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Whether messages are queued.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Maximum number of descriptors in a message.
const MOST_DESCRIPTORS: usize = 2;

fn send_with(socket: &OwnedFd, bytes: &[u8], descriptors: &[OwnedFd]) -> rustix::io::Result<usize> {
    if descriptors.is_empty() {
        return send(socket, bytes, SendFlags::NOSIGNAL);
    }
    let handed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut buffer = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut beside = SendAncillaryBuffer::new(&mut buffer);
    if !beside.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(Errno::INVAL);
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL)
}

impl AsFd for NodeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use cubeyard_dataplane::tables::HexBytes;

    use super::*;

    #[test]
    fn a_message_that_is_too_long_is_reported_and_the_others_are_sent() {
        let (near, far) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )
        .unwrap();
        let mut socket = NodeSocket {
            socket: near,
            waiting: VecDeque::new(),
            limit: RateLimit::per_sec(NODE_MESSAGES_PER_SEC),
            refused: 0,
            unsent: None,
        };
        let long = HexBytes(vec![7; DATAGRAM_BYTES]);
        socket.send(&ToNode::Notice { bytes: long });
        socket.send(&ToNode::Inspect);
        let reason = socket.take_unsent().unwrap();
        assert!(reason.contains("too long: at most 65536"), "{reason}");
        assert_eq!(socket.take_unsent(), None);
        let mut buffer = vec![0; DATAGRAM_BYTES];
        let (length, _) = recv(&far, &mut buffer[..], RecvFlags::empty()).unwrap();
        assert_eq!(buffer[..length], encode(&ToNode::Inspect).unwrap());
        assert!(recv(&far, &mut buffer[..], RecvFlags::empty()).is_err());
    }
}
