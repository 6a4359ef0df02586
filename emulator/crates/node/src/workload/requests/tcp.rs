//! Requests over TCP: one connection per client and server, with requests of one size, and
//! responses of one size in the same order. TCP retransmits lost segments. If the connection is
//! lost, its requests are lost.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};

use cubeyard_dataplane::configuration::secs;
use cubeyard_dataplane::protocol::Time;
use cubeyard_messages::{Exchange, FlowOrder};
use nix::errno::Errno;
use nix::sys::sendfile::sendfile;
use nix::sys::socket::{
    MsgFlags, SockaddrIn, getpeername, getsockname, getsockopt, recv, setsockopt, sockopt,
};

use super::Client;
use crate::poller::{Interest, Poller, Token};
use crate::socket_options::retransmits;
use crate::workload::tcp::{RETRY, accept_one, listener, open};
use crate::workload::{BLOCK_BYTES, CONNECT_SECS, Progress, Shared};

/// Bytes that one end moves in each direction per turn.
const TURN_BYTES: usize = 1 << 20;

/// A connection with a number of bytes to send, whose content does not matter.
#[derive(Debug)]
struct Stream {
    fd: OwnedFd,
    unsent: u64,
    offset: i64,
    /// Whether the poller waits until the socket is writable.
    awake: bool,
}

impl Stream {
    fn new(fd: OwnedFd, awake: bool) -> Stream {
        Stream {
            fd,
            unsent: 0,
            offset: 0,
            awake,
        }
    }

    /// Sends as much as the socket accepts; returns the number of bytes.
    fn flush(&mut self, id: u32, shared: &Shared, poller: &Poller) -> nix::Result<u64> {
        let before = self.unsent;
        let mut full = false;
        while self.unsent > 0 && !full {
            let count = self.unsent.min(BLOCK_BYTES as u64 - self.offset as u64) as usize;
            match sendfile(&self.fd, &shared.block, Some(&mut self.offset), count) {
                Ok(sent) => {
                    self.offset %= BLOCK_BYTES as i64;
                    self.unsent -= sent as u64;
                }
                Err(Errno::EAGAIN) => full = true,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        if self.awake == (self.unsent == 0) {
            let interest = if self.unsent == 0 {
                Interest::READ
            } else {
                Interest::BOTH
            };
            poller.modify(&self.fd, Token::Flow(id), interest)?;
            self.awake = self.unsent > 0;
        }
        Ok(before - self.unsent)
    }

    /// Reads and discards data; returns the number of bytes, and whether the stream has ended.
    fn receive(&self, shared: &mut Shared) -> nix::Result<(u64, bool)> {
        let mut received = 0;
        while received < TURN_BYTES {
            match recv(self.fd.as_raw_fd(), &mut shared.sink, MsgFlags::MSG_TRUNC) {
                Ok(0) => return Ok((received as u64, true)),
                Ok(count) => received += count,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error),
            }
        }
        Ok((received as u64, false))
    }
}

/// The client's end of a flow.
#[derive(Debug, Default)]
pub struct Asker {
    connecting: Option<OwnedFd>,
    stream: Option<Stream>,
    local_port: Option<u16>,
    /// Due times of the requests without a complete response.
    waiting: VecDeque<Time>,
    /// Bytes received of the response to the first of them.
    received: u64,
}

impl Asker {
    /// Source port of the requests, once connected.
    pub fn local_port(&self) -> Option<u16> {
        self.local_port
    }

    /// Number of requests without a complete response.
    pub fn unanswered(&self) -> usize {
        self.waiting.len()
    }

    /// Reads the number of retransmitted segments.
    pub fn ask_retransmits(&self, progress: &mut Progress) {
        if let Some(stream) = &self.stream {
            progress.retransmits = retransmits(&stream.fd).map_or(progress.retransmits, u64::from);
        }
    }

    /// Sends due requests and reads responses; returns when to continue even if the socket is not
    /// ready.
    #[expect(
        clippy::too_many_arguments,
        reason = "the one call from the workload, which owns all of it"
    )]
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        begins: Time,
        now: Time,
        client: &mut Client,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> Option<Time> {
        // Requests that are due before the connection exists wait for it, and their latency
        // includes that.
        while let Some(begun) = client.take(order.id, now) {
            self.waiting.push_back(begun);
            if let Some(stream) = &mut self.stream {
                stream.unsent += exchange.request_bytes;
            }
        }
        if self.stream.is_none()
            && let Err(error) = self.connect(order, exchange, shared, poller)
        {
            self.connecting = None;
            if now < begins + secs(CONNECT_SECS) {
                return Some(now + RETRY);
            }
            let reason = format!("could not connect to {}: {}", order.peer_ip, error.desc());
            self.lose(reason, now, client, progress);
            return None;
        }
        if let Err(error) = self.carry(order, exchange, now, client, shared, poller, progress) {
            self.ask_retransmits(progress);
            let reason = format!("lost {}: {}", order.peer_ip, error.desc());
            self.lose(reason, now, client, progress);
        }
        None
    }

    fn lose(&mut self, reason: String, now: Time, client: &mut Client, progress: &mut Progress) {
        progress.stop(reason);
        for _ in self.waiting.drain(..) {
            client.gave_up(now);
        }
        (self.connecting, self.stream) = (None, None);
    }

    fn connect(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        shared: &Shared,
        poller: &Poller,
    ) -> nix::Result<()> {
        let Some(fd) = &self.connecting else {
            let wanted = order.source_port.map(|port| open(order, shared, port));
            let fd = match wanted {
                Some(Ok(fd)) => fd,
                // Another socket uses the port, or the connection's ports are still in use: take
                // any port.
                _ => open(order, shared, 0)?,
            };
            setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
            poller.add(&fd, Token::Flow(order.id), Interest::BOTH)?;
            self.connecting = Some(fd);
            return Ok(());
        };
        match getsockopt(fd, sockopt::SocketError)? {
            0 if getpeername::<SockaddrIn>(fd.as_raw_fd()).is_ok() => {
                self.local_port = Some(getsockname::<SockaddrIn>(fd.as_raw_fd())?.port());
                if let Some(fd) = self.connecting.take() {
                    let mut stream = Stream::new(fd, true);
                    stream.unsent = self.waiting.len() as u64 * exchange.request_bytes;
                    self.stream = Some(stream);
                }
                Ok(())
            }
            0 => Ok(()),
            error => Err(Errno::from_raw(error)),
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a part of the one call from the workload"
    )]
    fn carry(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        now: Time,
        client: &mut Client,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> nix::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let (received, ended) = stream.receive(shared)?;
        progress.response_bytes += received;
        self.received += received;
        while self.received >= exchange.response_bytes
            && let Some(begun) = self.waiting.pop_front()
        {
            self.received -= exchange.response_bytes;
            client.answered(begun, now);
        }
        if ended {
            return Err(Errno::ECONNRESET);
        }
        progress.bytes += stream.flush(order.id, shared, poller)?;
        Ok(())
    }
}

/// The server's end of a flow.
#[derive(Debug, Default)]
pub struct Answerer {
    listener: Option<OwnedFd>,
    stream: Option<Stream>,
    peer_port: Option<u16>,
    /// Bytes received of an incomplete request.
    received: u64,
}

impl Answerer {
    /// Listens for the connection of the client.
    pub fn listen(order: &FlowOrder, shared: &Shared, poller: &Poller, progress: &mut Progress) -> Answerer {
        Answerer {
            listener: listener(order, shared, poller, progress),
            ..Answerer::default()
        }
    }

    /// The client's source port, once it has connected.
    pub fn peer_port(&self) -> Option<u16> {
        self.peer_port
    }

    /// Reads the number of retransmitted segments.
    pub fn ask_retransmits(&self, progress: &mut Progress) {
        if let Some(stream) = &self.stream {
            progress.retransmits = retransmits(&stream.fd).map_or(progress.retransmits, u64::from);
        }
    }

    /// Answers the requests that have arrived.
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) {
        if let Err(error) = self.accept(order, poller) {
            progress.stop(format!("could not accept {}: {}", order.peer_ip, error.desc()));
        }
        if let Err(error) = self.carry(order, exchange, shared, poller, progress) {
            self.ask_retransmits(progress);
            progress.stop(format!("lost {}: {}", order.peer_ip, error.desc()));
        }
        if progress.done {
            self.stream = None;
        }
    }

    fn carry(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> nix::Result<()> {
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let (received, ended) = stream.receive(shared)?;
        progress.bytes += received;
        self.received += received;
        stream.unsent += self.received / exchange.request_bytes * exchange.response_bytes;
        self.received %= exchange.request_bytes;
        progress.response_bytes += stream.flush(order.id, shared, poller)?;
        progress.done |= ended;
        Ok(())
    }

    /// Accepts the connection of the expected client, and closes others.
    fn accept(&mut self, order: &FlowOrder, poller: &Poller) -> nix::Result<()> {
        while let Some(listener) = &self.listener {
            let Some(fd) = accept_one(listener)? else {
                return Ok(());
            };
            let peer = getpeername::<SockaddrIn>(fd.as_raw_fd());
            let Some(peer) = peer.ok().filter(|peer| peer.ip() == order.peer_ip) else {
                continue;
            };
            setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
            poller.add(&fd, Token::Flow(order.id), Interest::READ)?;
            self.peer_port = Some(peer.port());
            self.stream = Some(Stream::new(fd, false));
            self.listener = None;
        }
        Ok(())
    }
}
