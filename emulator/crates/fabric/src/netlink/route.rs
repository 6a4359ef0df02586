//! Routes, as `ip route` adds them. `[man 7 rtnetlink]`

use std::net::Ipv4Addr;

use cubeyard_routing::hash::FiveTuple;

use super::message::{Batch, CREATE, EXCLUSIVE, REPLACE};
use super::socket::{Netlink, no_excuse};
use crate::error::Result;

pub(super) const RTM_NEWROUTE: u16 = 24;
pub(super) const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;
pub(super) const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
pub(super) const RTA_OIF: u16 = 4;
pub(super) const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_PREFSRC: u16 = 7;
const RTA_IP_PROTO: u16 = 27;
const RTA_SPORT: u16 = 28;
const RTA_DPORT: u16 = 29;
const RTA_NH_ID: u16 = 30;
const AF_INET: u8 = 2;
/// The main routing table, used unless a rule selects another one.
pub const RT_TABLE_MAIN: u8 = 254;
pub(super) const RTPROT_STATIC: u8 = 4;
pub(super) const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
pub(super) const RTN_UNICAST: u8 = 1;
pub(super) const RTNH_F_ONLINK: u32 = 4;

/// A route to a network.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The network; `0.0.0.0` with 0 bits is the default route.
    pub to: Ipv4Addr,
    /// Length of the network's prefix.
    pub prefix_bits: u8,
    /// Interface by which packets leave.
    pub index: u32,
    /// The next hop on the interface's link; `None` if the network itself is on the link.
    pub via: Option<Ipv4Addr>,
    /// Metric. If there are several routes to a network, the kernel uses the one with the lowest.
    pub metric: u32,
}

/// Adds a route; replaces one to the same network with the same metric.
pub fn add_route(batch: &mut Batch, route: &Route) {
    let scope = if route.via.is_some() {
        RT_SCOPE_UNIVERSE
    } else {
        RT_SCOPE_LINK
    };
    let flags = if route.via.is_some() { RTNH_F_ONLINK } else { 0 };
    let mut header = [0; 12];
    header[..2].copy_from_slice(&[AF_INET, route.prefix_bits]);
    header[4..8].copy_from_slice(&[RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST]);
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    let purpose = format!(
        "adding the route to {}/{} over interface {}",
        route.to, route.prefix_bits, route.index
    );
    batch.request(RTM_NEWROUTE, CREATE | REPLACE, &header, purpose, |attributes| {
        if route.prefix_bits > 0 {
            attributes.put(RTA_DST, &route.to.octets());
        }
        attributes.put_u32(RTA_OIF, route.index);
        if let Some(via) = route.via {
            attributes.put(RTA_GATEWAY, &via.octets());
        }
        attributes.put_u32(RTA_PRIORITY, route.metric);
    });
}

/// A route that refers to a next-hop object or group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteByHop {
    /// The network; `0.0.0.0` with 0 bits is the default route.
    pub to: Ipv4Addr,
    /// Length of the network's prefix.
    pub prefix_bits: u8,
    /// Number of the next hop or group.
    pub hop: u32,
    /// Source address of packets that this node itself sends by the route.
    pub source: Ipv4Addr,
    /// Number of the routing table.
    pub table: u32,
    /// Largest packet that this node itself sends by the route, in bytes; `None` for the
    /// interface's MTU.
    pub mtu: Option<u32>,
}

/// Adds a route; replaces one to the same network.
pub fn add_route_by_hop(batch: &mut Batch, route: &RouteByHop) {
    let purpose = format!(
        "adding the route to {}/{} by next hop {}",
        route.to, route.prefix_bits, route.hop
    );
    let header = by_hop_header(route.prefix_bits);
    batch.request(RTM_NEWROUTE, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put_u32(RTA_TABLE, route.table);
        if route.prefix_bits > 0 {
            attributes.put(RTA_DST, &route.to.octets());
        }
        attributes.put_u32(RTA_NH_ID, route.hop);
        attributes.put(RTA_PREFSRC, &route.source.octets());
        if let Some(mtu) = route.mtu {
            attributes.nest(RTA_METRICS, |metrics| metrics.put_u32(RTAX_MTU, mtu));
        }
    });
}

/// Removes the route to a network that [`add_route_by_hop`] added.
pub fn delete_route_by_hop(batch: &mut Batch, to: Ipv4Addr, prefix_bits: u8, table: u32) {
    let purpose = format!("removing the route to {to}/{prefix_bits}");
    let header = by_hop_header(prefix_bits);
    batch.request(RTM_DELROUTE, 0, &header, purpose, |attributes| {
        attributes.put_u32(RTA_TABLE, table);
        if prefix_bits > 0 {
            attributes.put(RTA_DST, &to.octets());
        }
    });
}

const RTA_METRICS: u16 = 8;
const RTA_TABLE: u16 = 15;
const RTAX_MTU: u16 = 2;
/// A table number beyond 255 is given as an attribute instead.
const RT_TABLE_UNSPEC: u8 = 0;

fn by_hop_header(prefix_bits: u8) -> [u8; 12] {
    let mut header = [0; 12];
    header[..2].copy_from_slice(&[AF_INET, prefix_bits]);
    header[4..8].copy_from_slice(&[RT_TABLE_UNSPEC, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST]);
    header
}

const RTM_NEWRULE: u16 = 32;
const RTM_DELRULE: u16 = 33;
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_TABLE: u16 = 15;
const FRA_PRIORITY: u16 = 6;
const FR_ACT_TO_TBL: u8 = 1;

/// Makes packets from an address use a table; the main table applies where that has no route.
pub fn add_source_rule(batch: &mut Batch, from: Ipv4Addr, table: u8) {
    let mut header = [0; 12];
    header[..5].copy_from_slice(&[AF_INET, 0, 32, 0, table]);
    header[7] = FR_ACT_TO_TBL;
    let purpose = format!("adding the rule that packets from {from} go by table {table}");
    batch.request(RTM_NEWRULE, CREATE | EXCLUSIVE, &header, purpose, |attributes| {
        attributes.put(FRA_SRC, &from.octets());
        attributes.put_u32(FRA_PRIORITY, table.into());
    });
}

/// Makes packets that arrive at an interface use a table; the main table applies where that has no
/// route.
pub fn add_entering_rule(batch: &mut Batch, interface: &str, table: u32) {
    let purpose = format!("adding the rule that packets from {interface} go by table {table}");
    let kind = RTM_NEWRULE;
    entering_rule(batch, kind, CREATE | EXCLUSIVE, purpose, interface, table);
}

/// Removes the rule that [`add_entering_rule`] added.
pub fn delete_entering_rule(batch: &mut Batch, interface: &str, table: u32) {
    let purpose = format!("removing the rule that packets from {interface} go by table {table}");
    entering_rule(batch, RTM_DELRULE, 0, purpose, interface, table);
}

fn entering_rule(batch: &mut Batch, kind: u16, flags: u16, purpose: String, interface: &str, table: u32) {
    let mut header = [0; 12];
    header[0] = AF_INET;
    header[7] = FR_ACT_TO_TBL;
    batch.request(kind, flags, &header, purpose, |attributes| {
        attributes.put_text(FRA_IIFNAME, interface);
        attributes.put_u32(FRA_TABLE, table);
        attributes.put_u32(FRA_PRIORITY, table);
    });
}

impl Netlink {
    /// The interface by which the kernel would forward packets of a flow; `None` if its answer
    /// names none.
    pub fn route_of(&mut self, flow: &FiveTuple) -> Result<Option<u32>> {
        let mut batch = Batch::new();
        let mut header = [0; 12];
        header[..3].copy_from_slice(&[AF_INET, 32, 32]);
        batch.request(RTM_GETROUTE, 0, &header, "asking for a route", |attributes| {
            attributes.put(RTA_DST, &flow.addresses[1]);
            attributes.put(RTA_SRC, &flow.addresses[0]);
            attributes.put_u8(RTA_IP_PROTO, flow.protocol);
            attributes.put(RTA_SPORT, &flow.ports[0].to_be_bytes());
            attributes.put(RTA_DPORT, &flow.ports[1].to_be_bytes());
        });
        let mut index = None;
        self.run_and_read(&mut batch, no_excuse, |answer| {
            if answer.kind == RTM_NEWROUTE {
                let value = answer
                    .attributes(12)
                    .find_value(RTA_OIF)
                    .and_then(<[u8]>::first_chunk);
                index = value.map(|bytes| u32::from_ne_bytes(*bytes));
            }
        })?;
        Ok(index)
    }
}
