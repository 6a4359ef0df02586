//! The control plane's UDP sockets, one on each port.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::control::{CONTROL_PORT, MAX_MESSAGE_BYTES};
use cubeyard_topology::NodeId;
use nix::sys::socket::{setsockopt, sockopt};

use crate::poller::{Interest, Poller, Token};

/// Type of service of network control (CS6), and the priority that a shaper can sort by.
const TYPE_OF_SERVICE: i32 = 0xc0;
const PRIORITY: i32 = 6;
/// Most messages read from one socket per turn.
const BURST: usize = 64;

/// A port's control socket.
#[derive(Debug)]
pub struct ControlSocket {
    /// Number of the port.
    pub port: u8,
    socket: UdpSocket,
}

/// Opens a socket for every port of a server, and waits for messages.
pub fn open(poller: &Poller, server: NodeId, ports: &[(u8, String)]) -> io::Result<Vec<ControlSocket>> {
    let mut sockets = Vec::with_capacity(ports.len());
    for (&(port, ref name), index) in ports.iter().zip(0..) {
        let ip = port_ip(server, port).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let context = |error: io::Error| {
            io::Error::new(error.kind(), format!("control socket of {name} on {ip}: {error}"))
        };
        let socket = open_one(ip, name).map_err(context)?;
        poller.add(&socket, Token::Control(index), Interest::READ)?;
        sockets.push(ControlSocket { port, socket });
    }
    Ok(sockets)
}

fn open_one(ip: Ipv4Addr, interface: &str) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((ip, CONTROL_PORT))?;
    socket.set_nonblocking(true)?;
    // Accept packets only from this port's cable: a message that arrives over another cable is not
    // from the neighbour.
    setsockopt(&socket, sockopt::BindToDevice, &OsString::from(interface))?;
    setsockopt(&socket, sockopt::Ipv4Tos, &TYPE_OF_SERVICE)?;
    setsockopt(&socket, sockopt::Priority, &PRIORITY)?;
    Ok(socket)
}

impl ControlSocket {
    /// Sends a message. It is lost in a full queue or a dead cable, like any datagram.
    pub fn send(&self, to: Ipv4Addr, bytes: &[u8]) {
        let _lost = self.socket.send_to(bytes, (to, CONTROL_PORT));
    }

    /// Reads the messages that have arrived, up to a limit per turn.
    pub fn receive(&self, mut take: impl FnMut(Ipv4Addr, &[u8])) {
        // One byte more than the longest message, so that the protocol can detect longer ones.
        let mut buffer = [0; MAX_MESSAGE_BYTES + 1];
        for _ in 0..BURST {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, SocketAddr::V4(from))) if from.port() == CONTROL_PORT => {
                    take(SocketAddrV4::ip(&from).to_owned(), &buffer[..length]);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // An earlier message was undeliverable. Hellos detect that.
                Err(_) => {}
            }
        }
    }
}
