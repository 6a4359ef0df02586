//! The dataplane in user space: frames between the virtual NIC and the ports, through the software engine.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{Nha, port_mac, server_of, virtual_ip, vnic_mac};
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::forward::{Engine, HEADROOM_BYTES, Verdict};
use cubeyard_dataplane::maps::{Config, EVENT_NEW_FLOW, Event, Flow, GATEWAY, NextHop, Path, Traffic};
use cubeyard_dataplane::protocol::{Input, NumberedPath, Output};
use cubeyard_topology::NodeId;

use crate::clock::now;
use crate::messages::Configure;
use crate::packet_socket::PacketSocket;
use crate::poller::{Interest, Poller, Token};

/// The inner end of the virtual NIC: what applications send by `cy0` comes in here.
const VNIC: &str = "cy0x";
/// The virtual NIC, in the server's configuration.
const VNIC_PEER: &str = "cy0";
/// Longest frame, in bytes: an IP packet and its Ethernet header.
const FRAME_BYTES: usize = 65_535 + 14;
/// Frames of one interface before the others have their turn.
const TURN: usize = 64;

/// The software dataplane of one server.
#[derive(Debug)]
pub struct Software {
    engine: Engine,
    /// The ports, then the virtual NIC.
    sockets: Vec<PacketSocket>,
    buffer: Vec<u8>,
    /// Bytes of each flow at the latest look at the rates.
    measured: BTreeMap<Flow, u64>,
    /// Frames that an interface's queue did not take, or that came in faster than they were read.
    unsent: u64,
    reported: Option<Counts>,
}

/// What the dataplane has carried and dropped so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Packets and bytes.
    pub traffic: Traffic,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
}

impl Software {
    /// Opens the interfaces of a server.
    pub fn open(configure: &Configure, poller: &Poller) -> Result<Software, String> {
        let open = |name: &str| {
            PacketSocket::open(name).map_err(|error| {
                format!(
                    "software dataplane: {name}: {}. It needs the interface and NET_RAW.",
                    error.desc()
                )
            })
        };
        let names = configure.ports.iter().map(|port| port.name.as_str());
        let sockets: Vec<PacketSocket> = names.chain([VNIC]).map(open).collect::<Result<_, _>>()?;
        for (socket, index) in sockets.iter().zip(0..) {
            poller
                .add(socket, Token::Frames(index), Interest::READ)
                .map_err(|error| format!("software dataplane: {}", error.desc()))?;
        }
        let vnic = nix::net::if_::if_nametoindex(VNIC_PEER);
        let mut engine = Engine::new(Config {
            ip: configure.ip.octets(),
            vnic_ifindex: vnic
                .map_err(|error| format!("software dataplane: {VNIC_PEER}: {}", error.desc()))?,
            vnic_mac: vnic_mac(configure.server),
            flags: if configure.gateways.contains(&configure.server) {
                GATEWAY
            } else {
                0
            },
            mtu: configure.mtu,
        });
        for (port, socket) in configure.ports.iter().zip(&sockets) {
            for neighbour in &port.neighbours {
                let next_hop = NextHop {
                    ifindex: socket.ifindex,
                    next_mac: port_mac(neighbour.server, port.port),
                    own_mac: port_mac(configure.server, port.port),
                    up: 1,
                    port: port.port,
                    ..NextHop::default()
                };
                engine.set_next_hop(Nha(neighbour.nha), next_hop);
            }
        }
        Ok(Software {
            engine,
            sockets,
            buffer: vec![0; HEADROOM_BYTES + FRAME_BYTES],
            measured: BTreeMap::new(),
            unsent: 0,
            reported: None,
        })
    }

    /// Forwards what has come in by one interface.
    pub fn on_ready(&mut self, index: usize) {
        let is_vnic = index + 1 == self.sockets.len();
        for _ in 0..TURN {
            let room = &mut self.buffer[HEADROOM_BYTES..];
            let Some(length) = self.sockets.get(index).and_then(|socket| socket.receive(room)) else {
                return;
            };
            let end = HEADROOM_BYTES + length.min(FRAME_BYTES);
            let now_nanos = now().as_nanos() as u64;
            let first = if is_vnic { 0 } else { HEADROOM_BYTES };
            let frame = &mut self.buffer[first..end];
            let verdict = if is_vnic {
                self.engine.send(frame, now_nanos)
            } else {
                self.engine.receive(frame, now_nanos)
            };
            let sent = match verdict {
                Verdict::Send { ifindex } => {
                    let port = self.sockets.iter().find(|socket| socket.ifindex == ifindex);
                    port.is_some_and(|port| port.send(frame))
                }
                Verdict::Deliver { frame: part } => {
                    self.sockets.last().is_some_and(|vnic| vnic.send(&frame[part]))
                }
                Verdict::Pass | Verdict::Drop(_) => true,
            };
            self.unsent += u64::from(!sent);
        }
    }

    /// What the protocol should know of the packets so far.
    pub fn take_inputs(&mut self) -> Vec<Input<'static>> {
        self.engine.take_events().iter().filter_map(input).collect()
    }

    /// What each flow that starts here sends, since the last time.
    pub fn take_rates(&mut self, elapsed_secs: f64) -> Vec<Input<'static>> {
        let counts = self.engine.flow_counts();
        let bytes: BTreeMap<Flow, u64> = counts.map(|(flow, count)| (*flow, count.bytes)).collect();
        let rate = |(&flow, &bytes): (&Flow, &u64)| {
            let carried = bytes.saturating_sub(self.measured.get(&flow).copied().unwrap_or(0));
            let bits_per_sec = carried as f64 * 8.0 / elapsed_secs;
            (carried > 0).then_some(Input::FlowRate { flow, bits_per_sec })
        };
        let inputs = bytes.iter().filter_map(rate).collect();
        self.measured = bytes;
        inputs
    }

    /// Keeps the engine's tables as the protocol wants them.
    pub fn carry_out(&mut self, output: &Output) {
        let path = |destination: NodeId, path: &NumberedPath| {
            virtual_ip(destination).map(|ip| (ip, Path::new(ip, path.id, &path.route)))
        };
        match output {
            Output::SetNeighbour { nha, up } => self.engine.set_up(*nha, *up),
            Output::SetRoute {
                destination,
                path: numbered,
            } => {
                if let Some((ip, path)) = path(*destination, numbered) {
                    self.engine.set_route(ip, path);
                }
            }
            Output::SetGateway {
                gateway,
                path: numbered,
            } => {
                if let Some((_, path)) = path(*gateway, numbered) {
                    self.engine.set_route(Ipv4Addr::UNSPECIFIED, path);
                }
            }
            Output::SetFlow {
                flow,
                destination,
                path: numbered,
            } => {
                if let Some((_, path)) = path(*destination, numbered) {
                    self.engine.set_flow(*flow, path);
                }
            }
            Output::RemoveFlow { flow } => self.engine.forget_flow(flow),
            Output::Send { .. } | Output::Event(_) => {}
        }
    }

    /// What has been carried and dropped so far, if that has changed since the last time.
    pub fn changed_counts(&mut self) -> Option<Counts> {
        self.unsent += self.sockets.iter().map(PacketSocket::take_overrun).sum::<u64>();
        let drops = DropReason::ALL
            .iter()
            .map(|reason| (reason.name(), self.engine.drops()[reason.index()]));
        let mut drops: BTreeMap<&str, u64> = drops.filter(|(_, count)| *count > 0).collect();
        if self.unsent > 0 {
            *drops.entry(DropReason::RedirectFailed.name()).or_default() += self.unsent;
        }
        let counts = Counts {
            traffic: self.engine.traffic(),
            drops,
        };
        if self.reported.as_ref() == Some(&counts) {
            return None;
        }
        self.reported = Some(counts.clone());
        Some(counts)
    }
}

/// An event of the forwarding engine as the protocol's input.
fn input(event: &Event) -> Option<Input<'static>> {
    if event.kind == EVENT_NEW_FLOW {
        return Some(Input::NewFlow(event.flow));
    }
    Some(Input::NextHopDead {
        nha: Nha(event.nha as u8),
        source: server_of(event.src.into())?,
        destination: server_of(event.dst.into())?,
        path_id: event.path_id,
    })
}
