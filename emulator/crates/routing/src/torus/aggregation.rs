//! The aggregation service: one deterministic path, axis after axis, so that packets meet.
//! `[camcube §3.4]`

use cubeyard_topology::address::TorusAddresses;
use cubeyard_topology::{NodeId, Topology};

use super::shape::{Shape, Ties, nearer};
use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, ends_alive};
use crate::shortest::{Choice, Shortest};

/// Axes in the order x, y, z.
pub const XYZ: [usize; 3] = [0, 1, 2];

/// The next step of dimension order (axis, up) with the axes in this order, always upwards where
/// both ways are equal; `None` at the end.
pub fn dimension_order(
    torus: &TorusAddresses,
    axes: [usize; 3],
    at: NodeId,
    to: NodeId,
) -> Option<(usize, bool)> {
    axes.into_iter().find_map(|axis| {
        let nearer = nearer(torus, at, to, axis, Ties::Up);
        (nearer != [false, false]).then_some((axis, nearer[0]))
    })
}

/// Dimension order as a scheme; where the next step is broken, the routing service takes over.
#[derive(Debug)]
pub struct DimensionOrder {
    shape: Shape,
    failures: Failures,
    around: Option<Shortest>,
}

impl DimensionOrder {
    /// Dimension order on a torus; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<DimensionOrder> {
        let shape = Shape::new(topology)?;
        let around = (!failures.is_empty()).then(|| Shortest::new(topology, failures.clone(), Choice::First));
        Some(DimensionOrder {
            shape,
            failures,
            around,
        })
    }
}

impl Router for DimensionOrder {
    fn name(&self) -> &'static str {
        "torus-dimension"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        path.clear();
        ends_alive(source, destination, &self.failures)?;
        let mut at = source;
        while let Some((axis, up)) = dimension_order(&self.shape, XYZ, at, destination) {
            let (next, directed) = self.shape.step(at, axis, up);
            if !self.shape.alive(next, directed, &self.failures) {
                let mut rest = Vec::new();
                let around = self.around.as_ref().ok_or(NoPath::NotFound)?;
                if let Err(reason) = around.route(at, destination, flow, &mut rest) {
                    path.clear();
                    return Err(reason);
                }
                path.extend_from_slice(&rest);
                return Ok(());
            }
            path.push(directed);
            at = next;
        }
        Ok(())
    }
}

/// Packets on every directed link if each server sends one to `root`: with `full` aggregation,
/// packets that meet are merged into one; otherwise each continues alone.
pub fn aggregation_loads(shape: &Shape, root: NodeId, full: bool) -> Vec<u32> {
    let mut loads = vec![0; shape.directed_links()];
    for server in 0..shape.servers() {
        let mut at = server;
        while let Some((axis, up)) = dimension_order(shape, XYZ, at, root) {
            let (next, directed) = shape.step(at, axis, up);
            loads[directed as usize] += 1;
            at = next;
            if full {
                // The rest of the path carries the next server's own packet, which contains this
                // one.
                break;
            }
        }
    }
    loads
}

/// How packets spread over links; percentiles by nearest rank over the links used.
/// `[camcube Table 1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStress {
    /// Links with at least one packet.
    pub links_used: u64,
    /// Packets on all links.
    pub packets: u64,
    /// Median packets of a used link.
    pub median: u32,
    /// The 90th percentile.
    pub percentile_90: u32,
    /// The 99th percentile.
    pub percentile_99: u32,
    /// The largest value.
    pub maximum: u32,
}

/// The spread of packets over directed links; all zero where there are none.
pub fn link_stress(loads: &[u32]) -> LinkStress {
    let mut used: Vec<u32> = loads.iter().copied().filter(|&load| load > 0).collect();
    used.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (used.len() * percent).div_ceil(100);
        used.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    };
    LinkStress {
        links_used: used.len() as u64,
        packets: used.iter().map(|&load| u64::from(load)).sum(),
        median: percentile(50),
        percentile_90: percentile(90),
        percentile_99: percentile(99),
        maximum: percentile(100),
    }
}
