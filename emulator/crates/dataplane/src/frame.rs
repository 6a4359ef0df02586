//! Frames in memory: a buffer with room in front for a header, and what all forwardings read of
//! Ethernet.

/// Length of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;
/// Ethernet's type of IPv4.
pub const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// Ethernet's type of ARP.
pub const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];

/// One frame, Ethernet header first, in a buffer with free bytes before it.
#[derive(Clone, Debug)]
pub struct PacketBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    headroom: usize,
}

impl PacketBuffer {
    /// An empty buffer for frames of at most `frame_bytes`, with `headroom` free bytes before them.
    pub fn new(headroom: usize, frame_bytes: usize) -> PacketBuffer {
        PacketBuffer {
            bytes: vec![0; headroom + frame_bytes],
            start: headroom,
            end: headroom,
            headroom,
        }
    }

    /// A buffer that holds a frame.
    pub fn of(headroom: usize, frame: &[u8]) -> PacketBuffer {
        let mut buffer = PacketBuffer::new(headroom, frame.len());
        buffer.bytes[headroom..].copy_from_slice(frame);
        buffer.end = buffer.bytes.len();
        buffer
    }

    /// The space into which a new frame is read; [`PacketBuffer::fill`] sets its length.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.headroom..]
    }

    /// The buffer now holds a frame of `length` bytes, cut to what there is room for.
    pub fn fill(&mut self, length: usize) {
        self.start = self.headroom;
        self.end = (self.headroom + length).min(self.bytes.len());
    }

    /// The bytes of the frame.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The frame, to change.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Makes the frame longer at its front by `count` bytes of any content; `false`, and nothing is
    /// changed, where the buffer has no room.
    #[must_use]
    pub fn grow_front(&mut self, count: usize) -> bool {
        let room = self.start >= count;
        if room {
            self.start -= count;
        }
        room
    }

    /// Cuts the frame to `length` bytes; Ethernet pads short ones.
    pub fn truncate(&mut self, length: usize) {
        self.end = self.end.min(self.start + length);
    }

    /// Takes `count` bytes away behind the Ethernet header. The frame must have them.
    pub fn remove_header(&mut self, count: usize) {
        self.remove_behind(ETHERNET_BYTES, count);
    }

    /// Makes room for `count` bytes behind the Ethernet header; `false` where the buffer has none.
    #[must_use]
    pub fn insert_header(&mut self, count: usize) -> bool {
        self.insert_behind(ETHERNET_BYTES, count)
    }

    /// Takes `count` bytes away behind the first `kept` bytes. The frame must have them.
    pub fn remove_behind(&mut self, kept: usize, count: usize) {
        let front = self.start..self.start + kept;
        self.bytes.copy_within(front, self.start + count);
        self.start += count;
    }

    /// Makes room for `count` bytes behind the first `kept` bytes, which the frame must have;
    /// `false` where the buffer has none.
    #[must_use]
    pub fn insert_behind(&mut self, kept: usize, count: usize) -> bool {
        let grown = self.grow_front(count);
        if grown {
            let front = self.start + count..self.start + count + kept;
            self.bytes.copy_within(front, self.start);
        }
        grown
    }
}

/// Writes the hardware addresses of a hop to the front of a frame.
pub fn set_addresses(frame: &mut [u8], destination: &[u8; 6], source: &[u8; 6]) {
    frame[..6].copy_from_slice(destination);
    frame[6..12].copy_from_slice(source);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_header_put_in_and_taken_out_leaves_the_frame(
            frame in prop::collection::vec(any::<u8>(), ETHERNET_BYTES..100), headroom in 0usize..50, header in 0usize..60
        ) {
            let mut buffer = PacketBuffer::of(headroom, &frame);
            let grown = buffer.insert_header(header);
            prop_assert_eq!(grown, header <= headroom);
            if grown {
                prop_assert_eq!(buffer.frame().len(), frame.len() + header);
                prop_assert_eq!(&buffer.frame()[..ETHERNET_BYTES], &frame[..ETHERNET_BYTES]);
                buffer.remove_header(header);
            }
            prop_assert_eq!(buffer.frame(), &frame[..]);
        }
    }
}
