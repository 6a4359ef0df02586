//! Damages frames of the vectors.

use proptest::prelude::*;

/// A corruption: changed bytes, and a new length of the frame.
#[derive(Clone, Debug)]
pub struct Corruption {
    pub case: prop::sample::Index,
    pub changes: Vec<(prop::sample::Index, u8)>,
    pub length: Option<usize>,
    /// Whether to correct the header's checksum afterwards, so that the corruption passes that
    /// check.
    pub repaired: bool,
}

pub fn corruption() -> impl Strategy<Value = Corruption> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let length = prop::option::of(34usize..160);
    (any::<prop::sample::Index>(), changes, length, any::<bool>()).prop_map(
        |(case, changes, length, repaired)| Corruption {
            case,
            changes,
            length,
            repaired,
        },
    )
}

impl Corruption {
    /// Applies the corruption to a frame whose IP header has `header` bytes.
    pub fn apply(&self, mut frame: Vec<u8>, header: usize) -> Vec<u8> {
        for (at, value) in &self.changes {
            // Most relevant bytes are among the first 80.
            let at = at.index(frame.len().min(80));
            frame[at] ^= value;
        }
        if let Some(length) = self.length {
            frame.resize(length, 0xa5);
        }
        if self.repaired
            && let Some(header) = frame.get_mut(14..14 + header)
        {
            header[10..12].fill(0);
            let sum: u32 = header
                .chunks(2)
                .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
                .sum();
            let folded = (sum & 0xffff) + (sum >> 16);
            let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        frame
    }
}
