//! One decision of DFR: how a server forwards a packet, given its view of the network.
//! `[dcell §4.3]`
//!
//! The model walks a packet from decision to decision ([`super::Dfr`]); a server of the emulation
//! computes its forwarding table from the same function. Both follow DCellRouting's path as far as
//! it works, link state inside the DCell_b, and a proxy where the link out of the DCell_b does not
//! work.

use std::sync::OnceLock;

use cubeyard_topology::NodeId;

use super::group::Group;
use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use crate::random::{Draws, mix};

/// Chooses one of several equally good servers.
pub trait Ties {
    /// Whether the candidate, the `count`th of equally good ones (from 1), replaces the present
    /// choice.
    fn replaces(&mut self, count: u32, kept: NodeId, candidate: NodeId) -> bool;
}

/// Each candidate so far has the same probability of being the choice.
impl Ties for Draws {
    fn replaces(&mut self, count: u32, _kept: NodeId, _candidate: NodeId) -> bool {
        self.below(count) == 0
    }
}

/// Breaks ties by the least hash under a key: equal keys give equal choices, and removing a
/// candidate changes the result only if that candidate was chosen.
#[derive(Clone, Copy, Debug)]
pub struct ByHash(pub u64);

impl Ties for ByHash {
    fn replaces(&mut self, count: u32, kept: NodeId, candidate: NodeId) -> bool {
        let hash = |server: NodeId| mix(self.0 ^ mix(server.into()));
        count == 1 || hash(candidate) < hash(kept)
    }
}

/// The fields of a packet's header on which a decision depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The server that must receive the packet.
    pub destination: NodeId,
    /// The server to which it goes first, if it was rerouted.
    pub proxy: Option<NodeId>,
    /// Index of the DCell_b that rerouted it last.
    pub rerouted_in: Option<u64>,
    /// Number of local reroutes that are still allowed.
    pub retries: u32,
}

/// A path inside the DCell_b, and the link out of it that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The last server of the path inside the DCell_b.
    pub near: NodeId,
    /// The link out of the DCell_b.
    pub out: Option<Hop>,
    /// Whether the path inside is that of DCellRouting; otherwise it is a shortest path by link
    /// state.
    planned: bool,
}

impl Leg {
    /// The server at the end of the step.
    pub fn end(&self) -> NodeId {
        self.out.map_or(self.near, |out| out.server)
    }
}

/// DCellRouting's path as far as it stays in the DCell_b, and the link out of it that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    /// The last server of the path inside the DCell_b.
    pub near: NodeId,
    /// The link out of the DCell_b; `None` where the target is inside.
    pub out: Option<Hop>,
    /// Whether that link is alive, if it exists.
    pub out_alive: bool,
}

impl Ahead {
    /// The server at the end of the step.
    pub fn end(&self) -> NodeId {
        self.out.map_or(self.near, |out| out.server)
    }
}

/// Why a packet is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCause {
    /// The destination is in this DCell_b, and link state has no path to it.
    Unreachable,
    /// The structure has no path to it.
    NoStructure,
    /// Its local reroutes are used up.
    RetriesUsed,
    /// No link of the required levels out of the DCell_b works.
    NoProxy,
}

/// The decision of a server on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is the destination.
    Deliver,
    /// It sends the packet on.
    Forward(Leg),
    /// It sends the packet to a proxy, at the end of the leg, and uses a local reroute.
    Reroute(Leg),
    /// The server drops the packet.
    Drop(DropCause),
}

/// The search of a server's DCell_b, computed on first use.
#[derive(Debug)]
pub enum View<'a> {
    /// Kept for the next packet.
    Kept(&'a OnceLock<Group>),
    /// In memory that is reused for the next server.
    Reused {
        /// Working memory of the search.
        group: &'a mut Group,
        /// Whether it holds this server's search.
        searched: bool,
    },
}

/// A server and its view of the network: `alive(from, to, level)` returns whether a link that
/// begins in its DCell_b works.
#[derive(Debug)]
pub struct Here<'a, A> {
    /// Addresses of the DCell.
    pub shape: &'a Shape,
    /// The `b` of DCell_b, at most `k`.
    pub group_level: usize,
    /// The server that decides.
    pub at: NodeId,
    /// Returns whether a link works.
    pub alive: A,
    /// Link state of the server's DCell_b.
    pub view: View<'a>,
    /// DCellRouting's path to the latest target, in reused memory.
    pub plan: &'a mut Vec<Hop>,
}

impl<A: Fn(NodeId, NodeId, usize) -> bool> Here<'_, A> {
    fn view(&mut self) -> &Group {
        let (shape, alive, level, at) = (self.shape, &self.alive, self.group_level, self.at);
        match &mut self.view {
            View::Kept(kept) => kept.get_or_init(|| {
                let mut group = Group::default();
                group.search(shape, alive, level, at);
                group.index(shape, alive);
                group
            }),
            View::Reused { group, searched } => {
                if !*searched {
                    group.search(shape, alive, level, at);
                    *searched = true;
                }
                group
            }
        }
    }

    /// Decides on a packet. `ties` chooses among equally near proxies.
    pub fn step(&mut self, packet: &Packet, ties: &mut impl Ties) -> Step {
        if self.at == packet.destination {
            return Step::Deliver;
        }
        let proxy = packet.proxy.filter(|&proxy| proxy != self.at);
        let target = proxy.unwrap_or(packet.destination);
        self.plan.clear();
        if !dcell_routing(self.shape, self.at, target, self.plan) {
            return Step::Drop(DropCause::NoStructure);
        }
        let leaves = self.leaves();
        let near = leaves
            .checked_sub(1)
            .map_or(self.at, |last| self.plan[last].server);
        let out = self.plan.get(leaves).copied();
        let out_alive = out.is_none_or(|out| (self.alive)(near, out.server, usize::from(out.level)));
        if out_alive && self.plan_works(leaves) {
            let planned = true;
            return Step::Forward(Leg { near, out, planned });
        }
        self.around(packet, &Ahead { near, out, out_alive }, ties)
    }

    /// [`Here::step`] if DCellRouting's path inside the DCell_b or the link out of it is known to
    /// be dead.
    pub(super) fn around(&mut self, packet: &Packet, ahead: &Ahead, ties: &mut impl Ties) -> Step {
        let &Ahead { near, out, out_alive } = ahead;
        if out_alive && self.view().reaches(near) {
            let planned = false;
            return Step::Forward(Leg { near, out, planned });
        }
        // In the target's own DCell_b the link state is complete, so no proxy can help.
        let Some(out) = out else {
            return Step::Drop(DropCause::Unreachable);
        };
        if packet.retries == 0 {
            return Step::Drop(DropCause::RetriesUsed);
        }
        self.reroute(packet, usize::from(out.level), ties)
            .map_or(Step::Drop(DropCause::NoProxy), Step::Reroute)
    }

    /// Appends the hops of a leg that the latest [`Here::step`] gave. Ties among shortest paths are
    /// chosen by `ties`.
    pub fn hops(&mut self, leg: &Leg, ties: &mut impl Ties, hops: &mut Vec<Hop>) {
        if leg.planned {
            let leaves = self.leaves();
            hops.extend_from_slice(&self.plan[..leaves]);
        } else {
            self.view();
            let alive = &self.alive;
            let view = match &self.view {
                View::Kept(kept) => kept.get(),
                View::Reused { group, .. } => Some(&**group),
            };
            if let Some(view) = view {
                view.path_to(self.shape, alive, leg.near, ties, hops);
            }
        }
        hops.extend(leg.out);
    }

    /// Hops of the plan before the first link out of the DCell_b.
    fn leaves(&self) -> usize {
        let leaves = |hop: &Hop| usize::from(hop.level) > self.group_level;
        self.plan.iter().position(leaves).unwrap_or(self.plan.len())
    }

    fn plan_works(&self, count: usize) -> bool {
        let mut at = self.at;
        self.plan[..count].iter().all(|hop| {
            let alive = (self.alive)(at, hop.server, usize::from(hop.level));
            at = hop.server;
            alive
        })
    }

    /// Local reroute: to a nearest proxy, one level higher if jump-up applies.
    fn reroute(&mut self, packet: &Packet, broken: usize, ties: &mut impl Ties) -> Option<Leg> {
        let outside = self.shape.common_level(self.at, packet.destination) > broken;
        let levels = [broken + usize::from(outside), broken];
        [packet.rerouted_in, None].into_iter().find_map(|avoid| {
            let mut tried = levels.into_iter();
            tried.find_map(|level| self.nearest_proxy(level, avoid, ties))
        })
    }

    /// A link of `level` out of the DCell_b that is alive and does not lead into the DCell_b
    /// `avoid`: one of the nearest, chosen among equally near ones.
    fn nearest_proxy(&mut self, level: usize, avoid: Option<u64>, ties: &mut impl Ties) -> Option<Leg> {
        self.view();
        let (shape, alive, group_level) = (self.shape, &self.alive, self.group_level);
        let view = match &self.view {
            View::Kept(kept) => kept.get()?,
            View::Reused { group, .. } => group,
        };
        let mut found: Option<(NodeId, NodeId, u32)> = None;
        let mut count = 0;
        for (near, distance) in view.nearest_first() {
            if found.is_some_and(|(.., nearest)| distance > nearest) {
                break;
            }
            let Some(far) = shape.peer(near, level) else {
                continue;
            };
            if avoid == Some(shape.cell(far, group_level)) || !alive(near, far, level) {
                continue;
            }
            count += 1;
            if found.is_none_or(|(_, kept, _)| ties.replaces(count, kept, far)) {
                found = Some((near, far, distance));
            }
        }
        found.map(|(near, far, _)| Leg {
            near,
            out: Some(Hop {
                server: far,
                level: level as u8,
            }),
            planned: false,
        })
    }
}
