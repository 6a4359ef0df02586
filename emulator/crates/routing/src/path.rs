//! Paths as directed links, and the trait of all routing schemes.

use cubeyard_topology::NodeId;

use crate::failures::Failures;
use crate::multipath::MultipathRouter;

/// One direction of a link: `2 * link` runs from its `a` end to its `b` end, `2 * link + 1` back.
pub type DirectedLink = u32;

/// The direction from a link's `a` end to its `b` end.
#[inline]
pub fn a_to_b(link: u32) -> DirectedLink {
    link * 2
}

/// The direction from a link's `b` end to its `a` end.
#[inline]
pub fn b_to_a(link: u32) -> DirectedLink {
    link * 2 + 1
}

/// The link a direction belongs to.
#[inline]
pub fn link_of(directed: DirectedLink) -> u32 {
    directed / 2
}

/// Why a flow has no path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPath {
    /// The source server itself has failed.
    SourceFailed,
    /// The destination server itself has failed.
    DestinationFailed,
    /// The scheme found no live path (which need not mean that none exists).
    NotFound,
}

/// One flow of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The server that sends.
    pub source: NodeId,
    /// The server that receives.
    pub destination: NodeId,
    /// The seed of the flow's random choices.
    pub seed: u64,
}

/// The paths of a batch of flows, one after another; reused from batch to batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routed {
    /// Directed links, path after path.
    pub links: Vec<DirectedLink>,
    /// The end of each flow's path in `links`; one entry a flow.
    pub ends: Vec<u32>,
    /// The flows without a path, by their index in the batch, ascending, with the reasons. Their
    /// paths are empty.
    pub dropped: Vec<(u32, NoPath)>,
}

impl Routed {
    /// Routes a batch from the start. `append` adds the links of a flow to its argument; after a
    /// failure they are removed.
    #[inline(always)]
    pub fn fill(
        &mut self,
        flows: &[Flow],
        mut append: impl FnMut(&Flow, &mut Vec<DirectedLink>) -> Result<(), NoPath>,
    ) {
        self.links.clear();
        self.ends.clear();
        self.dropped.clear();
        let Routed { links, ends, dropped } = self;
        ends.extend(flows.iter().enumerate().map(|(place, flow)| {
            let start = links.len();
            if let Err(reason) = append(flow, links) {
                links.truncate(start);
                dropped.push((place as u32, reason));
            }
            links.len() as u32
        }));
    }
}

/// A routing scheme on one topology with one set of failures.
///
/// Schemes have no visible mutable state: the same source, destination and flow give the same
/// path, on any thread and in any order.
pub trait Router: Send + Sync {
    /// The scheme's name, as `--routing` takes it.
    fn name(&self) -> &'static str;

    /// Appends the directed links from `source` to `destination` to `path` (which it clears first).
    ///
    /// `flow` seeds the scheme's random choices. A flow from a server to itself has
    /// the empty path.
    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath>;

    /// Routes flows one after another: the same paths as [`Router::route`], without a call a flow.
    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let mut path = Vec::new();
        routed.fill(flows, |flow, links| {
            self.route(flow.source, flow.destination, flow.seed, &mut path)?;
            links.extend_from_slice(&path);
            Ok(())
        });
    }

    /// The scheme as one that lists several good paths of a flow, if it can. Callers then
    /// choose by load (`bsr-greedy`) or send over all at once (`torus-tcp`); [`Router::route`]
    /// gives one of them.
    fn multipath(&self) -> Option<&dyn MultipathRouter> {
        None
    }
}

/// Writes the path of one flow into `path`, replacing its content, with the code `append` of
/// batches; empty if there is no path.
#[inline]
pub(crate) fn alone(
    path: &mut Vec<DirectedLink>,
    append: impl FnOnce(&mut Vec<DirectedLink>) -> Result<(), NoPath>,
) -> Result<(), NoPath> {
    path.clear();
    let routed = append(path);
    if routed.is_err() {
        path.clear();
    }
    routed
}

/// Failures of the ends, which no scheme can avoid.
#[inline]
pub fn ends_alive(source: NodeId, destination: NodeId, failures: &Failures) -> Result<(), NoPath> {
    if failures.node_failed(source) {
        return Err(NoPath::SourceFailed);
    }
    if failures.node_failed(destination) {
        return Err(NoPath::DestinationFailed);
    }
    Ok(())
}
