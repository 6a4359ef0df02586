//! The DCell header: one option of 16 bytes inside the packet's own IPv4 header. `[dcell §7.1]`
//!
//! Server ids and virtual addresses are one to one, so IP's own fields already contain most of
//! DCell's header: source, destination, time to live, length and checksum. The option has the rest:
//! `[ours]`
//!
//! ```text
//! 20  0xde | 16 | retry 4 bits, flags 4 bits | hops taken
//! 24  identification u32: the packet's own of 16 bits
//! 28  proxy u32: the id of the server that the packet goes to first, where the flag PF is set
//! 32  rerouted in u16: 1 + the index of the DCell_b that rerouted it last; 0 for none
//! 34  zero u16
//! ```
//!
//! A relay decrements the TTL and increments the hops, which adds 255 to the checksum.

use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use crate::address::is_virtual;
use crate::drops::DropReason;
use crate::fields::{Flag, HeaderField, HeaderFormat, HeaderPlace};
use crate::packet::Ipv4Packet;

/// Length of the option, which each packet gets in addition.
pub const HEADER_BYTES: usize = 16;
/// Length of an IPv4 header with the option.
pub const WHOLE_BYTES: usize = Ipv4Packet::LEAST_BYTES + HEADER_BYTES;
/// Type of the IPv4 option: copied into fragments, measurement class, number 30 (for experiments,
/// RFC 4727).
pub const OPTION_TYPE: u8 = 0xde;
/// Flag PF: the proxy is valid `[dcell §7.1]`.
pub const PROXY_FLAG: u8 = 8;

/// The option's fields, for programs that display packets.
pub const FORMAT: HeaderFormat = HeaderFormat {
    place: HeaderPlace::Ipv4Option { option: OPTION_TYPE },
    fields: &[
        HeaderField::at(
            2,
            4,
            "retries",
            "Reroutes left",
            "Local reroutes that the packet may still take.",
        ),
        HeaderField::at(2, 4, "flags", "Flags", "Proxy: the proxy below is valid.")
            .and_bits(4)
            .flags(&[Flag {
                mask: PROXY_FLAG as u32,
                name: "proxy",
            }]),
        HeaderField::at(3, 8, "hops", "Hops", "Hops taken."),
        HeaderField::at(4, 32, "identification", "Identification", "The packet's own."),
        HeaderField::at(
            8,
            32,
            "proxy",
            "Proxy",
            "The server that the packet goes to first, if the flag is set.",
        )
        .server(),
        HeaderField::at(
            12,
            16,
            "rerouted_in",
            "Rerouted in",
            "1 and the index of the DCell that rerouted it last; 0 for none.",
        ),
    ],
};

const VERSION_AND_LENGTH: u8 = 0x49;
const PLAIN_VERSION_AND_LENGTH: u8 = 0x45;
const LENGTH_AT: usize = 2;
const TTL_AT: usize = 8;
const CHECKSUM_AT: usize = 10;
const RETRY_AT: usize = 22;
const HOPS_AT: usize = 23;
const IDENTIFICATION_AT: usize = 24;
const PROXY_AT: usize = 28;
const REROUTED_AT: usize = 32;

/// The header fields that decide where a packet goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rerouting {
    /// Remaining local reroutes, below 16.
    pub retries: u8,
    /// The server that the packet visits first.
    pub proxy: Option<NodeId>,
    /// 1 + the index of the DCell_b that last rerouted the packet; 0 for none.
    pub rerouted_in: u16,
}

/// Header bytes that passed all checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderView<'a>(&'a [u8; WHOLE_BYTES]);

/// Whether a packet has the shape of this header. All other packets are control traffic or foreign.
pub fn is_header(packet: &[u8]) -> bool {
    packet.first() == Some(&VERSION_AND_LENGTH) && packet.get(20) == Some(&OPTION_TYPE)
}

impl<'a> HeaderView<'a> {
    /// Checks the header at the start of `packet`, an Ethernet payload.
    ///
    /// Errors: [`DropReason::Malformed`], then [`DropReason::BadChecksum`], then
    /// [`DropReason::Forged`] for an end that is no virtual address.
    pub fn parse(packet: &'a [u8]) -> Result<HeaderView<'a>, DropReason> {
        let bytes: &[u8; WHOLE_BYTES] = packet.first_chunk().ok_or(DropReason::Malformed)?;
        let view = HeaderView(bytes);
        let shaped = is_header(bytes)
            && usize::from(bytes[21]) == HEADER_BYTES
            && (WHOLE_BYTES..=packet.len()).contains(&view.total_bytes());
        if !shaped {
            return Err(DropReason::Malformed);
        }
        if sum(bytes) != 0xffff {
            return Err(DropReason::BadChecksum);
        }
        if !is_virtual(view.source()) || !is_virtual(view.destination()) {
            return Err(DropReason::Forged);
        }
        Ok(view)
    }

    /// The source address of the packet.
    pub fn source(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.long(12))
    }

    /// The destination address of the packet.
    pub fn destination(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.long(16))
    }

    /// Length of the packet including this header.
    pub fn total_bytes(&self) -> usize {
        usize::from(u16::from_be_bytes([self.0[LENGTH_AT], self.0[LENGTH_AT + 1]]))
    }

    /// Remaining hops of the packet.
    pub fn ttl(&self) -> u8 {
        self.0[TTL_AT]
    }

    /// Number of hops so far.
    pub fn hops(&self) -> u8 {
        self.0[HOPS_AT]
    }

    /// The fields that decide where the packet goes.
    pub fn rerouting(&self) -> Rerouting {
        let retry = self.0[RETRY_AT];
        Rerouting {
            retries: retry >> 4,
            proxy: (retry & PROXY_FLAG != 0).then(|| self.long(PROXY_AT)),
            rerouted_in: u16::from_be_bytes([self.0[REROUTED_AT], self.0[REROUTED_AT + 1]]),
        }
    }

    fn long(&self, at: usize) -> u32 {
        u32::from_be_bytes([self.0[at], self.0[at + 1], self.0[at + 2], self.0[at + 3]])
    }
}

/// Writes the header of a packet whose plain IPv4 header is at the start of `packet`, with space
/// for the option after it. The first hop counts as taken, since the packet is sent next. The
/// packet with the option must be at most 65,535 bytes.
pub fn put_on(packet: &mut [u8], rerouting: &Rerouting) {
    let length = word(packet, LENGTH_AT) + HEADER_BYTES as u16;
    packet[0] = VERSION_AND_LENGTH;
    packet[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
    packet[20] = OPTION_TYPE;
    packet[21] = HEADER_BYTES as u8;
    packet[HOPS_AT] = 1;
    let identification = u32::from(word(packet, 4)).to_be_bytes();
    packet[IDENTIFICATION_AT..IDENTIFICATION_AT + 4].copy_from_slice(&identification);
    packet[34..36].fill(0);
    set_rerouting(packet, rerouting);
}

/// Converts a checked header back to a plain one in its first 20 bytes. The caller must remove the
/// option after them.
pub fn take_off(packet: &mut [u8]) {
    let length = word(packet, LENGTH_AT) - HEADER_BYTES as u16;
    packet[0] = PLAIN_VERSION_AND_LENGTH;
    packet[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
    set_checksum(&mut packet[..Ipv4Packet::LEAST_BYTES]);
}

/// Counts a hop in a checked header whose TTL is above 0.
pub fn take_hop(packet: &mut [u8]) {
    packet[TTL_AT] -= 1;
    packet[HOPS_AT] = packet[HOPS_AT].wrapping_add(1);
    set_checksum(&mut packet[..WHOLE_BYTES]);
}

/// Writes the fields that decide where a packet goes, and updates the checksum.
pub fn set_rerouting(packet: &mut [u8], rerouting: &Rerouting) {
    let flag = if rerouting.proxy.is_some() { PROXY_FLAG } else { 0 };
    packet[RETRY_AT] = rerouting.retries << 4 | flag;
    let proxy = rerouting.proxy.unwrap_or(0).to_be_bytes();
    packet[PROXY_AT..PROXY_AT + 4].copy_from_slice(&proxy);
    packet[REROUTED_AT..REROUTED_AT + 2].copy_from_slice(&rerouting.rerouted_in.to_be_bytes());
    set_checksum(&mut packet[..WHOLE_BYTES]);
}

fn set_checksum(header: &mut [u8]) {
    header[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let checksum = !sum(header);
    header[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// The one's complement sum of 16-bit words over an even number of bytes, at most 60 [RFC 1071].
fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks_exact(2);
    let sum: u32 = pairs
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A plain packet between two virtual addresses, with a correct checksum.
    fn plain(id: u16, ttl: u8, body: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; 20];
        packet[0] = PLAIN_VERSION_AND_LENGTH;
        packet[2..4].copy_from_slice(&(20 + body.len() as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&id.to_be_bytes());
        packet[TTL_AT] = ttl;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 9]);
        set_checksum(&mut packet);
        packet.extend(body);
        packet
    }

    fn with_option(packet: &[u8], rerouting: &Rerouting) -> Vec<u8> {
        let mut whole = packet[..20].to_vec();
        whole.extend([0xaa; HEADER_BYTES]);
        whole.extend(&packet[20..]);
        put_on(&mut whole, rerouting);
        whole
    }

    proptest! {
        #[test]
        fn adding_and_removing_the_header_only_changes_the_ttl(id: u16, ttl in 9u8..=255, relays in 0u8..8, retries in 0u8..16, proxy: Option<u32>, rerouted_in: u16, body in prop::collection::vec(any::<u8>(), 0..50)) {
            let rerouting = Rerouting { retries, proxy, rerouted_in };
            let mut packet = with_option(&plain(id, ttl, &body), &rerouting);
            for _ in 0..relays {
                take_hop(&mut packet);
            }
            let view = HeaderView::parse(&packet).unwrap();
            prop_assert_eq!((view.ttl(), view.hops(), view.rerouting()), (ttl - relays, relays + 1, rerouting));
            let described = ["retries", "flags", "hops", "identification", "proxy", "rerouted_in"]
                .map(|name| FORMAT.values(&packet[20..], name).unwrap()[0]);
            let flags = if proxy.is_some() { u32::from(PROXY_FLAG) } else { 0 };
            let expected = [u32::from(retries), flags, u32::from(view.hops()), u32::from(id), proxy.unwrap_or(0), u32::from(rerouted_in)];
            prop_assert_eq!(described, expected);
            prop_assert_eq!(view.total_bytes(), packet.len());
            take_off(&mut packet);
            packet.drain(20..36);
            prop_assert_eq!(packet, plain(id, ttl - relays, &body));
        }

        #[test]
        fn any_bytes_are_refused_or_a_header(mut bytes in prop::collection::vec(any::<u8>(), 0..80), shaped: bool) {
            if shaped && bytes.len() >= WHOLE_BYTES {
                (bytes[0], bytes[20], bytes[21]) = (VERSION_AND_LENGTH, OPTION_TYPE, HEADER_BYTES as u8);
                set_checksum(&mut bytes[..WHOLE_BYTES]);
            }
            if let Ok(view) = HeaderView::parse(&bytes) {
                prop_assert!(view.total_bytes() <= bytes.len() && view.rerouting().retries < 16);
            }
        }

        #[test]
        fn one_wrong_bit_is_seen(bit in 0usize..WHOLE_BYTES * 8) {
            let mut packet = with_option(&plain(7, 64, &[1; 8]), &Rerouting::default());
            packet[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(HeaderView::parse(&packet).is_err());
        }
    }
}
