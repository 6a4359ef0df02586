//! A candidate's throughput with and without failures, and upper bounds of it.
//!
//! The bounds hold for any routing. In all-to-all traffic a server `d` receives `f_d` flows over
//! links of total rate `R_d`, so the slowest flow has at most `R_d / f_d`. The ABT is the number of
//! flows times the slowest rate; summed over all servers with flows, it is at most the sum of
//! `R_d`. This also holds if failures leave flows without a path, although the ABT of the others
//! can then exceed the healthy one. If every flow has a path, the total rate of all links in both
//! directions is at least the sum over flows of rate times path length: the ABT is at most that
//! capacity divided by the mean path length. If every pair has only one path, the bound is the ABT
//! itself (`only_path`). `[ours]`

use cubeyard_plan::PlanSpec;
use cubeyard_sim::faults::{self, Fault, TargetKind};
use cubeyard_sim::{Experiment, Network, PredictError, Progress, throughput};
use cubeyard_topology::Topology;
use serde_json::json;

use crate::metric::{Stage, Values, at};
use crate::only_path;
use crate::spec::{Asked, FailureSpec};

/// A bound that equals the value can differ from it by rounding.
const ROUNDED_UP: f64 = 1.0 + 1e-9;

/// Upper bounds of the ABT, in Gb/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Most {
    /// The bound without failures.
    pub healthy: f64,
    /// The bound with the failures.
    pub degraded: f64,
    /// The assumed ratio of the second value to the first, while neither is known.
    pub kept: f64,
}

/// Whether the failures affect anything: a structure without switches has no switch to lose.
pub fn strikes(failures: &FailureSpec, topology: &Topology) -> bool {
    let there = match failures.kind {
        TargetKind::Server => topology.server_count() as usize,
        TargetKind::Switch => topology.switch_count() as usize,
        TargetKind::Link => topology.link_count(),
        TargetKind::Rack => 0,
    };
    (there as f64 * failures.ratio).round() > 0.0
}

/// Bounds from the links' rates and the closed forms: linear in the links.
pub fn most_abt_gbps(asked: &Asked, topology: &Topology) -> Most {
    let link_gbps = asked.base.cabling.link_gbps;
    let links = topology.links();
    let gbps = |link: usize| link_gbps.unwrap_or_else(|| links.rate_bits_per_sec(link) / 1e9);
    let (mut into_servers, mut both_ways) = (0.0, 0.0);
    for link in 0..links.len() {
        let ends = [links.a[link], links.b[link]];
        into_servers += gbps(link) * ends.iter().filter(|&&end| topology.is_server(end)).count() as f64;
        both_ways += 2.0 * gbps(link);
    }
    let mean = topology.metrics().average_path_links.filter(|mean| mean.exact);
    let by_paths = mean.map_or(f64::INFINITY, |mean| both_ways / mean.value);
    let healthy = into_servers.min(by_paths);
    let strikes = strikes(&asked.spec.failures, topology);
    Most {
        healthy,
        degraded: if strikes { into_servers } else { healthy },
        kept: if strikes { f64::INFINITY } else { 1.0 },
    }
}

impl Most {
    /// The values, with upper bounds for throughput that is not computed yet.
    pub fn at_best(&self, values: &Values) -> Values {
        let mut best = *values;
        let healthy = *best[at::ABT].get_or_insert(self.healthy);
        // A structure that is not affected keeps its values. If flows are dropped the others may
        // gain, so a share has no bound before the ABT without failures is computed.
        let degraded = if self.kept == 1.0 { healthy } else { self.degraded };
        let known = values[at::ABT].is_some_and(|abt| abt > 0.0);
        best[at::ABT_DEGRADED].get_or_insert(degraded);
        best[at::ABT_KEPT].get_or_insert(if known { degraded / healthy } else { self.kept });
        best[at::CARRIED].get_or_insert(1.0);
        best
    }
}

/// A candidate whose throughput may be computed.
pub struct Survival<'a> {
    asked: &'a Asked,
    network: Network,
    strikes: bool,
}

impl<'a> Survival<'a> {
    /// Builds the network.
    ///
    /// # Errors
    /// Findings where there is none.
    pub fn new(asked: &'a Asked, spec: &PlanSpec) -> Result<Survival<'a>, PredictError> {
        let network = Network::open(&json!(spec).to_string())
            .map_err(|error| PredictError::Findings(error.findings))?;
        let strikes = strikes(&asked.spec.failures, network.topology());
        Ok(Survival {
            asked,
            network,
            strikes,
        })
    }

    /// The bounds with the failures drawn: rates into servers over the remaining links. Linear in
    /// the links.
    ///
    /// # Errors
    /// As of `faults::struck`.
    pub fn most(&self) -> Result<Most, PredictError> {
        let topology = self.network.topology();
        let mut most = most_abt_gbps(self.asked, topology);
        let capacity = self.network.capacity_gbps(None);
        if let Some(abt) = only_path::abt_gbps(topology, &capacity, &|_| true, &|_| true) {
            most.healthy = most.healthy.min(abt * ROUNDED_UP);
        }
        most.degraded = if self.strikes {
            most.degraded.min(self.bound_by_what_is_left_gbps()?)
        } else {
            most.healthy
        };
        Ok(most)
    }

    /// The sum of the remaining rates into servers, or the ABT if only one path per pair remains;
    /// the least over the seeds.
    fn bound_by_what_is_left_gbps(&self) -> Result<f64, PredictError> {
        let (topology, faults) = (self.network.topology(), self.faults());
        let links = topology.links();
        let capacity = self.network.capacity_gbps(None);
        let mut least = f64::INFINITY;
        for &seed in &self.asked.spec.failures.seeds {
            let struck = faults::struck(&faults, &self.network, seed)?;
            let alive = |link: usize| {
                let (a, b) = (links.a[link], links.b[link]);
                !struck.iter().any(|failed| {
                    failed.node_failed(a) || failed.node_failed(b) || failed.link_failed(link as u32)
                })
            };
            let sum: f64 = (0..links.len())
                .filter(|&link| alive(link))
                .map(|link| {
                    let (a, b) = (links.a[link], links.b[link]);
                    let ends = u8::from(topology.is_server(a)) + u8::from(topology.is_server(b));
                    capacity[2 * link] * f64::from(ends)
                })
                .sum();
            let server_alive = |node| !struck.iter().any(|failed| failed.node_failed(node));
            let only = only_path::abt_gbps(topology, &capacity, &server_alive, &alive);
            least = least.min(sum).min(only.map_or(sum, |abt| abt * ROUNDED_UP));
        }
        Ok(least)
    }

    fn faults(&self) -> Vec<Fault> {
        let failures = &self.asked.spec.failures;
        let one = json!([{"target": {"kind": failures.kind, "ratio": failures.ratio}}]);
        serde_json::from_value(one).unwrap_or_default()
    }

    /// Computes one stage: all-to-all traffic, counted flow by flow on the paths of the family's
    /// own routing. `goes_on` gets the current upper bound of the stage's ABT; if it returns false,
    /// the values stay as they are. Returns whether the stage was completed.
    ///
    /// # Errors
    ///
    /// Cancelled, or the findings of a prediction.
    pub fn enter(
        &self,
        stage: Stage,
        values: &mut Values,
        goes_on: &dyn Fn(f64) -> bool,
        progress: &Progress,
    ) -> Result<bool, PredictError> {
        let mut experiment = Experiment::from_json(r#"{"workload": "all-to-all", "max_min": false}"#)?;
        let seeds = &self.asked.spec.failures.seeds;
        if stage == Stage::Healthy {
            let seed = seeds.first().copied().unwrap_or_default();
            let found = throughput(&self.network, &experiment, seed, goes_on, progress)?;
            let Some(found) = found else { return Ok(false) };
            values[at::ABT] = Some(found.abt_gbps);
            return Ok(true);
        }
        let (mut abt, mut carried) = (f64::INFINITY, 1.0f64);
        if self.strikes {
            experiment.faults = self.faults();
            for &seed in seeds {
                let found = throughput(&self.network, &experiment, seed, goes_on, progress)?;
                let Some(found) = found else { return Ok(false) };
                let all = (found.flows + found.dropped_flows).max(1);
                abt = abt.min(found.abt_gbps);
                carried = carried.min(found.flows as f64 / all as f64);
            }
        } else {
            abt = values[at::ABT].unwrap_or(0.0);
        }
        values[at::ABT_DEGRADED] = Some(abt);
        values[at::CARRIED] = Some(carried);
        values[at::ABT_KEPT] = values[at::ABT]
            .filter(|&healthy| healthy > 0.0)
            .map(|healthy| abt / healthy);
        Ok(true)
    }

    /// Whether the failures affect nothing here.
    pub fn unharmed(&self) -> bool {
        !self.strikes
    }
}
