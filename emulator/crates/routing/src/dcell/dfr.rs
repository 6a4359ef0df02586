//! DFR, DCell's fault-tolerant routing: link state inside a DCell_b, DCellRouting between them, and
//! detours around failures. `[dcell §4.3, §7.1]`
//!
//! Where the paper's text leaves a choice open, these choices reproduce its Table 2 within 2 %:
//!
//! - b = 1; inside a DCell_1 without failures link state gives the same shortest path as
//!   DCellRouting;
//! - the proxy is the far end of the nearest live link of the wanted level out of the DCell_b;
//!   among equally near ones and among equally short paths of the link state each flow draws its
//!   own, so that the flows of one server do not all take the same detour;
//! - it is not in the DCell_b that rerouted last, unless nothing else is left (that last resort
//!   turns 27 % path failures at 20 % broken links into 24 %);
//! - jump-up takes a link one level higher if the destination is outside the current DCell of the
//!   broken link's level (if it is inside, the packet would leave and not return); if no such link
//!   is alive, it takes another link of the same level;
//! - 30 local reroutes; with the prototype's 5, a tenth of the longest paths fail.

use std::sync::OnceLock;

use cubeyard_topology::{NodeId, Topology};

use super::group::Group;
use super::near::{NearPaths, Stretch};
use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use super::step::{ByHash, Here, Leg, Packet, Step, View};
use crate::failures::Failures;
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, alone, ends_alive};
use crate::random::Draws;

/// Limit for the number of servers times the servers per DCell_b. Up to it, each server's view of
/// its DCell_b is cached once computed, at 16 bytes per entry, because an all-to-all needs the same
/// views again and again.
const MAX_KEPT_VIEWS: u64 = 1 << 20;

/// A packet that is routed server by server is dropped after this number of hops, like a time to
/// live.
const MAX_HOPS: usize = 64;

/// The settings that the paper leaves to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DfrOptions {
    /// The `b` of DCell_b, inside which link state is known; at most the DCell's own `k` counts.
    pub group_level: usize,
    /// Local reroutes before a packet is dropped.
    pub retries: u32,
}

impl Default for DfrOptions {
    fn default() -> DfrOptions {
        DfrOptions {
            group_level: 1,
            retries: 30,
        }
    }
}

/// DFR on one DCell. With nothing failed its paths are those of DCellRouting.
#[derive(Debug)]
pub struct Dfr {
    shape: Shape,
    failures: Failures,
    options: DfrOptions,
    /// By server, its view of its DCell_b; empty if all views would take too much memory.
    views: Vec<OnceLock<Group>>,
    near: NearPaths,
    by_stretches: bool,
}

/// Working memory of a walk, reused between walks.
#[derive(Debug, Default)]
struct Scratch {
    hops: Vec<Hop>,
    plan: Vec<Hop>,
    group: Group,
}

impl Dfr {
    /// DFR with the usual options; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<Dfr> {
        Dfr::with_options(topology, failures, DfrOptions::default())
    }

    /// DFR; `None` for other families.
    pub fn with_options(topology: &Topology, failures: Failures, options: DfrOptions) -> Option<Dfr> {
        let shape = Shape::new(topology)?;
        let group_servers = shape.size(options.group_level.min(shape.k()));
        let keeps = u64::from(shape.servers()).saturating_mul(group_servers) <= MAX_KEPT_VIEWS;
        let kept = if keeps { shape.servers() } else { 0 };
        // Whether a server decides for the same part of the path that is cached: to the end of its
        // DCell_1.
        let by_stretches = options.group_level.min(shape.k()) == shape.k().min(1);
        Some(Dfr {
            near: NearPaths::new(&shape, &failures, by_stretches),
            by_stretches,
            shape,
            failures,
            options,
            views: (0..kept).map(|_| OnceLock::new()).collect(),
        })
    }

    /// The address arithmetic underneath.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The failures that the routes avoid.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The hops of a flow's packets (replacing what `hops` held); they may visit a server twice.
    /// `flow` is the number from which its proxies are drawn.
    ///
    /// # Errors
    /// Why there is no path.
    pub fn hops(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        hops: &mut Vec<Hop>,
    ) -> Result<(), NoPath> {
        let mut scratch = Scratch {
            hops: std::mem::take(hops),
            ..Scratch::default()
        };
        let found = self.find(source, destination, flow, &mut scratch);
        *hops = scratch.hops;
        found
    }

    /// [`Dfr::hops`], written into `scratch.hops`.
    fn find(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        scratch: &mut Scratch,
    ) -> Result<(), NoPath> {
        let hops = &mut scratch.hops;
        hops.clear();
        ends_alive(source, destination, &self.failures)?;
        if dcell_routing(&self.shape, source, destination, hops)
            && (self.failures.is_empty() || self.shape.path_alive(source, hops, &self.failures))
        {
            return Ok(());
        }
        self.find_around(source, destination, flow, scratch)
    }

    /// [`Dfr::find`] where DCellRouting's path is broken.
    #[inline(never)]
    fn find_around(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        scratch: &mut Scratch,
    ) -> Result<(), NoPath> {
        scratch.hops.clear();
        if self.failures.is_empty() {
            return Err(NoPath::NotFound);
        }
        let result = self.walk([source, destination], &mut Draws::new(flow), scratch, None);
        if result.is_err() {
            scratch.hops.clear();
        }
        result
    }

    /// Appends the flow's links. If there is no path, the caller must discard the appended links.
    #[inline]
    fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        scratch: &mut Scratch,
        links: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if !self.failures.is_empty() {
            ends_alive(source, destination, &self.failures)?;
        }
        let start = links.len();
        let (mut at, mut drawn) = (source, 0);
        while at != destination {
            let kept = links.len();
            match self
                .near
                .stretch(&self.shape, &self.failures, [at, destination], links)
            {
                Some(stretch) if stretch.whole => {
                    at = stretch.ahead.end();
                    drawn += stretch.draws;
                }
                Some(_) => {
                    // The packet has not been rerouted: the rest of its path is the path of a
                    // packet that starts here, if its view starts here too.
                    let (from, keep) = if self.by_stretches {
                        (at, kept)
                    } else {
                        (source, start)
                    };
                    links.truncate(keep);
                    let mut draws = Draws::new(flow);
                    draws.skip(drawn);
                    return self.walk([from, destination], &mut draws, scratch, Some(links));
                }
                None => {
                    self.find(source, destination, flow, scratch)?;
                    links.truncate(start);
                    self.shape.push_links(source, &scratch.hops, links);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Appends the links of a packet's path for one decision, if they are cached and alive.
    #[inline(never)]
    fn stretch(&self, from: NodeId, target: NodeId, links: &mut Vec<DirectedLink>) -> Option<Stretch> {
        if !self.by_stretches {
            return None;
        }
        let start = links.len();
        let stretch = self
            .near
            .stretch(&self.shape, &self.failures, [from, target], links);
        if stretch.is_none_or(|stretch| !stretch.whole) {
            links.truncate(start);
        }
        stretch
    }

    /// Walks from decision to decision, through a whole DCell_b at a time. The path is written to
    /// `scratch.hops`, or appended to `links` if given.
    #[inline(never)]
    fn walk(
        &self,
        [source, destination]: [NodeId; 2],
        draws: &mut Draws,
        scratch: &mut Scratch,
        mut links: Option<&mut Vec<DirectedLink>>,
    ) -> Result<(), NoPath> {
        let Scratch { hops, plan, group } = scratch;
        hops.clear();
        let mut at = source;
        let mut packet = self.packet(destination);
        loop {
            packet.proxy = packet.proxy.filter(|&proxy| proxy != at);
            let mut broken = None;
            if let Some(links) = links.as_deref_mut()
                && at != destination
                && let Some(stretch) = self.stretch(at, packet.proxy.unwrap_or(destination), links)
            {
                if stretch.whole {
                    at = stretch.ahead.end();
                    draws.skip(stretch.draws);
                    continue;
                }
                broken = Some(stretch.ahead);
            }
            let mut here = self.here(at, group, plan);
            let step = match broken {
                Some(ahead) => here.around(&packet, &ahead, draws),
                None => here.step(&packet, draws),
            };
            let leg = match step {
                Step::Deliver => return Ok(()),
                Step::Forward(leg) => leg,
                Step::Reroute(leg) => {
                    packet = self.rerouted(packet, at, &leg);
                    leg
                }
                Step::Drop(_) => return Err(NoPath::NotFound),
            };
            here.hops(&leg, draws, hops);
            if let Some(links) = links.as_deref_mut() {
                self.shape.push_links(at, hops, links);
                hops.clear();
            }
            at = leg.end();
        }
    }

    /// The hops of a packet if each server decides by destination, as tables do: ties are chosen by
    /// a hash of the target. They are appended to `hops` and may visit a server twice.
    ///
    /// # Errors
    /// Why there is no path.
    pub fn hops_by_tables(
        &self,
        source: NodeId,
        destination: NodeId,
        hops: &mut Vec<Hop>,
    ) -> Result<(), NoPath> {
        ends_alive(source, destination, &self.failures)?;
        let Scratch { plan, group, .. } = &mut Scratch::default();
        let mut at = source;
        let mut packet = self.packet(destination);
        for _ in 0..MAX_HOPS {
            packet.proxy = packet.proxy.filter(|&proxy| proxy != at);
            let mut here = self.here(at, group, plan);
            let target = packet.proxy.unwrap_or(destination);
            let leg = match here.step(&packet, &mut ByHash(target.into())) {
                Step::Deliver => return Ok(()),
                Step::Forward(leg) => leg,
                Step::Reroute(leg) => {
                    packet = self.rerouted(packet, at, &leg);
                    leg
                }
                Step::Drop(_) => return Err(NoPath::NotFound),
            };
            let mut whole = Vec::new();
            here.hops(&leg, &mut ByHash(target.into()), &mut whole);
            let hop = *whole.first().ok_or(NoPath::NotFound)?;
            hops.push(hop);
            at = hop.server;
        }
        Err(NoPath::NotFound)
    }

    fn packet(&self, destination: NodeId) -> Packet {
        Packet {
            destination,
            proxy: None,
            rerouted_in: None,
            retries: self.options.retries,
        }
    }

    fn rerouted(&self, packet: Packet, at: NodeId, leg: &Leg) -> Packet {
        Packet {
            proxy: Some(leg.end()),
            rerouted_in: Some(self.shape.cell(at, self.group_level())),
            retries: packet.retries - 1,
            ..packet
        }
    }

    fn group_level(&self) -> usize {
        self.options.group_level.min(self.shape.k())
    }

    /// A server and its view of its DCell_b: the cached view, or one computed in `group`.
    fn here<'a>(
        &'a self,
        at: NodeId,
        group: &'a mut Group,
        plan: &'a mut Vec<Hop>,
    ) -> Here<'a, impl Fn(NodeId, NodeId, usize) -> bool + 'a> {
        let (shape, failures) = (&self.shape, &self.failures);
        let reused = View::Reused {
            group,
            searched: false,
        };
        Here {
            shape,
            group_level: self.group_level(),
            at,
            alive: move |from, to, level| shape.hop_alive(from, to, level, failures),
            view: self.views.get(at as usize).map_or(reused, View::Kept),
            plan,
        }
    }
}

impl Router for Dfr {
    fn name(&self) -> &'static str {
        "dfr"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        alone(path, |links| {
            self.append(source, destination, flow, &mut Scratch::default(), links)
        })
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let mut scratch = Scratch::default();
        let mut bundles = self.near.bundles(&self.shape, &self.failures);
        routed.fill(flows, |flow, links| {
            if bundles.append([flow.source, flow.destination], links) {
                return Ok(());
            }
            self.append(flow.source, flow.destination, flow.seed, &mut scratch, links)
        });
    }
}
