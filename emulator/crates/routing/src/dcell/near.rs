//! Cached paths inside DCell_1s, as links, and the links between DCell_1s: longer paths are
//! assembled from them, without a list of hops and without arithmetic on addresses. Inside a
//! DCell_1, the path is DCellRouting's; if that is broken, it is the only shortest path by link
//! state, provided that the scheme has link state and there is only one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use cubeyard_topology::NodeId;

use super::group::Group;
use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use super::step::Ahead;
use crate::failures::Failures;
use crate::path::DirectedLink;

/// Most links of a cached path. DCellRouting's path inside a complete DCell_1 has five: two by each
/// mini-switch and the cable between. A path around a failure has seven or eight.
const LINKS: usize = 8;

/// The paths of a server are cached after this number of requests, which cost about the same as
/// computing all paths.
const WORTH_KEEPING: u32 = 64;

/// The largest number of cached paths, at 36 bytes each.
const MOST_KEPT: u64 = 1 << 20;

/// The largest number of pairs of DCell_1s whose link is cached, at 16 bytes each.
const MOST_CROSSINGS: usize = 1 << 16;

/// A path inside a DCell_1.
#[derive(Clone, Copy, Debug, Default)]
struct Path {
    links: [DirectedLink; LINKS],
    length: u8,
    /// Number of random draws that the search by link state takes, although there is no choice.
    draws: u8,
    kind: Kind,
}

/// The state of a path inside a DCell_1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// DCellRouting's path is not cached: a partial DCell_1 can have none, or a longer one.
    #[default]
    Unknown,
    /// DCellRouting's path is broken, and link state has no path, several paths or a longer one.
    Broken,
    /// All its links are cached and alive.
    Whole,
}

impl Path {
    /// Appends its links. Writes all links and truncates, because a branch on their number would be
    /// mispredicted.
    #[inline(always)]
    fn append(&self, links: &mut Vec<DirectedLink>) {
        let start = links.len();
        links.extend_from_slice(&self.links);
        links.truncate(start + usize::from(self.length));
    }
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

/// A path to the first server outside the DCell_1, or to a server inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The fields on which the decision on a packet depends.
    pub ahead: Ahead,
    /// Whether all of it is alive and its links are known.
    pub whole: bool,
    /// Number of random draws that a packet on it takes.
    pub draws: u32,
}

/// The paths from one server to all servers of one DCell_1: the same links as far as the DCell_1,
/// then the links of a row.
#[derive(Debug, Default)]
struct Bundle<'a> {
    /// The first server of the DCell_1, and the number of its servers.
    first: NodeId,
    servers: u32,
    before: [DirectedLink; LINKS + 1],
    before_length: usize,
    /// Empty where the links before the DCell_1 are not all alive and known.
    paths: &'a [Path],
}

impl Bundle<'_> {
    /// Whether a server is in the DCell_1.
    #[inline(always)]
    fn leads_to(&self, server: NodeId) -> bool {
        server.wrapping_sub(self.first) < self.servers
    }

    /// Appends the path to a server of the DCell_1 if it is alive and cached; returns whether it
    /// is.
    #[inline(always)]
    fn append(&self, to: NodeId, links: &mut Vec<DirectedLink>) -> bool {
        let Some(path) = self.paths.get(to.wrapping_sub(self.first) as usize) else {
            return false;
        };
        if path.kind != Kind::Whole {
            return false;
        }
        let start = links.len();
        links.extend_from_slice(&self.before);
        links.truncate(start + self.before_length);
        path.append(links);
        true
    }
}

/// The paths of many flows, one after another: those of one server to one DCell_1 share a bundle.
pub(super) struct Bundles<'a> {
    near: &'a NearPaths,
    shape: &'a Shape,
    failures: &'a Failures,
    source: NodeId,
    bundle: Bundle<'a>,
}

impl Bundles<'_> {
    /// Appends the path between two servers if it is alive and cached; returns whether it is.
    #[inline(always)]
    pub fn append(&mut self, [from, to]: [NodeId; 2], links: &mut Vec<DirectedLink>) -> bool {
        if from != self.source || !self.bundle.leads_to(to) {
            self.source = from;
            let bundle = self.near.bundle(self.shape, self.failures, [from, to]);
            self.bundle = bundle.unwrap_or_default();
        }
        self.bundle.append(to, links)
    }
}

/// The paths inside all DCell_1s with one set of failures; empty if they would take too much
/// memory.
#[derive(Debug)]
pub(super) struct NearPaths {
    /// Whether link state has a path around the failures.
    link_state: bool,
    /// By server, the first one of its DCell_1, and the DCell_1s before it.
    first: Vec<NodeId>,
    cell: Vec<u32>,
    cells: usize,
    /// Indexed by the two DCell_1s: the link that crosses from one towards the other, if it exists.
    /// Empty if it would take too much memory.
    crossings: Vec<Option<Crossing>>,
    rows: Vec<Row>,
}

impl NearPaths {
    /// The links between DCell_1s; no path is computed yet. Quadratic in the DCell_1s, up to a
    /// bound.
    pub fn new(shape: &Shape, failures: &Failures, link_state: bool) -> NearPaths {
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
            link_state: link_state && !failures.is_empty(),
            cell: cell.collect(),
            cells,
            crossings: (0..pairs)
                .map(|pair| crossing(shape, failures, firsts[pair / cells], firsts[pair % cells]))
                .collect(),
            first,
            rows: kept.map(|_| Row::default()).collect(),
        }
    }

    /// Appends the links of DCellRouting's path and returns whether it is alive. `None` if this
    /// table does not have the path; then discard the appended links.
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
            let path = self.inside(shape, failures, ends)?;
            path.append(links);
            return Some(path.kind == Kind::Whole);
        }
        let crossing = self.crossing(shape, failures, ends)?;
        let here = self.append(shape, failures, [from, crossing.near], links)?;
        links.push(crossing.link);
        let there = self.append(shape, failures, [crossing.far, to], links)?;
        Some(here && crossing.alive && there)
    }

    /// Appends the links of a packet's path from a server towards another, up to the first server
    /// outside its DCell_1 or to the end. `None` if this table does not have the path. Unless it is
    /// complete, discard the appended links.
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
        let path = self.inside(shape, failures, [from, to])?;
        path.append(links);
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
            whole: path.kind == Kind::Whole && out_alive,
            draws: path.draws.into(),
        })
    }

    /// Tables for a batch of flows, filled on demand.
    pub fn bundles<'a>(&'a self, shape: &'a Shape, failures: &'a Failures) -> Bundles<'a> {
        Bundles {
            near: self,
            shape,
            failures,
            source: NodeId::MAX,
            bundle: Bundle::default(),
        }
    }

    /// The paths from a server to all servers of another's DCell_1, if that is the same or the next
    /// one on the path, the server is alive and the paths are cached.
    #[inline(never)]
    fn bundle(&self, shape: &Shape, failures: &Failures, [from, to]: [NodeId; 2]) -> Option<Bundle<'_>> {
        let (here, first) = (*self.first.get(from as usize)?, *self.first.get(to as usize)?);
        if failures.node_failed(from) {
            return None;
        }
        if here == first {
            let paths = self.row(shape, failures, from)?;
            return Some(Bundle {
                first,
                servers: paths.len() as u32,
                paths,
                ..Bundle::default()
            });
        }
        let crossing = self.crossing(shape, failures, [from, to])?;
        if self.first[crossing.near as usize] != here || self.first[crossing.far as usize] != first {
            return None;
        }
        let path = self.inside(shape, failures, [from, crossing.near])?;
        let paths = self.row(shape, failures, crossing.far)?;
        let mut bundle = Bundle {
            first,
            servers: paths.len() as u32,
            ..Bundle::default()
        };
        if path.kind == Kind::Whole && crossing.alive {
            let inside = usize::from(path.length);
            bundle.before[..LINKS].copy_from_slice(&path.links);
            bundle.before[inside] = crossing.link;
            bundle.before_length = inside + 1;
            bundle.paths = paths;
        }
        Some(bundle)
    }

    /// The link between the largest DCells that contain only one of two servers.
    #[inline]
    fn crossing(&self, shape: &Shape, failures: &Failures, [from, to]: [NodeId; 2]) -> Option<Crossing> {
        if self.crossings.is_empty() {
            return crossing(shape, failures, from, to);
        }
        let (here, there) = (self.cell[from as usize], self.cell[to as usize]);
        self.crossings[here as usize * self.cells + there as usize]
    }

    /// The path between two servers of one DCell_1.
    #[inline(always)]
    fn inside(&self, shape: &Shape, failures: &Failures, [from, to]: [NodeId; 2]) -> Option<&Path> {
        let path = &self.row(shape, failures, from)?[(to - self.first[from as usize]) as usize];
        (path.kind != Kind::Unknown).then_some(path)
    }

    /// The paths from a server to all of its DCell_1, cached after enough requests.
    #[inline(always)]
    fn row(&self, shape: &Shape, failures: &Failures, from: NodeId) -> Option<&[Path]> {
        let row = &self.rows[from as usize];
        match row.paths.get() {
            Some(paths) => Some(paths),
            None if row.asked.fetch_add(1, Ordering::Relaxed) < WORTH_KEEPING => None,
            None => Some(
                row.paths
                    .get_or_init(|| paths_from(shape, failures, from, self.link_state)),
            ),
        }
    }
}

/// The link that DCellRouting takes between two servers of different DCell_1s; `None` if it does
/// not exist.
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

/// The paths from a server to all of its DCell_1, in the order of their ids. Linear in their hops,
/// and with link state in the DCell_1's links.
fn paths_from(shape: &Shape, failures: &Failures, from: NodeId, link_state: bool) -> Box<[Path]> {
    let (mut hops, mut links): (Vec<Hop>, Vec<DirectedLink>) = (Vec::new(), Vec::new());
    let mut view: Option<Group> = None;
    let path = |to| {
        hops.clear();
        links.clear();
        let mut path = Path::default();
        if !dcell_routing(shape, from, to, &mut hops) {
            return path;
        }
        if !failures.is_empty() && !shape.path_alive(from, &hops, failures) {
            path.kind = Kind::Broken;
            if !link_state {
                return path;
            }
            let view = view.get_or_insert_with(|| Group::indexed_around(shape, failures, from));
            hops.clear();
            if !view.only_path_to(to, &mut hops) {
                return path;
            }
            path.draws = hops.len() as u8;
        }
        shape.push_links(from, &hops, &mut links);
        if let Some(place) = path.links.get_mut(..links.len()) {
            place.copy_from_slice(&links);
            path.length = links.len() as u8;
            path.kind = Kind::Whole;
        }
        path
    };
    shape.ids_around(from, shape.k().min(1)).map(path).collect()
}
