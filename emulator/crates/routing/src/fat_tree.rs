//! Fat-tree routing: up to a common ancestor, down to the server. `[bcube §6]`
//!
//! Every flow takes a random one of its shortest up-paths, which is what two-level routing tables
//! spread over a whole all-to-all; where that one is broken the flow is re-distributed to an available
//! one, each as likely.

use cubeyard_topology::{FatTreeSpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, alone, ends_alive, link_of};
use crate::ports::{NO_LINK, PortTable};
use crate::random::Draws;

/// Random draws before all choices are listed: with at most a fifth of the switches gone, far more
/// than enough for all but flows with next to no path.
const DRAWS: u32 = 24;

/// Most layers of switches a fat-tree can have.
const LAYERS: usize = 16;

/// Random shortest up-paths, re-distributed on failure.
#[derive(Debug)]
pub struct FatTreeRouting {
    /// Links up of a switch, and down but for the top layer.
    half: u32,
    climbs: Climbs,
    /// The way up of every server by its number, then those of every switch, `half` each.
    ways: Vec<Way>,
    failures: Failures,
}

/// A port upwards.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// Where the ways of the switch above begin.
    next: u32,
    /// The direction upwards; [`NO_LINK`] where there is no cable, or it or the switch above has failed.
    link: DirectedLink,
}

/// How high flows climb, without a division.
#[derive(Debug)]
struct Climbs {
    /// By server, its digits to the base of `half`, in equally many bits each.
    digits: Vec<u64>,
    /// By bit of `digits`, the layers above the edge that a flow climbs whose ends differ there, and nowhere higher.
    by_bit: [u8; 64],
}

impl Climbs {
    fn new(servers: u32, half: u32, layers: u32) -> Climbs {
        // Of so many bits the digits fit: there are as many as the last server needs, which has 32 bits.
        let bits = half.next_power_of_two().trailing_zeros().max(1);
        let pack = |server: u32| {
            let (mut rest, mut packed, mut shift) = (server, 0, 0);
            while rest > 0 {
                let (above, digit) = if half > 1 {
                    (rest / half, rest % half)
                } else {
                    (0, rest)
                };
                packed |= u64::from(digit) << shift;
                (rest, shift) = (above, shift + bits);
            }
            packed
        };
        Climbs {
            digits: (0..servers).map(pack).collect(),
            // A switch with one port down has one server: of two any path crosses the top.
            by_bit: std::array::from_fn(|bit| {
                let layer = if half > 1 { bit as u32 / bits } else { layers };
                layer.min(layers - 1) as u8
            }),
        }
    }

    /// The layers above the edge to the least at which one switch has both servers below it.
    #[inline]
    fn between(&self, source: NodeId, destination: NodeId) -> usize {
        let differing = self.digits[source as usize] ^ self.digits[destination as usize];
        usize::from(self.by_bit[(differing | 1).ilog2() as usize])
    }
}

impl FatTreeRouting {
    /// Fat-tree routing; `None` for other families. Linear in links.
    pub fn new(topology: &Topology, failures: Failures) -> Option<FatTreeRouting> {
        let TopologySpec::FatTree(FatTreeSpec { ports, layers, .. }) = *topology.spec() else {
            return None;
        };
        let (half, servers) = (ports / 2, topology.server_count());
        let table = PortTable::new(topology);
        let tops = topology.tiers().last()?.first;
        let begin = |node: NodeId| {
            if node < servers {
                node
            } else {
                servers + (node - servers) * half
            }
        };
        let way = |node: NodeId, port: u32| {
            let directed = table.outward(node, port);
            let far = table.far(node, port);
            let alive =
                directed != NO_LINK && !failures.node_failed(far) && !failures.link_failed(link_of(directed));
            Way {
                next: if directed == NO_LINK { 0 } else { begin(far) },
                link: if alive { directed } else { NO_LINK },
            }
        };
        let switches = (servers..tops).flat_map(|node| (half..ports).map(move |port| (node, port)));
        let ways = (0..servers).map(|server| (server, 0)).chain(switches);
        Some(FatTreeRouting {
            half,
            climbs: Climbs::new(servers, half, layers),
            ways: ways.map(|(node, port)| way(node, port)).collect(),
            failures,
        })
    }

    /// Writes the path whose turn upwards at layer `j` is `turn(j)`, both sides at once: the way down
    /// is the destination's own way up by the same turns, reversed. Whether it is alive.
    #[inline(always)]
    fn walk(
        &self,
        ends: [NodeId; 2],
        climb: usize,
        path: &mut [DirectedLink],
        mut turn: impl FnMut() -> u32,
    ) -> bool {
        let last = path.len() - 1;
        let [mut up, mut down] = ends;
        for layer in 0..=climb {
            let (first, second) = (self.ways[up as usize], self.ways[down as usize]);
            if first.link == NO_LINK || second.link == NO_LINK {
                return false;
            }
            path[layer] = first.link;
            path[last - layer] = second.link ^ 1;
            (up, down) = (first.next, second.next);
            if layer < climb {
                let turn = turn();
                (up, down) = (up + turn, down + turn);
            }
        }
        up == down
    }

    /// Chooses among all live paths, each as likely, by listing them: both sides of a dead turn are
    /// skipped at once. Whether there is any.
    fn choose_listed(
        &self,
        ends: [NodeId; 2],
        climb: usize,
        path: &mut [DirectedLink],
        draws: &mut Draws,
    ) -> bool {
        let [Some(up), Some(down)] = ends.map(|end| self.way(end)) else {
            return false;
        };
        let last = path.len() - 1;
        let mut trail = [[0; 2]; LAYERS + 1];
        trail[0] = [up.link, down.link ^ 1];
        // Where each layer's search stands: the switches of both sides, and the turn to try next.
        let mut stack = [(up.next, down.next, 0); LAYERS + 1];
        let (mut layer, mut found) = (0, 0u32);
        loop {
            let (up, down, turn) = stack[layer];
            let over = layer == climb || turn == self.half;
            if layer == climb {
                found += 1;
                // Reservoir of one: the i-th path replaces the choice with probability 1/i.
                if draws.below(found) == 0 {
                    for (i, &[forth, back]) in trail[..=climb].iter().enumerate() {
                        (path[i], path[last - i]) = (forth, back);
                    }
                }
            }
            if over {
                if layer == 0 {
                    return found > 0;
                }
                layer -= 1;
                continue;
            }
            stack[layer].2 += 1;
            if let [Some(above), Some(beyond)] = [up, down].map(|first| self.way(first + turn)) {
                layer += 1;
                trail[layer] = [above.link, beyond.link ^ 1];
                stack[layer] = (above.next, beyond.next, 0);
            }
        }
    }

    /// A way up that is alive.
    fn way(&self, at: u32) -> Option<Way> {
        Some(self.ways[at as usize]).filter(|way| way.link != NO_LINK)
    }

    /// Appends the flow's path; what it appended is void where there is none.
    #[inline]
    fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        links: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if !self.failures.is_empty() {
            ends_alive(source, destination, &self.failures)?;
        }
        if source == destination {
            return Ok(());
        }
        // Without the only way up there is nothing to draw.
        if self.way(source).is_none() || self.way(destination).is_none() {
            return Err(NoPath::NotFound);
        }
        let climb = self.climbs.between(source, destination);
        let start = links.len();
        links.resize(start + 2 * climb + 2, 0);
        let path = &mut links[start..];
        let mut draws = Draws::new(flow);
        let ends = [source, destination];
        for _ in 0..DRAWS {
            if self.walk(ends, climb, path, || draws.below(self.half)) {
                return Ok(());
            }
            if climb == 0 {
                return Err(NoPath::NotFound);
            }
        }
        if self.choose_listed(ends, climb, path, &mut draws) {
            return Ok(());
        }
        Err(NoPath::NotFound)
    }
}

impl Router for FatTreeRouting {
    fn name(&self) -> &'static str {
        "fat-tree"
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
