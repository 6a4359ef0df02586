//! What a plan carries: one document for an experiment.

use std::sync::atomic::Ordering;

use cubeyard_plan::summary::ENGINE_VERSION;
use cubeyard_routing::{Failures, NoPath};
use cubeyard_topology::{Finding, Topology};
use serde_json::{Map, Value, json};

use crate::count::{Cancelled, LinkFlows, Progress};
use crate::degraded::Damage;
use crate::experiment::{AUTO_RATES_FLOWS, Experiment};
use crate::faults;
use crate::fluid;
use crate::maxmin::max_min_rates;
use crate::network::Network;
use crate::outline::check_flows;
use crate::paths::Paths;
use crate::scheme::Scheme;
use crate::workload::Demand;

/// Why there is no prediction.
#[derive(Clone, Debug, PartialEq)]
pub enum PredictError {
    /// The input does not allow it.
    Findings(Vec<Finding>),
    /// Cancelled from outside.
    Cancelled,
}

impl From<Cancelled> for PredictError {
    fn from(Cancelled: Cancelled) -> PredictError {
        PredictError::Cancelled
    }
}

impl From<Vec<Finding>> for PredictError {
    fn from(findings: Vec<Finding>) -> PredictError {
        PredictError::Findings(findings)
    }
}

/// The aggregate bottleneck throughput: as much as all carried flows get when each goes at the rate of the slowest,
/// which is an equal share of the fullest link. With links of one rate, flows times rate over the most loaded
/// directed link's flows. `[bcube §3.6]`
///
/// 0 when no flow crosses a link. In the unit of `capacity`.
pub fn aggregate_bottleneck(load: &LinkFlows, capacity: &[f64]) -> f64 {
    let slowest = load
        .per_directed_link
        .iter()
        .zip(capacity)
        .filter(|&(&flows, _)| flows > 0)
        .map(|(&flows, &rate)| rate / f64::from(flows))
        .fold(f64::INFINITY, f64::min);
    if slowest.is_finite() {
        load.flows as f64 * slowest
    } else {
        0.0
    }
}

/// How a family counts the length of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HopUnit {
    /// From server to server: crossing a mini-switch is part of one hop. `[bcube §3.2, dcell §4]`
    Hops,
    /// Every link.
    Links,
}

impl HopUnit {
    /// The measure of a topology's own paper.
    pub fn of(topology: &Topology) -> HopUnit {
        if crate::hops::relays(topology) {
            HopUnit::Hops
        } else {
            HopUnit::Links
        }
    }

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            HopUnit::Hops => "hops",
            HopUnit::Links => "links",
        }
    }
}

/// By directed link, whether it ends at a server: each such link on a path ends one hop.
pub fn ends_at_server(topology: &Topology) -> Vec<bool> {
    let links = topology.links();
    (0..links.len() * 2)
        .map(|directed| {
            let head = if directed % 2 == 0 {
                links.b[directed / 2]
            } else {
                links.a[directed / 2]
            };
            topology.is_server(head)
        })
        .collect()
}

/// `{servers, switches, links}` that have failed themselves, and the `degraded_links` that carry less.
pub(crate) fn failed_counts(topology: &Topology, failures: &Failures, degraded_links: usize) -> Value {
    let nodes = failures.nodes();
    let servers = nodes.iter().filter(|&node| topology.is_server(node)).count();
    json!({
        "servers": servers,
        "switches": nodes.len() as usize - servers,
        "links": failures.links().len(),
        "degraded_links": degraded_links,
    })
}

/// Whether rates or times are asked for, which take every flow's path and not only the links' loads.
pub(crate) fn wants_paths(experiment: &Experiment, flows: u64) -> bool {
    experiment.max_min.unwrap_or(flows <= AUTO_RATES_FLOWS) || experiment.flow_gigabits.is_some()
}

/// Computes an experiment's document.
///
/// # Errors
/// Findings when the input does not allow it; [`PredictError::Cancelled`] soon after `progress.cancelled` is set.
pub fn predict(
    network: &Network,
    experiment: &Experiment,
    progress: &Progress,
) -> Result<Value, PredictError> {
    let mut document = None;
    let mut by_seed = Vec::with_capacity(experiment.seeds.len());
    for (i, &seed) in experiment.seeds.iter().enumerate() {
        let run = Run::new(network, experiment, seed, progress)?;
        by_seed.push(json!({
            "seed": seed,
            "abt_gbps": run.abt_gbps(),
            "flows": run.load.flows,
            "dropped_flows": run.load.dropped,
            "max_link_flows": run.load.most(),
        }));
        if i == 0 {
            document = Some(run.document(progress)?);
        }
    }
    let mut document = document.unwrap_or_default();
    if by_seed.len() > 1 {
        document.insert("by_seed".to_owned(), Value::Array(by_seed));
    }
    Ok(Value::Object(document))
}

/// One seed's run.
struct Run<'a> {
    network: &'a Network,
    experiment: &'a Experiment,
    seed: u64,
    routing: &'static str,
    failures: Failures,
    degraded_links: usize,
    demand: Demand,
    capacity_gbps: Vec<f64>,
    load: LinkFlows,
    paths: Option<Paths>,
}

impl<'a> Run<'a> {
    fn new(
        network: &'a Network,
        experiment: &'a Experiment,
        seed: u64,
        progress: &Progress,
    ) -> Result<Run<'a>, PredictError> {
        let topology = network.topology();
        let Damage { failures, degraded } = faults::apply(&experiment.faults, network, seed)?;
        let demand = experiment.workload.demand(network, seed)?;
        // At least: a scheme that follows the load adds its rounds.
        progress.total.fetch_max(
            demand.flows.len() * experiment.seeds.len() as u64,
            Ordering::Relaxed,
        );
        let capacity = degraded.capacity(network.capacity_gbps(experiment.link_gbps));
        let scheme = Scheme::at_rates(
            experiment.routing.as_deref(),
            topology,
            failures.clone(),
            capacity.seen_gbps,
        )?;
        let count = demand.flows.len();
        check_flows(experiment, count)?;
        let directed_links = topology.links().len() * 2;
        // Elsewhere hops follow from links: every one is a hop, or every second.
        let into_server = if topology.spec().family() == "dcell" {
            ends_at_server(topology)
        } else {
            Vec::new()
        };
        let (load, paths) = if wants_paths(experiment, count) {
            let paths = scheme.route(&demand.flows, seed, progress)?;
            let load = load_of(&paths, &demand, directed_links, &into_server, &failures);
            (load, Some(paths))
        } else {
            let load = scheme.count_links(&demand.flows, &into_server, seed, progress)?;
            (load, None)
        };
        Ok(Run {
            network,
            experiment,
            seed,
            routing: scheme.name(),
            failures,
            degraded_links: capacity.degraded_links,
            demand,
            capacity_gbps: capacity.gbps,
            load,
            paths,
        })
    }

    fn abt_gbps(&self) -> f64 {
        aggregate_bottleneck(&self.load, &self.capacity_gbps)
    }

    fn document(&self, progress: &Progress) -> Result<Map<String, Value>, PredictError> {
        let topology = self.network.topology();
        let mut document = Map::new();
        let mut put = |name: &str, value: Value| {
            document.insert(name.to_owned(), value);
        };
        put("abt_gbps", json!(self.abt_gbps()));
        put("flows", json!(self.load.flows));
        put("dropped_flows", json!(self.load.dropped));
        put(
            "dropped",
            json!({
                "end_failed": self.load.dropped - self.load.no_path,
                "no_path": self.load.no_path,
            }),
        );
        put("max_link_flows", json!(self.load.most()));
        put("link_flows_by_level", self.by_level());
        put("path_hops", self.path_hops());
        put("routing", json!(self.routing));
        put("seed", json!(self.seed));
        put("engine", json!("flow"));
        put("engine_version", json!(ENGINE_VERSION));
        put("topology", json!(topology.spec().title()));
        put("servers", json!(topology.server_count()));
        put("workload", json!(self.experiment.workload));
        put("failures", self.failed());
        let rates = self
            .capacity_gbps
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(least, most), &rate| {
                (least.min(rate), most.max(rate))
            });
        put(
            "link_gbps",
            if self.capacity_gbps.is_empty() {
                Value::Null
            } else {
                json!({"min": rates.0, "max": rates.1})
            },
        );
        if let Some(paths) = &self.paths {
            if self.experiment.max_min.unwrap_or(true) {
                let rates = max_min_rates(paths, &self.capacity_gbps);
                put("maxmin", self.rates_summary(&rates));
                if self.experiment.flow_rates {
                    put("flow_rates", self.flow_rates(&rates));
                }
            }
            if let Some(gigabits) = self.experiment.flow_gigabits {
                put("completion", self.completion(paths, gigabits, progress)?);
            }
        }
        if self.experiment.link_load {
            let (forth, back): (Vec<u32>, Vec<u32>) = self
                .load
                .per_directed_link
                .chunks_exact(2)
                .map(|pair| (pair[0], pair[1]))
                .unzip();
            put("link_load", json!({"a_to_b": forth, "b_to_a": back}));
        }
        Ok(document)
    }

    /// Whether a link and both its ends are alive.
    fn alive(&self, link: usize) -> bool {
        let links = self.network.topology().links();
        !self.failures.link_failed(link as u32)
            && !self.failures.node_failed(links.a[link])
            && !self.failures.node_failed(links.b[link])
    }

    /// Flows on the directed links of each level; dead links do not count.
    fn by_level(&self) -> Value {
        let topology = self.network.topology();
        let mut levels = vec![(u32::MAX, 0u32, 0u64, 0u64); topology.level_count()];
        for link in (0..topology.links().len()).filter(|&link| self.alive(link)) {
            let entry = &mut levels[usize::from(topology.links().level[link])];
            for &flows in &self.load.per_directed_link[link * 2..link * 2 + 2] {
                entry.0 = entry.0.min(flows);
                entry.1 = entry.1.max(flows);
                entry.2 += u64::from(flows);
                entry.3 += 1;
            }
        }
        let by_level: Map<String, Value> = levels
            .into_iter()
            .enumerate()
            .map(|(level, (least, most, sum, count))| {
                let mean = if count == 0 {
                    0.0
                } else {
                    sum as f64 / count as f64
                };
                let least = if count == 0 { 0 } else { least };
                (
                    level.to_string(),
                    json!({
                        "label": topology.level_label(level as u8),
                        "min": least,
                        "max": most,
                        "mean": mean,
                        "directed_links": count,
                    }),
                )
            })
            .collect();
        Value::Object(by_level)
    }

    fn path_hops(&self) -> Value {
        let topology = self.network.topology();
        let unit = HopUnit::of(topology);
        let family = topology.spec().family();
        let into_server = ends_at_server(topology);
        let hops: u64 = match unit {
            HopUnit::Links => self.load.total_links,
            HopUnit::Hops => self
                .load
                .per_directed_link
                .iter()
                .zip(&into_server)
                .filter(|&(_, &ends)| ends)
                .map(|(&flows, _)| u64::from(flows))
                .sum(),
        };
        let most = match (unit, family) {
            (HopUnit::Links, _) | (_, "torus3d") => json!(self.load.longest_links),
            // Every hop of a BCube is two links.
            (_, "bcube") => json!(self.load.longest_links / 2),
            _ => json!(self.load.most_hops),
        };
        let mean = if self.load.flows == 0 {
            0.0
        } else {
            hops as f64 / self.load.flows as f64
        };
        json!({"mean": mean, "max": most, "unit": unit.name()})
    }

    fn failed(&self) -> Value {
        let mut failed = failed_counts(self.network.topology(), &self.failures, self.degraded_links);
        failed["faults"] = json!(self.experiment.faults);
        failed
    }

    fn rates_summary(&self, rates: &[f64]) -> Value {
        let mut bound: Vec<f64> = rates
            .iter()
            .copied()
            .filter(|rate| rate.is_finite() && *rate > 0.0)
            .collect();
        bound.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            // Nearest rank.
            let rank = (share * bound.len() as f64).ceil() as usize;
            bound.get(rank.saturating_sub(1)).copied()
        };
        let total: f64 = bound.iter().sum();
        json!({
            "flows": bound.len(),
            "total_gbps": total,
            "min_gbps": bound.first(),
            "p01_gbps": at(0.01),
            "median_gbps": at(0.5),
            "mean_gbps": (!bound.is_empty()).then(|| total / bound.len() as f64),
            "p99_gbps": at(0.99),
            "max_gbps": bound.last(),
        })
    }

    fn flow_rates(&self, rates: &[f64]) -> Value {
        let topology = self.network.topology();
        let ends = (0..rates.len()).map(|flow| self.demand.flows.flow(flow as u64));
        let (from, to): (Vec<String>, Vec<String>) = ends
            .map(|(from, to)| (topology.node_name(from), topology.node_name(to)))
            .unzip();
        json!({"source": from, "destination": to, "gbps": rates})
    }

    fn completion(&self, paths: &Paths, gigabits: f64, progress: &Progress) -> Result<Value, PredictError> {
        let sizes: Vec<f64> = match &self.demand.weights {
            Some(weights) => weights.iter().map(|weight| weight * gigabits).collect(),
            None => vec![gigabits; paths.len()],
        };
        let done = fluid::run(paths, &sizes, &self.capacity_gbps, progress)?;
        let mut ends: Vec<f64> = done
            .ends_secs
            .iter()
            .copied()
            .filter(|end| end.is_finite())
            .collect();
        ends.sort_unstable_by(f64::total_cmp);
        let (from, rate): (Vec<f64>, Vec<f64>) = done.total_rate.iter().copied().unzip();
        let mean = (!ends.is_empty()).then(|| ends.iter().sum::<f64>() / ends.len() as f64);
        Ok(json!({
            "flows": ends.len(),
            "first_secs": ends.first(),
            "median_secs": ends.get(ends.len().saturating_sub(1) / 2),
            "mean_secs": mean,
            "last_secs": ends.last(),
            "total_rate": {"from_secs": from, "gbps": rate},
        }))
    }
}

/// The load of paths that are known.
fn load_of(
    paths: &Paths,
    demand: &Demand,
    directed_links: usize,
    into_server: &[bool],
    failures: &Failures,
) -> LinkFlows {
    let mut load = LinkFlows::empty(directed_links);
    let mut dropped = paths.dropped.iter().peekable();
    for flow in 0..paths.len() {
        if dropped.next_if_eq(&&(flow as u32)).is_some() {
            let (source, destination) = demand.flows.flow(flow as u64);
            let ends_failed = failures.node_failed(source) || failures.node_failed(destination);
            let reason = if ends_failed {
                NoPath::SourceFailed
            } else {
                NoPath::NotFound
            };
            load.enter(Err(reason), &[], into_server);
        } else {
            load.enter(Ok(()), paths.path(flow), into_server);
        }
    }
    load
}
