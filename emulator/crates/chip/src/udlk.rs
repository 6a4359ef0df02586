//! User-defined lookup keys: the bytes that the programmable parser extracts from a packet
//! `[serverswitch §3.3.2, §4.1]`.
//!
//! A key consists of bytes among the packet's first 128, counted from the start of the Ethernet
//! header, and of the port of arrival. The bytes lie in at most four aligned blocks of four bytes.
//! "Aligned" means 2 mod 4, as in the paper's example (B22-25, B30-33, B34-41): blocks are aligned
//! with the words of an IP header, which follows 14 bytes of Ethernet. The first block has only
//! B0-1, so B0-5 is two blocks.

use std::fmt;

use crate::flaw::Flaw;
use crate::profile::{KEY_BLOCKS, PARSED_BYTES};

/// Bytes of the longest key: four blocks and the port.
pub const KEY_BYTES: usize = 17;

/// The bytes of a key, zero past its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u64; 3]);

impl Key {
    /// The key of some bytes, [`KEY_BYTES`] at most; longer input is truncated.
    #[inline]
    pub fn new(bytes: &[u8]) -> Key {
        let mut whole = [0; 24];
        let length = bytes.len().min(24);
        whole[..length].copy_from_slice(&bytes[..length]);
        Key::of(&whole)
    }

    #[inline]
    fn of(whole: &[u8; 24]) -> Key {
        let word = |at: usize| {
            let mut eight = [0; 8];
            eight.copy_from_slice(&whole[at..at + 8]);
            u64::from_le_bytes(eight)
        };
        Key([word(0), word(8), word(16)])
    }

    /// The key with the mask applied.
    #[inline]
    #[must_use]
    pub fn masked(&self, mask: &Key) -> Key {
        Key([
            self.0[0] & mask.0[0],
            self.0[1] & mask.0[1],
            self.0[2] & mask.0[2],
        ])
    }

    /// The byte at an index.
    #[inline]
    pub fn byte(&self, at: usize) -> u8 {
        (self.0[at >> 3] >> ((at & 7) << 3)) as u8
    }

    /// The first `length` bytes.
    pub fn bytes(&self, length: usize) -> Vec<u8> {
        (0..length).map(|at| self.byte(at)).collect()
    }
}

/// One part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The port that the packet came in by, in one byte.
    InPort,
    /// Bytes of the packet, both ends included.
    Bytes(u8, u8),
}

impl Field {
    /// The field of `INPORT`, `B22` or `B22-25`. Errors name the field and what it may be.
    pub fn read(text: &str) -> Result<Field, Flaw> {
        if text == "INPORT" {
            return Ok(Field::InPort);
        }
        let range = text.strip_prefix('B').and_then(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |digits: &str| {
                let plain =
                    !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|c| c.is_ascii_digit());
                plain.then(|| digits.parse::<u32>().ok())?
            };
            Some((number(first)?, number(last)?))
        });
        let Some((first, last)) = range else {
            return Err(Flaw::new(
                "udlk-field",
                "udlk",
                format!("\"{text}\""),
                "INPORT, a byte like B22, or bytes like B22-25",
                "Count bytes from the first of the Ethernet header: the TTL of an IPv4 packet is B22.",
            ));
        };
        if first > last {
            return Err(Flaw::new(
                "udlk-order",
                "udlk",
                text,
                "a range from its first byte to its last",
                format!("Write B{last}-{first}."),
            ));
        }
        if last as usize >= PARSED_BYTES {
            return Err(Flaw::new(
                "udlk-beyond",
                "udlk",
                text,
                format!("within B0 to B{}", PARSED_BYTES - 1),
                format!(
                    "The parser sees the first {PARSED_BYTES} bytes of a packet: take bytes before that."
                ),
            ));
        }
        Ok(Field::Bytes(first as u8, last as u8))
    }

    /// Bytes of the key that it takes.
    pub fn len(self) -> usize {
        match self {
            Field::InPort => 1,
            Field::Bytes(first, last) => usize::from(last - first) + 1,
        }
    }

    /// Never: a field has at least one byte.
    pub fn is_empty(self) -> bool {
        false
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Field::InPort => f.write_str("INPORT"),
            Field::Bytes(first, last) if first == last => write!(f, "B{first}"),
            Field::Bytes(first, last) => write!(f, "B{first}-{last}"),
        }
    }
}

/// The fields of a key, in their order in the key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Udlk {
    fields: Vec<Field>,
    /// Where each byte of the key comes from: a byte of the packet, or [`IN_PORT`].
    sources: [u8; KEY_BYTES],
    length: usize,
}

/// A value of `sources`: this byte of the key is the port of arrival.
pub(crate) const IN_PORT: u8 = 0xff;

impl Udlk {
    /// The key of some fields. Errors: no field, a byte or the port twice, more than four blocks.
    pub fn new(fields: Vec<Field>) -> Result<Udlk, Flaw> {
        let text = || join(&fields);
        if fields.is_empty() {
            let fix = "Write for example SetUDLK(1, (B22-25, B34-41)).";
            return Err(Flaw::new("udlk-empty", "udlk", "()", "at least one field", fix));
        }
        let mut taken = [false; 256];
        let mut blocks = [false; 64];
        let mut sources = Vec::new();
        for field in &fields {
            let bytes = match *field {
                Field::InPort => IN_PORT..=IN_PORT,
                Field::Bytes(first, last) => first..=last,
            };
            for byte in bytes {
                if std::mem::replace(&mut taken[usize::from(byte)], true) {
                    let fix = "Name every byte once: an entry's mask says which of them count.";
                    return Err(Flaw::new(
                        "udlk-twice",
                        "udlk",
                        text(),
                        "without a byte or INPORT twice",
                        fix,
                    ));
                }
                if byte != IN_PORT {
                    blocks[(usize::from(byte) + 2) / 4] = true;
                }
                sources.push(byte);
            }
        }
        let count = blocks.iter().filter(|&&used| used).count();
        if count > KEY_BLOCKS {
            return Err(Flaw::new(
                "udlk-blocks",
                "udlk",
                text(),
                format!("in at most {KEY_BLOCKS} aligned blocks of 4 bytes"),
                format!(
                    "It touches {count}. Blocks begin at B2, B6, B10 and so on: take bytes of fewer blocks, or split the key between the two UDLKs."
                ),
            ));
        }
        let mut placed = [0; KEY_BYTES];
        placed[..sources.len()].copy_from_slice(&sources);
        Ok(Udlk {
            fields,
            sources: placed,
            length: sources.len(),
        })
    }

    /// The fields in order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Bytes of the key.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Never: a key has at least one field.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where each byte of the key comes from: a byte of the packet, or [`IN_PORT`].
    pub(crate) fn sources(&self) -> &[u8] {
        &self.sources[..self.length]
    }

    /// The key of a packet. Bytes past the packet's end are zero.
    #[inline]
    pub fn key(&self, in_port: u8, packet: &[u8]) -> Key {
        let mut whole = [0; 24];
        for (byte, &source) in whole.iter_mut().zip(&self.sources[..self.length]) {
            *byte = if source == IN_PORT {
                in_port
            } else {
                packet.get(usize::from(source)).copied().unwrap_or(0)
            };
        }
        Key::of(&whole)
    }
}

fn join(fields: &[Field]) -> String {
    let names: Vec<String> = fields.iter().map(ToString::to_string).collect();
    format!("({})", names.join(", "))
}

impl fmt::Display for Udlk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&join(&self.fields))
    }
}
