//! BSR's path choice, and the fixed single path it is measured against. `[bcube §3.2, §4]`

use cubeyard_topology::{NodeId, Topology};

use super::paths::{correct_digits, levels_down_from, path_leaving_by};
use super::shape::{Hops, Shape};
use super::substitute::{Taken, find_substitute};
use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, ends_alive};
use crate::random::Draws;

/// The paths a flow may take after probing; all are alive and node-disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoodPaths {
    /// First those of BuildPathSet, by the level they leave the source by, highest first; then the
    /// substitutes.
    pub paths: Vec<Hops>,
    /// How many paths BuildPathSet gives, broken ones included.
    pub slots: usize,
    /// The levels whose path of BuildPathSet is broken, highest first; the first of them have the
    /// substitutes, in this order.
    pub broken_levels: Vec<usize>,
}

/// The good paths of one flow: those of BuildPathSet that are alive, and for each that is not a
/// further parallel path where one exists. At most `k + 1`. `[bcube §4.2, Fig. 7]`
pub fn good_paths(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    flow: u64,
    failures: &Failures,
) -> GoodPaths {
    let mut good = GoodPaths::default();
    let mut taken = Taken::default();
    for level in (0..shape.levels).rev() {
        let mut hops = Hops::new();
        path_leaving_by(shape, source, destination, level, &mut hops);
        if hops.is_empty() {
            continue;
        }
        good.slots += 1;
        if shape.path_alive(source, &hops, failures) {
            taken.take(shape, source, &hops);
            good.paths.push(hops);
        } else {
            good.broken_levels.push(level);
        }
    }
    for attempt in 0..good.broken_levels.len() as u64 {
        let mut hops = Hops::new();
        let seed = Draws::of(flow, attempt).next_bits();
        if !find_substitute(shape, source, destination, &taken, failures, seed, &mut hops) {
            // What one search could not reach with these paths taken, another cannot either.
            break;
        }
        taken.take(shape, source, &hops);
        good.paths.push(hops);
    }
    good
}

/// How many of the good paths are substitutes.
fn substitutes(good: &GoodPaths) -> usize {
    good.paths
        .len()
        .saturating_sub(good.slots - good.broken_levels.len())
}

/// BSR with all links equally free when the flow starts: any good path, each as likely.
#[derive(Debug)]
pub struct Bsr {
    shape: Shape,
    failures: Failures,
}

impl Bsr {
    /// BSR on a BCube; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<Bsr> {
        Shape::new(topology).map(|shape| Bsr { shape, failures })
    }

    /// The address arithmetic underneath.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Router for Bsr {
    fn name(&self) -> &'static str {
        "bsr"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        ends_alive(source, destination, &self.failures)?;
        if source == destination {
            return Ok(());
        }
        // One of the k + 1 slots, without building the others where it is alive: with nothing failed,
        // and for most flows with failures, that is the whole cost.
        let mut draws = Draws::new(flow);
        let usable: Vec<usize>;
        let level = if self.shape.radix[self.shape.levels - 1] > 1 {
            draws.below(self.shape.levels as u32) as usize
        } else {
            usable = (0..self.shape.levels)
                .filter(|&level| self.shape.radix[level] > 1)
                .collect();
            if usable.is_empty() {
                return Err(NoPath::NotFound);
            }
            usable[draws.below(usable.len() as u32) as usize]
        };
        let mut hops = Hops::with_capacity(self.shape.levels + 2);
        path_leaving_by(&self.shape, source, destination, level, &mut hops);
        if self.failures.is_empty() || self.shape.path_alive(source, &hops, &self.failures) {
            self.shape.push_links(source, &hops, path);
            return Ok(());
        }
        let good = good_paths(&self.shape, source, destination, flow, &self.failures);
        if good.paths.is_empty() {
            return Err(NoPath::NotFound);
        }
        // A broken slot stands for its own substitute, so that every good path stays equally likely.
        let from_set = good.paths.len() - substitutes(&good);
        let rank = good
            .broken_levels
            .iter()
            .position(|&broken| broken == level)
            .map(|rank| from_set + rank);
        let chosen = match rank.filter(|&index| index < good.paths.len()) {
            Some(index) => index,
            None => draws.below(good.paths.len() as u32) as usize,
        };
        self.shape.push_links(source, &good.paths[chosen], path);
        Ok(())
    }
}

/// BCubeRouting with the permutation `k, k-1, ..., 0` for every flow; a broken path is a dropped flow.
#[derive(Debug)]
pub struct FixedPath {
    shape: Shape,
    failures: Failures,
}

impl FixedPath {
    /// Fixed digit order on a BCube; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<FixedPath> {
        Shape::new(topology).map(|shape| FixedPath { shape, failures })
    }
}

impl Router for FixedPath {
    fn name(&self) -> &'static str {
        "bcube-fixed"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        _flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        ends_alive(source, destination, &self.failures)?;
        let shape = &self.shape;
        let mut hops = Hops::with_capacity(shape.levels);
        correct_digits(
            shape,
            source,
            destination,
            levels_down_from(shape.levels, shape.levels - 1),
            &mut hops,
        );
        if !self.failures.is_empty() && !shape.path_alive(source, &hops, &self.failures) {
            return Err(NoPath::NotFound);
        }
        shape.push_links(source, &hops, path);
        Ok(())
    }
}
