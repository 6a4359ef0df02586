//! Fat-tree routing: up to a common ancestor, down to the server. `[bcube §6]`
//!
//! Every flow takes a random one of its shortest up-paths, which matches how two-level routing
//! tables spread an all-to-all. If that path is broken, the flow takes a random live one.
//!
//! The turns on the upward path define the whole path: the downward path is the destination's
//! upward path by the same turns, reversed. All choices of turns are numbered: the turn at layer
//! `j` is digit `j` of the number in base `m` (half the ports). The number of a directed link is
//! the sum of a term for its edge switch and a term for the turns. The live choices are stored for
//! each edge switch, so writing a path needs no check for failures.

use cubeyard_topology::{FatTreeSpec, Links, NodeId, Topology, TopologySpec};

use crate::failures::{BitSet, Failures};
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, a_to_b, alone, b_to_a, ends_alive, link_of};
use crate::random::{Draws, mix};

/// Number of choices of turns that are drawn and tested together: mostly one of them is alive,
/// which avoids an unpredictable branch.
const CANDIDATES: usize = 4;

/// Random draws before all choices are listed: with at most a fifth of the switches failed, they
/// suffice for all flows except those with almost no paths.
const DRAWS: u32 = 6;

/// The most choices that have masks, so that [`CANDIDATES`] of them take less than a draw's 64
/// bits.
const MOST_CHOICES: u32 = 1 << 12;

/// The most words that masks take, 1 MiB.
const MOST_WORDS: usize = 1 << 17;

/// Climbed layers for which a row has space: in fat-trees of up to five layers, and in all.
const FEW: usize = 4;
const MOST: usize = 16;

/// Flows whose turns are drawn before their paths are written.
const BLOCK: usize = 64;

/// Random shortest up-paths, re-distributed on failure.
#[derive(Debug)]
pub struct FatTreeRouting {
    /// Indexed by server.
    seats: Vec<Seat>,
    climbs: Climbs,
    /// By layers that a flow climbs.
    levels: Vec<Level>,
    /// For each edge switch: its terms in the numbers of directed links, by layer upwards, then
    /// downwards in reverse order, then padding for reads past the end: [`FEW`] numbers each, or
    /// [`MOST`].
    by_edge: Vec<DirectedLink>,
    /// The same by choice of turns.
    by_turns: Vec<DirectedLink>,
    alive: Alive,
    failures: Failures,
}

/// The position of a server.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// Its digits to the base of half the ports, in equally many bits each.
    digits: u64,
    /// Its edge switch; [`NO_EDGE`] where the server, its link or that switch has failed.
    edge: u32,
}

/// Instead of an edge switch: there is none.
const NO_EDGE: u32 = u32::MAX;

/// The height that flows climb, without a division: for each bit of the digits, the layers above
/// the edge that a flow climbs if this is the highest bit in which its ends differ.
#[derive(Debug)]
struct Climbs([u8; 64]);

/// The flows that climb the same number of layers.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Number of choices of turns.
    choices: u32,
    /// The start of the masks, and the number of words of each.
    first: usize,
    words: usize,
}

/// The upward paths that are alive.
#[derive(Debug)]
enum Alive {
    /// Nothing has failed, so all choices are alive.
    All,
    /// For each level and edge switch, a bit for each choice of turns, set if the upward path is
    /// alive.
    Masks(Vec<u64>),
    /// Masks would be too large; instead, the live links.
    Links(BitSet),
}

/// The data from which a path is written.
#[derive(Clone, Copy, Debug, Default)]
struct Drawn {
    edges: [u32; 2],
    turns: u32,
    climb: u32,
    /// Number of its links; 0 if it has no path.
    length: u32,
}

/// Bits of a digit. All digits of a server fit 64 bits: there are as many as the last server needs,
/// which has 32.
fn digit_bits(half: u32) -> u32 {
    half.next_power_of_two().trailing_zeros().max(1)
}

/// A server's digits, packed.
fn pack(server: u32, half: u32) -> u64 {
    let (mut rest, mut packed, mut shift) = (server, 0, 0);
    while rest > 0 {
        let (above, digit) = if half > 1 {
            (rest / half, rest % half)
        } else {
            (0, rest)
        };
        packed |= u64::from(digit) << shift;
        (rest, shift) = (above, shift + digit_bits(half));
    }
    packed
}

impl Climbs {
    fn new(half: u32, layers: u32) -> Climbs {
        // With one port down, every edge switch has one server, so any path between two servers
        // crosses the top.
        Climbs(std::array::from_fn(|bit| {
            let layer = if half > 1 {
                bit as u32 / digit_bits(half)
            } else {
                layers
            };
            layer.min(layers - 1) as u8
        }))
    }

    /// The number of layers above the edge up to the lowest layer at which a switch has both
    /// servers below it.
    #[inline]
    fn between(&self, source: Seat, destination: Seat) -> usize {
        let differing = source.digits ^ destination.digits;
        usize::from(self.0[(differing | 1).ilog2() as usize])
    }
}

impl Level {
    /// The levels of a fat-tree, by layers climbed.
    fn all(edge_switches: u32, half: u32, layers: u32) -> Vec<Level> {
        let mut first = 0;
        let level = |climb| {
            let choices = half.pow(climb);
            let words = choices.div_ceil(u64::BITS) as usize;
            let level = Level {
                choices,
                first,
                words,
            };
            first += words * edge_switches as usize;
            level
        };
        (0..layers).map(level).collect()
    }

    /// Whether a choice of turns is alive from two edge switches, as a bit.
    #[inline(always)]
    fn alive(&self, masks: &[u64], edges: [u32; 2], turns: u32) -> u64 {
        let [one, other] = edges.map(|edge| &masks[self.word(edge, 0)..][..self.words]);
        let word = (turns / u64::BITS) as usize;
        (one[word] & other[word]) >> (turns % u64::BITS) & 1
    }

    #[inline(always)]
    fn word(&self, edge: u32, turns: u32) -> usize {
        self.first + edge as usize * self.words + (turns / u64::BITS) as usize
    }
}

impl FatTreeRouting {
    /// Fat-tree routing; `None` for other families. Linear in links; with failures also in the bits
    /// of the masks, at most eight million.
    pub fn new(topology: &Topology, failures: Failures) -> Option<FatTreeRouting> {
        let TopologySpec::FatTree(FatTreeSpec { ports, layers, .. }) = *topology.spec() else {
            return None;
        };
        let (half, servers) = (ports / 2, topology.server_count());
        let (links, tiers) = (topology.links(), topology.tiers());
        let (climbed, edge_switches) = (layers as usize - 1, tiers.first()?.count);
        let seat = |server: u32| {
            // A server's link has its number.
            let alive = failures.carries(links, server as usize);
            Seat {
                digits: pack(server, half),
                edge: if alive {
                    links.b[server as usize] - servers
                } else {
                    NO_EDGE
                },
            }
        };
        // Links up are in the order of the switches below them and of the turns. The switch at
        // layer `j` has the digits of the edge switch from `j` on, and below them the turns so far.
        let mut next = servers;
        let mut first_links = Vec::with_capacity(climbed);
        for tier in &tiers[..climbed] {
            first_links.push(next);
            next += tier.count * half;
        }
        let row = if climbed > FEW { MOST } else { FEW };
        let by_edge = rows(edge_switches, row, climbed, |edge, layer| {
            let below = half.pow(layer as u32);
            let link = first_links[layer] + edge / below * below * half;
            [a_to_b(link), b_to_a(link)]
        });
        let by_turns = rows(half.pow(layers - 1), row, climbed, |turns, layer| {
            let below = half.pow(layer as u32);
            [a_to_b(turns % below * half + turns / below % half); 2]
        });
        let mut routing = FatTreeRouting {
            seats: (0..servers).map(seat).collect(),
            climbs: Climbs::new(half, layers),
            levels: Level::all(edge_switches, half, layers),
            by_edge,
            by_turns,
            alive: Alive::All,
            failures,
        };
        routing.alive = routing.what_is_alive(links, edge_switches);
        Some(routing)
    }

    /// The live upward paths from every edge switch.
    fn what_is_alive(&self, links: &Links, edge_switches: u32) -> Alive {
        if self.failures.is_empty() {
            return Alive::All;
        }
        let mut carrying = BitSet::new(links.len());
        for link in (0..links.len()).filter(|&link| self.failures.carries(links, link)) {
            carrying.insert(link as u32);
        }
        let words = self.levels.iter().map(|level| level.words).sum::<usize>() * edge_switches as usize;
        if self.levels.iter().any(|level| level.choices > MOST_CHOICES) || words > MOST_WORDS {
            return Alive::Links(carrying);
        }
        let mut masks = vec![0; words];
        masks[..edge_switches as usize].fill(1);
        for (layer, levels) in self.levels.windows(2).enumerate() {
            let [lower, level] = [levels[0], levels[1]];
            for edge in 0..edge_switches {
                for turns in 0..level.choices {
                    let below = lower.alive(&masks, [edge; 2], turns % lower.choices);
                    let alive = below & u64::from(carrying.contains(self.link_up(edge, turns, layer)));
                    masks[level.word(edge, turns)] |= alive << (turns % u64::BITS);
                }
            }
        }
        Alive::Masks(masks)
    }

    /// Numbers in a row of `by_edge` and `by_turns`, including padding for reads past its end.
    fn row(&self) -> usize {
        3 * if self.levels.len() - 1 > FEW { MOST } else { FEW }
    }

    /// The link that leads upwards at a layer.
    fn link_up(&self, edge: u32, turns: u32, layer: usize) -> u32 {
        let at = |number: u32| number as usize * self.row() + layer;
        link_of(self.by_edge[at(edge)] + self.by_turns[at(turns)])
    }

    /// Routes flows one after the other to `room`, which has [`FatTreeRouting::room`]; the links of
    /// all paths. `dropped` and `ends` get theirs.
    fn all(
        &self,
        flows: &[Flow],
        room: &mut [DirectedLink],
        dropped: &mut Vec<(u32, NoPath)>,
        ends: &mut Vec<u32>,
    ) -> usize {
        let mut end = 0;
        let mut drawn = [Drawn::default(); BLOCK];
        for (block, flows) in (0..).step_by(BLOCK).zip(flows.chunks(BLOCK)) {
            let drawn = &mut drawn[..flows.len()];
            let mut drop = |place: usize, why| dropped.push((block + place as u32, why));
            match &self.alive {
                Alive::All => self.draw_all::<1>(flows, drawn, |_, _, _| 1, &mut drop),
                Alive::Masks(masks) => {
                    let alive = |edges, climb: usize, turns| self.levels[climb].alive(masks, edges, turns);
                    self.draw_all::<CANDIDATES>(flows, drawn, alive, &mut drop);
                }
                Alive::Links(carrying) => {
                    let alive = |edges: [u32; 2], climb, turns| {
                        let up =
                            |layer| edges.map(|edge| carrying.contains(self.link_up(edge, turns, layer)));
                        u64::from((0..climb).all(|layer| up(layer) == [true; 2]))
                    };
                    self.draw_all::<1>(flows, drawn, alive, &mut drop);
                }
            }
            let flows = flows.iter().zip(drawn);
            if self.row() == 3 * FEW {
                self.write_all::<FEW, { 3 * FEW }, { 3 * FEW + 2 }>(flows, room, &mut end, ends);
            } else {
                self.write_all::<MOST, { 3 * MOST }, { 3 * MOST + 2 }>(flows, room, &mut end, ends);
            }
        }
        end
    }

    /// Draws the turns of each flow among `N` candidates at a time.
    #[inline(always)]
    fn draw_all<const N: usize>(
        &self,
        flows: &[Flow],
        drawn: &mut [Drawn],
        alive: impl Fn([u32; 2], usize, u32) -> u64,
        drop: &mut impl FnMut(usize, NoPath),
    ) {
        for (place, (flow, drawn)) in flows.iter().zip(drawn).enumerate() {
            *drawn = self.draw::<N>(flow, &alive).unwrap_or_else(|why| {
                drop(place, why);
                Drawn::default()
            });
        }
    }

    #[inline(always)]
    fn draw<const N: usize>(
        &self,
        flow: &Flow,
        alive: &impl Fn([u32; 2], usize, u32) -> u64,
    ) -> Result<Drawn, NoPath> {
        let [source, destination] = [flow.source, flow.destination].map(|end| self.seats[end as usize]);
        let edges = [source.edge, destination.edge];
        if edges[0] == NO_EDGE || edges[1] == NO_EDGE || flow.source == flow.destination {
            return self.trivial(flow);
        }
        let climb = self.climbs.between(source, destination);
        let (choices, alive) = (self.levels[climb].choices, |turns| alive(edges, climb, turns));
        let turns = match draw::<N>(choices, &alive, mix(flow.seed)) {
            Some(turns) => turns,
            None => draw_again::<N>(choices, &alive, flow.seed).ok_or(NoPath::NotFound)?,
        };
        Ok(Drawn {
            edges,
            turns,
            climb: climb as u32,
            length: 2 * climb as u32 + 2,
        })
    }

    /// The reason why a flow has no path or needs none.
    #[cold]
    fn trivial(&self, flow: &Flow) -> Result<Drawn, NoPath> {
        ends_alive(flow.source, flow.destination, &self.failures)?;
        if flow.source == flow.destination {
            Ok(Drawn::default())
        } else {
            Err(NoPath::NotFound)
        }
    }

    /// Writes the paths of flows. A row has `ROW` numbers for upward links and `3 ROW` numbers in
    /// all; each path takes `ROOM` numbers, including the padding written after it.
    #[inline(always)]
    fn write_all<'a, const ROW: usize, const ALL: usize, const ROOM: usize>(
        &self,
        flows: impl Iterator<Item = (&'a Flow, &'a mut Drawn)>,
        room: &mut [DirectedLink],
        end: &mut usize,
        ends: &mut Vec<u32>,
    ) {
        let (by_edge, by_turns) = (
            self.by_edge.as_chunks::<ALL>().0,
            self.by_turns.as_chunks::<ALL>().0,
        );
        ends.extend(flows.map(|(flow, drawn)| {
            let [up, down] = drawn.edges.map(|edge| &by_edge[edge as usize]);
            let turns = &by_turns[drawn.turns as usize];
            let climb = (drawn.climb as usize).min(ROW);
            let path: &mut [DirectedLink] = &mut room[*end..][..ROOM];
            path[0] = a_to_b(flow.source);
            // Writes whole rows; the numbers past the climb are overwritten later.
            for layer in 0..ROW {
                path[1 + layer] = up[layer] + turns[layer];
            }
            for layer in 0..ROW {
                let at = 2 * ROW - climb + layer;
                path[1 + climb + layer] = down[at] + turns[at];
            }
            path[1 + 2 * climb] = b_to_a(flow.destination);
            *end += drawn.length as usize;
            *end as u32
        }));
    }

    /// The most numbers that the paths of `flows` flows take, with the padding after the last.
    fn room(&self, flows: usize) -> usize {
        2 * self.levels.len() * flows + self.row() + 2
    }
}

/// Draws one of `choices` from 64 random bits, and returns the remaining bits for another draw.
#[inline(always)]
fn split(chance: u64, choices: u32) -> (u32, u64) {
    let product = u128::from(chance) * u128::from(choices);
    ((product >> 64) as u32, product as u64)
}

/// The first live choice among `N` choices drawn from 64 random bits.
#[inline(always)]
fn draw<const N: usize>(choices: u32, alive: &impl Fn(u32) -> u64, chance: u64) -> Option<u32> {
    let mut rest = chance;
    let mut candidates = [0; N];
    for candidate in &mut candidates {
        (*candidate, rest) = split(rest, choices);
    }
    // Uses bit masks instead of branches, because half of the branches would be mispredicted.
    let (mut chosen, mut any) = (0, 0);
    for candidate in candidates.into_iter().rev() {
        let bit = alive(candidate);
        any |= bit;
        chosen ^= (chosen ^ candidate) & (bit as u32).wrapping_neg();
    }
    (any != 0).then_some(chosen)
}

/// A random live choice, after a draw that found none: by more draws, then by listing all.
#[cold]
#[inline(never)]
fn draw_again<const N: usize>(choices: u32, alive: &impl Fn(u32) -> u64, seed: u64) -> Option<u32> {
    let mut draws = Draws::new(seed);
    for _ in 1..DRAWS {
        if let Some(chosen) = draw::<N>(choices, alive, draws.next_bits()) {
            return Some(chosen);
        }
    }
    let all = || (0..choices).filter(|&turns| alive(turns) == 1);
    let count = all().count() as u32;
    let chosen = draws.below(count.max(1)) as usize;
    all().nth(chosen)
}

/// Rows for each number: its term `of` at each layer upwards, then the same for the downward path
/// in reverse order.
fn rows(
    count: u32,
    row: usize,
    climbed: usize,
    of: impl Fn(u32, usize) -> [DirectedLink; 2],
) -> Vec<DirectedLink> {
    let mut rows = vec![0; count as usize * 3 * row];
    for number in 0..count {
        let first = number as usize * 3 * row;
        for layer in 0..climbed {
            let back = first + 2 * row - 1 - layer;
            [rows[first + layer], rows[back]] = of(number, layer);
        }
    }
    rows
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
        alone(path, |links| {
            links.resize(self.room(1), 0);
            let flow = Flow {
                source,
                destination,
                seed: flow,
            };
            let (mut dropped, mut ends) = (Vec::new(), Vec::new());
            let length = self.all(&[flow], links, &mut dropped, &mut ends);
            links.truncate(length);
            dropped.first().map_or(Ok(()), |&(_, why)| Err(why))
        })
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let Routed { links, ends, dropped } = routed;
        ends.clear();
        dropped.clear();
        links.resize(self.room(flows.len()), 0);
        let length = self.all(flows, links, dropped, ends);
        links.truncate(length);
    }
}
