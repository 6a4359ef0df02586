//! Link-state routing inside one DCell_b: a breadth-first search over its live links.
//! `[dcell §4.3]`

use cubeyard_topology::NodeId;

use super::shape::{Hop, Shape};
use super::step::Ties;
use crate::failures::Failures;

/// The live servers of one DCell_b as seen from one of them; reused from search to search.
#[derive(Clone, Debug, Default)]
pub struct Group {
    first: NodeId,
    level: usize,
    /// Reached servers with their predecessors, nearest first.
    reached: Vec<Reached>,
    /// Position in `reached` by server, `u32::MAX` when not reached.
    position: Vec<u32>,
    /// The servers one hop nearer, by position in `reached`, and the end of each list; empty unless
    /// [`Group::index`] was called.
    nearer: Vec<Nearer>,
    nearer_ends: Vec<u32>,
}

/// A server one hop nearer: its position in the order of the search, and the level of the link from
/// it.
#[derive(Clone, Copy, Debug)]
struct Nearer {
    position: u32,
    level: u8,
}

/// A server that a search reached.
#[derive(Clone, Copy, Debug)]
struct Reached {
    hop: Hop,
    /// Position of the server before.
    before: u32,
    /// Hops from the searching server.
    distance: u32,
}

impl Group {
    /// The search of a server's DCell_1, or of the whole DCell if that is smaller, with an index.
    pub(super) fn indexed_around(shape: &Shape, failures: &Failures, from: NodeId) -> Group {
        let alive = |from, to, level| shape.hop_alive(from, to, level, failures);
        let mut group = Group::default();
        group.search(shape, alive, shape.k().min(1), from);
        group.index(shape, alive);
        group
    }

    /// Searches the DCell_`level` around `from`, over the links of which `alive(from, to, level)`
    /// holds.
    pub fn search(
        &mut self,
        shape: &Shape,
        alive: impl Fn(NodeId, NodeId, usize) -> bool,
        level: usize,
        from: NodeId,
    ) {
        let ids = shape.ids_around(from, level);
        self.first = ids.start;
        self.level = level;
        self.position.clear();
        self.position.resize((ids.end - ids.start) as usize, u32::MAX);
        self.reached.clear();
        self.nearer.clear();
        self.nearer_ends.clear();
        self.position[(from - self.first) as usize] = 0;
        self.reached.push(Reached {
            hop: Hop {
                server: from,
                level: 0,
            },
            before: 0,
            distance: 0,
        });
        let mut head = 0;
        while let Some(&Reached { hop, .. }) = self.reached.get(head) {
            let at = hop.server;
            for (next, level) in self.neighbours(shape, at) {
                self.enter(&alive, at, next, level, head);
            }
            head += 1;
        }
    }

    fn enter(
        &mut self,
        alive: impl Fn(NodeId, NodeId, usize) -> bool,
        at: NodeId,
        next: NodeId,
        level: usize,
        head: usize,
    ) {
        let slot = (next - self.first) as usize;
        if self.position[slot] == u32::MAX && alive(at, next, level) {
            self.position[slot] = self.reached.len() as u32;
            let hop = Hop {
                server: next,
                level: level as u8,
            };
            self.reached.push(Reached {
                hop,
                before: head as u32,
                distance: self.reached[head].distance + 1,
            });
        }
    }

    /// The servers reached with their distances, nearest first; the searching server is the first.
    pub fn nearest_first(&self) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        self.reached.iter().map(|item| (item.hop.server, item.distance))
    }

    /// Servers reached, nearest first, each with the position in this order of the one before it
    /// and the level of the link between; the searching server is the first.
    pub fn tree(&self) -> impl Iterator<Item = (NodeId, usize, u8)> + '_ {
        self.reached
            .iter()
            .map(|item| (item.hop.server, item.before as usize, item.hop.level))
    }

    /// Appends the hops of a shortest path to a server of this DCell_b; returns whether it was
    /// reached. If several servers are one hop nearer, `ties` chooses. `shape` and `alive` are
    /// those of the search.
    pub fn path_to(
        &self,
        shape: &Shape,
        alive: impl Fn(NodeId, NodeId, usize) -> bool,
        to: NodeId,
        ties: &mut impl Ties,
        hops: &mut Vec<Hop>,
    ) -> bool {
        let mark = hops.len();
        let Some(mut at) = self.position_of(to) else {
            return false;
        };
        while self.reached[at].distance > 0 {
            let Reached { hop, before, .. } = self.reached[at];
            // The search's own result, unless the tie-break chooses another.
            let (mut kept, mut count) = ((before, hop.level), 0);
            let mut weigh = |near: Nearer| {
                count += 1;
                let server = |position: u32| self.reached[position as usize].hop.server;
                if ties.replaces(count, server(kept.0), server(near.position)) {
                    kept = (near.position, near.level);
                }
            };
            match self.indexed(at) {
                Some(nearer) => nearer.iter().copied().for_each(weigh),
                None => self.nearer_than(shape, &alive, at).for_each(&mut weigh),
            }
            let level = kept.1;
            hops.push(Hop { level, ..hop });
            at = kept.0 as usize;
        }
        hops[mark..].reverse();
        true
    }

    /// Appends the hops of the shortest path to a server if there is only one, and returns whether
    /// there is. [`Group::path_to`] gives the same path, but calls `ties` at every hop. Call
    /// [`Group::index`] first.
    pub(super) fn only_path_to(&self, to: NodeId, hops: &mut Vec<Hop>) -> bool {
        let mark = hops.len();
        let Some(mut at) = self.position_of(to) else {
            return false;
        };
        while self.reached[at].distance > 0 {
            let Some(&[Nearer { position, level }]) = self.indexed(at) else {
                hops.truncate(mark);
                return false;
            };
            let server = self.reached[at].hop.server;
            hops.push(Hop { server, level });
            at = position as usize;
        }
        hops[mark..].reverse();
        true
    }

    /// Stores for every server the servers one hop nearer, so that [`Group::path_to`] does not
    /// search all neighbours again. `shape` and `alive` are those of the search. Linear in the
    /// DCell_b's links.
    pub fn index(&mut self, shape: &Shape, alive: impl Fn(NodeId, NodeId, usize) -> bool) {
        let mut nearer = Vec::new();
        let ends = (0..self.reached.len()).map(|at| {
            nearer.extend(self.nearer_than(shape, &alive, at));
            nearer.len() as u32
        });
        self.nearer_ends = ends.collect();
        self.nearer = nearer;
    }

    /// The entries of [`Group::index`] for the server at a position.
    fn indexed(&self, at: usize) -> Option<&[Nearer]> {
        let end = *self.nearer_ends.get(at)?;
        let start = if at == 0 { 0 } else { self.nearer_ends[at - 1] };
        Some(&self.nearer[start as usize..end as usize])
    }

    /// The servers one hop nearer than the server at a position, over live links.
    fn nearer_than<'a>(
        &'a self,
        shape: &'a Shape,
        alive: &'a impl Fn(NodeId, NodeId, usize) -> bool,
        at: usize,
    ) -> impl Iterator<Item = Nearer> + 'a {
        let Reached { hop, distance, .. } = self.reached[at];
        self.neighbours(shape, hop.server)
            .filter_map(move |(near, level)| {
                let position = self.position_of(near)?;
                let leads = self.reached[position].distance + 1 == distance && alive(near, hop.server, level);
                leads.then_some(Nearer {
                    position: position as u32,
                    level: level as u8,
                })
            })
    }

    /// The servers of this DCell_b that are wired to one of its servers, each with the level of the
    /// link.
    fn neighbours<'a>(
        &self,
        shape: &'a Shape,
        server: NodeId,
    ) -> impl Iterator<Item = (NodeId, usize)> + use<'a> {
        let n = shape.size(0) as u32;
        let end = self.first + self.position.len() as u32;
        let first = server / n * n;
        let cell = (first..(first + n).min(end)).filter(move |&near| near != server);
        let cables = (1..=self.level).filter_map(move |level| Some((shape.peer(server, level)?, level)));
        cell.map(|near| (near, 0)).chain(cables)
    }

    /// Whether the search reached a server.
    pub fn reaches(&self, server: NodeId) -> bool {
        self.reached_at(server).is_some()
    }

    /// Hops to a server; `None` where the search did not reach it.
    pub fn distance(&self, server: NodeId) -> Option<u32> {
        self.reached_at(server).map(|reached| reached.distance)
    }

    fn reached_at(&self, server: NodeId) -> Option<Reached> {
        Some(self.reached[self.position_of(server)?])
    }

    /// A server's place in the order of the search; `None` where it was not reached.
    fn position_of(&self, server: NodeId) -> Option<usize> {
        let slot = server.checked_sub(self.first)? as usize;
        let position = *self.position.get(slot)? as usize;
        (position < self.reached.len()).then_some(position)
    }
}
