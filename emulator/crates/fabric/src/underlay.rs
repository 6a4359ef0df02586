//! The network between hosts: whether this host is on it as the caller says, and what it carries whole.
//!
//! A tunnel's packets are never cut into fragments: the kernel refuses to cut what carries "don't fragment", as ours do,
//! and a run whose packets travel in pieces measures the reassembly. So the underlay has to carry a whole packet.

use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use rustix::net::sockopt;

use crate::error::{FabricError, Result};
use crate::hosts::Hosts;
use crate::netlink::{OUTER_HEADER_BYTES, PORT};
use crate::network::Network;

/// The largest IP packet that every way to the other hosts carries; `None` without any other host. `field` is what
/// the hosts are called in errors.
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

/// Nothing is sent for it: connecting a UDP socket only looks up the way.
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
            let limit = format!("an address that there is a way to from {here} ({cause})");
            let fix = "join the hosts by a network, or correct the address";
            FabricError::bad(format!("{field}.underlays"), other, limit, fix)
        })
}

/// Refuses a network whose packets do not fit the ways to the other hosts.
pub fn check(network: &Network) -> Result<()> {
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
        "take the MTU {most}, or let that network carry {}",
        network.mtu + OUTER_HEADER_BYTES
    );
    Err(FabricError::bad("network.mtu", network.mtu, limit, fix))
}
