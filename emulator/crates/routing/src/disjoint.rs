//! The most paths between two servers that share no device between their ends, and among such sets,
//! the set with the least total length. BCube builds such paths from addresses [bcube §3.2]; this
//! search finds them in any network, with failures.
//!
//! A server with one cable shares its switch among all its paths: the paths then part at that
//! switch, and share no device between the two switches. Servers relay only in families whose
//! servers do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cubeyard_topology::{Csr, NodeId, Topology};

use crate::failures::Failures;
use crate::multipath::PathSet;
use crate::path::{DirectedLink, NoPath, a_to_b, b_to_a, ends_alive};

/// No link, or no previous state of a search.
const NONE: u32 = u32::MAX;

/// The paths, the shortest first, and paths of equal length in the order of their links.
///
/// Each path found costs one search: `O(paths * links * log nodes)`, at most as many paths as a
/// server has ports.
///
/// # Errors
/// An end that has failed, or no live path at all.
pub fn disjoint_paths(
    topology: &Topology,
    source: NodeId,
    destination: NodeId,
    failures: &Failures,
) -> Result<PathSet, NoPath> {
    ends_alive(source, destination, failures)?;
    let mut set = PathSet::default();
    if source == destination {
        set.push(&[]);
        return Ok(set);
    }
    let network = Live::new(topology, [source, destination], failures);
    let first = End::of(&network, source, destination);
    let last = End::of(&network, destination, source);
    let mut inner = if first.node == last.node {
        vec![Vec::new()]
    } else {
        let mut search = Search::new(&network, first.node, last.node);
        while search.augment() {}
        search.paths()
    };
    inner.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    for path in &inner {
        set.push_with(|links| {
            links.extend(first.stub);
            links.extend(path);
            links.extend(last.stub.map(|link| link ^ 1));
        });
    }
    if set.is_empty() {
        Err(NoPath::NotFound)
    } else {
        Ok(set)
    }
}

/// The live part of a network: live links, and nodes that relay.
struct Live<'a> {
    topology: &'a Topology,
    failures: &'a Failures,
    adjacency: Csr,
    ends: [NodeId; 2],
}

impl<'a> Live<'a> {
    fn new(topology: &'a Topology, ends: [NodeId; 2], failures: &'a Failures) -> Live<'a> {
        let adjacency = topology.adjacency();
        Live {
            topology,
            failures,
            adjacency,
            ends,
        }
    }

    /// The live half-links of a node: neighbour and direction towards it.
    fn out(&self, node: NodeId) -> impl Iterator<Item = (NodeId, DirectedLink)> + '_ {
        let links = self.topology.links();
        self.adjacency
            .row(node)
            .filter(|&(far, link)| self.enters(far) && self.failures.carries(links, link as usize))
            .map(move |(far, link)| {
                let direction = if links.a[link as usize] == node {
                    a_to_b(link)
                } else {
                    b_to_a(link)
                };
                (far, direction)
            })
    }

    fn enters(&self, node: NodeId) -> bool {
        !self.topology.is_server(node) || self.topology.servers_relay() || self.ends.contains(&node)
    }
}

/// The node at which the paths of one end separate: the server, or the switch on its only cable.
struct End {
    node: NodeId,
    /// From the server to that switch.
    stub: Option<DirectedLink>,
}

impl End {
    /// Failures do not change where paths part: a server of several ports that has one left has one
    /// path.
    fn of(network: &Live, server: NodeId, other: NodeId) -> End {
        let planned = network.adjacency.row(server).len();
        match network.out(server).next() {
            Some((switch, link)) if planned == 1 && switch != other => End {
                node: switch,
                stub: Some(link),
            },
            _ => End {
                node: server,
                stub: None,
            },
        }
    }
}

/// Successive shortest paths in a network where each node between the ends is passed once
/// (Suurballe's method).
///
/// A node has two states: `2 v`, entered, and `2 v + 1`, about to be left. On a path found before,
/// a node that is entered can only go back over that path, which removes a link of that path.
struct Search<'a> {
    network: &'a Live<'a>,
    first: NodeId,
    last: NodeId,
    /// By node on a path: the direction by which the path enters it. For the last node unused.
    entered_by: Vec<u32>,
    /// By direction: whether a path uses it.
    taken: Vec<bool>,
    /// Johnson's potentials, by state: they keep the costs of going back at 0 or above.
    potential: Vec<u32>,
    distance: Vec<u32>,
    /// By state: the state before and the direction in between, [`NONE`] inside a node.
    before: Vec<(u32, u32)>,
}

impl<'a> Search<'a> {
    fn new(network: &'a Live<'a>, first: NodeId, last: NodeId) -> Search<'a> {
        let nodes = network.topology.node_count() as usize;
        Search {
            network,
            first,
            last,
            entered_by: vec![NONE; nodes],
            taken: vec![false; 2 * network.topology.links().len()],
            potential: vec![0; 2 * nodes],
            distance: vec![NONE; 2 * nodes],
            before: vec![(NONE, NONE); 2 * nodes],
        }
    }

    /// Adds one path to the set, changing earlier paths if that makes the total shorter; returns
    /// whether there was one.
    fn augment(&mut self) -> bool {
        self.measure();
        let end = 2 * self.last;
        let reached = self.distance[end as usize];
        if reached == NONE {
            return false;
        }
        // Nodes farther than the end get the end's distance, so that their reduced costs stay at 0
        // or above.
        for (potential, &distance) in self.potential.iter_mut().zip(&self.distance) {
            *potential += distance.min(reached);
        }
        let mut state = end;
        while state != 2 * self.first + 1 {
            let (before, direction) = self.before[state as usize];
            if direction != NONE {
                self.take(direction, before, state);
            }
            state = before;
        }
        true
    }

    /// Uses a direction of a link, or releases the opposite one.
    fn take(&mut self, direction: DirectedLink, before: u32, state: u32) {
        let back = (direction ^ 1) as usize;
        if self.taken[back] {
            self.taken[back] = false;
            // The path entered this node by the reversed link, unless it continues by another link
            // that was taken already.
            let node = (before / 2) as usize;
            if self.entered_by[node] == direction ^ 1 {
                self.entered_by[node] = NONE;
            }
        } else {
            self.taken[direction as usize] = true;
            self.entered_by[(state / 2) as usize] = direction;
        }
    }

    /// Dijkstra over reduced costs from the first node.
    fn measure(&mut self) {
        self.distance.fill(NONE);
        let start = 2 * self.first + 1;
        self.distance[start as usize] = 0;
        let mut queue = BinaryHeap::from([Reverse((0u32, start))]);
        while let Some(Reverse((distance, state))) = queue.pop() {
            if distance > self.distance[state as usize] {
                continue;
            }
            if state == 2 * self.last {
                return; // nodes still in the queue are no nearer
            }
            self.steps(state, distance, &mut queue);
        }
    }

    fn steps(&mut self, state: u32, distance: u32, queue: &mut BinaryHeap<Reverse<(u32, u32)>>) {
        let node = state / 2;
        let entered_by = self.entered_by[node as usize];
        if state.is_multiple_of(2) {
            if entered_by == NONE {
                self.reach(state, distance, 2 * node + 1, NONE, 0, queue);
            } else {
                // Back over the path that enters here: it no longer uses that link.
                let links = self.network.topology.links();
                let link = (entered_by / 2) as usize;
                let previous = if entered_by.is_multiple_of(2) {
                    links.a[link]
                } else {
                    links.b[link]
                };
                self.reach(state, distance, 2 * previous + 1, entered_by ^ 1, -1, queue);
            }
            return;
        }
        let network = self.network;
        for (far, direction) in network.out(node) {
            if far != self.first && !self.taken[direction as usize] && !self.taken[(direction ^ 1) as usize] {
                self.reach(state, distance, 2 * far, direction, 1, queue);
            }
        }
        if entered_by != NONE && node != self.first {
            // A node whose link out was released may release its link in too.
            self.reach(state, distance, 2 * node, NONE, 0, queue);
        }
    }

    fn reach(
        &mut self,
        from: u32,
        distance: u32,
        to: u32,
        direction: u32,
        cost: i64,
        queue: &mut BinaryHeap<Reverse<(u32, u32)>>,
    ) {
        let reduced =
            cost + i64::from(self.potential[from as usize]) - i64::from(self.potential[to as usize]);
        debug_assert!(reduced >= 0, "potentials keep costs at 0 or above");
        let reached = distance + reduced as u32;
        if reached < self.distance[to as usize] {
            self.distance[to as usize] = reached;
            self.before[to as usize] = (from, direction);
            queue.push(Reverse((reached, to)));
        }
    }

    /// The paths between the ends, by the directions taken.
    fn paths(&self) -> Vec<Vec<DirectedLink>> {
        let network = self.network;
        let next = |node: NodeId| {
            network
                .out(node)
                .filter(|&(_, direction)| self.taken[direction as usize])
        };
        next(self.first)
            .map(|(mut node, direction)| {
                let mut path = vec![direction];
                while node != self.last {
                    let Some((far, direction)) = next(node).next() else {
                        break;
                    };
                    path.push(direction);
                    node = far;
                }
                path
            })
            .collect()
    }
}
