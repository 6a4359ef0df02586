//! Schemes that return several good paths of a flow, for callers that choose by load or use all of
//! them.

use cubeyard_topology::NodeId;

use crate::path::{DirectedLink, NoPath, Router};
use crate::random::Draws;

/// Paths of one flow, one after another; reused from flow to flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSet {
    ends: Vec<u32>,
    links: Vec<DirectedLink>,
}

impl PathSet {
    /// Removes all paths.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.links.clear();
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The directed links of path `index`.
    pub fn path(&self, index: usize) -> &[DirectedLink] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.links[start as usize..self.ends[index] as usize]
    }

    /// All paths in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[DirectedLink]> {
        (0..self.len()).map(|index| self.path(index))
    }

    /// Adds a path whose links `write` appends to its argument, which it must not change otherwise.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<DirectedLink>)) {
        write(&mut self.links);
        self.ends.push(self.links.len() as u32);
    }

    /// Appends `path` as the last one.
    pub fn push(&mut self, path: &[DirectedLink]) {
        self.push_with(|links| links.extend_from_slice(path));
    }
}

/// A scheme that can name all good paths of a flow, in its order of preference.
pub trait MultipathRouter: Router {
    /// Fills `paths` (which it clears first) with the flow's good paths: at least one, or an error.
    fn good_paths(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        paths: &mut PathSet,
    ) -> Result<(), NoPath>;

    /// Fills `path` with one of the flow's good paths, with equal probability.
    fn drawn(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        let mut paths = PathSet::default();
        self.good_paths(source, destination, flow, &mut paths)?;
        let chosen = Draws::new(flow).below(paths.len() as u32);
        path.extend_from_slice(paths.path(chosen as usize));
        Ok(())
    }
}
