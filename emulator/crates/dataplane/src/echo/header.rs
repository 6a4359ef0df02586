//! The echo header: 8 bytes between Ethernet and IP, under Ethernet's type for local experiments.
//!
//! ```text
//! 0  version | ttl | zero u16
//! 4  destination u32, big-endian: the server's id
//! ```

use cubeyard_topology::NodeId;

/// Length of the header.
pub const HEADER_BYTES: usize = 8;
/// Ethernet's type: "Local Experimental Ethertype 1" (IEEE 802).
pub const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// Hops that a packet may take: more than the diameter of any run.
pub const TTL: u8 = 64;

const VERSION: u8 = 1;

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Hops left.
    pub ttl: u8,
    /// The server it is for.
    pub destination: NodeId,
}

impl Header {
    /// The header at the start of `bytes`; `None` where there is none.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let &[VERSION, ttl, 0, 0, a, b, c, d] = bytes.first_chunk::<HEADER_BYTES>()? else {
            return None;
        };
        Some(Header {
            ttl,
            destination: NodeId::from_be_bytes([a, b, c, d]),
        })
    }

    /// Its bytes.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let [a, b, c, d] = self.destination.to_be_bytes();
        [VERSION, self.ttl, 0, 0, a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_survives_its_bytes(ttl in any::<u8>(), destination in any::<u32>()) {
            let header = Header { ttl, destination };
            prop_assert_eq!(Header::parse(&header.emit()), Some(header));
            prop_assert_eq!(Header::parse(&header.emit()[..7]), None);
        }

        #[test]
        fn any_bytes_are_refused_or_a_header(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Some(header) = Header::parse(&bytes) {
                prop_assert_eq!(&header.emit()[..], &bytes[..HEADER_BYTES]);
            }
        }
    }
}
