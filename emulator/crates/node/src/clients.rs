//! TCP connections to a server's address, for services with a text protocol, and for the values of
//! a server that answers a workload's requests.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use cubeyard_dataplane::service::{ClientId, ServesClients};

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// Maximum number of connections; further ones are closed.
const MOST_CLIENTS: usize = 256;
/// Bytes per read, and reads of a client per turn.
const READ_BYTES: usize = 64 * 1024;
const TURN: usize = 4;
/// Limits for the unread answers of a client. Above the first, the node stops reading from the
/// client; above the second, it closes the connection.
const SLOW_BYTES: usize = 256 * 1024;
const STUCK_BYTES: usize = 16 << 20;

#[derive(Debug)]
struct Connection {
    tcp_port: u16,
    stream: TcpStream,
    unsent: Vec<u8>,
    /// Whether the client has closed its direction.
    ended: bool,
    /// Whether to close the connection once everything is sent.
    closing: bool,
}

/// All clients of a server.
#[derive(Debug)]
pub struct Clients {
    listeners: Vec<(u16, TcpListener)>,
    connections: BTreeMap<ClientId, Connection>,
    latest: ClientId,
}

impl Clients {
    /// Listens at the TCP ports of `services`. Errors name the address.
    pub fn open(poller: &Poller, services: &dyn ServesClients, ip: Ipv4Addr) -> io::Result<Clients> {
        let mut listeners = Vec::new();
        for port in services.tcp_ports() {
            let context = |error: io::Error| {
                let text = format!(
                    "clients at {ip}:{port}: {error}. Choose another port in the settings, or end what listens there."
                );
                io::Error::new(error.kind(), text)
            };
            let listener = TcpListener::bind((ip, port)).map_err(context)?;
            listener.set_nonblocking(true)?;
            poller.add(&listener, Token::Listener(listeners.len() as u32), Interest::READ)?;
            listeners.push((port, listener));
        }
        Ok(Clients {
            listeners,
            connections: BTreeMap::new(),
            latest: 0,
        })
    }

    /// Accepts connecting clients of a listener.
    pub fn on_knock(&mut self, index: usize, poller: &Poller) {
        let Some((tcp_port, listener)) = self.listeners.get(index) else {
            return;
        };
        while let Ok((stream, _)) = listener.accept() {
            let id = self.latest.wrapping_add(1);
            let fits = self.connections.len() < MOST_CLIENTS && !self.connections.contains_key(&id);
            let waits = stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok();
            if !fits || !waits || poller.add(&stream, Token::Client(id), Interest::READ).is_err() {
                continue;
            }
            self.latest = id;
            let connection = Connection {
                tcp_port: *tcp_port,
                stream,
                unsent: Vec::new(),
                ended: false,
                closing: false,
            };
            self.connections.insert(id, connection);
        }
    }

    /// Handles data of a client, or free space for answers to it.
    pub fn on_ready(&mut self, id: ClientId, services: &mut dyn ServesClients, poller: &Poller) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        let tcp_port = connection.tcp_port;
        let mut gone = connection.ended && connection.unsent.is_empty();
        let mut buffer = [0; READ_BYTES];
        for _ in 0..TURN {
            if connection.ended || connection.unsent.len() >= SLOW_BYTES {
                break;
            }
            match connection.stream.read(&mut buffer) {
                Ok(0) => {
                    connection.ended = true;
                    services.client_ended(now(), tcp_port, id);
                }
                Ok(length) => services.client(now(), tcp_port, id, &buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => gone = true,
            }
            if gone {
                break;
            }
        }
        if gone {
            services.client_ended(now(), tcp_port, id);
            self.connections.remove(&id);
        } else if self.flush(id, poller) {
            services.client_ended(now(), tcp_port, id);
        }
    }

    /// Sends the answers to clients.
    pub fn answer(&mut self, services: &mut dyn ServesClients, poller: &Poller) {
        while let Some(reply) = services.poll_reply() {
            // The client may have disconnected.
            let Some(connection) = self.connections.get_mut(&reply.client) else {
                continue;
            };
            connection.unsent.extend(reply.bytes);
            connection.closing |= reply.last;
            let tcp_port = connection.tcp_port;
            if self.flush(reply.client, poller) {
                services.client_ended(now(), tcp_port, reply.client);
            }
        }
    }

    /// Sends as much as the socket accepts; returns whether the connection was lost.
    fn flush(&mut self, id: ClientId, poller: &Poller) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else {
            return false;
        };
        let mut sent = 0;
        let mut lost = false;
        while sent < connection.unsent.len() && !lost {
            match connection.stream.write(&connection.unsent[sent..]) {
                Ok(length) => sent += length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => lost = true,
            }
        }
        connection.unsent.drain(..sent);
        let waiting = connection.unsent.len();
        // Dropping a connection closes it.
        let lost = lost || waiting > STUCK_BYTES;
        if lost || connection.closing && waiting == 0 {
            self.connections.remove(&id);
            return lost;
        }
        let reads = !connection.ended && !connection.closing && waiting < SLOW_BYTES;
        let interest = match (reads, waiting > 0) {
            (true, true) => Interest::BOTH,
            (true, false) => Interest::READ,
            (false, true) => Interest::WRITE,
            (false, false) => Interest::NONE,
        };
        // The connection is registered, so this cannot fail.
        let _ = poller.modify(&connection.stream, Token::Client(id), interest);
        false
    }
}
