//! An experiment: its traffic, routing and faults. All engines use the same description.

use cubeyard_topology::{Finding, number_text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::EngineKind;
use crate::faults::Fault;
use crate::packet::settings::Settings;
use crate::workload::{Traffic, Workload};

/// The default seed of an experiment.
pub const DEFAULT_SEED: u64 = 7;

/// One experiment. A plan in the same document is ignored here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The plan or a reference to it, for programs that store experiments.
    #[serde(default, skip_serializing)]
    pub plan: Option<Value>,
    /// The experiment's name, for programs that store experiments.
    #[serde(default, skip_serializing)]
    pub name: Option<String>,
    /// Who sends to whom.
    #[serde(default = "all_to_all")]
    pub workload: Traffic,
    /// The routing scheme; default: that of the family's paper.
    #[serde(default)]
    pub routing: Option<String>,
    /// The faults, in any order.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Which engine computes it.
    #[serde(default)]
    pub engine: EngineKind,
    /// The rate of every link in Gb/s, instead of the plan's.
    #[serde(default)]
    pub link_gbps: Option<f64>,
    /// Seeds of all random draws; a run for each.
    #[serde(default = "default_seeds")]
    pub seeds: Vec<u64>,
    /// Whether to compute max-min fair rates; default: up to [`AUTO_RATES_FLOWS`] flows.
    #[serde(default)]
    pub max_min: Option<bool>,
    /// The size of a flow of weight 1, in gigabits; if set, the result includes completion times.
    #[serde(default)]
    pub flow_gigabits: Option<f64>,
    /// Whether to give the flows on every link.
    #[serde(default)]
    pub link_load: bool,
    /// Whether to give the rate of every flow (with `max_min`), up to [`MAX_LISTED_RATES`] flows.
    #[serde(default)]
    pub flow_rates: bool,
    /// Settings of the packet engine, which no other engine takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<Settings>,
}

/// The greatest rate of a link in Gb/s, as in plans; rates of all flows together stay finite.
pub const MAX_LINK_GBPS: f64 = 1e6;

/// The greatest size of a flow in gigabits.
pub const MAX_FLOW_GIGABITS: f64 = 1e12;

/// Up to this many flows, max-min rates are computed by default: it takes a moment.
pub const AUTO_RATES_FLOWS: u64 = 100_000;

/// Flows whose rates are listed one by one.
pub const MAX_LISTED_RATES: u64 = 1_000_000;

/// The most flows whose completion times are computed: every end of a flow needs new rates for all
/// flows.
pub const MAX_TIMED_FLOWS: u64 = 200_000;

fn all_to_all() -> Traffic {
    Workload::AllToAll.into()
}

fn default_seeds() -> Vec<u64> {
    vec![DEFAULT_SEED]
}

impl Experiment {
    /// Reads an experiment.
    ///
    /// # Errors
    /// Findings that name the field, its value and what it may be.
    pub fn from_json(text: &str) -> Result<Experiment, Vec<Finding>> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let experiment: Experiment = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = match error.path().to_string().as_str() {
                "." => "experiment".to_owned(),
                path => path.to_owned(),
            };
            let mut finding = Finding::unreadable("experiment-unreadable", field, error.inner());
            let whole: Option<Value> = serde_json::from_str(text).ok();
            let pointer = format!("/{}", error.path())
                .replace(['.', '['], "/")
                .replace(']', "");
            finding.value = whole.and_then(|whole| whole.pointer(&pointer).cloned());
            vec![finding]
        })?;
        let findings = experiment.check();
        if findings.is_empty() {
            Ok(experiment)
        } else {
            Err(findings)
        }
    }

    /// The size of a flow of weight 1, in gigabits, if the experiment sets it: directly, or as the
    /// workload's bytes.
    pub fn flow_size_gigabits(&self) -> Option<f64> {
        self.flow_gigabits
            .or(self.workload.bytes.map(|bytes| bytes as f64 * 8e-9))
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (field, value, most) in [
            ("link_gbps", self.link_gbps, MAX_LINK_GBPS),
            ("flow_gigabits", self.flow_gigabits, MAX_FLOW_GIGABITS),
        ] {
            if let Some(value) = value.filter(|&value| !(value > 0.0 && value <= most)) {
                findings.push(
                    Finding::error(
                        "out-of-range",
                        field,
                        format!(
                            "{field} is {}; it must be above 0 and at most {}.",
                            number_text(value),
                            number_text(most)
                        ),
                        "Give a number in these limits, or leave it out.",
                    )
                    .with_value(value)
                    .with_limit(most),
                );
            }
        }
        if let Some(settings) = &self.packet {
            findings.extend(settings.check());
            if self.engine != EngineKind::Packet {
                findings.push(
                    Finding::error(
                        "packet-settings",
                        "packet",
                        "packet is given, but the engine is not packet.",
                        "Leave it out, or choose the engine packet.",
                    )
                    .with_value(json!(self.engine))
                    .with_limit("packet"),
                );
            }
        }
        if self.seeds.is_empty() {
            findings.push(
                Finding::error(
                    "no-seeds",
                    "seeds",
                    "seeds is empty; at least one is needed.",
                    "Give a list like [7].",
                )
                .with_value(0)
                .with_limit(1),
            );
        }
        findings
    }
}
