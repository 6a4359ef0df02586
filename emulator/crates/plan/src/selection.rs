//! Which part stands for each logical device: one switch model per tier, NIC cards per server, one server model.
//!
//! The rule is the same everywhere: the smallest part that fits. What nothing fits is a finding and stays
//! without a part (and so without a price), never a failure.

use cubeyard_topology::{Finding, Severity, Topology};

use crate::book::{Book, NicChoice, PartKind, PortDemand};

/// What the caller would rather have where several parts fit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartPreferences<'a> {
    /// Servers side by side in one rack unit.
    pub servers_per_unit: u32,
    /// Every link's rate in Gb/s instead of the topology's own.
    pub link_gbps: Option<f64>,
    /// The medium asked for (`auto`, `cat6`, `dac`, `aoc`, `fibre`): decides RJ45 or SFP cages at 10G.
    pub media: Option<&'a str>,
}

/// Part indices into the book.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartSelection {
    /// One entry per `Topology::tiers()`, in its order.
    pub tiers: Vec<Option<usize>>,
    /// Cards of one server, one entry per distinct rate; empty when nothing fits.
    pub nics: Vec<NicChoice>,
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
    let used = RateUse::of(topology, preferences.link_gbps);
    for (t, tier) in topology.tiers().iter().enumerate() {
        let own_gbps = preferences.link_gbps.unwrap_or(tier.port_rate_bits_per_sec / 1e9);
        let demand = used.tier_demand(t, own_gbps, tier.ports);
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
    for demand in used.server_demand(topology.server_ports()) {
        match book.nic_for(demand, wanted_connector(preferences.media, demand.gbps)) {
            Some(choice) => {
                if choice.cards > 1 {
                    out.findings.push(Finding {
                        severity: Severity::Info,
                        code: "nic-several-cards",
                        field: "catalog".to_owned(),
                        message: format!(
                            "no single card in {} has {} ports at {} Gb/s; {} cards of {} go into each server",
                            book.book, demand.ports, demand.gbps, choice.cards, book.parts[choice.part].sku
                        ),
                        hint: "check that the server has that many slots".to_owned(),
                        fix: None,
                    });
                }
                out.nics.push(choice);
            }
            None if demand.ports > 0 => missing.push(demand),
            None => {}
        }
    }
    if !missing.is_empty() {
        out.findings.push(no_part(
            "no-nic",
            "catalog",
            format!("no network card in {} has {} for a server; it is planned without a price or power", book.book, describe(&missing)),
            "choose a price book with faster cards, or set cabling.link_gbps to a rate the book has".to_owned(),
        ));
    }
    out.server = book.server_for(preferences.servers_per_unit.max(1));
    if out.server.is_none() {
        out.findings.push(no_part(
            "no-server",
            "catalog",
            format!("{} holds no server; servers are planned without a price, power or weight", book.book),
            "add a part of kind \"server\" to the book".to_owned(),
        ));
    } else if let Some(part) = out.server.map(|i| &book.parts[i]).filter(|p| p.per_unit() < preferences.servers_per_unit) {
        out.findings.push(no_part(
            "server-density",
            "packaging.servers_per_unit",
            format!(
                "{} servers side by side were asked for; the densest server in {} ({}) stands {} to a unit",
                preferences.servers_per_unit,
                book.book,
                part.sku,
                part.per_unit()
            ),
            format!("set packaging.servers_per_unit to {}", part.per_unit()),
        ));
    }
    out
}

/// RJ45 at 1G and wherever copper is asked for up to 10G; SFP cages otherwise, which DAC, AOC and fibre all fit.
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
    let words: Vec<String> = demand.iter().map(|d| format!("{} ports at {} Gb/s", d.ports, d.gbps)).collect();
    words.join(" and ")
}

fn largest_switch_hint(book: &Book) -> String {
    let largest = book.parts_of(PartKind::Switch).max_by_key(|(_, p)| p.attributes.ports.unwrap_or(0));
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
    Finding { severity: Severity::Warning, code, field: field.to_owned(), message, hint, fix: None }
}

/// The most links of each rate on any one device, per tier and on servers.
struct RateUse {
    gbps: Vec<f64>,
    /// `[tier][rate]`.
    tiers: Vec<Vec<u32>>,
    servers: Vec<u32>,
}

impl RateUse {
    fn of(topology: &Topology, link_gbps: Option<f64>) -> Self {
        let links = topology.links();
        let mut gbps: Vec<f64> = links.rates_bits_per_sec.iter().map(|r| r / 1e9).collect();
        if let Some(all) = link_gbps {
            gbps.iter_mut().for_each(|g| *g = all);
        }
        let rates = gbps.len();
        let tier_count = topology.tiers().len();
        let mut out = Self { gbps, tiers: vec![vec![0; rates]; tier_count], servers: vec![0; rates] };
        if rates <= 1 {
            // One rate: nothing to count, a server has `server_ports` and a switch its tier's ports.
            return out;
        }
        let mut counts = vec![0u32; topology.node_count() as usize * rates];
        for i in 0..links.a.len() {
            let rate = links.rate_class[i] as usize;
            counts[links.a[i] as usize * rates + rate] += 1;
            counts[links.b[i] as usize * rates + rate] += 1;
        }
        let most = |first: usize, count: usize, into: &mut Vec<u32>| {
            for device in counts[first * rates..(first + count) * rates].chunks_exact(rates) {
                for (most, &n) in into.iter_mut().zip(device) {
                    *most = (*most).max(n);
                }
            }
        };
        most(0, topology.server_count() as usize, &mut out.servers);
        for (t, tier) in topology.tiers().iter().enumerate() {
            most(tier.first as usize, tier.count as usize, &mut out.tiers[t]);
        }
        out
    }

    /// A tier's model has all its ports even where the plan leaves some free (a partial BCube's last level
    /// keeps 8-port switches with 4 in use [bcube §5.1]); free ports count at the tier's own rate.
    fn tier_demand(&self, tier: usize, own_gbps: f64, ports: u32) -> Vec<PortDemand> {
        let mut demand = merge(&self.gbps, &self.tiers[tier]);
        let counted: u32 = demand.iter().map(|d| d.ports).sum();
        let free = ports.saturating_sub(counted);
        if free > 0 || demand.is_empty() {
            match demand.iter_mut().find(|d| d.gbps == own_gbps) {
                Some(own) => own.ports += free,
                None => demand.push(PortDemand { gbps: own_gbps, ports: free }),
            }
        }
        demand
    }

    fn server_demand(&self, server_ports: u32) -> Vec<PortDemand> {
        match self.gbps.as_slice() {
            [] => Vec::new(),
            [only] => vec![PortDemand { gbps: *only, ports: server_ports }],
            _ => merge(&self.gbps, &self.servers),
        }
    }
}

/// Equal rates in one entry, fastest last, zeros dropped.
fn merge(gbps: &[f64], ports: &[u32]) -> Vec<PortDemand> {
    let mut out: Vec<PortDemand> = Vec::new();
    for (&gbps, &ports) in gbps.iter().zip(ports).filter(|(_, &n)| n > 0) {
        match out.iter_mut().find(|d| d.gbps == gbps) {
            Some(same) => same.ports += ports,
            None => out.push(PortDemand { gbps, ports }),
        }
    }
    out.sort_by(|a, b| a.gbps.total_cmp(&b.gbps));
    out
}
