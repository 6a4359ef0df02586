//! Segment routing: next hops that encapsulate packets with a list of nodes to visit, and the
//! routes of these nodes. `[RFC 8754, RFC 8986, man 8 ip-route]`

use std::net::{Ipv4Addr, Ipv6Addr};

use super::link::{NUD_PERMANENT, RTM_NEWNEIGH};
use super::message::{Batch, CREATE, REPLACE};
use super::nexthop::{NHA_GATEWAY, NHA_ID, NHA_OIF, RTM_NEWNEXTHOP, by_gateway};
use super::route::{
    RT_SCOPE_UNIVERSE, RT_TABLE_MAIN, RTA_DST, RTA_GATEWAY, RTA_OIF, RTM_DELROUTE, RTM_NEWROUTE, RTN_UNICAST,
    RTNH_F_ONLINK, RTPROT_STATIC,
};
use crate::names::Mac;

const AF_INET6: u8 = 10;
const RTM_NEWADDR: u16 = 20;
const RTA_ENCAP_TYPE: u16 = 21;
const RTA_ENCAP: u16 = 22;
const NHA_ENCAP_TYPE: u16 = 7;
const NHA_ENCAP: u16 = 8;
/// The kernel requires this flag on attributes that contain other attributes.
const NESTED: u16 = 0x8000;
const LWTUNNEL_ENCAP_SEG6: u16 = 5;
const LWTUNNEL_ENCAP_SEG6_LOCAL: u16 = 7;
const SEG6_IPTUNNEL_SRH: u16 = 1;
/// Encapsulation mode: the first segment is only the packet's destination and does not appear in
/// the list.
const SEG6_IPTUN_MODE_ENCAP_RED: i32 = 3;
const SEGMENT_ROUTING_HEADER: u8 = 4;
const SEG6_LOCAL_ACTION: u16 = 1;
const SEG6_LOCAL_NH4: u16 = 4;
const SEG6_LOCAL_NH6: u16 = 5;
const SEG6_LOCAL_ACTION_END_X: u32 = 2;
const SEG6_LOCAL_ACTION_END_DX4: u32 = 6;

/// Adds a permanent neighbour with an IPv6 address.
pub fn add_neighbour_v6(batch: &mut Batch, index: u32, address: Ipv6Addr, mac: &Mac) {
    const NDA_DST: u16 = 1;
    const NDA_LLADDR: u16 = 2;
    let mut header = [0; 12];
    header[0] = AF_INET6;
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    let purpose = format!("adding the neighbour {address} to interface {index}");
    batch.request(RTM_NEWNEIGH, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put(NDA_DST, &address.octets());
        attributes.put(NDA_LLADDR, mac);
    });
}

/// Adds an IPv6 address to an interface, usable immediately: without duplicate detection.
pub fn add_address_v6(batch: &mut Batch, index: u32, address: Ipv6Addr) {
    const IFA_ADDRESS: u16 = 1;
    const IFA_F_NODAD: u8 = 2;
    let mut header = [AF_INET6, 128, IFA_F_NODAD, 0, 0, 0, 0, 0];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    let purpose = format!("adding the address {address} to interface {index}");
    batch.request(RTM_NEWADDR, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put(IFA_ADDRESS, &address.octets());
    });
}

/// Adds or replaces a next hop that encapsulates packets, so that they visit these segments in this
/// order. `gateway` only selects the interface: encapsulated packets are routed again.
pub fn add_next_hop_by_segments(
    batch: &mut Batch,
    id: u32,
    index: u32,
    gateway: Ipv4Addr,
    segments: &[Ipv6Addr],
) {
    let purpose = format!("adding the next hop through {segments:?} over interface {index}");
    batch.request(
        RTM_NEWNEXTHOP,
        CREATE | REPLACE,
        &by_gateway(),
        purpose,
        |attributes| {
            attributes.put_u32(NHA_ID, id);
            attributes.put_u32(NHA_OIF, index);
            attributes.put(NHA_GATEWAY, &gateway.octets());
            attributes.put(NHA_ENCAP_TYPE, &LWTUNNEL_ENCAP_SEG6.to_ne_bytes());
            attributes.nest(NHA_ENCAP | NESTED, |encap| {
                encap.put(SEG6_IPTUNNEL_SRH, &wrapping(segments));
            });
        },
    );
}

/// The kernel's `struct seg6_iptunnel_encap`: a mode, and a segment routing header with the
/// segments in reverse order.
fn wrapping(segments: &[Ipv6Addr]) -> Vec<u8> {
    let last = (segments.len() - 1) as u8;
    let mut bytes = SEG6_IPTUN_MODE_ENCAP_RED.to_ne_bytes().to_vec();
    let length = 2 * segments.len() as u8;
    bytes.extend_from_slice(&[0, length, SEGMENT_ROUTING_HEADER, last, last, 0, 0, 0]);
    for segment in segments.iter().rev() {
        bytes.extend_from_slice(&segment.octets());
    }
    bytes
}

/// How a node handles packets for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentAction {
    /// Sends packets to a neighbour.
    Forward(Ipv6Addr),
    /// Makes the next segment the destination, and sends packets to this address.
    GoOn(Ipv6Addr),
    /// Removes the outer header and routes the inner packet.
    Unwrap,
}

/// Adds a route for segments over an interface, or replaces the one for the same segments.
pub fn add_segment_route(
    batch: &mut Batch,
    to: Ipv6Addr,
    prefix_bits: u8,
    index: u32,
    action: SegmentAction,
) {
    let flags = match action {
        SegmentAction::Forward(_) => RTNH_F_ONLINK,
        SegmentAction::GoOn(_) | SegmentAction::Unwrap => 0,
    };
    let purpose = format!("adding the route to {to}/{prefix_bits} over interface {index}: {action:?}");
    let header = header(prefix_bits, flags);
    batch.request(RTM_NEWROUTE, CREATE | REPLACE, &header, purpose, |attributes| {
        attributes.put(RTA_DST, &to.octets());
        attributes.put_u32(RTA_OIF, index);
        let (number, name, address) = match action {
            SegmentAction::Forward(via) => return attributes.put(RTA_GATEWAY, &via.octets()),
            SegmentAction::GoOn(next) => (SEG6_LOCAL_ACTION_END_X, SEG6_LOCAL_NH6, next.octets().to_vec()),
            SegmentAction::Unwrap => (SEG6_LOCAL_ACTION_END_DX4, SEG6_LOCAL_NH4, vec![0; 4]),
        };
        attributes.put(RTA_ENCAP_TYPE, &LWTUNNEL_ENCAP_SEG6_LOCAL.to_ne_bytes());
        attributes.nest(RTA_ENCAP | NESTED, |encap| {
            encap.put_u32(SEG6_LOCAL_ACTION, number);
            encap.put(name, &address);
        });
    });
}

/// Removes a route of [`add_segment_route`].
pub fn delete_segment_route(batch: &mut Batch, to: Ipv6Addr, prefix_bits: u8) {
    let purpose = format!("removing the route to {to}/{prefix_bits}");
    batch.request(RTM_DELROUTE, 0, &header(prefix_bits, 0), purpose, |attributes| {
        attributes.put(RTA_DST, &to.octets());
    });
}

fn header(prefix_bits: u8, flags: u32) -> [u8; 12] {
    let mut header = [0; 12];
    header[..2].copy_from_slice(&[AF_INET6, prefix_bits]);
    header[4..8].copy_from_slice(&[RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST]);
    header[8..].copy_from_slice(&flags.to_ne_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The layout of RFC 8754, §2: segments in reverse order; the active segment is the packet's
    /// first one.
    #[test]
    fn a_list_of_segments_has_the_layout_of_the_standard() {
        let [first, second, third] = [1, 2, 3].map(|last| Ipv6Addr::new(0xfd63, 0, 0, 0, 0, 0, 0, last));
        let bytes = wrapping(&[first, second, third]);
        let mut expected = 3i32.to_ne_bytes().to_vec();
        expected.extend_from_slice(&[0, 6, 4, 2, 2, 0, 0, 0]);
        for segment in [third, second, first] {
            expected.extend_from_slice(&segment.octets());
        }
        assert_eq!(bytes, expected);
    }
}
