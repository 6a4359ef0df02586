//! The socket of one node: JSON datagrams over SEQPACKET. Which socket it is says who the node is.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen,
    recv, send, sockopt,
};
use serde_json::Value;

use crate::error::{During, Result};

/// Longest datagram either side may send.
pub const MAX_BYTES: usize = 64 * 1024;
/// Messages that wait for a node which does not read; announcements beyond are dropped.
const MAX_WAITING: usize = 1024;
/// Messages a second that are taken from a node in the long run, and at once.
const RATE_PER_SEC: f64 = 4000.0;
const BURST: f64 = 8000.0;

/// Listens for a node at `path`. Anybody who can reach the path may connect.
pub fn listen_at(path: &Path) -> Result<OwnedFd> {
    use std::os::unix::fs::PermissionsExt;
    let attempt = || -> std::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        listen(&socket, 4)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o666))?;
        Ok(socket)
    };
    attempt().during(|| format!("listening at {}", path.display()))
}

/// A connected node.
#[derive(Debug)]
pub struct NodeSocket {
    socket: OwnedFd,
    waiting: VecDeque<Vec<u8>>,
    allowance: f64,
    refilled_at: Instant,
    /// Datagrams thrown away unread because there were too many.
    refused: u64,
}

/// What reading gave.
#[derive(Debug)]
pub enum Received {
    /// A datagram.
    Datagram(Vec<u8>),
    /// One that was thrown away.
    Refused,
    /// None now.
    Nothing,
    /// The node has gone.
    Closed,
}

impl NodeSocket {
    /// Takes a connection, if one waits.
    pub fn accept(listener: &OwnedFd) -> Option<NodeSocket> {
        let socket = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK).ok()?;
        let _ = sockopt::set_socket_send_buffer_size(&socket, 4 * MAX_BYTES);
        Some(NodeSocket {
            socket,
            waiting: VecDeque::new(),
            allowance: BURST,
            refilled_at: Instant::now(),
            refused: 0,
        })
    }

    /// The next datagram. Too many a second are thrown away.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match recv(&self.socket, &mut buffer[..MAX_BYTES], RecvFlags::TRUNC) {
            Ok((0, _)) => Received::Closed,
            Ok((length, whole)) if whole <= MAX_BYTES && self.allow() => {
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

    /// How many datagrams were thrown away since this was last asked.
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    fn allow(&mut self) -> bool {
        let now = Instant::now();
        let gained = (now - self.refilled_at).as_secs_f64() * RATE_PER_SEC;
        self.allowance = (self.allowance + gained).min(BURST);
        self.refilled_at = now;
        let allowed = self.allowance >= 1.0;
        if allowed {
            self.allowance -= 1.0;
        }
        allowed
    }

    /// Sends a message that must arrive.
    pub fn send(&mut self, message: &Value) {
        self.waiting.push_back(message.to_string().into_bytes());
        self.flush();
    }

    /// Sends a message that a busy node may miss; says whether it was taken.
    pub fn announce(&mut self, message: &Value) -> bool {
        let room = self.waiting.len() < MAX_WAITING;
        if room {
            self.send(message);
        }
        room
    }

    /// Sends what waits, as far as the node reads. A node that has gone is noticed when reading.
    pub fn flush(&mut self) {
        while let Some(bytes) = self.waiting.front() {
            if send(&self.socket, bytes, SendFlags::NOSIGNAL) == Err(Errno::AGAIN) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Whether messages wait for room.
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

impl AsFd for NodeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
