//! Requests and responses: the orders to a client and its server, and the buckets of the latencies
//! that a client reports.

use serde::{Deserialize, Serialize};

/// A flow of requests, and the flow of their responses the other way over the same two ports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The number of the flow of responses; requests have the order's own.
    pub response: u32,
    /// Payload of each request, at least [`HEAD_BYTES`].
    pub request_bytes: u64,
    /// Payload of each response, at least [`HEAD_BYTES`].
    pub response_bytes: u64,
    /// The timing of the client's requests, of which this server gets a part.
    pub asking: Asking,
}

/// The timing and the servers of a client's requests. All orders of a client are equal except for
/// `place`. `[subways §8.7]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// The seed of all random draws (`cubeyard_topology::asking`).
    pub client_seed: u64,
    /// The index of this server among the client's servers.
    pub place: u32,
    /// The number of the client's servers.
    pub places: u32,
    /// Requests in all; as many as there is time for if absent.
    #[serde(default)]
    pub count: Option<u64>,
    /// Requests per second on average, regardless of unanswered ones; if absent, one request at a
    /// time.
    #[serde(default)]
    pub rate_per_sec: Option<f64>,
    /// From a response to the next request, one at a time.
    #[serde(default)]
    pub think_secs: f64,
    /// A latency that should not be exceeded.
    #[serde(default)]
    pub bound_secs: Option<f64>,
    /// With UDP, a request without a response for so long is given up.
    pub timeout_secs: f64,
}

/// The least payload: the request's number.
pub const HEAD_BYTES: u64 = 8;
/// Buckets of an octave: each is at most a sixteenth wide.
const OF_OCTAVE: u64 = 16;

/// The bucket of a latency: exact below 16 ns, then sixteen an octave.
pub fn bucket(nanos: u64) -> u16 {
    let octave = u64::from(nanos.max(OF_OCTAVE).ilog2() - OF_OCTAVE.ilog2());
    (octave * OF_OCTAVE + (nanos >> octave)) as u16
}

/// The middle of a bucket, in nanoseconds.
pub fn bucket_nanos(number: u16) -> u64 {
    let number = u64::from(number);
    let octave = (number / OF_OCTAVE)
        .saturating_sub(1)
        .min(u64::from(u64::BITS - OF_OCTAVE.ilog2() - 1));
    let least = (number - octave * OF_OCTAVE) << octave;
    least + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_buckets_are_those_that_reports_read() {
        // The same rows are in the test of `cubeyard.emulation.measure.latency`.
        let rows = [
            (0, 0),
            (15, 15),
            (16, 16),
            (31, 31),
            (32, 32),
            (33, 32),
            (1_000, 111),
            (1_000_000, 270),
            (u64::MAX, 975),
        ];
        for (nanos, number) in rows {
            assert_eq!(bucket(nanos), number, "{nanos}");
        }
    }

    proptest! {
        #[test]
        fn the_middle_of_a_bucket_is_in_it(nanos: u64) {
            prop_assert_eq!(bucket(bucket_nanos(bucket(nanos))), bucket(nanos));
        }

        #[test]
        fn buckets_rise_and_are_a_sixteenth_wide(nanos in 0..u64::MAX / 2) {
            prop_assert!(bucket(nanos) <= bucket(nanos + 1));
            prop_assert!(bucket(nanos) < bucket(nanos + nanos / 16 + 2));
        }
    }
}
