//! The words between the fabric of a host and the nodes of a run, used by both: JSON, one document
//! a datagram, over a SEQPACKET socket a node. Which socket a message came by says which node sent
//! it.
//!
//! | file | job |
//! |---|---|
//! | `to_node.rs` | what the fabric sends |
//! | `to_fabric.rs` | what a node sends |
//! | `workload.rs` | flows: what a node is told, and what it reports |
//! | `exchange.rs` | requests and responses: what both ends are told, and latencies |
//! | `limits.rs` | every limit of both directions |
//!
//! Nothing untyped crosses: unknown fields and kinds are refused by whoever receives them. Not
//! here: sockets, and the calls of the fabric's own callers.

mod exchange;
pub mod limits;
mod to_fabric;
mod to_node;
mod workload;

pub use exchange::{Asking, Exchange, HEAD_BYTES, Latencies, bucket, bucket_nanos};
pub use to_fabric::{ToFabric, TrafficCounts};
pub use to_node::{Configure, FlowRate, ToNode};
pub use workload::{FlowOrder, FlowRow, Role, SubflowRow, Transport, split_orders};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A message's datagram.
///
/// Errors: a message longer than [`limits::DATAGRAM_BYTES`], which its sender should have split.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, String> {
    let bytes = serde_json::to_vec(message).map_err(|error| error.to_string())?;
    if bytes.len() > limits::DATAGRAM_BYTES {
        return Err(format!(
            "A message of {} bytes is too long: at most {}.",
            bytes.len(),
            limits::DATAGRAM_BYTES
        ));
    }
    Ok(bytes)
}

/// The message in a datagram. Errors: a sentence that says what is wrong with it.
pub fn decode<T: DeserializeOwned>(datagram: &[u8]) -> Result<T, String> {
    serde_json::from_slice(datagram).map_err(|error| format!("Not a message of this version: {error}."))
}
