//! The remaining throughput: chooses the states to compute, and computes them with the flow engine.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_plan::PlanSpec;
use cubeyard_routing::Failures;
use cubeyard_sim::degraded::{Damage, Degraded};
use cubeyard_sim::experiment::DEFAULT_SEED;
use cubeyard_sim::{Experiment, Network, PredictError, Progress, throughput_after};
use serde_json::json;

use crate::ageing::{Life, Stretch};
use crate::census::Census;
use crate::parts::Parts;
use crate::rates::{KINDS, Lifetime};
use crate::spec::{LifeSpec, Policy};

/// Flows that are routed by default over all states: about half a minute of two cores.
const FLOWS: u64 = 250_000_000;
/// The golden ratio: steps of this size around a circle soon come close to every position.
const GOLDEN: f64 = 0.618_033_988_749_895;
const LEAST_STATES: usize = 12;
const MOST_STATES: usize = 2_000;

/// All-to-all traffic on the plan's network.
pub(crate) struct Carrier {
    network: Network,
    experiment: Experiment,
}

impl Carrier {
    /// # Errors
    /// Findings of the spec, or of a routing scheme that the family does not have.
    pub fn new(spec: &PlanSpec, routing: Option<&str>) -> Result<Carrier, PredictError> {
        let network = Network::open(&json!(spec).to_string())
            .map_err(|error| PredictError::Findings(error.findings))?;
        let experiment = json!({"workload": "all-to-all", "max_min": false, "routing": routing});
        let experiment = Experiment::from_json(&experiment.to_string())?;
        cubeyard_sim::scheme::known(routing, network.topology().spec())?;
        Ok(Carrier { network, experiment })
    }

    /// The number of flows of one state.
    pub fn flows(&self) -> u64 {
        let servers = u64::from(self.network.topology().server_count());
        servers * servers.saturating_sub(1)
    }

    /// The aggregate bottleneck throughput without these nodes and links, in Gb/s: as a prediction
    /// with the default seed.
    ///
    /// # Errors
    /// Cancelled.
    pub fn abt_gbps(&self, down: &Down, progress: &Progress) -> Result<f64, PredictError> {
        let mut failures = Failures::none(self.network.topology());
        down.nodes.iter().for_each(|&node| failures.fail_node(node));
        down.links.iter().for_each(|&link| failures.fail_link(link));
        let damage = Damage {
            failures,
            degraded: Degraded::default(),
        };
        let goes_on = |_| true;
        let left = throughput_after(
            &self.network,
            &self.experiment,
            damage,
            DEFAULT_SEED,
            &goes_on,
            progress,
        )?;
        Ok(left.map_or(0.0, |left| left.abt_gbps))
    }
}

/// The failed parts of a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Down {
    pub nodes: Vec<u32>,
    pub links: Vec<u32>,
}

/// A state of one life at one point of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At {
    pub policy: usize,
    pub life: usize,
    pub point: usize,
}

/// The largest number of computed states.
pub(crate) fn budget(spec: &LifeSpec, flows: u64) -> usize {
    spec.exact_states
        .unwrap_or_else(|| ((FLOWS / flows.max(1)) as usize).clamp(LEAST_STATES, MOST_STATES))
}

/// The states to compute: all distinct ones if the budget allows; otherwise, for each policy,
/// evenly spaced points of evenly spaced lives. Each life's points are shifted a little against the
/// previous life's, so that they cover all times between two visits. The whole network is computed
/// in addition.
pub(crate) fn chosen(censuses: &[Vec<Census>], whole: u128, budget: usize) -> Vec<At> {
    let mut seen = BTreeSet::from([whole]);
    let mut all = Vec::new();
    for (policy, lives) in censuses.iter().enumerate() {
        for (life, census) in lives.iter().enumerate() {
            for (point, &state) in census.state.iter().enumerate() {
                if seen.len() <= budget + 1 && seen.insert(state) {
                    all.push(At { policy, life, point });
                }
            }
        }
    }
    if all.len() <= budget {
        return all;
    }
    let mut seen = BTreeSet::from([whole]);
    let mut some = Vec::new();
    for (policy, lives) in censuses.iter().enumerate() {
        let left = (budget - some.len()) / (censuses.len() - policy);
        let points = lives
            .first()
            .map_or(0, |census| census.state.len())
            .saturating_sub(1);
        let times = ((left as f64).sqrt().ceil() as usize).clamp(1, points.max(1));
        let count = (left / times).clamp(1, lives.len());
        for number in 0..count {
            let life = number * lives.len() / count;
            let later = (number as f64 * GOLDEN).fract();
            for time in 0..times {
                let point = points - ((time as f64 + later) * points as f64 / times as f64) as usize;
                if some.len() < budget && seen.insert(lives[life].state[point]) {
                    some.push(At { policy, life, point });
                }
            }
        }
    }
    some
}

/// The failed parts in each of these states, in their order; simulates each life once more.
pub(crate) fn down_at(
    states: &[At],
    spec: &LifeSpec,
    policies: &[Policy],
    parts: &Parts,
    lifetimes: &[Lifetime; KINDS],
    months: &[f64],
) -> Vec<Down> {
    let mut by_life: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (number, at) in states.iter().enumerate() {
        by_life.entry((at.policy, at.life)).or_default().push(number);
    }
    let mut found = vec![Down::default(); states.len()];
    for ((policy, life), numbers) in by_life {
        let seed = spec.first_seed.wrapping_add(life as u64);
        let end = spec.years * 12.0;
        let mut lived = Life::new(parts, lifetimes, &policies[policy], seed, end);
        lived.run(&mut |stretch| {
            for &number in &numbers {
                let month = months[states[number].point];
                let last = stretch.until >= end;
                if month >= stretch.from && (month < stretch.until || last) {
                    found[number] = down_in(stretch, month);
                }
            }
        });
    }
    found
}

fn down_in(stretch: &Stretch, month: f64) -> Down {
    let of = |down: &[f64]| {
        (0..down.len() as u32)
            .filter(|&i| down[i as usize] <= month)
            .collect()
    };
    Down {
        nodes: of(&stretch.node_down),
        links: of(&stretch.link_down),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cubeyard_plan::read_spec;
    use cubeyard_sim::predict;

    /// The throughput without some servers, switches and links is what a prediction gives with them
    /// as faults by name.
    #[test]
    fn what_is_left_is_what_a_prediction_gives() {
        for text in [
            r#"{"family":"bcube","n":4,"k":1}"#,
            r#"{"family":"fat_tree","ports":4,"layers":3}"#,
            r#"{"family":"dcell","n":3,"k":1}"#,
        ] {
            let spec = read_spec(text).unwrap();
            let carrier = Carrier::new(&spec, None).unwrap();
            let topology = carrier.network.topology();
            let (servers, links) = (topology.server_count(), topology.links());
            for draw in 0..6u32 {
                let down = Down {
                    nodes: vec![draw, servers + draw % topology.switch_count()],
                    links: vec![(7 * draw + 3) % links.len() as u32],
                };
                let nodes = down.nodes.iter().map(|&node| topology.node_name(node));
                let named = down.links.iter().map(|&link| {
                    let (a, b) = (links.a[link as usize], links.b[link as usize]);
                    format!("{}/{}", topology.node_name(a), topology.node_name(b))
                });
                let faults: Vec<_> = nodes
                    .chain(named)
                    .map(|name| json!({"target": {"names": [name]}}))
                    .collect();
                let asked = json!({"workload": "all-to-all", "max_min": false, "faults": faults}).to_string();
                let experiment = Experiment::from_json(&asked).unwrap();
                let expected = predict(&carrier.network, &experiment, &Progress::default()).unwrap();
                let abt = carrier.abt_gbps(&down, &Progress::default()).unwrap();
                assert_eq!(json!(abt), expected["abt_gbps"], "{text}, {down:?}");
            }
        }
    }
}
