//! The answer of a chip's CPU, as a datagram to the source.

/// UDP port of answers, below the ports that applications may use.
pub const PORT: u16 = 802;
/// Bytes of an answer.
pub const BYTES: usize = 20;

const MAGIC: [u8; 4] = *b"cyCN";

/// The answer to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The port by which the source sends.
    pub source_port: u8,
    /// The quantized feedback; 0 means no congestion.
    pub feedback: u8,
    /// Length of the queue in bytes.
    pub queue_bytes: u32,
}

impl Answer {
    /// Encodes the answer, with the run's key.
    pub fn emit(&self, key: u64) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..12].copy_from_slice(&key.to_be_bytes());
        (bytes[12], bytes[13]) = (self.source_port, self.feedback);
        bytes[16..].copy_from_slice(&self.queue_bytes.to_be_bytes());
        bytes
    }

    /// Parses an answer; `None` if the sender did not have the key, or a value is impossible.
    pub fn parse(bytes: &[u8], key: u64) -> Option<Answer> {
        let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
        let (head, queue) = bytes.split_at(16);
        let is_ours = head[..4] == MAGIC && head[4..12] == key.to_be_bytes();
        let answer = Answer {
            source_port: head[12],
            feedback: head[13],
            queue_bytes: u32::from_be_bytes(queue.try_into().ok()?),
        };
        (is_ours && u32::from(answer.feedback) <= cubeyard_routing::qcn::MOST_FEEDBACK).then_some(answer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_answer_comes_back_with_the_right_key_alone(key: u64, other: u64, source_port: u8, feedback in 0..64_u8, queue_bytes: u32) {
            let answer = Answer { source_port, feedback, queue_bytes };
            prop_assert_eq!(Answer::parse(&answer.emit(key), key), Some(answer));
            prop_assert_eq!(Answer::parse(&answer.emit(key), other), (key == other).then_some(answer));
        }

        #[test]
        fn other_bytes_are_none(bytes in proptest::collection::vec(any::<u8>(), 0..40), key: u64) {
            prop_assert_eq!(Answer::parse(&bytes, key), None);
        }
    }
}
