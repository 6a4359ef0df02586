//! DFR, DCell's fault-tolerant routing: link state inside DCell_b, DCellRouting between, and ways around
//! what is broken. `[dcell §4.3, §7.1]`
//!
//! Where the text alone does not decide, these choices reach Table 2 within 2 %:
//! - b = 1; inside a DCell_1 with nothing broken link state gives DCellRouting's own path, a shortest one;
//! - the proxy is the far end of the nearest live link of the wanted level out of the DCell_b;
//! - it is not in the DCell_b that rerouted last, unless nothing else is left (that last resort turns
//!   27 % path failures at 20 % broken links into 24 %);
//! - jump-up takes a link one level higher, wherever the destination is outside the present DCell of the
//!   broken link's level (inside, it would lead away for good); where none lives, the level itself does;
//! - 30 local reroutes; the prototype's 5 lose a tenth of the longest paths.

use std::sync::OnceLock;

use cubeyard_topology::{NodeId, Topology};

use super::group::Group;
use super::shape::{Hop, Shape};
use super::single::dcell_routing;
use crate::failures::Failures;
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, ends_alive};

/// Servers and servers of their DCell_b, multiplied: up to here every server's view of its DCell_b is kept once it was
/// needed, at 16 bytes an entry. All-to-all asks for the same ones again and again.
const MAX_KEPT_VIEWS: u64 = 1 << 20;

/// What the paper leaves to its operator.
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
    /// By server, its view of its DCell_b; empty where all together would take too much memory.
    views: Vec<OnceLock<Group>>,
}

/// What a walk needs to remember, kept to be reused.
#[derive(Debug, Default)]
struct Scratch {
    hops: Vec<Hop>,
    plan: Vec<Hop>,
    view: Group,
}

impl Dfr {
    /// DFR with the usual options; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<Dfr> {
        Dfr::with_options(topology, failures, DfrOptions::default())
    }

    /// DFR; `None` for other families.
    pub fn with_options(topology: &Topology, failures: Failures, options: DfrOptions) -> Option<Dfr> {
        let shape = Shape::new(topology)?;
        let group_servers = shape.t[options.group_level.min(shape.k)];
        let keeps = u64::from(shape.servers()).saturating_mul(group_servers) <= MAX_KEPT_VIEWS;
        let kept = if keeps { shape.servers() } else { 0 };
        Some(Dfr {
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

    /// What has failed.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// The hops a packet takes (replacing what `hops` held); they may visit a server twice.
    pub fn hops(&self, source: NodeId, destination: NodeId, hops: &mut Vec<Hop>) -> Result<(), NoPath> {
        let mut scratch = Scratch {
            hops: std::mem::take(hops),
            ..Scratch::default()
        };
        let found = self.find(source, destination, &mut scratch);
        *hops = scratch.hops;
        found
    }

    /// [`Dfr::hops`] into `scratch.hops`.
    fn find(&self, source: NodeId, destination: NodeId, scratch: &mut Scratch) -> Result<(), NoPath> {
        let hops = &mut scratch.hops;
        hops.clear();
        ends_alive(source, destination, &self.failures)?;
        if dcell_routing(&self.shape, source, destination, hops)
            && (self.failures.is_empty() || self.shape.path_alive(source, hops, &self.failures))
        {
            return Ok(());
        }
        hops.clear();
        if self.failures.is_empty() {
            return Err(NoPath::NotFound);
        }
        let result = self.walk(source, destination, scratch);
        if result.is_err() {
            scratch.hops.clear();
        }
        result
    }

    fn walk(&self, source: NodeId, destination: NodeId, scratch: &mut Scratch) -> Result<(), NoPath> {
        let mut at = source;
        let mut rerouted_in = None;
        for _ in 0..=self.options.retries {
            scratch.plan.clear();
            if !dcell_routing(&self.shape, at, destination, &mut scratch.plan) {
                break;
            }
            let Some(broken) = self.follow(&mut at, scratch)? else {
                return Ok(());
            };
            let here = self.shape.cell(at, self.group_level());
            at = self
                .reroute(at, destination, broken, rerouted_in, scratch)
                .ok_or(NoPath::NotFound)?;
            rerouted_in = Some(here);
        }
        Err(NoPath::NotFound)
    }

    fn group_level(&self) -> usize {
        self.options.group_level.min(self.shape.k)
    }

    /// What the server at `at` knows of its DCell_b: the kept view, or one made in `scratch`.
    fn view<'a>(&'a self, at: NodeId, scratch: &'a mut Group) -> &'a Group {
        let search = |group: &mut Group| group.search(&self.shape, &self.failures, self.group_level(), at);
        match self.views.get(at as usize) {
            Some(kept) => kept.get_or_init(|| {
                let mut group = Group::default();
                search(&mut group);
                group
            }),
            None => {
                search(scratch);
                scratch
            }
        }
    }

    /// Follows the plan, which is DCellRouting's path, as far as it goes: by link state to the first link
    /// out of each DCell_b, over it, and on. `at` ends in the DCell_b where the way out is broken.
    ///
    /// The level of that link; nothing at the destination.
    fn follow(&self, at: &mut NodeId, scratch: &mut Scratch) -> Result<Option<usize>, NoPath> {
        let (shape, failures, level) = (&self.shape, &self.failures, self.group_level());
        let Scratch { hops, plan, view } = scratch;
        let mut rest = &plan[..];
        loop {
            let leaves = rest.iter().position(|hop| usize::from(hop.level) > level);
            let inside = &rest[..leaves.unwrap_or(rest.len())];
            let end = inside.last().map_or(*at, |hop| hop.server);
            let out = leaves.map(|position| rest[position]);
            let out_alive =
                out.is_none_or(|out| shape.hop_alive(end, out.server, usize::from(out.level), failures));
            let mark = hops.len();
            let reached = out_alive
                && if shape.path_alive(*at, inside, failures) {
                    hops.extend_from_slice(inside);
                    true
                } else {
                    self.view(*at, view).path_to(end, hops)
                };
            match out {
                // In the destination's own DCell_b link state knows all there is to know.
                None if reached => return Ok(None),
                None => return Err(NoPath::NotFound),
                Some(out) if reached => {
                    hops.push(out);
                    *at = out.server;
                    rest = &rest[inside.len() + 1..];
                }
                Some(out) => {
                    hops.truncate(mark);
                    return Ok(Some(usize::from(out.level)));
                }
            }
        }
    }

    /// Local reroute: on to the nearest proxy, one level higher where jump-up applies. The proxy.
    fn reroute(
        &self,
        at: NodeId,
        destination: NodeId,
        broken: usize,
        rerouted_in: Option<u64>,
        scratch: &mut Scratch,
    ) -> Option<NodeId> {
        let shape = &self.shape;
        let view = self.view(at, &mut scratch.view);
        let outside = shape.common_level(at, destination) > broken;
        let levels = [broken + usize::from(outside), broken];
        let proxy = |level: usize, avoid: Option<u64>| {
            view.nearest_first().find_map(|near| {
                let far = shape.peer(near, level)?;
                let fits = avoid != Some(shape.cell(far, self.group_level()))
                    && shape.hop_alive(near, far, level, &self.failures);
                fits.then_some((near, far, level))
            })
        };
        let (near, far, level) = [rerouted_in, None]
            .into_iter()
            .find_map(|avoid| levels.into_iter().find_map(|level| proxy(level, avoid)))?;
        view.path_to(near, &mut scratch.hops);
        scratch.hops.push(Hop {
            server: far,
            level: level as u8,
        });
        Some(far)
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
        _flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        let mut hops = Vec::with_capacity(1 << (self.shape.k + 1));
        self.hops(source, destination, &mut hops)?;
        self.shape.push_links(source, &hops, path);
        Ok(())
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let mut scratch = Scratch::default();
        routed.fill(flows, |flow, links| {
            self.find(flow.source, flow.destination, &mut scratch)?;
            self.shape.push_links(flow.source, &scratch.hops, links);
            Ok(())
        });
    }
}
