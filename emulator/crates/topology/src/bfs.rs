//! Shortest paths between servers, every link counted.

use crate::graph::{Csr, NodeId};

/// The result of a set of searches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Distances {
    /// Longest distance from a source to a server, in links.
    pub farthest: u32,
    /// Sum over (source, other server) pairs, in links.
    pub sum: u64,
    /// Pairs (source, other server) joined by a path.
    pub pairs: u64,
}

/// Searches from up to 64 sources at once, one bit each.
///
/// With `relays` false servers end a path but do not forward, as in switch-centric families.
pub(crate) fn from_many(csr: &Csr, server_count: u32, relays: bool, sources: &[NodeId]) -> Distances {
    assert!(sources.len() <= 64, "one bit per source");
    let nodes = csr.offsets.len() - 1;
    let servers = server_count as usize;
    let mut seen = vec![0u64; nodes];
    let mut frontier = vec![0u64; nodes];
    let mut next = vec![0u64; nodes];
    for (bit, &source) in sources.iter().enumerate() {
        seen[source as usize] |= 1 << bit;
        frontier[source as usize] |= 1 << bit;
    }
    let all = if sources.len() == 64 {
        u64::MAX
    } else {
        (1u64 << sources.len()) - 1
    };
    let mut found = Distances::default();
    for distance in 1.. {
        let mut grew = false;
        for node in 0..nodes {
            let before = seen[node];
            let mut reached = 0;
            if before != all {
                for &neighbour in csr.neighbours_of(node as NodeId) {
                    reached |= frontier[neighbour as usize];
                }
                reached &= !before;
            }
            next[node] = reached;
            if reached != 0 {
                grew = true;
                seen[node] = before | reached;
                if node < servers {
                    found.farthest = distance;
                    found.sum += u64::from(distance) * u64::from(reached.count_ones());
                    found.pairs += u64::from(reached.count_ones());
                }
            }
        }
        if !grew {
            break;
        }
        std::mem::swap(&mut frontier, &mut next);
        if !relays {
            frontier[..servers].fill(0);
        }
    }
    found
}

/// Searches from one source, visiting each link once: cheaper than `from_many` on very large
/// graphs.
pub(crate) fn from_one(csr: &Csr, server_count: u32, relays: bool, source: NodeId) -> Distances {
    const UNSEEN: u32 = u32::MAX;
    let mut distance = vec![UNSEEN; csr.offsets.len() - 1];
    let mut queue = Vec::with_capacity(distance.len());
    distance[source as usize] = 0;
    queue.push(source);
    let mut found = Distances::default();
    let mut head = 0;
    while head < queue.len() {
        let node = queue[head];
        head += 1;
        let here = distance[node as usize];
        if node < server_count && node != source {
            found.farthest = here;
            found.sum += u64::from(here);
            found.pairs += 1;
            if !relays {
                continue;
            }
        }
        for &neighbour in csr.neighbours_of(node) {
            if distance[neighbour as usize] == UNSEEN {
                distance[neighbour as usize] = here + 1;
                queue.push(neighbour);
            }
        }
    }
    found
}
