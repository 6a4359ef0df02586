//! Ethernet inside UDP between hosts, like `ip link add type vxlan` and `bridge fdb`. `[RFC 7348]`

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::link::{
    IFLA_ADDRESS, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU, IFLA_NET_NS_FD,
    NUD_PERMANENT, RTM_NEWLINK, RTM_NEWNEIGH, link_header,
};
use super::message::{APPEND, Batch, CREATE, EXCLUSIVE};
use crate::names::Mac;

/// UDP port of all our tunnels. The overlays of Docker and Kubernetes use others.
pub const PORT: u16 = 14_789;
/// Bytes that a tunnel adds to an IP packet: Ethernet, VXLAN, UDP, IPv4.
pub const OUTER_HEADER_BYTES: u32 = 14 + 8 + 8 + 20;

const IFLA_VXLAN_ID: u16 = 1;
const IFLA_VXLAN_LOCAL: u16 = 4;
const IFLA_VXLAN_PORT: u16 = 15;
const AF_BRIDGE: u8 = 7;
const NTF_SELF: u8 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub struct Vxlan<'a> {
    /// The interface's name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Largest IP packet that it carries, without its own headers.
    pub mtu: u32,
    /// Number of the network it belongs to, 24 bits.
    pub vni: u32,
    /// Our own address on the network between the hosts.
    pub local: Ipv4Addr,
    /// The namespace it is put into. Its UDP socket stays in the namespace of the netlink socket.
    pub namespace: BorrowedFd<'a>,
}

/// Makes an end of a tunnel, down and without a far end.
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
                data.put(IFLA_VXLAN_PORT, &PORT.to_be_bytes());
            });
        });
    });
}

/// Adds a host that a tunnel floods packets for unknown addresses to. The tunnel learns the host of
/// each address.
pub fn add_far_end(batch: &mut Batch, index: u32, host: Ipv4Addr) {
    let mut header = [0; 12];
    header[0] = AF_BRIDGE;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    header[10] = NTF_SELF;
    let purpose = format!("adding the host {host} to the tunnel {index}");
    batch.request(RTM_NEWNEIGH, CREATE | APPEND, &header, purpose, |attributes| {
        attributes.put(NDA_LLADDR, &[0; 6]);
        attributes.put(NDA_DST, &host.octets());
    });
}
