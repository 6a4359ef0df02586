//! The outline of an experiment, without computing it. All checks of the input are here.

use cubeyard_topology::Finding;
use serde_json::{Value, json};

use crate::degraded::Damage;
use crate::experiment::{Experiment, MAX_LISTED_RATES, MAX_TIMED_FLOWS};
use crate::faults;
use crate::flow::document::failed_counts;
use crate::flow::wants_paths;
use crate::network::Network;
use crate::scheme;
use crate::workload::Demand;

/// `{routing, flows, failed: {servers, switches, links, degraded_links}, keeps_paths}` of an
/// experiment's first seed.
///
/// # Errors
/// The findings that [`crate::predict()`] would give.
pub fn outline(network: &Network, experiment: &Experiment) -> Result<Value, Vec<Finding>> {
    let routing = scheme::known(experiment.routing.as_deref(), network.topology().spec())?;
    let seed = experiment.seeds.first().copied().unwrap_or_default();
    let Damage { failures, degraded } = faults::apply(&experiment.faults, network, seed)?;
    let degraded_links = degraded
        .capacity(network.capacity_gbps(experiment.link_gbps))
        .degraded_links;
    let demand = experiment.workload.workload.demand(network, seed)?;
    check_starts(&demand)?;
    let flows = demand.flows.len();
    check_flows(experiment, flows)?;
    Ok(json!({
        "routing": routing,
        "flows": flows,
        "failed": failed_counts(network.topology(), &failures, degraded_links),
        "keeps_paths": wants_paths(experiment, flows),
    }))
}

/// Rejects flows that start at different times: this engine models a single state of the network.
pub(crate) fn check_starts(demand: &Demand) -> Result<(), Vec<Finding>> {
    if demand.exchanges.is_some() {
        return Err(vec![
            Finding::error(
                "requests-need-packets",
                "workload.kind",
                "Requests and responses follow each other in time, which the flow engine does not model.",
                "Choose the engine packet, or another workload.",
            )
            .with_value("requests")
            .with_limit("packet"),
        ]);
    }
    let starts = demand.timetable.iter().flat_map(|table| &table.starts_secs);
    let Some((flow, start_secs)) = starts.enumerate().find(|&(_, &start_secs)| start_secs > 0.0) else {
        return Ok(());
    };
    Err(vec![
        Finding::error(
            "flow-starts-later",
            format!("workload.flows[{flow}]"),
            format!("The flow engine starts all flows at 0 s; this one starts at {start_secs} s."),
            "Give start_secs 0, or choose the engine packet.",
        )
        .with_value(*start_secs)
        .with_limit(0),
    ])
}

/// Rejects options that are limited to fewer flows.
pub(crate) fn check_flows(experiment: &Experiment, flows: u64) -> Result<(), Vec<Finding>> {
    let refused = [
        (
            experiment.flow_size_gigabits().is_some(),
            MAX_TIMED_FLOWS,
            "flow_gigabits",
        ),
        (experiment.flow_rates, MAX_LISTED_RATES, "flow_rates"),
    ]
    .into_iter()
    .find(|&(asked, limit, _)| asked && flows > limit);
    let Some((_, limit, field)) = refused else {
        return Ok(());
    };
    Err(vec![
        Finding::error(
            "too-many-flows",
            field,
            format!("{field} works for at most {limit} flows; this workload has {flows}."),
            "Leave it out, or choose a smaller workload.",
        )
        .with_value(flows)
        .with_limit(limit),
    ])
}
