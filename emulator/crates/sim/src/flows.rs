//! The flows of a workload, computed from their index: four million flows take no memory.

use std::ops::Range;

use cubeyard_routing::random::{Draws, mix};
use cubeyard_routing::{Flow, Routed, Router};
use cubeyard_topology::NodeId;

/// The pairs of servers that send to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every server to every other. `[bcube §3.6]`
    AllToAll,
    /// Every server of one set to every server of another; a server sends nothing to itself.
    Shuffle {
        /// The servers that send.
        from: Vec<NodeId>,
        /// The servers that receive.
        to: Vec<NodeId>,
    },
    /// Every server to one other, every server from one other, by a random cyclic order.
    Permutation {
        /// The seed of the order.
        seed: u64,
    },
    /// Independent uniform pairs of different servers.
    RandomPairs {
        /// The number of pairs.
        count: u64,
        /// The seed of the pairs.
        seed: u64,
    },
    /// Exactly these pairs.
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

    /// Source and destination of flow `index`, which must be below [`Flows::len`]. They can be the
    /// same server only in a shuffle, or in a list that contains such a pair; such a flow crosses
    /// no link.
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

impl Flows {
    /// Appends the flows of a range, which is within [`Flows::len`], as [`Flows::flow`] gives them,
    /// with the seed of each: in an all-to-all without a division a flow.
    #[inline]
    fn append_to(&self, list: &mut Vec<Flow>, range: Range<u64>, seed_of: impl Fn(u64) -> u64) {
        let flow = |index, (source, destination)| Flow {
            source,
            destination,
            seed: seed_of(index),
        };
        if self.pattern != Pattern::AllToAll {
            list.extend(range.map(|index| flow(index, self.flow(index))));
            return;
        }
        let others = (self.members.len() as u64).saturating_sub(1).max(1);
        let (mut source, mut rest) = ((range.start / others) as usize, (range.start % others) as usize);
        list.extend(range.map(|index| {
            let destination = self.members[rest + usize::from(rest >= source)];
            let one = flow(index, (self.members[source], destination));
            rest += 1;
            if rest as u64 == others {
                (source, rest) = (source + 1, 0);
            }
            one
        }));
    }
}

/// Flows routed at a time: enough to hide the call, few enough for their links to stay in the
/// nearest cache.
const BATCH_FLOWS: u64 = 512;

/// Working memory for routing flows in batches, reused between batches.
#[derive(Debug, Default)]
pub struct Batches {
    flows: Vec<Flow>,
    routed: Routed,
}

impl Batches {
    /// Routes the flows of a range in batches, each flow's choices drawn from `seed` and its index;
    /// `visit` gets the index of each batch's first flow and the batch's paths.
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
            let of_batch = first..(first + BATCH_FLOWS).min(range.end);
            flows.append_to(&mut self.flows, of_batch, |index| mix(seed ^ mix(index)));
            router.route_batch(&self.flows, &mut self.routed);
            visit(first, &self.routed);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_flows_of_a_range_are_those_of_its_indexes(
            members in 0u32..20,
            pattern in prop_oneof![
                Just(Pattern::AllToAll),
                Just(Pattern::Permutation { seed: 3 }),
                Just(Pattern::RandomPairs { count: 50, seed: 4 }),
            ],
            cuts in [0.0..1.0f64, 0.0..1.0],
        ) {
            let flows = Flows::new((0..members).map(|member| 2 * member + 1).collect(), pattern);
            let [start, end] = cuts.map(|cut| (cut * (flows.len() + 1) as f64) as u64);
            let mut seen = Vec::new();
            flows.append_to(&mut seen, start..end, |index| index);
            let seen: Vec<_> = seen.iter().map(|flow| (flow.seed, (flow.source, flow.destination))).collect();
            let each: Vec<_> = (start..end).map(|index| (index, flows.flow(index))).collect();
            prop_assert_eq!(seen, each);
        }
    }
}
