//! The random choices of clients in a request-response workload: the server of each request and the
//! time of the next one. Simulated and real clients make the same choices from the same seed.

use crate::random::{Draws, mix};

/// Servers and times have separate streams of random numbers.
const OF_SERVERS: u64 = 0x7365_7276;
const OF_TIMES: u64 = 0x7469_6d65;

/// The seed of a client, by its index among all clients.
pub fn client_seed(seed: u64, client: u64) -> u64 {
    mix(seed ^ mix(client))
}

/// The index, among `servers`, of the server that receives a client's request.
pub fn asked_server(client_seed: u64, request: u64, servers: u32) -> u32 {
    Draws::of(client_seed ^ OF_SERVERS, request).below(servers)
}

/// Seconds from the previous request (or from the start) to this one, at `rate_per_sec` on average.
pub fn pause_secs(client_seed: u64, request: u64, rate_per_sec: f64) -> f64 {
    -(1.0 - Draws::of(client_seed ^ OF_TIMES, request).unit()).ln() / rate_per_sec
}
