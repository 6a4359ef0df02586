//! The metrics of a candidate that need no traffic: its counts, then its plan's price, power and
//! sizes.

use cubeyard_plan::layout::parts_of;
use cubeyard_plan::plan::{Draft, draft};
use cubeyard_plan::power::power;
use cubeyard_plan::spec::Enclosure;
use cubeyard_plan::{Book, PlanSpec};
use cubeyard_topology::Topology;

use crate::metric::{METRICS, Stage, Values, at};
use crate::space::Candidate;
use crate::spec::{Asked, Limit};
use crate::survive::{Most, most_abt_gbps};

/// Why a candidate is rejected before its throughput is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// It violates the constraint with this index.
    Constraint(usize),
    /// It has no plan.
    NoPlan,
    /// A part of it has no price, or an objective has no value.
    Unknown,
}

/// A rejected candidate: the reason, and its known values.
pub type Left = Box<(Out, Values)>;

/// A candidate with the price of its plan.
#[derive(Clone, Debug)]
pub struct Priced {
    /// The values computed so far.
    pub values: Values,
    /// The upper bounds of its throughput.
    pub most: Most,
}

/// The values of closed forms.
pub fn counts(candidate: &Candidate) -> Values {
    let mut values = [None; METRICS.len()];
    let size = candidate.size;
    values[at::SERVERS] = Some(size.servers as f64);
    values[at::SWITCHES] = Some(size.switches as f64);
    values[at::LINKS] = Some(size.links as f64);
    values[at::SERVER_PORTS] = Some(f64::from(size.server_ports));
    values
}

/// The plan spec of a candidate.
pub fn spec_of(asked: &Asked, candidate: &Candidate) -> PlanSpec {
    PlanSpec {
        topology: candidate.topology.clone(),
        ..asked.base.clone()
    }
}

/// The first violated constraint of these stages. A missing value violates its constraint.
pub fn broken(limits: &[Limit], values: &Values, stages: std::ops::RangeInclusive<Stage>) -> Option<usize> {
    limits.iter().position(|limit| {
        stages.contains(&METRICS[limit.metric].stage)
            && !values[limit.metric].is_some_and(|value| limit.keeps(value))
    })
}

/// The first constraint that even the best values violate.
pub fn hopeless(limits: &[Limit], best: &Values) -> Option<usize> {
    limits.iter().position(|limit| {
        best[limit.metric].is_some_and(|value| METRICS[limit.metric].more && value < limit.least)
    })
}

/// The candidate's plan in numbers: about two milliseconds for 2,000 servers.
///
/// # Errors
///
/// The reason why it is rejected, with its known values.
pub fn price(asked: &Asked, candidate: &Candidate, book: &Book) -> Result<Priced, Left> {
    let mut values = counts(candidate);
    if let Some(limit) = broken(&asked.limits, &values, Stage::Counts..=Stage::Counts) {
        return Err(Box::new((Out::Constraint(limit), values)));
    }
    let spec = spec_of(asked, candidate);
    let Ok(topology) = Topology::build(&spec.topology) else {
        return Err(Box::new((Out::NoPlan, values)));
    };
    // Parts and power do not depend on the layout; a device without a part has no price.
    let parts = parts_of(&spec, &topology, book);
    let power = power(&topology, &parts, book);
    values[at::POWER] = (!power.at_least).then_some(power.total);
    if parts.server.is_none() || parts.nics_missing || parts.tiers.contains(&None) {
        return Err(Box::new((Out::Unknown, values)));
    }
    let too_hungry = |limit: &Limit| limit.metric == at::POWER && !limit.keeps(power.total);
    if let Some(limit) = asked.limits.iter().position(too_hungry) {
        return Err(Box::new((Out::Constraint(limit), values)));
    }
    let most = most_abt_gbps(asked, &topology);
    let best = most.at_best(&values);
    if let Some(limit) = hopeless(&asked.limits, &best) {
        return Err(Box::new((Out::Constraint(limit), best)));
    }
    let Ok(built) = draft(&spec, book) else {
        return Err(Box::new((Out::NoPlan, values)));
    };
    enter_plan(&mut values, &built);
    if built.cost.at_least {
        return Err(Box::new((Out::Unknown, values)));
    }
    if let Some(limit) = broken(&asked.limits, &values, Stage::Counts..=Stage::Plan) {
        return Err(Box::new((Out::Constraint(limit), values)));
    }
    let best = most.at_best(&values);
    if asked.objectives.iter().any(|&(metric, _)| best[metric].is_none()) {
        return Err(Box::new((Out::Unknown, values)));
    }
    Ok(Priced { values, most })
}

fn enter_plan(values: &mut Values, plan: &Draft) {
    let metres = |millimetres: u64| millimetres as f64 / 1e3;
    let stock = &plan.wiring.stock_mm;
    let site = &plan.layout.site;
    let servers = f64::from(plan.topology.server_count());
    values[at::COST] = Some(plan.cost.total);
    values[at::NETWORK_COST] = Some(plan.cost.network);
    values[at::COST_PER_SERVER] = Some((plan.cost.total / servers * 100.0).round() / 100.0);
    values[at::CONTAINERS] = (site.enclosure != Enclosure::Rows).then_some(f64::from(site.containers));
    values[at::RACKS] = Some(plan.layout.racks.name.len() as f64);
    values[at::CABLE_LENGTH] = Some(metres(
        plan.wiring.leads().map(|link| u64::from(stock[link])).sum(),
    ));
    values[at::LONGEST_CABLE] = Some(metres(u64::from(stock.iter().copied().max().unwrap_or(0))));
    values[at::WEIGHT] = Some(plan.bom.weight_kg);
    values[at::LABOUR] = Some(plan.bom.labour_minutes);
    values[at::LIMITS_EXCEEDED] = Some(plan.site_limits.iter().filter(|limit| limit.over > 0).count() as f64);
    let metrics = plan.topology.metrics();
    values[at::DIAMETER] = Some(metrics.diameter_links.value);
    values[at::BISECTION] = Some(metrics.bisection_bits_per_sec.value / 1e9);
}
