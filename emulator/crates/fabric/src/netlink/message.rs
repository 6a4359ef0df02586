//! Netlink messages as bytes: writing requests into one batch, reading answers back.
//!
//! A message is a 16-byte header, a fixed part of its family, then attributes of type, length and
//! value, each padded to four bytes. `[man 7 netlink, man 7 rtnetlink]`

/// Length of every message's header.
pub const HEADER_LEN: usize = 16;
/// An error, or an acknowledgement if its number is zero.
pub const NLMSG_ERROR: u16 = 2;
/// Marks the end of a dump.
pub const NLMSG_DONE: u16 = 3;

/// Flag: this is a request.
pub const REQUEST: u16 = 0x1;
/// Flag: acknowledge success too.
pub const ACK: u16 = 0x4;
/// Flag: list all objects.
pub const DUMP: u16 = 0x300;
/// Flag: replace an existing object.
pub const REPLACE: u16 = 0x100;
/// Flag: fail if the object exists.
pub const EXCLUSIVE: u16 = 0x200;
/// Flag: create the object.
pub const CREATE: u16 = 0x400;
/// Flag: add to existing objects.
pub const APPEND: u16 = 0x800;

/// Requests in the order in which they are carried out, each with its purpose for error messages.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    purposes: Vec<String>,
}

impl Batch {
    /// Creates an empty batch.
    pub fn new() -> Batch {
        Batch::default()
    }

    /// Number of requests in the batch.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether the batch has no request.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Appends a request with its kind, its flags, its fixed part, and the attributes that `fill`
    /// adds.
    pub fn request(
        &mut self,
        kind: u16,
        flags: u16,
        fixed: &[u8],
        purpose: impl Into<String>,
        fill: impl FnOnce(&mut Attributes<'_>),
    ) {
        let start = self.bytes.len();
        self.starts.push(start);
        self.purposes.push(purpose.into());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&(REQUEST | flags).to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.extend_from_slice(fixed);
        fill(&mut Attributes {
            bytes: &mut self.bytes,
        });
        let length = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Returns the purpose of a request, for errors.
    pub fn purpose(&self, index: usize) -> &str {
        &self.purposes[index]
    }

    /// Splits the batch into ranges of requests of at most `limit` bytes. A longer request gets a
    /// separate range.
    pub fn chunks(&self, limit: usize) -> Vec<std::ops::Range<usize>> {
        let mut chunks = Vec::new();
        let mut first = 0;
        for index in 0..self.len() {
            if index > first && self.end(index) - self.starts[first] > limit {
                chunks.push(first..index);
                first = index;
            }
        }
        if first < self.len() {
            chunks.push(first..self.len());
        }
        chunks
    }

    /// Encodes a range of requests, numbered from `first_sequence`. Only the last one requests an
    /// acknowledgement: the kernel answers in order and reports errors in any case.
    pub fn bytes_of(&mut self, requests: std::ops::Range<usize>, first_sequence: u32) -> &[u8] {
        for index in requests.clone() {
            let start = self.starts[index];
            let sequence = first_sequence.wrapping_add((index - requests.start) as u32);
            self.bytes[start + 8..start + 12].copy_from_slice(&sequence.to_ne_bytes());
            if index + 1 == requests.end {
                let flags = u16::from_ne_bytes([self.bytes[start + 6], self.bytes[start + 7]]);
                if flags & DUMP != DUMP {
                    self.bytes[start + 6..start + 8].copy_from_slice(&(flags | ACK).to_ne_bytes());
                }
            }
        }
        &self.bytes[self.starts[requests.start]..self.end(requests.end - 1)]
    }

    fn end(&self, index: usize) -> usize {
        self.starts.get(index + 1).copied().unwrap_or(self.bytes.len())
    }
}

/// Appends attributes to a request's fixed part.
#[derive(Debug)]
pub struct Attributes<'a> {
    bytes: &'a mut Vec<u8>,
}

impl Attributes<'_> {
    /// Appends raw bytes, such as the fixed part inside `VETH_INFO_PEER`. Their number must be a
    /// multiple of four.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends an attribute with this value.
    pub fn put(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |inner| inner.bytes.extend_from_slice(value));
    }

    /// Appends a number of one byte.
    pub fn put_u8(&mut self, kind: u16, value: u8) {
        self.put(kind, &[value]);
    }

    /// Appends a number of four bytes in native order.
    pub fn put_u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_ne_bytes());
    }

    /// Appends a string with the final zero byte that the kernel requires.
    pub fn put_text(&mut self, kind: u16, text: &str) {
        self.nest(kind, |inner| {
            inner.bytes.extend_from_slice(text.as_bytes());
            inner.bytes.push(0);
        });
    }

    /// Appends an attribute that contains attributes.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Attributes<'_>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        fill(&mut Attributes { bytes: self.bytes });
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// One answer of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    /// Type of the message.
    pub kind: u16,
    /// Number of the answered request.
    pub sequence: u32,
    /// The bytes after the message's header.
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// For `NLMSG_ERROR` and `NLMSG_DONE`: the error number, zero for an acknowledgement.
    pub fn error_number(&self) -> i32 {
        self.body
            .first_chunk()
            .map_or(0, |bytes| i32::from_ne_bytes(*bytes).saturating_neg())
    }

    /// The attributes after a fixed part of `fixed` bytes; none if the body is shorter.
    pub fn attributes(&self, fixed: usize) -> AttributesIn<'a> {
        attributes(self.body.get(fixed..).unwrap_or_default())
    }
}

/// The answers in one datagram, up to the first whose length is wrong.
pub fn answers(mut datagram: &[u8]) -> impl Iterator<Item = Answer<'_>> {
    std::iter::from_fn(move || {
        let header = datagram.first_chunk::<HEADER_LEN>()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let body = datagram.get(HEADER_LEN..length)?;
        let answer = Answer {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            sequence: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
            body,
        };
        datagram = datagram.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(answer)
    })
}

/// Attributes of an answer, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct AttributesIn<'a>(&'a [u8]);

/// Reads bytes as attributes.
pub fn attributes(bytes: &[u8]) -> AttributesIn<'_> {
    AttributesIn(bytes)
}

impl<'a> Iterator for AttributesIn<'a> {
    /// Kind (without the nested and byte-order bits) and value.
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let header = self.0.first_chunk::<4>()?;
        let length = usize::from(u16::from_ne_bytes([header[0], header[1]]));
        let kind = u16::from_ne_bytes([header[2], header[3]]) & 0x3fff;
        let value = self.0.get(4..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    }
}

impl<'a> AttributesIn<'a> {
    /// The value of the first attribute of a kind.
    pub fn find_value(self, wanted: u16) -> Option<&'a [u8]> {
        self.into_iter()
            .find_map(|(kind, value)| (kind == wanted).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_has_the_layout_of_the_manual() {
        let mut batch = Batch::new();
        batch.request(16, CREATE, &[7; 16], "make a link", |attributes| {
            attributes.put_text(3, "lo");
            attributes.nest(18, |inner| inner.put_u32(1, 9));
        });
        let bytes = batch.bytes_of(0..1, 5).to_vec();
        let mut expected = vec![];
        expected.extend_from_slice(&52u32.to_ne_bytes());
        expected.extend_from_slice(&16u16.to_ne_bytes());
        expected.extend_from_slice(&(REQUEST | CREATE | ACK).to_ne_bytes());
        expected.extend_from_slice(&5u32.to_ne_bytes());
        expected.extend_from_slice(&[0; 4]);
        expected.extend_from_slice(&[7; 16]);
        expected.extend_from_slice(&[7, 0, 3, 0, b'l', b'o', 0, 0]);
        expected.extend_from_slice(&[12, 0, 18, 0, 8, 0, 1, 0, 9, 0, 0, 0]);
        assert_eq!(bytes, expected);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(values in prop::collection::vec((1u16..200, prop::collection::vec(any::<u8>(), 0..40)), 1..20)) {
            let mut batch = Batch::new();
            for (kind, value) in &values {
                batch.request(*kind + 16, 0, &[], "", |attributes| attributes.put(*kind, value));
            }
            let count = batch.len();
            let bytes = batch.bytes_of(0..count, 100).to_vec();
            let read: Vec<_> = answers(&bytes)
                .map(|answer| {
                    let (kind, value) = answer.attributes(0).next().expect("one attribute");
                    (answer.sequence, kind, value.to_vec())
                })
                .collect();
            let wanted: Vec<_> =
                values.into_iter().enumerate().map(|(index, (kind, value))| (100 + index as u32, kind, value)).collect();
            prop_assert_eq!(read, wanted);
        }

        #[test]
        fn no_bytes_of_the_kernel_can_make_reading_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for answer in answers(&bytes) {
                let _ = (answer.error_number(), answer.attributes(4).count());
            }
        }

        #[test]
        fn chunks_hold_every_request_once_and_in_order(sizes in prop::collection::vec(0usize..100, 0..30), limit in 1usize..400) {
            let mut batch = Batch::new();
            for size in &sizes {
                batch.request(1, 0, &[], "", |attributes| attributes.put(1, &vec![0; *size]));
            }
            let all: Vec<usize> = batch.chunks(limit).into_iter().flatten().collect();
            prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
            for chunk in batch.chunks(limit) {
                let alone = chunk.len() == 1;
                prop_assert!(alone || batch.bytes_of(chunk, 0).len() <= limit);
            }
        }
    }
}
