//! The configuration of a server: its identity and its network, set before it starts.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::{NodeId, TopologySpec};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::address::{port_mac, virtual_ip};
use crate::settings::Given;

/// The configuration of one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The id of this server.
    pub server: NodeId,
    /// The topology; the run may be a slice of it.
    #[serde(deserialize_with = "read_spec")]
    pub spec: TopologySpec,
    /// The servers of the run; `None` if the run has all servers of the topology.
    #[serde(default)]
    pub present: Option<Vec<NodeId>>,
    /// The servers that are gateways to an external network `[bcube §5.3]`.
    #[serde(default)]
    pub gateways: Vec<NodeId>,
    /// The ports with cables, in order.
    pub ports: Vec<Port>,
    /// Interface number of the virtual network card.
    pub virtual_nic: u32,
    /// Rate of a link in each direction.
    pub rate_bits_per_sec: f64,
    /// Largest IP packet on a port, in bytes.
    pub mtu: u32,
    /// The protocol's settings, by name.
    #[serde(default)]
    pub settings: Given,
    /// Seed of all random choices.
    #[serde(default)]
    pub seed: u64,
}

fn read_spec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TopologySpec, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    TopologySpec::from_json(&value).map_err(de::Error::custom)
}

impl Configuration {
    /// The address that the server's applications use; `0.0.0.0` for an id without an address.
    pub fn ip(&self) -> Ipv4Addr {
        virtual_ip(self.server).unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// Whether the server is a gateway.
    pub fn is_gateway(&self) -> bool {
        self.gateways.contains(&self.server)
    }
}

/// A port, with the servers that are one hop away through it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The number of the port.
    pub port: u8,
    /// The name of its interface.
    pub name: String,
    /// The index of its interface.
    pub interface: u32,
    /// The neighbours: the servers at the same switch, or the one at the cable's other end.
    pub neighbours: Vec<NeighbourAddress>,
}

/// How to reach a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeighbourAddress {
    /// The id of the neighbour.
    pub server: NodeId,
    /// Its port towards us.
    pub port: u8,
    /// The control address of that port.
    pub ip: Ipv4Addr,
}

impl NeighbourAddress {
    /// The hardware address of the neighbour's port.
    pub fn mac(&self) -> [u8; 6] {
        port_mac(self.server, self.port)
    }
}

/// All servers of a run.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Every server's configuration, in the order of the run's description. All have the same
    /// topology and settings.
    pub servers: Vec<Configuration>,
}

/// Converts seconds to a duration. Settings that were checked are in range.
pub fn secs(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

/// An error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationError {
    /// The field with the error.
    pub field: String,
    /// The value that was given.
    pub value: String,
    /// The allowed values.
    pub limit: String,
    /// The suggested fix.
    pub fix: String,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}, but must be {}. {}",
            self.field, self.value, self.limit, self.fix
        )
    }
}

impl std::error::Error for ConfigurationError {}
