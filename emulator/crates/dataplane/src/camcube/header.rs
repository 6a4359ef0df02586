//! CamCube's header: one option of 16 bytes in the packet's own IPv4 header, whose length grows
//! from 5 to 9 words.
//!
//! ```text
//!  0  the packet's own header, its lengths and checksum rewritten; a relay counts its time to live down
//! 20  0x5e | 16 | service u16      which service has to handle it [camcube §2.1.1]
//! 24  key x | y | z | flags        the key coordinate that it is routed to; DISJOINT or 0
//! 28  sequence u32                 counts the packets from this source to this key
//! 32  hops | queue | colour u16    hops taken, the one under way included; the other two are for services
//! ```
//!
//! Using an IP option is `[ours]`: addresses and coordinates are one to one, so a second IP header
//! would carry no information. A relay increments `hops` and decrements the time to live. Both
//! are the high byte of a 16-bit word, so the checksum stays as it is.

use std::net::Ipv4Addr;

use crate::address::is_virtual;
use crate::drops::DropReason;
use crate::fields::{Flag, HeaderField, HeaderFormat, HeaderPlace};

/// Length of the option; the virtual network card's MTU is a port's MTU minus this.
pub const OPTION_BYTES: usize = 16;
/// Length of an IPv4 header without options.
pub const IP_BYTES: usize = 20;
/// Length of an IPv4 header with only this option.
pub const HEADER_BYTES: usize = IP_BYTES + OPTION_BYTES;
/// Type of the option: not copied into fragments, measurement class, number 30 (for experiments,
/// RFC 4727).
pub const OPTION_TYPE: u8 = 0x5e;
/// Service number of unmodified applications' packets `[camcube §3.1]`.
pub const TCP_IP: u16 = 1;
/// Flag: the packet is on a disjoint path of the TCP/IP service. Without it, the routing service
/// forwards the packet.
pub const DISJOINT: u8 = 1;
/// Flag of a packet between services in user space that goes one hop only and is not routed.
pub const ONE_HOP: u8 = 2;
/// Packets with more hops than this are not forwarded.
pub const MAX_HOPS: u8 = 254;

/// The option's fields, for programs that display packets.
pub const FORMAT: HeaderFormat = HeaderFormat {
    place: HeaderPlace::Ipv4Option { option: OPTION_TYPE },
    fields: &[
        HeaderField::at(
            2,
            16,
            "service",
            "Service",
            "The service that has to handle the packet; 1 for applications' TCP/IP.",
        ),
        HeaderField::at(
            4,
            8,
            "key",
            "Key",
            "The coordinates x, y and z that it is routed to.",
        )
        .times(3, ""),
        HeaderField::at(
            7,
            8,
            "flags",
            "Flags",
            "Disjoint: on one of several disjoint paths. One hop: for a neighbour, not routed.",
        )
        .flags(&[
            Flag {
                mask: DISJOINT as u32,
                name: "disjoint",
            },
            Flag {
                mask: ONE_HOP as u32,
                name: "one hop",
            },
        ]),
        HeaderField::at(
            8,
            32,
            "sequence",
            "Sequence",
            "Counts the packets from this source to this key.",
        ),
        HeaderField::at(12, 8, "hops", "Hops", "Hops taken, the one under way included."),
        HeaderField::at(13, 8, "queue", "Queue", "The service's queue."),
        HeaderField::at(14, 16, "colour", "Colour", "For the service."),
    ],
};

const PLAIN: u8 = 0x45;
const WITH_OPTION: u8 = 0x49;
const LENGTH_AT: usize = 2;
const TTL_AT: usize = 8;
const CHECKSUM_AT: usize = 10;
const FLAGS_AT: usize = 27;
const HOPS_AT: usize = 32;

/// The fields of the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The number of the service.
    pub service: u16,
    /// The key coordinate to which the packet is routed.
    pub key: [u8; 3],
    /// [`DISJOINT`], or 0.
    pub flags: u8,
    /// Number of the packet among those from its source to its key.
    pub sequence: u32,
    /// Number of hops so far, including the current one.
    pub hops: u8,
    /// Queue number of the service.
    pub queue: u8,
    /// For use by the service.
    pub colour: u16,
}

impl Header {
    /// Parses the option; `None` if it is another option.
    pub fn parse(bytes: &[u8; OPTION_BYTES]) -> Option<Header> {
        let &[
            OPTION_TYPE,
            length,
            s0,
            s1,
            x,
            y,
            z,
            flags,
            q0,
            q1,
            q2,
            q3,
            hops,
            queue,
            c0,
            c1,
        ] = bytes
        else {
            return None;
        };
        (usize::from(length) == OPTION_BYTES).then_some(Header {
            service: u16::from_be_bytes([s0, s1]),
            key: [x, y, z],
            flags,
            sequence: u32::from_be_bytes([q0, q1, q2, q3]),
            hops,
            queue,
            colour: u16::from_be_bytes([c0, c1]),
        })
    }

    /// Encodes the option.
    pub fn emit(&self) -> [u8; OPTION_BYTES] {
        let [s0, s1] = self.service.to_be_bytes();
        let [x, y, z] = self.key;
        let [q0, q1, q2, q3] = self.sequence.to_be_bytes();
        let [c0, c1] = self.colour.to_be_bytes();
        let (hops, queue) = (self.hops, self.queue);
        let length = OPTION_BYTES as u8;
        [
            OPTION_TYPE,
            length,
            s0,
            s1,
            x,
            y,
            z,
            self.flags,
            q0,
            q1,
            q2,
            q3,
            hops,
            queue,
            c0,
            c1,
        ]
    }

    /// Writes the option into a packet with free space after its IPv4 header of 20 bytes, and
    /// updates the header's lengths and checksum. The packet must have at least [`HEADER_BYTES`].
    pub fn put_into(&self, packet: &mut [u8]) {
        packet[0] = WITH_OPTION;
        // A program can write any length. If it is too large for the field, it wraps, as in the
        // kernel, and the receiver drops the packet.
        let inner = u16::from_be_bytes([packet[LENGTH_AT], packet[LENGTH_AT + 1]]);
        let total = inner.wrapping_add(OPTION_BYTES as u16);
        packet[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&total.to_be_bytes());
        packet[IP_BYTES..HEADER_BYTES].copy_from_slice(&self.emit());
        write_checksum(&mut packet[..HEADER_BYTES]);
    }
}

/// A packet with the option that passed all checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The fields of the option.
    pub header: Header,
    /// The packet's source address.
    pub source: Ipv4Addr,
    /// The destination address of the packet.
    pub destination: Ipv4Addr,
    /// Time to live of the packet.
    pub ttl: u8,
    /// Length of the packet including header and option; Ethernet's padding may follow.
    pub total_bytes: usize,
}

/// Checks a packet of at least 20 bytes that arrived at a port. `sizes` are the lengths of the
/// torus's axes.
///
/// Errors: [`DropReason::Foreign`] without the option, then [`DropReason::Malformed`] for lengths,
/// then [`DropReason::BadChecksum`], then [`DropReason::BadIndex`] for a key outside the torus or a
/// field out of bounds, then [`DropReason::Forged`] for an address that is not virtual.
pub fn check(packet: &[u8], sizes: [u32; 3]) -> Result<Checked, DropReason> {
    if packet[0] != WITH_OPTION {
        return Err(DropReason::Foreign);
    }
    let bytes: &[u8; HEADER_BYTES] = packet.first_chunk().ok_or(DropReason::Malformed)?;
    let (_, option) = bytes
        .split_last_chunk::<OPTION_BYTES>()
        .ok_or(DropReason::Malformed)?;
    let header = Header::parse(option).ok_or(DropReason::Foreign)?;
    let total_bytes = usize::from(u16::from_be_bytes([bytes[LENGTH_AT], bytes[LENGTH_AT + 1]]));
    if total_bytes < HEADER_BYTES || total_bytes > packet.len() {
        return Err(DropReason::Malformed);
    }
    if sum(bytes) != 0xffff {
        return Err(DropReason::BadChecksum);
    }
    let inside = header
        .key
        .iter()
        .zip(sizes)
        .all(|(&at, size)| u32::from(at) < size);
    let bounded = (1..=MAX_HOPS).contains(&header.hops) && header.flags & !DISJOINT == 0;
    if !inside || !bounded || header.service != TCP_IP {
        return Err(DropReason::BadIndex);
    }
    let address = |at: usize| Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
    let (source, destination) = (address(12), address(16));
    if !is_virtual(source) || !is_virtual(destination) {
        return Err(DropReason::Forged);
    }
    Ok(Checked {
        header,
        source,
        destination,
        ttl: bytes[TTL_AT],
        total_bytes,
    })
}

/// Counts a hop. The packet must be checked, and its time to live must allow the hop.
pub fn take_hop(packet: &mut [u8]) {
    packet[TTL_AT] -= 1;
    packet[HOPS_AT] += 1;
}

/// Moves a checked packet from its disjoint path to the routing service, permanently.
pub fn leave_disjoint_path(packet: &mut [u8]) {
    packet[FLAGS_AT] &= !DISJOINT;
    write_checksum(&mut packet[..HEADER_BYTES]);
}

/// Corrects the IPv4 header at the start of `packet` after the option behind it was removed.
pub fn restore(packet: &mut [u8]) {
    packet[0] = PLAIN;
    let total = u16::from_be_bytes([packet[LENGTH_AT], packet[LENGTH_AT + 1]]) - OPTION_BYTES as u16;
    packet[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&total.to_be_bytes());
    write_checksum(&mut packet[..IP_BYTES]);
}

fn write_checksum(header: &mut [u8]) {
    header[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let checksum = !sum(header);
    header[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&checksum.to_be_bytes());
}

/// The one's complement sum of 16-bit words; 0xffff for a header with a correct checksum.
fn sum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_header() -> impl Strategy<Value = Header> {
        let key = prop::array::uniform3(0u8..4);
        (
            key,
            0u8..2,
            any::<u32>(),
            1u8..=MAX_HOPS,
            any::<u8>(),
            any::<u16>(),
        )
            .prop_map(|(key, flags, sequence, hops, queue, colour)| Header {
                service: TCP_IP,
                key,
                flags,
                sequence,
                hops,
                queue,
                colour,
            })
    }

    /// A packet with a correct checksum and free space for the option after its header.
    fn packet(payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; HEADER_BYTES];
        packet[0] = PLAIN;
        packet[2..4].copy_from_slice(&((IP_BYTES + payload.len()) as u16).to_be_bytes());
        packet[8..10].copy_from_slice(&[64, 17]);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        write_checksum(&mut packet[..IP_BYTES]);
        packet.extend_from_slice(payload);
        packet
    }

    proptest! {
        #[test]
        fn an_option_survives_its_bytes(header in any_header(), other in any::<[u8; OPTION_BYTES]>()) {
            prop_assert_eq!(Header::parse(&header.emit()), Some(header));
            let described = ["service", "key", "flags", "sequence", "hops", "queue", "colour"]
                .map(|name| FORMAT.values(&header.emit(), name).unwrap());
            let [service, colour] = [header.service, header.colour].map(|value| vec![u32::from(value)]);
            let [flags, hops, queue] = [header.flags, header.hops, header.queue].map(|value| vec![u32::from(value)]);
            let expected = [service, header.key.map(u32::from).to_vec(), flags, vec![header.sequence], hops, queue, colour];
            prop_assert_eq!(described, expected);
            if let Some(read) = Header::parse(&other) {
                prop_assert_eq!(read.emit(), other);
            }
        }

        /// The option is added, the packet takes some hops, leaves its disjoint path, and the
        /// option is removed: only the time to live differs.
        #[test]
        fn a_packet_comes_out_as_it_went_in(header in any_header(), payload in prop::collection::vec(any::<u8>(), 0..60), hops in 0u8..20) {
            let mut carried = packet(&payload);
            header.put_into(&mut carried);
            let checked = check(&carried, [4; 3]).unwrap();
            prop_assert_eq!((checked.header, checked.total_bytes), (header, carried.len()));
            prop_assume!(header.hops <= MAX_HOPS - hops);
            for _ in 0..hops {
                take_hop(&mut carried);
            }
            leave_disjoint_path(&mut carried);
            let checked = check(&carried, [4; 3]).unwrap();
            prop_assert_eq!((checked.header.hops, checked.header.flags, checked.ttl), (header.hops + hops, 0, 64 - hops));
            carried.drain(IP_BYTES..HEADER_BYTES);
            restore(&mut carried);
            let mut wanted = packet(&payload);
            wanted.drain(IP_BYTES..HEADER_BYTES);
            wanted[TTL_AT] -= hops;
            write_checksum(&mut wanted[..IP_BYTES]);
            prop_assert_eq!(carried, wanted);
        }

        /// A length that a program made up causes no panic, and no server accepts the packet.
        #[test]
        fn any_length_takes_an_option(header in any_header(), length in any::<u16>()) {
            let mut carried = packet(&[]);
            carried[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
            header.put_into(&mut carried);
            let is_its_own = usize::from(length) + OPTION_BYTES == carried.len();
            prop_assert_eq!(check(&carried, [4; 3]).is_ok(), is_its_own);
        }

        /// Any single flipped bit makes the packet invalid: the checksum or a bound refuses it.
        #[test]
        fn a_changed_bit_is_refused(header in any_header(), at in 0usize..HEADER_BYTES, bit in 0u8..8) {
            let mut carried = packet(&[1, 2, 3, 4]);
            header.put_into(&mut carried);
            carried[at] ^= 1 << bit;
            prop_assert!(check(&carried, [4; 3]).is_err());
        }

        #[test]
        fn any_bytes_are_refused_or_checked(bytes in prop::collection::vec(any::<u8>(), IP_BYTES..80), like in any::<bool>()) {
            let mut bytes = bytes;
            if like {
                bytes[0] = WITH_OPTION;
            }
            if let Ok(checked) = check(&bytes, [4; 3]) {
                prop_assert!(checked.total_bytes <= bytes.len());
            }
        }
    }
}
