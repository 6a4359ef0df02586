//! Detours in tables: which servers relay, what share of a hot rack's flows they get, and the
//! routes by which packets go from relay to relay. `[subways §6]`
//!
//! The routes do not depend on the load: every server can pass packets on between its ToRs, and
//! every ToR can end a detour. Out of a hot rack the source alone chooses, as the paper's servers
//! do, which name all relays in headers. Towards one, the switch does that chooses the
//! destination's ToR otherwise; the destination ends the detour itself.

use std::collections::BTreeMap;

use cubeyard_topology::{NodeId, Topology};

use super::Half;
use crate::failures::Failures;
use crate::path::{DirectedLink, a_to_b, b_to_a};
use crate::subways::{DetourPath, LIMITS, LinkWeights, RackDetours, Racks};

/// Servers that relay a packet, at most.
pub const MAX_RELAYS: usize = LIMITS.relays;
/// Shares are rounded to this part.
const UNITS: f64 = 65_536.0;

/// A server between two ToRs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relay {
    /// The ToR before it.
    pub from: NodeId,
    /// From that ToR to the server.
    pub down: DirectedLink,
    /// The server whose packets take the detour.
    pub server: NodeId,
    /// From the server to the ToR after it.
    pub up: DirectedLink,
    /// The ToR at which the path enters the backbone.
    pub tor: NodeId,
}

/// The relays of a next hop in the order in which packets pass them.
pub type Relays = [Option<Relay>; MAX_RELAYS];

/// Where a detour towards a hot rack ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// From the ToR after the last relay to the server.
    pub down: DirectedLink,
    /// The server that receives.
    pub server: NodeId,
}

/// The route of a later part of a detour. It names the ToR from which the packet reaches the relay,
/// the relay, and the ToR to which the relay sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// At a server, or a switch above: relays that are entered from this ToR are reached by this
    /// link to it.
    Toward {
        /// The ToR that sends to the relay.
        tor: NodeId,
        /// The next link on the path to that ToR.
        directed: DirectedLink,
    },
    /// At a ToR: a relay below it.
    Below {
        /// The server that relays.
        server: NodeId,
        /// The link down to it.
        directed: DirectedLink,
    },
    /// At a relay: packets from one ToR that must go to another.
    Relay {
        /// The node that sends it.
        from: NodeId,
        /// The relay's link to it, upwards.
        over: DirectedLink,
        /// The ToR to which the relay sends.
        to: NodeId,
    },
    /// At a destination: packets from this ToR are for the server itself.
    Arrival {
        /// The ToR from which the packets arrive.
        from: NodeId,
        /// The link to it, upwards.
        over: DirectedLink,
    },
    /// At a ToR: detours end, and their packets are routed as others.
    Exit {
        /// A link of the ToR that is alive, by which the kernel ties the route to its interfaces.
        over: DirectedLink,
    },
}

/// How a server divides what it sends over the backbone.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    /// By the straight way; detours get the rest.
    straight: f64,
    /// Indexed by upward link: its share of the traffic without detours. Links that are no longer
    /// used have no entry.
    links: BTreeMap<DirectedLink, f64>,
    /// First link with relays, and the share.
    detours: Vec<(Half, f64)>,
}

impl Shares {
    /// The next hops towards a destination that is reached by these upward links: `leads_there`
    /// returns whether a ToR leads to it.
    pub fn weigh<'a>(
        &self,
        chosen: impl Iterator<Item = &'a Half>,
        leads_there: impl Fn(NodeId) -> bool,
    ) -> Vec<(Half, u64)> {
        let straight: Vec<(Half, f64)> = chosen
            .map(|half| (*half, self.links.get(&half.directed).copied().unwrap_or_default()))
            .collect();
        let exit = |half: &Half| {
            half.relays
                .iter()
                .flatten()
                .last()
                .is_some_and(|relay| leads_there(relay.tor))
        };
        let detours: Vec<&(Half, f64)> = self.detours.iter().filter(|(half, _)| exit(half)).collect();
        let weight: f64 = straight.iter().map(|(_, weight)| weight).sum();
        if detours.is_empty() && weight <= 0.0 {
            // Withdrawn from all that is left: better these than none.
            return straight.into_iter().map(|(half, _)| (half, 1)).collect();
        }
        let units = |share: f64| (share * UNITS).round().max(1.0) as u64;
        let kept = straight.into_iter().filter(|(_, own)| *own > 0.0);
        let mut all: Vec<(Half, u64)> = kept
            .map(|(half, own)| (half, units(self.straight * own / weight)))
            .collect();
        all.extend(detours.into_iter().map(|(half, share)| (*half, units(*share))));
        all
    }
}

/// The division of traffic to a server of a hot rack, above its ToRs.
#[derive(Clone, Debug, Default)]
pub(super) struct Inward {
    /// By the straight way; detours get the rest.
    straight: f64,
    /// From their first relay on, and the share. Their first link is the one down to the ToR before
    /// that relay.
    detours: Vec<(Relays, Arrival, f64)>,
}

impl Inward {
    /// The next hops of a switch that sends down by `straight`, each with its weight, and has the
    /// links `downs`.
    pub fn weigh(&self, straight: Vec<(Half, u64)>, downs: &[Half]) -> Vec<(Half, u64)> {
        // The route to a ToR is by the first of several cables.
        let is_first = |down: &&Half| {
            let first = downs.iter().find(|other| other.far == down.far);
            first.is_some_and(|first| first.directed == down.directed)
        };
        let detours: Vec<(Half, f64)> = downs
            .iter()
            .filter(is_first)
            .flat_map(|down| {
                let entered = self
                    .detours
                    .iter()
                    .filter(|(relays, ..)| relays[0].is_some_and(|relay| relay.from == down.far));
                entered.map(|&(relays, arrival, share)| {
                    let half = Half {
                        relays,
                        arrival: Some(arrival),
                        ..*down
                    };
                    (half, share)
                })
            })
            .collect();
        let weight: u64 = straight.iter().map(|(_, weight)| weight).sum();
        if detours.is_empty() || weight == 0 {
            return straight;
        }
        let units = |share: f64| (share * UNITS).round().max(1.0) as u64;
        let kept = straight
            .into_iter()
            .map(|(half, own)| (half, units(self.straight * own as f64 / weight as f64)));
        let mut all: Vec<(Half, u64)> = kept.collect();
        all.extend(detours.into_iter().map(|(half, share)| (half, units(share))));
        all
    }
}

/// Detours of all servers, and the routes of all nodes for them.
#[derive(Debug)]
pub(super) struct Detours {
    shares: Vec<Option<Shares>>,
    inward: Vec<Option<Inward>>,
    /// Indexed by node.
    pub segments: Vec<Vec<Segment>>,
}

impl Detours {
    /// Routes for detours, and no detour yet.
    pub fn none(topology: &Topology, failures: &Failures) -> Detours {
        Detours {
            shares: Vec::new(),
            inward: Vec::new(),
            segments: segments(topology, failures),
        }
    }

    /// Detours by server: out of its rack, and towards it. `None` for other families than Subways.
    pub fn planned(
        topology: &Topology,
        failures: &Failures,
        weights: &LinkWeights,
        [out, inward]: [&[RackDetours]; 2],
    ) -> Option<Detours> {
        let racks = Racks::of(topology)?;
        let live = LiveAccess::of(topology, failures);
        let servers = 0..topology.server_count();
        let shares = servers
            .clone()
            .zip(out)
            .map(|(server, own)| shares_of(&racks, &live, weights, server, own));
        let inward = servers
            .zip(inward)
            .map(|(server, own)| inward_of(&racks, &live, server, own));
        Some(Detours {
            shares: shares.collect(),
            inward: inward.collect(),
            segments: segments(topology, failures),
        })
    }

    /// How a node divides what it sends; `None` without detours.
    pub fn of(&self, node: NodeId) -> Option<&Shares> {
        self.shares.get(node as usize)?.as_ref()
    }

    /// The division of traffic to a server above its ToRs; `None` without detours.
    pub fn towards(&self, server: NodeId) -> Option<&Inward> {
        self.inward.get(server as usize)?.as_ref()
    }
}

/// Live links of servers, by server and ToR.
struct LiveAccess(BTreeMap<(NodeId, NodeId), u32>);

impl LiveAccess {
    fn of(topology: &Topology, failures: &Failures) -> LiveAccess {
        let links = topology.links();
        let own = (0..links.len())
            .filter(|&link| topology.is_server(links.a[link]) && failures.carries(links, link));
        LiveAccess(
            own.map(|link| ((links.a[link], links.b[link]), link as u32))
                .collect(),
        )
    }

    fn link(&self, server: NodeId, tor: NodeId) -> Option<u32> {
        self.0.get(&(server, tor)).copied()
    }

    fn of_server(&self, server: NodeId) -> impl Iterator<Item = (NodeId, u32)> {
        self.0
            .range((server, 0)..=(server, NodeId::MAX))
            .map(|((_, tor), link)| (*tor, *link))
    }
}

fn shares_of(
    racks: &Racks,
    live: &LiveAccess,
    weights: &LinkWeights,
    server: NodeId,
    own: &RackDetours,
) -> Option<Shares> {
    let ways: Vec<(Half, f64)> = own
        .detours
        .iter()
        .filter_map(|(path, capacity)| Some((first_of(racks, live, server, path)?, *capacity)))
        .collect();
    let total = own.straight + ways.iter().map(|(_, capacity)| capacity).sum::<f64>();
    if ways.is_empty() || total <= 0.0 {
        return None;
    }
    let links = live.of_server(server);
    Some(Shares {
        straight: own.straight / total,
        links: links
            .map(|(_, link)| (a_to_b(link), weights.source[link as usize]))
            .collect(),
        detours: ways
            .into_iter()
            .map(|(half, capacity)| (half, capacity / total))
            .collect(),
    })
}

/// The detours of a server's rack followed backwards: each relay is the one of the same way
/// outwards.
fn inward_of(racks: &Racks, live: &LiveAccess, server: NodeId, own: &RackDetours) -> Option<Inward> {
    let ways: Vec<(Relays, Arrival, f64)> = own
        .detours
        .iter()
        .filter_map(|(path, capacity)| {
            let out = first_of(racks, live, server, path)?;
            let mut relays = Relays::default();
            let backwards = out.relays.iter().flatten().rev();
            for (relay, passed) in relays.iter_mut().zip(backwards) {
                *relay = Some(Relay {
                    from: passed.tor,
                    down: passed.up ^ 1,
                    server: passed.server,
                    up: passed.down ^ 1,
                    tor: passed.from,
                });
            }
            let arrival = Arrival {
                down: out.directed ^ 1,
                server,
            };
            Some((relays, arrival, *capacity))
        })
        .collect();
    let total = own.straight + ways.iter().map(|(.., capacity)| capacity).sum::<f64>();
    if ways.is_empty() || total <= 0.0 {
        return None;
    }
    Some(Inward {
        straight: own.straight / total,
        detours: ways
            .into_iter()
            .map(|(relays, arrival, capacity)| (relays, arrival, capacity / total))
            .collect(),
    })
}

/// The first link of a server's detour, with its relays. In each relaying rack it is the server at
/// the same place as the source, so that sources side by side share the work, or the next one whose
/// links are alive.
fn first_of(racks: &Racks, live: &LiveAccess, server: NodeId, path: &DetourPath) -> Option<Half> {
    let first = racks.first_of_loop(racks.rack_of(server));
    let place = server % racks.servers as u32;
    let tor = |at: usize| racks.tor_node(first + at);
    let start = tor(*path.steps.first()?);
    let mut relays = Relays::default();
    if path.steps.len() / 2 > MAX_RELAYS {
        return None;
    }
    for (relay, hop) in relays.iter_mut().zip(path.steps.windows(3).step_by(2)) {
        let [before, after] = [tor(hop[0]), tor(hop[2])];
        let rack = racks.servers_of(first + hop[1]);
        let servers =
            (0..racks.servers as u32).map(|turn| rack.start + (place + turn) % racks.servers as u32);
        let mut alive = servers.filter_map(|server| {
            let (down, up) = (live.link(server, before)?, live.link(server, after)?);
            Some(Relay {
                from: before,
                down: b_to_a(down),
                server,
                up: a_to_b(up),
                tor: after,
            })
        });
        *relay = Some(alive.next()?);
    }
    Some(Half {
        directed: a_to_b(live.link(server, start)?),
        far: start,
        weight: 0,
        relays,
        arrival: None,
    })
}

/// The routes for detours of all nodes, as far as links are alive.
fn segments(topology: &Topology, failures: &Failures) -> Vec<Vec<Segment>> {
    let mut all = vec![Vec::new(); topology.node_count() as usize];
    let live = LiveAccess::of(topology, failures);
    for (&(server, tor), &link) in &live.0 {
        let (up, down) = (a_to_b(link), b_to_a(link));
        all[server as usize].push(Segment::Toward { tor, directed: up });
        all[server as usize].push(Segment::Arrival { from: tor, over: up });
        let others = live.of_server(server).filter(|(to, _)| *to != tor);
        all[server as usize].extend(others.map(|(to, _)| Segment::Relay {
            from: tor,
            over: up,
            to,
        }));
        let below = &mut all[tor as usize];
        if below.is_empty() {
            below.push(Segment::Exit { over: down });
        }
        below.push(Segment::Below {
            server,
            directed: down,
        });
    }
    // Switches right above ToRs send towards racks.
    let links = topology.links();
    for link in (0..links.len()).filter(|&link| failures.carries(links, link)) {
        let (tor, above) = (links.a[link], links.b[link]);
        // By the first of several cables.
        if has_servers(&all[tor as usize]) && !topology.is_server(tor) {
            let directed = b_to_a(link as u32);
            let own = &mut all[above as usize];
            let is_known = |known: &Segment| matches!(known, Segment::Toward { tor: to, .. } if *to == tor);
            if !own.iter().any(is_known) {
                own.push(Segment::Toward { tor, directed });
            }
        }
    }
    // Segments on which other routes depend come first.
    all.iter_mut().for_each(|own| own.sort_unstable());
    all
}

fn has_servers(segments: &[Segment]) -> bool {
    segments
        .iter()
        .any(|segment| matches!(segment, Segment::Below { .. }))
}
