//! What a network's links, addresses and queues are in terms of netlink requests. Pure: nothing is sent here.

use std::os::fd::BorrowedFd;

use cubeyard_dataplane::address::{PORT_PREFIX_BITS, VIRTUAL_PREFIX_BITS, port_ip, port_mac, vnic_mac};
use cubeyard_dataplane::header::HEADER_BYTES;
use cubeyard_dataplane::maps::{Config, GATEWAY, NextHop};

use crate::names;
use crate::netlink::{
    Batch, Bridge, End, Shape, Veth, Vxlan, add_address, add_bridge, add_far_end, add_neighbour, add_veth,
    add_vxlan, join_bridge, set_up, shape,
};
use crate::network::{Checked, Dataplane, Neighbour, Place};

const LOOPBACK_INDEX: u32 = 1;

/// The link and end that one port of a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEnd {
    /// Which port.
    pub port: u16,
    /// Index of its link.
    pub link: usize,
    /// Which end of it, 0 or 1.
    pub end: usize,
}

/// The ports of every server, in order.
pub fn ports_by_server(network: &Checked) -> Vec<Vec<PortEnd>> {
    let mut ports = vec![Vec::new(); network.network.servers.len()];
    for (link, places) in network.places.iter().enumerate() {
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

/// Interface number of an end of a link, in the namespace it is in.
pub fn end_index(network: &Checked, link: usize, end: usize) -> u32 {
    match network.places[link][end] {
        Place::Server { port, .. } => names::port_index(port),
        Place::Switch { .. } => names::switch_port_index(network.network.links[link].id, end),
    }
}

/// How an end of a link sends while nothing is wrong with it.
pub fn end_shape(network: &Checked, link: usize) -> Shape {
    Shape {
        rate_bits_per_sec: network.rate_bits_per_sec(link),
        mtu: network.network.mtu,
        queue_bytes: network.queue_bytes(link),
    }
}

/// What a server has before any link: loopback and the virtual network card.
pub fn server_basics(network: &Checked, server: usize) -> Batch {
    let mut batch = Batch::new();
    set_up(&mut batch, LOOPBACK_INDEX, true);
    if network.network.dataplane != Dataplane::None {
        let id = network.network.servers[server].id;
        let end = |name: &str, index, mac| End {
            name: name.to_owned(),
            index,
            mac,
            arp: false,
            bridge: None,
            namespace: None,
        };
        let nic = Veth {
            near: end(names::VIRTUAL_NIC, names::VIRTUAL_NIC_INDEX, vnic_mac(id)),
            far: end(
                names::VIRTUAL_NIC_PEER,
                names::VIRTUAL_NIC_PEER_INDEX,
                names::virtual_nic_peer_mac(id),
            ),
            mtu: network.network.mtu - HEADER_BYTES as u32,
        };
        add_veth(&mut batch, &nic);
        set_up(&mut batch, names::VIRTUAL_NIC_PEER_INDEX, true);
        add_address(
            &mut batch,
            names::VIRTUAL_NIC_INDEX,
            network.address(server),
            VIRTUAL_PREFIX_BITS,
        );
    }
    batch
}

/// All switches of which a part is here.
pub fn switches(network: &Checked) -> Batch {
    let mut batch = Batch::new();
    let here = network.network.switches.iter().enumerate();
    for (_, switch) in here.filter(|(at, _)| network.division.has_switch(*at)) {
        let bridge = Bridge {
            name: names::switch_name(switch.id),
            index: names::switch_index(switch.id),
            mac: names::switch_mac(switch.id),
            mtu: network.network.mtu,
        };
        add_bridge(&mut batch, &bridge);
    }
    batch
}

/// The tunnels to other hosts, each a port of a switch with parts there too. The first batch makes them and is for this
/// host's own namespace, on whose network their packets travel; the second is for the namespace of the switches.
pub fn stitches(network: &Checked, switches: BorrowedFd<'_>) -> [Batch; 2] {
    let (mut make, mut join) = (Batch::new(), Batch::new());
    let Some(hosts) = &network.network.hosts else {
        return [make, join];
    };
    for (at, switch) in network.network.switches.iter().enumerate() {
        let mut far_ends = network.division.far_ends(at).peekable();
        if far_ends.peek().is_none() {
            continue;
        }
        let vxlan = Vxlan {
            name: names::stitch_name(switch.id),
            index: names::stitch_index(switch.id),
            mac: names::stitch_mac(switch.id),
            mtu: network.network.mtu,
            vni: hosts.first_vni + at as u32,
            local: hosts.own_address(),
            namespace: switches,
        };
        add_vxlan(&mut make, &vxlan);
        for host in far_ends {
            add_far_end(&mut join, vxlan.index, hosts.underlays[host]);
        }
        join_bridge(&mut join, vxlan.index, names::switch_index(switch.id));
        set_up(&mut join, vxlan.index, true);
    }
    [make, join]
}

/// Where a link is made from: the namespace of the switches where it touches one, else that of the server at its near end.
pub fn made_from(network: &Checked, link: usize) -> Place {
    let [a, b] = network.places[link];
    match (a, b) {
        (Place::Switch { .. }, _) => a,
        (_, Place::Switch { .. }) => b,
        _ => a,
    }
}

/// Makes one link. `namespace_of` gives a server's namespace.
pub fn link<'a>(
    batch: &mut Batch,
    network: &Checked,
    link: usize,
    namespace_of: impl Fn(usize) -> BorrowedFd<'a>,
) {
    let near = usize::from(network.places[link][0] != made_from(network, link));
    let end_of = |end: usize, is_near: bool| {
        let index = end_index(network, link, end);
        let description = &network.network.links[link];
        match network.places[link][end] {
            Place::Server { server, port } => End {
                name: names::port_name(port),
                index,
                mac: port_mac(network.network.servers[server].id, port as u8),
                arp: true,
                bridge: None,
                namespace: (!is_near).then(|| namespace_of(server)),
            },
            Place::Switch { switch, .. } => End {
                name: names::switch_port_name(description.id, end),
                index,
                mac: names::switch_port_mac(description.id, end),
                arp: false,
                bridge: Some(names::switch_index(network.network.switches[switch].id)),
                namespace: None,
            },
        }
    };
    let veth = Veth {
        near: end_of(near, true),
        far: end_of(1 - near, false),
        mtu: network.network.mtu,
    };
    add_veth(batch, &veth);
}

/// Sets up and shapes the ends of a link that are ports of switches.
pub fn shape_switch_ends(batch: &mut Batch, network: &Checked, link: usize) {
    for (end, place) in network.places[link].iter().enumerate() {
        if matches!(place, Place::Switch { .. }) {
            let index = end_index(network, link, end);
            set_up(batch, index, true);
            shape(batch, index, &end_shape(network, link));
        }
    }
}

/// Sets a server's ports up with addresses, neighbours and queues.
pub fn server_ports(batch: &mut Batch, network: &Checked, server: usize, ports: &[PortEnd]) {
    let id = network.network.servers[server].id;
    for port in ports {
        let index = names::port_index(port.port);
        set_up(batch, index, true);
        match network.network.dataplane {
            Dataplane::None => add_address(batch, index, network.address(server), VIRTUAL_PREFIX_BITS),
            Dataplane::Kernel | Dataplane::Software => {
                if let Some(address) = port_ip(id, port.port as u8) {
                    add_address(batch, index, address, PORT_PREFIX_BITS);
                }
            }
        }
        port_neighbours(batch, network, server, port.port);
        shape(batch, index, &end_shape(network, port.link));
    }
}

/// The permanent neighbours of a port. A port that was down has lost them.
pub fn port_neighbours(batch: &mut Batch, network: &Checked, server: usize, port: u16) {
    let index = names::port_index(port);
    let servers = &network.network.servers;
    if network.network.dataplane == Dataplane::None {
        for (other, _) in servers.iter().enumerate().filter(|(other, _)| *other != server) {
            add_neighbour(
                batch,
                index,
                network.address(other),
                &port_mac(servers[other].id, 0),
            );
        }
        return;
    }
    for neighbour in network.neighbours[server]
        .iter()
        .filter(|neighbour| neighbour.port == port)
    {
        let id = servers[neighbour.server].id;
        if let Some(address) = port_ip(id, neighbour.far_port as u8) {
            add_neighbour(batch, index, address, &port_mac(id, neighbour.far_port as u8));
        }
    }
}

/// What the fast path must know of its server.
pub fn config(network: &Checked, server: usize) -> Config {
    Config {
        ip: network.address(server).octets(),
        vnic_ifindex: names::VIRTUAL_NIC_INDEX,
        vnic_mac: vnic_mac(network.network.servers[server].id),
        flags: if network.is_gateway(server) { GATEWAY } else { 0 },
        mtu: network.network.mtu,
    }
}

/// A neighbour as an entry of the neighbour status table.
pub fn next_hop(network: &Checked, server: usize, neighbour: &Neighbour, up: bool) -> NextHop {
    let servers = &network.network.servers;
    NextHop {
        ifindex: names::port_index(neighbour.port),
        next_mac: port_mac(servers[neighbour.server].id, neighbour.far_port as u8),
        own_mac: port_mac(servers[server].id, neighbour.port as u8),
        up: u8::from(up),
        port: neighbour.port as u8,
        reserved: [0; 2],
    }
}
