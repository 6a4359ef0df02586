//! Where the ends of links are, and how many ports a server may have.

use std::collections::BTreeSet;

use cubeyard_dataplane::address::MAX_PORTS;

use super::behaviour::Behaviour;
use super::shaping::check_rate;
use super::{Description, Index};
use crate::error::{FabricError, Result};

/// Maximum number of ports of a server with any forwarding: each port has a separate control
/// network.
pub const MAX_SERVER_PORTS: u16 = MAX_PORTS as u16;

/// Where an end of a link is attached; nodes are given by index in the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At a port of a server.
    Server {
        /// Index of the server.
        server: usize,
        /// Number of the server's port.
        port: u16,
    },
    /// At a port of a switch.
    Switch {
        /// Index of the switch.
        switch: usize,
        /// Number of the switch's port.
        port: u32,
    },
}

impl Place {
    /// Whether the end is at this server.
    pub fn is_of_server(&self, server: usize) -> bool {
        matches!(self, Place::Server { server: other, .. } if *other == server)
    }

    /// Whether the end is at this switch.
    pub fn is_of_switch(&self, switch: usize) -> bool {
        matches!(self, Place::Switch { switch: other, .. } if *other == switch)
    }

    /// Whether the end is at a switch.
    pub fn is_switch(&self) -> bool {
        matches!(self, Place::Switch { .. })
    }
}

/// An end of a link at a port of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEnd {
    /// Number of the port.
    pub port: u16,
    /// Index of its link.
    pub link: usize,
    /// Which end of the link it is, 0 or 1.
    pub end: usize,
}

/// Finds both ends of every link. Errors name the link and the end.
pub fn place_links(
    description: &Description,
    index: &Index,
    behaviour: Behaviour,
) -> Result<Vec<[Place; 2]>> {
    let limit = port_limit(behaviour);
    let mut taken = BTreeSet::new();
    let mut places = Vec::with_capacity(description.links.len());
    for (at, link) in description.links.iter().enumerate() {
        let field = |name: &str| format!("network.links[{at}].{name}");
        if let Some(rate) = link.rate_bits_per_sec {
            check_rate(&field("rate_bits_per_sec"), rate)?;
        }
        let end = |name: &str, [node, port]: [u32; 2]| {
            place(index, node, port, limit).map_err(|limit| {
                let fix = "name a node and port of this network";
                FabricError::bad(field(name), format!("[{node}, {port}]"), limit, fix)
            })
        };
        for (name, [node, port]) in ["a", "b"].into_iter().zip(link.ends()) {
            if !taken.insert((node, port)) {
                let limit = "a port without another link";
                let fix = "give each link a port of its own";
                return Err(FabricError::bad(
                    field(name),
                    format!("[{node}, {port}]"),
                    limit,
                    fix,
                ));
            }
        }
        places.push([end("a", link.a)?, end("b", link.b)?]);
        if link.a[0] == link.b[0] {
            let limit = "a node other than that of a";
            return Err(FabricError::bad(field("b"), link.b[0], limit, "remove the link"));
        }
    }
    Ok(places)
}

/// Ports of every server, in order.
pub fn ports_by_server(servers: usize, places: &[[Place; 2]]) -> Vec<Vec<PortEnd>> {
    let mut ports = vec![Vec::new(); servers];
    for (link, places) in places.iter().enumerate() {
        for (end, place) in places.iter().enumerate() {
            if let Place::Server { server, port } = *place {
                ports[server].push(PortEnd { port, link, end });
            }
        }
    }
    for ports in &mut ports {
        ports.sort_by_key(|port| port.port);
    }
    ports
}

/// Maximum number of ports of a server: limited by its protocol, or by the number of control
/// networks.
fn port_limit(behaviour: Behaviour) -> u16 {
    if behaviour.forwards() {
        MAX_SERVER_PORTS.min(behaviour.entry.max_ports.into())
    } else {
        MAX_SERVER_PORTS
    }
}

fn place(index: &Index, node: u32, port: u32, limit: u16) -> std::result::Result<Place, String> {
    if let Some(switch) = index.switch(node) {
        return Ok(Place::Switch { switch, port });
    }
    let Some(server) = index.server(node) else {
        return Err("a node of network.servers or network.switches".to_owned());
    };
    match u16::try_from(port) {
        Ok(port) if port < limit => Ok(Place::Server { server, port }),
        _ => Err(format!("a port below {limit} with this protocol")),
    }
}
