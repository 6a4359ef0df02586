//! The socket to the fabric: one JSON object per datagram, over a SEQPACKET socket.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cubeyard_dataplane::protocol::Time;
use cubeyard_messages::limits::{DATAGRAM_BYTES, WAITING_FOR_FABRIC};
use cubeyard_messages::{ToFabric, ToNode, decode, encode};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, UnixAddr, connect, send, socket};

use crate::handed::receive_with;
use crate::poller::{Interest, Poller, Token};

/// Time between tries to connect.
const RETRY: Duration = Duration::from_millis(500);
/// Time between tries before the first success: the fabric is about to listen.
const FIRST_RETRY: Duration = Duration::from_millis(20);

/// The connection to the fabric, opened again after each loss.
#[derive(Debug)]
pub struct Fabric {
    /// Path of the socket, or `@NAME` for one that the fabric binds in this network namespace.
    path: PathBuf,
    socket: Option<OwnedFd>,
    waiting: VecDeque<Vec<u8>>,
    /// Buffer for received datagrams.
    buffer: Vec<u8>,
    /// Whether the socket was full; then the poller waits until it is writable.
    full: bool,
    was_connected: bool,
    next_try: Time,
}

/// The address of a path, or with a leading `@` of an abstract socket. `[man 7 unix]`
fn address(path: &Path) -> nix::Result<UnixAddr> {
    match path.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => UnixAddr::new_abstract(name),
        None => UnixAddr::new(path),
    }
}

/// A received datagram.
#[derive(Debug)]
pub enum Arrival {
    /// A message, with the descriptors that came with it.
    Message(ToNode, Vec<OwnedFd>),
    /// An invalid datagram, with the reason.
    Refused(String),
}

impl Fabric {
    /// Creates the connection without connecting yet.
    pub fn new(path: &Path) -> Fabric {
        Fabric {
            path: path.to_owned(),
            socket: None,
            waiting: VecDeque::new(),
            buffer: vec![0; DATAGRAM_BYTES],
            full: false,
            was_connected: false,
            next_try: Duration::ZERO,
        }
    }

    /// Path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When to try to connect again; `None` while connected.
    pub fn next_timeout(&self) -> Option<Time> {
        self.socket.is_none().then_some(self.next_try)
    }

    /// Tries to connect if the time has come.
    pub fn on_timeout(&mut self, now: Time, poller: &Poller) {
        if self.socket.is_some() || now < self.next_try {
            return;
        }
        match self.connect(poller) {
            Ok(socket) => {
                self.socket = Some(socket);
                self.was_connected = true;
                // Messages for the previous connection have no meaning on the new one.
                self.waiting.clear();
                self.full = false;
            }
            Err(_) => self.next_try = now + if self.was_connected { RETRY } else { FIRST_RETRY },
        }
    }

    fn connect(&self, poller: &Poller) -> nix::Result<OwnedFd> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)?;
        connect(socket.as_raw_fd(), &address(&self.path)?)?;
        poller.add(&socket, Token::Fabric, Interest::READ)?;
        Ok(socket)
    }

    /// Sends a message, or queues it until there is space.
    pub fn send(&mut self, message: &ToFabric, poller: &Poller) {
        let Ok(bytes) = encode(message) else {
            return;
        };
        if self.socket.is_none() {
            return;
        }
        if self.waiting.len() >= WAITING_FOR_FABRIC {
            self.waiting.pop_front();
        }
        self.waiting.push_back(bytes);
        if !self.full {
            self.flush(poller);
        }
    }

    /// Sends queued messages until the socket is full.
    pub fn flush(&mut self, poller: &Poller) {
        let Some(socket) = &self.socket else {
            return;
        };
        while let Some(bytes) = self.waiting.front() {
            match send(socket.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL) {
                Err(Errno::EAGAIN) => {
                    self.full = poller.modify(socket, Token::Fabric, Interest::BOTH).is_ok();
                    return;
                }
                Err(Errno::EINTR) => {}
                Err(error) if error != Errno::EMSGSIZE => return self.lose(),
                _ => {
                    self.waiting.pop_front();
                }
            }
        }
        if self.full {
            self.full = poller.modify(socket, Token::Fabric, Interest::READ).is_err();
        }
    }

    /// The next datagram, if one is waiting.
    pub fn receive(&mut self) -> Option<Arrival> {
        let socket = self.socket.as_ref()?;
        loop {
            match receive_with(socket, &mut self.buffer) {
                Ok((0, _)) => break,
                Ok((length, _)) if length > DATAGRAM_BYTES => {
                    let sentence = format!(
                        "A datagram of {length} bytes is too long: at most {DATAGRAM_BYTES}; split it."
                    );
                    return Some(Arrival::Refused(sentence));
                }
                Ok((length, descriptors)) => {
                    let message = decode(&self.buffer[..length]);
                    let arrived = |message| Arrival::Message(message, descriptors);
                    return Some(message.map_or_else(Arrival::Refused, arrived));
                }
                Err(Errno::EAGAIN) => return None,
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        self.lose();
        None
    }

    /// Handles the end of the connection.
    fn lose(&mut self) {
        self.socket = None;
        self.waiting.clear();
    }
}
