//! The VM distribution service: a multicast tree grown by join packets. `[camcube §3.2, Fig. 7]`

use cubeyard_topology::NodeId;
use cubeyard_topology::address::TorusAddresses;

use super::shape::Shape;
use crate::failures::BitSet;
use crate::path::DirectedLink;

/// The tree that join packets left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinTree {
    /// `(child, parent, link from parent to child)`, in the order of joining: a packet's hops
    /// towards the root, until it met the tree.
    pub edges: Vec<(NodeId, NodeId, DirectedLink)>,
}

/// Grows the tree: every member's join packet follows `next` (a neighbour nearer to the root, as
/// axis and direction up) until it meets a server of the tree.
pub fn join_tree(
    shape: &Shape,
    root: NodeId,
    members: &[NodeId],
    mut next: impl FnMut(NodeId) -> (usize, bool),
) -> JoinTree {
    let mut inside = BitSet::new(shape.servers() as usize);
    inside.insert(root);
    let mut tree = JoinTree::default();
    for &member in members {
        let mut at = member;
        while inside.insert(at) {
            let (axis, up) = next(at);
            let (parent, directed) = shape.step(at, axis, up);
            tree.edges.push((at, parent, directed ^ 1));
            at = parent;
        }
    }
    tree
}

/// Where the service's own protocol sends a join packet: along the edges of mini-cubes, from corner
/// to larger corner. `at` is not the root. `[camcube Fig. 7(a)]`
///
/// Repaired: as printed, the comparison with the least level stands inside the `while`, so that an
/// axis at its own level is never taken and `min_axis` can stay unset; it belongs after the loop.
/// The level is the exponent of 2 in the distance, which for edges that are powers of two is what
/// the loop counts, and serves an edge of 20 too.
pub fn join_by_corners(shape: &TorusAddresses, at: NodeId, root: NodeId) -> (usize, bool) {
    let axis = (0..3)
        .filter(|&axis| shape.axis_distance(at, root, axis) > 0)
        .min_by_key(|&axis| shape.axis_distance(at, root, axis).trailing_zeros())
        .unwrap_or(0);
    // As printed: up if that is strictly nearer, else down; so a tie goes down.
    let up = shape.axis_distance(shape.moved(at, axis, 1), root, axis);
    let down = shape.axis_distance(shape.moved(at, axis, -1), root, axis);
    (axis, up < down)
}
