//! What a process answers to a call, read without trust: every length is checked, and what may be
//! asked for is counted.
//!
//! ```text
//! call u32 | outcome u8: 0 done, 1 dropped, 2 failed | then actions: kind u8 | length u32 | by kind:
//! 0 forward    the packet of the call: queue u8 | colour u16 | keys u8 | each key | payload
//! 1 transmit   another packet: the same
//! 2 send       port u8 | queue u8 | colour u16 | payload
//! 3 answer     to the outside
//! 4 timer      milliseconds u32
//! 5 count      counter u8 | by u32
//! 6 queue      queue u8 | longest wait in milliseconds u32 | weight u32
//! 7 delivered  a packet is at its end
//! ```

use cubeyard_dataplane::service::{Key, MAX_KEYS, MAX_QUEUES, Packet, QueuePolicy};

use crate::limits::{ANSWER_BYTES, PROCESS_ACTIONS, PROCESS_ANSWER_BYTES};

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has been dealt with.
    Done,
    /// The packet is dropped.
    Dropped,
    /// The process could not.
    Failed,
}

/// An action that a process requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Forward the packet of the call to one of these keys, in a queue.
    Forward(Packet, Vec<Key>, u8),
    /// Another packet goes to one of these keys, in a queue.
    Transmit(Packet, Vec<Key>, u8),
    /// A packet goes one hop by a port; its queue's number goes with it.
    Send(u8, Packet, u8),
    /// An answer to the outside.
    Answer(Vec<u8>),
    /// A timer, in milliseconds.
    Timer(u32),
    /// Adds to a counter.
    Count(u8, u32),
    /// How packets of a queue wait.
    Queue(u8, QueuePolicy),
    /// A packet is at its end.
    Delivered,
}

/// A parsed answer of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of the call.
    pub call: u32,
    /// The result of the call.
    pub outcome: Outcome,
    /// The requested actions, in order.
    pub actions: Vec<Action>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0).to_vec()
    }
}

/// Reads an answer; `None` for anything else.
pub fn parse(bytes: &[u8]) -> Option<Answer> {
    if bytes.len() > PROCESS_ANSWER_BYTES {
        return None;
    }
    let mut reader = Reader(bytes);
    let call = reader.u32()?;
    let outcome = match reader.u8()? {
        0 => Outcome::Done,
        1 => Outcome::Dropped,
        2 => Outcome::Failed,
        _ => return None,
    };
    let mut actions = Vec::new();
    while !reader.0.is_empty() {
        if actions.len() >= PROCESS_ACTIONS {
            return None;
        }
        let kind = reader.u8()?;
        let length = reader.u32()? as usize;
        let (body, rest) = reader.0.split_at_checked(length)?;
        reader.0 = rest;
        actions.push(action(kind, Reader(body))?);
    }
    Some(Answer {
        call,
        outcome,
        actions,
    })
}

fn action(kind: u8, mut body: Reader<'_>) -> Option<Action> {
    let action = match kind {
        0 | 1 => {
            let (queue, colour, keys) = (body.u8()?, body.u16()?, body.u8()?);
            if usize::from(keys) > MAX_KEYS {
                return None;
            }
            let keys: Vec<Key> = (0..keys).map(|_| body.array()).collect::<Option<_>>()?;
            let packet = Packet {
                key: keys.first().copied().unwrap_or_default(),
                colour,
                payload: body.rest(),
            };
            match kind {
                0 => Action::Forward(packet, keys, queue),
                _ => Action::Transmit(packet, keys, queue),
            }
        }
        2 => {
            let (port, queue, colour) = (body.u8()?, body.u8()?, body.u16()?);
            let packet = Packet {
                key: Key::default(),
                colour,
                payload: body.rest(),
            };
            Action::Send(port, packet, queue)
        }
        3 if body.0.len() <= ANSWER_BYTES => Action::Answer(body.rest()),
        4 => Action::Timer(body.u32()?),
        5 => Action::Count(body.u8()?, body.u32()?),
        6 => {
            let (queue, max_millis, weight) = (body.u8()?, body.u32()?, body.u32()?);
            let weight = weight.clamp(1, 1 << 16);
            let policy = QueuePolicy { max_millis, weight };
            (usize::from(queue) < MAX_QUEUES).then_some(Action::Queue(queue, policy))?
        }
        7 => Action::Delivered,
        _ => return None,
    };
    body.0.is_empty().then_some(action)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[kind], &(body.len() as u32).to_le_bytes()[..], body].concat()
    }

    /// An answer to call 7 with one action.
    fn answer(kind: u8, body: &[u8]) -> Vec<u8> {
        [&7u32.to_le_bytes()[..], &[0], &framed(kind, body)].concat()
    }

    #[test]
    fn every_action_is_read_as_it_is_meant() {
        let packet = |payload: &[u8]| Packet {
            key: [1, 2, 3],
            colour: 0x0201,
            payload: payload.to_vec(),
        };
        let sent = Packet {
            key: [0; 3],
            ..packet(b"xy")
        };
        let policy = QueuePolicy {
            max_millis: 5,
            weight: 1,
        };
        let keyed = [4, 1, 2, 1, 1, 2, 3, b'x', b'y'];
        let cases: [(u8, &[u8], Action); 8] = [
            (0, &keyed, Action::Forward(packet(b"xy"), vec![[1, 2, 3]], 4)),
            (1, &keyed, Action::Transmit(packet(b"xy"), vec![[1, 2, 3]], 4)),
            (2, &[5, 4, 1, 2, b'x', b'y'], Action::Send(5, sent, 4)),
            (3, b"hello", Action::Answer(b"hello".to_vec())),
            (4, &[1, 1, 0, 0], Action::Timer(257)),
            (5, &[2, 3, 0, 0, 0], Action::Count(2, 3)),
            (6, &[15, 5, 0, 0, 0, 0, 0, 0, 0], Action::Queue(15, policy)),
            (7, &[], Action::Delivered),
        ];
        for (kind, body, action) in cases {
            let bytes = answer(kind, body);
            let read = parse(&bytes).unwrap();
            assert_eq!(
                (read.call, read.outcome, read.actions),
                (7, Outcome::Done, vec![action])
            );
            // Truncated, it is none; but for a payload, which may have any length, only whole
            // frames count.
            for length in (0..bytes.len()).filter(|length| *length != 5) {
                assert_eq!(parse(&bytes[..length]), None, "kind {kind}, {length} bytes");
            }
        }
        for (kind, body) in [
            (6, &[16, 0, 0, 0, 0, 0, 0, 0, 0][..]),
            (4, &[1; 5]),
            (8, &[]),
            (7, &[0]),
            (0, &[0, 0, 0, 17]),
        ] {
            assert_eq!(parse(&answer(kind, body)), None, "kind {kind}");
        }
        assert_eq!(parse(&answer(3, &vec![0; ANSWER_BYTES + 1])), None);
        let many = [
            &7u32.to_le_bytes()[..],
            &[0],
            &framed(4, &[0; 4]).repeat(PROCESS_ACTIONS + 1),
        ]
        .concat();
        assert_eq!(parse(&many), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(answer) = parse(&bytes) {
                prop_assert!(answer.actions.len() <= PROCESS_ACTIONS);
                for action in answer.actions {
                    if let Action::Forward(_, keys, _) | Action::Transmit(_, keys, _) = action {
                        prop_assert!(keys.len() <= MAX_KEYS);
                    }
                }
            }
        }
    }
}
