//! The document of a prediction: a method for each part, of a computed run.

use cubeyard_plan::summary::ENGINE_VERSION;
use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use serde_json::{Map, Value, json};

use super::lengths::total_and_longest;
use super::{PredictError, Run};
use crate::count::Progress;
use crate::fluid;
use crate::maxmin::max_min_rates;
use crate::paths::Paths;

/// `{servers, switches, links}` that have failed themselves, and the `degraded_links` that carry
/// less.
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

impl Run<'_> {
    pub(super) fn document(&self, progress: &Progress) -> Result<Map<String, Value>, PredictError> {
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
            if let Some(sizes) = self.flow_sizes() {
                put("completion", self.completion(paths, &sizes, progress)?);
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
                let some = count > 0;
                (
                    level.to_string(),
                    json!({
                        "label": topology.level_label(level as u8),
                        "min": some.then_some(least),
                        "max": some.then_some(most),
                        "mean": some.then(|| sum as f64 / count as f64),
                        "directed_links": count,
                    }),
                )
            })
            .collect();
        Value::Object(by_level)
    }

    fn path_hops(&self) -> Value {
        let topology = self.network.topology();
        let (total, longest) = total_and_longest(topology, &self.load);
        let some = self.load.flows > 0;
        json!({
            "mean": some.then(|| total as f64 / self.load.flows as f64),
            "max": some.then_some(longest),
            "unit": topology.path_measure().unit(),
        })
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
        // Not `sum`, which gives -0 for no flows.
        let total = bound.iter().fold(0.0, |total, rate| total + rate);
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

    /// The size of every flow in gigabits, if the experiment needs completion times.
    fn flow_sizes(&self) -> Option<Vec<f64>> {
        let gigabits = self.experiment.flow_size_gigabits();
        if let (None, Some(table)) = (gigabits, &self.demand.timetable) {
            return Some(table.bytes.iter().map(|&bytes| bytes as f64 * 8e-9).collect());
        }
        let gigabits = gigabits?;
        Some(match &self.demand.weights {
            Some(weights) => weights.iter().map(|weight| weight * gigabits).collect(),
            None => vec![gigabits; self.demand.flows.len() as usize],
        })
    }

    fn completion(&self, paths: &Paths, sizes: &[f64], progress: &Progress) -> Result<Value, PredictError> {
        let done = fluid::run(paths, sizes, &self.capacity_gbps, progress)?;
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
