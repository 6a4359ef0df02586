//! Which server answers for a key coordinate when servers have failed. `[camcube §2.1.2]`

use cubeyard_topology::NodeId;

use super::shape::Shape;
use crate::failures::Failures;
use crate::random::mix;

/// Keys to servers. The paper says "numerically closest", with deterministic ties that spread the load;
/// ours `[ours]`: the nearest live server by torus distance, ties to the highest hash of key and server
/// (rendezvous hashing), so that a failure moves no other server's keys.
#[derive(Clone, Debug)]
pub struct KeyMap<'a> {
    shape: &'a Shape,
    failures: &'a Failures,
    /// Every offset as a server seen from server 0, nearest first.
    offsets: Vec<(u32, NodeId)>,
}

impl<'a> KeyMap<'a> {
    /// The map of a torus under failures; takes 8 bytes a server.
    pub fn new(shape: &'a Shape, failures: &'a Failures) -> KeyMap<'a> {
        let mut offsets: Vec<(u32, NodeId)> = (0..shape.servers())
            .map(|server| (shape.distance(0, server), server))
            .collect();
        offsets.sort_unstable();
        KeyMap {
            shape,
            failures,
            offsets,
        }
    }

    /// The live server that answers for `key`, whose coordinate is that of server `home`; `None` when all
    /// have failed.
    pub fn server_of(&self, key: u64, home: NodeId) -> Option<NodeId> {
        let mut best: Option<(u32, u64, NodeId)> = None;
        for &(distance, offset) in &self.offsets {
            if best.is_some_and(|(found, ..)| distance > found) {
                break;
            }
            let server = (0..3).fold(home, |at, axis| {
                let by = self.shape.coordinate(offset, axis);
                self.shape.moved(at, axis, i64::from(by))
            });
            if self.failures.node_failed(server) {
                continue;
            }
            let hash = mix(key ^ mix(u64::from(server)));
            if best.is_none_or(|(_, highest, _)| hash > highest) {
                best = Some((distance, hash, server));
            }
        }
        best.map(|(_, _, server)| server)
    }
}
