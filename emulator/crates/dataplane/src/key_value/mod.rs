//! Keys and values with memcached's semantics: the effects of commands on values, and the store of
//! a server without replicas.
//!
//! Each server that answers a workload's requests has one such store, and the cache service uses
//! this code for its replicas and its clients' commands.
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the effect of a write on an existing value |
//! | `text.rs` | memcached's text protocol |
//! | `asked.rs` | the effects of its commands on a store |
//! | `values.rs` | values in memory, within bounds |
//! | `alone.rs` | a server's own values, for its clients |
//!
//! Not here: connections (`cubeyard-node`), and replicas.

pub mod alone;
pub mod asked;
pub mod text;
pub mod values;

use std::time::Duration;

use crate::protocol::Time;
use text::{TOO_LARGE, Write};

/// The lifetime in milliseconds of a value that never expires.
pub const FOR_EVER: u32 = u32::MAX;

/// A stored value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The data of the value.
    pub data: Vec<u8>,
    /// Opaque flags for clients.
    pub flags: u32,
    /// Version, which increases with every write.
    pub version: u64,
    /// Expiry time; `None` for a value that never expires.
    pub until: Option<Time>,
}

impl Entry {
    /// Remaining lifetime in milliseconds.
    pub fn lives_millis(&self, now: Time) -> u32 {
        let left = self.until.map(|until| until.saturating_sub(now).as_millis());
        left.map_or(FOR_EVER, |left| left.min(u128::from(FOR_EVER - 1)) as u32)
    }

    /// The expiry time of a value with this lifetime in milliseconds.
    pub fn end(now: Time, lives_millis: u32) -> Option<Time> {
        (lives_millis != FOR_EVER).then(|| now + Duration::from_millis(lives_millis.into()))
    }
}

/// An operation on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Write a value, in one of several ways.
    Write(Write),
    /// Delete the value.
    Delete,
    /// Add to a number, or subtract if `true`; the change's value is the difference.
    Adjust(bool),
    /// Change the time to live.
    Touch,
}

/// An operation with all its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The operation.
    pub deed: Deed,
    /// The key of the value.
    pub key: Vec<u8>,
    /// The value, or the difference of an adjustment.
    pub value: Vec<u8>,
    /// Opaque flags for clients.
    pub flags: u32,
    /// Lifetime of the value from now on, in milliseconds.
    pub lives_millis: u32,
    /// The version that [`Write::Cas`] expects.
    pub version: u64,
}

impl Change {
    /// A change of a key with default fields.
    pub fn new(deed: Deed, key: Vec<u8>) -> Change {
        Change {
            deed,
            key,
            value: Vec::new(),
            flags: 0,
            lives_millis: FOR_EVER,
            version: 0,
        }
    }
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The value was written.
    Stored,
    /// The condition of the write does not hold: a value exists, or is missing.
    NotStored,
    /// The value has another version.
    Exists,
    /// The value was deleted.
    Deleted,
    /// The time to live was changed.
    Touched,
    /// The number was changed; the entry has the new one.
    Adjusted,
    /// The value is no number.
    NoNumber,
    /// The value would be too long.
    TooLarge,
    /// There is no value.
    NotFound,
}

impl Outcome {
    /// The answer for the client. After an adjustment, the client gets the new number instead.
    pub fn text(self) -> &'static str {
        match self {
            Outcome::Stored => "STORED\r\n",
            Outcome::NotStored => "NOT_STORED\r\n",
            Outcome::Exists => "EXISTS\r\n",
            Outcome::Deleted => "DELETED\r\n",
            Outcome::Touched => "TOUCHED\r\n",
            Outcome::NoNumber => "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
            Outcome::TooLarge => TOO_LARGE,
            Outcome::Adjusted | Outcome::NotFound => "NOT_FOUND\r\n",
        }
    }
}

/// The effect of a change on an existing entry: the outcome, and the new entry with this version,
/// if there is one.
pub fn changed(
    change: &Change,
    existing: Option<Entry>,
    version: u64,
    now: Time,
    most_bytes: usize,
) -> (Outcome, Option<Entry>) {
    let given = Entry {
        data: change.value.clone(),
        flags: change.flags,
        version,
        until: Entry::end(now, change.lives_millis),
    };
    let entry = match (change.deed, existing) {
        (Deed::Delete, Some(_)) => return (Outcome::Deleted, None),
        (Deed::Write(Write::Add), Some(_))
        | (Deed::Write(Write::Replace | Write::Append | Write::Prepend), None) => {
            return (Outcome::NotStored, None);
        }
        (Deed::Write(Write::Cas), Some(existing)) if existing.version != change.version => {
            return (Outcome::Exists, None);
        }
        (Deed::Write(Write::Set | Write::Add), _) | (Deed::Write(Write::Replace | Write::Cas), Some(_)) => {
            given
        }
        // Flags and expiry time stay those of the existing value.
        (Deed::Write(Write::Append), Some(existing)) => Entry {
            data: [&existing.data[..], &change.value].concat(),
            version,
            ..existing
        },
        (Deed::Write(Write::Prepend), Some(existing)) => Entry {
            data: [&change.value[..], &existing.data].concat(),
            version,
            ..existing
        },
        (Deed::Adjust(down), Some(existing)) => return adjusted(&change.value, down, &existing, version),
        (Deed::Touch, Some(existing)) => {
            let until = given.until;
            let entry = Entry {
                until,
                version,
                ..existing
            };
            return (Outcome::Touched, Some(entry));
        }
        (Deed::Delete | Deed::Write(Write::Cas) | Deed::Adjust(_) | Deed::Touch, None) => {
            return (Outcome::NotFound, None);
        }
    };
    if change.key.len() + entry.data.len() > most_bytes {
        return (Outcome::TooLarge, None);
    }
    (Outcome::Stored, Some(entry))
}

fn adjusted(by: &[u8], down: bool, existing: &Entry, version: u64) -> (Outcome, Option<Entry>) {
    let (Some(number), Some(by)) = (decimal(&existing.data), decimal(by)) else {
        return (Outcome::NoNumber, None);
    };
    let number = if down {
        number.saturating_sub(by)
    } else {
        number.wrapping_add(by)
    };
    let data = number.to_string().into_bytes();
    let entry = Entry {
        data,
        version,
        ..*existing
    };
    (Outcome::Adjusted, Some(entry))
}

fn decimal(data: &[u8]) -> Option<u64> {
    let digits = data.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(data).ok().filter(|_| digits)?.parse().ok()
}
