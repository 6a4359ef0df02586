//! Messages from a node to the fabric.

use std::collections::BTreeMap;

use cubeyard_contract::tick::{FlowRow, Latencies};
use cubeyard_dataplane::event::Event;
use cubeyard_dataplane::inspection::Inspection;
use cubeyard_dataplane::tables::{HexBytes, TableUpdate};
use serde::{Deserialize, Serialize};

/// A message of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "t", rename_all = "kebab-case")]
pub enum ToFabric {
    /// It is configured: the first table updates have been sent.
    Ready,
    /// A change of the server's forwarding tables in the kernel.
    Table(TableUpdate),
    /// Something for the event log.
    Event {
        /// The time of the event on CLOCK_MONOTONIC.
        at_nanos: u64,
        /// The event itself.
        event: Event,
    },
    /// The traffic of the workload's flows so far.
    Flows {
        /// The flows whose counters have changed.
        rows: Vec<FlowRow>,
    },
    /// The results of the local client's requests, if they have changed.
    Latencies(Latencies),
    /// Packets carried and dropped so far by the forwarding in user space, if they have changed.
    Traffic(TrafficCounts),
    /// The state of the protocol.
    Inspected(Inspection),
    /// The answer of the server's chip.
    Chip {
        /// Number of the request.
        id: u64,
        /// The answer without its length.
        answer: HexBytes,
    },
    /// A request of a user's program about the tables or registers of the server's chip in the
    /// kernel (`cubeyard_chip::api`).
    Call {
        /// The program that sent the request, numbered by the node; the answer repeats the number.
        asker: u32,
        /// The request without its length, at most [`crate::limits::CHIP_REQUEST_BYTES`].
        request: HexBytes,
    },
    /// A message was refused.
    Error {
        /// Why, and what to do.
        message: String,
    },
}

/// Counts of a forwarding in user space since its node started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficCounts {
    /// Bytes sent by the server's own applications.
    pub own_bytes: u64,
    /// Bytes relayed for others.
    pub relayed_bytes: u64,
    /// Bytes delivered to the server's applications.
    pub delivered_bytes: u64,
    /// Packets dropped, by the reason's name.
    pub drops: BTreeMap<String, u64>,
}
