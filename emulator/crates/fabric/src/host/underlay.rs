//! The network between hosts: checks that this host has the caller's address for it, and determines
//! the MTU.
//!
//! A tunnel's packets must not be fragmented: they have "don't fragment" set, and with fragments a
//! run would measure reassembly. So the underlay must carry a whole packet.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use rustix::net::sockopt;

use crate::error::{FabricError, Result};
use crate::netlink::{OUTER_HEADER_BYTES, PORT};
use crate::network::Description;
use crate::network::hosts::Hosts;

/// The largest IP packet that every path to the other hosts carries; `None` without other hosts.
/// `field` names the hosts in errors.
pub fn mtu(hosts: &Hosts, field: &str) -> Result<Option<u32>> {
    let here = hosts.own_address();
    let others = hosts.underlays.iter().filter(|address| **address != here);
    let mut least: Option<u32> = None;
    for other in others {
        let mtu = mtu_to(here, *other, field, hosts.here)?;
        least = Some(least.map_or(mtu, |least| least.min(mtu)));
    }
    Ok(least)
}

/// Nothing is sent: connecting a UDP socket only looks up the route.
fn mtu_to(here: Ipv4Addr, other: Ipv4Addr, field: &str, at: usize) -> Result<u32> {
    let socket = UdpSocket::bind(SocketAddrV4::new(here, 0)).map_err(|cause| {
        let limit = format!("an address of this host ({cause})");
        let fix = "give the address that `ip address` shows on the network between the hosts";
        FabricError::bad(format!("{field}.underlays[{at}]"), here, limit, fix)
    })?;
    socket
        .connect(SocketAddrV4::new(other, PORT))
        .and_then(|()| Ok(sockopt::ip_mtu(&socket)?))
        .map_err(|cause| {
            let limit = format!("an address that {here} has a route to ({cause})");
            let fix = "connect the hosts, or correct the address";
            FabricError::bad(format!("{field}.underlays"), other, limit, fix)
        })
}

/// Checks that a network's packets fit the paths to the other hosts.
pub fn check(network: &Description) -> Result<()> {
    let Some(hosts) = &network.hosts else {
        return Ok(());
    };
    let Some(carried) = mtu(hosts, "network.hosts")? else {
        return Ok(());
    };
    let most = carried.saturating_sub(OUTER_HEADER_BYTES);
    if network.mtu <= most {
        return Ok(());
    }
    let limit = format!(
        "at most {most}: the network between the hosts carries {carried} bytes, VXLAN takes {OUTER_HEADER_BYTES}"
    );
    let fix = format!(
        "use the MTU {most}, or let that network carry {} bytes",
        network.mtu + OUTER_HEADER_BYTES
    );
    Err(FabricError::bad("network.mtu", network.mtu, limit, fix))
}
