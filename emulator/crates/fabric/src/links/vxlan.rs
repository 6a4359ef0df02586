//! Traffic between hosts: VXLAN tunnels between the parts of a switch, and for links between
//! servers of two hosts.
//!
//! A link between servers of two hosts consists of a veth pair on each host, from the server's port
//! to a bridge whose only other port is the tunnel. The bridge's end of the pair represents the
//! port of the other server and goes down with it, so that this server loses its carrier as it
//! would with a real cable.

use std::os::fd::BorrowedFd;

use cubeyard_dataplane::address::port_mac;

use super::{LinkKind, NamespaceOf, Site, Steps, veth};
use crate::names::{self, Mac};
use crate::netlink::{
    Batch, Bridge, Vxlan, add_bridge, add_far_address, add_far_end, add_vxlan, join_bridge_without_learning,
    set_up,
};
use crate::network::far_ports::{far_ports, links_of_switches};
use crate::network::{Network, Place};

pub(super) static BETWEEN_HOSTS: BetweenHosts = BetweenHosts;

#[derive(Debug)]
pub(super) struct BetweenHosts;

impl LinkKind for BetweenHosts {
    fn site(&self, network: &Network, link: usize, end: usize) -> Site {
        match network.places[link][end] {
            Place::Server { server, .. } if network.division.has_server(server) => Site::Server(server),
            _ => Site::Room(0),
        }
    }

    fn make(&self, steps: &mut Steps, network: &Network, link: usize, namespace_of: NamespaceOf<'_>) {
        veth::make_pair(self, steps, network, link, namespace_of);
    }

    fn is_shaped(&self, network: &Network, link: usize, end: usize) -> bool {
        // Packets that arrive by the tunnel were limited and counted by the sending host.
        matches!(self.site(network, link, end), Site::Server(_))
    }
}

/// Adds the tunnels to other hosts. `make` runs in this host's own namespace, whose network carries
/// the tunnels' packets. `join` runs afterwards in the shared namespace of switches, `room`.
pub fn add_tunnels(make: &mut Batch, join: &mut Batch, network: &Network, room: BorrowedFd<'_>) {
    let Some(hosts) = &network.description.hosts else {
        return;
    };
    let mut add = |tunnel: Tunnel, number: usize, far: &[usize]| {
        let vxlan = Vxlan {
            name: tunnel.name,
            index: tunnel.index,
            mac: tunnel.mac,
            mtu: network.description.mtu,
            vni: hosts.first_vni + number as u32,
            local: hosts.own_address(),
            namespace: room,
        };
        add_vxlan(make, &vxlan);
        join_bridge_without_learning(join, vxlan.index, tunnel.bridge);
        for host in far {
            add_far_end(join, vxlan.index, hosts.underlays[*host]);
        }
        set_up(join, vxlan.index, true);
    };
    let links_of = links_of_switches(network);
    let mut addresses = Vec::new();
    for (at, switch) in network.description.switches.iter().enumerate() {
        let far: Vec<usize> = network.division.other_hosts(at).collect();
        if !far.is_empty() {
            let index = names::switch_tunnel_index(switch.id);
            let tunnel = Tunnel {
                name: names::switch_tunnel_name(switch.id),
                index,
                mac: names::switch_tunnel_mac(switch.id),
                bridge: names::switch_index(switch.id),
            };
            add(tunnel, at, &far);
            for host in far {
                for (server, port) in far_ports(network, &links_of, at, host) {
                    let server = network.description.servers[server].id;
                    addresses.push((index, port_mac(server, port as u8), hosts.underlays[host]));
                }
            }
        }
    }
    for (at, link) in network.description.links.iter().enumerate() {
        if let Some((_, host)) = network.division.remote_end(at) {
            let tunnel = Tunnel {
                name: names::link_tunnel_name(link.id),
                index: names::link_tunnel_index(link.id),
                mac: names::link_tunnel_mac(link.id),
                bridge: names::link_bridge_index(link.id),
            };
            add(tunnel, network.division.vni_of_link(at), &[host]);
        }
    }
    for (index, mac, host) in addresses {
        add_far_address(join, index, &mac, host);
    }
}

struct Tunnel {
    name: String,
    index: u32,
    mac: Mac,
    /// Interface number of the bridge that the tunnel joins: a switch, or the bridge of a link.
    bridge: u32,
}

/// Adds the bridges of links between hosts, each between a server's port and a tunnel.
pub fn add_link_bridges(batch: &mut Batch, network: &Network) {
    for (at, link) in network.description.links.iter().enumerate() {
        if network.division.remote_end(at).is_some() {
            let bridge = Bridge {
                name: names::link_bridge_name(link.id),
                index: names::link_bridge_index(link.id),
                mac: names::link_bridge_mac(link.id),
                mtu: network.description.mtu,
            };
            add_bridge(batch, &bridge);
        }
    }
}
