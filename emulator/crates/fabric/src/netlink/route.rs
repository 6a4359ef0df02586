//! Routes: what `ip route` does. `[man 7 rtnetlink]`

use std::net::Ipv4Addr;

use super::message::{Batch, CREATE, REPLACE};

const RTM_NEWROUTE: u16 = 24;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const AF_INET: u8 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const RTNH_F_ONLINK: u32 = 4;

/// A way to a network.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The network; `0.0.0.0` with no bits is everything that no other route knows.
    pub to: Ipv4Addr,
    /// Bits that its addresses share.
    pub prefix_bits: u8,
    /// The interface.
    pub index: u32,
    /// Who takes the packets on there, on the same link; absent where everybody is on the link.
    pub via: Option<Ipv4Addr>,
    /// Of the routes to one network the least counts.
    pub metric: u32,
}

/// Adds a route, or replaces the one to the same network with the same metric.
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
        "routing {}/{} by interface {}",
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
