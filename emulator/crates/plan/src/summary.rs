//! The summary and the bill of materials as JSON documents (the shapes the API hands on unchanged).

use std::cmp::Reverse;

use cubeyard_topology::{Certificate, Finding, StructureMetrics};
use serde::Serialize;

use crate::bom::{BomLine, CutEntry};
use crate::cost::Cost;
use crate::enclosure::SiteLimit;
use crate::plan::Plan;
use crate::power::Power;
use crate::spec::PlanSpec;
use crate::wiring::Cuts;

/// Version of the engine that computed a plan.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

#[derive(Serialize)]
struct Summary<'a> {
    plan_hash: &'a str,
    engine_version: &'static str,
    title: String,
    spec: &'a PlanSpec,
    book: BookName<'a>,
    /// The currency of every amount, as an ISO 4217 code.
    currency: &'a str,
    counts: Counts,
    certificate: &'a Certificate,
    cost_usd: Cost,
    power_watts: Power,
    weight_kg: Weight,
    /// Bought: the sum of stock lengths.
    cable_metres: f64,
    longest_cable_metres: f64,
    mean_cable_metres: f64,
    /// Along the routes, without slack and rounding to stock.
    route_metres: f64,
    longest_route_metres: f64,
    /// The length limit of the medium of the longest route; `None` if no part fits that route.
    longest_route_limit_metres: Option<f64>,
    tray: TrayPeak,
    column_cut: ColumnCut<'a>,
    site_limits: &'a [SiteLimit],
    labour_minutes: f64,
    bisection_gbps: f64,
    metrics: StructureMetrics,
    findings: &'a [Finding],
}

#[derive(Serialize)]
struct BookName<'a> {
    book: &'a str,
    version: u32,
    title: &'a str,
}

#[derive(Serialize)]
struct Counts {
    servers: u32,
    switches: u32,
    links: usize,
    cables: usize,
    racks: usize,
    levels: Vec<Level>,
}

#[derive(Serialize)]
struct Level {
    level: u8,
    label: String,
    role: &'static str,
    switches: u32,
    cables: u32,
}

#[derive(Serialize)]
struct Weight {
    total: f64,
    at_least: bool,
}

/// The fullest segment of any tray.
#[derive(Serialize)]
struct TrayPeak {
    peak_fill: f64,
    peak_cables: u32,
    peak_area_cm2: f64,
    /// Most trays side by side in one line.
    side_by_side: u32,
}

/// Cuts across a column of racks: the paper's sum of per-level peaks, and the worst place there
/// really is.
#[derive(Serialize)]
struct ColumnCut<'a> {
    peak_by_level: Vec<PeakOfLevel>,
    sum_of_peaks_cables: u32,
    sum_of_peaks_area_cm2: f64,
    worst_cables: u32,
    worst_area_cm2: f64,
    worst_by_level: &'a [u32],
    worst_tray: Option<u32>,
}

#[derive(Serialize)]
struct PeakOfLevel {
    level: u8,
    cables: u32,
    tray: u32,
}

impl<'a> ColumnCut<'a> {
    fn of(cuts: &'a Cuts) -> ColumnCut<'a> {
        let peaks = cuts.peak_by_level.iter();
        ColumnCut {
            peak_by_level: peaks
                .map(|peak| PeakOfLevel {
                    level: peak.level,
                    cables: peak.cables,
                    tray: peak.tray,
                })
                .collect(),
            sum_of_peaks_cables: cuts.sum_of_peaks_cables,
            sum_of_peaks_area_cm2: round(cuts.sum_of_peaks_area_cm2, 1e2),
            worst_cables: cuts.worst_cables,
            worst_area_cm2: round(cuts.worst_area_cm2, 1e2),
            worst_by_level: &cuts.worst_by_level,
            worst_tray: cuts.worst_tray,
        }
    }
}

/// `value` to `1 / steps`, so that documents do not carry the noise of the last bits.
pub(crate) fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

fn counts(plan: &Plan) -> Counts {
    let topology = &plan.topology;
    let links = topology.links();
    let mut cables = vec![0u32; 256];
    for link in plan.wiring.leads() {
        cables[usize::from(links.level[link])] += 1;
    }
    let levels = (0..topology.level_count()).map(|level| {
        let level = level as u8;
        let tiers = || topology.tiers().iter().filter(move |tier| tier.level == level);
        Level {
            level,
            label: topology.level_label(level),
            role: tiers().next().map_or("server", |tier| tier.role),
            switches: tiers().map(|tier| tier.count).sum(),
            cables: cables[usize::from(level)],
        }
    });
    Counts {
        servers: topology.server_count(),
        switches: topology.switch_count(),
        links: links.len(),
        cables: plan.wiring.cable_count(),
        racks: plan.layout.racks.name.len(),
        levels: levels.collect(),
    }
}

/// Reach of the cable part with the longest route.
fn longest_route_limit_metres(plan: &Plan) -> Option<f64> {
    let lengths = &plan.wiring.length_mm;
    let longest = (0..lengths.len()).max_by_key(|&cable| (lengths[cable], Reverse(cable)))?;
    let part = usize::from(plan.wiring.part[longest]);
    plan.book.parts.get(part)?.attributes.reach_metres
}

/// The summary as a JSON document.
pub fn summary_json(plan: &Plan) -> String {
    let wiring = &plan.wiring;
    let metres = |lengths: &[u32]| lengths.iter().map(|&mm| u64::from(mm)).sum::<u64>() as f64 / 1e3;
    let longest = |lengths: &[u32]| f64::from(lengths.iter().copied().max().unwrap_or(0)) / 1e3;
    // Legs of a breakout are bought as one cable.
    let ordered_mm: u64 = wiring.leads().map(|link| u64::from(wiring.stock_mm[link])).sum();
    let cable_metres = ordered_mm as f64 / 1e3;
    let metrics = plan.topology.metrics();
    let trays = &wiring.trays;
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    json(&Summary {
        plan_hash: &plan.hash,
        engine_version: ENGINE_VERSION,
        title: plan.spec.topology.title(),
        spec: &plan.spec,
        book: BookName {
            book: &plan.book.book,
            version: plan.book.version,
            title: &plan.book.title,
        },
        currency: &plan.book.currency,
        counts: counts(plan),
        certificate: plan.certificate(),
        cost_usd: plan.cost,
        power_watts: plan.power,
        weight_kg: Weight {
            total: plan.bom.weight_kg,
            at_least: plan.bom.weight_at_least,
        },
        cable_metres,
        longest_cable_metres: longest(&wiring.stock_mm),
        mean_cable_metres: round(cable_metres / wiring.cable_count().max(1) as f64, 1e3),
        route_metres: metres(&wiring.length_mm),
        longest_route_metres: longest(&wiring.length_mm),
        longest_route_limit_metres: longest_route_limit_metres(plan),
        tray: TrayPeak {
            peak_fill: round(most(&trays.fill), 1e4),
            peak_cables: trays.cables.iter().copied().max().unwrap_or(0),
            peak_area_cm2: round(most(&trays.area_cm2), 1e2),
            side_by_side: trays.side_by_side.into_iter().max().unwrap_or(0),
        },
        column_cut: ColumnCut::of(&wiring.cuts),
        site_limits: &plan.site_limits,
        labour_minutes: plan.bom.labour_minutes,
        bisection_gbps: metrics.bisection_bits_per_sec.value / 1e9,
        metrics,
        findings: &plan.findings,
    })
}

#[derive(Serialize)]
struct BomDocument<'a> {
    book: BookName<'a>,
    currency: &'a str,
    lines: &'a [BomLine],
    cut_list: &'a [CutEntry],
    waste_metres: f64,
    boxes: u32,
    cable_order_metres: f64,
    labour_minutes: f64,
    weight_kg: Weight,
    cost_usd: Cost,
}

/// The bill of materials document.
pub fn bom_json(plan: &Plan) -> String {
    json(&BomDocument {
        book: BookName {
            book: &plan.book.book,
            version: plan.book.version,
            title: &plan.book.title,
        },
        currency: &plan.book.currency,
        lines: &plan.bom.lines,
        cut_list: &plan.bom.cut_list,
        waste_metres: plan.bom.waste_metres,
        boxes: plan.bom.boxes,
        cable_order_metres: plan.bom.cable_order_metres,
        labour_minutes: plan.bom.labour_minutes,
        weight_kg: Weight {
            total: plan.bom.weight_kg,
            at_least: plan.bom.weight_at_least,
        },
        cost_usd: plan.cost,
    })
}

/// Findings as a JSON array.
pub fn findings_json(findings: &[Finding]) -> String {
    json(&findings)
}

/// Our own documents have string keys and derived serializers, which cannot fail.
pub(crate) fn json(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_else(|error| format!("{{\"error\":{:?}}}", error.to_string()))
}
