//! Events of a protocol for the event log. Forwarding does not need them.
//!
//! JSON form: `kind` in kebab-case, fields in snake_case.

use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::inspection::{Cell, ColumnKind};

/// An event. Kinds that fit every protocol have a variant; [`Event::Reported`] is for all other
/// kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// A neighbour's hellos stopped, or a port lost its carrier.
    NeighbourDead {
        /// Id of the neighbour.
        neighbour: NodeId,
        /// The port to the neighbour.
        port: u8,
        /// How it was detected.
        cause: DeathCause,
    },
    /// A neighbour's hellos arrive again after a failure.
    NeighbourAlive {
        /// Id of the neighbour.
        neighbour: NodeId,
        /// The port to the neighbour.
        port: u8,
    },
    /// A flow has its first path.
    PathSelected {
        /// The flow's five-tuple.
        flow: Flow,
        /// The path of the flow.
        path: PathSummary,
    },
    /// A flow moved to another path.
    PathSwitched {
        /// The flow's five-tuple.
        flow: Flow,
        /// Number of the previous path; 0 for none.
        from_path_id: u32,
        /// The new path.
        path: PathSummary,
        /// The reason for the change.
        reason: SwitchReason,
    },
    /// A hop was reported as failed.
    PathFailed {
        /// The server that detected it.
        reporter: NodeId,
        /// The neighbours that the reporting server cannot reach.
        unreachable: Vec<NodeId>,
    },
    /// No path to a flow's destination is known.
    NoPath {
        /// The flow's five-tuple.
        flow: Flow,
    },
    /// A round of probing has ended.
    Probed {
        /// The flow's five-tuple.
        flow: Flow,
        /// Number of probes sent.
        probes: u32,
        /// Number of parallel paths found.
        paths: u32,
        /// Time from the first probe to the last answer.
        took_nanos: u64,
    },
    /// An event that only one protocol has.
    Reported {
        /// Name of the event, in kebab-case.
        what: String,
        /// Values of the event, in the order of display.
        cells: Vec<NamedCell>,
    },
}

/// A field of an event that only one protocol has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedCell {
    /// Name of the field, in snake_case.
    pub name: String,
    /// The type of the value.
    pub kind: ColumnKind,
    /// The value itself.
    pub value: Cell,
}

/// Why a flow moved to another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchReason {
    /// The current path failed.
    Failure,
    /// Another path had more free bandwidth.
    Adaptation,
    /// A shorter path works again.
    Recovery,
}

/// How a neighbour was detected as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeathCause {
    /// The neighbour's hellos stopped, or it does not receive ours.
    Silence,
    /// The port has lost its carrier.
    Carrier,
    /// The neighbour reported by another path that it cannot reach us.
    Report,
}

/// A path in the form that users see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSummary {
    /// Number of the path.
    pub path_id: u32,
    /// The servers on the path including both ends, and routers if switches are routers.
    pub servers: Vec<NodeId>,
    /// Free bandwidth at the last probe; `None` if the path was never probed.
    pub available_bits_per_sec: Option<f64>,
    /// Number of further paths that the flow's packets take at the same time.
    #[serde(default)]
    pub others: u32,
}
