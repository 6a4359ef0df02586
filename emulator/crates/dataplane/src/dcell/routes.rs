//! The forwarding table from link state: for each destination, DFR's decision at this server
//! ([`cubeyard_routing::dcell::Here`]) and a precomputed decision for the case that the chosen port
//! is dead, so that the forwarding can reroute immediately. `[dcell §4.3, §7.2]`
//!
//! If the detour around a dead port stays inside the DCell_b, the other servers there do not know
//! yet that the port is dead. The packet is then sent to a proxy from which no shortest path leads
//! back over it. `[ours]`

use std::collections::BTreeMap;
use std::sync::OnceLock;

use cubeyard_routing::dcell::{ByHash, Group, Here, Hop, Leg, Packet, Step, View};
use cubeyard_topology::NodeId;

use super::structure::Structure;
use super::tables::{HAS_ALTERNATIVE, HAS_HOP, Route};

/// The forwarding table of a server, by destination.
pub type Routes = BTreeMap<NodeId, Route>;

/// A server's neighbours as hops: their index in the configuration, by id and level.
pub type HopsByNeighbour = BTreeMap<(NodeId, u8), u8>;

/// Computes the forwarding table of the server `me`. `alive(from, to, level)` returns whether a
/// link that begins in the server's DCell_b works.
pub fn compute(
    structure: &Structure,
    me: NodeId,
    hops: &HopsByNeighbour,
    alive: impl Fn(NodeId, NodeId, usize) -> bool,
) -> Routes {
    let ports = structure.shape().k() + 1;
    let computing = Computing {
        structure,
        me,
        hops,
        alive: &alive,
        view: OnceLock::new(),
        without_port: (0..ports).map(|_| OnceLock::new()).collect(),
        seen_from: BTreeMap::new(),
    };
    let mut computing = computing;
    let others = structure.servers().filter(|&server| server != me);
    others
        .filter_map(|destination| Some((destination, computing.route(destination)?)))
        .collect()
}

/// A decision with its path.
struct Decision {
    leg: Leg,
    hops: Vec<Hop>,
    rerouted: bool,
}

struct Computing<'a, A> {
    structure: &'a Structure,
    me: NodeId,
    hops: &'a HopsByNeighbour,
    alive: &'a A,
    view: OnceLock<Group>,
    /// By port: the shortest paths inside the DCell_b without that port.
    without_port: Vec<OnceLock<Group>>,
    /// Shortest paths from other servers of the DCell_b.
    seen_from: BTreeMap<NodeId, Group>,
}

impl<A: Fn(NodeId, NodeId, usize) -> bool> Computing<'_, A> {
    fn route(&mut self, destination: NodeId) -> Option<Route> {
        let decision = self.decide(destination, None, None)?;
        let mut route = Route::default();
        let first = *decision.hops.first()?;
        if decision.rerouted {
            self.set_alternative(&mut route, 0, first, decision.leg.end());
            let avoided = self.avoided(&decision.leg);
            let second = self.decide(destination, None, Some(avoided));
            if let Some(second) = second.filter(|second| self.avoided(&second.leg) != avoided) {
                self.set_alternative(&mut route, 1, *second.hops.first()?, second.leg.end());
            }
            return Some(route);
        }
        route.hop = *self.hops.get(&(first.server, first.level))?;
        route.flags |= HAS_HOP;
        let port = first.level;
        let Some(around) = self.decide(destination, Some(port), None) else {
            return Some(route);
        };
        let Some(&next) = around.hops.first() else {
            return Some(route);
        };
        let proxy = self.proxy_of(port, &around);
        self.set_alternative(&mut route, 0, next, proxy);
        if around.rerouted {
            let avoided = self.avoided(&around.leg);
            let second = self.decide(destination, Some(port), Some(avoided));
            if let Some(second) = second.filter(|second| self.avoided(&second.leg) != avoided) {
                self.set_alternative(&mut route, 1, *second.hops.first()?, second.leg.end());
            }
        }
        Some(route)
    }

    fn set_alternative(&self, route: &mut Route, place: usize, next: Hop, proxy: NodeId) {
        let Some(&hop) = self.hops.get(&(next.server, next.level)) else {
            return;
        };
        let cell = self.structure.cell(proxy);
        let leaves = cell != self.structure.cell(self.me);
        route.alternative_hops[place] = hop;
        route.alternative_cells[place] = if leaves { cell } else { 0 };
        route.proxies[place] = proxy;
        route.flags |= HAS_ALTERNATIVE << place;
    }

    /// The index of the DCell_b that a leg leads to.
    fn avoided(&self, leg: &Leg) -> u64 {
        self.structure
            .shape()
            .cell(leg.end(), self.structure.group_level())
    }

    /// DFR's decision about a packet if one of our ports is dead; `None` if the packet is dropped.
    fn decide(
        &mut self,
        destination: NodeId,
        dead_port: Option<u8>,
        rerouted_in: Option<u64>,
    ) -> Option<Decision> {
        let (me, alive) = (self.me, self.alive);
        let works = |from: NodeId, to: NodeId, level: usize| {
            let dead = dead_port.is_some_and(|port| usize::from(port) == level) && (from == me || to == me);
            !dead && alive(from, to, level)
        };
        let view = dead_port.map_or(&self.view, |port| &self.without_port[usize::from(port)]);
        let mut here = Here {
            shape: self.structure.shape(),
            group_level: self.structure.group_level(),
            at: me,
            alive: works,
            view: View::Kept(view),
            plan: &mut Vec::new(),
        };
        let packet = Packet {
            destination,
            proxy: None,
            rerouted_in,
            retries: 1,
        };
        let mut ties = ByHash(destination.into());
        let (leg, rerouted) = match here.step(&packet, &mut ties) {
            Step::Forward(leg) => (leg, false),
            Step::Reroute(leg) => (leg, true),
            Step::Deliver | Step::Drop(_) => return None,
        };
        let mut hops = Vec::new();
        here.hops(&leg, &mut ties, &mut hops);
        Some(Decision { leg, hops, rerouted })
    }

    /// The proxy of a packet that must avoid our port: the first server of the detour whose own
    /// shortest paths to the detour's end avoid that port.
    fn proxy_of(&mut self, port: u8, around: &Decision) -> NodeId {
        let inside = around.hops.len() - usize::from(around.leg.out.is_some());
        if around.rerouted {
            return around.leg.end();
        }
        let on_the_way: Vec<NodeId> = around.hops[..inside].iter().map(|hop| hop.server).collect();
        let lost: Vec<NodeId> = self.behind(port);
        let good = on_the_way.iter().enumerate().find(|&(place, &proxy)| {
            let reached = on_the_way[..place]
                .iter()
                .all(|&before| self.avoids(before, proxy, &lost));
            reached && self.avoids(proxy, around.leg.near, &lost)
        });
        good.map_or(around.leg.end(), |(_, &proxy)| proxy)
    }

    /// The servers of the DCell_b that our port connects to.
    fn behind(&self, port: u8) -> Vec<NodeId> {
        let neighbours = self.hops.keys().filter(|(_, level)| *level == port);
        let inside =
            neighbours.filter(|(server, _)| self.structure.cell(*server) == self.structure.cell(self.me));
        inside.map(|&(server, _)| server).collect()
    }

    /// Whether no shortest path between two servers inside the DCell_b uses a link between us and
    /// `lost`, in either direction.
    fn avoids(&mut self, from: NodeId, to: NodeId, lost: &[NodeId]) -> bool {
        let me = self.me;
        let Some(length) = self.distance(from, to) else {
            return false;
        };
        lost.iter().all(|&other| {
            [(me, other), (other, me)].into_iter().all(|(near, far)| {
                let over = self.distance(from, near).zip(self.distance(far, to));
                over.is_none_or(|(before, after)| before + 1 + after > length)
            })
        })
    }

    fn distance(&mut self, from: NodeId, to: NodeId) -> Option<u32> {
        let (structure, alive) = (self.structure, self.alive);
        let group = self.seen_from.entry(from).or_insert_with(|| {
            let mut group = Group::default();
            group.search(structure.shape(), alive, structure.group_level(), from);
            group
        });
        group.distance(to)
    }
}
