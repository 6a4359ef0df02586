//! What a node may say, and what it is told.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::drops::DropReason;
use cubeyard_dataplane::maps::Flow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::names;
use crate::network::{Checked, Dataplane};
use crate::wiring::PortEnd;

/// A five-tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FiveTuple {
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// IP protocol.
    pub proto: u8,
    /// Source port.
    #[serde(default)]
    pub sport: u16,
    /// Destination port.
    #[serde(default)]
    pub dport: u16,
}

impl From<FiveTuple> for Flow {
    fn from(tuple: FiveTuple) -> Flow {
        Flow::new(tuple.src, tuple.dst, tuple.proto, tuple.sport, tuple.dport)
    }
}

impl From<Flow> for FiveTuple {
    fn from(flow: Flow) -> FiveTuple {
        FiveTuple {
            src: flow.src.into(),
            dst: flow.dst.into(),
            proto: flow.proto,
            sport: flow.source_port(),
            dport: flow.destination_port(),
        }
    }
}

/// A message of a node.
#[derive(Debug, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum FromNode {
    /// It is configured.
    Ready,
    /// A neighbour's status.
    SetNst {
        /// The neighbour.
        nha: u8,
        /// Whether it is alive.
        up: bool,
    },
    /// The default path to a server.
    SetRoute {
        /// The server's id.
        dst: u32,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// The path to what is outside.
    SetGateway {
        /// The gateway's id.
        gateway: u32,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// The path of a flow.
    SetFlow {
        /// The flow.
        flow: FiveTuple,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// A flow that needs no path of its own any more.
    RemoveFlow {
        /// The flow.
        flow: FiveTuple,
    },
    /// Something worth telling.
    Event(Map<String, Value>),
    /// What flows have carried.
    Flows {
        /// Those that changed.
        rows: Vec<FlowRow>,
    },
    /// What a node that forwards itself has carried and dropped so far.
    Traffic(SoftwareCounts),
    /// What the node knows.
    Inspected(Map<String, Value>),
    /// It refused a message.
    Error {
        /// Why.
        message: String,
    },
}

/// Counts of a dataplane in user space since its node started.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct SoftwareCounts {
    /// Bytes that the server's own applications sent.
    pub own_bytes: u64,
    /// Bytes passed on for others.
    pub relayed_bytes: u64,
    /// Packets dropped, by the reason's name.
    #[serde(default)]
    pub drops: BTreeMap<String, u64>,
}

impl SoftwareCounts {
    /// The drops by [`DropReason::index`].
    pub fn drops_by_reason(&self) -> [u64; DropReason::COUNT] {
        let mut drops = [0; DropReason::COUNT];
        for reason in DropReason::ALL {
            drops[reason.index()] = self.drops.get(reason.name()).copied().unwrap_or(0);
        }
        drops
    }
}

/// A flow's end so far.
#[derive(Clone, Debug, Deserialize)]
pub struct FlowRow {
    /// The flow's number.
    pub id: u32,
    /// Bytes received (by its receiver) or sent.
    #[serde(default)]
    pub bytes: u64,
    /// Segments sent again.
    #[serde(default)]
    pub retransmits: u64,
    /// Number of the path in use.
    #[serde(default)]
    pub path_id: u32,
    /// Whether it has ended.
    #[serde(default)]
    pub done: bool,
    /// Why, unless it carried all it was to.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Tells a node who it is.
pub fn configure(network: &Checked, server: usize, ports: &[PortEnd]) -> Value {
    let description = &network.network;
    let id = description.servers[server].id;
    let mut settings = description.settings.clone();
    settings.remove("queue_bytes");
    let ports: Vec<Value> = ports
        .iter()
        .map(|port| {
            let neighbours: Vec<Value> = network.neighbours[server]
                .iter()
                .filter(|neighbour| neighbour.port == port.port)
                .map(|neighbour| {
                    let other = description.servers[neighbour.server].id;
                    json!({"server": other, "nha": neighbour.nha.0, "ip": port_ip(other, neighbour.far_port as u8)})
                })
                .collect();
            json!({"port": port.port, "name": names::port_name(port.port), "neighbours": neighbours})
        })
        .collect();
    let servers: Vec<u32> = description.servers.iter().map(|server| server.id).collect();
    json!({"t": "configure", "server": id, "family": description.family, "spec": description.spec,
        "rate_bits_per_sec": description.rate_bits_per_sec, "mtu": description.mtu,
        "dataplane": dataplane_name(description.dataplane), "seed": description.seed,
        "ip": network.address(server), "ports": ports, "servers": servers, "gateways": description.gateways,
        "settings": settings})
}

/// Tells a node what a port's link carries from now on.
pub fn link_rate(port: u16, rate_bits_per_sec: f64) -> Value {
    json!({"t": "link_rate", "port": port, "rate_bits_per_sec": rate_bits_per_sec})
}

fn dataplane_name(dataplane: Dataplane) -> &'static str {
    match dataplane {
        Dataplane::Kernel => "kernel",
        Dataplane::Software => "software",
        Dataplane::None => "none",
    }
}
