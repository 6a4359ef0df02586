//! The messages between a node and the fabric: JSON objects whose `t` says which.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use cubeyard_dataplane::configuration::Settings;
use cubeyard_dataplane::maps::Flow;
use cubeyard_dataplane::protocol::{DeathCause, Event, Inspection, PathSummary, SwitchReason};
use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// From the fabric.
#[derive(Debug, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum FromFabric {
    /// Who the server is; whatever was before is forgotten.
    Configure(Box<Configure>),
    /// A five-tuple sent its first packet.
    NewFlow {
        /// The flow.
        flow: FiveTuple,
    },
    /// What flows send now.
    FlowRates {
        /// One of each.
        rows: Vec<FlowRate>,
    },
    /// A packet was dropped here since its next hop is down.
    NextHopDead {
        /// The next hop.
        nha: u8,
        /// Virtual address of the server at the start of its path.
        src: Ipv4Addr,
        /// Virtual address of the server at its end.
        dst: Ipv4Addr,
        /// Number of the path.
        path_id: u32,
    },
    /// A port's carrier.
    Carrier {
        /// The port.
        port: u8,
        /// Whether it has one.
        up: bool,
    },
    /// What a port's link carries at most from now on.
    LinkRate {
        /// The port.
        port: u8,
        /// In each direction.
        rate_bits_per_sec: f64,
    },
    /// More flows of the workload.
    Workload {
        /// The flows that start or end here.
        flows: Vec<FlowOrder>,
    },
    /// Starts the flows that have not been started.
    Start,
    /// Ends and forgets all flows.
    Stop,
    /// Asks for what the protocol knows.
    Inspect,
}

/// What a server is told of itself.
#[derive(Debug, Deserialize)]
pub struct Configure {
    /// The server.
    pub server: NodeId,
    /// The family of the structure.
    pub family: String,
    /// Its parameters.
    #[serde(default)]
    pub spec: Map<String, Value>,
    /// Rate of a link in each direction.
    pub rate_bits_per_sec: f64,
    /// MTU of the ports, in bytes.
    pub mtu: u32,
    /// Who forwards.
    pub dataplane: Dataplane,
    /// Of everything left to chance.
    #[serde(default)]
    pub seed: u64,
    /// The server's virtual address.
    pub ip: Ipv4Addr,
    /// Its cabled ports.
    #[serde(default)]
    pub ports: Vec<PortOrder>,
    /// The servers of the run; absent for all of the structure's.
    #[serde(default)]
    pub servers: Option<Vec<NodeId>>,
    /// Those of them that are gateways to an external network.
    #[serde(default)]
    pub gateways: Vec<NodeId>,
    /// Timers and limits.
    #[serde(default)]
    pub settings: Settings,
}

/// Who forwards packets.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Dataplane {
    /// The fast path in the kernel.
    Kernel,
    /// This process.
    Software,
    /// Nobody: the switches alone carry packets, and there is no protocol.
    None,
}

/// A port.
#[derive(Debug, Deserialize)]
pub struct PortOrder {
    /// Its number.
    pub port: u8,
    /// Its interface.
    pub name: String,
    /// Who can be reached by it in one hop.
    #[serde(default)]
    pub neighbours: Vec<NeighbourOrder>,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct NeighbourOrder {
    /// The server.
    pub server: NodeId,
    /// Its key in the neighbour status table.
    pub nha: u8,
    /// Control address of its port.
    pub ip: Ipv4Addr,
}

/// A five-tuple; ports are 0 where the protocol has none.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
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

/// What a flow sends now.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct FlowRate {
    /// The flow.
    pub flow: FiveTuple,
    /// Its rate.
    pub bits_per_sec: f64,
}

/// Which end of a flow is here.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It starts here.
    Send,
    /// It ends here.
    Receive,
}

/// Transport of a flow.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// As fast as the network takes it.
    Tcp,
    /// At its rate, whatever becomes of it.
    Udp,
}

/// One end of a flow of the workload.
#[derive(Clone, Debug, Deserialize)]
pub struct FlowOrder {
    /// The flow's number in the run.
    pub id: u32,
    /// Which end.
    pub role: Role,
    /// Virtual address of the other end.
    pub peer_ip: Ipv4Addr,
    /// The receiver's port.
    pub port: u16,
    /// Transport.
    pub proto: Transport,
    /// Bytes to carry; `None` until it is stopped.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Rate to keep to; `None` for none with TCP, the link's with UDP.
    #[serde(default)]
    pub rate_bits_per_sec: Option<f64>,
    /// From the start of the run to the start of the flow.
    #[serde(default)]
    pub start_secs: f64,
    /// Send no more than the flow of this number has received here.
    #[serde(default)]
    pub pipeline: Option<u32>,
}

/// To the fabric.
#[derive(Debug, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub enum ToFabric {
    /// Configured: neighbours and default routes have been sent.
    Ready,
    /// A neighbour's status.
    SetNst {
        /// The neighbour's key.
        nha: u8,
        /// Whether it is alive.
        up: bool,
    },
    /// The default path to a server.
    SetRoute {
        /// The server.
        dst: NodeId,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// The path to external networks.
    SetGateway {
        /// The gateway at its end.
        gateway: NodeId,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// The path of a flow.
    SetFlow {
        /// The flow.
        flow: FiveTuple,
        /// The server at the path's end.
        dst: NodeId,
        /// The hops.
        nha: Vec<u8>,
        /// The path's number.
        path_id: u32,
    },
    /// A flow has no path of its own any more.
    RemoveFlow {
        /// The flow.
        flow: FiveTuple,
    },
    /// Something worth telling.
    Event {
        /// When, on CLOCK_MONOTONIC.
        at_nanos: u64,
        /// What.
        #[serde(flatten)]
        event: EventBody,
    },
    /// What the workload's flows have carried.
    Flows {
        /// Those that have changed.
        rows: Vec<FlowRow>,
    },
    /// What the software dataplane has carried and dropped so far, if that has changed.
    Traffic {
        /// Bytes sent by the server's own applications.
        own_bytes: u64,
        /// Bytes relayed for others.
        relayed_bytes: u64,
        /// Bytes delivered to the server's applications.
        delivered_bytes: u64,
        /// Packets dropped, by reason.
        drops: BTreeMap<&'static str, u64>,
    },
    /// What the protocol knows.
    Inspected(InspectedBody),
    /// A message was refused.
    Error {
        /// Why, and what to do.
        message: String,
    },
}

/// A flow's end so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowRow {
    /// The flow's number in the run.
    pub id: u32,
    /// Which end.
    pub role: Role,
    /// Bytes received (goodput) or sent so far.
    pub bytes: u64,
    /// TCP senders: segments sent again so far.
    pub retransmits: u32,
    /// UDP receivers: datagrams that did not come so far.
    pub lost: u64,
    /// Senders: number of the path in use; 0 for none.
    pub path_id: u32,
    /// Whether it has ended.
    pub done: bool,
    /// Why, unless it carried all it was to.
    pub reason: Option<String>,
}

/// An event's own fields.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "the fields of `protocol::Event`, under the names of the wire"
)]
pub enum EventBody {
    NeighbourDead {
        neighbour: NodeId,
        port: u8,
        cause: &'static str,
    },
    NeighbourAlive {
        neighbour: NodeId,
        port: u8,
    },
    PathSelected {
        flow: FiveTuple,
        path: PathBody,
    },
    PathSwitched {
        flow: FiveTuple,
        from_path_id: u32,
        path: PathBody,
        reason: &'static str,
    },
    PathFailed {
        reporter: NodeId,
        unreachable: Vec<NodeId>,
    },
    NoPath {
        flow: FiveTuple,
    },
    Probe {
        flow: FiveTuple,
        probes: u32,
        paths: u32,
        took_nanos: u64,
    },
}

/// A path.
#[derive(Debug, Serialize)]
pub struct PathBody {
    path_id: u32,
    servers: Vec<NodeId>,
    available_bits_per_sec: Option<f64>,
}

impl From<PathSummary> for PathBody {
    fn from(path: PathSummary) -> PathBody {
        PathBody {
            path_id: path.id,
            servers: path.servers,
            available_bits_per_sec: path.available_bits_per_sec,
        }
    }
}

impl From<Event> for EventBody {
    fn from(event: Event) -> EventBody {
        match event {
            Event::NeighbourDead { server, port, cause } => EventBody::NeighbourDead {
                neighbour: server,
                port,
                cause: match cause {
                    DeathCause::Silence => "silence",
                    DeathCause::Carrier => "carrier",
                    DeathCause::Report => "report",
                },
            },
            Event::NeighbourAlive { server, port } => EventBody::NeighbourAlive {
                neighbour: server,
                port,
            },
            Event::PathSelected { flow, path } => EventBody::PathSelected {
                flow: flow.into(),
                path: path.into(),
            },
            Event::PathSwitched {
                flow,
                from_path_id,
                path,
                reason,
            } => EventBody::PathSwitched {
                flow: flow.into(),
                from_path_id,
                path: path.into(),
                reason: match reason {
                    SwitchReason::Failure => "failure",
                    SwitchReason::Adaptation => "adaptation",
                },
            },
            Event::PathFailed {
                reporter,
                unreachable,
            } => EventBody::PathFailed {
                reporter,
                unreachable,
            },
            Event::NoPath { flow } => EventBody::NoPath { flow: flow.into() },
            Event::Probed {
                flow,
                probes,
                paths,
                took,
            } => EventBody::Probe {
                flow: flow.into(),
                probes,
                paths,
                took_nanos: took.as_nanos() as u64,
            },
        }
    }
}

/// What the protocol knows.
#[derive(Debug, Serialize)]
pub struct InspectedBody {
    neighbours: Vec<Value>,
    flows: Vec<Value>,
    failed_links: Vec<Value>,
    refused: Map<String, Value>,
}

/// Flows that one inspection tells of: a datagram holds no more.
const INSPECTED_FLOWS: usize = 100;

impl From<Inspection> for InspectedBody {
    fn from(inspection: Inspection) -> InspectedBody {
        let neighbours = inspection.neighbours.iter().map(|neighbour| {
            serde_json::json!({
                "server": neighbour.server,
                "nha": neighbour.nha.0,
                "port": neighbour.port,
                "up": neighbour.up,
                "silent_secs": neighbour.silent_for.map(|silent| silent.as_secs_f64()),
            })
        });
        let flows = inspection.flows.into_iter().take(INSPECTED_FLOWS).map(|flow| {
            let paths: Vec<PathBody> = flow.paths.into_iter().map(PathBody::from).collect();
            serde_json::json!({
                "flow": FiveTuple::from(flow.flow),
                "path_id": flow.path_id,
                "paths": paths,
                "probings": flow.probings,
                "switches": flow.switches,
            })
        });
        let failed_links = inspection.failed_links.iter().take(INSPECTED_FLOWS).map(|link| {
            serde_json::json!({
                "servers": [link.servers.0, link.servers.1],
                "expires_in_secs": link.expires_in.as_secs_f64(),
            })
        });
        let refused = inspection.refused.iter();
        InspectedBody {
            neighbours: neighbours.collect(),
            flows: flows.collect(),
            failed_links: failed_links.collect(),
            refused: refused
                .map(|&(reason, count)| (reason.to_owned(), count.into()))
                .collect(),
        }
    }
}
