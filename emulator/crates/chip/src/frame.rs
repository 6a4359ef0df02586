//! A packet's bytes, with room before them for headers that the chip adds.

use crate::flaw::Flaw;
use crate::profile::MAX_FRAME_BYTES;

/// Length of the Ethernet header: two MACs and the EtherType.
pub const ETHERNET_BYTES: usize = 14;
/// The EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// The EtherType of IPv6.
pub const IPV6: u16 = 0x86dd;
/// The EtherType of MPLS.
pub const MPLS: u16 = 0x8847;

const HEADROOM: usize = 64;

/// A packet from its Ethernet header on, without check sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    buffer: Vec<u8>,
    start: usize,
}

impl Default for Frame {
    /// A packet without bytes.
    fn default() -> Frame {
        Frame {
            buffer: vec![0; HEADROOM],
            start: HEADROOM,
        }
    }
}

impl Frame {
    /// A packet. Errors: longer than the chip takes.
    pub fn new(bytes: &[u8]) -> Result<Frame, Flaw> {
        let mut frame = Frame {
            buffer: Vec::with_capacity(HEADROOM + bytes.len()),
            start: HEADROOM,
        };
        frame.set(bytes)?;
        Ok(frame)
    }

    /// Another packet in the same buffer. Errors: longer than the chip takes.
    pub fn set(&mut self, bytes: &[u8]) -> Result<(), Flaw> {
        if bytes.len() > MAX_FRAME_BYTES {
            let limit = format!("at most {MAX_FRAME_BYTES} bytes");
            let fix = "Send it in parts.";
            return Err(Flaw::new(
                "packet-long",
                "packet",
                format!("{} bytes", bytes.len()),
                limit,
                fix,
            ));
        }
        self.start = HEADROOM;
        self.buffer.clear();
        self.buffer.resize(HEADROOM, 0);
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The bytes of the packet.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The bytes, to change.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// Puts bytes behind the Ethernet header. False where there is no Ethernet header or no room
    /// for them.
    pub(crate) fn insert(&mut self, header: &[u8]) -> bool {
        let fits = header.len() <= self.start && self.bytes().len() >= ETHERNET_BYTES;
        if fits {
            let start = self.start;
            self.start -= header.len();
            self.buffer.copy_within(start..start + ETHERNET_BYTES, self.start);
            let behind = self.start + ETHERNET_BYTES;
            self.buffer[behind..behind + header.len()].copy_from_slice(header);
        }
        fits
    }

    /// Removes bytes after the Ethernet header. Returns false if the packet has fewer.
    pub(crate) fn remove(&mut self, length: usize) -> bool {
        let fits = self.bytes().len() >= ETHERNET_BYTES + length;
        if fits {
            let start = self.start;
            self.buffer
                .copy_within(start..start + ETHERNET_BYTES, start + length);
            self.start += length;
        }
        fits
    }
}

/// The one's complement sum of 16-bit words that IPv4 headers are checked by; 0xffff over a header
/// with a right checksum.
pub fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2);
    let mut sum: u32 = words
        .map(|word| u32::from(word[0]) << 8 | u32::from(*word.get(1).unwrap_or(&0)))
        .sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The 16-bit word at a byte.
pub(crate) fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}
