//! Workloads: pairs of servers that send to each other.
//!
//! Inside: workloads as written in an experiment (here), and their flows (`demand`, `requests`).
//! Every field but `kind` is optional; its default is documented at the field. Servers are named as
//! in the plan, and the source and destination of a flow are always different servers.
//!
//! Not here: how flows are stored (`crate::flows`) and their rates.

mod demand;
mod requests;

use serde::de::{Error as _, IntoDeserializer};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

pub use demand::{Demand, Timetable};
pub(crate) use demand::{no_rack, server_named};
pub use requests::{Client, Exchanges, Requests};

/// The largest number of flows that one prediction takes: counters are 32 bits wide.
pub const MAX_FLOWS: u64 = 2_000_000_000;

/// Pairs that are listed one by one, rather than computed from their index.
pub const MAX_LISTED_FLOWS: u64 = 50_000_000;

/// The senders and receivers. In JSON an object with `kind`, or the kind alone as a string.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Every server to every other. `[bcube §3.6]`
    AllToAll,
    /// A single flow.
    OneToOne {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The receiver; the last server.
        #[serde(skip_serializing_if = "Option::is_none")]
        destination: Option<String>,
    },
    /// One server to a few. `[bcube §3.4]`
    OneToSeveral {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The receivers; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        destinations: Option<Vec<String>>,
        /// Number of random receivers; 3, like replicas of a chunk.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// One server to every other. `[bcube §3.5]`
    OneToAll {
        /// The sender; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// Every server to one other and from one other, in a random cyclic order.
    Permutation,
    /// Independent uniform pairs.
    RandomPairs {
        /// Number of pairs; by default the number of servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Many servers to one.
    Incast {
        /// The receiver; the first server.
        #[serde(skip_serializing_if = "Option::is_none")]
        destination: Option<String>,
        /// The senders; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        sources: Option<Vec<String>>,
        /// Number of random senders; by default all others.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// Every one of the chosen servers to every other one of them; all servers when none are
    /// chosen.
    Shuffle {
        /// Servers by name.
        #[serde(skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<String>>,
        /// Servers by the racks that contain them.
        #[serde(skip_serializing_if = "Option::is_none")]
        racks: Option<Vec<String>>,
    },
    /// Every server of the hot racks to every server outside them.
    HotRacks {
        /// The hot racks; else `count` of them are drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        racks: Option<Vec<String>>,
        /// Number of random racks; 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        count: Option<u64>,
    },
    /// A traffic matrix: a flow for every entry above zero; the entry is its weight.
    Matrix {
        /// The servers of the rows and columns; by default the first servers of the plan.
        #[serde(skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<String>>,
        /// A square matrix, sender by row.
        #[serde(skip_serializing_if = "Option::is_none")]
        rows: Option<Vec<Vec<f64>>>,
        /// Alternatively its entries: sender, receiver, weight.
        #[serde(skip_serializing_if = "Option::is_none")]
        entries: Option<Vec<(String, String, f64)>>,
    },
    /// Exactly these flows, each with its own size and start.
    Listed {
        /// Sender, receiver, bytes, and the start in seconds.
        flows: Vec<(String, String, u64, f64)>,
    },
    /// Clients that send requests to servers. Only the packet engine supports it.
    Requests(Requests),
}

/// The kinds of workload, as `kind` and `--workload` take them.
pub const KINDS: [&str; 12] = [
    "all-to-all",
    "one-to-one",
    "one-to-several",
    "one-to-all",
    "permutation",
    "random-pairs",
    "incast",
    "shuffle",
    "hot-racks",
    "matrix",
    "listed",
    "requests",
];

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Fields {
    AllToAll {},
    OneToOne {
        source: Option<String>,
        destination: Option<String>,
    },
    OneToSeveral {
        source: Option<String>,
        destinations: Option<Vec<String>>,
        count: Option<u64>,
    },
    OneToAll {
        source: Option<String>,
    },
    Permutation {},
    RandomPairs {
        count: Option<u64>,
    },
    Incast {
        destination: Option<String>,
        sources: Option<Vec<String>>,
        count: Option<u64>,
    },
    Shuffle {
        servers: Option<Vec<String>>,
        racks: Option<Vec<String>>,
    },
    HotRacks {
        racks: Option<Vec<String>>,
        count: Option<u64>,
    },
    Matrix {
        servers: Option<Vec<String>>,
        rows: Option<Vec<Vec<f64>>>,
        entries: Option<Vec<(String, String, f64)>>,
    },
    Listed {
        flows: Vec<(String, String, u64, f64)>,
    },
    Requests(Requests),
}

impl<'de> Deserialize<'de> for Workload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::String(kind) => serde_json::json!({ "kind": kind }),
            other => other,
        };
        let fields = Fields::deserialize(value.into_deserializer()).map_err(D::Error::custom)?;
        Ok(match fields {
            Fields::AllToAll {} => Workload::AllToAll,
            Fields::OneToOne { source, destination } => Workload::OneToOne { source, destination },
            Fields::OneToSeveral {
                source,
                destinations,
                count,
            } => Workload::OneToSeveral {
                source,
                destinations,
                count,
            },
            Fields::OneToAll { source } => Workload::OneToAll { source },
            Fields::Permutation {} => Workload::Permutation,
            Fields::RandomPairs { count } => Workload::RandomPairs { count },
            Fields::Incast {
                destination,
                sources,
                count,
            } => Workload::Incast {
                destination,
                sources,
                count,
            },
            Fields::Shuffle { servers, racks } => Workload::Shuffle { servers, racks },
            Fields::HotRacks { racks, count } => Workload::HotRacks { racks, count },
            Fields::Matrix {
                servers,
                rows,
                entries,
            } => Workload::Matrix {
                servers,
                rows,
                entries,
            },
            Fields::Listed { flows } => Workload::Listed { flows },
            Fields::Requests(requests) => Workload::Requests(requests),
        })
    }
}

/// A workload and the size of each of its flows. In JSON, `bytes` is a field next to the workload's
/// own fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Who sends to whom.
    pub workload: Workload,
    /// Payload of a flow in bytes, times its weight where it has one; flows that are listed have
    /// their own.
    pub bytes: Option<u64>,
}

impl From<Workload> for Traffic {
    fn from(workload: Workload) -> Traffic {
        Traffic {
            workload,
            bytes: None,
        }
    }
}

impl Serialize for Traffic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.workload).map_err(S::Error::custom)?;
        if let (Some(fields), Some(bytes)) = (value.as_object_mut(), self.bytes) {
            fields.insert("bytes".to_owned(), bytes.into());
        }
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Traffic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        let bytes = match value.as_object_mut().and_then(|fields| fields.remove("bytes")) {
            None | Some(Value::Null) => None,
            Some(bytes) => Some(bytes.as_u64().filter(|&bytes| bytes > 0).ok_or_else(|| {
                D::Error::custom(format!(
                    "bytes is {bytes}; it must be a whole number of at least 1"
                ))
            })?),
        };
        let workload = Workload::deserialize(value.into_deserializer()).map_err(D::Error::custom)?;
        Ok(Traffic { workload, bytes })
    }
}

impl Workload {
    /// The kind of the workload, as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Workload::AllToAll => "all-to-all",
            Workload::OneToOne { .. } => "one-to-one",
            Workload::OneToSeveral { .. } => "one-to-several",
            Workload::OneToAll { .. } => "one-to-all",
            Workload::Permutation => "permutation",
            Workload::RandomPairs { .. } => "random-pairs",
            Workload::Incast { .. } => "incast",
            Workload::Shuffle { .. } => "shuffle",
            Workload::HotRacks { .. } => "hot-racks",
            Workload::Matrix { .. } => "matrix",
            Workload::Listed { .. } => "listed",
            Workload::Requests(_) => "requests",
        }
    }
}
