//! Replaces BCube's own header by ServerSwitch's in frames of the vectors.

use cubeyard_chip::bcube;

const AT: usize = 14;
const BCUBE_BYTES: usize = 36;

/// The frame with the header of the paper's Fig. 5, for the same path and the same position on it.
/// Frames without BCube's header are unchanged. Wrong checksums stay wrong.
pub fn of(mut frame: Vec<u8>) -> Vec<u8> {
    let Some(&header) = frame
        .get(AT..)
        .and_then(|packet| packet.first_chunk::<BCUBE_BYTES>())
    else {
        return frame;
    };
    let (next, count) = (usize::from(header[22]), usize::from(header[23]));
    if header[0] != 0x49 || header[9] != 4 || next == 0 || next > count || count > 8 {
        return frame;
    }
    let address = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]].into();
    let hops = &header[24..24 + count];
    let mut new = bcube::header(address(12), address(16), hops, 0).unwrap().to_vec();
    new[2..4].copy_from_slice(&header[2..4]);
    new[8] = (count - next + 1) as u8;
    let right = checksum(&header, 36) == [header[10], header[11]];
    let mut sum = checksum(&new, 20);
    if !right {
        sum[0] ^= 1;
    }
    new[10..12].copy_from_slice(&sum);
    frame[AT..AT + 32].copy_from_slice(&new);
    frame[AT + 32..AT + BCUBE_BYTES].copy_from_slice(&header[32..36]);
    frame
}

fn checksum(header: &[u8], bytes: usize) -> [u8; 2] {
    let words = header[..bytes].chunks(2).enumerate();
    let sum: u32 = words
        .filter(|(at, _)| *at != 5)
        .map(|(_, pair)| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (!((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes()
}
