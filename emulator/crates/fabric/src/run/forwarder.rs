//! What forwards for a server, and what it has counted since it was made.

use cubeyard_dataplane::drops::DropReason;
use serde_json::{Map, Value};

use super::actor::Node;
use super::messages::SoftwareCounts;
use crate::assembly::ServerKernel;
use crate::error::Result;
use crate::fast_path::FastPath;

/// Who forwards a server's packets.
pub enum Forwarder<'a> {
    /// The programs in the kernel.
    Kernel(&'a FastPath),
    /// The server's node.
    Software(&'a SoftwareCounts),
    /// There is none, or it has not counted anything.
    Nobody,
}

/// Bytes since the forwarder was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Sent by the server's own applications.
    pub own_bytes: u64,
    /// Passed on for others.
    pub relayed_bytes: u64,
}

impl<'a> Forwarder<'a> {
    /// That of one server.
    pub fn of(kernel: Option<&'a ServerKernel>, node: &'a Node) -> Forwarder<'a> {
        let fast_path = kernel.and_then(|kernel| kernel.fast_path.as_ref());
        match (fast_path, &node.software) {
            (Some(fast_path), _) => Forwarder::Kernel(fast_path),
            (None, Some(counts)) => Forwarder::Software(counts),
            (None, None) => Forwarder::Nobody,
        }
    }

    /// What it has carried.
    pub fn carried(&self) -> Result<Carried> {
        Ok(match self {
            Forwarder::Kernel(fast_path) => {
                let traffic = fast_path.traffic()?;
                Carried {
                    own_bytes: traffic.own_bytes,
                    relayed_bytes: traffic.relayed_bytes,
                }
            }
            Forwarder::Software(counts) => Carried {
                own_bytes: counts.own_bytes,
                relayed_bytes: counts.relayed_bytes,
            },
            Forwarder::Nobody => Carried::default(),
        })
    }

    /// Packets it has dropped, by [`DropReason::index`].
    pub fn drops(&self) -> Result<[u64; DropReason::COUNT]> {
        match self {
            Forwarder::Kernel(fast_path) => fast_path.drops(),
            Forwarder::Software(counts) => Ok(counts.drops_by_reason()),
            Forwarder::Nobody => Ok([0; DropReason::COUNT]),
        }
    }

    /// All of it, for an inspection.
    pub fn describe(&self) -> Result<Map<String, Value>> {
        let (carried, drops) = (self.carried()?, self.drops()?);
        let dropped = DropReason::ALL.iter().filter(|reason| drops[reason.index()] > 0);
        let dropped = dropped.map(|reason| (reason.name().to_owned(), drops[reason.index()].into()));
        Ok(Map::from_iter([
            ("own_bytes".to_owned(), carried.own_bytes.into()),
            ("relayed_bytes".to_owned(), carried.relayed_bytes.into()),
            ("drops".to_owned(), Value::Object(dropped.collect())),
        ]))
    }
}
