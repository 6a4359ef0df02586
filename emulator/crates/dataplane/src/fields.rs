//! A protocol's header as data: its fields with positions and meanings, so that programs that
//! display packets need no code per protocol. A protocol's own code parses its header separately;
//! its tests compare the two.

use serde::Serialize;

/// Position of a header in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum HeaderPlace {
    /// In an IPv4 option of this type. The first two bytes of the header are the option's type and
    /// length.
    Ipv4Option {
        /// The number of the IP option.
        option: u8,
    },
    /// After an Ethernet header of this type.
    EtherType {
        /// The Ethernet type.
        ether_type: u16,
    },
}

/// The type of a field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// A count or another number.
    Number,
    /// The id of a server.
    Server,
    /// Bits with names, see [`HeaderField::flags`].
    Flags,
}

/// A named bit of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// The bit of the flag.
    pub mask: u32,
    /// The name of the flag.
    pub name: &'static str,
}

/// A field, of at most 32 bits, the most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderField {
    /// Name of the field, in snake_case.
    pub name: &'static str,
    /// Name of the field for users.
    pub title: &'static str,
    /// A description for users.
    pub description: &'static str,
    /// Position in bits from the start of the header.
    pub offset_bits: u32,
    /// Length in bits; for a repeated field, the length of one element.
    pub bits: u32,
    /// Unit for users; empty without a unit.
    pub unit: &'static str,
    /// Type of the field's value.
    pub kind: FieldKind,
    /// Named bits of a field of flags.
    pub flags: &'static [Flag],
    /// Number of elements; 1 for a field that is not repeated.
    pub count: u32,
    /// For a repeated field, the name of the field with the number of used elements; empty if all
    /// are used.
    pub used: &'static str,
    /// Lengths in bits of the numbers that form the value, the most significant first; empty for a
    /// single number.
    pub parts: &'static [u32],
}

impl HeaderField {
    /// A single number that starts at this byte of the header.
    pub const fn at(
        byte: u32,
        bits: u32,
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> HeaderField {
        HeaderField {
            name,
            title,
            description,
            offset_bits: byte * 8,
            bits,
            unit: "",
            kind: FieldKind::Number,
            flags: &[],
            count: 1,
            used: "",
            parts: &[],
        }
    }

    /// The field, starting this many bits later.
    #[must_use]
    pub const fn and_bits(self, bits: u32) -> HeaderField {
        HeaderField {
            offset_bits: self.offset_bits + bits,
            ..self
        }
    }

    /// The field with a unit.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> HeaderField {
        HeaderField { unit, ..self }
    }

    /// The field as the id of a server.
    #[must_use]
    pub const fn server(self) -> HeaderField {
        HeaderField {
            kind: FieldKind::Server,
            ..self
        }
    }

    /// The field as named bits.
    #[must_use]
    pub const fn flags(self, flags: &'static [Flag]) -> HeaderField {
        HeaderField {
            kind: FieldKind::Flags,
            flags,
            ..self
        }
    }

    /// Repeats the field `count` times; the field `used` has the number of used elements.
    #[must_use]
    pub const fn times(self, count: u32, used: &'static str) -> HeaderField {
        HeaderField { count, used, ..self }
    }

    /// The field as several numbers.
    #[must_use]
    pub const fn parts(self, parts: &'static [u32]) -> HeaderField {
        HeaderField { parts, ..self }
    }

    /// The value of an element of the field in a header; `None` if the bytes are too short.
    pub fn read(&self, bytes: &[u8], nth: u32) -> Option<u32> {
        let first = self.offset_bits + nth * self.bits;
        (first..first + self.bits).try_fold(0, |value: u32, bit| {
            let byte = bytes.get(bit as usize / 8)?;
            Some(value << 1 | u32::from(byte >> (7 - bit % 8) & 1))
        })
    }
}

/// The format of a protocol's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeaderFormat {
    /// The position of the header in a packet.
    #[serde(flatten)]
    pub place: HeaderPlace,
    /// The fields of the header, in order.
    pub fields: &'static [HeaderField],
}

impl HeaderFormat {
    /// The values of all elements of the field with this name.
    pub fn values(&self, bytes: &[u8], name: &str) -> Option<Vec<u32>> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        (0..field.count).map(|nth| field.read(bytes, nth)).collect()
    }
}
