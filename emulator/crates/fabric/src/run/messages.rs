//! Messages with a node's configuration, derived from the network's description.

use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::limits::MODULE_PART_BYTES;
use cubeyard_messages::{Configure, ToNode};

use crate::network::Network;

/// The configuration of a node.
pub fn configure(network: &Network, server: usize) -> ToNode {
    let behaviour = network.behaviour;
    let forwarding = behaviour.forwarding.map(|forwarding| forwarding.name.to_owned());
    ToNode::Configure(Box::new(Configure {
        protocol: behaviour.entry.name.to_owned(),
        forwarding,
        address: network.address(server),
        configuration: network.places_of_servers.run.servers[server].clone(),
    }))
}

/// The message with a user's program for the servers' chips, where nodes forward packets.
pub fn program(network: &Network) -> Option<ToNode> {
    let text = network.description.program.clone();
    text.filter(|_| network.behaviour.in_user_space())
        .map(|text| ToNode::Program { text })
}

/// The message that users' programs call the servers' chips, in the kernel or in the node.
pub fn chip_listener(network: &Network) -> Option<ToNode> {
    let has_chip = network
        .behaviour
        .forwarding
        .is_some_and(|forwarding| forwarding.program.is_some());
    has_chip.then_some(ToNode::ChipListener)
}

/// The messages with users' services: modules, split into parts that fit a datagram, and the names
/// of services in processes.
pub fn services(network: &Network) -> Vec<ToNode> {
    let mut messages = Vec::new();
    for service in &network.description.services {
        if service.process {
            messages.push(ToNode::ServiceProcess {
                service: service.name.clone(),
                id: service.id,
            });
        }
        let module = &service.module.0;
        for (part, bytes) in module.chunks(MODULE_PART_BYTES).enumerate() {
            let offset = part * MODULE_PART_BYTES;
            messages.push(ToNode::ServiceModule {
                service: service.name.clone(),
                id: service.id,
                offset: offset as u32,
                bytes: HexBytes(bytes.to_vec()),
                last: offset + bytes.len() == module.len(),
            });
        }
    }
    messages
}
