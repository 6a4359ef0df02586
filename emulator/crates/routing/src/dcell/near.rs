//! DCellRouting's paths inside the DCell_1s, kept as links: longer paths are put together from them, without a list of hops.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cubeyard_topology::NodeId;

use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use crate::failures::Failures;
use crate::path::DirectedLink;

/// Links of a path inside a complete DCell_1: two by each mini-switch and the cable between.
const LINKS: usize = 5;

/// A server's paths are kept once they have been asked for this many times: computing them all costs about as much.
const WORTH_KEEPING: u32 = 64;

/// Paths that are kept at most, at 24 bytes each.
const MOST_KEPT: u64 = 1 << 20;

/// A path inside a DCell_1.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    links: [DirectedLink; LINKS],
    length: u8,
    alive: bool,
    /// Whether it fits here; a partial DCell_1 can have none, or longer ones.
    known: bool,
}

/// A server's paths to the others of its DCell_1.
#[derive(Debug, Default)]
struct Row {
    asked: AtomicU32,
    paths: OnceLock<Box<[Path]>>,
}

/// The paths inside all DCell_1s with one set of failures; none where they would take too much memory.
#[derive(Debug)]
pub(super) struct NearPaths {
    /// By server, the first one of its DCell_1.
    first: Vec<NodeId>,
    rows: Vec<Row>,
}

impl NearPaths {
    /// Nothing is computed yet.
    pub fn new(shape: &Shape) -> NearPaths {
        let level = shape.k().min(1);
        let servers = shape.servers();
        let keeps = u64::from(servers).saturating_mul(shape.size(level)) <= MOST_KEPT;
        let kept = 0..if keeps { servers } else { 0 };
        NearPaths {
            first: kept
                .clone()
                .map(|server| shape.ids_around(server, level).start)
                .collect(),
            rows: kept.map(|_| Row::default()).collect(),
        }
    }

    /// Appends the links of DCellRouting's path and tells whether it is alive. `None` if it is not known here: what was
    /// appended is void then.
    #[inline]
    pub fn append(
        &self,
        shape: &Shape,
        failures: &Failures,
        ends: [NodeId; 2],
        links: &mut Vec<DirectedLink>,
    ) -> Option<bool> {
        let [from, to] = ends;
        let (first, other) = (*self.first.get(from as usize)?, *self.first.get(to as usize)?);
        if first == other {
            return self.inside(shape, failures, ends, links);
        }
        let level = shape.common_level(from, to);
        let bridge = shape.bridge(level, shape.cell(from, level - 1), shape.cell(to, level - 1))?;
        let here = self.append(shape, failures, [from, bridge.near], links)?;
        links.push(shape.ports().outward(bridge.near, level as u32));
        let there = self.append(shape, failures, [bridge.far, to], links)?;
        let across = failures.is_empty() || shape.hop_alive(bridge.near, bridge.far, level, failures);
        Some(here && across && there)
    }

    /// [`NearPaths::append`] within one DCell_1.
    #[inline]
    fn inside(
        &self,
        shape: &Shape,
        failures: &Failures,
        [from, to]: [NodeId; 2],
        links: &mut Vec<DirectedLink>,
    ) -> Option<bool> {
        let row = &self.rows[from as usize];
        let paths = match row.paths.get() {
            Some(paths) => paths,
            None if row.asked.fetch_add(1, Ordering::Relaxed) < WORTH_KEEPING => return None,
            None => row.paths.get_or_init(|| paths_from(shape, failures, from)),
        };
        let path = &paths[(to - self.first[from as usize]) as usize];
        // All are written and the rest cut off: how many there are is chance.
        let start = links.len();
        links.extend_from_slice(&path.links);
        links.truncate(start + usize::from(path.length));
        path.known.then_some(path.alive)
    }
}

/// The paths from a server to all of its DCell_1, in the order of their ids.
fn paths_from(shape: &Shape, failures: &Failures, from: NodeId) -> Box<[Path]> {
    let (mut hops, mut links): (Vec<Hop>, Vec<DirectedLink>) = (Vec::new(), Vec::new());
    let path = |to| {
        hops.clear();
        links.clear();
        let found = dcell_routing(shape, from, to, &mut hops);
        shape.push_links(from, &hops, &mut links);
        let mut path = Path::default();
        if found && let Some(place) = path.links.get_mut(..links.len()) {
            place.copy_from_slice(&links);
            path.length = links.len() as u8;
            path.alive = failures.is_empty() || shape.path_alive(from, &hops, failures);
            path.known = true;
        }
        path
    };
    shape.ids_around(from, shape.k().min(1)).map(path).collect()
}
