//! Requests over UDP: a datagram that begins with the request's number, and a response of one or
//! more datagrams, each of which begins with that number too. Lost datagrams are not sent again:
//! the client gives up the request.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::UdpSocket;

use cubeyard_dataplane::protocol::Time;
use cubeyard_messages::{Exchange, FlowOrder, HEAD_BYTES};

use super::Client;
use crate::poller::{Interest, Poller, Token};
use crate::workload::udp::open;
use crate::workload::{Progress, Shared};

/// Most datagrams read per turn.
const TURN: usize = 256;

/// The client's end of a flow.
#[derive(Debug, Default)]
pub struct Asker {
    socket: Option<UdpSocket>,
    local_port: Option<u16>,
    /// Waiting requests by number: due time, and bytes received of the response.
    waiting: BTreeMap<u64, (Time, u64)>,
    sequence: u64,
}

impl Asker {
    /// Source port of the requests.
    pub fn local_port(&self) -> Option<u16> {
        self.local_port
    }

    /// Number of requests without a complete response.
    pub fn unanswered(&self) -> usize {
        self.waiting.len()
    }

    /// Sends due requests, reads responses, and gives up requests that have waited too long.
    /// Returns when to continue.
    #[expect(
        clippy::too_many_arguments,
        reason = "the one call from the workload, which owns all of it"
    )]
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        now: Time,
        client: &mut Client,
        shared: &mut Shared,
        poller: &Poller,
        progress: &mut Progress,
    ) -> Option<Time> {
        if self.socket.is_none() {
            let opened = open(order, shared).and_then(|socket| {
                poller.add(&socket, Token::Flow(order.id), Interest::READ)?;
                Ok(socket)
            });
            match opened {
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
        self.receive(exchange, now, client, shared, progress);
        while let Some(begun) = client.take(order.id, now) {
            self.ask(exchange, begun, shared, progress);
        }
        let timeout = client.timeout();
        // Requests are numbered in the order of their due times.
        while let Some(first) = self
            .waiting
            .first_entry()
            .filter(|first| first.get().0 + timeout <= now)
        {
            first.remove();
            progress.lost += 1;
            client.gave_up(now);
        }
        self.waiting
            .first_key_value()
            .map(|(_, (begun, _))| *begun + timeout)
    }

    fn ask(&mut self, exchange: &Exchange, begun: Time, shared: &mut Shared, progress: &mut Progress) {
        let payload = &mut shared.sink[..exchange.request_bytes as usize];
        payload[..HEAD_BYTES as usize].copy_from_slice(&self.sequence.to_be_bytes());
        if let Some(socket) = &self.socket {
            // The network may refuse a datagram; it is lost like any other.
            let _lost = socket.send(payload);
        }
        progress.bytes += exchange.request_bytes;
        self.waiting.insert(self.sequence, (begun, 0));
        self.sequence += 1;
    }

    fn receive(
        &mut self,
        exchange: &Exchange,
        now: Time,
        client: &mut Client,
        shared: &mut Shared,
        progress: &mut Progress,
    ) {
        let Some(socket) = &self.socket else {
            return;
        };
        for _ in 0..TURN {
            let length = match socket.recv(&mut shared.sink) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The server's socket is closed, so the request waits for its time limit.
                Err(_) => continue,
            };
            let Some(number) = number_of(&shared.sink[..length]) else {
                continue;
            };
            // A response to a request that was given up.
            let Some((begun, received)) = self.waiting.get_mut(&number) else {
                continue;
            };
            progress.response_bytes += length as u64;
            *received += length as u64;
            if *received >= exchange.response_bytes {
                client.answered(*begun, now);
                self.waiting.remove(&number);
            }
        }
    }
}

/// The server's end of a flow.
#[derive(Debug)]
pub struct Answerer {
    socket: Option<UdpSocket>,
    peer_port: Option<u16>,
}

impl Answerer {
    /// Opens the socket for requests.
    pub fn listen(order: &FlowOrder, shared: &Shared, poller: &Poller, progress: &mut Progress) -> Answerer {
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
        Answerer {
            socket: socket.ok(),
            peer_port: None,
        }
    }

    /// The client's source port, once it has sent a request.
    pub fn peer_port(&self) -> Option<u16> {
        self.peer_port
    }

    /// Answers the requests that have arrived. Ignores datagrams from others than the client.
    pub fn advance(
        &mut self,
        order: &FlowOrder,
        exchange: &Exchange,
        shared: &mut Shared,
        progress: &mut Progress,
    ) {
        let Some(socket) = &self.socket else {
            return;
        };
        for _ in 0..TURN {
            let (length, from) = match socket.recv_from(&mut shared.sink) {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => continue,
            };
            if from.ip() != order.peer_ip || number_of(&shared.sink[..length]).is_none() {
                continue;
            }
            self.peer_port = Some(from.port());
            progress.bytes += length as u64;
            for part in parts(exchange.response_bytes, shared.datagram_bytes as u64) {
                let _lost = socket.send_to(&shared.sink[..part as usize], from);
                progress.response_bytes += part;
            }
        }
    }
}

fn number_of(payload: &[u8]) -> Option<u64> {
    payload.first_chunk().map(|head| u64::from_be_bytes(*head))
}

/// The payload lengths of a response's datagrams: as few as possible, of almost equal length.
fn parts(bytes: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = bytes.div_ceil(most);
    (0..count).map(move |at| bytes / count + u64::from(at < bytes % count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_the_whole_and_fit_and_hold_a_number(bytes in 8..100_000u64, most in 1252..9000u64) {
            let parts: Vec<u64> = parts(bytes, most).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), bytes);
            prop_assert!(parts.iter().all(|&part| (8..=most).contains(&part)));
        }
    }
}
