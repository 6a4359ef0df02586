//! Faults of an experiment, and the network that remains after them.
//!
//! Inside: the damage of a list of faults (here), and the devices and links of a target, by name,
//! share or selector (`target`). Kinds, parameters and their check: `cubeyard_topology::fault`.
//!
//! Random draws of a fault come from the experiment's seed and the fault's number in the list.
//!
//! Not here: the remaining capacity of degraded links (`crate::degraded`), and injecting faults
//! into an emulation.

mod target;

use cubeyard_routing::Failures;
use cubeyard_routing::random::mix;
use cubeyard_topology::Finding;
use cubeyard_topology::fault::{CATALOG, FaultEntry, FaultKind, FaultTarget, PERIOD};
pub use cubeyard_topology::fault::{Fault, Named, Selected, Share, Target, TargetKind};
use serde_json::json;

use crate::degraded::Damage;
use crate::network::Network;
use target::strike;

/// The findings for a fault of a computed engine, which supports some kinds.
pub(crate) fn check(
    fault: &Fault,
    field: &str,
    knows: impl Fn(&FaultEntry) -> bool,
    unknown: impl Fn(FaultKind, &[&str]) -> Finding,
) -> Vec<Finding> {
    if !knows(fault.kind.entry()) {
        let known: Vec<&str> = CATALOG
            .iter()
            .filter(|entry| knows(entry))
            .map(|entry| entry.name)
            .collect();
        let mut findings = fault.check_times(field);
        findings.push(unknown(fault.kind, &known));
        return findings;
    }
    let mut findings = fault.check(field);
    if fault.values.get(PERIOD.name).is_some() {
        findings.push(Finding::error(
            "fault-repeats",
            format!("{field}.{}", PERIOD.name),
            "Only an emulation repeats faults.",
            "Leave it out, or run an emulation.",
        ));
    }
    findings
}

/// The devices and links that a fault of its kind affects: `server-off` of a rack affects the
/// rack's servers.
fn hit(fault: &Fault, network: &Network, seed: u64, index: usize) -> Result<Failures, Vec<Finding>> {
    let topology = network.topology();
    let mut struck = Failures::none(topology);
    strike(&fault.target, network, seed, index, &mut struck)?;
    let target = fault.kind.entry().target;
    if target == FaultTarget::Any {
        return Ok(struck);
    }
    let mut own = Failures::none(topology);
    for node in struck.nodes().iter() {
        let is_server = node < topology.server_count();
        if target
            == if is_server {
                FaultTarget::Server
            } else {
                FaultTarget::Switch
            }
        {
            own.fail_node(node);
        }
    }
    if target == FaultTarget::Link {
        struck.links().iter().for_each(|link| own.fail_link(link));
    }
    if own.is_empty() && !struck.is_empty() {
        return Err(vec![nothing_struck(fault, index, network)]);
    }
    Ok(own)
}

/// The finding for a fault whose target has nothing that its kind affects.
pub(crate) fn nothing_struck(fault: &Fault, index: usize, network: &Network) -> Finding {
    let topology = network.topology();
    let links = topology.links();
    let example = links
        .a
        .first()
        .zip(links.b.first())
        .map_or_else(String::new, |(&a, &b)| {
            format!(", like {}/{}", topology.node_name(a), topology.node_name(b))
        });
    let (code, what, hint) = match fault.kind.entry().target {
        FaultTarget::Server => (
            "no-server-struck",
            "server",
            "Name a server; or write `10% of servers`.".to_owned(),
        ),
        FaultTarget::Switch => (
            "no-switch-struck",
            "switch",
            "Name a switch; or write `10% of switches`.".to_owned(),
        ),
        FaultTarget::Link | FaultTarget::Any => (
            "no-link-struck",
            "link",
            format!("Name a link by its two ends{example}; or write `10% of links`."),
        ),
    };
    Finding::error(
        code,
        format!("faults[{index}].target"),
        format!(
            "The target of {} affects no {what} of this plan.",
            fault.kind.name()
        ),
        hint,
    )
    .with_value(json!(fault.target))
}

/// The finding for a kind that only an emulation can inject.
fn not_predicted(kind: FaultKind, field: &str, known: &[&str]) -> Finding {
    Finding::error(
        "fault-not-predicted",
        format!("{field}.kind"),
        format!(
            "The flow engine cannot predict a fault of kind {}; it knows {}.",
            kind.name(),
            known.join(", ")
        ),
        "Choose one of these, or run an emulation.",
    )
    .with_value(kind.name())
}

/// The damage at the time of the last fault. A fault that ends before that time does not count.
///
/// Random draws of fault `i` come from `seed` and `i`, so that adding a fault changes no earlier
/// one. Linear in the number of affected parts, and for each draw in the number of candidates.
///
/// # Errors
///
/// A finding for each time, parameter and target that is missing or invalid.
pub fn apply(faults: &[Fault], network: &Network, seed: u64) -> Result<Damage, Vec<Finding>> {
    let mut damage = Damage::none(network.topology());
    let mut findings = Vec::new();
    for (i, fault) in faults.iter().enumerate() {
        let field = format!("faults[{i}]");
        findings.extend(check(fault, &field, FaultEntry::predicted, |kind, known| {
            not_predicted(kind, &field, known)
        }));
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let last_secs = faults.iter().map(|fault| fault.at_secs).fold(0.0, f64::max);
    for (i, fault) in faults.iter().enumerate() {
        if fault.until_secs.is_some_and(|until| until <= last_secs) {
            continue;
        }
        let seed = seed_of(seed, i);
        match hit(fault, network, seed, i) {
            Err(more) => findings.extend(more),
            Ok(own) => match fault.effect().links.degraded() {
                Some(_) if own.links().is_empty() => findings.push(nothing_struck(fault, i, network)),
                Some(quality) => own
                    .links()
                    .iter()
                    .for_each(|link| damage.degraded.add(link, quality)),
                None => {
                    own.nodes()
                        .iter()
                        .for_each(|node| damage.failures.fail_node(node));
                    own.links()
                        .iter()
                        .for_each(|link| damage.failures.fail_link(link));
                }
            },
        }
    }
    if findings.is_empty() {
        Ok(damage)
    } else {
        Err(findings)
    }
}

/// The seed of fault `i`; the first fault uses the experiment's seed.
fn seed_of(seed: u64, i: usize) -> u64 {
    if i == 0 { seed } else { mix(seed ^ mix(i as u64)) }
}

/// Reads a list of faults.
///
/// # Errors
///
/// A finding with the position at which the text is not a list of faults.
pub fn from_json(text: &str) -> Result<Vec<Fault>, Vec<Finding>> {
    serde_json::from_str(text).map_err(|error| {
        vec![Finding::error(
            "not-faults",
            "faults",
            format!("The faults cannot be read: {error}."),
            "Give a list like [{\"target\": {\"selector\": \"10% of level-1 switches\"}}].",
        )]
    })
}

/// The devices and links that each fault affects, regardless of its times; drawn as in [`apply`].
///
/// # Errors
///
/// A finding for each target that does not exist or is invalid.
pub fn struck(faults: &[Fault], network: &Network, seed: u64) -> Result<Vec<Failures>, Vec<Finding>> {
    let mut each = Vec::with_capacity(faults.len());
    let mut findings = Vec::new();
    for (i, fault) in faults.iter().enumerate() {
        match hit(fault, network, seed_of(seed, i), i) {
            Ok(own) => each.push(own),
            Err(more) => findings.extend(more),
        }
    }
    if findings.is_empty() {
        Ok(each)
    } else {
        Err(findings)
    }
}
