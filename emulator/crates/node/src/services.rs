//! Packets of services: datagrams between the control addresses of ports, one socket on each port
//! with one neighbour.
//!
//! A socket's buffer holds the packets of only a few turns, so that free space in it means a free
//! link: then services are polled for the next packet. At the end of the link, each service has its
//! own queue and turns, and so have applications' packets. Services therefore share a link fairly,
//! independent of their traffic.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::configuration::Configuration;
use cubeyard_dataplane::control::{SERVICE_PORT, turn_bytes};
use cubeyard_dataplane::event::{Event, NamedCell};
use cubeyard_dataplane::inspection::{Cell, ColumnKind};
use cubeyard_dataplane::protocol::Protocol;
use nix::sys::socket::{setsockopt, sockopt};

use crate::clock::now;
use crate::poller::{Interest, Poller, Token};

/// Size of a socket's buffer in turns: two turns for each of two busy services, so that each has a
/// turn's bytes at the link when its turn comes. The kernel doubles the requested size, and counts
/// up to twice a packet's bytes.
const TURNS: usize = 4;
/// Most packets of one socket per turn.
const TURN: usize = 64;
/// The event log has at most this many characters of a service's answer.
const ANSWER_CHARS: usize = 4000;

/// The services' socket of a port.
#[derive(Debug)]
struct ServiceSocket {
    port: u8,
    socket: UdpSocket,
    /// A packet that did not fit into the socket.
    unsent: Option<Vec<u8>>,
    /// The events that the socket is polled for; stored because each change is a system call, and
    /// links are filled often.
    interest: Interest,
}

/// The services' sockets of a server.
#[derive(Debug)]
pub struct ServiceSockets {
    sockets: Vec<ServiceSocket>,
    buffer: Vec<u8>,
}

impl ServiceSockets {
    /// Opens a socket on every port with one neighbour. Errors name the port.
    pub fn open(poller: &Poller, configuration: &Configuration) -> io::Result<ServiceSockets> {
        let mut sockets = Vec::new();
        for port in &configuration.ports {
            let [neighbour] = port.neighbours[..] else {
                continue;
            };
            let ip = port_ip(configuration.server, port.port).unwrap_or(Ipv4Addr::UNSPECIFIED);
            let context = |error: io::Error| {
                io::Error::new(
                    error.kind(),
                    format!("socket of services on {} ({ip}): {error}", port.name),
                )
            };
            let turn = turn_bytes(configuration.rate_bits_per_sec, configuration.mtu);
            let room = TURNS * turn as usize;
            let socket = open_one(ip, neighbour.ip, &port.name, room).map_err(context)?;
            poller.add(&socket, Token::Services(sockets.len() as u32), Interest::READ)?;
            sockets.push(ServiceSocket {
                port: port.port,
                socket,
                unsent: None,
                interest: Interest::READ,
            });
        }
        Ok(ServiceSockets {
            sockets,
            buffer: vec![0; configuration.mtu as usize + 1],
        })
    }

    /// Handles received packets or free space of a socket.
    pub fn on_ready(&mut self, index: usize, protocol: &mut dyn Protocol, poller: &Poller) {
        let Some(socket) = self.sockets.get(index) else {
            return;
        };
        for _ in 0..TURN {
            // Errors concern earlier packets: the neighbour's node has exited.
            let Ok(length) = socket.socket.recv(&mut self.buffer) else {
                break;
            };
            if let Some(services) = protocol.services() {
                services.arrive(now(), socket.port, &self.buffer[..length]);
            }
        }
        self.fill(index, protocol, poller);
    }

    /// Fills all free links, if there is anything new to send.
    pub fn fill_all(&mut self, protocol: &mut dyn Protocol, poller: &Poller) {
        let news = protocol.services().is_some_and(|services| services.has_news());
        for index in (0..self.sockets.len()).filter(|_| news) {
            self.fill(index, protocol, poller);
        }
    }

    /// Sends through a socket until it is full or no service has a packet.
    fn fill(&mut self, index: usize, protocol: &mut dyn Protocol, poller: &Poller) {
        let (Some(socket), Some(services)) = (self.sockets.get_mut(index), protocol.services()) else {
            return;
        };
        let mut waits = socket.unsent.is_some();
        for _ in 0..TURN {
            let next = socket.unsent.take();
            let Some(packet) = next.or_else(|| services.next_packet(now(), socket.port)) else {
                waits = false;
                break;
            };
            // Any other error loses the packet, as a dead cable does.
            if let Err(error) = socket.socket.send(&packet)
                && error.kind() == io::ErrorKind::WouldBlock
            {
                socket.unsent = Some(packet);
                waits = true;
                break;
            }
            waits = true;
        }
        let interest = if waits { Interest::BOTH } else { Interest::READ };
        if interest != socket.interest {
            socket.interest = interest;
            // The socket is registered, so this cannot fail.
            let _ = poller.modify(&socket.socket, Token::Services(index as u32), interest);
        }
    }
}

/// Messages of a server's services to users, as events.
pub fn answers(protocol: &mut dyn Protocol) -> Vec<Event> {
    let Some(services) = protocol.services() else {
        return Vec::new();
    };
    let text = |name: &str, value: String| NamedCell {
        name: name.to_owned(),
        kind: ColumnKind::Text,
        value: Cell::Text(value),
    };
    let answers = std::iter::from_fn(|| services.poll_answer());
    let event = |(service, bytes): (String, Vec<u8>)| Event::Reported {
        what: "service-answer".to_owned(),
        cells: vec![
            text("service", service),
            text(
                "answer",
                String::from_utf8_lossy(&bytes)
                    .chars()
                    .take(ANSWER_CHARS)
                    .collect(),
            ),
        ],
    };
    answers.map(event).collect()
}

fn open_one(ip: Ipv4Addr, neighbour: Ipv4Addr, interface: &str, room: usize) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((ip, SERVICE_PORT))?;
    socket.set_nonblocking(true)?;
    // Accept packets only from this cable and this neighbour.
    setsockopt(&socket, sockopt::BindToDevice, &OsString::from(interface))?;
    setsockopt(&socket, sockopt::SndBuf, &room)?;
    socket.connect(SocketAddrV4::new(neighbour, SERVICE_PORT))?;
    Ok(socket)
}
