//! The payloads that the cache's instances send to each other.

use crate::camcube::services::wire::{Reader, put_bytes};
use crate::key_value::text::Write;
use crate::key_value::{Deed, FOR_EVER, Outcome};
use crate::service::Key;

/// Bytes of a payload in addition to the key and the value.
pub const HEAD_BYTES: usize = 33;

/// The kind of a payload: a request, an answer or an invalidation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Request: look a value up.
    Get,
    /// Request: write a value.
    Write(Write),
    /// Request: delete a value.
    Delete,
    /// Request: add to a number, or subtract if `true`; the payload's value is the difference.
    Adjust(bool),
    /// Request: change the time to live.
    Touch,
    /// Answer: here is the value.
    Value,
    /// Answer: there is no value.
    Miss,
    /// Answer: the value was written.
    Stored,
    /// Answer: the condition of the write does not hold: a value exists, or is missing.
    NotStored,
    /// Answer: the value has another version.
    Exists,
    /// Answer: the value was deleted.
    Deleted,
    /// Answer: the time to live was changed.
    Touched,
    /// Answer: the value is no number.
    NoNumber,
    /// Answer: the value would be longer than a packet.
    TooLarge,
    /// To secondaries: versions older than this one are out of date.
    Forget,
}

/// All kinds, by their number on the wire, from 1.
const KINDS: [What; 20] = [
    What::Get,
    What::Write(Write::Set),
    What::Write(Write::Add),
    What::Write(Write::Replace),
    What::Write(Write::Append),
    What::Write(Write::Prepend),
    What::Write(Write::Cas),
    What::Delete,
    What::Adjust(false),
    What::Adjust(true),
    What::Touch,
    What::Value,
    What::Miss,
    What::Stored,
    What::NotStored,
    What::Exists,
    What::Deleted,
    What::Touched,
    What::NoNumber,
    What::TooLarge,
];
const FORGET: u8 = KINDS.len() as u8 + 1;

impl What {
    /// Whether this is a request, which the primary or a replica handles, and not an answer.
    pub fn is_request(self) -> bool {
        matches!(
            self,
            What::Get | What::Write(_) | What::Delete | What::Adjust(_) | What::Touch
        )
    }

    /// The request for an operation.
    pub fn request(deed: Deed) -> What {
        match deed {
            Deed::Write(how) => What::Write(how),
            Deed::Delete => What::Delete,
            Deed::Adjust(down) => What::Adjust(down),
            Deed::Touch => What::Touch,
        }
    }

    /// The operation that a request applies to a value; `None` for anything else.
    pub fn deed(self) -> Option<Deed> {
        match self {
            What::Write(how) => Some(Deed::Write(how)),
            What::Delete => Some(Deed::Delete),
            What::Adjust(down) => Some(Deed::Adjust(down)),
            What::Touch => Some(Deed::Touch),
            _ => None,
        }
    }

    /// The answer for the outcome of a change.
    pub fn answer(outcome: Outcome) -> What {
        match outcome {
            Outcome::Stored => What::Stored,
            Outcome::NotStored => What::NotStored,
            Outcome::Exists => What::Exists,
            Outcome::Deleted => What::Deleted,
            Outcome::Touched => What::Touched,
            Outcome::Adjusted => What::Value,
            Outcome::NoNumber => What::NoNumber,
            Outcome::TooLarge => What::TooLarge,
            Outcome::NotFound => What::Miss,
        }
    }

    /// The outcome that an answer reports.
    pub fn outcome(self) -> Outcome {
        match self {
            What::Stored => Outcome::Stored,
            What::NotStored => Outcome::NotStored,
            What::Exists => Outcome::Exists,
            What::Deleted => Outcome::Deleted,
            What::Touched => Outcome::Touched,
            What::Value => Outcome::Adjusted,
            What::NoNumber => Outcome::NoNumber,
            What::TooLarge => Outcome::TooLarge,
            _ => Outcome::NotFound,
        }
    }

    fn number(self) -> u8 {
        let place = KINDS.iter().position(|kind| *kind == self);
        place.map_or(FORGET, |place| place as u8 + 1)
    }

    fn of(number: u8) -> Option<What> {
        if number == FORGET {
            return Some(What::Forget);
        }
        KINDS.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// The path of a lookup whose hops are counted. `[camcube §3.3, Fig. 3]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Whether it goes straight to the primary by the routing service, so that any copy on the way
    /// answers.
    pub straight: bool,
    /// Number of links so far.
    pub hops: u8,
}

const MISSED: u8 = 1;
const COUNTED: u8 = 2;
const STRAIGHT: u8 = 4;
/// Position of the marks in a payload.
const MARKS_AT: usize = 7;

/// A parsed payload of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The kind of the payload.
    pub what: What,
    /// The coordinate that gets the answer.
    pub requester: Key,
    /// The secondary through which the answer returns; before a miss, the requester.
    pub via: Key,
    /// Whether a secondary had no value.
    pub missed: bool,
    /// The route of a lookup whose hops are counted.
    pub counted: Option<Counted>,
    /// The requester's number for the request; 0 for a message from a user.
    pub request: u32,
    /// Opaque flags for clients.
    pub flags: u32,
    /// Remaining lifetime of the value, in milliseconds.
    pub lives_millis: u32,
    /// The version of the value; for a conditional write, the expected version.
    pub version: u64,
    /// The key of the value.
    pub key: Vec<u8>,
    /// The value, if there is one.
    pub value: Vec<u8>,
}

impl Words {
    /// A new request of a server.
    pub fn new(what: What, requester: Key, key: Vec<u8>) -> Words {
        Words {
            what,
            requester,
            via: requester,
            missed: false,
            counted: None,
            request: 0,
            flags: 0,
            lives_millis: FOR_EVER,
            version: 0,
            key,
            value: Vec::new(),
        }
    }

    /// Parses a payload; `None` if it is invalid.
    pub fn parse(payload: &[u8]) -> Option<Words> {
        let mut reader = Reader(payload);
        let what = What::of(reader.u8()?)?;
        let (requester, via) = (reader.key()?, reader.key()?);
        let (marks, hops) = (reader.u8()?, reader.u8()?);
        let straight = marks & STRAIGHT != 0;
        let counted = (marks & COUNTED != 0).then_some(Counted { straight, hops });
        let (request, flags, lives_millis) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let version = reader.u64()?;
        let (key, value) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
        Some(Words {
            what,
            requester,
            via,
            missed: marks & MISSED != 0,
            counted,
            request,
            flags,
            lives_millis,
            version,
            key,
            value,
        })
    }

    /// Encodes the payload.
    pub fn emit(&self) -> Vec<u8> {
        let mut payload = vec![self.what.number()];
        payload.extend(self.requester);
        payload.extend(self.via);
        let marks = self
            .counted
            .map_or(0, |counted| COUNTED | (u8::from(counted.straight) * STRAIGHT));
        payload.push(marks | (u8::from(self.missed) * MISSED));
        payload.push(self.counted.map_or(0, |counted| counted.hops));
        for number in [self.request, self.flags, self.lives_millis] {
            payload.extend(number.to_be_bytes());
        }
        payload.extend(self.version.to_be_bytes());
        put_bytes(&mut payload, &self.key);
        put_bytes(&mut payload, &self.value);
        payload
    }

    /// Whether it goes straight to the primary by the routing service.
    pub fn is_straight(&self) -> bool {
        self.counted.is_some_and(|counted| counted.straight)
    }

    /// Whether a payload is a lookup whose hops are counted: each server on its way tries to
    /// answer.
    pub fn is_counted(payload: &[u8]) -> bool {
        let marks = payload.get(MARKS_AT).copied().unwrap_or(0);
        payload.first() == Some(&What::Get.number()) && marks & COUNTED != 0
    }

    /// The answer in the format for users.
    pub fn answer(&self) -> Vec<u8> {
        if let (What::Value, Some(Counted { hops, .. })) = (self.what, self.counted) {
            return [b"HOPS ", &self.key[..], format!(" {hops}").as_bytes()].concat();
        }
        let name: &[u8] = match self.what {
            What::Value => return [b"VALUE ", &self.key[..], b" ", &self.value].concat(),
            What::Stored => b"STORED ",
            What::Deleted => b"DELETED ",
            What::TooLarge => b"TOO LARGE ",
            _ => b"MISS ",
        };
        [name, &self.key].concat()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_survive_their_payload(
            number in 1..=FORGET, keys: [Key; 2], missed: bool, counted: Option<(bool, u8)>, numbers: [u32; 3], version: u64,
            key in prop::collection::vec(any::<u8>(), 0..300), value in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let [request, flags, lives_millis] = numbers;
            let what = What::of(number).unwrap_or(What::Forget);
            prop_assert_eq!(what.number(), number);
            let counted = counted.map(|(straight, hops)| Counted { straight, hops });
            let words = Words {
                what, requester: keys[0], via: keys[1], missed, counted, request, flags, lives_millis, version,
                key: key.clone(), value: value.clone(),
            };
            let payload = words.emit();
            prop_assert!(payload.len() <= HEAD_BYTES + key.len() + value.len());
            prop_assert_eq!(Words::parse(&payload), Some(words));
            prop_assert_eq!(Words::parse(&payload[..payload.len() - 1]), None);
        }

        #[test]
        fn any_bytes_are_words_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Words::parse(&bytes);
        }
    }
}
