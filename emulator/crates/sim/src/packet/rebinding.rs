//! Subways' controllers in time: every period they read what links have carried, and flows move to
//! the links and detours that new weights give them. `[subways §5.2, §6]`
//!
//! The formulas are the flow engine's and the emulation's (`crate::controllers`). A change of
//! weights moves the flows whose draws lie between the old and the new bounds, at once and not
//! between flowlets, as with real packets. Reports and weights take no time, and detours are
//! planned from what links would carry without any `[ours]`.

use cubeyard_routing::subways::{DetourRouting, LinkWeights, SubwaysRouting};
use cubeyard_routing::{Failures, PathChoice, Router, scheme};

use super::core::Core;
use super::flows::Connection;
use super::links::SECOND;
use super::routes::Pairs;
use super::settings::Settings;
use super::timeline::ps;
use crate::controllers::Controllers;
use crate::count::Progress;
use crate::engine::PredictError;
use crate::flows::Flows;
use crate::network::Network;
use crate::paths::Paths;

/// The paper's T_duration in units of its T_rebind: a rack is watched for this number of periods
/// before its detours are planned again. `[subways §8.1]`
const PERIODS_OF_DETOURS: u64 = 10;
/// The weight of the old average after a period: averages decay with a time constant of half a
/// period, as in the emulation. `[ours]`
const REMEMBERED: f64 = 0.135;

/// The weights and detours that route flows until the next round.
#[derive(Debug)]
enum Current {
    Straight(SubwaysRouting),
    Detours(DetourRouting),
}

/// The state of one run's controllers.
#[derive(Debug)]
pub struct Rebinding<'a> {
    network: &'a Network,
    /// By directed link, without failures.
    gbps: Vec<f64>,
    controllers: Controllers<'a>,
    has_detours: bool,
    period: u64,
    next: u64,
    weights: LinkWeights,
    /// Links that detours have taken, as links of sources and of destinations.
    withdrawn: [Vec<usize>; 2],
    /// The average rate on directed links, in Gb/s.
    rates: Vec<f64>,
    /// Bytes that links had carried at the last round.
    carried: Vec<u64>,
    /// Packets of connections that had arrived when detours were last planned.
    arrived: Vec<u32>,
    current: Current,
    /// Number of rounds since the start.
    pub rounds: u64,
    /// Number of changed routes of data and of acknowledgements.
    pub moves: u64,
}

/// The flows' state as input of planning.
pub struct FlowsNow<'a> {
    /// All of the workload.
    pub flows: &'a Flows,
    /// The flow of each connection.
    pub flow_of: &'a [u64],
    /// The pairs, if all connections of two servers share one route.
    pub pairs: Option<&'a Pairs>,
    /// The seed of each subflow's routes.
    pub seeds: Vec<u64>,
}

impl<'a> Rebinding<'a> {
    /// State before the first packet: all links of a server are equally likely. `None` for schemes
    /// without controllers, and with a period of 0, where the flow engine's settled weights are
    /// those of the whole run.
    pub fn new(
        name: &str,
        network: &'a Network,
        settings: &Settings,
        gbps: &[f64],
        failures: Failures,
    ) -> Option<Rebinding<'a>> {
        let topology = network.topology();
        let has_detours = match scheme(name, topology.spec())?.choice {
            PathChoice::Weights => false,
            PathChoice::Detours => true,
            PathChoice::Router | PathChoice::Load | PathChoice::Probes { .. } => return None,
        };
        let period = ps(settings.rebind_secs);
        if period == 0 {
            return None;
        }
        let controllers = Controllers::new(topology, failures, gbps)?;
        let weights = LinkWeights::equal(topology);
        Some(Rebinding {
            network,
            gbps: gbps.to_vec(),
            current: Current::Straight(controllers.by_weights(&weights)?),
            controllers,
            has_detours,
            period,
            next: period,
            weights,
            withdrawn: [Vec::new(), Vec::new()],
            rates: vec![0.0; gbps.len()],
            carried: vec![0; gbps.len()],
            arrived: Vec::new(),
            rounds: 0,
            moves: 0,
        })
    }

    /// The name of the routing scheme.
    pub fn name(&self) -> &'static str {
        if self.has_detours {
            cubeyard_routing::subways::DETOUR
        } else {
            cubeyard_routing::subways::ADAPTIVE
        }
    }

    /// Time of the next round, in ps.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The weights and detours that route flows now.
    pub fn router(&self) -> &dyn Router {
        match &self.current {
            Current::Straight(routing) => routing,
            Current::Detours(routing) => routing,
        }
    }

    /// Replaces the failures that routing avoids. Weights stay; detours end until they are planned
    /// again.
    pub fn know(&mut self, failures: Failures) {
        let known = Controllers::new(self.network.topology(), failures, &self.gbps);
        let routed = known.and_then(|known| Some((known.by_weights(&self.weights)?, known)));
        if let Some((routing, known)) = routed {
            (self.current, self.controllers) = (Current::Straight(routing), known);
        }
    }

    /// One round; whether flows have another router after it. Linear in the links, with detours,
    /// every tenth round is linear in the links of all flows' paths.
    ///
    /// # Errors
    /// That routing was cancelled.
    pub fn round(
        &mut self,
        core: &Core,
        now: &FlowsNow<'_>,
        progress: &Progress,
    ) -> Result<bool, PredictError> {
        self.next += self.period;
        self.rounds += 1;
        let secs = self.period as f64 / SECOND as f64;
        for (link, carried) in self.carried.iter_mut().enumerate() {
            let bytes = core.links.count(link as u32).bytes;
            let seen = (bytes - *carried) as f64 * 8e-9 / secs;
            *carried = bytes;
            self.rates[link] += (1.0 - REMEMBERED) * (seen - self.rates[link]);
        }
        let plans = self.has_detours && self.rounds.is_multiple_of(PERIODS_OF_DETOURS);
        let moved = self.controllers.rebind_by_rates(&self.rates, &mut self.weights);
        if plans {
            return self.plan(core, now, progress);
        }
        let routing = moved
            .then(|| self.controllers.by_weights(&self.without_withdrawn()))
            .flatten();
        let changed = routing.is_some();
        if let Some(straight) = routing {
            self.current = match &self.current {
                Current::Straight(_) => Current::Straight(straight),
                Current::Detours(routing) => Current::Detours(routing.over(straight)),
            };
        }
        Ok(changed)
    }

    /// The weights, without links that detours have taken.
    fn without_withdrawn(&self) -> LinkWeights {
        let mut weights = self.weights.clone();
        if matches!(self.current, Current::Detours(_)) {
            let [source, destination] = &self.withdrawn;
            source.iter().for_each(|&link| weights.source[link] = 0.0);
            destination
                .iter()
                .for_each(|&link| weights.destination[link] = 0.0);
        }
        weights
    }

    /// Plans all detours again from the packets of flows that have arrived since the last time.
    fn plan(&mut self, core: &Core, now: &FlowsNow<'_>, progress: &Progress) -> Result<bool, PredictError> {
        let Some(straight) = self.controllers.by_weights(&self.weights) else {
            return Ok(false);
        };
        let secs = (PERIODS_OF_DETOURS * self.period) as f64 / SECOND as f64;
        let packet = f64::from(core.rules.payload + core.rules.overhead);
        // By flow, or by pair where all flows of a pair take one route.
        let routed = now.pairs.map_or(now.flows, |pairs| &pairs.flows);
        let mut of_flow = vec![0.0; routed.len() as usize];
        self.arrived.resize(core.connections.len(), 0);
        for ((item, &flow), before) in core.connections.iter().zip(now.flow_of).zip(&mut self.arrived) {
            let packets = f64::from(arrived_since(before, item));
            let place = now
                .pairs
                .map_or(flow as usize, |pairs| pairs.of[flow as usize] as usize);
            of_flow[place] += packets * packet * 8e-9 / secs / now.seeds.len() as f64;
        }
        let mut all = Paths {
            offsets: vec![0],
            links: Vec::new(),
            dropped: Vec::new(),
        };
        let mut rates = Vec::new();
        for &seed in &now.seeds {
            let paths = Paths::route(&straight, routed, seed, progress)?;
            for (flow, rate) in of_flow.iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
                all.links.extend_from_slice(paths.path(flow));
                all.offsets.push(all.links.len() as u32);
                rates.push(*rate);
            }
        }
        let mut left = self.weights.clone();
        let planned = self.controllers.planned(&all, &rates, &mut left);
        let changed = planned.is_some();
        self.withdrawn = [
            withdrawn(&self.weights.source, &left.source),
            withdrawn(&self.weights.destination, &left.destination),
        ];
        if let Some(routing) = planned {
            self.current = Current::Detours(routing);
        }
        Ok(changed)
    }
}

/// The links that a plan of detours takes from the racks at their far ends: those left without a
/// weight.
fn withdrawn(before: &[f64], left: &[f64]) -> Vec<usize> {
    let gone = |&link: &usize| before[link] > 0.0 && left[link] <= 0.0;
    (0..before.len()).filter(gone).collect()
}

/// Packets of a connection that have arrived since the number was `before`, which is set to the
/// present number.
fn arrived_since(before: &mut u32, connection: &Connection) -> u32 {
    let now = connection.packets - connection.missing;
    now - std::mem::replace(before, now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_has_ended_sends_nothing_any_more() {
        let mut connection = Connection {
            start: 0,
            end: 0,
            packets: 10,
            unsent: 0,
            missing: 10,
            first: 0,
            drops: 0,
            again: 0,
            timeouts: 0,
            then: 0,
            pause: 0,
            last_bytes: 1,
            subflows: 1,
            answers: false,
        };
        let mut before = 0;
        let mut after = |missing| {
            connection.missing = missing;
            arrived_since(&mut before, &connection)
        };
        assert_eq!([10, 4, 0, 0].map(&mut after), [0, 6, 4, 0]);
    }
}
