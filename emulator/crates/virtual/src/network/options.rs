//! The options of a network, and the configuration of each of its servers.

use cubeyard_dataplane::catalog::ProtocolEntry;
use cubeyard_dataplane::configuration::{Configuration, Port};
use cubeyard_dataplane::settings::Given;
use cubeyard_topology::{NodeId, TopologySpec};

use crate::wiring::Wiring;

const MTU: u32 = 1500;

/// The options of a network.
#[derive(Clone, Debug)]
pub struct Options {
    /// The protocol of its servers.
    pub protocol: &'static ProtocolEntry,
    /// Name of the forwarding, one in user space.
    pub forwarding: &'static str,
    /// The topology of the network.
    pub spec: TopologySpec,
    /// The servers that exist; `None`: all servers of the topology.
    pub present: Option<Vec<NodeId>>,
    /// The gateways to an external network.
    pub gateways: Vec<NodeId>,
    /// Rate of every link in each direction.
    pub rate_bits_per_sec: f64,
    /// The settings of the protocol.
    pub settings: Given,
    /// Seed of everything left to chance.
    pub seed: u64,
}

/// The configuration of a server: its neighbours that exist.
pub(super) fn configuration(options: &Options, wiring: &Wiring, server: NodeId) -> Configuration {
    let is_there = |other: NodeId| {
        let present = options.present.as_ref();
        present.is_none_or(|present| present.contains(&other))
    };
    let ports = wiring.ports(server).into_iter().map(|port| {
        let mut neighbours = wiring.neighbours((server, port));
        neighbours.retain(|neighbour| is_there(neighbour.server));
        Port {
            port,
            name: format!("p{port}"),
            interface: u32::from(port) + 1,
            neighbours,
        }
    });
    Configuration {
        server,
        spec: options.spec.clone(),
        present: options.present.clone(),
        gateways: options.gateways.clone(),
        ports: ports.collect(),
        virtual_nic: u32::from(u8::MAX) + 1,
        rate_bits_per_sec: options.rate_bits_per_sec,
        mtu: MTU,
        settings: options.settings.clone(),
        seed: options.seed,
    }
}
