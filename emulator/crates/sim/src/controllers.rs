//! Subways' controllers in the engine's loop: route, read the ToRs' counters, adjust weights, and
//! repeat until the weights settle; then plan detours around racks that are still hot.
//! `[subways §5.2, §6]`
//!
//! Each round represents one period of the controllers. Flows last forever, and the prediction is
//! the settled state. The order of work is fixed and random draws depend on the flow only, so the
//! result is the same for any number of threads.

use std::ops::Range;
use std::sync::atomic::Ordering;

use cubeyard_routing::subways::{
    BoundLink, DetourRouting, HOT, LinkWeights, LoopLoad, RackDetours, Racks, SubwaysRouting, rack_detours,
    rebind,
};
use cubeyard_routing::{DirectedLink, Failures};
use cubeyard_topology::Topology;

use crate::count::{Cancelled, LinkFlows, Progress, count_links};
use crate::flows::Flows;
use crate::maxmin::max_min_rates;
use crate::paths::Paths;

/// Rounds of rebinding at most; a dozen is common.
const ROUNDS: usize = 32;
/// The weights have settled if none changes by more than this.
const SETTLED: f64 = 1e-3;
/// A server whose flows use a smaller share of its links has no flow to rebind: such a share
/// consists of acknowledgements. `[ours]`
const IDLE: f64 = 0.01;
/// The controllers of one network with one set of failures.
#[derive(Debug)]
pub struct Controllers<'a> {
    topology: &'a Topology,
    racks: Racks,
    failures: Failures,
    /// By directed link; 0 if the link is dead.
    capacity: Vec<f64>,
}

impl<'a> Controllers<'a> {
    /// Takes the capacity of every directed link, in any common unit. `None` for other families
    /// than Subways.
    pub fn new(topology: &'a Topology, failures: Failures, capacity: &[f64]) -> Option<Controllers<'a>> {
        let racks = Racks::of(topology)?;
        let mut capacity = capacity.to_vec();
        for (link, pair) in capacity.chunks_exact_mut(2).enumerate() {
            if !failures.carries(topology.links(), link) {
                pair.fill(0.0);
            }
        }
        Some(Controllers {
            topology,
            racks,
            failures,
            capacity,
        })
    }

    /// Balanced routing for these flows. It returns the round, including the first (plain ECMP), in
    /// which the most loaded link leaves each of its flows the most bandwidth. `None` only for
    /// another family's topology.
    pub fn adaptive(
        &self,
        flows: &Flows,
        seed: u64,
        progress: &Progress,
    ) -> Result<Option<SubwaysRouting>, Cancelled> {
        let weights = self.settle_drawn(flows, seed, progress)?;
        Ok(self.by_weights(&weights))
    }

    /// Balanced routing with the detours that its max-min fair rates call for.
    pub fn detours(
        &self,
        flows: &Flows,
        seed: u64,
        progress: &Progress,
    ) -> Result<Option<DetourRouting>, Cancelled> {
        let mut weights = self.settle_drawn(flows, seed, progress)?;
        let Some(straight) = self.by_weights(&weights) else {
            return Ok(None);
        };
        progress.total.fetch_add(flows.len(), Ordering::Relaxed);
        let paths = Paths::route(&straight, flows, seed, progress)?;
        let rates = max_min_rates(&paths, &self.capacity);
        Ok(self.planned(&paths, &rates, &mut weights))
    }

    /// Routing with the detours that flows need if they send at `rates`, each on its straight path;
    /// removes withdrawn links from `weights`. `None` only for another family's topology.
    pub fn planned(&self, paths: &Paths, rates: &[f64], weights: &mut LinkWeights) -> Option<DetourRouting> {
        let sides = self.sides(paths, rates, weights);
        DetourRouting::new(self.by_weights(weights)?, self.racks, sides)
    }

    /// The detours of every rack, outwards and inwards, that given flows on their paths need;
    /// removes withdrawn links from `weights`.
    pub fn by_rack(&self, paths: &Paths, weights: &mut LinkWeights) -> [Vec<RackDetours>; 2] {
        self.sides(paths, &max_min_rates(paths, &self.capacity), weights)
    }

    fn sides(&self, paths: &Paths, rates: &[f64], weights: &mut LinkWeights) -> [Vec<RackDetours>; 2] {
        [0, 1].map(|side| {
            let side_weights = if side == 0 {
                &mut weights.source
            } else {
                &mut weights.destination
            };
            self.plan(&Seen::of(self, paths, rates, side), side_weights)
        })
    }

    /// Routing without detours by these weights. `None` only for another family's topology.
    pub fn by_weights(&self, weights: &LinkWeights) -> Option<SubwaysRouting> {
        SubwaysRouting::by_link(self.topology, self.failures.clone(), weights)
    }

    /// Settled weights for flows that draw their links by them.
    fn settle_drawn(&self, flows: &Flows, seed: u64, progress: &Progress) -> Result<LinkWeights, Cancelled> {
        let links = self.topology.links();
        self.settle(|weights| {
            let Some(router) = self.by_weights(weights) else {
                return Ok(LinkFlows::empty(links.len() * 2));
            };
            progress.total.fetch_add(flows.len(), Ordering::Relaxed);
            count_links(&router, flows, links.len() * 2, &[], seed, progress)
        })
    }

    /// The weights of the best round: the one in which the most loaded link leaves each of its
    /// flows the most bandwidth. `load` routes all flows by given weights and counts them; its
    /// error ends the rounds.
    pub fn settle<E>(
        &self,
        mut load: impl FnMut(&LinkWeights) -> Result<LinkFlows, E>,
    ) -> Result<LinkWeights, E> {
        let mut weights = LinkWeights::equal(self.topology);
        let mut best = (0.0, weights.clone());
        for _ in 0..ROUNDS {
            let load = load(&weights)?;
            let least = self.least_share(&load);
            if least > best.0 {
                best = (least, weights.clone());
            }
            if !self.rebind(&load, &mut weights) {
                break;
            }
        }
        Ok(best.1)
    }

    /// The smallest share that any link leaves a flow, if links are shared equally.
    fn least_share(&self, load: &LinkFlows) -> f64 {
        let used = load.per_directed_link.iter().zip(&self.capacity);
        used.filter(|&(&flows, _)| flows > 0)
            .map(|(&flows, capacity)| capacity / f64::from(flows))
            .fold(f64::INFINITY, f64::min)
    }

    /// One round of rebinding at every server by the number of flows on links; returns whether a
    /// weight changed.
    fn rebind(&self, load: &LinkFlows, weights: &mut LinkWeights) -> bool {
        let flows = load.per_directed_link.iter();
        let per_link: Vec<f64> = flows.map(|&flows| f64::from(flows)).collect();
        let mut moved = false;
        for side in 0..2 {
            let (capacity, density) = self.utilisation(&per_link, side);
            // Flows have no rate here, so utilisation is relative to the fullest ToR's.
            let fullest = density.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            moved |= self.rebind_side(side, weights, |link, share| {
                let tor = self.racks.tor_of(self.topology.links().b[link]);
                BoundLink {
                    tor_capacity: capacity[tor],
                    tor_utilisation: density[tor] / fullest,
                    weight: share,
                    // A large number of flows splits exactly by weight.
                    carried: share,
                    rate: 1.0,
                }
            });
        }
        moved
    }

    /// One round of rebinding at every server by the load of links (`rates` by directed link, in
    /// the unit of the capacities); returns whether a weight changed. Linear in the links.
    pub fn rebind_by_rates(&self, rates: &[f64], weights: &mut LinkWeights) -> bool {
        let mut moved = false;
        for side in 0..2 {
            let (capacity, used) = self.utilisation(rates, side);
            moved |= self.rebind_side(side, weights, |link, share| {
                let tor = self.racks.tor_of(self.topology.links().b[link]);
                BoundLink {
                    tor_capacity: capacity[tor],
                    tor_utilisation: used[tor].min(1.0),
                    weight: share,
                    carried: rates[2 * link + side],
                    rate: self.capacity[2 * link + side],
                }
            });
        }
        moved
    }

    /// The capacity of each ToR's uplinks in one direction, and how much of it a value by directed
    /// link is; 0 without uplinks.
    fn utilisation(&self, per_link: &[f64], side: usize) -> (Vec<f64>, Vec<f64>) {
        let (used, capacity) = (self.by_tor(per_link, side), self.by_tor(&self.capacity, side));
        let of = |(used, capacity): (&f64, &f64)| if *capacity > 0.0 { used / capacity } else { 0.0 };
        let fractions = used.iter().zip(&capacity).map(of).collect();
        (capacity, fractions)
    }

    /// One direction of a round. `bound` is a server's link with the share of its flows that are
    /// bound to it.
    fn rebind_side(
        &self,
        side: usize,
        weights: &mut LinkWeights,
        bound: impl Fn(usize, f64) -> BoundLink,
    ) -> bool {
        let side_weights = if side == 0 {
            &mut weights.source
        } else {
            &mut weights.destination
        };
        let mut moved = false;
        for links in self.links_by_server() {
            let total: f64 = links.iter().map(|&link| side_weights[link]).sum();
            let shares: Vec<f64> = links.iter().map(|&link| side_weights[link] / total).collect();
            let each = links.iter().zip(&shares);
            let mut bound: Vec<BoundLink> = each.map(|(&link, &share)| bound(link, share)).collect();
            let sum = |of: fn(&BoundLink) -> f64| bound.iter().map(of).sum::<f64>();
            if sum(|link| link.carried) < IDLE * sum(|link| link.rate) {
                bound.iter_mut().for_each(|link| link.carried = 0.0);
            }
            for ((&link, new), old) in links.iter().zip(rebind(&bound)).zip(shares) {
                moved |= (new - old).abs() > SETTLED;
                side_weights[link] = new;
            }
        }
        moved
    }

    /// The live links of each server to ToRs that have a live uplink, for servers that have
    /// several.
    fn links_by_server(&self) -> Vec<Vec<usize>> {
        let links = self.topology.links();
        let up = self.by_tor(&self.capacity, 0);
        let mut by_server = vec![Vec::new(); self.topology.server_count() as usize];
        for link in 0..links.len() {
            if self.topology.is_server(links.a[link])
                && self.capacity[2 * link] > 0.0
                && up[self.racks.tor_of(links.b[link])] > 0.0
            {
                by_server[links.a[link] as usize].push(link);
            }
        }
        by_server.retain(|links| links.len() > 1);
        by_server
    }

    /// Sums over each ToR's uplinks of a value by directed link; side 0 upwards.
    fn by_tor(&self, per_link: &[f64], side: usize) -> Vec<f64> {
        let links = self.topology.links();
        let mut sums = vec![0.0; self.racks.count];
        let first = self.racks.tor_node(0);
        for link in 0..links.len() {
            if (first..first + self.racks.count as u32).contains(&links.a[link]) {
                sums[self.racks.tor_of(links.a[link])] += per_link[2 * link + side];
            }
        }
        sums
    }

    /// One direction's detours of every rack; removes withdrawn links from `weights`.
    fn plan(&self, seen: &Seen, weights: &mut [f64]) -> Vec<RackDetours> {
        let ring = self.racks.ring;
        let links = self.topology.links();
        let mut all = Vec::with_capacity(self.racks.count);
        for number in 0..self.racks.loops() {
            let first = number * ring.size;
            let here = first..first + ring.size;
            let (detours, withdrawn) = rack_detours(ring, &seen.of_loop(here.clone()));
            for link in (0..links.len()).filter(|&link| self.topology.is_server(links.a[link])) {
                let (rack, tor) = (
                    self.racks.rack_of(links.a[link]),
                    self.racks.tor_of(links.b[link]),
                );
                if here.contains(&rack) && withdrawn.contains(&(rack - first, tor - first)) {
                    weights[link] = 0.0;
                }
            }
            all.extend(detours);
        }
        all
    }
}

/// The schedulers' input for one direction, by ToR or rack, in the unit of the capacities.
struct Seen(LoopLoad);

impl Seen {
    fn of(controllers: &Controllers<'_>, paths: &Paths, rates: &[f64], side: usize) -> Seen {
        let racks = controllers.racks;
        let links = controllers.topology.links();
        let mut per_link = vec![0.0; controllers.capacity.len()];
        let mut straight = vec![0.0; racks.count];
        for (flow, rate) in rates.iter().enumerate() {
            let path = paths.path(flow);
            // A path through a shared ToR has two links.
            let own: Option<&DirectedLink> = if side == 0 { path.first() } else { path.last() };
            if let (Some(own), true) = (own, path.len() > 2) {
                straight[racks.rack_of(links.a[(own / 2) as usize])] += rate;
                path.iter().for_each(|&link| per_link[link as usize] += rate);
            }
        }
        let capacity = controllers.by_tor(&controllers.capacity, side);
        let used = controllers.by_tor(&per_link, side);
        let mut link_capacity: Vec<f64> = straight.iter().map(|sent| -sent).collect();
        for link in (0..links.len()).filter(|&link| controllers.topology.is_server(links.a[link])) {
            link_capacity[racks.rack_of(links.a[link])] += controllers.capacity[2 * link + side];
        }
        Seen(LoopLoad {
            // A ToR without a live uplink has no utilisation and no free capacity.
            hot: used
                .iter()
                .zip(&capacity)
                .map(|(used, capacity)| *used > HOT * capacity)
                .collect(),
            left_over: used
                .iter()
                .zip(&capacity)
                .map(|(used, capacity)| (capacity - used).max(0.0))
                .collect(),
            link_capacity,
            straight,
        })
    }

    /// The part of one loop.
    fn of_loop(&self, here: Range<usize>) -> LoopLoad {
        LoopLoad {
            hot: self.0.hot[here.clone()].to_vec(),
            left_over: self.0.left_over[here.clone()].to_vec(),
            link_capacity: self.0.link_capacity[here.clone()].to_vec(),
            straight: self.0.straight[here].to_vec(),
        }
    }
}
