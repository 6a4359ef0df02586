//! Faults as they are written in an experiment, and what they leave failed.

use cubeyard_routing::random::{Draws, mix};
use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::{Finding, NodeId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::degraded::{Damage, Limit};
use crate::network::Network;
use crate::workload::no_rack;

/// Something that breaks, and perhaps comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// When.
    #[serde(default)]
    pub at_secs: f64,
    /// What.
    pub target: Target,
    /// How.
    #[serde(default)]
    pub kind: FaultKind,
    /// With `link-rate`: what each direction still carries, above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bits_per_sec: Option<f64>,
    /// With `link-loss`: the share of packets that is lost, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_ratio: Option<f64>,
    /// When it is back; never, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_secs: Option<f64>,
}

/// How something breaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// It carries nothing.
    #[default]
    Down,
    /// A link goes on at a lower rate.
    LinkRate,
    /// A link loses packets.
    LinkLoss,
}

impl FaultKind {
    /// Its name in documents.
    fn name(self) -> &'static str {
        match self {
            FaultKind::Down => "down",
            FaultKind::LinkRate => "link-rate",
            FaultKind::LinkLoss => "link-loss",
        }
    }
}

/// What breaks: a random share of one kind, things by name, or a selector in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// A random share of all components of one kind.
    Random(Share),
    /// Servers, switches, racks (`R07`) and links (`0132/<3,001>`) by name.
    Names(Named),
    /// In words: `10% of level-1 switches`, `5 servers`, `rack R3`, `server 0132`.
    Selector(Selected),
}

/// A share of all components of a kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// What to draw among.
    pub kind: TargetKind,
    /// How much of it, 0 to 1.
    pub ratio: f64,
}

/// Components by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The names.
    pub names: Vec<String>,
}

/// Components in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selected {
    /// The words.
    pub selector: String,
}

/// Kinds of component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// Servers.
    #[serde(alias = "servers")]
    Server,
    /// Switches.
    #[serde(alias = "switches")]
    Switch,
    /// Links.
    #[serde(alias = "links")]
    Link,
    /// Racks with all that stands in them.
    #[serde(alias = "racks")]
    Rack,
}

impl TargetKind {
    fn of_word(word: &str) -> Option<TargetKind> {
        match word {
            "server" | "servers" => Some(TargetKind::Server),
            "switch" | "switches" => Some(TargetKind::Switch),
            "link" | "links" => Some(TargetKind::Link),
            "rack" | "racks" => Some(TargetKind::Rack),
            _ => None,
        }
    }
}

impl Fault {
    /// What it leaves of each link that it strikes; `None` when it leaves nothing. `field` is where it is written.
    fn limit(&self, field: &str) -> Result<Option<Limit>, Vec<Finding>> {
        let parameters = [
            (FaultKind::LinkRate, "rate_bits_per_sec", self.rate_bits_per_sec),
            (FaultKind::LinkLoss, "loss_ratio", self.loss_ratio),
        ];
        let misplaced = parameters
            .iter()
            .filter(|&&(kind, _, value)| kind != self.kind && value.is_some());
        let mut findings: Vec<Finding> = misplaced
            .map(|(kind, name, value)| {
                Finding::error(
                    "fault-parameter",
                    format!("{field}.{name}"),
                    format!("{name} says nothing about a fault of kind {}.", self.kind.name()),
                    format!("Leave it out, or make the kind {}.", kind.name()),
                )
                .with_value(json!(value))
            })
            .collect();
        let limit = match self.kind {
            FaultKind::Down => Ok(None),
            FaultKind::LinkRate => possible(self.rate_bits_per_sec, |rate| rate.is_finite() && rate > 0.0)
                .map(|rate| Some(Limit::rate(rate)))
                .map_err(|wrong| {
                    (
                        wrong,
                        "rate_bits_per_sec",
                        "Give bits per second above 0, like 1e7.",
                    )
                }),
            FaultKind::LinkLoss => possible(self.loss_ratio, |loss| (0.0..=1.0).contains(&loss))
                .map(|loss| Some(Limit::loss(loss)))
                .map_err(|wrong| {
                    (
                        wrong,
                        "loss_ratio",
                        "Give a share from 0 to 1, like 0.05 for 5 %.",
                    )
                }),
        };
        match limit {
            Ok(limit) if findings.is_empty() => Ok(limit),
            Ok(_) => Err(findings),
            Err((wrong, name, hint)) => {
                let message = match wrong {
                    None => format!("A fault of kind {} needs {name}.", self.kind.name()),
                    Some(value) => format!("A {name} of {value} is not possible."),
                };
                let finding = Finding::error("fault-parameter", format!("{field}.{name}"), message, hint);
                findings.push(finding.with_value(json!(wrong)));
                Err(findings)
            }
        }
    }

    /// Degrades every link that it strikes, each to `limit`.
    fn degrade(
        &self,
        network: &Network,
        seed: u64,
        index: usize,
        limit: Limit,
        damage: &mut Damage,
    ) -> Result<(), Vec<Finding>> {
        let topology = network.topology();
        let mut struck = Failures::none(topology);
        strike(&self.target, network, seed, index, &mut struck)?;
        if struck.links().is_empty() {
            let links = topology.links();
            let example = links
                .a
                .first()
                .zip(links.b.first())
                .map_or_else(String::new, |(&a, &b)| {
                    format!(", like {}/{}", topology.node_name(a), topology.node_name(b))
                });
            return Err(vec![
                Finding::error(
                    "no-link-struck",
                    format!("faults[{index}].target"),
                    format!("The target of {} strikes no link of this plan.", self.kind.name()),
                    format!("Name a link by its two ends{example}; or write `10% of links`."),
                )
                .with_value(json!(self.target)),
            ]);
        }
        for link in struck.links().iter() {
            damage.degraded.add(link, limit);
        }
        Ok(())
    }
}

/// The value where there is one that can be; else what there is.
fn possible(value: Option<f64>, can_be: impl Fn(f64) -> bool) -> Result<f64, Option<f64>> {
    value.filter(|&value| can_be(value)).ok_or(value)
}

/// What is broken once the last fault has happened: a fault that ends before is over.
///
/// Random draws of fault `i` come from `seed` and `i`, so that a further fault changes no earlier one. Linear in what the
/// faults strike, and for each draw in what it draws among.
///
/// # Errors
/// A finding for each time, parameter and target that is not there or not possible.
pub fn apply(faults: &[Fault], network: &Network, seed: u64) -> Result<Damage, Vec<Finding>> {
    let mut damage = Damage::none(network.topology());
    let mut findings = Vec::new();
    let mut limits = Vec::with_capacity(faults.len());
    for (i, fault) in faults.iter().enumerate() {
        for (field, value) in [("at_secs", Some(fault.at_secs)), ("until_secs", fault.until_secs)] {
            if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
                findings.push(
                    Finding::error(
                        "fault-time",
                        format!("faults[{i}].{field}"),
                        format!("A time of {} s is not possible.", value.unwrap_or_default()),
                        "Give a time of 0 s or later.",
                    )
                    .with_limit(0),
                );
            }
        }
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

/// The seed of fault `i`: the first one draws from the experiment's itself.
fn seed_of(seed: u64, i: usize) -> u64 {
    if i == 0 { seed } else { mix(seed ^ mix(i as u64)) }
}

/// Reads a list of faults.
///
/// # Errors
/// A finding that says where the text is not one.
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

/// What each fault strikes by itself, whenever it begins and ends; drawn as in [`apply`].
///
/// # Errors
/// A finding for each target that is not there or not possible.
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

fn strike(
    target: &Target,
    network: &Network,
    seed: u64,
    index: usize,
    failures: &mut Failures,
) -> Result<(), Vec<Finding>> {
    let field = format!("faults[{index}].target");
    match target {
        Target::Random(share) => {
            if !(0.0..=1.0).contains(&share.ratio) {
                return Err(vec![
                    Finding::error(
                        "fault-ratio",
                        format!("{field}.ratio"),
                        format!("A ratio of {} is not possible.", share.ratio),
                        "Give a share from 0 to 1, like 0.1 for 10 %.",
                    )
                    .with_value(share.ratio)
                    .with_limit(1),
                ]);
            }
            draw(
                network,
                share.kind,
                None,
                Amount::Ratio(share.ratio),
                seed,
                failures,
            );
            Ok(())
        }
        Target::Names(named) => {
            let field = format!("{field}.names");
            named
                .names
                .iter()
                .try_for_each(|name| fail_named(network, &field, name, failures))
        }
        Target::Selector(selected) => select(
            network,
            &format!("{field}.selector"),
            &selected.selector,
            seed,
            failures,
        ),
    }
}

#[derive(Clone, Copy)]
enum Amount {
    Ratio(f64),
    Count(usize),
}

/// Fails a random `amount` of the components of a kind, of one level where given.
fn draw(
    network: &Network,
    kind: TargetKind,
    level: Option<u8>,
    amount: Amount,
    seed: u64,
    failures: &mut Failures,
) {
    let topology = network.topology();
    if let (None, Amount::Ratio(ratio)) = (level, amount) {
        let kind = match kind {
            TargetKind::Server => Some(FailureKind::Server),
            TargetKind::Switch => Some(FailureKind::Switch),
            TargetKind::Link => Some(FailureKind::Link),
            TargetKind::Rack => None,
        };
        if let Some(kind) = kind {
            failures.add_random(topology, kind, ratio, seed);
            return;
        }
    }
    let mut items: Vec<u32> = match kind {
        TargetKind::Server => (0..topology.server_count()).collect(),
        TargetKind::Switch => topology
            .tiers()
            .iter()
            .filter(|tier| level.is_none_or(|level| tier.level == level))
            .flat_map(|tier| tier.first..tier.first + tier.count)
            .collect(),
        TargetKind::Link => (0..topology.links().len() as u32)
            .filter(|&link| level.is_none_or(|level| topology.links().level[link as usize] == level))
            .collect(),
        TargetKind::Rack => (0..network.racks().len() as u32).collect(),
    };
    let wanted = match amount {
        Amount::Ratio(ratio) => (items.len() as f64 * ratio).round() as usize,
        Amount::Count(count) => count,
    };
    Draws::of(seed, kind as u64).shuffle(&mut items);
    for &item in items.iter().take(wanted) {
        match kind {
            TargetKind::Server | TargetKind::Switch => failures.fail_node(item),
            TargetKind::Link => failures.fail_link(item),
            TargetKind::Rack => {
                for &node in &network.racks()[item as usize].nodes {
                    failures.fail_node(node);
                }
            }
        }
    }
}

/// Fails the node, rack or link of this name.
fn fail_named(
    network: &Network,
    field: &str,
    name: &str,
    failures: &mut Failures,
) -> Result<(), Vec<Finding>> {
    let topology = network.topology();
    if let Some(node) = topology.node_by_name(name) {
        failures.fail_node(node);
        return Ok(());
    }
    if let Some((a, b)) = name.split_once('/')
        && let (Some(a), Some(b)) = (topology.node_by_name(a.trim()), topology.node_by_name(b.trim()))
    {
        return fail_link_between(network, field, name, a, b, failures);
    }
    if let Some(rack) = network.rack(name) {
        rack.nodes.iter().for_each(|&node| failures.fail_node(node));
        return Ok(());
    }
    Err(vec![
        Finding::error(
            "no-such-target",
            field,
            format!("There is no server, switch, rack or link {name} in this plan."),
            format!(
                "Servers are named like {}, links by their two ends, like a/b.",
                topology.node_name(0)
            ),
        )
        .with_value(name),
    ])
}

fn fail_link_between(
    network: &Network,
    field: &str,
    name: &str,
    a: NodeId,
    b: NodeId,
    failures: &mut Failures,
) -> Result<(), Vec<Finding>> {
    let links = network.topology().links();
    let mut found = false;
    for link in 0..links.len() {
        if (links.a[link], links.b[link]) == (a, b) || (links.a[link], links.b[link]) == (b, a) {
            failures.fail_link(link as u32);
            found = true;
        }
    }
    if found {
        return Ok(());
    }
    Err(vec![
        Finding::error(
            "no-such-link",
            field,
            format!("No link joins the two ends of {name}."),
            "Name the two ends of a link, like a server and the switch on one of its ports.",
        )
        .with_value(name),
    ])
}

/// `[<number>[%] [of]] [level-<l>] <kind>`, or `<kind> <name>`.
fn select(
    network: &Network,
    field: &str,
    selector: &str,
    seed: u64,
    failures: &mut Failures,
) -> Result<(), Vec<Finding>> {
    let refuse = || {
        vec![
            Finding::error(
                "fault-selector",
                field,
                format!("The selector `{selector}` is not understood."),
                "Write `10% of level-1 switches`, `5 servers`, `2 racks`, `rack R03` or `server <name>`.",
            )
            .with_value(selector),
        ]
    };
    let words: Vec<&str> = selector.split_whitespace().collect();
    if let [kind, name] = words[..]
        && let Some(kind) = TargetKind::of_word(kind)
    {
        return match kind {
            TargetKind::Rack => {
                let rack = network
                    .rack(name)
                    .ok_or_else(|| vec![no_rack(network, field, name)])?;
                rack.nodes.iter().for_each(|&node| failures.fail_node(node));
                Ok(())
            }
            _ => fail_named(network, field, name, failures),
        };
    }
    let (amount, rest) = words.split_first().ok_or_else(refuse)?;
    let amount = match amount.strip_suffix('%') {
        Some(percent) => percent
            .parse::<f64>()
            .ok()
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| Amount::Ratio(percent / 100.0)),
        None if *amount == "all" => Some(Amount::Ratio(1.0)),
        None => amount.parse().ok().map(Amount::Count),
    }
    .ok_or_else(refuse)?;
    let rest = rest.strip_prefix(&["of"]).unwrap_or(rest);
    let (level, rest) = match rest.split_first() {
        Some((word, after)) if word.starts_with("level-") => {
            let level = word["level-".len()..].parse::<u8>().map_err(|_| refuse())?;
            (Some(level), after)
        }
        _ => (None, rest),
    };
    let [kind] = rest else {
        return Err(refuse());
    };
    let kind = TargetKind::of_word(kind).ok_or_else(refuse)?;
    let levels = network.topology().level_count();
    if let Some(level) = level {
        if matches!(kind, TargetKind::Server | TargetKind::Rack) {
            return Err(refuse());
        }
        let known = match kind {
            TargetKind::Switch => network.topology().tiers().iter().any(|tier| tier.level == level),
            _ => usize::from(level) < levels,
        };
        if !known {
            return Err(vec![
                Finding::error(
                    "fault-level",
                    field,
                    format!("There is nothing of that kind at level {level} in this plan."),
                    format!("Link levels are 0 to {}.", levels.saturating_sub(1)),
                )
                .with_value(level)
                .with_limit(levels.saturating_sub(1)),
            ]);
        }
    }
    draw(network, kind, level, amount, seed, failures);
    Ok(())
}
