//! The JSON document that describes a network. Only its types: serde checks the shape, other
//! modules the content.

use std::net::Ipv4Addr;

use cubeyard_dataplane::tables::HexBytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::hosts::Hosts;
use crate::congestion::Settings;
use crate::names::RunId;

/// A network to emulate. Ids are those of the topology; the network may be a slice of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Id of the run.
    pub run: RunId,
    /// Owner of the run. Other owners must not touch it.
    #[serde(default)]
    pub owner: String,
    /// The hosts that share the network; absent if it is on this host only.
    #[serde(default)]
    pub hosts: Option<Hosts>,
    /// The topology's family and parameters.
    pub spec: Value,
    /// The protocol that the servers run, by its name in the catalogue.
    pub protocol: String,
    /// Name of the protocol's forwarding; absent if servers forward nothing.
    #[serde(default)]
    pub forwarding: Option<String>,
    /// Default rate of links.
    pub rate_bits_per_sec: f64,
    /// Largest IP packet on a link.
    pub mtu: u32,
    /// Whether each flow gets its own queue at the ends of links.
    #[serde(default)]
    pub fair_queues: bool,
    /// How routers spread flows, by name; equally if absent.
    #[serde(default)]
    pub balance: Option<String>,
    /// Maximum number of subflows of an MPTCP connection in a network of routers; 0 for as many as
    /// the addresses allow.
    #[serde(default)]
    pub subflows: Option<u32>,
    /// Seed of the nodes' random choices.
    #[serde(default)]
    pub seed: u64,
    /// Settings of the nodes. The fabric itself uses `queue_bytes`, the bytes that may wait at an
    /// end of a link, and passes on the others.
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// Servers of the network.
    pub servers: Vec<Server>,
    /// Ids of the servers that are gateways to an external network. `[bcube §5.3]`
    #[serde(default)]
    pub gateways: Vec<u32>,
    /// Switches of the network.
    #[serde(default)]
    pub switches: Vec<Switch>,
    /// Links of the network.
    pub links: Vec<Link>,
    /// Services that users wrote, which every server hosts in addition to its protocol's own.
    #[serde(default)]
    pub services: Vec<HostedService>,
    /// A user's program for the chips of all servers; absent for the forwarding's own program.
    #[serde(default)]
    pub program: Option<String>,
    /// Congestion notification by queues; absent where it is off. `[serverswitch §5.2]`
    #[serde(default)]
    pub congestion: Option<Settings>,
}

/// A service that a user wrote.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostedService {
    /// Name of the service.
    pub name: String,
    /// Number of the service in packets.
    pub id: u16,
    /// Its WebAssembly module, which the node checks; empty for one in processes.
    #[serde(default)]
    pub module: HexBytes,
    /// Whether its instances are processes, which the caller starts and connects to the nodes.
    #[serde(default)]
    pub process: bool,
}

/// A server of the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Id in the topology.
    pub id: u32,
    /// Name in the topology.
    #[serde(default)]
    pub name: String,
    /// The address that applications use. It follows from the id; any other value is refused.
    #[serde(default)]
    pub ip: Option<Ipv4Addr>,
    /// Further addresses.
    #[serde(default)]
    pub addresses: Vec<FurtherAddress>,
    /// Index of the server's host.
    #[serde(default)]
    pub host: usize,
}

/// An address of a server in addition to the one derived from its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FurtherAddress {
    /// The additional address.
    pub address: Ipv4Addr,
    /// Length of its network's prefix.
    pub prefix_bits: u8,
    /// The port with the address; absent for the virtual network card.
    #[serde(default)]
    pub port: Option<u16>,
}

/// A switch of the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Id in the topology.
    pub id: u32,
    /// Name in the topology.
    #[serde(default)]
    pub name: String,
}

/// A link between two ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Id in the topology.
    pub id: u32,
    /// Node and port of one end.
    pub a: [u32; 2],
    /// Node and port of the other end.
    pub b: [u32; 2],
    /// The level of the switch or link, for display only.
    #[serde(default)]
    pub level: u32,
    /// Rate per direction; the network's default if absent.
    #[serde(default)]
    pub rate_bits_per_sec: Option<f64>,
}

impl Link {
    /// Both ends, as node and port.
    pub fn ends(&self) -> [[u32; 2]; 2] {
        [self.a, self.b]
    }
}
