//! Links, addresses and neighbours, as `ip link`, `ip address` and `ip neigh` configure them.
//! `[man 7 rtnetlink]`

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::message::{Answer, Attributes, Batch, CREATE, DUMP, EXCLUSIVE, REPLACE, attributes};
use super::octets::PLACES;
use super::socket::{Netlink, gone_already, no_excuse};
use crate::error::Result;
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
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_INET6_STATS: u16 = 3;
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
const AF_INET6: u16 = 10;
pub(super) const NUD_PERMANENT: u16 = 0x80;
/// Largest super-packet: it grows by our header, and must stay below the limit of an IP packet.
pub const GSO_MAX_BYTES: u32 = 65_000;

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
    /// Name of the interface.
    pub name: String,
    /// Interface number, which we choose, so that it need not be queried.
    pub index: u32,
    /// Hardware address of the interface.
    pub mac: Mac,
    /// Whether the interface uses ARP.
    pub arp: bool,
    /// The bridge of which it is a port.
    pub bridge: Option<u32>,
    /// The namespace that gets the interface; `None` for that of the socket.
    pub namespace: Option<BorrowedFd<'a>>,
}

/// A veth pair, with one queue per direction.
#[derive(Clone, Debug)]
pub struct Veth<'a> {
    /// The near end.
    pub near: End<'a>,
    /// The far end.
    pub far: End<'a>,
    /// Largest IP packet on the pair.
    pub mtu: u32,
    /// Longest super-packet that either end sends, at most [`GSO_MAX_BYTES`].
    pub super_packet_bytes: u32,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// Name of the bridge's interface.
    pub name: String,
    /// Interface number of the bridge.
    pub index: u32,
    /// Hardware address of the bridge.
    pub mac: Mac,
    /// Largest IP packet on the bridge.
    pub mtu: u32,
}

fn end_header(end: &End<'_>, up: bool) -> [u8; 16] {
    let flags = if end.arp { 0 } else { IFF_NOARP } | if up { IFF_UP } else { 0 };
    link_header(0, end.index, flags, IFF_UP | IFF_NOARP)
}

fn end_attributes(attributes: &mut Attributes<'_>, end: &End<'_>, mtu: u32, super_packet_bytes: u32) {
    attributes.put_text(IFLA_IFNAME, &end.name);
    attributes.put(IFLA_ADDRESS, &end.mac);
    attributes.put_u32(IFLA_MTU, mtu);
    attributes.put_u32(IFLA_NUM_TX_QUEUES, 1);
    attributes.put_u32(IFLA_NUM_RX_QUEUES, 1);
    attributes.put_u32(IFLA_GSO_MAX_SIZE, super_packet_bytes);
    attributes.put_u32(IFLA_GSO_IPV4_MAX_SIZE, super_packet_bytes);
    if let Some(namespace) = end.namespace {
        attributes.put_u32(IFLA_NET_NS_FD, namespace.as_raw_fd() as u32);
    }
}

/// Creates a veth pair, and joins both ends to their bridges. The near end is up. The far end must
/// be set up afterwards: the kernel creates it before it has a peer.
pub fn add_veth(batch: &mut Batch, veth: &Veth<'_>) {
    let purpose = format!("making the link {} - {}", veth.near.name, veth.far.name);
    let header = end_header(&veth.near, true);
    batch.request(RTM_NEWLINK, CREATE | EXCLUSIVE, &header, purpose, |attributes| {
        end_attributes(attributes, &veth.near, veth.mtu, veth.super_packet_bytes);
        if let Some(bridge) = veth.near.bridge {
            attributes.put_u32(IFLA_MASTER, bridge);
        }
        attributes.nest(IFLA_LINKINFO, |info| {
            info.put(IFLA_INFO_KIND, b"veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.raw(&end_header(&veth.far, false));
                    end_attributes(peer, &veth.far, veth.mtu, veth.super_packet_bytes);
                });
            });
        });
    });
    // The kernel ignores the bridge of the far end while it creates the pair.
    if let Some(bridge) = veth.far.bridge {
        join_bridge(batch, veth.far.index, bridge);
    }
}

/// Sets the MTU of an interface.
pub fn set_mtu(batch: &mut Batch, index: u32, mtu: u32) {
    let purpose = format!("setting the MTU of interface {index}");
    batch.request(
        RTM_NEWLINK,
        0,
        &link_header(0, index, 0, 0),
        purpose,
        |attributes| {
            attributes.put_u32(IFLA_MTU, mtu);
        },
    );
}

/// Makes an interface a port of a bridge.
pub fn join_bridge(batch: &mut Batch, index: u32, bridge: u32) {
    let purpose = format!("adding interface {index} to its switch");
    let header = link_header(0, index, 0, 0);
    batch.request(RTM_NEWLINK, 0, &header, purpose, |attributes| {
        attributes.put_u32(IFLA_MASTER, bridge);
    });
}

/// Makes a bridge that forwards immediately, without spanning tree, delay or multicast snooping.
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

/// Sets an interface up or down. An interface that is set down loses its neighbours, even permanent
/// ones.
pub fn set_up(batch: &mut Batch, index: u32, up: bool) {
    let purpose = format!("setting interface {index} {}", if up { "up" } else { "down" });
    let header = link_header(0, index, if up { IFF_UP } else { 0 }, IFF_UP);
    batch.request(RTM_NEWLINK, 0, &header, purpose, |_| {});
}

/// Removes an interface and its peer.
pub fn delete_link(batch: &mut Batch, index: u32) {
    batch.request(
        RTM_DELLINK,
        0,
        &link_header(0, index, 0, 0),
        format!("removing interface {index}"),
        |_| {},
    );
}

/// Adds an address to an interface; an address that it already has is no error.
pub fn add_address(batch: &mut Batch, index: u32, address: Ipv4Addr, prefix_bits: u8) {
    const IFA_ADDRESS: u16 = 1;
    const IFA_LOCAL: u16 = 2;
    let mut header = [AF_INET, prefix_bits, 0, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    batch.request(
        RTM_NEWADDR,
        CREATE | REPLACE,
        &header,
        format!("adding the address {address} to interface {index}"),
        |attributes| {
            attributes.put(IFA_LOCAL, &address.octets());
            attributes.put(IFA_ADDRESS, &address.octets());
        },
    );
}

/// Adds a permanent neighbour, so that no ARP is needed.
pub fn add_neighbour(batch: &mut Batch, index: u32, address: Ipv4Addr, mac: &Mac) {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    let mut header = [0; 12];
    header[0] = AF_INET;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    let purpose = format!("adding the neighbour {address} to interface {index}");
    batch.request(RTM_NEWNEIGH, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put(NDA_DST, &address.octets());
        attributes.put(NDA_LLADDR, mac);
    });
}

/// Requests all interfaces.
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

/// An interface, as a link message describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// Number of the interface.
    pub index: u32,
    /// Name of the interface.
    pub name: String,
    /// Whether the interface and its peer are up.
    pub carrier: bool,
    /// Whether the interface is being removed.
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

/// Packets that an interface has received; `None` if the kernel does not count them. Errors: the
/// interface no longer exists.
pub fn received_packets(socket: &mut Netlink, index: u32) -> Result<Option<u64>> {
    let mut batch = Batch::new();
    let purpose = format!("reading the counters of interface {index}");
    batch.request(RTM_GETLINK, 0, &link_header(0, index, 0, 0), purpose, |_| {});
    let mut packets = None;
    socket.run_and_read(&mut batch, no_excuse, |answer| {
        if answer.kind == RTM_NEWLINK {
            // The first counter is the one of received packets.
            // `[linux include/uapi/linux/if_link.h]`
            let counters = answer.attributes(16).find_value(IFLA_STATS64);
            packets = counters.and_then(|counters| Some(u64::from_ne_bytes(*counters.first_chunk()?)));
        }
    })?;
    Ok(packets)
}

/// Traffic counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes of IPv6 packets, received and sent. In a routed network these are the packets on
    /// detours.
    pub wrapped_bytes: [u64; 2],
}

/// Traffic counters of all interfaces in a socket's namespace, by interface number.
pub fn traffic(socket: &mut Netlink) -> Result<BTreeMap<u32, Traffic>> {
    let mut all = BTreeMap::new();
    socket.dump(&mut link_dump(), |answer| {
        // Counters of packets precede those of bytes, and received precedes sent.
        // `[linux include/uapi/linux/if_link.h]`
        let read = || {
            let index = u32::from_ne_bytes(*answer.body.get(4..)?.first_chunk()?);
            let counters = answer.attributes(16).find_value(IFLA_STATS64)?;
            let counter = |at: usize| Some(u64::from_ne_bytes(*counters.get(8 * at..)?.first_chunk()?));
            let (received_bytes, sent_bytes) = (counter(2)?, counter(3)?);
            let traffic = Traffic {
                received_bytes,
                sent_bytes,
                wrapped_bytes: ipv6_bytes(answer).unwrap_or_default(),
            };
            Some((index, traffic))
        };
        all.extend(read());
    })?;
    Ok(all)
}

/// Bytes of the IPv6 packets that an interface has received and sent; `None` where it has no IPv6.
fn ipv6_bytes(answer: Answer<'_>) -> Option<[u64; 2]> {
    let places = (*PLACES)?;
    let counters = ipv6_counters(&answer)?;
    let mut bytes = [0; 2];
    for (bytes, at) in bytes.iter_mut().zip(places) {
        *bytes = u64::from_ne_bytes(*counters.get(8 * at..)?.first_chunk()?);
    }
    Some(bytes)
}

/// The kernel's `IPSTATS_MIB` of an interface, in words of 8 bytes; `None` where it has no IPv6.
pub(super) fn ipv6_counters<'a>(answer: &Answer<'a>) -> Option<&'a [u8]> {
    let families = attributes(answer.attributes(16).find_value(IFLA_AF_SPEC)?);
    attributes(families.find_value(AF_INET6)?).find_value(IFLA_INET6_STATS)
}

/// Removes the interfaces of a socket's namespace that `is_wanted` accepts.
pub fn delete_where(socket: &mut Netlink, is_wanted: impl Fn(&LinkState) -> bool) -> Result<()> {
    let mut batch = Batch::new();
    socket.dump(&mut link_dump(), |answer| {
        if let Some(link) = read_link_state(answer).filter(&is_wanted) {
            delete_link(&mut batch, link.index);
        }
    })?;
    socket.run(&mut batch, gone_already)
}
