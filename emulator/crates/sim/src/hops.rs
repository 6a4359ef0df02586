//! Distances between all servers by breadth-first search from 64 servers at once, one bit each.

use cubeyard_routing::Failures;
use cubeyard_topology::{Csr, NodeId, Topology};
use rayon::prelude::*;

use crate::count::{Cancelled, Progress};

/// Distances over ordered pairs of distinct live servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// Pairs at each distance, in the unit of the search; entry 0 is always 0.
    pub pairs_at: Vec<u64>,
    /// Pairs without a path between them.
    pub unreachable: u64,
}

impl Distances {
    /// Pairs with a path.
    pub fn pairs(&self) -> u64 {
        self.pairs_at.iter().sum()
    }

    /// The longest distance between two servers.
    pub fn diameter(&self) -> u32 {
        (self.pairs_at.len() as u32).saturating_sub(1)
    }

    /// The mean distance over pairs with a path; 0 when there is none.
    pub fn mean(&self) -> f64 {
        let sum: u128 = self
            .pairs_at
            .iter()
            .enumerate()
            .map(|(distance, &pairs)| distance as u128 * u128::from(pairs))
            .sum();
        match self.pairs() {
            0 => 0.0,
            pairs => sum as f64 / pairs as f64,
        }
    }

    fn merge(mut self, other: &Distances) -> Distances {
        if self.pairs_at.len() < other.pairs_at.len() {
            self.pairs_at.resize(other.pairs_at.len(), 0);
        }
        for (mine, theirs) in self.pairs_at.iter_mut().zip(&other.pairs_at) {
            *mine += theirs;
        }
        self.unreachable += other.unreachable;
        self
    }
}

/// Distances between all live servers, every link counted, around failures.
///
/// Servers forward where the family's servers do. Searches of 64 sources share each pass over the
/// links; batches run in parallel, and the counts are whole numbers, so the result does not depend
/// on threads.
pub fn all_pairs_links(
    topology: &Topology,
    failures: &Failures,
    progress: &Progress,
) -> Result<Distances, Cancelled> {
    let relays = topology.servers_relay();
    let csr = live_adjacency(topology, failures);
    let live: Vec<NodeId> = (0..topology.server_count())
        .filter(|&server| !failures.node_failed(server))
        .collect();
    let batches: Vec<&[NodeId]> = live.chunks(64).collect();
    let found = batches
        .par_iter()
        .map(|sources| {
            if progress.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
                return Distances::default();
            }
            let mut found = from_sources(&csr, topology.server_count(), relays, sources);
            found.unreachable = sources.len() as u64 * (live.len() as u64 - 1) - found.pairs();
            progress
                .done
                .fetch_add(sources.len() as u64, std::sync::atomic::Ordering::Relaxed);
            found
        })
        .reduce(Distances::default, |a, b| a.merge(&b));
    if progress.cancelled.load(std::sync::atomic::Ordering::Relaxed) {
        Err(Cancelled)
    } else {
        Ok(found)
    }
}

/// The adjacency without failed nodes and links.
fn live_adjacency(topology: &Topology, failures: &Failures) -> Csr {
    let whole = topology.adjacency();
    if failures.is_empty() {
        return whole;
    }
    let mut live = Csr {
        offsets: vec![0],
        neighbours: Vec::with_capacity(whole.neighbours.len()),
        links: Vec::with_capacity(whole.links.len()),
    };
    for node in 0..topology.node_count() {
        if !failures.node_failed(node) {
            for (neighbour, link) in whole.row(node) {
                if !failures.node_failed(neighbour) && !failures.link_failed(link) {
                    live.neighbours.push(neighbour);
                    live.links.push(link);
                }
            }
        }
        live.offsets.push(live.neighbours.len() as u32);
    }
    live
}

/// Hops between servers (crossing a mini-switch is part of one) from some live servers to all,
/// around failures: for a sample, if there are too many pairs. `unreachable` counts live servers
/// only.
pub fn hops_from(topology: &Topology, failures: &Failures, sources: &[NodeId]) -> Distances {
    let servers = topology.server_count();
    let csr = between_servers(topology, failures);
    let live = (0..servers)
        .filter(|&server| !failures.node_failed(server))
        .count() as u64;
    let batches = sources.chunks(64).map(|batch| {
        let mut found = from_sources(&csr, servers, true, batch);
        found.unreachable = batch.len() as u64 * (live - 1) - found.pairs();
        found
    });
    batches.fold(Distances::default(), |all, batch| all.merge(&batch))
}

/// The live servers that are one hop from each other: by a link, or over a switch.
fn between_servers(topology: &Topology, failures: &Failures) -> Csr {
    let live = live_adjacency(topology, failures);
    let servers = topology.server_count();
    let mut near = Csr {
        offsets: vec![0],
        neighbours: Vec::with_capacity(live.neighbours.len()),
        links: Vec::new(),
    };
    for server in 0..servers {
        for &neighbour in live.neighbours_of(server) {
            if neighbour < servers {
                near.neighbours.push(neighbour);
            } else {
                let others = live.neighbours_of(neighbour).iter();
                near.neighbours
                    .extend(others.filter(|&&other| other < servers && other != server));
            }
        }
        near.offsets.push(near.neighbours.len() as u32);
    }
    near
}

fn from_sources(csr: &Csr, server_count: u32, relays: bool, sources: &[NodeId]) -> Distances {
    let nodes = csr.offsets.len() - 1;
    let servers = server_count as usize;
    let mut seen = vec![0u64; nodes];
    let mut frontier = vec![0u64; nodes];
    let mut next = vec![0u64; nodes];
    for (bit, &source) in sources.iter().enumerate() {
        seen[source as usize] |= 1 << bit;
        frontier[source as usize] |= 1 << bit;
    }
    let all = u64::MAX >> (64 - sources.len());
    let mut found = Distances {
        pairs_at: vec![0],
        unreachable: 0,
    };
    loop {
        let (mut reached_servers, mut grew) = (0u64, false);
        for node in 0..nodes {
            let before = seen[node];
            let mut reached = 0;
            if before != all {
                for &neighbour in csr.neighbours_of(node as NodeId) {
                    reached |= frontier[neighbour as usize];
                }
                reached &= !before;
                if reached != 0 {
                    grew = true;
                    seen[node] = before | reached;
                    if node < servers {
                        reached_servers += u64::from(reached.count_ones());
                    }
                }
            }
            next[node] = reached;
        }
        if !grew {
            break;
        }
        found.pairs_at.push(reached_servers);
        std::mem::swap(&mut frontier, &mut next);
        if !relays {
            frontier[..servers].fill(0);
        }
    }
    while found.pairs_at.len() > 1 && found.pairs_at.last() == Some(&0) {
        found.pairs_at.pop();
    }
    found
}
