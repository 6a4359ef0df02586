//! Lengths of paths and numbers of failed paths: Table 2 and Figs 7 to 9 of DCell, by sampling.
//! `[dcell §6]`

use cubeyard_topology::{NodeId, Topology};

use super::dfr::Dfr;
use super::shape::Shape;
use crate::failures::Failures;
use crate::path::NoPath;
use crate::random::Draws;
use crate::shortest::{Shortest, UNREACHED};

/// Numbers of paths tried and of their results. Sources are alive; a destination may have failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathStatistics {
    /// Number of pairs tried.
    pub tried: u64,
    /// Pairs without a path, failed destinations among them.
    pub failed: u64,
    /// Hops between servers on all paths found.
    pub total_hops: u64,
    /// Hops of the longest.
    pub longest_hops: u32,
}

impl PathStatistics {
    /// Mean hops of the paths found; 0 when there is none.
    pub fn mean_hops(&self) -> f64 {
        let found = self.tried - self.failed;
        if found == 0 {
            0.0
        } else {
            self.total_hops as f64 / found as f64
        }
    }

    /// Failed paths divided by all tried; 0 if none was tried.
    pub fn failure_ratio(&self) -> f64 {
        if self.tried == 0 {
            0.0
        } else {
            self.failed as f64 / self.tried as f64
        }
    }

    /// The sum of two statistics.
    #[must_use]
    pub fn and(&self, other: &PathStatistics) -> PathStatistics {
        PathStatistics {
            tried: self.tried + other.tried,
            failed: self.failed + other.failed,
            total_hops: self.total_hops + other.total_hops,
            longest_hops: self.longest_hops.max(other.longest_hops),
        }
    }

    fn add(&mut self, hops: Option<u32>) {
        self.tried += 1;
        match hops {
            Some(hops) => {
                self.total_hops += u64::from(hops);
                self.longest_hops = self.longest_hops.max(hops);
            }
            None => self.failed += 1,
        }
    }
}

/// DFR between `pairs` random pairs: a live source, and any other server as destination.
pub fn dfr_statistics(dfr: &Dfr, pairs: u64, seed: u64) -> PathStatistics {
    let servers = dfr.shape().servers();
    let mut statistics = PathStatistics::default();
    let mut hops = Vec::new();
    for pair in 0..pairs {
        let mut draws = Draws::of(seed, pair);
        let Some(source) = live_source(&mut draws, servers, dfr.failures()) else {
            break;
        };
        let other = draws.below(servers - 1);
        let destination = other + u32::from(other >= source);
        let found: Result<(), NoPath> = dfr.hops(source, destination, draws.next_bits(), &mut hops);
        statistics.add(found.is_ok().then_some(hops.len() as u32));
    }
    statistics
}

/// Shortest paths from `sources` random live servers to all others, by one breadth-first search
/// each.
pub fn shortest_statistics(
    shortest: &Shortest,
    failures: &Failures,
    servers: u32,
    sources: u64,
    seed: u64,
) -> PathStatistics {
    let mut statistics = PathStatistics::default();
    for index in 0..sources {
        let Some(source) = live_source(&mut Draws::of(seed, index), servers, failures) else {
            break;
        };
        let distance = shortest.half_hops(source);
        for destination in (0..servers).filter(|&server| server != source) {
            let far = distance[destination as usize];
            statistics.add((far != UNREACHED).then_some(u32::from(far) / 2));
        }
    }
    statistics
}

/// A random live server, if a few draws find one and there is another to send to.
fn live_source(draws: &mut Draws, servers: u32, failures: &Failures) -> Option<NodeId> {
    if servers < 2 {
        return None;
    }
    (0..10_000)
        .map(|_| draws.below(servers))
        .find(|&server| !failures.node_failed(server))
}

/// Fails a share `ratio` of all DCell_`level`s completely (rounded to the nearest): their servers
/// and the switches of their DCell_0s. A rack is a DCell_1 in the paper's evaluation. Nothing for
/// other families.
pub fn fail_cells(topology: &Topology, level: usize, ratio: f64, seed: u64, failures: &mut Failures) {
    let Some(shape) = Shape::new(topology) else {
        return;
    };
    let level = level.min(shape.k());
    let mut cells = shape.cells(level);
    Draws::new(seed).shuffle(&mut cells);
    let wanted = (cells.len() as f64 * ratio.clamp(0.0, 1.0)).round() as usize;
    for cell in &cells[..wanted] {
        for server in shape.servers_of(*cell, level) {
            failures.fail_node(server);
            failures.fail_node(shape.ports().far(server, 0));
        }
    }
}
