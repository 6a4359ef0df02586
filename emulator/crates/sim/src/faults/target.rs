//! The devices and links of a network that the target of a fault selects.

use cubeyard_routing::random::Draws;
use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::fault::{Target, TargetKind};
use cubeyard_topology::{Finding, NodeId};

use crate::network::Network;
use crate::workload::no_rack;

/// Fails the parts that a target selects. Random draws come from `seed`; `index` is the fault's,
/// for findings.
///
/// # Errors
/// A finding for a target that does not exist or is not possible.
pub(super) fn strike(
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
            let amount = Amount::Ratio(share.ratio);
            draw(network, &field, (share.kind, None), amount, seed, failures)
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

/// Fails a random `amount` of the components of a kind, of one level where given. `field` is where
/// the amount is written.
///
/// # Errors
/// A finding where the plan has none of them, or fewer than a number that is given.
fn draw(
    network: &Network,
    field: &str,
    (kind, level): (TargetKind, Option<u8>),
    amount: Amount,
    seed: u64,
    failures: &mut Failures,
) -> Result<(), Vec<Finding>> {
    let topology = network.topology();
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
    let none_there = items.is_empty() && !matches!(amount, Amount::Ratio(0.0));
    if none_there || wanted > items.len() {
        let (title, there) = (topology.spec().title(), items.len());
        let message = if none_there {
            format!("{title} has no {}, so nothing can fail.", kind.plural())
        } else {
            format!("{title} has {there} {}; {wanted} cannot fail.", kind.plural())
        };
        return Err(vec![
            Finding::error(
                "fault-too-many",
                field,
                message,
                "Name another kind of component, or fewer.",
            )
            .with_value(wanted)
            .with_limit(there),
        ]);
    }
    let drawn_among_all = match kind {
        TargetKind::Server => Some(FailureKind::Server),
        TargetKind::Switch => Some(FailureKind::Switch),
        TargetKind::Link => Some(FailureKind::Link),
        TargetKind::Rack => None,
    };
    if let (Some(kind), None, Amount::Ratio(ratio)) = (drawn_among_all, level, amount) {
        failures.add_random(topology, kind, ratio, seed);
        return Ok(());
    }
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
    Ok(())
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
    draw(network, field, (kind, level), amount, seed, failures)
}
