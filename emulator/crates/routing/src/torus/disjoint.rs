//! The TCP/IP service: link-disjoint paths, used all at once. `[camcube §3.1, §7]`

use cubeyard_topology::address::TorusAddresses;
use cubeyard_topology::{NodeId, Topology};

use super::multipath::Multipath;
use super::shape::{Shape, Ties, nearer};
use crate::failures::Failures;
use crate::multipath::{MultipathRouter, PathSet};
use crate::path::{DirectedLink, NoPath, Router, ends_alive};

/// The link-disjoint paths between two different servers: one for each axis in which they differ,
/// the shorter way round (upwards where both are equal), and one for each way along the others.
/// None is more than two hops longer than the shortest, and with three or more servers along every
/// axis there are at least three.
///
/// A packet stays on the axis it arrived by while that comes nearer. Then the text has it take
/// another axis "deterministically": that must be the next one in cyclic order (x, y, z, x); with
/// the lowest axis first, paths share links.
pub fn disjoint_paths(shape: &Shape, source: NodeId, destination: NodeId, paths: &mut PathSet) {
    paths.clear();
    for (axis, up) in first_ways(shape, source, destination) {
        paths.push_with(|links| greedy(shape, source, destination, (axis, up), links));
    }
}

/// The ways (axis, up) by which the link-disjoint paths leave their source, one a path; none where
/// source and destination are one.
pub fn first_ways(
    torus: &TorusAddresses,
    source: NodeId,
    destination: NodeId,
) -> impl Iterator<Item = (usize, bool)> {
    let ways_along = move |axis: usize| {
        let size = torus.sizes()[axis];
        let ways = match nearer(torus, source, destination, axis, Ties::Up) {
            [false, false] => [size > 1, size > 2],
            nearer => nearer,
        };
        let used = ways.into_iter().zip([true, false]).filter(|(used, _)| *used);
        used.map(move |(_, up)| (axis, up))
    };
    (0..3).filter(move |_| source != destination).flat_map(ways_along)
}

/// The next hop of a packet on one of the link-disjoint paths: it reached `at`, which is not its
/// destination, from the neighbour `before` along `axis`. The arrival axis is tried first, then the
/// others in cyclic order, but never back to the neighbour that sent the packet, unless no other
/// hop exists (a ring of two).
pub fn next_way(
    torus: &TorusAddresses,
    at: NodeId,
    destination: NodeId,
    before: NodeId,
    axis: usize,
) -> (usize, bool) {
    let towards = |axis: usize| nearer(torus, at, destination, axis, Ties::Up);
    let way = (0..3).map(|turn| (axis + turn) % 3).find_map(|axis| {
        let nearer = towards(axis);
        let up = nearer[0];
        (nearer != [false, false] && torus.moved(at, axis, if up { 1 } else { -1 }) != before)
            .then_some((axis, up))
    });
    way.unwrap_or_else(|| (axis, towards(axis)[0]))
}

/// Follows one path from its first link to the end.
fn greedy(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    first: (usize, bool),
    links: &mut Vec<DirectedLink>,
) {
    let (mut axis, mut up) = first;
    let mut before = source;
    let (mut at, directed) = shape.step(source, axis, up);
    links.push(directed);
    while at != destination {
        (axis, up) = next_way(shape, at, destination, before, axis);
        let (next, directed) = shape.step(at, axis, up);
        links.push(directed);
        before = at;
        at = next;
    }
}

/// The link-disjoint paths as a scheme: [`Router::route`] gives a random live one. Where none lives
/// the routing service helps out.
#[derive(Debug)]
pub struct DisjointPaths {
    shape: Shape,
    service: Multipath,
    failures: Failures,
}

impl DisjointPaths {
    /// The TCP/IP service on a torus; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<DisjointPaths> {
        Some(DisjointPaths {
            shape: Shape::new(topology)?,
            service: Multipath::new(topology, failures.clone())?,
            failures,
        })
    }

    fn alive(&self, source: NodeId, path: &[DirectedLink]) -> bool {
        let ports = self.shape.degree();
        let mut at = source;
        path.iter().all(|&directed| {
            let next = (0..ports)
                .find(|&port| self.shape.ports().outward(at, port) == directed)
                .map_or(at, |port| self.shape.ports().far(at, port));
            at = next;
            self.shape.alive(next, directed, &self.failures)
        })
    }
}

impl Router for DisjointPaths {
    fn name(&self) -> &'static str {
        "torus-tcp"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        self.drawn(source, destination, flow, path)
    }

    fn multipath(&self) -> Option<&dyn MultipathRouter> {
        Some(self)
    }
}

impl MultipathRouter for DisjointPaths {
    fn good_paths(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        paths: &mut PathSet,
    ) -> Result<(), NoPath> {
        paths.clear();
        ends_alive(source, destination, &self.failures)?;
        if source == destination {
            paths.push(&[]);
            return Ok(());
        }
        if self.failures.is_empty() {
            disjoint_paths(&self.shape, source, destination, paths);
            return Ok(());
        }
        let mut all = PathSet::default();
        disjoint_paths(&self.shape, source, destination, &mut all);
        for path in all.iter().filter(|path| self.alive(source, path)) {
            paths.push(path);
        }
        if paths.is_empty() {
            let mut path = Vec::new();
            self.service.route(source, destination, flow, &mut path)?;
            paths.push(&path);
        }
        Ok(())
    }
}
