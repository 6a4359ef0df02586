//! The live ports of each server of a BCube with failures, as a few bits per server.

use cubeyard_topology::NodeId;

use super::shape::{Hop, Shape};
use crate::failures::Failures;

/// For each server, a bit for every level at which it can send and receive: server, cable and
/// switch are alive, and another digit exists there. Two servers of one switch reach each other if
/// both have the bit of its level.
#[derive(Clone, Debug)]
pub struct Live {
    ports: Vec<u32>,
}

impl Live {
    /// Computes the live ports from the failures, in time linear in the number of server ports.
    pub fn new(shape: &Shape, failures: &Failures) -> Live {
        let ports = |server: NodeId| {
            if failures.node_failed(server) {
                return 0;
            }
            (0..shape.levels)
                .filter(|&level| shape.radix[level] > 1 && shape.port_alive(server, level, failures))
                .fold(0, |ports, level| ports | 1 << level)
        };
        Live {
            ports: (0..shape.servers()).map(ports).collect(),
        }
    }

    /// The levels at which `server` can send and receive, a bit each; none if it has failed.
    #[inline]
    pub fn ports(&self, server: NodeId) -> u32 {
        self.ports[server as usize]
    }

    /// Whether `server` can send and be sent to at `level`.
    #[inline]
    pub fn has(&self, server: NodeId, level: usize) -> bool {
        self.ports(server) >> level & 1 == 1
    }

    /// Whether every hop of a path is alive.
    pub fn carries(&self, source: NodeId, hops: &[Hop]) -> bool {
        let mut at = source;
        hops.iter().all(|hop| {
            let level = usize::from(hop.level);
            let alive = self.has(at, level) && self.has(hop.server, level);
            at = hop.server;
            alive
        })
    }
}
