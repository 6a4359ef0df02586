//! Links, addresses and neighbours: what `ip link`, `ip address` and `ip neigh` do. `[man 7 rtnetlink]`

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::message::{Answer, Attributes, Batch, CREATE, DUMP, EXCLUSIVE, REPLACE};
use crate::names::Mac;

pub(super) const RTM_NEWLINK: u16 = 16;
const RTM_DELLINK: u16 = 17;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
pub(super) const RTM_NEWNEIGH: u16 = 28;

pub(super) const IFLA_ADDRESS: u16 = 1;
pub(super) const IFLA_IFNAME: u16 = 3;
pub(super) const IFLA_MTU: u16 = 4;
const IFLA_MASTER: u16 = 10;
pub(super) const IFLA_LINKINFO: u16 = 18;
pub(super) const IFLA_NET_NS_FD: u16 = 28;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
pub(super) const IFLA_INFO_KIND: u16 = 1;
pub(super) const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_BR_FORWARD_DELAY: u16 = 1;
const IFLA_BR_STP_STATE: u16 = 5;
const IFLA_BR_MCAST_SNOOPING: u16 = 23;

const IFF_UP: u32 = 0x1;
const IFF_NOARP: u32 = 0x80;
const IFF_LOWER_UP: u32 = 0x10000;
const AF_INET: u8 = 2;
pub(super) const NUD_PERMANENT: u16 = 0x80;
/// A super-packet grows by the header on its way out; below this size it still fits what a packet may be.
const GSO_MAX_BYTES: u32 = 65_000;

pub(super) fn link_header(family: u8, index: u32, flags: u32, change: u32) -> [u8; 16] {
    let mut header = [0; 16];
    header[0] = family;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..16].copy_from_slice(&change.to_ne_bytes());
    header
}

/// One end of a veth pair.
#[derive(Clone, Debug)]
pub struct End<'a> {
    /// The interface's name.
    pub name: String,
    /// Its number, which we choose: nothing has to be asked afterwards.
    pub index: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// Whether it asks for addresses by ARP.
    pub arp: bool,
    /// The bridge it belongs to.
    pub bridge: Option<u32>,
    /// The namespace it is put into; that of the socket where absent.
    pub namespace: Option<BorrowedFd<'a>>,
}

/// A pair of interfaces, one queue each way, made up.
#[derive(Clone, Debug)]
pub struct Veth<'a> {
    /// The near end.
    pub near: End<'a>,
    /// The far end.
    pub far: End<'a>,
    /// What both carry, in bytes of IP.
    pub mtu: u32,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The interface's name.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// Its hardware address.
    pub mac: Mac,
    /// What it carries, in bytes of IP.
    pub mtu: u32,
}

fn end_header(end: &End<'_>, up: bool) -> [u8; 16] {
    let flags = if end.arp { 0 } else { IFF_NOARP } | if up { IFF_UP } else { 0 };
    link_header(0, end.index, flags, IFF_UP | IFF_NOARP)
}

fn end_attributes(attributes: &mut Attributes<'_>, end: &End<'_>, mtu: u32) {
    attributes.put_text(IFLA_IFNAME, &end.name);
    attributes.put(IFLA_ADDRESS, &end.mac);
    attributes.put_u32(IFLA_MTU, mtu);
    attributes.put_u32(IFLA_NUM_TX_QUEUES, 1);
    attributes.put_u32(IFLA_NUM_RX_QUEUES, 1);
    attributes.put_u32(IFLA_GSO_MAX_SIZE, GSO_MAX_BYTES);
    attributes.put_u32(IFLA_GSO_IPV4_MAX_SIZE, GSO_MAX_BYTES);
    if let Some(namespace) = end.namespace {
        attributes.put_u32(IFLA_NET_NS_FD, namespace.as_raw_fd() as u32);
    }
}

/// Makes a veth pair with both ends named, addressed and joined to their bridges. The near end is up; the far end has
/// to be set up afterwards, since the kernel makes it before it has a peer.
pub fn add_veth(batch: &mut Batch, veth: &Veth<'_>) {
    let purpose = format!("making the link {} - {}", veth.near.name, veth.far.name);
    let header = end_header(&veth.near, true);
    batch.request(RTM_NEWLINK, CREATE | EXCLUSIVE, &header, purpose, |attributes| {
        end_attributes(attributes, &veth.near, veth.mtu);
        if let Some(bridge) = veth.near.bridge {
            attributes.put_u32(IFLA_MASTER, bridge);
        }
        attributes.nest(IFLA_LINKINFO, |info| {
            info.put(IFLA_INFO_KIND, b"veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.raw(&end_header(&veth.far, false));
                    end_attributes(peer, &veth.far, veth.mtu);
                });
            });
        });
    });
    // The kernel passes over a peer's bridge while it makes the pair.
    if let Some(bridge) = veth.far.bridge {
        join_bridge(batch, veth.far.index, bridge);
    }
}

/// Makes an interface a port of a bridge.
pub fn join_bridge(batch: &mut Batch, index: u32, bridge: u32) {
    let purpose = format!("joining interface {index} to its switch");
    let header = link_header(0, index, 0, 0);
    batch.request(RTM_NEWLINK, 0, &header, purpose, |attributes| {
        attributes.put_u32(IFLA_MASTER, bridge);
    });
}

/// Makes a bridge that forwards at once: no spanning tree, no delay, no snooping.
pub fn add_bridge(batch: &mut Batch, bridge: &Bridge) {
    let purpose = format!("making the switch {}", bridge.name);
    let header = link_header(0, bridge.index, IFF_UP, IFF_UP);
    batch.request(RTM_NEWLINK, CREATE | EXCLUSIVE, &header, purpose, |attributes| {
        attributes.put_text(IFLA_IFNAME, &bridge.name);
        attributes.put(IFLA_ADDRESS, &bridge.mac);
        attributes.put_u32(IFLA_MTU, bridge.mtu);
        attributes.nest(IFLA_LINKINFO, |info| {
            info.put(IFLA_INFO_KIND, b"bridge");
            info.nest(IFLA_INFO_DATA, |data| {
                data.put_u32(IFLA_BR_FORWARD_DELAY, 0);
                data.put_u32(IFLA_BR_STP_STATE, 0);
                data.put_u8(IFLA_BR_MCAST_SNOOPING, 0);
            });
        });
    });
}

/// Sets an interface up or down. Down forgets its neighbours, even permanent ones.
pub fn set_up(batch: &mut Batch, index: u32, up: bool) {
    let purpose = format!("setting interface {index} {}", if up { "up" } else { "down" });
    let header = link_header(0, index, if up { IFF_UP } else { 0 }, IFF_UP);
    batch.request(RTM_NEWLINK, 0, &header, purpose, |_| {});
}

/// Removes an interface, and with it its peer.
pub fn delete_link(batch: &mut Batch, index: u32) {
    batch.request(
        RTM_DELLINK,
        0,
        &link_header(0, index, 0, 0),
        format!("removing interface {index}"),
        |_| {},
    );
}

/// Gives an interface an address; an address it has already is no error.
pub fn add_address(batch: &mut Batch, index: u32, address: Ipv4Addr, prefix_bits: u8) {
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    let mut header = [AF_INET, prefix_bits, 0, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    batch.request(
        RTM_NEWADDR,
        CREATE | REPLACE,
        &header,
        format!("giving interface {index} {address}"),
        |attributes| {
            attributes.put(IFA_LOCAL, &address.octets());
            attributes.put(IFA_ADDRESS, &address.octets());
        },
    );
}

/// A neighbour that is known for good, so that nobody has to ask for it.
pub fn add_neighbour(batch: &mut Batch, index: u32, address: Ipv4Addr, mac: &Mac) {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    let mut header = [0; 12];
    header[0] = AF_INET;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    let purpose = format!("telling interface {index} of its neighbour {address}");
    batch.request(RTM_NEWNEIGH, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put(NDA_DST, &address.octets());
        attributes.put(NDA_LLADDR, mac);
    });
}

/// Asks for all interfaces.
pub fn link_dump() -> Batch {
    let mut batch = Batch::new();
    batch.request(
        RTM_GETLINK,
        DUMP,
        &link_header(0, 0, 0, 0),
        "listing the interfaces",
        |_| {},
    );
    batch
}

/// What a link message says of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Set up by its owner, and its peer is there and up.
    pub carrier: bool,
    /// It is being removed.
    pub removed: bool,
}

/// Reads an answer to [`link_dump`] or an announcement.
pub fn read_link_state(answer: Answer<'_>) -> Option<LinkState> {
    if answer.kind != RTM_NEWLINK && answer.kind != RTM_DELLINK {
        return None;
    }
    let index = u32::from_ne_bytes(*answer.body.get(4..)?.first_chunk()?);
    let flags = u32::from_ne_bytes(*answer.body.get(8..)?.first_chunk()?);
    let name = answer.attributes(16).find_value(IFLA_IFNAME)?;
    Some(LinkState {
        index,
        name: String::from_utf8_lossy(name).trim_end_matches('\0').to_owned(),
        carrier: flags & (IFF_UP | IFF_LOWER_UP) == IFF_UP | IFF_LOWER_UP,
        removed: answer.kind == RTM_DELLINK,
    })
}
