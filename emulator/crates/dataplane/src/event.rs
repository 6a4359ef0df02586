//! Events of a protocol for the event log. Forwarding does not need them.
//!
//! They are serialized in this form: `kind` in kebab-case, fields in snake_case.

use cubeyard_topology::NodeId;
use serde::{Deserialize, Serialize};

use crate::flow::Flow;
use crate::inspection::{Cell, ColumnKind};

/// An event. Kinds that fit every protocol have a variant; a protocol's own are
/// [`Event::Reported`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Event {
    /// A neighbour's hellos stopped, or a port lost its carrier.
    NeighbourDead {
        /// The neighbour's id.
        neighbour: NodeId,
        /// Our port towards it.
        port: u8,
        /// How it was detected.
        cause: DeathCause,
    },
    /// A neighbour's hellos arrive again.
    NeighbourAlive {
        /// The neighbour's id.
        neighbour: NodeId,
        /// Our port towards it.
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
        /// Number of the path before; 0 for none.
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
        /// The neighbours that it does not reach.
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
        /// From the first probe to the last answer.
        took_nanos: u64,
    },
    /// An event of one protocol alone.
    Reported {
        /// Its name, in kebab-case.
        what: String,
        /// The values of the event, in the order of display.
        cells: Vec<NamedCell>,
    },
}

/// A field of an event of one protocol alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedCell {
    /// Its name, in snake_case.
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
    /// The path in use failed.
    Failure,
    /// Another path had more bandwidth left.
    Adaptation,
    /// A shorter path works again.
    Recovery,
}

/// How a neighbour was detected as dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeathCause {
    /// Its hellos stopped, or it does not receive ours.
    Silence,
    /// Our port has no carrier.
    Carrier,
    /// The neighbour reported, by another path, that it does not reach us.
    Report,
}

/// A path as people see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSummary {
    /// The number of the path.
    pub path_id: u32,
    /// The servers on it, both ends included; where switches are routers, these too.
    pub servers: Vec<NodeId>,
    /// Bandwidth it had left when it was last probed; `None` where it never was.
    pub available_bits_per_sec: Option<f64>,
    /// Further paths that the flow's packets take at the same time.
    #[serde(default)]
    pub others: u32,
}
