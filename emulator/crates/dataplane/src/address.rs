//! The one-to-one maps between a server's id and its addresses: the same ones for every protocol.
//! `[ours]`
//!
//! Applications use virtual addresses, `10.0.0.0 + id + 1`. The control plane uses addresses of
//! ports, `100.(64 + port).0.0 + id + 1`. Addresses never use the first or last address of their
//! network.

use std::net::{Ipv4Addr, Ipv6Addr};

use cubeyard_topology::NodeId;

/// Prefix length of the network of virtual addresses, `10.0.0.0/8`.
pub const VIRTUAL_PREFIX_BITS: u8 = 8;
/// Prefix length of the network of the ports with one number, `100.(64 + port).0.0/16`.
pub const PORT_PREFIX_BITS: u8 = 16;
/// The greatest server id for which both kinds of addresses exist.
pub const MAX_SERVER: NodeId = 65_533;
/// Number of ports of a server that have a network each, within `100.64.0.0/10`.
pub const MAX_PORTS: u8 = 64;

/// The greatest id of a switch that has an address, in `172.16.0.0/12`.
pub const MAX_SWITCH: NodeId = (1 << 20) - 3;

const VIRTUAL_NETWORK: u32 = 10 << 24;
const SWITCH_NETWORK: u32 = 172 << 24 | 16 << 16;
const PORT_NETWORKS: u32 = 100 << 24 | 64 << 16;

/// The address that applications use for a server. `None` past [`MAX_SERVER`].
pub fn virtual_ip(server: NodeId) -> Option<Ipv4Addr> {
    (server <= MAX_SERVER).then(|| Ipv4Addr::from_bits(VIRTUAL_NETWORK + server + 1))
}

/// The server of a virtual address, even if the network has no such server.
pub fn server_of(ip: Ipv4Addr) -> Option<NodeId> {
    let server = ip.to_bits().checked_sub(VIRTUAL_NETWORK + 1)?;
    (server <= MAX_SERVER).then_some(server)
}

/// Whether an address is in the virtual network `10.0.0.0/8`; all others are outside, behind a
/// gateway.
pub fn is_virtual(ip: Ipv4Addr) -> bool {
    ip.octets()[0] == 10
}

/// The control plane's address of a server's port. `None` past [`MAX_SERVER`] or [`MAX_PORTS`].
pub fn port_ip(server: NodeId, port: u8) -> Option<Ipv4Addr> {
    (server <= MAX_SERVER && port < MAX_PORTS)
        .then(|| Ipv4Addr::from_bits(PORT_NETWORKS + (u32::from(port) << 16) + server + 1))
}

/// The server and port of a control plane's address.
pub fn port_of(ip: Ipv4Addr) -> Option<(NodeId, u8)> {
    let port = u8::try_from(ip.to_bits().checked_sub(PORT_NETWORKS)? >> 16).ok()?;
    let server = (ip.to_bits() & 0xffff).checked_sub(1)?;
    (port < MAX_PORTS && server <= MAX_SERVER).then_some((server, port))
}

/// The address of a switch that is a router, `172.16.0.0 + id + 1`, as shown by `traceroute`.
/// `None` past [`MAX_SWITCH`].
pub fn switch_ip(switch: NodeId) -> Option<Ipv4Addr> {
    (switch <= MAX_SWITCH).then(|| Ipv4Addr::from_bits(SWITCH_NETWORK + switch + 1))
}

/// The switch of a router's address, even if the network has no such switch.
pub fn switch_of(ip: Ipv4Addr) -> Option<NodeId> {
    let switch = ip.to_bits().checked_sub(SWITCH_NETWORK + 1)?;
    (switch <= MAX_SWITCH).then_some(switch)
}

/// Whether an address is a control plane's, in `100.64.0.0/10`: such packets go to the stack
/// untouched.
pub fn is_control(ip: Ipv4Addr) -> bool {
    ip.octets()[0] == 100 && ip.octets()[1] & 0xc0 == 64
}

/// The hardware address of a server's port: locally administered,
/// `02:cb:<port>:<id in three bytes>`.
pub fn port_mac(server: NodeId, port: u8) -> [u8; 6] {
    let [_, high, middle, low] = server.to_be_bytes();
    [0x02, 0xcb, port, high, middle, low]
}

/// The hardware address of a server's virtual NIC: that of a port 255.
pub fn vnic_mac(server: NodeId) -> [u8; 6] {
    port_mac(server, 0xff)
}

/// First bits of all segment addresses.
const SEGMENT_NETWORK: u128 = 0xfd63_7962 << 96;
/// Prefix lengths of segment addresses: by the ToR from which a relay is entered, and by this ToR
/// and the relay.
pub const SEGMENT_PREFIX_BITS: [u8; 2] = [64, 96];

/// A detour's address for a relay: the ToR before it, the relay, the ToR after it.
/// `[subways §6, RFC 8986]`
pub fn segment(from: NodeId, relay: NodeId, to: NodeId) -> Ipv6Addr {
    let [from, relay, to] = [from, relay, to].map(u128::from);
    Ipv6Addr::from_bits(SEGMENT_NETWORK | from << 64 | relay << 32 | to)
}

/// A detour's address for the ToR at its end.
pub fn exit_segment(tor: NodeId) -> Ipv6Addr {
    segment(tor, NodeId::MAX, NodeId::MAX)
}

/// A detour's address for the server at its end, with the ToR before it.
pub fn arrival_segment(from: NodeId, server: NodeId) -> Ipv6Addr {
    segment(from, server, NodeId::MAX)
}

/// The source address of a node's detours.
pub fn detour_source(node: NodeId) -> Ipv6Addr {
    segment(NodeId::MAX, NodeId::MAX, node)
}
