//! Detours in tables: which servers relay, what share of a hot rack's flows they get, and the routes by which packets go from
//! relay to relay. `[subways §6]`
//!
//! The routes do not depend on the load: every server can pass packets on between its ToRs, and every ToR can end a detour.
//! The source alone chooses, as the paper's servers do, which name all relays in headers.

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
    /// From the ToR before to the server.
    pub down: DirectedLink,
    /// The server.
    pub server: NodeId,
    /// From the server to the ToR after it.
    pub up: DirectedLink,
    /// That ToR.
    pub tor: NodeId,
}

/// The relays of a next hop in the order in which packets pass them.
pub type Relays = [Option<Relay>; MAX_RELAYS];

/// A route by which detours go on. A detour's next segment names the ToR that its relay is entered from, the relay, and the
/// ToR that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// At a server: relays that are entered from this ToR are reached by this link to it.
    Toward {
        /// The ToR.
        tor: NodeId,
        /// The link.
        directed: DirectedLink,
    },
    /// At a ToR: a relay below it.
    Below {
        /// The relay.
        server: NodeId,
        /// The link down to it.
        directed: DirectedLink,
    },
    /// At a relay: what comes from one ToR for another goes there.
    Relay {
        /// Where it comes from.
        from: NodeId,
        /// The relay's link to it, upwards.
        over: DirectedLink,
        /// Where it goes.
        to: NodeId,
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
    /// By link up: its part of the straight way. Those that are withdrawn from have none.
    links: BTreeMap<DirectedLink, f64>,
    /// First link with relays, and the share.
    detours: Vec<(Half, f64)>,
}

impl Shares {
    /// The next hops towards a destination that is reached by these links up: `leads_there` says of a ToR whether it is.
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

/// Detours of all servers, and the routes of all nodes for them.
#[derive(Debug)]
pub(super) struct Detours {
    shares: Vec<Option<Shares>>,
    /// By node.
    pub segments: Vec<Vec<Segment>>,
}

impl Detours {
    /// Routes for detours, and no detour yet.
    pub fn none(topology: &Topology, failures: &Failures) -> Detours {
        Detours {
            shares: Vec::new(),
            segments: segments(topology, failures),
        }
    }

    /// Detours by server. `None` for other families than Subways.
    pub fn planned(
        topology: &Topology,
        failures: &Failures,
        weights: &LinkWeights,
        detours: &[RackDetours],
    ) -> Option<Detours> {
        let racks = Racks::of(topology)?;
        let live = LiveAccess::of(topology, failures);
        let shares = (0..topology.server_count())
            .zip(detours)
            .map(|(server, own)| shares_of(&racks, &live, weights, server, own));
        Some(Detours {
            shares: shares.collect(),
            segments: segments(topology, failures),
        })
    }

    /// How a node divides what it sends; `None` without detours.
    pub fn of(&self, node: NodeId) -> Option<&Shares> {
        self.shares.get(node as usize)?.as_ref()
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

/// The first link of a server's detour, with its relays. In each relaying rack it is the server at the same place as the
/// source, so that sources side by side share the work, or the next one whose links are alive.
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
    })
}

/// The routes for detours of all nodes, as far as links are alive.
fn segments(topology: &Topology, failures: &Failures) -> Vec<Vec<Segment>> {
    let mut all = vec![Vec::new(); topology.node_count() as usize];
    let live = LiveAccess::of(topology, failures);
    for (&(server, tor), &link) in &live.0 {
        let (up, down) = (a_to_b(link), b_to_a(link));
        all[server as usize].push(Segment::Toward { tor, directed: up });
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
    // Those that others need come first.
    all.iter_mut().for_each(|own| own.sort_unstable());
    all
}
