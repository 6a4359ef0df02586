//! The echo header: 8 bytes between Ethernet and IP, under Ethernet's type for local experiments.
//!
//! ```text
//! 0  version | ttl | zero u16
//! 4  destination u32, big-endian: the server's id
//! ```

use cubeyard_topology::NodeId;

use crate::fields::{HeaderField, HeaderFormat, HeaderPlace};

/// Length of the header.
pub const HEADER_BYTES: usize = 8;
/// Ethernet type "Local Experimental Ethertype 1" (IEEE 802).
pub const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// Maximum number of hops, more than the diameter of any run.
pub const TTL: u8 = 64;

/// The header's fields, for programs that display packets.
pub const FORMAT: HeaderFormat = HeaderFormat {
    place: HeaderPlace::EtherType {
        ether_type: u16::from_be_bytes(ETHERTYPE),
    },
    fields: &[
        HeaderField::at(0, 8, "version", "Version", "Of the header."),
        HeaderField::at(1, 8, "ttl", "Time to live", "Hops left.").unit("hops"),
        HeaderField::at(
            4,
            32,
            "destination",
            "Destination",
            "The server that the packet is for.",
        )
        .server(),
    ],
};

const VERSION: u8 = 1;

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Remaining hops of the packet.
    pub ttl: u8,
    /// Id of the destination server.
    pub destination: NodeId,
}

impl Header {
    /// Parses the header at the start of `bytes`; `None` if there is none.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let &[VERSION, ttl, 0, 0, a, b, c, d] = bytes.first_chunk::<HEADER_BYTES>()? else {
            return None;
        };
        Some(Header {
            ttl,
            destination: NodeId::from_be_bytes([a, b, c, d]),
        })
    }

    /// Encodes the header.
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
            let described = ["version", "ttl", "destination"].map(|name| FORMAT.values(&header.emit(), name).unwrap());
            prop_assert_eq!(described, [vec![1], vec![u32::from(ttl)], vec![destination]]);
        }

        #[test]
        fn any_bytes_are_refused_or_a_header(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Some(header) = Header::parse(&bytes) {
                prop_assert_eq!(&header.emit()[..], &bytes[..HEADER_BYTES]);
            }
        }
    }
}
