//! Chooses the part for each logical device: one switch model per tier, NIC cards per server, one
//! server model.
//!
//! The rule is the same everywhere: the smallest part that fits. If no part fits, that is a
//! finding, and the device stays without a part (and so without a price); planning continues.

use cubeyard_topology::{Finding, SwitchTier, Topology};

use crate::book::{Book, PartKind};
use crate::choice::{NicChoice, PortDemand};
use crate::spec::BreakoutRule;
use crate::wiring::breakouts::{BundledPorts, bundled_ports};

/// The caller's preference if several parts fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartPreferences<'a> {
    /// Servers side by side in one rack unit.
    pub servers_per_unit: u32,
    /// Every link's rate in Gb/s instead of the topology's own.
    pub link_gbps: Option<f64>,
    /// Levels in breakout cables, whose ports switches have bundled.
    pub breakouts: &'a [BreakoutRule],
    /// The medium of the spec (`auto`, `cat6`, `dac`, `aoc`, `fibre`): decides RJ45 or SFP cages at
    /// 10G.
    pub media: Option<&'a str>,
}

/// Part indices into the book.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartSelection {
    /// One entry per `Topology::tiers()`, in its order.
    pub tiers: Vec<Option<usize>>,
    /// Cards of one server, one entry per distinct rate; empty when nothing fits.
    pub nics: Vec<NicChoice>,
    /// Some server ports have no card in the book.
    pub nics_missing: bool,
    pub server: Option<usize>,
    pub findings: Vec<Finding>,
}

impl PartSelection {
    /// The book's part for a switch tier.
    pub fn tier(&self, tier: usize) -> Option<usize> {
        self.tiers.get(tier).copied().flatten()
    }
}

/// Choose parts for every kind of device in a topology. Deterministic; never fails.
pub fn select_parts(topology: &Topology, book: &Book, preferences: &PartPreferences<'_>) -> PartSelection {
    let mut out = PartSelection::default();
    let bundled = bundled_ports(preferences.breakouts, topology, preferences.link_gbps);
    for (tier, bundled) in topology.tiers().iter().zip(&bundled) {
        let demand = with_breakouts(&tier_demand(tier, preferences.link_gbps), bundled);
        let own_gbps = match demand.first() {
            // The ports may have been replaced by plugs of another kind.
            Some(slowest) if !bundled.is_empty() => slowest.gbps,
            _ => preferences.link_gbps.unwrap_or(tier.port_rate_bits_per_sec / 1e9),
        };
        let found = book.switch_for(&demand, wanted_connector(preferences.media, own_gbps));
        if found.is_none() {
            out.findings.push(no_part(
                "no-switch",
                "catalog",
                format!(
                    "no switch in {} has {} for the {} {} switches; they are planned without a price or power",
                    book.book,
                    describe(&demand),
                    tier.count,
                    topology.level_label(tier.level)
                ),
                largest_switch_hint(book),
            ));
        }
        out.tiers.push(found);
    }
    let mut missing = Vec::new();
    for demand in server_demand(topology, preferences.link_gbps) {
        match book.nic_for(demand, wanted_connector(preferences.media, demand.gbps)) {
            Some(choice) => {
                if choice.cards > 1 {
                    out.findings.push(Finding::info(
                        "nic-several-cards",
                        "catalog",
                        format!(
                            "no single card in {} has {} ports at {} Gb/s; {} cards of {} go into each server",
                            book.book, demand.ports, demand.gbps, choice.cards, book.parts[choice.part].sku
                        ),
                        "check that the server has that many slots",
                    ));
                }
                out.nics.push(choice);
            }
            None if demand.ports > 0 => missing.push(demand),
            None => {}
        }
    }
    if !missing.is_empty() {
        out.nics_missing = true;
        out.findings.push(no_part(
            "no-nic",
            "catalog",
            format!(
                "no network card in {} has {} for a server; it is planned without a price or power",
                book.book,
                describe(&missing)
            ),
            "choose a price book with faster cards, or set cabling.link_gbps to a rate the book has"
                .to_owned(),
        ));
    }
    out.server = book.server_for(preferences.servers_per_unit);
    if out.server.is_none() {
        out.findings.push(no_part(
            "no-server",
            "catalog",
            format!(
                "{} holds no server; servers are planned without a price, power or weight",
                book.book
            ),
            "add a part of kind \"server\" to the book".to_owned(),
        ));
    } else if let Some(part) = out.server.map(|i| &book.parts[i])
        && part.per_unit() < preferences.servers_per_unit
    {
        out.findings.push(Finding::info(
            "server-density",
            "packaging.servers_per_unit",
            format!(
                "no server in {} stands {} to a unit; the densest, {}, stands {}",
                book.book,
                preferences.servers_per_unit,
                part.sku,
                part.per_unit()
            ),
            format!(
                "set packaging.servers_per_unit to {}, or choose another price book",
                part.per_unit()
            ),
        ));
    }
    out
}

/// RJ45 at 1G, and up to 10G if the spec requires copper; else SFP cages, which accept DAC, AOC and
/// fibre.
fn wanted_connector(media: Option<&str>, gbps: f64) -> Option<&'static str> {
    match media {
        Some("cat6") if gbps <= 10.0 => Some("rj45"),
        Some("dac" | "aoc" | "fibre") if gbps <= 25.0 => Some("sfp"),
        _ if gbps <= 5.0 => Some("rj45"),
        _ if gbps <= 25.0 => Some("sfp"),
        _ => None,
    }
}

fn describe(demand: &[PortDemand]) -> String {
    let words: Vec<String> = demand
        .iter()
        .map(|d| format!("{} ports at {} Gb/s", d.ports, d.gbps))
        .collect();
    words.join(" and ")
}

fn largest_switch_hint(book: &Book) -> String {
    let largest = book
        .parts_of(PartKind::Switch)
        .max_by_key(|(_, p)| p.attributes.ports.unwrap_or(0));
    match largest {
        Some((_, p)) => format!(
            "the largest switch there is {} ({} ports at {} Gb/s): use fewer ports or a lower rate, or choose another price book",
            p.sku,
            p.attributes.ports.unwrap_or(0),
            p.attributes.port_gbps.unwrap_or(0.0)
        ),
        None => "add a part of kind \"switch\" to the book".to_owned(),
    }
}

fn no_part(code: &'static str, field: &str, message: String, hint: String) -> Finding {
    Finding::warning(code, field, message, hint)
}

/// All ports that a switch model of a tier must have, whether wired or not (a partial BCube's last
/// level keeps 8-port switches with 4 ports in use [bcube §5.1]).
fn tier_demand(tier: &SwitchTier, link_gbps: Option<f64>) -> Vec<PortDemand> {
    let gbps = |bits_per_sec: f64| link_gbps.unwrap_or(bits_per_sec / 1e9);
    merge(&[
        (
            gbps(tier.port_rate_bits_per_sec),
            tier.ports.saturating_sub(tier.uplink_ports),
        ),
        (gbps(tier.uplink_rate_bits_per_sec), tier.uplink_ports),
    ])
}

/// The demand with bundled ports: for each cable, one port of the combined rate replaces the ports
/// that it bundles.
fn with_breakouts(demand: &[PortDemand], bundled: &[BundledPorts]) -> Vec<PortDemand> {
    let mut ports: Vec<(f64, u32)> = demand.iter().map(|d| (d.gbps, d.ports)).collect();
    for item in bundled {
        if let Some((_, own)) = ports.iter_mut().find(|(gbps, _)| *gbps == item.gbps) {
            *own = own.saturating_sub(item.ports);
        }
        let plugs = item.ports.div_ceil(item.to_a_cable);
        ports.push((item.gbps * f64::from(item.to_a_cable), plugs));
    }
    merge(&ports)
}

/// Ports of one server by rate: the most that any server has of each.
fn server_demand(topology: &Topology, link_gbps: Option<f64>) -> Vec<PortDemand> {
    let links = topology.links();
    let rates: Vec<f64> = links
        .rates_bits_per_sec
        .iter()
        .map(|r| link_gbps.unwrap_or(r / 1e9))
        .collect();
    if rates.iter().all(|&rate| Some(&rate) == rates.first()) {
        return rates
            .first()
            .map(|&gbps| PortDemand {
                gbps,
                ports: topology.server_ports(),
            })
            .into_iter()
            .collect();
    }
    let servers = topology.server_count();
    let mut counts = vec![0u32; servers as usize * rates.len()];
    for i in 0..links.len() {
        for node in [links.a[i], links.b[i]]
            .into_iter()
            .filter(|&node| node < servers)
        {
            counts[node as usize * rates.len() + usize::from(links.rate_class[i])] += 1;
        }
    }
    let mut most = vec![0u32; rates.len()];
    for server in counts.chunks_exact(rates.len()) {
        most.iter_mut()
            .zip(server)
            .for_each(|(most, &n)| *most = (*most).max(n));
    }
    let demand: Vec<(f64, u32)> = rates.into_iter().zip(most).collect();
    merge(&demand)
}

/// Equal rates in one entry, fastest last, zeros dropped.
fn merge(ports_by_rate: &[(f64, u32)]) -> Vec<PortDemand> {
    let mut out: Vec<PortDemand> = Vec::new();
    for &(gbps, ports) in ports_by_rate.iter().filter(|(_, ports)| *ports > 0) {
        match out.iter_mut().find(|demand| demand.gbps == gbps) {
            Some(same) => same.ports += ports,
            None => out.push(PortDemand { gbps, ports }),
        }
    }
    out.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
    out
}
