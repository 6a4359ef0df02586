//! Packets that several tests send.
#![allow(dead_code, reason = "each test uses some of them")]

use cubeyard_chip::frame::ones_complement_sum;

/// An IPv4 packet in an Ethernet frame, with a right checksum.
pub fn ipv4(destination: u32, ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xaa; 12];
    bytes.extend([0x08, 0x00, 0x45, 0x03]);
    bytes.extend((20 + payload.len() as u16).to_be_bytes());
    bytes.extend([0x12, 0x34, 0x40, 0, ttl, 17, 0, 0, 10, 0, 0, 2]);
    bytes.extend(destination.to_be_bytes());
    let checksum = !ones_complement_sum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An MPLS packet with a stack of (label, TTL), around the payload of an Ethernet frame.
pub fn mpls(stack: &[(u32, u8)], inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xbb; 12];
    bytes.extend([0x88, 0x47]);
    for (at, (label, ttl)) in stack.iter().enumerate() {
        let bottom = u32::from(at + 1 == stack.len()) << 8;
        bytes.extend((label << 12 | bottom | u32::from(*ttl)).to_be_bytes());
    }
    bytes.extend_from_slice(inner);
    bytes
}

/// The bytes of hexadecimal digits.
pub fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// Whether an IPv4 header behind Ethernet has a right checksum.
pub fn checksum_is_right(packet: &[u8]) -> bool {
    let length = usize::from(packet[14] & 15) * 4;
    ones_complement_sum(&packet[14..14 + length]) == 0xffff
}
