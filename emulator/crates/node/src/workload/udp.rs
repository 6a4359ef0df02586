//! UDP flows: numbered datagrams at a fixed rate, counted where they arrive.

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use cubeyard_dataplane::protocol::Time;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};

use super::{Allowance, Progress, Shared};
use crate::poller::{Interest, Poller, Token};
use cubeyard_messages::FlowOrder;

/// Length of the headers before a datagram's payload.
pub const IP_AND_UDP_BYTES: usize = 28;
/// Length of the payload's header: the datagram's number (8 bytes, big-endian), then 1 in the last
/// datagrams and 0 in others.
pub const HEAD_BYTES: usize = 9;
/// Time between two bursts.
const TICK: Duration = Duration::from_millis(5);
/// A sender that could not run for longer than this does not make up for the excess.
const CATCH_UP: Duration = Duration::from_millis(100);
/// How often the last datagram is sent, since any may be lost.
const FAREWELLS: u32 = 5;
/// Most datagrams read per turn.
const TURN: usize = 256;

/// The sending end of a flow.
#[derive(Debug, Default)]
pub struct Sender {
    socket: Option<UdpSocket>,
    local_port: Option<u16>,
    /// Bytes that the rate allows and that were not sent yet.
    credit_bytes: f64,
    last_at: Option<Time>,
    sequence: u64,
    farewells: u32,
}

impl Sender {
    /// Source port of the flow.
    pub fn local_port(&self) -> Option<u16> {
        self.local_port
    }

    /// Sends as much as the rate allows. Returns when to continue.
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        now: Time,
        allowance: Allowance,
        shared: &mut Shared,
        progress: &mut Progress,
    ) -> Option<Time> {
        if self.socket.is_none() {
            match open(order, shared) {
                Ok(socket) => {
                    self.local_port = socket.local_addr().ok().map(|address| address.port());
                    self.socket = Some(socket);
                }
                Err(error) => {
                    progress.stop(format!("could not send to {}: {error}", order.peer_ip));
                    return None;
                }
            }
        }
        let elapsed = now.saturating_sub(self.last_at.unwrap_or(now)).min(CATCH_UP);
        if self.last_at.is_some_and(|at| now < at + TICK) && self.sequence > 0 {
            // A pipeline has new data between two bursts. The next burst sends it.
            return None;
        }
        self.last_at = Some(now);
        let rate = order.rate_bits_per_sec.unwrap_or(shared.link_bits_per_sec);
        self.credit_bytes += elapsed.as_secs_f64() * rate / 8.0;
        let most = order
            .datagram_bytes
            .map_or(shared.datagram_bytes, |bytes| bytes as usize);
        while progress.bytes < allowance.bytes {
            let left = (allowance.bytes - progress.bytes).min(most as u64) as usize;
            let length = left.max(HEAD_BYTES);
            if self.credit_bytes < length as f64 {
                break;
            }
            self.credit_bytes -= length as f64;
            self.send(shared, length, false);
            progress.bytes += left as u64;
        }
        if progress.bytes >= allowance.bytes && allowance.is_final {
            self.send(shared, HEAD_BYTES, true);
            self.farewells += 1;
            if self.farewells >= FAREWELLS {
                progress.done = true;
                self.socket = None;
                return None;
            }
        }
        Some(now + TICK)
    }

    /// Sends a datagram. The network may refuse it; it is lost like any other.
    fn send(&mut self, shared: &mut Shared, length: usize, last: bool) {
        let payload = &mut shared.sink[..length];
        payload[..8].copy_from_slice(&self.sequence.to_be_bytes());
        payload[8] = u8::from(last);
        if let Some(socket) = &self.socket {
            let _lost = socket.send(payload);
        }
        self.sequence += u64::from(!last);
    }
}

/// Opens a socket to the flow's other end, with the order's source port if it is free.
pub fn open(order: &FlowOrder, shared: &Shared) -> std::io::Result<UdpSocket> {
    let wanted = order.source_port.map(|port| UdpSocket::bind((shared.ip, port)));
    let socket = match wanted {
        Some(Ok(socket)) => socket,
        // Another socket uses the port: take any port.
        _ => UdpSocket::bind((shared.ip, 0))?,
    };
    socket.set_nonblocking(true)?;
    socket.connect((order.peer_ip, order.port))?;
    Ok(socket)
}

/// The receiving end of a flow.
#[derive(Debug)]
pub struct Receiver {
    socket: Option<UdpSocket>,
    arrived: u64,
    /// The highest number that has arrived, plus one.
    expected: u64,
}

impl Receiver {
    /// Opens the socket for the flow's datagrams.
    pub fn listen(order: &FlowOrder, shared: &Shared, poller: &Poller, progress: &mut Progress) -> Receiver {
        let open = || {
            let socket = UdpSocket::bind((shared.ip, order.port))?;
            socket.set_nonblocking(true)?;
            poller.add(&socket, Token::Flow(order.id), Interest::READ)?;
            Ok(socket)
        };
        let socket: std::io::Result<UdpSocket> = open();
        if let Err(error) = &socket {
            progress.stop(format!("could not listen on port {}: {error}", order.port));
        }
        Receiver {
            socket: socket.ok(),
            arrived: 0,
            expected: 0,
        }
    }

    /// Counts received datagrams, ignoring those from others than the peer.
    pub fn advance(&mut self, order: &FlowOrder, progress: &mut Progress) {
        let Some(socket) = &self.socket else {
            return;
        };
        let mut head = [0; HEAD_BYTES];
        for _ in 0..TURN {
            // With MSG_TRUNC, `recv` returns the whole length, although it copies only the header.
            let length = match socket.peek_from(&mut head) {
                Ok((_, from)) if from.ip() == order.peer_ip => {
                    recv(socket.as_raw_fd(), &mut head, MsgFlags::MSG_TRUNC)
                }
                Ok(_) => recv(socket.as_raw_fd(), &mut head, MsgFlags::MSG_TRUNC).map(|_| 0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => Err(Errno::EIO),
            };
            match length {
                Ok(length) if length >= HEAD_BYTES => {
                    if head[8] == 1 {
                        progress.done = true;
                        break;
                    }
                    let [number @ .., _] = head;
                    self.arrived += 1;
                    self.expected = self.expected.max(u64::from_be_bytes(number).saturating_add(1));
                    progress.bytes += length as u64;
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        progress.lost = self.expected.saturating_sub(self.arrived);
        if progress.done {
            self.socket = None;
        }
    }
}
