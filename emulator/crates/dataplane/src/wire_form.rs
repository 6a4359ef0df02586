//! Completes packets that the kernel has not finished, so that they look as on a wire: fills in
//! checksums that a network card would compute, and restores the headers of each of several packets
//! that the kernel carries as one.
//! `[linux Documentation/networking/checksum-offloads.rst, segmentation-offloads.rst]`

use cubeyard_chip::frame::ones_complement_sum;

use crate::frame::ETHERNET_BYTES;

/// Which of several packets in one super-packet this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Number of earlier parts.
    pub number: u8,
    /// Bytes of data in earlier parts.
    pub offset: u32,
    /// Whether this is the last part.
    pub is_last: bool,
}

const IPV4: [u8; 2] = [8, 0];
const TCP: u8 = 6;
const UDP: u8 = 17;
const IP_BYTES: usize = 20;
/// Mask of the IPv4 fields that mark a fragment: more fragments, and the offset.
const FRAGMENT: u16 = 0x3fff;
/// FIN and PSH belong only to the last of several packets; CWR only to the first.
const LAST_ONLY: u8 = 0x09;
const FIRST_ONLY: u8 = 0x80;

/// Completes an IPv4 frame, or IPv4 after `header_bytes` of a protocol's header that itself begins
/// with IPv4. Leaves all other frames unchanged. O(bytes).
pub fn finish(frame: &mut [u8], header_bytes: usize, part: Option<Part>) {
    if frame.get(12..ETHERNET_BYTES) != Some(&IPV4[..]) {
        return;
    }
    let packet = &mut frame[ETHERNET_BYTES..];
    let Some(&protocol) = packet.get(9) else {
        return;
    };
    let inner_at = if matches!(protocol, TCP | UDP) {
        0
    } else {
        header_bytes
    };
    if let Some(part) = part {
        if inner_at > 0 && ip_bytes(packet).is_some() {
            set_length(packet);
        }
        if let Some(inner) = packet.get_mut(inner_at..) {
            become_one(inner, part);
        }
    }
    if let Some(inner) = packet.get_mut(inner_at..) {
        fill_checksum(inner, part.is_some());
    }
}

/// Length of the IPv4 header at the start of a packet.
fn ip_bytes(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    let bytes = usize::from(first & 15) * 4;
    (first >> 4 == 4 && bytes >= IP_BYTES && packet.len() >= bytes).then_some(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn set_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Sets the length in an IPv4 header to the packet's length.
fn set_length(packet: &mut [u8]) {
    let Some(header) = ip_bytes(packet) else {
        return;
    };
    set_u16(packet, 2, packet.len() as u16);
    set_u16(packet, 10, 0);
    let sum = ones_complement_sum(&packet[..header]);
    set_u16(packet, 10, !sum);
}

/// Turns the headers of a super-packet into those of one of its packets.
fn become_one(packet: &mut [u8], part: Part) {
    let Some(header) = ip_bytes(packet) else {
        return;
    };
    let identity = u16_at(packet, 4).wrapping_add(part.number.into());
    set_u16(packet, 4, identity);
    set_length(packet);
    let (protocol, length) = (packet[9], packet.len() - header);
    let transport = &mut packet[header..];
    match protocol {
        TCP if length >= IP_BYTES => {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            transport[4..8].copy_from_slice(&sequence.wrapping_add(part.offset).to_be_bytes());
            if !part.is_last {
                transport[13] &= !LAST_ONLY;
            }
            if part.number > 0 {
                transport[13] &= !FIRST_ONLY;
            }
        }
        UDP if length >= 8 => set_u16(transport, 4, length as u16),
        _ => {}
    }
}

/// Fills in the checksum of TCP or UDP if the kernel has left it to hardware: the field then holds
/// the sum of the addresses, the protocol and the length. Other checksums, even wrong ones, are not
/// changed, unless `anew` is set.
fn fill_checksum(packet: &mut [u8], anew: bool) {
    let Some(header) = ip_bytes(packet) else {
        return;
    };
    let total = usize::from(u16_at(packet, 2));
    if total > packet.len() || total < header || u16_at(packet, 6) & FRAGMENT != 0 {
        return;
    }
    let (protocol, length) = (packet[9], total - header);
    let at = match protocol {
        TCP if length >= IP_BYTES => header + 16,
        UDP if length >= 8 => header + 6,
        _ => return,
    };
    let mut pseudo = [0; 12];
    pseudo[..8].copy_from_slice(&packet[12..20]);
    pseudo[9] = protocol;
    set_u16(&mut pseudo, 10, length as u16);
    let pseudo = ones_complement_sum(&pseudo);
    if !anew && u16_at(packet, at) != pseudo {
        return;
    }
    set_u16(packet, at, 0);
    let all = u32::from(ones_complement_sum(&packet[header..total])) + u32::from(pseudo);
    let sum = !((all & 0xffff) + (all >> 16)) as u16;
    // In UDP, a checksum of zero means that there is none.
    set_u16(packet, at, if protocol == UDP && sum == 0 { 0xffff } else { sum });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const HEADER: usize = 36;
    const SEQUENCE: u32 = u32::MAX - 5000;

    /// A frame with a protocol's header and a TCP or UDP packet with this data, in the kernel's
    /// form: its checksum is not complete.
    fn frame(protocol: u8, data: &[u8]) -> (Vec<u8>, usize) {
        let transport = if protocol == TCP { 32 } else { 8 };
        let mut packet = vec![0; IP_BYTES + transport];
        packet.extend(data);
        (packet[0], packet[5], packet[8], packet[9]) = (0x45, 0xfe, 64, protocol);
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 9]);
        if protocol == TCP {
            packet[24..28].copy_from_slice(&SEQUENCE.to_be_bytes());
            (packet[32], packet[33]) = (8 << 4, 0x80 | 0x18 | 1);
        } else {
            set_u16(&mut packet, 24, (8 + data.len()) as u16);
        }
        set_length(&mut packet);
        let mut pseudo = [10, 0, 0, 1, 10, 0, 0, 9, 0, protocol, 0, 0];
        set_u16(&mut pseudo, 10, (transport + data.len()) as u16);
        let at = IP_BYTES + if protocol == TCP { 16 } else { 6 };
        set_u16(&mut packet, at, ones_complement_sum(&pseudo));
        let mut outer = vec![0; HEADER];
        (outer[0], outer[8], outer[9]) = (0x45, 5, 253);
        outer.extend(packet);
        set_length(&mut outer);
        let whole = [&[0; 12][..], &IPV4, &outer].concat();
        (whole, ETHERNET_BYTES + HEADER + IP_BYTES + transport)
    }

    /// Whether both IPv4 headers have the frame's length, and all checksums are correct.
    fn is_right(frame: &[u8]) -> bool {
        let (outer, inner) = (&frame[ETHERNET_BYTES..], &frame[ETHERNET_BYTES + HEADER..]);
        let whole = [outer, inner].iter().all(|item| {
            usize::from(u16_at(item, 2)) == item.len() && ones_complement_sum(&item[..IP_BYTES]) == 0xffff
        });
        let transport = &inner[IP_BYTES..];
        let mut pseudo = [&inner[12..20], &[0, inner[9], 0, 0], transport].concat();
        set_u16(&mut pseudo, 10, transport.len() as u16);
        whole && ones_complement_sum(&pseudo) == 0xffff
    }

    #[test]
    fn a_checksum_that_is_left_to_others_is_filled_in_and_a_wrong_one_is_not() {
        for protocol in [TCP, UDP] {
            let (left, _) = frame(protocol, b"some data");
            let mut filled = left.clone();
            finish(&mut filled, HEADER, None);
            assert!(!is_right(&left) && is_right(&filled));
            let mut again = filled.clone();
            finish(&mut again, HEADER, None);
            assert_eq!(again, filled, "a right one stays");
            let mut damaged = filled;
            *damaged.last_mut().unwrap() ^= 1;
            let mut same = damaged.clone();
            finish(&mut same, HEADER, None);
            assert_eq!(same, damaged, "a wrong one stays wrong");
        }
    }

    proptest! {
        #[test]
        fn parts_are_the_packets_that_a_network_card_would_send(
            protocol in prop_oneof![Just(TCP), Just(UDP)], length in 1..60_000_usize, most in 300..9000_usize,
        ) {
            let data: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            let (all, head) = frame(protocol, &data);
            let mut packets = Vec::new();
            let parts = data.chunks(most);
            let count = parts.len();
            for (number, part) in parts.enumerate() {
                let mut packet = [&all[..head], part].concat();
                let of = Part { number: number as u8, offset: (number * most) as u32, is_last: number + 1 == count };
                finish(&mut packet, HEADER, Some(of));
                prop_assert!(is_right(&packet), "part {}", number);
                let inner = &packet[ETHERNET_BYTES + HEADER..];
                prop_assert_eq!(u16_at(inner, 4), 0xfe_u16.wrapping_add(number as u16));
                if protocol == TCP {
                    let sequence = u32::from_be_bytes(inner[24..28].try_into().unwrap());
                    prop_assert_eq!(sequence, SEQUENCE.wrapping_add(packets.len() as u32));
                    let wanted = 0x10 | if number == 0 { 0x80 } else { 0 } | if of.is_last { 0x09 } else { 0 };
                    prop_assert_eq!(inner[33], wanted);
                }
                packets.extend_from_slice(&packet[head..]);
            }
            prop_assert_eq!(packets, data);
        }

        #[test]
        fn any_bytes_stay_within_themselves(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            header in 0..80_usize,
            part in any::<Option<(u8, u32, bool)>>(),
        ) {
            let mut frame = [&[0; 12][..], &IPV4, &bytes].concat();
            finish(&mut frame, header, part.map(|(number, offset, is_last)| Part { number, offset, is_last }));
            prop_assert_eq!(frame.len(), 14 + bytes.len());
        }
    }
}
