//! Which server answers for a key coordinate when servers have failed. `[camcube §2.1.2]`

use cubeyard_topology::NodeId;

use super::shape::Shape;
use crate::random::mix;

/// Keys to servers. The paper says "numerically closest", with deterministic ties that spread the
/// load; ours `[ours]`: the nearest live server by torus distance, ties to the highest hash of key
/// and server (rendezvous hashing), so that a failure moves no other server's keys.
///
/// The caller passes the live servers: from the failures of a prediction, or from a server's link
/// state.
#[derive(Clone, Debug)]
pub struct KeyMap {
    /// Every offset, as the server at this offset from server 0, nearest first.
    offsets: Vec<(u32, NodeId)>,
}

impl KeyMap {
    /// The map of a torus; takes 8 bytes a server.
    pub fn new(shape: &Shape) -> KeyMap {
        let mut offsets: Vec<(u32, NodeId)> = (0..shape.servers())
            .map(|server| (shape.distance(0, server), server))
            .collect();
        offsets.sort_unstable();
        KeyMap { offsets }
    }

    /// The live server that answers for `key`, whose coordinate is that of server `home`; `None`
    /// where none lives. `shape` is the torus that the map was made for.
    pub fn server_of(
        &self,
        shape: &Shape,
        key: u64,
        home: NodeId,
        alive: impl Fn(NodeId) -> bool,
    ) -> Option<NodeId> {
        let mut best: Option<(u32, u64, NodeId)> = None;
        for &(distance, offset) in &self.offsets {
            if best.is_some_and(|(found, ..)| distance > found) {
                break;
            }
            let server = (0..3).fold(home, |at, axis| {
                let by = shape.coordinate(offset, axis);
                shape.moved(at, axis, i64::from(by))
            });
            if !alive(server) {
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
