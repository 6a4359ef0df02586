//! The request: constraints, objectives, failures and the space, all as data.

use cubeyard_plan::{PlanSpec, read_spec};
use cubeyard_sim::faults::TargetKind;
use cubeyard_topology::Finding;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::metric::{METRICS, Metric, Stage, at, index_of};
use crate::space::SpaceSpec;

/// The most servers that a candidate may have.
pub const MOST_SERVERS: u64 = 20_000;
/// The most candidates whose throughput is computed.
pub const MOST_EVALUATIONS: usize = 5_000;
const DEFAULT_EVALUATIONS: usize = 300;
const MOST_SEEDS: usize = 20;
const MOST_CONSTRAINTS: usize = 32;
const MOST_OBJECTIVES: usize = 4;

/// The request of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSpec {
    /// The constraints that every plan on the front satisfies.
    #[serde(default)]
    pub constraints: Vec<Constraint>,
    /// Values to minimise or maximise: one objective gives the best plan, several give the Pareto
    /// front.
    #[serde(default = "cheapest")]
    pub objectives: Vec<Objective>,
    /// The failures for the metrics after failures.
    #[serde(default)]
    pub failures: FailureSpec,
    /// Which plans are tried.
    #[serde(default)]
    pub space: SpaceSpec,
    /// The common part of all plans: a plan spec without `topology`.
    #[serde(default)]
    pub plan: Map<String, Value>,
    /// The most candidates whose throughput is computed; the document reports if that was not
    /// enough.
    #[serde(default = "default_evaluations")]
    pub evaluations: usize,
}

/// A limit of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// The name of the metric.
    pub metric: String,
    /// The lower limit, as a number in the metric's base unit or as text with a unit, like
    /// `1 Tb/s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<Value>,
    /// Upper limit, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Value>,
}

/// Whether less or more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Less is better.
    Minimise,
    /// More is better.
    Maximise,
}

/// A metric to minimise or maximise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// The name of the metric.
    pub metric: String,
    /// Less or more; default: the metric's usual goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
}

/// A random share of one kind of component, drawn once for each seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FailureSpec {
    /// `switch`, `server` or `link`.
    pub kind: TargetKind,
    /// The share of the parts that fail, 0 to 1.
    pub ratio: f64,
    /// Seeds of the draws.
    pub seeds: Vec<u64>,
}

impl Default for FailureSpec {
    fn default() -> FailureSpec {
        FailureSpec {
            kind: TargetKind::Switch,
            ratio: 0.1,
            seeds: vec![7],
        }
    }
}

fn cheapest() -> Vec<Objective> {
    vec![Objective {
        metric: "cost".to_owned(),
        goal: None,
    }]
}

fn default_evaluations() -> usize {
    DEFAULT_EVALUATIONS
}

/// A constraint in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Index of the metric in [`METRICS`].
    pub metric: usize,
    /// The lower limit.
    pub least: f64,
    /// The upper limit.
    pub most: f64,
}

impl Limit {
    /// Whether a value satisfies it.
    pub fn keeps(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value)
    }
}

/// A checked request, the input of the search.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The request as given, with the space's limits on servers filled in.
    pub spec: SearchSpec,
    /// The constraints, in their order.
    pub limits: Vec<Limit>,
    /// Index of each objective's metric, and whether a larger value is better.
    pub objectives: Vec<(usize, bool)>,
    /// The plan that all candidates are made from, with some topology.
    pub base: PlanSpec,
    /// Servers of a candidate: from the constraints and the space.
    pub servers: (u64, u64),
    /// The most expensive stage that the constraints and objectives need.
    pub stage: Stage,
}

impl Asked {
    /// # Errors
    ///
    /// Findings for amounts in another currency than the price book's, because there is no exchange
    /// rate.
    pub fn check_currency(&self, own: &str) -> Result<(), Vec<Finding>> {
        let mut findings = Vec::new();
        for (i, (constraint, limit)) in self.spec.constraints.iter().zip(&self.limits).enumerate() {
            for (end, value) in [
                ("at_least", &constraint.at_least),
                ("at_most", &constraint.at_most),
            ] {
                let Some(Value::String(text)) = value else {
                    continue;
                };
                let Some(code) = METRICS[limit.metric].unit.currency(text) else {
                    continue;
                };
                if code != own {
                    findings.push(
                        Finding::error(
                            "search-currency",
                            format!("constraints[{i}].{end}"),
                            format!("{text} is in {code}, and the price book in {own}."),
                            format!("Give the amount in {own}, or choose a price book in {code}."),
                        )
                        .with_value(text.as_str())
                        .with_limit(own),
                    );
                }
            }
        }
        if findings.is_empty() {
            Ok(())
        } else {
            Err(findings)
        }
    }
}

impl SearchSpec {
    /// Reads a question.
    ///
    /// # Errors
    /// Findings that name the field, its value and what it may be.
    pub fn from_json(text: &str) -> Result<Asked, Vec<Finding>> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let spec: SearchSpec = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = match error.path().to_string().as_str() {
                "." => "search".to_owned(),
                path => path.to_owned(),
            };
            vec![Finding::unreadable("search-unreadable", field, error.inner())]
        })?;
        spec.check()
    }

    /// # Errors
    /// As of [`SearchSpec::from_json`].
    fn check(mut self) -> Result<Asked, Vec<Finding>> {
        let mut findings = Vec::new();
        let limits = self.limits(&mut findings);
        let objectives = self.goals(&mut findings);
        self.check_failures(&mut findings);
        if !(1..=MOST_EVALUATIONS).contains(&self.evaluations) {
            findings.push(out_of_range("evaluations", self.evaluations, 1, MOST_EVALUATIONS));
        }
        let servers = self.servers(&limits, &mut findings);
        self.space.check(&mut findings);
        let base = self.base(&mut findings);
        let (Some(base), true) = (base, findings.is_empty()) else {
            return Err(findings);
        };
        self.space.most_servers = Some(servers.1);
        let of_limits = limits.iter().map(|limit| METRICS[limit.metric].stage);
        let of_goals = objectives.iter().map(|&(metric, _)| METRICS[metric].stage);
        let stage = of_limits.chain(of_goals).max().unwrap_or(Stage::Plan);
        Ok(Asked {
            spec: self,
            limits,
            objectives,
            base,
            servers,
            stage: stage.max(Stage::Plan),
        })
    }

    fn limits(&self, findings: &mut Vec<Finding>) -> Vec<Limit> {
        if self.constraints.len() > MOST_CONSTRAINTS {
            findings.push(out_of_range(
                "constraints",
                self.constraints.len(),
                0,
                MOST_CONSTRAINTS,
            ));
        }
        let mut limits = Vec::new();
        for (i, constraint) in self.constraints.iter().enumerate() {
            let field = format!("constraints[{i}]");
            let Some(metric) = known(&constraint.metric, &field, findings) else {
                continue;
            };
            let mut end = |name: &str, value: &Option<Value>, open: f64| match value {
                None => open,
                Some(value) => read_value(&METRICS[metric], value).unwrap_or_else(|| {
                    findings.push(unreadable(&METRICS[metric], &format!("{field}.{name}"), value));
                    open
                }),
            };
            let least = end("at_least", &constraint.at_least, f64::NEG_INFINITY);
            let most = end("at_most", &constraint.at_most, f64::INFINITY);
            if constraint.at_least.is_none() && constraint.at_most.is_none() {
                findings.push(Finding::error(
                    "search-no-limit",
                    field.as_str(),
                    format!("The constraint on {} has no limit.", constraint.metric),
                    "Give at_least, at_most or both.",
                ));
            } else if least > most {
                findings.push(
                    Finding::error(
                        "search-empty-range",
                        format!("{field}.at_most"),
                        format!("at_most is {most}, below at_least, {least}."),
                        "Give a greater at_most, or leave one of the two out.",
                    )
                    .with_value(most)
                    .with_limit(least),
                );
            }
            limits.push(Limit { metric, least, most });
        }
        limits
    }

    fn goals(&self, findings: &mut Vec<Finding>) -> Vec<(usize, bool)> {
        let count = self.objectives.len();
        if !(1..=MOST_OBJECTIVES).contains(&count) {
            findings.push(out_of_range("objectives", count, 1, MOST_OBJECTIVES));
        }
        let mut goals: Vec<(usize, bool)> = Vec::new();
        for (i, objective) in self.objectives.iter().enumerate() {
            let field = format!("objectives[{i}]");
            let Some(metric) = known(&objective.metric, &field, findings) else {
                continue;
            };
            if goals.iter().any(|&(other, _)| other == metric) {
                findings.push(
                    Finding::error(
                        "search-same-objective",
                        format!("{field}.metric"),
                        format!("{} is an objective already.", objective.metric),
                        "Leave it out, or choose another metric.",
                    )
                    .with_value(objective.metric.as_str()),
                );
            }
            let more = objective
                .goal
                .map_or(METRICS[metric].more, |goal| goal == Goal::Maximise);
            goals.push((metric, more));
        }
        goals
    }

    fn check_failures(&self, findings: &mut Vec<Finding>) {
        let failures = &self.failures;
        if !(0.0..=1.0).contains(&failures.ratio) {
            findings.push(
                Finding::error(
                    "search-failure-ratio",
                    "failures.ratio",
                    format!("A ratio of {} is not possible.", failures.ratio),
                    "Give a share from 0 to 1, like 0.1 for 10 %.",
                )
                .with_value(failures.ratio)
                .with_limit(1),
            );
        }
        if failures.kind == TargetKind::Rack {
            findings.push(
                Finding::error(
                    "search-failure-kind",
                    "failures.kind",
                    "Racks cannot fail in a search.",
                    "Use switch, server or link.",
                )
                .with_value("rack"),
            );
        }
        if !(1..=MOST_SEEDS).contains(&failures.seeds.len()) {
            findings.push(out_of_range(
                "failures.seeds",
                failures.seeds.len(),
                1,
                MOST_SEEDS,
            ));
        }
    }

    /// The limits on servers from the constraints and the space; without an upper limit, twice the
    /// least number.
    fn servers(&self, limits: &[Limit], findings: &mut Vec<Finding>) -> (u64, u64) {
        let on_servers = || limits.iter().filter(|limit| limit.metric == at::SERVERS);
        let least = on_servers().map(|limit| limit.least).fold(1.0, f64::max).ceil();
        let most = on_servers().map(|limit| limit.most).fold(f64::INFINITY, f64::min);
        let most = self
            .space
            .most_servers
            .map_or(most, |space| most.min(space as f64));
        if most.is_infinite() && least <= 1.0 {
            findings.push(Finding::error(
                "search-no-servers",
                "constraints",
                "The number of servers of the plans is not limited.",
                "Add a constraint on servers, like {\"metric\": \"servers\", \"at_least\": 1500}.",
            ));
            return (1, 1);
        }
        let most = if most.is_infinite() {
            (2.0 * least).min(MOST_SERVERS as f64)
        } else {
            most.floor()
        };
        if least > most || most > MOST_SERVERS as f64 || most < 1.0 {
            let (field, value) = if self.space.most_servers.is_some() {
                ("space.most_servers", most)
            } else {
                ("constraints", most)
            };
            findings.push(
                Finding::error(
                    "search-servers",
                    field,
                    format!("Plans would have {least} to {most} servers; there must be some, and at most {MOST_SERVERS}."),
                    "Change the constraint on servers, or space.most_servers.",
                )
                .with_value(value)
                .with_limit(MOST_SERVERS),
            );
            return (1, 1);
        }
        (least as u64, most as u64)
    }

    fn base(&self, findings: &mut Vec<Finding>) -> Option<PlanSpec> {
        let mut plan = self.plan.clone();
        if plan.contains_key("topology") {
            findings.push(Finding::error(
                "search-topology",
                "plan.topology",
                "The search chooses the topology.",
                "Leave it out; space lists the families to try.",
            ));
            return None;
        }
        plan.insert("topology".to_owned(), json!({"family": "bcube", "n": 4, "k": 1}));
        let read = read_spec(&Value::Object(plan).to_string()).and_then(|spec| {
            let wrong: Vec<Finding> = spec.validate().into_iter().filter(Finding::is_error).collect();
            if wrong.is_empty() {
                Ok(spec)
            } else {
                Err(wrong.into())
            }
        });
        read.map_err(|error| {
            findings.extend(error.findings.into_iter().map(|mut finding| {
                finding.field = format!("plan.{}", finding.field);
                finding
            }));
        })
        .ok()
    }
}

fn known(name: &str, field: &str, findings: &mut Vec<Finding>) -> Option<usize> {
    let found = index_of(name);
    if found.is_none() {
        let names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        findings.push(
            Finding::error(
                "search-no-such-metric",
                format!("{field}.metric"),
                format!("There is no metric {name}."),
                format!("Use one of {}.", names.join(", ")),
            )
            .with_value(name),
        );
    }
    found
}

fn read_value(metric: &Metric, value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => metric.unit.read(text),
        _ => None,
    }
}

fn unreadable(metric: &Metric, field: &str, value: &Value) -> Finding {
    let units: Vec<&str> = metric
        .unit
        .names()
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !name.is_empty())
        .collect();
    let hint = if units.is_empty() {
        "Give a number.".to_owned()
    } else {
        format!("Give a number, or text with a unit: {}.", units.join(", "))
    };
    let message = format!("{value} is no value of {}.", metric.name);
    Finding::error("search-value", field, message, hint).with_value(value.clone())
}

fn out_of_range(field: &str, value: usize, least: usize, most: usize) -> Finding {
    Finding::error(
        "search-out-of-range",
        field,
        format!("{field}: {value} is not from {least} to {most}."),
        format!("Give {least} to {most}."),
    )
    .with_value(value)
    .with_limit(most)
}
