//! The external network: a namespace of the run, joined to every gateway by a cable without a rate
//! limit, like an aggregator's fast uplink. `[bcube §5.3]`
//!
//! It reaches each server by its nearest gateway, and by the next one if that gateway's cable is
//! down: the metrics of its routes are in that order.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use crate::error::{FabricError, Result};
use crate::host::namespace::{self, Namespace};
use crate::names::{self, LOOPBACK_INDEX};
use crate::netlink::{
    Batch, End, GSO_MAX_BYTES, Netlink, Route, Veth, add_address, add_route, add_veth, delete_link,
    gone_already, no_excuse, set_up,
};
use crate::network::behaviour::Behaviour;
use crate::network::index::Index;
use crate::network::{Description, Network};
use crate::servers::ServerKernel;

/// The external address, from the range reserved for network tests. `[RFC 2544]`
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const HOST_BITS: u8 = 32;
const ANY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// A gateway's address on its cable to the external network: `198.19.0.0 + id + 1`.
fn address_of(gateway: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 19, 0, 0).to_bits() + gateway + 1)
}

/// The external network in the kernel.
#[derive(Debug)]
pub struct External {
    _namespace: Namespace,
    netlink: Netlink,
    /// By server: the ids of the gateways, nearest first.
    gateways: Vec<Vec<u32>>,
}

impl External {
    /// Makes the namespace; `None` for a network without gateways.
    pub fn make(network: &Network) -> Result<Option<External>> {
        let description = &network.description;
        if description.gateways.is_empty() {
            return Ok(None);
        }
        let rules = network.places_of_servers.rules.as_ref();
        let gateways = description.servers.iter();
        let gateways =
            gateways.map(|server| rules.map_or_else(Vec::new, |rules| rules.gateways_of(server.id)));
        let namespace = Namespace::create(&description.run.outside_namespace())?;
        let mut netlink = namespace.run(|| {
            namespace::apply_defaults()?;
            Netlink::open()
        })?;
        let mut batch = Batch::new();
        set_up(&mut batch, LOOPBACK_INDEX, true);
        add_address(&mut batch, LOOPBACK_INDEX, ADDRESS, HOST_BITS);
        netlink.run(&mut batch, no_excuse)?;
        Ok(Some(External {
            gateways: gateways.collect(),
            _namespace: namespace,
            netlink,
        }))
    }

    /// Adds the default route of a newly wired server. A gateway's route uses its own cable, other
    /// servers' routes their virtual network card.
    pub fn join(&mut self, network: &Network, server: usize, kernel: &mut ServerKernel) -> Result<()> {
        let mut inside = Batch::new();
        let index = if network.is_gateway(server) {
            self.make_cable(network, server, kernel)?;
            let id = network.description.servers[server].id;
            set_up(&mut inside, names::OUTER_NIC_INDEX, true);
            add_address(&mut inside, names::OUTER_NIC_INDEX, address_of(id), HOST_BITS);
            names::OUTER_NIC_INDEX
        } else {
            names::VIRTUAL_NIC_INDEX
        };
        let default_route = Route {
            to: ANY,
            prefix_bits: 0,
            index,
            via: None,
            metric: 0,
        };
        add_route(&mut inside, &default_route);
        kernel.netlink.run(&mut inside, no_excuse)?;
        if index == names::OUTER_NIC_INDEX {
            self.add_routes(network, server)?;
        }
        Ok(())
    }

    fn make_cable(&mut self, network: &Network, server: usize, kernel: &ServerKernel) -> Result<()> {
        let id = network.description.servers[server].id;
        let mut stale = Batch::new();
        delete_link(&mut stale, names::outer_cable_index(id));
        self.netlink.run(&mut stale, gone_already)?;
        let mut batch = Batch::new();
        let end = |name: String, index, mac, namespace| End {
            name,
            index,
            mac,
            arp: true,
            bridge: None,
            namespace,
        };
        let veth = Veth {
            near: end(
                names::outer_cable_name(id),
                names::outer_cable_index(id),
                names::outer_mac(id, 0),
                None,
            ),
            far: end(
                names::OUTER_NIC.to_owned(),
                names::OUTER_NIC_INDEX,
                names::outer_mac(id, 1),
                Some(kernel.namespace.as_fd()),
            ),
            mtu: network.description.mtu - network.behaviour.entry.header_bytes,
            super_packet_bytes: GSO_MAX_BYTES,
        };
        add_veth(&mut batch, &veth);
        self.netlink.run(&mut batch, no_excuse)?;
        // Forward only between these two interfaces: the stack must not forward packets that arrive
        // at a port.
        kernel.namespace.run(|| {
            for interface in [names::VIRTUAL_NIC, names::OUTER_NIC] {
                namespace::set_sysctl(&format!("ipv4/conf/{interface}/forwarding"), "1")?;
            }
            Ok(())
        })
    }

    /// Adds the routes to a gateway's end of its cable, and through it to all servers.
    fn add_routes(&mut self, network: &Network, gateway: usize) -> Result<()> {
        let id = network.description.servers[gateway].id;
        let index = names::outer_cable_index(id);
        let mut batch = Batch::new();
        let own_end = Route {
            to: address_of(id),
            prefix_bits: HOST_BITS,
            index,
            via: None,
            metric: 0,
        };
        add_route(&mut batch, &own_end);
        for (server, gateways) in self.gateways.iter().enumerate() {
            let Some(rank) = gateways.iter().position(|&gateway| gateway == id) else {
                continue;
            };
            let route = Route {
                to: network.address(server),
                prefix_bits: HOST_BITS,
                index,
                via: Some(address_of(id)),
                metric: rank as u32 + 1,
            };
            add_route(&mut batch, &route);
        }
        self.netlink.run(&mut batch, no_excuse)
    }

    /// Sets a gateway's cable down or up again, with all routes over it.
    pub fn set_joined(&mut self, network: &Network, server: usize, joined: bool) -> Result<()> {
        if !network.is_gateway(server) {
            return Ok(());
        }
        let mut batch = Batch::new();
        let index = names::outer_cable_index(network.description.servers[server].id);
        set_up(&mut batch, index, joined);
        self.netlink.run(&mut batch, gone_already)?;
        if joined {
            self.add_routes(network, server)
        } else {
            Ok(())
        }
    }
}

/// Checks that gateways are servers, and that the protocol has gateways. The error names the field.
pub fn check(description: &Description, behaviour: Behaviour, index: &Index) -> Result<()> {
    let gateways = &description.gateways;
    for (at, &gateway) in gateways.iter().enumerate() {
        let field = format!("network.gateways[{at}]");
        if index.server(gateway).is_none() || gateways[..at].contains(&gateway) {
            let limit = "the id of a server, once";
            let fix = "use those of network.servers";
            return Err(FabricError::bad(field, gateway, limit, fix));
        }
        if !behaviour.entry.gateways {
            let limit = format!("absent with the protocol {}", behaviour.entry.name);
            return Err(FabricError::bad(field, gateway, limit, "leave gateways out"));
        }
    }
    Ok(())
}
