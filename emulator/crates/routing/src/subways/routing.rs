//! Up and down over a server's ToRs. `[subways §4.2, §4.3, §5.2]`
//!
//! If source and destination share a ToR, the flow goes through one such, each as likely. Otherwise
//! it takes one of the source's ToRs and one of the destination's, chosen independently, and a
//! random way between the two: by an aggregation switch of their cluster, else by the core.

use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, NoPath, Router, a_to_b, ends_alive};
use crate::random::Draws;

/// Random draws of a way between two ToRs before all are tried.
const DRAWS: u32 = 16;

/// Probability of each ToR relative to the server's other ToRs; by ToR in id order.
#[derive(Clone, Debug, PartialEq)]
pub struct TorWeights {
    /// As a source's ToR.
    pub source: Vec<f64>,
    /// As a destination's ToR.
    pub destination: Vec<f64>,
}

/// Probability of each link of a server relative to its other links; by link, entries of other
/// links unused.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkWeights {
    /// Where the server sends.
    pub source: Vec<f64>,
    /// The weights of a server's links for receiving.
    pub destination: Vec<f64>,
}

impl LinkWeights {
    /// Every link of a server as likely: before any load is known.
    pub fn equal(topology: &Topology) -> LinkWeights {
        LinkWeights {
            source: vec![1.0; topology.links().len()],
            destination: vec![1.0; topology.links().len()],
        }
    }
}

/// A live link upwards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Up {
    pub directed: DirectedLink,
    pub above: NodeId,
    /// Probability of the link relative to the node's other links: upwards, and downwards.
    weight: [f64; 2],
}

/// Up and down over a server's ToRs by given weights.
#[derive(Debug)]
pub struct SubwaysRouting {
    name: &'static str,
    starts: Vec<u32>,
    ups: Vec<Up>,
    failures: Failures,
}

/// A flow's choice at one end: a link of the server, and the switches above it.
type Access = Up;

impl SubwaysRouting {
    /// Every link of a server as likely. `None` for other families.
    pub fn equal(topology: &Topology, failures: Failures) -> Option<SubwaysRouting> {
        SubwaysRouting::build("subways-ecmp", topology, failures, |_, _| [1.0; 2])
    }

    /// A server's links in proportion to their rates (2/7 and 5/7 with 10 and 25 Gb/s). `None` for
    /// other families.
    pub fn by_rate(topology: &Topology, failures: Failures) -> Option<SubwaysRouting> {
        let links = topology.links();
        SubwaysRouting::build("subways-wcmp", topology, failures, |link, _| {
            [links.rate_bits_per_sec(link); 2]
        })
    }

    /// A server's ToRs by weights, as the loop's controller gives them (see
    /// [`super::placement_weights`]). `None` for other families or where weights are not one a ToR.
    pub fn by_tor(topology: &Topology, failures: Failures, weights: &TorWeights) -> Option<SubwaysRouting> {
        let tors = topology.tiers().first()?;
        if weights.source.len() != tors.count as usize || weights.destination.len() != tors.count as usize {
            return None;
        }
        SubwaysRouting::build(super::ADAPTIVE, topology, failures, |_, tor| {
            let index = (tor - tors.first) as usize;
            [weights.source[index], weights.destination[index]]
        })
    }

    /// Adaptive balancing before any load is known: every link of a server as likely. `None` for
    /// other families.
    pub fn adaptive(topology: &Topology, failures: Failures) -> Option<SubwaysRouting> {
        SubwaysRouting::build(super::ADAPTIVE, topology, failures, |_, _| [1.0; 2])
    }

    /// Chooses among a server's links by their weights (see [`super::rebind_probabilities`]).
    /// `None` for other families or if the number of weights differs from the number of links.
    pub fn by_link(topology: &Topology, failures: Failures, weights: &LinkWeights) -> Option<SubwaysRouting> {
        let links = topology.links().len();
        if weights.source.len() != links || weights.destination.len() != links {
            return None;
        }
        SubwaysRouting::build(super::ADAPTIVE, topology, failures, |link, _| {
            [weights.source[link], weights.destination[link]]
        })
    }

    fn build(
        name: &'static str,
        topology: &Topology,
        failures: Failures,
        weight: impl Fn(usize, NodeId) -> [f64; 2],
    ) -> Option<SubwaysRouting> {
        let TopologySpec::Subways(_) = topology.spec() else {
            return None;
        };
        let links = topology.links();
        let live = |link: usize| failures.carries(links, link);
        let mut starts = vec![0u32; topology.node_count() as usize + 1];
        for link in (0..links.len()).filter(|&link| live(link)) {
            starts[links.a[link] as usize + 1] += 1;
        }
        for node in 1..starts.len() {
            starts[node] += starts[node - 1];
        }
        let mut next = starts.clone();
        let none = Up {
            directed: 0,
            above: 0,
            weight: [0.0; 2],
        };
        let mut ups = vec![none; starts[starts.len() - 1] as usize];
        for link in (0..links.len()).filter(|&link| live(link)) {
            let (below, above) = (links.a[link], links.b[link]);
            ups[next[below as usize] as usize] = Up {
                directed: a_to_b(link as u32),
                above,
                weight: if topology.is_server(below) {
                    weight(link, above)
                } else {
                    [1.0; 2]
                },
            };
            next[below as usize] += 1;
        }
        Some(SubwaysRouting {
            name,
            starts,
            ups,
            failures,
        })
    }

    pub(super) fn ups(&self, node: NodeId) -> &[Up] {
        &self.ups[self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize]
    }

    /// The live link from a server up to a ToR.
    pub(super) fn link(&self, server: NodeId, tor: NodeId) -> Option<DirectedLink> {
        let up = self.ups(server).iter().find(|up| up.above == tor);
        up.map(|up| up.directed)
    }

    /// Appends a random way between two different ToRs; whether there is one.
    pub(super) fn between(
        &self,
        from: NodeId,
        to: NodeId,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
        let (here, there) = (self.ups(from), self.ups(to));
        let meets = |above: NodeId| there.iter().filter(move |down| down.above == above);
        let near = here.iter().filter(|up| meets(up.above).next().is_some()).count();
        if near > 0 {
            let pick = draws.below(near as u32) as usize;
            let Some(up) = here
                .iter()
                .filter(|up| meets(up.above).next().is_some())
                .nth(pick)
            else {
                return false;
            };
            let pick = draws.below(meets(up.above).count() as u32) as usize;
            let Some(down) = meets(up.above).nth(pick) else {
                return false;
            };
            path.extend([up.directed, down.directed ^ 1]);
            return true;
        }
        // By the core: the ways up on the far side that lead to the core switch reached on this
        // one.
        let by_core = |up: &Up, core: &Up, draws: &mut Draws, path: &mut Vec<DirectedLink>| {
            let far = || {
                there.iter().flat_map(|down| {
                    self.ups(down.above)
                        .iter()
                        .filter(move |other| other.above == core.above)
                        .map(move |other| (other, down))
                })
            };
            let count = far().count() as u32;
            let Some((other, down)) = (count > 0)
                .then(|| draws.below(count))
                .and_then(|pick| far().nth(pick as usize))
            else {
                return false;
            };
            path.extend([up.directed, core.directed, other.directed ^ 1, down.directed ^ 1]);
            true
        };
        if here.is_empty() || there.is_empty() {
            return false;
        }
        for _ in 0..DRAWS {
            let up = &here[draws.below(here.len() as u32) as usize];
            let cores = self.ups(up.above);
            if cores.is_empty() {
                continue;
            }
            let core = &cores[draws.below(cores.len() as u32) as usize];
            if by_core(up, core, draws, path) {
                return true;
            }
        }
        here.iter().any(|up| {
            self.ups(up.above)
                .iter()
                .any(|core| by_core(up, core, draws, path))
        })
    }

    /// The way through two chosen links of the ends.
    fn through(
        &self,
        first: &Access,
        last: &Access,
        draws: &mut Draws,
        path: &mut Vec<DirectedLink>,
    ) -> bool {
        path.clear();
        path.push(first.directed);
        if first.above != last.above && !self.between(first.above, last.above, draws, path) {
            path.clear();
            return false;
        }
        path.push(last.directed ^ 1);
        true
    }
}

/// One of a server's links by weight; `None` where none is alive.
pub(super) fn draw<'a>(links: &'a [Up], side: usize, draws: &mut Draws) -> Option<&'a Up> {
    let total: f64 = links.iter().map(|up| up.weight[side]).sum();
    let mut left = draws.unit() * total;
    links
        .iter()
        .find(|up| {
            left -= up.weight[side];
            left < 0.0
        })
        .or(links.last())
}

impl Router for SubwaysRouting {
    fn name(&self) -> &'static str {
        self.name
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
        let (ups, downs) = (self.ups(source), self.ups(destination));
        let mut draws = Draws::new(flow);
        // The source prefers a shared ToR, by any pair of links that meet there.
        let shared = || {
            ups.iter()
                .flat_map(|up| downs.iter().map(move |down| (up, down)))
                .filter(|(up, down)| up.above == down.above)
        };
        let count = shared().count() as u32;
        if count > 0
            && let Some((up, down)) = shared().nth(draws.below(count) as usize)
        {
            path.extend([up.directed, down.directed ^ 1]);
            return Ok(());
        }
        let (Some(up), Some(down)) = (draw(ups, 0, &mut draws), draw(downs, 1, &mut draws)) else {
            return Err(NoPath::NotFound);
        };
        let found = self.through(up, down, &mut draws, path)
            || ups
                .iter()
                .any(|up| downs.iter().any(|down| self.through(up, down, &mut draws, path)));
        found.then_some(()).ok_or(NoPath::NotFound)
    }
}
