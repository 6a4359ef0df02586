//! Fat-tree routing: up to a common ancestor, down to the server. `[bcube §6]`
//!
//! Every flow takes a random one of its shortest up-paths, which is what two-level routing tables
//! spread over a whole all-to-all; where that one is broken the flow is re-distributed to an available
//! one, each as likely.

use cubeyard_topology::{FatTreeSpec, NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, ends_alive, link_of};
use crate::ports::{NO_LINK, PortTable};
use crate::random::Draws;

/// Random draws before all choices are listed: with at most a fifth of the switches gone, far more
/// than enough for all but flows with next to no path.
const DRAWS: u32 = 24;

/// Most layers of switches a fat-tree can have.
const LAYERS: usize = 16;

/// Random shortest up-paths, re-distributed on failure.
#[derive(Debug)]
pub struct FatTreeRouting {
    /// Links up of a switch, and down but for the top layer.
    half: u32,
    layers: u32,
    ports: PortTable,
    failures: Failures,
}

impl FatTreeRouting {
    /// Fat-tree routing; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<FatTreeRouting> {
        let TopologySpec::FatTree(FatTreeSpec { ports, layers, .. }) = *topology.spec() else {
            return None;
        };
        Some(FatTreeRouting {
            half: ports / 2,
            layers,
            ports: PortTable::new(topology),
            failures,
        })
    }

    /// The layers a flow climbs above the edge: to the least at which one switch has both below it.
    fn climb(&self, source: NodeId, destination: NodeId) -> usize {
        let (mut a, mut b) = (source / self.half, destination / self.half);
        let mut climb = 0;
        while a != b && climb + 1 < self.layers as usize {
            (a, b) = (a / self.half, b / self.half);
            climb += 1;
        }
        climb
    }

    /// The node past `port`, if the cable and that node are alive.
    #[inline]
    fn step(&self, at: NodeId, port: u32) -> Option<(NodeId, DirectedLink)> {
        let directed = self.ports.outward(at, port);
        if directed == NO_LINK {
            return None;
        }
        let far = self.ports.far(at, port);
        let alive = !self.failures.node_failed(far) && !self.failures.link_failed(link_of(directed));
        alive.then_some((far, directed))
    }

    /// Writes the path whose turn upwards at layer `j` is `turn(j)`, both sides at once: the way down
    /// is the destination's own way up by the same turns, reversed. Whether it is alive.
    fn walk(
        &self,
        ends: [NodeId; 2],
        climb: usize,
        path: &mut [DirectedLink],
        mut turn: impl FnMut() -> u32,
    ) -> bool {
        let last = path.len() - 1;
        let [mut up, mut down] = ends;
        let mut port = 0;
        for layer in 0..=climb {
            let (Some((above, first)), Some((beyond, second))) = (self.step(up, port), self.step(down, port))
            else {
                return false;
            };
            path[layer] = first;
            path[last - layer] = second ^ 1;
            (up, down) = (above, beyond);
            if layer < climb {
                port = self.half + turn();
            }
        }
        up == down
    }

    /// Chooses among all live paths, each as likely, by listing them: both sides of a dead turn are
    /// skipped at once. Whether there is any.
    fn choose_listed(
        &self,
        ends: [NodeId; 2],
        climb: usize,
        path: &mut [DirectedLink],
        draws: &mut Draws,
    ) -> bool {
        let (Some((up, first)), Some((down, second))) = (self.step(ends[0], 0), self.step(ends[1], 0)) else {
            return false;
        };
        let last = path.len() - 1;
        let mut trail = [[0; 2]; LAYERS + 1];
        trail[0] = [first, second ^ 1];
        // Where each layer's search stands: the switches of both sides, and the turn to try next.
        let mut stack = [(up, down, 0); LAYERS + 1];
        let (mut layer, mut found) = (0, 0u32);
        loop {
            let (up, down, turn) = stack[layer];
            let over = layer == climb || turn == self.half;
            if layer == climb {
                found += 1;
                // Reservoir of one: the i-th path replaces the choice with probability 1/i.
                if draws.below(found) == 0 {
                    for (i, &[forth, back]) in trail[..=climb].iter().enumerate() {
                        (path[i], path[last - i]) = (forth, back);
                    }
                }
            }
            if over {
                if layer == 0 {
                    return found > 0;
                }
                layer -= 1;
                continue;
            }
            stack[layer].2 += 1;
            let port = self.half + turn;
            if let (Some((above, first)), Some((beyond, second))) =
                (self.step(up, port), self.step(down, port))
            {
                layer += 1;
                trail[layer] = [first, second ^ 1];
                stack[layer] = (above, beyond, 0);
            }
        }
    }
}

impl Router for FatTreeRouting {
    fn name(&self) -> &'static str {
        "fat-tree"
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
        if source == destination {
            return Ok(());
        }
        let climb = self.climb(source, destination);
        path.resize(2 * climb + 2, 0);
        let mut draws = Draws::new(flow);
        let ends = [source, destination];
        for _ in 0..DRAWS {
            if self.walk(ends, climb, path, || draws.below(self.half)) {
                return Ok(());
            }
            if climb == 0 {
                break;
            }
        }
        if climb > 0 && self.choose_listed(ends, climb, path, &mut draws) {
            return Ok(());
        }
        path.clear();
        Err(NoPath::NotFound)
    }
}
