//! The flows of a workload, computed from their index: four million flows take no memory.

use std::ops::Range;

use cubeyard_routing::random::{Draws, mix};
use cubeyard_routing::{Flow, Routed, Router};
use cubeyard_topology::NodeId;

/// Who sends to whom among the servers that take part.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every server to every other. `[bcube §3.6]`
    AllToAll,
    /// Every server of one set to every server of another; a server sends nothing to itself.
    Shuffle {
        /// Senders.
        from: Vec<NodeId>,
        /// Receivers.
        to: Vec<NodeId>,
    },
    /// Every server to one other, every server from one other, by a random cyclic order.
    Permutation {
        /// Seeds the order.
        seed: u64,
    },
    /// Independent uniform pairs of different servers.
    RandomPairs {
        /// How many flows.
        count: u64,
        /// Seeds the pairs.
        seed: u64,
    },
    /// Exactly these.
    Listed(Vec<(NodeId, NodeId)>),
}

/// The flows of a pattern over the servers taking part, addressed by index.
#[derive(Clone, Debug)]
pub struct Flows {
    members: Vec<NodeId>,
    pattern: Pattern,
}

impl Flows {
    /// Flows of `pattern` among `members`, which are distinct servers in ascending order.
    pub fn new(mut members: Vec<NodeId>, pattern: Pattern) -> Flows {
        if let Pattern::Permutation { seed } = pattern {
            Draws::new(seed).shuffle(&mut members);
        }
        Flows { members, pattern }
    }

    /// Number of flows.
    pub fn len(&self) -> u64 {
        let members = self.members.len() as u64;
        match &self.pattern {
            Pattern::AllToAll => members * members.saturating_sub(1),
            Pattern::Shuffle { from, to } => from.len() as u64 * to.len() as u64,
            Pattern::Permutation { .. } if members < 2 => 0,
            Pattern::Permutation { .. } => members,
            Pattern::RandomPairs { .. } if members < 2 => 0,
            Pattern::RandomPairs { count, .. } => *count,
            Pattern::Listed(pairs) => pairs.len() as u64,
        }
    }

    /// Whether there is no flow at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Source and destination of flow `index`, which is below [`Flows::len`]. They may be the same
    /// server only in a shuffle or a list that says so; such a flow crosses no link.
    #[inline]
    pub fn flow(&self, index: u64) -> (NodeId, NodeId) {
        let members = self.members.len() as u64;
        match &self.pattern {
            Pattern::AllToAll => {
                let (source, rest) = (index / (members - 1), index % (members - 1));
                let destination = rest + u64::from(rest >= source);
                (self.members[source as usize], self.members[destination as usize])
            }
            Pattern::Shuffle { from, to } => {
                let receivers = to.len() as u64;
                (
                    from[(index / receivers) as usize],
                    to[(index % receivers) as usize],
                )
            }
            Pattern::Permutation { .. } => (
                self.members[index as usize],
                self.members[((index + 1) % members) as usize],
            ),
            Pattern::RandomPairs { seed, .. } => {
                let mut draws = Draws::of(*seed, index);
                let source = draws.below(members as u32);
                let other = draws.below(members as u32 - 1);
                let destination = other + u32::from(other >= source);
                (self.members[source as usize], self.members[destination as usize])
            }
            Pattern::Listed(pairs) => pairs[index as usize],
        }
    }
}

/// Flows routed at a time: enough to hide the call, few enough for their links to stay in the nearest cache.
const BATCH_FLOWS: u64 = 512;

/// What routing flows batch after batch needs; reused.
#[derive(Debug, Default)]
pub struct Batches {
    flows: Vec<Flow>,
    routed: Routed,
}

impl Batches {
    /// Routes the flows of a range in batches, each flow's choices drawn from `seed` and its index; `visit` gets the
    /// index of each batch's first flow and the batch's paths.
    pub fn route(
        &mut self,
        router: &dyn Router,
        flows: &Flows,
        range: Range<u64>,
        seed: u64,
        mut visit: impl FnMut(u64, &Routed),
    ) {
        for first in range.clone().step_by(BATCH_FLOWS as usize) {
            self.flows.clear();
            self.flows
                .extend((first..(first + BATCH_FLOWS).min(range.end)).map(|index| {
                    let (source, destination) = flows.flow(index);
                    Flow {
                        source,
                        destination,
                        seed: mix(seed ^ mix(index)),
                    }
                }));
            router.route_batch(&self.flows, &mut self.routed);
            visit(first, &self.routed);
        }
    }
}
