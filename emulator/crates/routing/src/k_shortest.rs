//! The k shortest paths of any network, by link state: the scheme with which Jellyfish uses paths
//! that are slightly longer than the shortest. `[jellyfish §5]`
//!
//! Only paths that visit no node twice, ordered by length, then by link numbers. All links have
//! equal cost, so Yen's algorithm is not needed: for each length, shortest first, a depth-first
//! search visits only nodes from which the destination can be reached with the remaining links, by
//! their distance to it. Each flow draws one of the first k paths.

use cubeyard_topology::{NodeId, Topology};

use crate::failures::Failures;
use crate::multipath::{MultipathRouter, PathSet};
use crate::path::{DirectedLink, NoPath, Router, ends_alive};
use crate::shortest::{Choice, Shortest, UNREACHED};

/// The most links that a search tries; then it returns the paths that it has.
const STEPS_AT_MOST: u32 = 200_000;

/// One of the k shortest live paths.
#[derive(Debug)]
pub struct KShortest {
    name: &'static str,
    k: usize,
    network: Shortest,
    failures: Failures,
}

impl KShortest {
    /// The `k` shortest paths, at least one, under the scheme's name.
    pub fn new(topology: &Topology, failures: Failures, name: &'static str, k: usize) -> KShortest {
        KShortest {
            name,
            k: k.max(1),
            network: Shortest::new(topology, failures.clone(), Choice::First),
            failures,
        }
    }
}

/// A search for the paths of one flow.
struct Search<'a> {
    network: &'a Shortest,
    /// Half-hops from every node to the destination.
    distance: &'a [u16],
    destination: NodeId,
    k: usize,
    steps: u32,
    nodes: Vec<NodeId>,
    links: Vec<DirectedLink>,
}

impl Search<'_> {
    /// Adds the paths from `at` of exactly `left` half-hops.
    fn walk(&mut self, at: NodeId, left: u16, paths: &mut PathSet) {
        if at == self.destination {
            if left == 0 {
                paths.push(&self.links);
            }
            return;
        }
        for half in self.network.row(at) {
            if paths.len() == self.k || self.steps == 0 {
                return;
            }
            self.steps -= 1;
            let (to, cost) = (half.to, u16::from(half.cost));
            let reaches = cost <= left && self.distance[to as usize] <= left - cost;
            if reaches && self.network.forwards(to, self.destination) && !self.nodes.contains(&to) {
                self.nodes.push(to);
                self.links.push(half.directed);
                self.walk(to, left - cost, paths);
                self.nodes.pop();
                self.links.pop();
            }
        }
    }
}

impl Router for KShortest {
    fn name(&self) -> &'static str {
        self.name
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

impl MultipathRouter for KShortest {
    fn good_paths(
        &self,
        source: NodeId,
        destination: NodeId,
        _flow: u64,
        paths: &mut PathSet,
    ) -> Result<(), NoPath> {
        paths.clear();
        ends_alive(source, destination, &self.failures)?;
        if source == destination {
            paths.push(&[]);
            return Ok(());
        }
        self.network.with_table(destination, |distance| {
            let least = distance[source as usize];
            if least == UNREACHED {
                return Err(NoPath::NotFound);
            }
            let mut search = Search {
                network: &self.network,
                distance,
                destination,
                k: self.k,
                steps: STEPS_AT_MOST,
                nodes: vec![source],
                links: Vec::new(),
            };
            // A path without repeated nodes has at most two half-hops per node.
            let longest = (2 * distance.len()).min(usize::from(UNREACHED) - 1) as u16;
            for length in least..=longest.max(least) {
                search.walk(source, length, paths);
                if paths.len() >= self.k || search.steps == 0 {
                    break;
                }
            }
            Ok(())
        })
    }
}
