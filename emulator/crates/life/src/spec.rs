//! The request: a plan, years, seeds, rates, policies and floors, all as data.

use std::collections::BTreeMap;

use cubeyard_plan::{PlanSpec, read_spec};
use cubeyard_topology::{Finding, number_text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ageing::UnitKind;
use crate::rates::{KINDS, Lifetime, RATES};

const MOST_YEARS: f64 = 30.0;
const MOST_SEEDS: usize = 2_000;
const MOST_POLICIES: usize = 6;
const MOST_STEP_MONTHS: u32 = 12;
const MOST_EXACT_STATES: usize = 20_000;
const MOST_SPARES: u32 = 1_000_000;
/// Grid points of a curve: 30 years by month.
const MOST_MONTHS: u32 = 360;

/// The request of a simulation of lives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifeSpec {
    /// A plan spec or a topology spec.
    pub plan: Value,
    /// The simulated time in years.
    #[serde(default = "five")]
    pub years: f64,
    /// Number of lives.
    #[serde(default = "two_hundred")]
    pub seeds: usize,
    /// The first life's seed; the others follow.
    #[serde(default = "one")]
    pub first_seed: u64,
    /// Months between two points of a curve.
    #[serde(default = "one_month")]
    pub step_months: u32,
    /// Annual failure rates by part that replace the catalogue's, 0 to below 1.
    #[serde(default)]
    pub rates: BTreeMap<String, f64>,
    /// Multiplies every hazard; 0.125 is the value observed in a sealed container filled with
    /// nitrogen.
    #[serde(default = "unit")]
    pub rate_factor: f64,
    /// The shape of Weibull lifetimes; 1 is exponential, above 1 parts wear out.
    #[serde(default = "unit")]
    pub shape: f64,
    /// The repair policies; the others are compared with the first.
    #[serde(default = "sealed")]
    pub policies: Vec<Policy>,
    /// The limits below which a container counts as insufficient.
    #[serde(default)]
    pub floors: Floors,
    /// Price of a visit in addition to parts and work, in the price book's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit_price: Option<f64>,
    /// The name of a routing scheme; default: the family's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<String>,
    /// Number of states whose throughput is computed; the default depends on the plan's size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exact_states: Option<usize>,
}

/// The visits and spares of a policy. Without visits nothing is repaired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The name of the policy; by default, derived from its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Months between visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit_months: Option<f64>,
    /// A visit is called when the share of servers alive falls below this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit_below: Option<f64>,
    /// Months from the call to the visit; 1 if omitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_months: Option<f64>,
    /// Units to swap over the whole life, by kind: `server`, `switch`, `cable`, `pdu`. Without a
    /// kit, as many as needed. In a kit, kinds that are not named have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spares: Option<BTreeMap<String, u32>>,
}

/// Shares of the numbers at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Floors {
    /// The least share of servers that are alive and connected.
    #[serde(default = "nine_tenths")]
    pub servers: f64,
    /// The least share of the aggregate bottleneck throughput.
    #[serde(default = "half")]
    pub abt: f64,
}

impl Default for Floors {
    fn default() -> Floors {
        Floors {
            servers: nine_tenths(),
            abt: half(),
        }
    }
}

fn five() -> f64 {
    5.0
}
fn two_hundred() -> usize {
    200
}
fn one() -> u64 {
    1
}
fn one_month() -> u32 {
    1
}
fn unit() -> f64 {
    1.0
}
fn nine_tenths() -> f64 {
    0.9
}
fn half() -> f64 {
    0.5
}
fn sealed() -> Vec<Policy> {
    vec![Policy::default()]
}

impl Policy {
    /// The name shown to users.
    pub fn title(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let visits = match (self.visit_months, self.visit_below) {
            (Some(months), _) => format!("Visit every {months} months"),
            (None, Some(share)) => format!("Visit below {} % of servers", share * 100.0),
            (None, None) => return "Sealed, no repair".to_owned(),
        };
        match &self.spares {
            None => visits,
            Some(kit) => {
                let count: u32 = kit.values().sum();
                format!("{visits}, kit of {count} spares")
            }
        }
    }

    /// The months from the call to the visit.
    pub(crate) fn lead_months(&self) -> f64 {
        self.lead_months.unwrap_or(1.0)
    }

    /// Units of each kind that the kit has; `None` for as many as needed.
    pub(crate) fn kit(&self) -> [Option<u32>; UnitKind::COUNT] {
        let of = |kind: UnitKind| {
            let kit = self.spares.as_ref()?;
            Some(kit.get(kind.name()).copied().unwrap_or(0))
        };
        UnitKind::ALL.map(of)
    }
}

/// One limit of a number: its field, value its two ends, and whether the lower end is included.
fn outside(field: impl Into<String>, value: f64, least: f64, most: f64, open: bool) -> Option<Finding> {
    let field = field.into();
    let ok = value.is_finite() && value <= most && if open { value > least } else { value >= least };
    let from = if open { "above" } else { "at least" };
    (!ok).then(|| {
        Finding::error(
            "life-out-of-range",
            field.clone(),
            format!(
                "{field} is {}; it must be {from} {least} and at most {most}.",
                number_text(value)
            ),
            format!("Give a number {from} {least} and at most {most}."),
        )
        .with_value(value)
        .with_limit(json!([least, most]))
    })
}

fn unknown(field: String, name: &str, known: &[&str]) -> Finding {
    Finding::error(
        "life-unknown-name",
        field,
        format!("There is no {name:?} here."),
        format!("Use one of {}.", known.join(", ")),
    )
    .with_value(name)
    .with_limit(json!(known))
}

impl LifeSpec {
    /// Reads and checks a request.
    ///
    /// # Errors
    /// Findings that name the field, its value and what it may be.
    pub fn from_json(text: &str) -> Result<LifeSpec, Vec<Finding>> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let spec: LifeSpec = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let field = match error.path().to_string().as_str() {
                "." => "life".to_owned(),
                path => path.to_owned(),
            };
            vec![Finding::unreadable("life-unreadable", field, error.inner())]
        })?;
        let findings = spec.check();
        if findings.is_empty() {
            Ok(spec)
        } else {
            Err(findings)
        }
    }

    /// The plan's spec.
    ///
    /// # Errors
    ///
    /// The errors in it, by field of the plan.
    pub fn plan_spec(&self) -> Result<PlanSpec, Vec<Finding>> {
        read_spec(&self.plan.to_string()).map_err(|error| error.findings)
    }

    fn check(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = [
            outside("years", self.years, 0.0, MOST_YEARS, true),
            outside(
                "seeds".to_owned(),
                self.seeds as f64,
                1.0,
                MOST_SEEDS as f64,
                false,
            ),
            outside(
                "step_months",
                f64::from(self.step_months),
                1.0,
                f64::from(MOST_STEP_MONTHS),
                false,
            ),
            outside("rate_factor", self.rate_factor, 0.0, 100.0, false),
            outside("shape", self.shape, 0.2, 10.0, false),
            outside("floors.servers", self.floors.servers, 0.0, 1.0, false),
            outside("floors.abt", self.floors.abt, 0.0, 1.0, false),
            self.visit_price
                .and_then(|price| outside("visit_price", price, 0.0, 1e9, false)),
            self.exact_states.and_then(|states| {
                let most = MOST_EXACT_STATES as f64;
                outside("exact_states", states as f64, 2.0, most, false)
            }),
            outside(
                "policies",
                self.policies.len() as f64,
                1.0,
                MOST_POLICIES as f64,
                false,
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        findings.extend(self.check_rates());
        for (i, policy) in self.policies.iter().enumerate() {
            findings.extend(check_policy(policy, &format!("policies[{i}]")));
        }
        if self.years * 12.0 < f64::from(self.step_months) {
            let hint = "Give more years or a shorter step.";
            let message = format!("{} years are shorter than one step.", self.years);
            findings.push(Finding::error("life-out-of-range", "years", message, hint).with_value(self.years));
        }
        findings
    }

    fn check_rates(&self) -> Vec<Finding> {
        let known: Vec<&str> = RATES.iter().map(|rate| rate.part.as_str()).collect();
        let mut findings = Vec::new();
        for (part, &afr) in &self.rates {
            let field = format!("rates.{part}");
            if !known.contains(&part.as_str()) {
                findings.push(unknown(field, part, &known));
            } else if !(0.0..1.0).contains(&afr) {
                findings.push(
                    Finding::error(
                        "life-out-of-range",
                        field.clone(),
                        format!(
                            "{field} is {}; it must be at least 0 and below 1.",
                            number_text(afr)
                        ),
                        "Give the share that fails in its first year: 0.02 is 2 %.",
                    )
                    .with_value(afr)
                    .with_limit(json!([0, 1])),
                );
            }
        }
        findings
    }

    /// The annual failure rate of each kind of part, and whether the request set it.
    pub(crate) fn afr(&self) -> [(f64, bool); KINDS] {
        std::array::from_fn(|kind| match self.rates.get(&RATES[kind].part) {
            Some(&afr) => (afr, true),
            None => (RATES[kind].afr, false),
        })
    }

    pub(crate) fn lifetimes(&self) -> [Lifetime; KINDS] {
        self.afr()
            .map(|(afr, _)| Lifetime::new(afr, self.rate_factor, self.shape))
    }

    /// The points of the curves, from 0 on.
    pub(crate) fn months(&self) -> Vec<f64> {
        let last = (self.years * 12.0 + 1e-9).floor() as u32;
        (0..=last.min(MOST_MONTHS))
            .step_by(self.step_months as usize)
            .map(f64::from)
            .collect()
    }
}

fn check_policy(policy: &Policy, field: &str) -> Vec<Finding> {
    let at = |name: &str| format!("{field}.{name}");
    let mut findings: Vec<Finding> = [
        policy
            .visit_months
            .and_then(|months| outside(at("visit_months"), months, 0.5, 600.0, false)),
        policy
            .visit_below
            .and_then(|share| outside(at("visit_below"), share, 0.0, 1.0, true)),
        policy
            .lead_months
            .and_then(|months| outside(at("lead_months"), months, 0.0, 120.0, false)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let refuse =
        |name: &str, message: &str, hint: &str| Finding::error("life-policy", at(name), message, hint);
    if policy.visit_months.is_some() && policy.visit_below.is_some() {
        findings.push(refuse(
            "visit_below",
            "A policy has visits at fixed times or below a floor, not both.",
            "Leave visit_months or visit_below out; give two policies to compare them.",
        ));
    }
    if policy.visit_below.is_none() && policy.lead_months.is_some() {
        findings.push(refuse(
            "lead_months",
            "lead_months counts from the call of a visit, which needs visit_below.",
            "Give visit_below, or leave lead_months out.",
        ));
    }
    if policy.spares.is_some() && policy.visit_months.is_none() && policy.visit_below.is_none() {
        findings.push(refuse(
            "spares",
            "Spares are used at visits, and this policy has none.",
            "Give visit_months or visit_below, or leave spares out.",
        ));
    }
    let known = UnitKind::ALL.map(UnitKind::name);
    for (kind, &count) in policy.spares.iter().flatten() {
        let field = at(&format!("spares.{kind}"));
        if !known.contains(&kind.as_str()) {
            findings.push(unknown(field, kind, &known));
        } else {
            findings.extend(outside(
                field,
                f64::from(count),
                0.0,
                f64::from(MOST_SPARES),
                false,
            ));
        }
    }
    findings
}
