//! BSR's path choice, and the fixed single path that it is compared with. `[bcube §3.2, §4]`

use cubeyard_topology::{NodeId, Topology};

use super::cube::Cube;
use super::live::Live;
use super::paths::path_leaving_by;
use super::planes::Lines;
use super::probe::{Probe, Way};
use super::shape::{Hops, Shape};
use super::substitute::{Taken, attempt_seed, find_substitute};
use super::walk::Walk;
use crate::failures::Failures;
use crate::multipath::{MultipathRouter, PathSet};
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, alone, ends_alive};
use crate::random::{Draws, mix};

/// The paths a flow may take after probing; all are alive and node-disjoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoodPaths {
    /// First those of BuildPathSet, by the level of their first hop, highest first; then the
    /// substitutes.
    pub paths: Vec<Hops>,
    /// The number of paths of BuildPathSet, including broken ones.
    pub slots: usize,
    /// The levels whose path of BuildPathSet is broken, highest first; the first of them have the
    /// substitutes, in this order.
    pub broken_levels: Vec<usize>,
}

/// The good paths of one flow: the live paths of BuildPathSet and, for each broken one, another
/// parallel path if one exists. At most `k + 1`. `[bcube §4.2, Fig. 7]`
pub fn good_paths(shape: &Shape, source: NodeId, destination: NodeId, flow: u64, live: &Live) -> GoodPaths {
    good_paths_until(shape, source, destination, flow, live, |_| false)
}

/// As [`good_paths`], but stops the search for substitutes after `enough` of the broken levels have
/// one.
fn good_paths_until(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    flow: u64,
    live: &Live,
    enough: impl Fn(&[usize]) -> bool,
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
        if live.carries(source, &hops) {
            taken.take(shape, source, &hops);
            good.paths.push(hops);
        } else {
            good.broken_levels.push(level);
        }
    }
    for attempt in 0..good.broken_levels.len() as u64 {
        let mut hops = Hops::new();
        let seed = attempt_seed(flow, attempt);
        if !find_substitute(shape, source, destination, &taken, live, seed, &mut hops) {
            // If a search cannot reach the destination with these paths taken, no other search can.
            break;
        }
        taken.take(shape, source, &hops);
        good.paths.push(hops);
        if enough(&good.broken_levels[..=attempt as usize]) {
            break;
        }
    }
    good
}

impl GoodPaths {
    /// Number of paths that are substitutes.
    pub fn substitutes(&self) -> usize {
        self.paths
            .len()
            .saturating_sub(self.slots - self.broken_levels.len())
    }
}

/// BSR with all links equally free when the flow starts: all good paths are equally likely.
#[derive(Debug)]
pub struct Bsr {
    shape: Shape,
    walk: Walk,
    live: Live,
    cube: Option<Cube>,
    /// Exists if there are failures and the network is within the limits.
    lines: Option<Lines>,
    /// Levels of a path's first hop: all except those with a single digit.
    levels: Vec<usize>,
    failures: Failures,
}

impl Bsr {
    /// BSR on a BCube; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<Bsr> {
        let shape = Shape::new(topology)?;
        let live = Live::new(&shape, &failures);
        Some(Bsr {
            walk: Walk::new(&shape, &live),
            cube: Cube::new(&shape),
            lines: if failures.is_empty() {
                None
            } else {
                Lines::new(&shape, &live)
            },
            live,
            levels: (0..shape.levels)
                .filter(|&level| shape.radix[level] > 1)
                .collect(),
            shape,
            failures,
        })
    }

    /// The address arithmetic underneath.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Appends the flow's path. If there is no path, the caller must discard the appended links.
    #[inline(always)]
    fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if !self.failures.is_empty() {
            ends_alive(source, destination, &self.failures)?;
        }
        if source == destination {
            return Ok(());
        }
        if self.levels.is_empty() {
            return Err(NoPath::NotFound);
        }
        // One of the k + 1 slots, without building the others if it is alive: with nothing
        // failed, and for most flows with failures, that is the whole cost.
        let slot = ((mix(flow) >> 32) * self.levels.len() as u64) >> 32;
        let level = self.levels[slot as usize];
        let start = path.len();
        if self.walk.leaving_by(source, destination, level, path) {
            return Ok(());
        }
        path.truncate(start);
        self.route_around(source, destination, level, flow, path)
    }

    /// The rest of [`Bsr::append`] if the drawn path is broken.
    #[inline(never)]
    fn route_around(
        &self,
        source: NodeId,
        destination: NodeId,
        level: usize,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if let Some(cube) = &self.cube {
            let mut probe = Probe::new(
                cube,
                &self.shape,
                &self.live,
                self.lines.as_ref(),
                [source, destination],
            );
            match probe.choose(level, flow).ok_or(NoPath::NotFound)? {
                Way::Leaving(level) => {
                    self.walk.leaving_by(source, destination, level, path);
                }
                Way::Correcting(order) => self.walk.correcting(source, destination, order.iter(), path),
                Way::Beside(steps) => self.shape.push_links(source, steps.hops(), path),
                Way::Around(hops) => self.shape.push_links(source, &hops, path),
            }
            return Ok(());
        }
        let own = |replaced: &[usize]| replaced.contains(&level);
        let good = good_paths_until(&self.shape, source, destination, flow, &self.live, own);
        if good.paths.is_empty() {
            return Err(NoPath::NotFound);
        }
        // A broken slot is replaced by its own substitute, so that every good path stays equally
        // likely.
        let from_set = good.paths.len() - good.substitutes();
        let rank = good
            .broken_levels
            .iter()
            .position(|&broken| broken == level)
            .map(|rank| from_set + rank);
        let chosen = match rank.filter(|&index| index < good.paths.len()) {
            Some(index) => index,
            None => Draws::new(flow).below(good.paths.len() as u32) as usize,
        };
        self.shape.push_links(source, &good.paths[chosen], path);
        Ok(())
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
        alone(path, |links| self.append(source, destination, flow, links))
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        routed.fill(flows, |flow, links| {
            self.append(flow.source, flow.destination, flow.seed, links)
        });
    }
}

/// BSR for a caller that measures the load: each flow takes the good path with the most free
/// bandwidth. [`Router::route`] alone returns the first good path.
#[derive(Debug)]
pub struct BsrGreedy(Bsr);

impl BsrGreedy {
    /// BSR on a BCube; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<BsrGreedy> {
        Bsr::new(topology, failures).map(BsrGreedy)
    }
}

impl Router for BsrGreedy {
    fn name(&self) -> &'static str {
        "bsr-greedy"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        let mut paths = PathSet::default();
        path.clear();
        self.good_paths(source, destination, flow, &mut paths)?;
        path.extend_from_slice(paths.path(0));
        Ok(())
    }

    fn multipath(&self) -> Option<&dyn MultipathRouter> {
        Some(self)
    }
}

impl MultipathRouter for BsrGreedy {
    fn good_paths(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        paths: &mut PathSet,
    ) -> Result<(), NoPath> {
        let Bsr {
            shape,
            walk,
            live,
            levels,
            failures,
            ..
        } = &self.0;
        paths.clear();
        ends_alive(source, destination, failures)?;
        if source == destination {
            paths.push(&[]);
            return Ok(());
        }
        let mut alive = true;
        for &level in levels.iter().rev() {
            paths.push_with(|links| alive &= walk.leaving_by(source, destination, level, links));
        }
        if !alive {
            paths.clear();
            for hops in good_paths(shape, source, destination, flow, live).paths {
                paths.push_with(|links| shape.push_links(source, &hops, links));
            }
        }
        if paths.is_empty() {
            return Err(NoPath::NotFound);
        }
        Ok(())
    }
}

/// BCubeRouting with the permutation `k, k-1, ..., 0` for every flow; a broken path is a dropped
/// flow.
#[derive(Debug)]
pub struct FixedPath {
    walk: Walk,
    failures: Failures,
}

impl FixedPath {
    /// Fixed digit order on a BCube; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<FixedPath> {
        Shape::new(topology).map(|shape| FixedPath {
            walk: Walk::new(&shape, &Live::new(&shape, &failures)),
            failures,
        })
    }
}

impl FixedPath {
    #[inline(always)]
    fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if !self.failures.is_empty() {
            ends_alive(source, destination, &self.failures)?;
        }
        let alive = self.walk.fixed(source, destination, path);
        if alive { Ok(()) } else { Err(NoPath::NotFound) }
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
        alone(path, |links| self.append(source, destination, links))
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        routed.fill(flows, |flow, links| {
            self.append(flow.source, flow.destination, links)
        });
    }
}
