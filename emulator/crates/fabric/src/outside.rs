//! What lies outside the virtual network: a namespace of the run's own, joined to every gateway by a cable without a
//! rate, as by the aggregator's fast uplink. `[bcube §5.3]`
//!
//! Each server is reached from there by its nearest gateway; by the next one when the cable of that is gone, which is
//! what the routes' metrics are for.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;

use cubeyard_dataplane::bsr::gateways::nearest_first;
use cubeyard_dataplane::header::HEADER_BYTES;
use cubeyard_routing::bcube::Shape;
use cubeyard_topology::Topology;

use crate::assembly::ServerKernel;
use crate::error::{FabricError, Result};
use crate::names;
use crate::namespace::{self, Namespace};
use crate::netlink::{
    Batch, End, Netlink, Route, Veth, add_address, add_route, add_veth, delete_link, gone_already, no_excuse,
    set_up,
};
use crate::network::{Checked, Dataplane};

/// The external address, of a network kept for tests of networks. `[RFC 2544]`
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const LOOPBACK_INDEX: u32 = 1;
const HOST_BITS: u8 = 32;
const EVERYWHERE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// A gateway's own address on the cable that leads outside: `198.19.0.0 + id + 1`.
fn address_of(gateway: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(198, 19, 0, 0).to_bits() + gateway + 1)
}

/// The namespace outside, and what reaches whom from there.
#[derive(Debug)]
pub struct Outside {
    _namespace: Namespace,
    netlink: Netlink,
    /// By server, the ids of the gateways, the nearest first.
    ways: Vec<Vec<u32>>,
}

impl Outside {
    /// Makes the namespace; `None` for a network without gateways.
    pub fn make(network: &Checked) -> Result<Option<Outside>> {
        let description = &network.network;
        if description.gateways.is_empty() {
            return Ok(None);
        }
        let shape = Topology::build(&network.spec)
            .ok()
            .as_ref()
            .and_then(Shape::new)
            .ok_or_else(|| {
                let fix = "leave gateways out";
                FabricError::bad("network.gateways", &description.family, "those of a bcube", fix)
            })?;
        let ways = description.servers.iter();
        let ways = ways.map(|server| nearest_first(&shape, server.id, &description.gateways));
        let namespace = Namespace::create(&description.run.outside_namespace())?;
        let mut netlink = namespace.run(|| {
            namespace::quieten()?;
            Netlink::open()
        })?;
        let mut batch = Batch::new();
        set_up(&mut batch, LOOPBACK_INDEX, true);
        add_address(&mut batch, LOOPBACK_INDEX, ADDRESS, HOST_BITS);
        netlink.run(&mut batch, no_excuse)?;
        Ok(Some(Outside {
            ways: ways.collect(),
            _namespace: namespace,
            netlink,
        }))
    }

    /// Gives a server that has just been wired its way out: a gateway its cable, the others a route to the fast path.
    pub fn join(&mut self, network: &Checked, server: usize, kernel: &mut ServerKernel) -> Result<()> {
        let mut inside = Batch::new();
        let by = if network.is_gateway(server) {
            self.lay_cable(network, server, kernel)?;
            let id = network.network.servers[server].id;
            set_up(&mut inside, names::OUTER_NIC_INDEX, true);
            add_address(&mut inside, names::OUTER_NIC_INDEX, address_of(id), HOST_BITS);
            names::OUTER_NIC_INDEX
        } else {
            names::VIRTUAL_NIC_INDEX
        };
        let way_out = Route {
            to: EVERYWHERE,
            prefix_bits: 0,
            index: by,
            via: None,
            metric: 0,
        };
        add_route(&mut inside, &way_out);
        kernel.netlink.run(&mut inside, no_excuse)?;
        if by == names::OUTER_NIC_INDEX {
            self.routes_by(network, server)?;
        }
        Ok(())
    }

    fn lay_cable(&mut self, network: &Checked, server: usize, kernel: &ServerKernel) -> Result<()> {
        let id = network.network.servers[server].id;
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
            mtu: network.network.mtu - HEADER_BYTES as u32,
        };
        add_veth(&mut batch, &veth);
        self.netlink.run(&mut batch, no_excuse)?;
        // Between these two alone: what comes in by a port and is not for the server stays there.
        kernel.namespace.run(|| {
            for interface in [names::VIRTUAL_NIC, names::OUTER_NIC] {
                namespace::set_sysctl(&format!("ipv4/conf/{interface}/forwarding"), "1")?;
            }
            Ok(())
        })
    }

    /// The routes to a gateway's own end of its cable, and by it to all servers.
    fn routes_by(&mut self, network: &Checked, gateway: usize) -> Result<()> {
        let id = network.network.servers[gateway].id;
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
        for (server, ways) in self.ways.iter().enumerate() {
            let Some(place) = ways.iter().position(|&way| way == id) else {
                continue;
            };
            let route = Route {
                to: network.address(server),
                prefix_bits: HOST_BITS,
                index,
                via: Some(address_of(id)),
                metric: place as u32 + 1,
            };
            add_route(&mut batch, &route);
        }
        self.netlink.run(&mut batch, no_excuse)
    }

    /// Takes a gateway's cable down or up again, with all routes by it. A cable that has gone with its gateway comes
    /// back when that is wired again.
    pub fn set_joined(&mut self, network: &Checked, server: usize, joined: bool) -> Result<()> {
        if !network.is_gateway(server) {
            return Ok(());
        }
        let mut batch = Batch::new();
        let index = names::outer_cable_index(network.network.servers[server].id);
        set_up(&mut batch, index, joined);
        self.netlink.run(&mut batch, gone_already)?;
        if joined {
            self.routes_by(network, server)
        } else {
            Ok(())
        }
    }
}

/// Refuses gateways that are no servers, or that nothing forwards to. The error names the field.
pub fn check(network: &Checked) -> Result<()> {
    let gateways = &network.network.gateways;
    for (at, &gateway) in gateways.iter().enumerate() {
        let field = format!("network.gateways[{at}]");
        if network.server(gateway).is_err() || gateways[..at].contains(&gateway) {
            let limit = "the id of a server, once";
            return Err(FabricError::bad(
                field,
                gateway,
                limit,
                "use those of network.servers",
            ));
        }
        if network.network.dataplane == Dataplane::None {
            let limit = "with a dataplane that forwards";
            return Err(FabricError::bad(field, gateway, limit, "leave gateways out"));
        }
    }
    Ok(())
}
