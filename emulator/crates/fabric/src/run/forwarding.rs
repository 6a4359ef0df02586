//! Counters of forwarding for each server: from the programs in the kernel, or from its node.

use std::collections::BTreeMap;

use cubeyard_dataplane::drops::DropReason;
use cubeyard_messages::TrafficCounts;

use crate::error::Result;
use crate::programs::Programs;
use crate::servers::ServerKernel;

/// The counters that nodes have reported, by server.
#[derive(Debug)]
pub struct Forwarding {
    software: Vec<Option<TrafficCounts>>,
}

impl Forwarding {
    /// The initial state without reports.
    pub fn new(servers: usize) -> Forwarding {
        Forwarding {
            software: vec![None; servers],
        }
    }

    /// Stores the report of a node.
    pub fn set(&mut self, server: usize, counts: TrafficCounts) {
        self.software[server] = Some(counts);
    }

    /// The forwarder of a server's packets.
    pub fn of<'a>(&'a self, server: usize, kernel: Option<&'a ServerKernel>) -> Forwarder<'a> {
        let programs = kernel.and_then(|kernel| kernel.programs.as_ref());
        match (programs, &self.software[server]) {
            (Some(programs), _) => Forwarder::Kernel(programs),
            (None, Some(counts)) => Forwarder::Software(counts),
            (None, None) => Forwarder::Nobody,
        }
    }
}

/// The component that forwards a server's packets.
pub enum Forwarder<'a> {
    /// The programs in the kernel.
    Kernel(&'a Programs),
    /// Counters of the server's node.
    Software(&'a TrafficCounts),
    /// Nothing forwards, or it has not reported yet.
    Nobody,
}

/// Bytes since the forwarder was created.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Sent by the server's own applications.
    pub own_bytes: u64,
    /// Relayed for other servers.
    pub relayed_bytes: u64,
}

impl Forwarder<'_> {
    /// The forwarder's counters.
    pub fn carried(&self) -> Result<Carried> {
        Ok(match self {
            Forwarder::Kernel(programs) => {
                let traffic = programs.traffic()?;
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

    /// Dropped packets, by [`DropReason::index`].
    pub fn drops(&self) -> Result<[u64; DropReason::COUNT]> {
        match self {
            Forwarder::Kernel(programs) => programs.drops(),
            Forwarder::Software(counts) => Ok(drops_by_reason(counts)),
            Forwarder::Nobody => Ok([0; DropReason::COUNT]),
        }
    }

    /// All counters, for an inspection: `own-bytes`, `relayed-bytes`, and `drops-` with the name of
    /// a reason.
    pub fn describe(&self) -> Result<BTreeMap<String, u64>> {
        let (carried, drops) = (self.carried()?, self.drops()?);
        let dropped = DropReason::ALL.iter().filter(|reason| drops[reason.index()] > 0);
        let dropped = dropped.map(|reason| (format!("drops-{}", reason.name()), drops[reason.index()]));
        let carried = [
            ("own-bytes".to_owned(), carried.own_bytes),
            ("relayed-bytes".to_owned(), carried.relayed_bytes),
        ];
        Ok(carried.into_iter().chain(dropped).collect())
    }
}

/// Converts drops by name to drops by [`DropReason::index`].
fn drops_by_reason(counts: &TrafficCounts) -> [u64; DropReason::COUNT] {
    let mut drops = [0; DropReason::COUNT];
    for reason in DropReason::ALL {
        drops[reason.index()] = counts.drops.get(reason.name()).copied().unwrap_or(0);
    }
    drops
}

/// Drops by the name of their reason, without reasons that have none.
pub type DropsByName = BTreeMap<&'static str, u64>;
