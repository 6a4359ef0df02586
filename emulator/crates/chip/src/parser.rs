//! The classifier and the parsers of Ethernet, IPv4 and MPLS `[serverswitch §4.1, Fig. 4]`.

use crate::frame::{ETHERNET_BYTES, IPV4, MPLS, ones_complement_sum, word};
use crate::pipeline::DiscardReason;

/// The position of the TTL in an IPv4 packet: B22.
pub const IP_TTL_AT: usize = ETHERNET_BYTES + 8;
/// The position of the header checksum.
pub const IP_CHECKSUM_AT: usize = ETHERNET_BYTES + 10;
/// Bytes of an entry of a label stack.
pub const LABEL_BYTES: usize = 4;

/// The kind of a packet according to the classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Anything: the Ethernet parser reads the destination MAC.
    Ethernet,
    /// IPv4: the IP parser reads destination and TTL.
    Ipv4,
    /// MPLS: the MPLS parser reads the outermost label and its TTL.
    Mpls,
}

/// The fields that the parsers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The kind of the packet.
    pub protocol: Protocol,
    /// The destination MAC.
    pub dmac: [u8; 6],
    /// Destination of an IPv4 packet.
    pub destination: u32,
    /// Outermost label of an MPLS packet.
    pub label: u32,
    /// Time to live of an IPv4 or MPLS packet.
    pub ttl: u8,
}

/// Parses a packet. `l3` and `mpls` enable those parsers; with both off all packets are Ethernet.
///
/// Errors: [`DiscardReason::Malformed`] for a header that is truncated or invalid,
/// [`DiscardReason::IpChecksum`].
#[inline]
pub fn parse(packet: &[u8], l3: bool, mpls: bool) -> Result<Parsed, DiscardReason> {
    let header: &[u8; ETHERNET_BYTES] = packet.first_chunk().ok_or(DiscardReason::Malformed)?;
    let mut parsed = Parsed {
        protocol: Protocol::Ethernet,
        dmac: [header[0], header[1], header[2], header[3], header[4], header[5]],
        destination: 0,
        label: 0,
        ttl: 0,
    };
    match word(header, 12) {
        IPV4 if l3 => {
            let ip = &packet[ETHERNET_BYTES..];
            ipv4(ip)?;
            parsed.protocol = Protocol::Ipv4;
            parsed.ttl = ip[8];
            parsed.destination = u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]);
        }
        MPLS if mpls => {
            let stack = packet[ETHERNET_BYTES..].first_chunk::<LABEL_BYTES>();
            let entry = u32::from_be_bytes(*stack.ok_or(DiscardReason::Malformed)?);
            parsed.protocol = Protocol::Mpls;
            parsed.label = entry >> 12;
            parsed.ttl = entry as u8;
        }
        _ => {}
    }
    Ok(parsed)
}

/// Checks an IPv4 header; gives its length.
pub(crate) fn ipv4(ip: &[u8]) -> Result<usize, DiscardReason> {
    let first = *ip.first().ok_or(DiscardReason::Malformed)?;
    let length = usize::from(first & 15) * 4;
    if first >> 4 != 4 || length < 20 || ip.len() < length {
        return Err(DiscardReason::Malformed);
    }
    let total = usize::from(word(ip, 2));
    if total < length || total > ip.len() {
        return Err(DiscardReason::Malformed);
    }
    if ones_complement_sum(&ip[..length]) != 0xffff {
        return Err(DiscardReason::IpChecksum);
    }
    Ok(length)
}
