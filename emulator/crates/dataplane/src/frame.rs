//! Frames in memory: a buffer with free space in front for a header, and the parts of Ethernet that
//! all forwardings use.

/// Length of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;
/// Ethernet's type of IPv4.
pub const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// Ethernet's type of ARP.
pub const ETHERTYPE_ARP: [u8; 2] = [0x08, 0x06];

/// A frame, starting with its Ethernet header, in a buffer with free bytes before it.
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

    /// The space for reading a new frame; [`PacketBuffer::fill`] then sets the frame's length.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.headroom..]
    }

    /// Sets the length of the frame that was read, limited to the buffer's size.
    pub fn fill(&mut self, length: usize) {
        self.start = self.headroom;
        self.end = (self.headroom + length).min(self.bytes.len());
    }

    /// Bytes of the frame.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Bytes of the frame, for changing them.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Extends the frame at its front by `count` bytes of any content. Returns `false`, and changes
    /// nothing, if the buffer lacks the space.
    #[must_use]
    pub fn grow_front(&mut self, count: usize) -> bool {
        let fits = self.start >= count;
        if fits {
            self.start -= count;
        }
        fits
    }

    /// Shortens the frame to `length` bytes, since Ethernet pads short ones.
    pub fn truncate(&mut self, length: usize) {
        self.end = self.end.min(self.start + length);
    }

    /// Removes `count` bytes after the Ethernet header. The frame must have them.
    pub fn remove_header(&mut self, count: usize) {
        self.remove_behind(ETHERNET_BYTES, count);
    }

    /// Inserts space for `count` bytes after the Ethernet header; returns `false` if the buffer
    /// lacks it.
    #[must_use]
    pub fn insert_header(&mut self, count: usize) -> bool {
        self.insert_behind(ETHERNET_BYTES, count)
    }

    /// Removes `count` bytes after the first `kept` bytes. The frame must have them.
    pub fn remove_behind(&mut self, kept: usize, count: usize) {
        let front = self.start..self.start + kept;
        self.bytes.copy_within(front, self.start + count);
        self.start += count;
    }

    /// Inserts space for `count` bytes after the first `kept` bytes, which the frame must have.
    /// Returns `false` if the buffer lacks the space.
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
