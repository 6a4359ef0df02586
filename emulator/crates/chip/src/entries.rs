//! The entries of the tables `[serverswitch §4.1]`.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::action::Action;
use crate::flaw::Flaw;

/// Entries of the interface table.
pub const VIFS: usize = 4096;

/// The lookup tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Table {
    /// Value and mask on one of the user-defined keys; the highest index wins.
    #[serde(rename = "TCAM")]
    Tcam,
    /// Exact match on the destination MAC.
    #[serde(rename = "EM_MAC")]
    EmMac,
    /// Exact match on the IPv4 destination.
    #[serde(rename = "EM_IPV4")]
    EmIpv4,
    /// Exact match on the outermost MPLS label.
    #[serde(rename = "EM_MPLS")]
    EmMpls,
    /// Longest prefix of the IPv4 destination.
    #[serde(rename = "LPM_IPV4")]
    LpmIpv4,
}

impl Table {
    /// All, the one with the highest priority first.
    pub const ALL: [Table; 5] = [
        Table::Tcam,
        Table::EmMac,
        Table::EmIpv4,
        Table::EmMpls,
        Table::LpmIpv4,
    ];

    /// The name that programs use.
    pub fn name(self) -> &'static str {
        match self {
            Table::Tcam => "TCAM",
            Table::EmMac => "EM_MAC",
            Table::EmIpv4 => "EM_IPV4",
            Table::EmMpls => "EM_MPLS",
            Table::LpmIpv4 => "LPM_IPV4",
        }
    }

    /// The table of a name; `LPM` too, as there is one.
    pub fn by_name(name: &str) -> Option<Table> {
        let whole = if name == "LPM" { "LPM_IPV4" } else { name };
        Table::ALL.into_iter().find(|table| table.name() == whole)
    }

    /// Entries that it holds.
    pub const fn size(self) -> usize {
        match self {
            Table::Tcam => 2048,
            Table::EmMac => 32 * 1024,
            Table::EmIpv4 => 8 * 1024,
            Table::EmMpls => 4 * 1024,
            Table::LpmIpv4 => 6144,
        }
    }

    /// Bytes of a value; the TCAM's are those of the key that an entry names.
    pub fn key_bytes(self) -> Option<usize> {
        match self {
            Table::Tcam => None,
            Table::EmMac => Some(6),
            Table::EmIpv4 | Table::LpmIpv4 => Some(4),
            Table::EmMpls => Some(3),
        }
    }

    pub(crate) fn at(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An entry's table and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The table that contains the entry.
    pub table: Table,
    /// The index in it, from 0.
    pub i: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.table, self.i)
    }
}

/// One entry of a lookup table. Programs are copied for every call, so copies share the bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    /// For the TCAM: the key that it matches, 1 or 2; 0 in the other tables.
    pub iudlk: u8,
    /// The value to match; bits that the mask ignores are zero.
    pub value: Arc<[u8]>,
    /// The bits to compare, for the TCAM and LPM; empty in the tables of exact matches.
    pub mask: Arc<[u8]>,
    /// The action on a packet that matches.
    pub action: Action,
}

/// A prefix of IPv4 destinations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// The bits, those past the length zero.
    pub bits: u32,
    /// Length of the prefix in bits.
    pub length: u8,
}

impl Entry {
    /// The prefix of an LPM entry.
    pub fn prefix(&self) -> Option<Prefix> {
        let value: [u8; 4] = (*self.value).try_into().ok()?;
        let mask = u32::from_be_bytes((*self.mask).try_into().ok()?);
        let length = mask.leading_ones();
        (mask.count_ones() == length).then_some(Prefix {
            bits: u32::from_be_bytes(value) & mask,
            length: length as u8,
        })
    }
}

/// An Ethernet MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

/// As in the paper: `001F29D417E8`.
impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
    }
}

/// An entry of the interface table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vif {
    /// New destination MAC; `None` keeps the packet's.
    pub dmac: Option<Mac>,
    /// New source MAC; `None` keeps the packet's.
    pub smac: Option<Mac>,
    /// The external port.
    pub port: u8,
}

/// Bytes in hexadecimal digits, two a byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// Longest text of bytes that is read: a packet with a separator between its bytes.
const MAX_HEX_CHARS: usize = 64 * 1024;

/// Bytes of hexadecimal digits (spaces, `:` and `-` between bytes are passed over) or of an IPv4
/// address with dots.
pub fn read_bytes(field: &str, text: &str) -> Result<Vec<u8>, Flaw> {
    let limit = "hexadecimal digits, two a byte, or an IPv4 address";
    let shown = || {
        let head: String = text.chars().take(48).collect();
        if head.len() < text.len() {
            format!("\"{head}…\"")
        } else {
            format!("\"{head}\"")
        }
    };
    let wrong = |code: &'static str, fix: String| Err(Flaw::new(code, field, shown(), limit, fix));
    if text.len() > MAX_HEX_CHARS {
        return wrong("hex-long", format!("Give at most {MAX_HEX_CHARS} characters."));
    }
    if text.contains('.') {
        return match text.parse::<std::net::Ipv4Addr>() {
            Ok(address) => Ok(address.octets().to_vec()),
            Err(_) => wrong("address", "Write for example 10.0.0.1.".to_owned()),
        };
    }
    let mut digits = Vec::new();
    for (at, character) in text.chars().enumerate() {
        match character.to_digit(16) {
            Some(digit) => digits.push(digit as u8),
            None if matches!(character, ' ' | ':' | '-' | '\n' | '\r' | '\t') => {}
            None => {
                let fix = format!("Character {} is {character:?}: remove or replace it.", at + 1);
                return wrong("hex-digit", fix);
            }
        }
    }
    if digits.len() % 2 == 1 {
        return wrong(
            "hex-odd",
            format!("There are {} digits: add or remove one.", digits.len()),
        );
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
