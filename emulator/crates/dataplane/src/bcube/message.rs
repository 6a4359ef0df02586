//! BSR's control messages on the wire.
//!
//! A fixed head, then at most eight hops and at most 64 dead neighbours, all big-endian:
//! ```text
//! 0xcb01 u16 | kind u8 | kind's own fields
//! hello      sender u32, hears_you u8
//! probe      trail
//! response   trail
//! failure    trail, dead_count u8, dead u8[dead_count]
//! trail      source u32, destination u32, round u32, slot u8, available u64 (bits/s), path_id u32,
//!            index u8, count u8, hops u8[count]
//! ```
//! Reading checks every length and bound, and that nothing follows; a message that was read can be
//! written again and gives the same bytes.

use cubeyard_topology::NodeId;

use super::nha::Nha;
use super::route::SourceRoute;

/// Most neighbours that one failure message names.
pub const MAX_DEAD: usize = 64;
/// Longest message in bytes.
pub const MAX_BYTES: usize = 128;

/// First two bytes of every message: the format and its version.
const MAGIC: u16 = 0xcb01;
const HELLO: u8 = 1;
const PROBE: u8 = 2;
const RESPONSE: u8 = 3;
const FAILURE: u8 = 4;

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// To a neighbour: the sender is alive.
    Hello {
        /// The server that sent the hello.
        sender: NodeId,
        /// Whether the sender has received a hello from the receiver recently.
        hears_you: bool,
    },
    /// A probe of a path, sent by its source along that path.
    Probe(Trail),
    /// The answer to a probe, sent by its destination back along the same path.
    Response(Trail),
    /// A failure report from a server whose next hop is down, to the source of the affected packet.
    /// The trail's source is the reporter; its destination is the source that has to switch paths.
    Failure {
        /// Source and destination of the report. Round and slot are those of the probe, or 0 for a
        /// data packet.
        trail: Trail,
        /// Neighbours that the reporter cannot reach.
        dead: Vec<Nha>,
    },
}

/// The path of a message from server to server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trail {
    /// Where the route starts.
    pub source: NodeId,
    /// Where the route ends.
    pub destination: NodeId,
    /// The round of probing, drawn by the prober.
    pub round: u32,
    /// The path within the round.
    pub slot: u8,
    /// Lowest free bandwidth of the links so far.
    pub available_bits_per_sec: u64,
    /// Number of the path that is probed or has failed.
    pub path_id: u32,
    /// Index of the next hop, which is the number of hops taken so far.
    pub index: u8,
    /// The hops from source to destination.
    pub route: SourceRoute,
}

impl Trail {
    /// The next hop; `None` at the end of the route.
    pub fn next_hop(&self) -> Option<Nha> {
        self.route.hops().get(usize::from(self.index)).copied()
    }
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageError {
    /// The message is incomplete.
    Short,
    /// There are more bytes after the message.
    Long,
    /// The format, version or kind is unknown.
    Unknown,
    /// A count, an index or a flag is out of bounds.
    Bounds,
}

impl MessageError {
    /// The error's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            MessageError::Short => "short",
            MessageError::Long => "long",
            MessageError::Unknown => "unknown-kind",
            MessageError::Bounds => "out-of-bounds",
        }
    }
}

impl Message {
    /// Encodes the message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(MAX_BYTES);
        out.extend(MAGIC.to_be_bytes());
        match self {
            Message::Hello { sender, hears_you } => {
                out.push(HELLO);
                out.extend(sender.to_be_bytes());
                out.push(u8::from(*hears_you));
            }
            Message::Probe(trail) => {
                out.push(PROBE);
                write_trail(trail, &mut out);
            }
            Message::Response(trail) => {
                out.push(RESPONSE);
                write_trail(trail, &mut out);
            }
            Message::Failure { trail, dead } => {
                out.push(FAILURE);
                write_trail(trail, &mut out);
                let dead = &dead[..dead.len().min(MAX_DEAD)];
                out.push(dead.len() as u8);
                out.extend(dead.iter().map(|nha| nha.0));
            }
        }
        out
    }

    /// Parses a message, which must use all bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Message, MessageError> {
        let mut rest = Reader(bytes);
        if u16::from_be_bytes(rest.take()?) != MAGIC {
            return Err(MessageError::Unknown);
        }
        let message = match rest.byte()? {
            HELLO => Message::Hello {
                sender: rest.number()?,
                hears_you: match rest.byte()? {
                    0 => false,
                    1 => true,
                    _ => return Err(MessageError::Bounds),
                },
            },
            PROBE => Message::Probe(rest.trail()?),
            RESPONSE => Message::Response(rest.trail()?),
            FAILURE => {
                let trail = rest.trail()?;
                let count = usize::from(rest.byte()?);
                if count > MAX_DEAD {
                    return Err(MessageError::Bounds);
                }
                let dead = (0..count)
                    .map(|_| rest.byte().map(Nha))
                    .collect::<Result<_, _>>()?;
                Message::Failure { trail, dead }
            }
            _ => return Err(MessageError::Unknown),
        };
        if rest.0.is_empty() {
            Ok(message)
        } else {
            Err(MessageError::Long)
        }
    }
}

fn write_trail(trail: &Trail, out: &mut Vec<u8>) {
    out.extend(trail.source.to_be_bytes());
    out.extend(trail.destination.to_be_bytes());
    out.extend(trail.round.to_be_bytes());
    out.push(trail.slot);
    out.extend(trail.available_bits_per_sec.to_be_bytes());
    out.extend(trail.path_id.to_be_bytes());
    out.push(trail.index);
    out.push(trail.route.hops().len() as u8);
    out.extend(trail.route.hops().iter().map(|nha| nha.0));
}

/// The bytes that were not read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(MessageError::Short)?;
        self.0 = rest;
        Ok(*head)
    }

    fn byte(&mut self) -> Result<u8, MessageError> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u32, MessageError> {
        self.take().map(u32::from_be_bytes)
    }

    fn trail(&mut self) -> Result<Trail, MessageError> {
        let source = self.number()?;
        let destination = self.number()?;
        let round = self.number()?;
        let slot = self.byte()?;
        let available_bits_per_sec = u64::from_be_bytes(self.take()?);
        let path_id = self.number()?;
        let index = self.byte()?;
        let count = self.byte()?;
        if usize::from(count) > SourceRoute::MAX_HOPS || index > count {
            return Err(MessageError::Bounds);
        }
        let hops = (0..count)
            .map(|_| self.byte().map(Nha))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Trail {
            source,
            destination,
            round,
            slot,
            available_bits_per_sec,
            path_id,
            index,
            route: SourceRoute::new(hops).ok_or(MessageError::Bounds)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_trail() -> impl Strategy<Value = Trail> {
        let ids = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
        let hops = proptest::collection::vec(any::<u8>(), 1..=SourceRoute::MAX_HOPS);
        (ids, any::<u8>(), any::<u64>(), hops, any::<prop::sample::Index>()).prop_map(
            |((source, destination, round, path_id), slot, available_bits_per_sec, hops, index)| Trail {
                source,
                destination,
                round,
                slot,
                available_bits_per_sec,
                path_id,
                index: index.index(hops.len() + 1) as u8,
                route: SourceRoute::new(hops.into_iter().map(Nha)).unwrap(),
            },
        )
    }

    fn any_message() -> impl Strategy<Value = Message> {
        prop_oneof![
            (any::<u32>(), any::<bool>())
                .prop_map(|(sender, hears_you)| Message::Hello { sender, hears_you }),
            any_trail().prop_map(Message::Probe),
            any_trail().prop_map(Message::Response),
            (
                any_trail(),
                proptest::collection::vec(any::<u8>().prop_map(Nha), 0..=MAX_DEAD)
            )
                .prop_map(|(trail, dead)| Message::Failure { trail, dead }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(message in any_message()) {
            let bytes = message.to_bytes();
            prop_assert!(bytes.len() <= MAX_BYTES);
            prop_assert_eq!(Message::from_bytes(&bytes), Ok(message));
        }

        #[test]
        fn a_message_cut_short_or_with_more_behind_it_is_refused(message in any_message(), cut in any::<prop::sample::Index>()) {
            let mut bytes = message.to_bytes();
            let short = Message::from_bytes(&bytes[..cut.index(bytes.len())]);
            prop_assert_eq!(short, Err(MessageError::Short));
            bytes.push(0);
            prop_assert_eq!(Message::from_bytes(&bytes), Err(MessageError::Long));
        }

        #[test]
        fn any_bytes_are_refused_or_read_as_what_they_are(bytes in proptest::collection::vec(any::<u8>(), 0..160), kind in 0u8..6) {
            let mut bytes = bytes;
            bytes.splice(0..bytes.len().min(3), [0xcb, 0x01, kind]);
            if let Ok(message) = Message::from_bytes(&bytes) {
                prop_assert_eq!(message.to_bytes(), bytes);
            }
        }
    }
}
