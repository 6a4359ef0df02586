//! Addresses of servers: the one derived from the id, and those that the description adds.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{is_control, port_ip, virtual_ip};

use super::Network;
use crate::error::{FabricError, Result};

impl Network {
    /// The address that follows from a server's id. It is on the virtual network card, or on port 0
    /// where servers forward nothing.
    pub fn address(&self, server: usize) -> Ipv4Addr {
        // Ids beyond the last address were refused when the description was checked.
        virtual_ip(self.description.servers[server].id).unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// The addresses of a server's ports, each with its port; none where flows cannot be MPTCP.
    pub fn addresses_by_port(&self, server: usize) -> impl Iterator<Item = (u8, Ipv4Addr)> {
        let id = self.description.servers[server].id;
        let routing = self.routing.as_ref();
        let ports = routing.map_or(&[][..], |routing| routing.addressed_ports(id));
        ports
            .iter()
            .filter_map(move |port| Some((*port, port_ip(id, *port)?)))
    }

    /// The address of one end of a subflow: a port's, or the server's own.
    pub fn end_address(&self, server: usize, by_port: Option<u8>) -> Ipv4Addr {
        let port = by_port.and_then(|port| port_ip(self.description.servers[server].id, port));
        port.unwrap_or_else(|| self.address(server))
    }

    /// Addresses and prefixes that the description gives to a port of a server (`None`: to its
    /// virtual network card).
    pub fn further_addresses(
        &self,
        server: usize,
        port: Option<u16>,
    ) -> impl Iterator<Item = (Ipv4Addr, u8)> {
        let all = self.description.servers[server].addresses.iter();
        all.filter(move |item| item.port == port)
            .map(|item| (item.address, item.prefix_bits))
    }
}

/// Checks the additional addresses of the description: usable, unique, and on an existing
/// interface.
pub fn check(network: &Network) -> Result<()> {
    let servers = &network.description.servers;
    let mut taken: BTreeSet<Ipv4Addr> = (0..servers.len()).map(|server| network.address(server)).collect();
    for (at, server) in servers.iter().enumerate() {
        for (number, further) in server.addresses.iter().enumerate() {
            let field = |name: &str| format!("network.servers[{at}].addresses[{number}].{name}");
            let address = further.address;
            let usable = !(address.is_unspecified()
                || address.is_loopback()
                || address.is_multicast()
                || address.is_broadcast()
                || is_control(address));
            if !usable || !taken.insert(address) {
                let limit = "a unicast address outside 100.64.0.0/10 that no other server has";
                let fix = "give each server addresses of its own";
                return Err(FabricError::bad(field("address"), address, limit, fix));
            }
            if !(1..=32).contains(&further.prefix_bits) {
                let limit = "1 to 32 bits";
                return Err(FabricError::bad(
                    field("prefix_bits"),
                    further.prefix_bits,
                    limit,
                    "use for example 24",
                ));
            }
            let exists = match further.port {
                Some(port) => network.ports[at].iter().any(|end| end.port == port),
                None => network.behaviour.forwards(),
            };
            if !exists {
                let given = further.port.map_or("absent".to_owned(), |port| port.to_string());
                let limit = "a port of this server that has a link; absent only where servers forward";
                return Err(FabricError::bad(field("port"), given, limit, "name a port"));
            }
        }
    }
    Ok(())
}
