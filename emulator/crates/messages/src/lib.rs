//! The messages between the fabric of a host and the nodes of a run, used by both: JSON, one
//! document per datagram, over one SEQPACKET socket per node. The socket identifies the node that
//! sent a message.
//!
//! | file | job |
//! |---|---|
//! | `to_node.rs` | messages of the fabric |
//! | `to_fabric.rs` | messages of a node |
//! | `workload.rs` | flows: orders to a node |
//! | `exchange.rs` | requests and responses: orders to both ends, and the buckets of latencies |
//! | `limits.rs` | every limit of both directions |
//!
//! Reports of flows and latencies, whose numbers go into ticks, are in `cubeyard_contract::tick`.
//!
//! All messages are typed: the receiver rejects unknown fields and kinds. Sockets, and the calls
//! that other programs make to the fabric, are elsewhere.

mod exchange;
pub mod limits;
mod to_fabric;
mod to_node;
mod workload;

pub use cubeyard_contract::tick::{FlowRow, Latencies, Role, SubflowRow};
pub use exchange::{Asking, Exchange, HEAD_BYTES, bucket, bucket_nanos};
pub use to_fabric::{ToFabric, TrafficCounts};
pub use to_node::{Configure, FlowRate, ToNode};
pub use workload::{FlowOrder, Transport, split_orders};

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

/// Parses the message in a datagram. Errors: a sentence that describes the problem.
pub fn decode<T: DeserializeOwned>(datagram: &[u8]) -> Result<T, String> {
    serde_json::from_slice(datagram).map_err(|error| format!("Not a message of this version: {error}."))
}
