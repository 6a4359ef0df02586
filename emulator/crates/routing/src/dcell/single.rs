//! DCellRouting: the single path of the structure itself. `[dcell §4.1]`

use cubeyard_topology::{NodeId, Topology};

use super::near::NearPaths;
use super::shape::{Hop, Shape};
use crate::failures::Failures;
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router, alone, ends_alive};

/// Appends the hops of DCellRouting from `from` to `to`: the link between the two sub-DCells in
/// which they first differ, and the same again on both sides of it. At most `2^(k+1) - 1` hops.
///
/// A partial DCell may lack that link; then the path goes through the lowest sub-DCell that is
/// linked with both (`[ours]`: the paper's partial DCell has none missing). Whether a path was
/// found.
pub fn dcell_routing(shape: &Shape, from: NodeId, to: NodeId, hops: &mut Vec<Hop>) -> bool {
    if from == to {
        return true;
    }
    let level = shape.common_level(from, to);
    if level == 0 {
        hops.push(Hop { server: to, level: 0 });
        return true;
    }
    let (here, there) = (shape.cell(from, level - 1), shape.cell(to, level - 1));
    if let Some(bridge) = shape.bridge(level, here, there) {
        return cross(shape, from, level, bridge.near, bridge.far, hops)
            && dcell_routing(shape, bridge.far, to, hops);
    }
    let siblings = shape.siblings(level);
    let first = here / siblings * siblings;
    let end = first.saturating_add(siblings).min(shape.cells_end(level - 1));
    for between in first..end {
        if between == here || between == there {
            continue;
        }
        let (Some(out), Some(back)) = (
            shape.bridge(level, here, between),
            shape.bridge(level, between, there),
        ) else {
            continue;
        };
        let mark = hops.len();
        if cross(shape, from, level, out.near, out.far, hops)
            && dcell_routing(shape, out.far, back.near, hops)
            && cross(shape, back.near, level, back.near, back.far, hops)
            && dcell_routing(shape, back.far, to, hops)
        {
            return true;
        }
        hops.truncate(mark);
    }
    false
}

fn cross(shape: &Shape, from: NodeId, level: usize, near: NodeId, far: NodeId, hops: &mut Vec<Hop>) -> bool {
    if !dcell_routing(shape, from, near, hops) {
        return false;
    }
    hops.push(Hop {
        server: far,
        level: level as u8,
    });
    true
}

/// DCellRouting without repair: a broken path is a dropped flow.
#[derive(Debug)]
pub struct DcellRouting {
    shape: Shape,
    failures: Failures,
    near: NearPaths,
}

impl DcellRouting {
    /// DCellRouting on a DCell; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<DcellRouting> {
        Shape::new(topology).map(|shape| DcellRouting {
            near: NearPaths::new(&shape, &failures, false),
            shape,
            failures,
        })
    }

    /// Appends the flow's path. If there is no path, the caller must discard the appended links.
    #[inline]
    fn append(
        &self,
        source: NodeId,
        destination: NodeId,
        links: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        let (shape, failures) = (&self.shape, &self.failures);
        if !failures.is_empty() {
            ends_alive(source, destination, failures)?;
        }
        let start = links.len();
        let alive = self.near.append(shape, failures, [source, destination], links);
        let alive = alive.unwrap_or_else(|| {
            links.truncate(start);
            let mut hops = Vec::with_capacity(1 << (shape.k() + 1));
            let found = dcell_routing(shape, source, destination, &mut hops);
            shape.push_links(source, &hops, links);
            found && (failures.is_empty() || shape.path_alive(source, &hops, failures))
        });
        if alive { Ok(()) } else { Err(NoPath::NotFound) }
    }
}

impl Router for DcellRouting {
    fn name(&self) -> &'static str {
        "dcell"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        _flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        alone(path, |links| self.append(source, destination, links))
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let mut bundles = self.near.bundles(&self.shape, &self.failures);
        routed.fill(flows, |flow, links| {
            if bundles.append([flow.source, flow.destination], links) {
                return Ok(());
            }
            self.append(flow.source, flow.destination, links)
        });
    }
}
