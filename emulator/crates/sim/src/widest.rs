//! Choice by probing an idle network: if capacities differ, a flow takes the path with the most
//! bandwidth.

use cubeyard_routing::random::Draws;
use cubeyard_routing::{DirectedLink, NoPath, PathSet, Router};
use cubeyard_topology::NodeId;

/// BSR on links of unequal capacity. A flow keeps the path that it draws unless its probes measure
/// more bandwidth on another of its good paths; then it takes one of the widest. If all links have
/// equal capacity, paths are those of BSR itself. `[bcube §4.2]`, which flows move `[ours]`
pub struct Widest {
    drawn: Box<dyn Router>,
    /// The same scheme as one that names its good paths.
    good: Box<dyn Router>,
    /// By directed link, in any one unit.
    capacity: Vec<f64>,
    most: f64,
}

impl Widest {
    /// Over a scheme, and the same scheme as one that names its good paths.
    pub fn new(drawn: Box<dyn Router>, good: Box<dyn Router>, capacity: &[f64]) -> Widest {
        Widest {
            drawn,
            good,
            capacity: capacity.to_vec(),
            most: capacity.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The bandwidth of a path for a single flow; infinite for the path from a server to itself.
    fn width(&self, path: &[DirectedLink]) -> f64 {
        let widths = path.iter().map(|&link| self.capacity[link as usize]);
        widths.fold(self.most, f64::min)
    }
}

impl Router for Widest {
    fn name(&self) -> &'static str {
        self.drawn.name()
    }

    /// As in the scheme itself; the other good paths are examined only if the drawn path crosses a
    /// degraded link.
    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        self.drawn.route(source, destination, flow, path)?;
        let width = self.width(path);
        let (true, Some(good)) = (width < self.most, self.good.multipath()) else {
            return Ok(());
        };
        let mut paths = PathSet::default();
        if good.good_paths(source, destination, flow, &mut paths).is_err() {
            return Ok(());
        }
        let widest = paths.iter().map(|path| self.width(path)).fold(width, f64::max);
        if widest > width {
            let wide: Vec<&[DirectedLink]> = paths.iter().filter(|path| self.width(path) >= widest).collect();
            path.clear();
            path.extend_from_slice(wide[Draws::new(flow).below(wide.len() as u32) as usize]);
        }
        Ok(())
    }
}
