//! The routing service: shortest paths by link state, each hop over a link that is free.
//! `[camcube §2.1.2]`

use cubeyard_topology::{NodeId, Topology};

use super::shape::{Shape, Ties, Ways};
use super::steps::Steps;
use crate::failures::Failures;
use crate::path::{DirectedLink, Flow, NoPath, Routed, Router};
use crate::random::Draws;
use crate::shortest::{Choice, Shortest};

/// Every hop takes a random one of the links that lie on a shortest live path: which link is free
/// first is chance to a flow.
#[derive(Debug)]
pub struct Multipath {
    steps: Steps,
    /// Link state, where something has failed.
    around: Option<Shortest>,
}

impl Multipath {
    /// The routing service, both ways round where they are equally long; `None` for other families.
    pub fn new(topology: &Topology, failures: Failures) -> Option<Multipath> {
        Multipath::with_ties(topology, failures, Ties::Both)
    }

    /// The routing service with a rule for ties, which counts only while nothing has failed.
    pub fn with_ties(topology: &Topology, failures: Failures, ties: Ties) -> Option<Multipath> {
        let shape = Shape::new(topology)?;
        let around = (!failures.is_empty()).then(|| Shortest::new(topology, failures, Choice::Equal));
        let steps = Steps::new(&shape, ties);
        Some(Multipath { steps, around })
    }
}

impl Router for Multipath {
    fn name(&self) -> &'static str {
        "torus-multipath"
    }

    fn route(
        &self,
        source: NodeId,
        destination: NodeId,
        flow: u64,
        path: &mut Vec<DirectedLink>,
    ) -> Result<(), NoPath> {
        if let Some(around) = &self.around {
            return around.route(source, destination, flow, path);
        }
        path.clear();
        let flow = Flow {
            source,
            destination,
            seed: flow,
        };
        self.steps.append(&flow, path);
        Ok(())
    }

    fn route_batch(&self, flows: &[Flow], routed: &mut Routed) {
        let Some(shortest) = &self.around else {
            routed.ends.clear();
            routed.dropped.clear();
            let Routed { links, ends, .. } = routed;
            links.resize(self.steps.room(flows.len()), 0);
            let (pairs, last) = flows.as_chunks();
            let mut end = 0;
            for [item, other] in pairs {
                let [first, second] = self.steps.write_two([item, other], &mut links[end..]);
                ends.extend([end + first, end + first + second].map(|end| end as u32));
                end += first + second;
            }
            links.truncate(end);
            for flow in last {
                self.steps.append(flow, links);
                ends.push(links.len() as u32);
            }
            return;
        };
        let mut around = Vec::new();
        routed.fill(flows, |flow, links| {
            shortest.route(flow.source, flow.destination, flow.seed, &mut around)?;
            links.extend_from_slice(&around);
            Ok(())
        });
    }
}

/// The ways (axis, up) on a shortest path to another server, and how many there are.
pub(super) fn ways_nearer(shape: &Shape, at: NodeId, to: NodeId, ties: Ties) -> ([(usize, bool); 6], usize) {
    let mut ways = [(0, false); 6];
    let mut count = 0;
    for axis in 0..3 {
        for (nearer, up) in shape.nearer(at, to, axis, ties).into_iter().zip([true, false]) {
            if nearer {
                ways[count] = (axis, up);
                count += 1;
            }
        }
    }
    (ways, count)
}

/// Appends a shortest path, either way round half a ring.
pub fn append_shortest(
    shape: &Shape,
    from: NodeId,
    to: NodeId,
    ways: Ways,
    draws: &mut Draws,
    path: &mut Vec<DirectedLink>,
) {
    let mut at = from;
    while at != to {
        let (nearer, count) = ways_nearer(shape, at, to, Ties::Both);
        let (axis, up) = match ways {
            Ways::First => nearer[0],
            Ways::Drawn => nearer[draws.below(count as u32) as usize],
        };
        let (next, directed) = shape.step(at, axis, up);
        path.push(directed);
        at = next;
    }
}

/// Packets on every directed link when each server sends one to `root` by the routing service: a
/// link carries one packet at a time, and a packet takes the first free link on a shortest path. In
/// every round each server thus sends as many packets as it has such links, over different ones
/// drawn at random when it has fewer.
pub fn routing_service_loads(shape: &Shape, root: NodeId, ties: Ties, seed: u64) -> Vec<u32> {
    let mut loads = vec![0; shape.directed_links()];
    let mut waiting = vec![1u32; shape.servers() as usize];
    waiting[root as usize] = 0;
    let mut arriving = vec![0u32; waiting.len()];
    let mut draws = Draws::new(seed);
    let mut left = u64::from(shape.servers()) - 1;
    while left > 0 {
        for at in (0..shape.servers()).filter(|&server| server != root) {
            let queue = waiting[at as usize];
            if queue == 0 {
                continue;
            }
            let (mut ways, count) = ways_nearer(shape, at, root, ties);
            draws.shuffle(&mut ways[..count]);
            let sent = count.min(queue as usize);
            for &(axis, up) in &ways[..sent] {
                let (next, directed) = shape.step(at, axis, up);
                loads[directed as usize] += 1;
                arriving[next as usize] += 1;
            }
            waiting[at as usize] -= sent as u32;
        }
        left -= u64::from(std::mem::take(&mut arriving[root as usize]));
        for (waiting, arriving) in waiting.iter_mut().zip(&mut arriving) {
            *waiting += std::mem::take(arriving);
        }
    }
    loads
}

/// The throughput of one flow over the routing service if its source fills every link that it may
/// use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Saturated {
    /// The rate that arrives, in units of a link's rate.
    pub delivered: f64,
    /// The rate on all links together, including packets that are lost later.
    pub carried: f64,
}

/// One flow alone, as a fluid of packets. A server divides what it gets evenly among its links on
/// shortest paths, or fills one after the other, and loses what they cannot carry: paths that meet
/// congest, though there is nothing else in the network.
pub fn saturated_flow(
    shape: &Shape,
    source: NodeId,
    destination: NodeId,
    ties: Ties,
    order: Ways,
) -> Saturated {
    let mut flow = Saturated::default();
    let mut inflow = vec![0.0; shape.servers() as usize];
    // As much as any number of links can carry.
    inflow[source as usize] = 6.0;
    let mut here = vec![source];
    for _ in 0..shape.distance(source, destination) {
        let mut next = Vec::new();
        for at in here {
            let (ways, count) = ways_nearer(shape, at, destination, ties);
            let even = (inflow[at as usize] / count as f64).min(1.0);
            let mut left = inflow[at as usize];
            for &(axis, up) in &ways[..count] {
                let each = match order {
                    Ways::Drawn => even,
                    Ways::First => left.min(1.0),
                };
                left -= each;
                if each <= 0.0 {
                    break;
                }
                let to = shape.moved(at, axis, if up { 1 } else { -1 });
                if inflow[to as usize] == 0.0 {
                    next.push(to);
                }
                inflow[to as usize] += each;
                flow.carried += each;
            }
        }
        here = next;
    }
    flow.delivered = if source == destination {
        0.0
    } else {
        inflow[destination as usize]
    };
    flow
}
