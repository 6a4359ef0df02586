//! Shortest paths on any network, by link state: the baseline for each family's own schemes.
//!
//! For every destination in use, a table holds each node's distance over live links. The tables are
//! made when first needed and take 2 bytes per node: for all-to-all 2 x servers x nodes bytes (14
//! MB for 2,048 servers of BCube, 128 MB for 8,000 of a torus). Above [`MAX_TABLE_BYTES`] no more
//! tables are cached, and each flow to a further destination computes its own, in time linear in
//! the network.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use cubeyard_topology::{NodeId, Topology};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, a_to_b, b_to_a, ends_alive};
use crate::random::Draws;

/// Memory that the distance tables of one router may take together, in bytes.
pub const MAX_TABLE_BYTES: usize = 1 << 30;

/// No way to the destination (or one of more steps than fit).
pub const UNREACHED: u16 = u16::MAX;

/// How a node picks among the next hops that lie on a shortest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one on the lowest link: the same path for every flow.
    First,
    /// Each as likely, drawn by flow and hop: equal-cost multipath.
    Equal,
    /// In proportion to the links' rates: weighted-cost multipath. `[subways §4.3]`
    ByRate,
}

/// One direction of a live link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub to: NodeId,
    pub directed: DirectedLink,
    /// Half a server hop to or from a switch, a whole one between servers that relay.
    pub cost: u8,
}

/// Shortest live paths, counted in hops between servers where servers forward (a switch between two
/// costs nothing), in links elsewhere.
#[derive(Debug)]
pub struct Shortest {
    choice: Choice,
    starts: Vec<u32>,
    halves: Vec<Half>,
    /// By link; empty unless the choice needs them.
    rates_bits_per_sec: Vec<f64>,
    server_count: u32,
    relays: bool,
    failures: Failures,
    tables: Vec<OnceLock<Vec<u16>>>,
    table_bytes: AtomicUsize,
}

impl Shortest {
    /// Shortest paths on any family.
    pub fn new(topology: &Topology, failures: Failures, choice: Choice) -> Shortest {
        let (starts, halves) = live_halves(topology, &failures);
        let links = topology.links();
        let rates_bits_per_sec = if choice == Choice::ByRate {
            (0..links.len())
                .map(|link| links.rate_bits_per_sec(link))
                .collect()
        } else {
            Vec::new()
        };
        Shortest {
            choice,
            starts,
            halves,
            rates_bits_per_sec,
            server_count: topology.server_count(),
            relays: topology.servers_relay(),
            failures,
            tables: (0..topology.server_count()).map(|_| OnceLock::new()).collect(),
            table_bytes: AtomicUsize::new(0),
        }
    }

    /// The live links of a node.
    pub(crate) fn row(&self, node: NodeId) -> &[Half] {
        &self.halves[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The distance of every node to `server` in half-hops: 2 from server to server, by a switch or
    /// a cable, and 1 for a link to or from a switch. If servers do not relay, 1 for each link.
    /// [`UNREACHED`] if there is no live path.
    pub fn half_hops(&self, server: NodeId) -> Vec<u16> {
        let mut distance = vec![UNREACHED; self.starts.len() - 1];
        if self.failures.node_failed(server) {
            return distance;
        }
        distance[server as usize] = 0;
        let (mut now, mut next, mut later) = (vec![server], Vec::new(), Vec::new());
        let mut at = 0u16;
        while (!now.is_empty() || !next.is_empty()) && at + 2 < UNREACHED {
            for &node in &now {
                let forwards = self.relays || node >= self.server_count || node == server;
                if distance[node as usize] != at || !forwards {
                    continue;
                }
                for half in self.row(node) {
                    let far = at + u16::from(half.cost);
                    if distance[half.to as usize] > far {
                        distance[half.to as usize] = far;
                        if half.cost == 1 { &mut next } else { &mut later }.push(half.to);
                    }
                }
            }
            now.clear();
            (now, next, later) = (next, later, now);
            at += 1;
        }
        distance
    }

    /// Whether a path to `destination` can enter `node`: servers that do not relay only end paths.
    pub(crate) fn forwards(&self, node: NodeId, destination: NodeId) -> bool {
        self.relays || node >= self.server_count || node == destination
    }

    /// Reads the distances of all nodes to a server, in half-hops.
    pub(crate) fn with_table<R>(&self, destination: NodeId, read: impl FnOnce(&[u16]) -> R) -> R {
        let slot = &self.tables[destination as usize];
        if let Some(table) = slot.get() {
            return read(table);
        }
        let bytes = (self.starts.len() - 1) * size_of::<u16>();
        if self.table_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_TABLE_BYTES {
            self.table_bytes.fetch_sub(bytes, Ordering::Relaxed);
            return read(&self.half_hops(destination));
        }
        read(slot.get_or_init(|| self.half_hops(destination)))
    }

    fn next_hop(&self, at: NodeId, distance: &[u16], draws: &mut Draws) -> Option<Half> {
        let here = distance[at as usize];
        let nearer = || {
            self.row(at)
                .iter()
                .filter(move |half| {
                    // A server that only ends paths has a distance, but nothing may pass it.
                    let passes =
                        self.relays || half.to >= self.server_count || distance[half.to as usize] == 0;
                    passes && distance[half.to as usize].saturating_add(u16::from(half.cost)) == here
                })
                .copied()
        };
        match self.choice {
            Choice::First => nearer().next(),
            Choice::Equal => {
                let count = nearer().count() as u32;
                nearer().nth(if count > 1 { draws.below(count) } else { 0 } as usize)
            }
            Choice::ByRate => {
                let rate = |half: &Half| self.rates_bits_per_sec[half.directed as usize / 2];
                let total: f64 = nearer().map(|half| rate(&half)).sum();
                let mut left = draws.unit() * total;
                nearer()
                    .find(|half| {
                        left -= rate(half);
                        left < 0.0
                    })
                    .or_else(|| nearer().last())
            }
        }
    }
}

/// Half-links that can carry something, by node in link order: the link and both its ends are
/// alive.
fn live_halves(topology: &Topology, failures: &Failures) -> (Vec<u32>, Vec<Half>) {
    let links = topology.links();
    let servers = topology.server_count();
    let live = |link: usize| failures.carries(links, link);
    let mut starts = vec![0u32; topology.node_count() as usize + 1];
    for link in (0..links.len()).filter(|&link| live(link)) {
        starts[links.a[link] as usize + 1] += 1;
        starts[links.b[link] as usize + 1] += 1;
    }
    for node in 1..starts.len() {
        starts[node] += starts[node - 1];
    }
    let mut next = starts.clone();
    let empty = Half {
        to: 0,
        directed: 0,
        cost: 0,
    };
    let mut halves = vec![empty; starts[starts.len() - 1] as usize];
    for link in (0..links.len()).filter(|&link| live(link)) {
        let (a, b) = (links.a[link], links.b[link]);
        // Where servers do not relay, links are counted.
        let direct = topology.servers_relay() && a < servers && b < servers;
        let cost = if direct { 2 } else { 1 };
        for (from, to, directed) in [(a, b, a_to_b(link as u32)), (b, a, b_to_a(link as u32))] {
            halves[next[from as usize] as usize] = Half { to, directed, cost };
            next[from as usize] += 1;
        }
    }
    (starts, halves)
}

impl Router for Shortest {
    fn name(&self) -> &'static str {
        match self.choice {
            Choice::First => "shortest",
            Choice::Equal => "ecmp",
            Choice::ByRate => "wcmp",
        }
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
        self.with_table(destination, |distance| {
            if distance[source as usize] == UNREACHED {
                return Err(NoPath::NotFound);
            }
            let mut draws = Draws::new(flow);
            let mut at = source;
            while at != destination {
                let Some(half) = self.next_hop(at, distance, &mut draws) else {
                    path.clear();
                    return Err(NoPath::NotFound);
                };
                path.push(half.directed);
                at = half.to;
            }
            Ok(())
        })
    }
}
