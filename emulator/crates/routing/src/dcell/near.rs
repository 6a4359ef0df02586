//! DCellRouting's paths inside the DCell_1s, kept as links, and the links between DCell_1s: longer paths are put together
//! from them, without a list of hops and without arithmetic on addresses.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cubeyard_topology::NodeId;

use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use super::step::Ahead;
use crate::failures::Failures;
use crate::path::DirectedLink;

/// Links of a path inside a complete DCell_1: two by each mini-switch and the cable between.
const LINKS: usize = 5;

/// A server's paths are kept once they have been asked for this many times: computing them all costs about as much.
const WORTH_KEEPING: u32 = 64;

/// Paths that are kept at most, at 24 bytes each.
const MOST_KEPT: u64 = 1 << 20;

/// Pairs of DCell_1s whose link is kept at most, at 16 bytes each.
const MOST_CROSSINGS: usize = 1 << 16;

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

/// The link between two DCell_1s, or that of the larger DCells that they are in.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    near: NodeId,
    far: NodeId,
    link: DirectedLink,
    level: u8,
    alive: bool,
}

/// A way to the first server outside the DCell_1, or to a server inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// What of it the decision on a packet depends on.
    pub ahead: Ahead,
    /// Whether all of it is alive.
    pub alive: bool,
}

/// The paths inside all DCell_1s with one set of failures; none where they would take too much memory.
#[derive(Debug)]
pub(super) struct NearPaths {
    /// By server, the first one of its DCell_1, and the DCell_1s before it.
    first: Vec<NodeId>,
    cell: Vec<u32>,
    cells: usize,
    /// By DCell_1s, from and to: what crosses towards the other, where it is there. Empty where it would take too much memory.
    crossings: Vec<Option<Crossing>>,
    rows: Vec<Row>,
}

impl NearPaths {
    /// The links between DCell_1s; no path is computed yet. Quadratic in the DCell_1s, up to a bound.
    pub fn new(shape: &Shape, failures: &Failures) -> NearPaths {
        let level = shape.k().min(1);
        let servers = shape.servers();
        let keeps = u64::from(servers).saturating_mul(shape.size(level)) <= MOST_KEPT;
        let kept = 0..if keeps { servers } else { 0 };
        let first: Vec<NodeId> = kept
            .clone()
            .map(|server| shape.ids_around(server, level).start)
            .collect();
        let mut firsts = first.clone();
        firsts.dedup();
        let cell = first
            .iter()
            .map(|first| firsts.partition_point(|before| before < first) as u32);
        let cells = firsts.len();
        let pairs = if cells * cells <= MOST_CROSSINGS {
            cells * cells
        } else {
            0
        };
        NearPaths {
            cell: cell.collect(),
            cells,
            crossings: (0..pairs)
                .map(|pair| crossing(shape, failures, firsts[pair / cells], firsts[pair % cells]))
                .collect(),
            first,
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
        let crossing = self.crossing(shape, failures, ends)?;
        let here = self.append(shape, failures, [from, crossing.near], links)?;
        links.push(crossing.link);
        let there = self.append(shape, failures, [crossing.far, to], links)?;
        Some(here && crossing.alive && there)
    }

    /// Appends the links of DCellRouting's path from a server to another up to the first server outside its DCell_1, or to
    /// the end. `None` if it is not known here: what was appended is void then.
    #[inline(always)]
    pub fn stretch(
        &self,
        shape: &Shape,
        failures: &Failures,
        [from, target]: [NodeId; 2],
        links: &mut Vec<DirectedLink>,
    ) -> Option<Stretch> {
        let first = *self.first.get(from as usize)?;
        let (mut to, mut out) = (target, None);
        while *self.first.get(to as usize)? != first {
            let crossing = self.crossing(shape, failures, [from, to])?;
            (to, out) = (crossing.near, Some(crossing));
        }
        let alive = self.inside(shape, failures, [from, to], links)?;
        links.extend(out.map(|crossing| crossing.link));
        let out_alive = out.is_none_or(|crossing| crossing.alive);
        Some(Stretch {
            ahead: Ahead {
                near: to,
                out: out.map(|crossing| Hop {
                    server: crossing.far,
                    level: crossing.level,
                }),
                out_alive,
            },
            alive: alive && out_alive,
        })
    }

    /// What crosses between the largest DCells that only one of two servers is in.
    #[inline]
    fn crossing(&self, shape: &Shape, failures: &Failures, [from, to]: [NodeId; 2]) -> Option<Crossing> {
        if self.crossings.is_empty() {
            return crossing(shape, failures, from, to);
        }
        let (here, there) = (self.cell[from as usize], self.cell[to as usize]);
        self.crossings[here as usize * self.cells + there as usize]
    }

    /// [`NearPaths::append`] within one DCell_1.
    #[inline(always)]
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

/// The link that DCellRouting takes between two servers of different DCell_1s; `None` where it is not there.
fn crossing(shape: &Shape, failures: &Failures, from: NodeId, to: NodeId) -> Option<Crossing> {
    let level = shape.common_level(from, to);
    let below = level.checked_sub(1)?;
    let (here, there) = (shape.cell(from, below), shape.cell(to, below));
    let bridge = (here != there).then(|| shape.bridge(level, here, there))??;
    Some(Crossing {
        near: bridge.near,
        far: bridge.far,
        link: shape.ports().outward(bridge.near, level as u32),
        level: level as u8,
        alive: failures.is_empty() || shape.hop_alive(bridge.near, bridge.far, level, failures),
    })
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
