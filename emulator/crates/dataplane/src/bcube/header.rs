//! The BCube header: 36 bytes between Ethernet and IP [bcube §7.1], carried as a legal IPv4 header
//! of 20 bytes with one option of 16, as ServerSwitch carries it behind an IP header [serverswitch
//! §5.1].
//!
//! ```text
//!  0  version 4, length 9 words | tos 0 | total length     source and destination are the virtual addresses of the
//!  4  id 0                      | don't fragment           servers at the path's ends; protocol 4 (IP in IP)
//!  8  ttl | protocol 4          | checksum
//! 12  source
//! 16  destination
//! 20  0x9e | 16 | NHI | count   NHI: index of the hop to take next; equal to count at the destination
//! 24  NHA[8]                    a byte a hop, zero past count
//! 32  path id
//! ```
//!
//! A relay adds one to NHI and takes one off the TTL. Both are the high byte of a 16-bit word, so
//! the checksum stays as it is [ours].
//!
//! Two layers: [`HeaderView`] reads bytes that were checked once, [`Header`] is a value that cannot
//! be illegal.

use std::net::Ipv4Addr;

use super::nha::Nha;
use super::route::SourceRoute;
use crate::address::is_virtual;
use crate::drops::DropReason;
use crate::fields::{HeaderField, HeaderFormat, HeaderPlace};

/// Length of the header.
pub const HEADER_BYTES: usize = 36;
/// IPv4 protocol number of a packet inside a packet.
pub const IP_IN_IP: u8 = 4;
/// Type of the IPv4 option: copied into fragments, control class, number 30 (for experiments, RFC
/// 4727).
pub const OPTION_TYPE: u8 = 0x9e;
/// Length of the option, including its type and length.
pub const OPTION_BYTES: u8 = 16;
/// Time to live of a new packet.
pub const TTL: u8 = 64;
/// The shortest packet that can follow a header: an IPv4 header.
pub const INNER_LEAST_BYTES: usize = 20;
/// The longest packet that can follow a header: the total length has 16 bits.
pub const MAX_PAYLOAD_BYTES: usize = u16::MAX as usize - HEADER_BYTES;

/// The option's fields, for programs that display packets.
pub const FORMAT: HeaderFormat = HeaderFormat {
    place: HeaderPlace::Ipv4Option { option: OPTION_TYPE },
    fields: &[
        HeaderField::at(
            2,
            8,
            "next_hop_index",
            "Next hop",
            "Index of the hop to take next; equal to the hops at the path's end.",
        ),
        HeaderField::at(3, 8, "hops", "Hops", "Hops of the path."),
        HeaderField::at(
            4,
            8,
            "path",
            "Path",
            "Each hop: the level of the digit that changes, and what it becomes.",
        )
        .parts(&[2, 6])
        .times(8, "hops"),
        HeaderField::at(
            12,
            32,
            "path_id",
            "Path id",
            "The number that the source gave the path.",
        ),
    ],
};

const VERSION_AND_LENGTH: u8 = 0x49;
const DONT_FRAGMENT: u8 = 0x40;
const MORE_OR_OFFSET: u16 = 0x3fff;
const TTL_AT: usize = 8;
const CHECKSUM_AT: usize = 10;
const NHI_AT: usize = 22;
const NHA_AT: usize = 24;

/// Header bytes that passed all checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderView<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> HeaderView<'a> {
    /// Checks the header at the start of `packet`, an Ethernet payload. Returns it with the inner
    /// packet, without Ethernet's padding.
    ///
    /// Errors: [`DropReason::Malformed`], then [`DropReason::BadChecksum`], then
    /// [`DropReason::BadIndex`], then [`DropReason::Forged`] if an end of the path is no virtual
    /// address.
    pub fn parse(packet: &'a [u8]) -> Result<(HeaderView<'a>, &'a [u8]), DropReason> {
        let (bytes, _) = packet.split_first_chunk().ok_or(DropReason::Malformed)?;
        let view = HeaderView(bytes);
        let whole = packet.get(..view.total_bytes()).ok_or(DropReason::Malformed)?;
        let inner = whole
            .get(HEADER_BYTES..)
            .filter(|inner| inner.len() >= INNER_LEAST_BYTES);
        let inner = inner.ok_or(DropReason::Malformed)?;
        let shaped = bytes[0] == VERSION_AND_LENGTH
            && view.word(6) & MORE_OR_OFFSET == 0
            && bytes[9] == IP_IN_IP
            && bytes[20] == OPTION_TYPE
            && bytes[21] == OPTION_BYTES;
        if !shaped {
            return Err(DropReason::Malformed);
        }
        if ones_complement_sum(bytes) != 0xffff {
            return Err(DropReason::BadChecksum);
        }
        let (index, count) = (view.next_hop_index(), view.count());
        if index == 0 || index > count || usize::from(count) > SourceRoute::MAX_HOPS {
            return Err(DropReason::BadIndex);
        }
        if !is_virtual(view.source()) || !is_virtual(view.destination()) {
            return Err(DropReason::Forged);
        }
        Ok((view, inner))
    }

    /// Virtual address of the server that chose the path.
    pub fn source(&self) -> Ipv4Addr {
        self.address(12)
    }

    /// Virtual address of the server at the path's end.
    pub fn destination(&self) -> Ipv4Addr {
        self.address(16)
    }

    /// Remaining hops, in the sense of IP's time to live.
    pub fn ttl(&self) -> u8 {
        self.0[TTL_AT]
    }

    /// NHI: the index of the next hop. From 1, because the source has taken hop 0, to `count` at
    /// the end of the path.
    pub fn next_hop_index(&self) -> u8 {
        self.0[NHI_AT]
    }

    /// Number of hops of the path, 1 to 8.
    pub fn count(&self) -> u8 {
        self.0[NHI_AT + 1]
    }

    /// The next hop; `None` at the end of the path.
    pub fn next_hop(&self) -> Option<Nha> {
        let index = self.next_hop_index();
        (index < self.count()).then(|| Nha(self.0[NHA_AT + usize::from(index)]))
    }

    /// The path's number, chosen by the source.
    pub fn path_id(&self) -> u32 {
        u32::from(self.word(32)) << 16 | u32::from(self.word(34))
    }

    /// Length of the header and the inner packet.
    pub fn total_bytes(&self) -> usize {
        usize::from(self.word(2))
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.0[at], self.0[at + 1]])
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        Ipv4Addr::new(self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3])
    }
}

/// A header as a value: created by a source, or parsed from a checked header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    route: SourceRoute,
    next_hop_index: u8,
    ttl: u8,
    path_id: u32,
    payload_bytes: u16,
}

impl Header {
    /// The header that a source adds to a packet of `payload_bytes`. Sending it takes hop 0.
    ///
    /// Errors: [`DropReason::Forged`] for an end that is no virtual address, [`DropReason::TooBig`]
    /// for a packet longer than [`MAX_PAYLOAD_BYTES`].
    pub fn new(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        route: SourceRoute,
        path_id: u32,
        payload_bytes: usize,
    ) -> Result<Header, DropReason> {
        if !is_virtual(source) || !is_virtual(destination) {
            return Err(DropReason::Forged);
        }
        if payload_bytes > MAX_PAYLOAD_BYTES {
            return Err(DropReason::TooBig);
        }
        Ok(Header {
            source,
            destination,
            route,
            next_hop_index: 1,
            ttl: TTL,
            path_id,
            payload_bytes: payload_bytes as u16,
        })
    }

    /// The path of the packet.
    pub fn route(&self) -> &SourceRoute {
        &self.route
    }

    /// The header's bytes, including its checksum.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = VERSION_AND_LENGTH;
        bytes[2..4].copy_from_slice(&(HEADER_BYTES as u16 + self.payload_bytes).to_be_bytes());
        bytes[6] = DONT_FRAGMENT;
        bytes[TTL_AT] = self.ttl;
        bytes[9] = IP_IN_IP;
        bytes[12..16].copy_from_slice(&self.source.octets());
        bytes[16..20].copy_from_slice(&self.destination.octets());
        bytes[20] = OPTION_TYPE;
        bytes[21] = OPTION_BYTES;
        bytes[NHI_AT] = self.next_hop_index;
        bytes[NHI_AT + 1] = self.route.hops().len() as u8;
        bytes[NHA_AT..NHA_AT + SourceRoute::MAX_HOPS].copy_from_slice(&self.route.bytes());
        bytes[32..36].copy_from_slice(&self.path_id.to_be_bytes());
        let checksum = !ones_complement_sum(&bytes);
        bytes[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
        bytes
    }
}

impl From<HeaderView<'_>> for Header {
    fn from(view: HeaderView<'_>) -> Header {
        let count = usize::from(view.count());
        let hops = view.0[NHA_AT..NHA_AT + count].iter().map(|&byte| Nha(byte));
        Header {
            source: view.source(),
            destination: view.destination(),
            route: SourceRoute::new(hops).expect("a checked header has one to eight hops"),
            next_hop_index: view.next_hop_index(),
            ttl: view.ttl(),
            path_id: view.path_id(),
            payload_bytes: (view.total_bytes() - HEADER_BYTES) as u16,
        }
    }
}

/// Updates a checked header that has a next hop, as a relay does: NHI increases, the TTL decreases,
/// the checksum stays the same.
pub(crate) fn take_hop(packet: &mut [u8]) {
    packet[NHI_AT] += 1;
    packet[TTL_AT] -= 1;
}

/// The one's complement sum of 16-bit words, over an even number of bytes [RFC 1071].
fn ones_complement_sum(bytes: &[u8; HEADER_BYTES]) -> u16 {
    let sum: u32 = bytes
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    // The sum of 18 words has a carry of at most 17, so one more addition folds it completely.
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}
