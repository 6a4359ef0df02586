//! Forwarding in user space: passes frames between the virtual network card and the ports through
//! the forwarding that the server's configuration names.

use std::collections::BTreeMap;

use cubeyard_chip::api::{Answered, Limits, Session};
use cubeyard_dataplane::catalog::MakeForwarding;
use cubeyard_dataplane::configuration::Configuration;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::forwarding::{Forwarding, Verdict};
use cubeyard_dataplane::frame::PacketBuffer;
use cubeyard_dataplane::inspection::Section;
use cubeyard_dataplane::tables::TableUpdate;
use cubeyard_messages::TrafficCounts;

use crate::chip::ServerChip;
use crate::clock::now;
use crate::packet_socket::PacketSocket;
use crate::poller::{Interest, Poller, Token};

/// The inner end of the virtual network card, at which packets of applications arrive.
pub const VIRTUAL_NIC_PEER: &str = "cy0x";
/// Longest frame in bytes: an IP packet with its Ethernet header.
const FRAME_BYTES: usize = 65_535 + 14;
/// Most frames of one interface per turn.
const TURN: usize = 64;

/// The forwarding of one server, with its interfaces.
pub struct Software {
    forwarding: Box<dyn Forwarding>,
    /// Numbers of the ports, in the order of their sockets.
    ports: Vec<u8>,
    /// Sockets of the ports, then of the virtual network card.
    sockets: Vec<PacketSocket>,
    buffer: PacketBuffer,
    verdicts: Vec<Verdict>,
    /// Bytes of each flow when rates were last computed.
    measured: BTreeMap<Flow, u64>,
    /// Frames that were dropped because the queue of an interface or the socket's buffer was full.
    unsent: u64,
    reported: Option<TrafficCounts>,
}

impl Software {
    /// Opens the interfaces of a server. Errors: a sentence that names the interface.
    pub fn open(
        make: MakeForwarding,
        configuration: &Configuration,
        poller: &Poller,
    ) -> Result<Software, String> {
        let open = |name: &str| {
            PacketSocket::open(name).map_err(|error| {
                format!(
                    "forwarding in user space: {name}: {}. It needs the interface and NET_RAW.",
                    error.desc()
                )
            })
        };
        let names = configuration.ports.iter().map(|port| port.name.as_str());
        let names = names.chain([VIRTUAL_NIC_PEER]);
        let sockets: Vec<PacketSocket> = names.map(open).collect::<Result<_, _>>()?;
        for (socket, index) in sockets.iter().zip(0..) {
            poller
                .add(socket, Token::Frames(index), Interest::READ)
                .map_err(|error| format!("forwarding in user space: {}", error.desc()))?;
        }
        let forwarding = make(configuration).map_err(|error| error.to_string())?;
        Ok(Software {
            buffer: PacketBuffer::new(forwarding.headroom_bytes(), FRAME_BYTES),
            forwarding,
            ports: configuration.ports.iter().map(|port| port.port).collect(),
            sockets,
            verdicts: Vec::new(),
            measured: BTreeMap::new(),
            unsent: 0,
            reported: None,
        })
    }

    /// Forwards the frames that have arrived at an interface.
    pub fn on_ready(&mut self, index: usize) {
        for _ in 0..TURN {
            let Some(socket) = self.sockets.get(index) else {
                return;
            };
            let Some(length) = socket.receive(self.buffer.space()) else {
                return;
            };
            self.buffer.fill(length);
            let now = now();
            match self.ports.get(index) {
                Some(&port) => self
                    .forwarding
                    .receive(port, &mut self.buffer, now, &mut self.verdicts),
                None => self.forwarding.send(&mut self.buffer, now, &mut self.verdicts),
            }
            for verdict in self.verdicts.drain(..) {
                let sent = match verdict {
                    Verdict::Send { port } => send(&self.ports, &self.sockets, port, self.buffer.frame()),
                    Verdict::SendCopy { port, frame } => send(&self.ports, &self.sockets, port, &frame),
                    Verdict::Deliver => {
                        let nic = self.sockets.last();
                        nic.is_some_and(|nic| nic.send(self.buffer.frame()))
                    }
                    Verdict::Pass | Verdict::Drop(_) => true,
                };
                self.unsent += u64::from(!sent);
            }
        }
    }

    /// Replaces the current program by a user's. Errors: a sentence for the user.
    pub fn set_program(&mut self, text: &str) -> Result<(), String> {
        self.forwarding
            .set_program(text)
            .map_err(|error| error.to_string())
    }

    /// Whether the forwarding is a switching chip.
    pub fn has_chip(&mut self) -> bool {
        self.forwarding.chip().is_some()
    }

    /// State of the forwarding, for users.
    pub fn sections(&self) -> Vec<Section> {
        self.forwarding.inspect()
    }

    /// The records for the protocol since the last call.
    pub fn take_notices(&mut self) -> Vec<Vec<u8>> {
        self.forwarding.take_notices()
    }

    /// Rate of each flow from this server since the last call, in bits per second.
    pub fn take_rates(&mut self, elapsed_secs: f64) -> Vec<(Flow, f64)> {
        let counts = self.forwarding.flow_counts().into_iter();
        let bytes: BTreeMap<Flow, u64> = counts.map(|(flow, count)| (flow, count.bytes)).collect();
        let rate = |(&flow, &bytes): (&Flow, &u64)| {
            let carried = bytes.saturating_sub(self.measured.get(&flow).copied().unwrap_or(0));
            (carried > 0).then_some((flow, carried as f64 * 8.0 / elapsed_secs))
        };
        let rates = bytes.iter().filter_map(rate).collect();
        self.measured = bytes;
        rates
    }

    /// Changes a table. Errors: a sentence with the reason.
    pub fn apply(&mut self, update: &TableUpdate) -> Result<(), String> {
        self.forwarding.apply(update).map_err(|error| error.to_string())
    }

    /// Counters of forwarded and dropped packets, if they have changed since the last call.
    pub fn changed_counts(&mut self) -> Option<TrafficCounts> {
        self.unsent += self.sockets.iter().map(PacketSocket::take_overrun).sum::<u64>();
        let (traffic, drops) = (self.forwarding.traffic(), self.forwarding.drops());
        let drops = DropReason::ALL
            .iter()
            .map(|reason| (reason.name().to_owned(), drops[reason.index()]));
        let mut drops: BTreeMap<String, u64> = drops.filter(|(_, count)| *count > 0).collect();
        if self.unsent > 0 {
            *drops
                .entry(DropReason::RedirectFailed.name().to_owned())
                .or_default() += self.unsent;
        }
        let counts = TrafficCounts {
            own_bytes: traffic.own_bytes,
            relayed_bytes: traffic.relayed_bytes,
            delivered_bytes: traffic.delivered_bytes,
            drops,
        };
        if self.reported.as_ref() == Some(&counts) {
            return None;
        }
        self.reported = Some(counts.clone());
        Some(counts)
    }
}

impl ServerChip for Software {
    fn call(
        &mut self,
        _asker: u32,
        session: &mut Session,
        request: &[u8],
        limits: &Limits,
    ) -> Option<Answered> {
        let (ports, sockets, unsent) = (&self.ports, &self.sockets, &mut self.unsent);
        Some(match self.forwarding.chip() {
            Some(switch) => session.handle(request, limits, switch, &mut |port, frame| {
                *unsent += u64::from(!send(ports, sockets, port, frame));
            }),
            None => Answered {
                bytes: Vec::new(),
                cost: 0,
            },
        })
    }

    fn next_punt(&mut self) -> Option<(u8, Vec<u8>)> {
        self.forwarding.chip()?.recv_packet()
    }

    fn lost_punts(&mut self) -> u64 {
        self.forwarding.chip().map_or(0, |switch| switch.lost_punts())
    }
}

/// Sends a frame by a port; returns whether the port's queue accepted it.
fn send(ports: &[u8], sockets: &[PacketSocket], port: u8, frame: &[u8]) -> bool {
    let at = ports.iter().position(|other| *other == port);
    at.is_some_and(|at| sockets[at].send(frame))
}
