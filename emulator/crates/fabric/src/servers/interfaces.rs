//! The interfaces of a server as netlink requests: loopback, the virtual network card, ports. Pure
//! functions: they send nothing.

use cubeyard_dataplane::address::{PORT_PREFIX_BITS, VIRTUAL_PREFIX_BITS, port_ip, port_mac, vnic_mac};

use crate::links::Site;
use crate::names::{self, LOOPBACK_INDEX};
use crate::netlink::{
    Batch, End, GSO_MAX_BYTES, Route, Veth, add_address, add_neighbour, add_route, add_source_rule, add_veth,
    set_up, shape,
};
use crate::network::{Network, PortEnd};
use crate::routes::{add_source, table_of_port};

const HOST_BITS: u8 = 32;

/// Makes the interfaces of a server that exist before any link: loopback, and the virtual network
/// card if the server forwards packets.
pub fn before_links(network: &Network, server: usize) -> Batch {
    let mut batch = Batch::new();
    set_up(&mut batch, LOOPBACK_INDEX, true);
    if network.routing.is_some() {
        // Any port may carry its packets.
        add_address(&mut batch, LOOPBACK_INDEX, network.address(server), HOST_BITS);
        add_source(&mut batch, network, network.description.servers[server].id);
        for (port, address) in network.addresses_by_port(server) {
            add_address(&mut batch, LOOPBACK_INDEX, address, HOST_BITS);
            add_source_rule(&mut batch, address, table_of_port(port));
        }
    }
    if !network.behaviour.forwards() {
        return batch;
    }
    let id = network.description.servers[server].id;
    let end = |name: &str, index, mac| End {
        name: name.to_owned(),
        index,
        mac,
        arp: false,
        bridge: None,
        namespace: None,
    };
    let peer_mac = names::virtual_nic_peer_mac(id);
    let nic = Veth {
        near: end(names::VIRTUAL_NIC, names::VIRTUAL_NIC_INDEX, vnic_mac(id)),
        far: end(names::VIRTUAL_NIC_PEER, names::VIRTUAL_NIC_PEER_INDEX, peer_mac),
        mtu: network.description.mtu - network.behaviour.entry.header_bytes,
        super_packet_bytes: network
            .turn_bytes()
            .map_or(GSO_MAX_BYTES, |turn| turn.min(GSO_MAX_BYTES)),
    };
    add_veth(&mut batch, &nic);
    set_up(&mut batch, names::VIRTUAL_NIC_PEER_INDEX, true);
    let address = network.address(server);
    add_address(&mut batch, names::VIRTUAL_NIC_INDEX, address, VIRTUAL_PREFIX_BITS);
    for (address, prefix_bits) in network.further_addresses(server, None) {
        add_address(&mut batch, names::VIRTUAL_NIC_INDEX, address, prefix_bits);
    }
    batch
}

/// Sets a port up with its addresses, neighbours and queue.
pub fn finish_port(batch: &mut Batch, network: &Network, server: usize, port: &PortEnd) {
    let index = names::port_index(port.port);
    set_up(batch, index, true);
    if network.behaviour.forwards() {
        let id = network.description.servers[server].id;
        if let Some(address) = port_ip(id, port.port as u8) {
            add_address(batch, index, address, PORT_PREFIX_BITS);
        }
    } else if port.port == 0 && network.routing.is_none() {
        add_address(batch, index, network.address(server), VIRTUAL_PREFIX_BITS);
    }
    for (address, prefix_bits) in network.further_addresses(server, Some(port.port)) {
        add_address(batch, index, address, prefix_bits);
    }
    add_neighbours(batch, network, server, port.port);
    shape(batch, index, &network.shape(port.link, Site::Server(server)));
}

/// The permanent neighbours of a port: every other port on its segment. The kernel removes them
/// when a port goes down.
///
/// An address of a port belongs to the subnet of its number. A cable of a torus joins ports with
/// different numbers, so a neighbour there needs a separate route. Otherwise the kernel would send
/// its own packets (ICMP errors) by the subnet's port, where they wait for seconds because no
/// neighbour there has the address. They all count against one ICMP socket per CPU of the host,
/// which then answers no ping of any server.
pub fn add_neighbours(batch: &mut Batch, network: &Network, server: usize, port: u16) {
    if network.switches_decide() {
        // The routes add a router's only neighbour; behind chips, ARP resolves neighbours.
        return;
    }
    let index = names::port_index(port);
    let servers = &network.description.servers;
    let is_it = |member: &crate::network::Member| member.server == server && member.port == port;
    let Some(segment) = network.segments.iter().find(|segment| segment.iter().any(is_it)) else {
        return;
    };
    for other in segment.iter().filter(|other| other.server != server) {
        let mac = port_mac(servers[other.server].id, other.port as u8);
        let own = if network.behaviour.forwards() {
            port_ip(servers[other.server].id, other.port as u8)
        } else {
            (other.port == 0).then(|| network.address(other.server))
        };
        let further = network.further_addresses(other.server, Some(other.port));
        for address in own.into_iter().chain(further.map(|(address, _)| address)) {
            add_neighbour(batch, index, address, &mac);
            if other.port != port {
                let (to, prefix_bits, via, metric) = (address, HOST_BITS, None, 0);
                add_route(
                    batch,
                    &Route {
                        to,
                        prefix_bits,
                        index,
                        via,
                        metric,
                    },
                );
            }
        }
    }
}
