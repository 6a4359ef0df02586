//! DCell's control messages: a byte for the protocol, a byte for the kind of message, and its
//! fields. `[ours]`
//!
//! ```text
//! 0xdc 1  hears u8                                              hello: whether the sender receives the receiver's hellos
//! 0xdc 2  an advertisement of `crate::link_state`
//! 0xdc 3  number u32, destination u32, retry and flags u8, proxy u32, rerouted in u16, count u8, servers u32 each
//! 0xdc 4  number u32, arrived u8, count u8, servers u32 each    a trace's answer, on its way back
//! ```

use cubeyard_topology::NodeId;

use super::header::{PROXY_FLAG, Rerouting};

/// Maximum number of servers that a trace visits, the same as a packet's time to live.
pub const MAX_TRACED: usize = 64;

const OURS: u8 = 0xdc;
const HELLO: u8 = 1;
const LINK_STATE: u8 = 2;
const TRACE: u8 = 3;
const ANSWER: u8 = 4;

/// A trace: a message that takes the same path as packets and records the visited servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Number of the trace, given by its source.
    pub number: u32,
    /// The destination of the traced packet.
    pub destination: NodeId,
    /// The fields that a packet's header would have here.
    pub rerouting: Rerouting,
    /// The visited servers, starting with the source.
    pub servers: Vec<NodeId>,
}

/// The result of a trace. It returns through the servers that the trace visited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the trace.
    pub number: u32,
    /// Whether the trace reached its destination; otherwise it ended at the last server of the
    /// list.
    pub arrived: bool,
    /// The visited servers, starting with the source.
    pub servers: Vec<NodeId>,
}

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// The sender is alive; the message also reports whether it receives our hellos.
    Hello {
        /// Whether the sender receives the receiver's hellos.
        hears_you: bool,
    },
    /// An encoded advertisement of link state.
    LinkState(&'a [u8]),
    /// A trace on its way.
    Trace(Trace),
    /// The answer to a trace.
    Answer(Answer),
}

impl Message<'_> {
    /// Encodes the message.
    pub fn emit(&self) -> Vec<u8> {
        let mut bytes = vec![OURS];
        match self {
            Message::Hello { hears_you } => bytes.extend([HELLO, u8::from(*hears_you)]),
            Message::LinkState(advertisement) => {
                bytes.push(LINK_STATE);
                bytes.extend(*advertisement);
            }
            Message::Trace(trace) => {
                let flag = if trace.rerouting.proxy.is_some() {
                    PROXY_FLAG
                } else {
                    0
                };
                bytes.push(TRACE);
                bytes.extend(trace.number.to_be_bytes());
                bytes.extend(trace.destination.to_be_bytes());
                bytes.push(trace.rerouting.retries << 4 | flag);
                bytes.extend(trace.rerouting.proxy.unwrap_or(0).to_be_bytes());
                bytes.extend(trace.rerouting.rerouted_in.to_be_bytes());
                put_servers(&mut bytes, &trace.servers);
            }
            Message::Answer(answer) => {
                bytes.push(ANSWER);
                bytes.extend(answer.number.to_be_bytes());
                bytes.push(answer.arrived.into());
                put_servers(&mut bytes, &answer.servers);
            }
        }
        bytes
    }

    /// Parses a message; `None` if the bytes are no message.
    pub fn parse(bytes: &[u8]) -> Option<Message<'_>> {
        let (&[OURS, kind], rest) = bytes.split_first_chunk::<2>()? else {
            return None;
        };
        match (kind, rest) {
            (HELLO, &[hears_you @ (0 | 1)]) => Some(Message::Hello {
                hears_you: hears_you == 1,
            }),
            (LINK_STATE, advertisement) => Some(Message::LinkState(advertisement)),
            (TRACE, rest) => parse_trace(rest).map(Message::Trace),
            (ANSWER, rest) => parse_answer(rest).map(Message::Answer),
            _ => None,
        }
    }
}

fn parse_trace(bytes: &[u8]) -> Option<Trace> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (destination, rest) = rest.split_first_chunk()?;
    let (&[retry], rest) = rest.split_first_chunk()?;
    let (proxy, rest) = rest.split_first_chunk()?;
    let (rerouted_in, rest) = rest.split_first_chunk()?;
    let proxy = NodeId::from_be_bytes(*proxy);
    let has_proxy = retry & PROXY_FLAG != 0;
    let known = retry & 0xf & !PROXY_FLAG == 0 && (has_proxy || proxy == 0);
    known.then_some(Trace {
        number: u32::from_be_bytes(*number),
        destination: NodeId::from_be_bytes(*destination),
        rerouting: Rerouting {
            retries: retry >> 4,
            proxy: has_proxy.then_some(proxy),
            rerouted_in: u16::from_be_bytes(*rerouted_in),
        },
        servers: parse_servers(rest)?,
    })
}

fn parse_answer(bytes: &[u8]) -> Option<Answer> {
    let (number, rest) = bytes.split_first_chunk()?;
    let (&[arrived @ (0 | 1)], rest) = rest.split_first_chunk()? else {
        return None;
    };
    Some(Answer {
        number: u32::from_be_bytes(*number),
        arrived: arrived == 1,
        servers: parse_servers(rest)?,
    })
}

fn put_servers(bytes: &mut Vec<u8>, servers: &[NodeId]) {
    bytes.push(servers.len() as u8);
    bytes.extend(servers.iter().flat_map(|server| server.to_be_bytes()));
}

fn parse_servers(bytes: &[u8]) -> Option<Vec<NodeId>> {
    let (&count, rest) = bytes.split_first()?;
    let (servers, rest) = rest.as_chunks::<4>();
    let whole = servers.len() == usize::from(count) && rest.is_empty() && servers.len() <= MAX_TRACED;
    whole.then(|| {
        servers
            .iter()
            .map(|bytes| NodeId::from_be_bytes(*bytes))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::control::MAX_MESSAGE_BYTES;

    proptest! {
        #[test]
        fn a_message_survives_its_bytes(number: u32, destination: u32, retries in 0u8..16, proxy: Option<u32>, rerouted_in: u16, servers in prop::collection::vec(any::<u32>(), 0..=MAX_TRACED), yes: bool) {
            let trace = Trace { number, destination, rerouting: Rerouting { retries, proxy, rerouted_in }, servers: servers.clone() };
            let answer = Answer { number, arrived: yes, servers };
            for message in [Message::Hello { hears_you: yes }, Message::LinkState(&[1, 2]), Message::Trace(trace), Message::Answer(answer)] {
                let bytes = message.emit();
                prop_assert!(bytes.len() <= MAX_MESSAGE_BYTES);
                prop_assert_eq!(Message::parse(&bytes), Some(message));
            }
        }

        #[test]
        fn any_bytes_are_refused_or_a_message(kind in 0u8..6, tail in prop::collection::vec(any::<u8>(), 0..60)) {
            let bytes = [&[OURS, kind], &tail[..]].concat();
            if let Some(message) = Message::parse(&bytes) {
                prop_assert_eq!(message.emit(), bytes);
            }
        }
    }
}
