//! A loop's controller: computes the weights of its servers' links from the reports of its ToRs.
//! `[subways §5.2]`
//!
//! Not here: the formulas, which the flow engine shares (`cubeyard_routing::subways::rebind`).

use cubeyard_routing::subways::{BoundLink, rebind};

use super::message::Report;
use super::plan::Plan;

/// A server that uses a smaller share of its links has no flow to rebind: its traffic is only
/// hellos and acknowledgements. `[ours]`
const IDLE: f64 = 0.01;

/// Weights of a loop's links: by rack of the loop, then by link of the rack. The pair is the weight
/// for sending and for receiving servers.
pub type LoopWeights = Vec<Vec<[f64; 2]>>;

/// Equal weights for all links of a server.
pub fn equal(plan: &Plan, number: usize) -> LoopWeights {
    let share = 1.0 / plan.racks.ring.ports as f64;
    let racks = plan.members(number);
    racks
        .map(|rack| vec![[share; 2]; plan.rack_links[rack].len()])
        .collect()
}

/// Input of a controller.
pub struct Seen<'a, R, B>
where
    R: Fn(usize) -> Option<&'a Report>,
    B: Fn(usize) -> f64,
{
    /// Racks, ToRs and loops.
    pub plan: &'a Plan,
    /// Latest report of a ToR that is alive.
    pub report: R,
    /// Rate of a link, in bits per second.
    pub rate: B,
}

impl<'a, R, B> Seen<'a, R, B>
where
    R: Fn(usize) -> Option<&'a Report>,
    B: Fn(usize) -> f64,
{
    /// One round of rebinding at all servers of a loop. Links to ToRs without a recent report keep
    /// their weights.
    pub fn rebind_all(&self, number: usize, weights: &mut LoopWeights) {
        let ports = self.plan.racks.ring.ports;
        for (rack, of_rack) in self.plan.members(number).zip(weights) {
            let links = self.plan.rack_links[rack].chunks(ports);
            for (links, weights) in links.zip(of_rack.chunks_mut(ports)) {
                self.rebind_server(links, weights, 0);
                self.rebind_server(links, weights, 1);
            }
        }
    }

    /// Computes the weights of one server's links in one direction; side 0: the server sends.
    fn rebind_server(&self, links: &[usize], weights: &mut [[f64; 2]], side: usize) {
        let bound = links.iter().zip(weights.iter()).enumerate();
        let bound = bound.filter_map(|(place, (&link, weights))| {
            let tor = self.plan.ends(link).1;
            let report = (self.report)(tor).filter(|report| report.capacity > 0.0)?;
            let at = self.plan.server_links[tor]
                .iter()
                .position(|other| *other == link)?;
            let bound = BoundLink {
                tor_capacity: report.capacity.into(),
                tor_utilisation: used(report, side),
                weight: weights[side],
                carried: carried(report, at, side),
                rate: (self.rate)(link),
            };
            Some((place, bound))
        });
        let (places, mut bound): (Vec<usize>, Vec<BoundLink>) = bound.unzip();
        let sum = |of: fn(&BoundLink) -> f64| bound.iter().map(of).sum::<f64>();
        let (had, carried, rates) = (
            sum(|link| link.weight),
            sum(|link| link.carried),
            sum(|link| link.rate),
        );
        if bound.len() < 2 || had <= 0.0 {
            return;
        }
        if carried < IDLE * rates {
            bound.iter_mut().for_each(|link| link.carried = 0.0);
        }
        for (place, share) in places.into_iter().zip(rebind(&bound)) {
            weights[place][side] = share * had;
        }
    }
}

/// The fraction of a ToR's uplinks in use, upwards or downwards. Excludes detour traffic through
/// the ToR: packets on detours upwards come from other racks, and those downwards go to other
/// racks. `[ours]`
pub fn used(report: &Report, side: usize) -> f64 {
    let pairs = report.detoured.iter();
    let detoured: f64 = pairs.map(|pair| f64::from(pair[side] - pair[1 - side])).sum();
    let capacity = f64::from(report.capacity);
    (f64::from(report.used[side]) - detoured.max(0.0) / capacity).clamp(0.0, 1.0)
}

/// Traffic of one of a ToR's servers, by the server's position at the ToR, in bits per second,
/// without detours.
pub fn carried(report: &Report, at: usize, side: usize) -> f64 {
    let detoured = report.detoured.get(at).map_or(0.0, |pair| pair[side]);
    f64::from((report.carried[at][side] - detoured).max(0.0))
}
