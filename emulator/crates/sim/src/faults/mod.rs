//! Faults of an experiment, and the network that remains after them.
//!
//! Inside: the fault with its time, kind and parameters, and the damage of a list of faults (here);
//! the devices and links of a target, by name, share or selector (`target`). The kinds come from
//! the catalogue, `cubeyard_topology::faults`.
//!
//! Random draws of a fault come from the experiment's seed and the fault's number in the list.
//!
//! Not here: the remaining capacity of degraded links (`crate::degraded`), and injecting faults
//! into an emulation.

mod target;

use cubeyard_routing::Failures;
use cubeyard_routing::random::mix;
use cubeyard_topology::Finding;
use cubeyard_topology::faults::{CATALOG, FaultKind, FaultParameter};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::degraded::{Damage, Limit};
use crate::network::Network;
use target::strike;
pub use target::{Named, Selected, Share, Target, TargetKind};

/// A failure, and possibly its recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Start of the fault, in seconds.
    #[serde(default)]
    pub at_secs: f64,
    /// The devices or links that fail.
    pub target: Target,
    /// The kind of fault.
    #[serde(default)]
    pub kind: FaultKind,
    /// With `link-rate`: the remaining rate of each direction, above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_sec: Option<f64>,
    /// With `link-loss`: the share of packets that is lost, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<f64>,
    /// With `link-delay`: the added delay of packets, in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_secs: Option<f64>,
    /// Time of the recovery; never by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_secs: Option<f64>,
}

impl Fault {
    /// The value given for a parameter of the catalogue, if any.
    fn value_of(&self, parameter: &FaultParameter) -> Option<f64> {
        match parameter.name {
            "rate_bits_per_sec" => self.rate_bits_per_sec,
            "loss_ratio" => self.loss_ratio,
            "delay_secs" => self.delay_secs,
            _ => None,
        }
    }

    /// The remaining capacity of each link that the fault affects; `None` if the link carries
    /// nothing. `field` is the path of the fault in the experiment.
    ///
    /// # Errors
    ///
    /// A finding for a kind that cannot be predicted, and for each parameter that is missing,
    /// misplaced or out of limits.
    fn limit(&self, field: &str) -> Result<Option<Limit>, Vec<Finding>> {
        if !self.kind.entry().predicted {
            return Err(vec![not_predicted(self.kind, field)]);
        }
        self.check_parameters(field)?;
        Ok(match self.kind {
            FaultKind::LinkRate => self.rate_bits_per_sec.map(Limit::rate),
            FaultKind::LinkLoss => self.loss_ratio.map(Limit::loss),
            _ => None,
        })
    }

    /// # Errors
    /// A finding for each parameter that is missing, misplaced or out of limits.
    pub(crate) fn check_parameters(&self, field: &str) -> Result<(), Vec<Finding>> {
        let entry = self.kind.entry();
        let others = CATALOG.iter().filter(|other| other.kind != self.kind);
        let mut findings: Vec<Finding> = others
            .flat_map(|other| {
                other
                    .parameters
                    .iter()
                    .map(move |parameter| (other.kind, parameter))
            })
            .filter_map(|(kind, parameter)| Some((kind, parameter, self.value_of(parameter)?)))
            .map(|(kind, parameter, value)| {
                let name = parameter.name;
                Finding::error(
                    "fault-parameter",
                    format!("{field}.{name}"),
                    format!("A fault of kind {} has no parameter {name}.", self.kind.name()),
                    format!("Leave it out, or make the kind {}.", kind.name()),
                )
                .with_value(json!(value))
            })
            .collect();
        findings.extend(entry.parameters.iter().filter_map(|parameter| {
            let value = self.value_of(parameter);
            let name = parameter.name;
            let message = match value {
                None => format!("A fault of kind {} needs {name}.", self.kind.name()),
                Some(value) if parameter.allows(value) => return None,
                Some(value) => format!("{name} is {value}; it must be {}.", parameter.limits()),
            };
            Some(
                Finding::error(
                    "fault-parameter",
                    format!("{field}.{name}"),
                    message,
                    format!("Give {}, for example {}.", parameter.limits(), parameter.default),
                )
                .with_value(json!(value))
                .with_limit(parameter.limits()),
            )
        }));
        if findings.is_empty() {
            Ok(())
        } else {
            Err(findings)
        }
    }

    /// The findings for times that are not possible.
    pub(crate) fn check_times(&self, field: &str) -> Vec<Finding> {
        let times = [("at_secs", Some(self.at_secs)), ("until_secs", self.until_secs)];
        let wrong = times
            .into_iter()
            .filter(|(_, value)| value.is_some_and(|value| !value.is_finite() || value < 0.0));
        wrong
            .map(|(name, value)| {
                Finding::error(
                    "fault-time",
                    format!("{field}.{name}"),
                    format!("A time of {} s is not possible.", value.unwrap_or_default()),
                    "Give a time of 0 s or later.",
                )
                .with_limit(0)
            })
            .collect()
    }

    /// Degrades every affected link to `limit`.
    fn degrade(
        &self,
        network: &Network,
        seed: u64,
        index: usize,
        limit: Limit,
        damage: &mut Damage,
    ) -> Result<(), Vec<Finding>> {
        let mut struck = Failures::none(network.topology());
        strike(&self.target, network, seed, index, &mut struck)?;
        if struck.links().is_empty() {
            return Err(vec![no_link_struck(self, index, network)]);
        }
        for link in struck.links().iter() {
            damage.degraded.add(link, limit);
        }
        Ok(())
    }
}

/// The finding for a fault of links whose target has none.
pub(crate) fn no_link_struck(fault: &Fault, index: usize, network: &Network) -> Finding {
    let topology = network.topology();
    let links = topology.links();
    let example = links
        .a
        .first()
        .zip(links.b.first())
        .map_or_else(String::new, |(&a, &b)| {
            format!(", like {}/{}", topology.node_name(a), topology.node_name(b))
        });
    Finding::error(
        "no-link-struck",
        format!("faults[{index}].target"),
        format!(
            "The target of {} affects no link of this plan.",
            fault.kind.name()
        ),
        format!("Name a link by its two ends{example}; or write `10% of links`."),
    )
    .with_value(json!(fault.target))
}

/// The finding for a kind that only an emulation can inject.
fn not_predicted(kind: FaultKind, field: &str) -> Finding {
    let known: Vec<&str> = CATALOG
        .iter()
        .filter(|entry| entry.predicted)
        .map(|entry| entry.kind.name())
        .collect();
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
    let mut limits = Vec::with_capacity(faults.len());
    for (i, fault) in faults.iter().enumerate() {
        findings.extend(fault.check_times(&format!("faults[{i}]")));
        match fault.limit(&format!("faults[{i}]")) {
            Ok(limit) => limits.push(limit),
            Err(more) => findings.extend(more),
        }
    }
    if !findings.is_empty() {
        return Err(findings);
    }
    let last_secs = faults.iter().map(|fault| fault.at_secs).fold(0.0, f64::max);
    for (i, (fault, limit)) in faults.iter().zip(limits).enumerate() {
        if fault.until_secs.is_some_and(|until| until <= last_secs) {
            continue;
        }
        let seed = seed_of(seed, i);
        let struck = match limit {
            None => strike(&fault.target, network, seed, i, &mut damage.failures),
            Some(limit) => fault.degrade(network, seed, i, limit, &mut damage),
        };
        if let Err(more) = struck {
            findings.extend(more);
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
        let mut failures = Failures::none(network.topology());
        match strike(&fault.target, network, seed_of(seed, i), i, &mut failures) {
            Ok(()) => each.push(failures),
            Err(more) => findings.extend(more),
        }
    }
    if findings.is_empty() {
        Ok(each)
    } else {
        Err(findings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fault of a kind of links, with the values that its form starts with.
    fn of_kind(kind: FaultKind) -> Fault {
        let mut document = json!({"target": {"names": ["00/<0,0>"]}, "kind": kind});
        for parameter in kind.entry().parameters {
            document[parameter.name] = json!(parameter.default);
        }
        serde_json::from_value(document)
            .unwrap_or_else(|error| panic!("{}: add the parameter to `Fault`: {error}", kind.name()))
    }

    #[test]
    fn every_parameter_of_the_catalogue_is_read() {
        for entry in CATALOG {
            for parameter in entry.parameters {
                let (read, name) = (of_kind(entry.kind).value_of(parameter), parameter.name);
                assert_eq!(read, Some(parameter.default), "add {name} to `Fault::value_of`");
            }
        }
    }

    #[test]
    fn every_predicted_kind_that_carries_says_what_is_left() {
        for entry in CATALOG.iter().filter(|entry| entry.predicted && entry.carries) {
            let limit = of_kind(entry.kind).limit("faults[0]").expect("valid");
            assert!(limit.is_some(), "add {} to `Fault::limit`", entry.kind.name());
        }
    }
}
