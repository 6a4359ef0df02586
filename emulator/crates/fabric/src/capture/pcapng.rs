//! Packets as a pcapng file: one section, one interface, nanoseconds. `[draft-ietf-opsawg-pcapng]`

use super::socket::Packet;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_APPLICATION: u16 = 4;
const OPTION_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_FLAGS: u16 = 2;
const OPTION_DROPS: u16 = 5;
const NANOSECONDS: u8 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// Bytes reserved for the statistics block at the end of the file.
const STATISTICS_BYTES: usize = 40;

/// A file under construction: the bytes that were not taken yet.
#[derive(Debug)]
pub struct File {
    bytes: Vec<u8>,
    taken_bytes: usize,
    max_bytes: usize,
    last_nanos: u64,
}

impl File {
    /// Starts the file of an interface.
    pub fn new(interface: &str, packet_bytes: u32, max_bytes: usize) -> File {
        let mut file = File {
            bytes: Vec::new(),
            taken_bytes: 0,
            max_bytes,
            last_nanos: 0,
        };
        let mut section = Vec::new();
        section.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        section.extend(1_u16.to_le_bytes());
        section.extend(0_u16.to_le_bytes());
        // The length of the section is not known in advance.
        section.extend(u64::MAX.to_le_bytes());
        let application = concat!("cubeyard-fabric ", env!("CARGO_PKG_VERSION"));
        put_option(&mut section, OPTION_APPLICATION, application.as_bytes());
        put_option(&mut section, OPTION_END, &[]);
        file.put_block(SECTION_HEADER, &section);
        let mut description = Vec::new();
        description.extend(u32::from(ETHERNET).to_le_bytes());
        description.extend(packet_bytes.to_le_bytes());
        put_option(&mut description, OPTION_NAME, interface.as_bytes());
        put_option(&mut description, OPTION_TIME_RESOLUTION, &[NANOSECONDS]);
        put_option(&mut description, OPTION_END, &[]);
        file.put_block(INTERFACE_DESCRIPTION, &description);
        file
    }

    /// Adds a packet with its first `kept` bytes; returns whether it fitted.
    pub fn add(&mut self, packet: &Packet, kept: &[u8]) -> bool {
        let mut body = Vec::with_capacity(kept.len() + 40);
        body.extend(0_u32.to_le_bytes());
        put_time(&mut body, packet.at_nanos);
        body.extend((kept.len() as u32).to_le_bytes());
        body.extend((packet.bytes as u32).to_le_bytes());
        body.extend(kept);
        pad(&mut body);
        let flags = if packet.outgoing { OUTBOUND } else { INBOUND };
        put_option(&mut body, OPTION_FLAGS, &flags.to_le_bytes());
        put_option(&mut body, OPTION_END, &[]);
        if self.taken_bytes + self.bytes.len() + body.len() + 12 + STATISTICS_BYTES > self.max_bytes {
            return false;
        }
        self.last_nanos = packet.at_nanos;
        self.put_block(ENHANCED_PACKET, &body);
        true
    }

    /// Number of bytes that were not taken yet.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the blocks added since the last call; `finish` returns the rest.
    pub fn take(&mut self) -> Vec<u8> {
        self.taken_bytes += self.bytes.len();
        std::mem::take(&mut self.bytes)
    }

    /// Ends the file with the number of lost packets.
    pub fn finish(mut self, missed: u64) -> Vec<u8> {
        let mut body = Vec::new();
        body.extend(0_u32.to_le_bytes());
        put_time(&mut body, self.last_nanos);
        put_option(&mut body, OPTION_DROPS, &missed.to_le_bytes());
        put_option(&mut body, OPTION_END, &[]);
        self.put_block(INTERFACE_STATISTICS, &body);
        self.bytes
    }

    /// Writes a block: kind and length precede the body, and the length follows it again.
    fn put_block(&mut self, kind: u32, body: &[u8]) {
        let length = (body.len() as u32 + 12).to_le_bytes();
        self.bytes.extend(kind.to_le_bytes());
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.extend(length);
    }
}

fn put_option(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    bytes.extend(kind.to_le_bytes());
    bytes.extend((value.len() as u16).to_le_bytes());
    bytes.extend(value);
    pad(bytes);
}

/// Writes a time with the high word first.
fn put_time(bytes: &mut Vec<u8>, nanos: u64) {
    bytes.extend(((nanos >> 32) as u32).to_le_bytes());
    bytes.extend((nanos as u32).to_le_bytes());
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Kinds and bodies of all blocks; checks that both lengths agree and that nothing is left
    /// over.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let mut result = Vec::new();
        while !bytes.is_empty() {
            let (kind, length) = (word(bytes, 0), word(bytes, 4) as usize);
            assert!(length.is_multiple_of(4) && length >= 12);
            assert_eq!(word(bytes, length - 4) as usize, length);
            result.push((kind, bytes[8..length - 4].to_vec()));
            bytes = &bytes[length..];
        }
        result
    }

    proptest! {
        #[test]
        fn a_file_holds_the_packets_that_fit_its_limit_and_no_more(
            sizes in prop::collection::vec(0_usize..2000, 0..30),
            max_bytes in 1024_usize..20_000,
            taken_every in 1_usize..8,
        ) {
            let mut file = File::new("p0", 1000, max_bytes);
            let mut taken = 0;
            let mut bytes = Vec::new();
            for (number, size) in sizes.iter().enumerate() {
                let kept: Vec<u8> = (0..*size.min(&1000)).map(|at| (at + number) as u8).collect();
                let packet = Packet { bytes: *size, kept_bytes: kept.len(), at_nanos: 1 << 40 | number as u64, outgoing: number % 2 == 1 };
                if !file.add(&packet, &kept) {
                    break;
                }
                taken += 1;
                // The result is the same whether the file is taken in parts or at once.
                if taken % taken_every == 0 {
                    bytes.extend(file.take());
                    prop_assert_eq!(file.waiting(), 0);
                }
            }
            bytes.extend(file.finish(7));
            prop_assert!(bytes.len() <= max_bytes, "{} of {max_bytes}", bytes.len());
            let blocks = blocks(&bytes);
            prop_assert_eq!(blocks.len(), taken + 3);
            prop_assert_eq!(blocks[0].0, SECTION_HEADER);
            prop_assert_eq!(blocks[1].0, INTERFACE_DESCRIPTION);
            prop_assert_eq!(blocks[taken + 2].0, INTERFACE_STATISTICS);
            for (number, (kind, body)) in blocks[2..taken + 2].iter().enumerate() {
                prop_assert_eq!(*kind, ENHANCED_PACKET);
                let word = |at: usize| u32::from_le_bytes(body[at..at + 4].try_into().unwrap());
                let kept = sizes[number].min(1000);
                let time = u64::from(word(4)) << 32 | u64::from(word(8));
                prop_assert_eq!(time, 1 << 40 | number as u64);
                prop_assert_eq!((word(12) as usize, word(16) as usize), (kept, sizes[number]));
                prop_assert!(body[20..20 + kept].iter().enumerate().all(|(at, byte)| *byte == (at + number) as u8));
                let flags = word(20 + kept.next_multiple_of(4) + 4);
                prop_assert_eq!(flags, if number % 2 == 1 { OUTBOUND } else { INBOUND });
            }
        }
    }
}
