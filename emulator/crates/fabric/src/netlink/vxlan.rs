//! Ethernet inside UDP between hosts, like `ip link add type vxlan` and `bridge fdb`. `[RFC 7348]`

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::link::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU, IFLA_NET_NS_FD,
    NUD_PERMANENT, RTM_NEWLINK, RTM_NEWNEIGH, join_bridge, link_header,
};
use super::message::{APPEND, Batch, CREATE, EXCLUSIVE};
use crate::names::Mac;

/// UDP port of all our tunnels. The overlays of Docker and Kubernetes use others.
pub const PORT: u16 = 14_789;
/// Bytes that a tunnel adds to an IP packet: Ethernet, VXLAN, UDP, IPv4.
pub const OUTER_HEADER_BYTES: u32 = 14 + 8 + 8 + 20;

const IFLA_VXLAN_ID: u16 = 1;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_LEARNING: u16 = 7;
const IFLA_VXLAN_PORT: u16 = 15;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
const IFLA_BRPORT_LEARNING: u16 = 8;
const AF_BRIDGE: u8 = 7;
const NTF_SELF: u8 = 2;
const NTF_MASTER: u8 = 4;
const NUD_NOARP: u16 = 0x40;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub struct Vxlan<'a> {
    /// Name of the interface.
    pub name: String,
    /// Number of the interface.
    pub index: u32,
    /// Hardware address of the interface.
    pub mac: Mac,
    /// Largest IP packet inside the tunnel, without the tunnel's own headers.
    pub mtu: u32,
    /// VXLAN network identifier, 24 bits.
    pub vni: u32,
    /// This host's address on the network between the hosts.
    pub local: Ipv4Addr,
    /// The namespace that gets the interface. The tunnel's UDP socket stays in the namespace of the
    /// netlink socket.
    pub namespace: BorrowedFd<'a>,
}

/// Makes an end of a tunnel, set down and without a far end.
pub fn add_vxlan(batch: &mut Batch, vxlan: &Vxlan<'_>) {
    let purpose = format!(
        "making the tunnel {} with VXLAN network {}",
        vxlan.name, vxlan.vni
    );
    let header = link_header(0, vxlan.index, 0, 0);
    batch.request(RTM_NEWLINK, CREATE | EXCLUSIVE, &header, purpose, |attributes| {
        attributes.put_text(IFLA_IFNAME, &vxlan.name);
        attributes.put(IFLA_ADDRESS, &vxlan.mac);
        attributes.put_u32(IFLA_MTU, vxlan.mtu);
        attributes.put_u32(IFLA_NET_NS_FD, vxlan.namespace.as_raw_fd() as u32);
        attributes.nest(IFLA_LINKINFO, |info| {
            info.put(IFLA_INFO_KIND, b"vxlan");
            info.nest(IFLA_INFO_DATA, |data| {
                data.put_u32(IFLA_VXLAN_ID, vxlan.vni);
                data.put(IFLA_VXLAN_LOCAL, &vxlan.local.octets());
                // All addresses are configured. With learning, a forged packet to the UDP port
                // could redirect the traffic of a server.
                data.put_u8(IFLA_VXLAN_LEARNING, 0);
                data.put(IFLA_VXLAN_PORT, &PORT.to_be_bytes());
            });
        });
    });
}

/// Makes a tunnel a port of a switch, without learning addresses from it.
pub fn join_bridge_without_learning(batch: &mut Batch, index: u32, bridge: u32) {
    join_bridge(batch, index, bridge);
    let purpose = format!("turning learning off for the tunnel {index}");
    let header = link_header(0, index, 0, 0);
    batch.request(RTM_NEWLINK, 0, &header, purpose, |attributes| {
        attributes.nest(IFLA_LINKINFO, |info| {
            info.put(IFLA_INFO_SLAVE_KIND, b"bridge");
            info.nest(IFLA_INFO_SLAVE_DATA, |data| data.put_u8(IFLA_BRPORT_LEARNING, 0));
        });
    });
}

/// Adds a host to which a tunnel sends broadcasts.
pub fn add_far_end(batch: &mut Batch, index: u32, host: Ipv4Addr) {
    let purpose = format!("adding the host {host} to the tunnel {index}");
    entry(batch, index, &[0; 6], Some(host), APPEND, purpose);
}

/// Adds a hardware address and its host to a tunnel, and the address to the tunnel's switch.
pub fn add_far_address(batch: &mut Batch, index: u32, mac: &Mac, host: Ipv4Addr) {
    let purpose = format!("adding an address of the host {host} to the tunnel {index}");
    entry(batch, index, mac, Some(host), EXCLUSIVE, purpose);
    let purpose = format!("adding an address of the host {host} to the switch of the tunnel {index}");
    entry(batch, index, mac, None, EXCLUSIVE, purpose);
}

/// Adds a permanent entry to the forwarding table of a tunnel, or without a host to that of its
/// switch.
fn entry(batch: &mut Batch, index: u32, mac: &Mac, host: Option<Ipv4Addr>, how: u16, purpose: String) {
    let mut header = [0; 12];
    header[0] = AF_BRIDGE;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let (state, table) = match host {
        Some(_) => (NUD_PERMANENT, NTF_SELF),
        // In the table of a switch, NUD_PERMANENT would mean that the address is the switch's own.
        None => (NUD_NOARP, NTF_MASTER),
    };
    header[8..10].copy_from_slice(&state.to_ne_bytes());
    header[10] = table;
    batch.request(RTM_NEWNEIGH, CREATE | how, &header, purpose, |attributes| {
        attributes.put(NDA_LLADDR, mac);
        if let Some(host) = host {
            attributes.put(NDA_DST, &host.octets());
        }
    });
}
