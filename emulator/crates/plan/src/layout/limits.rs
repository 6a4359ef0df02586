//! The load of each rack and its limits: units, weight, power, and devices without a position.

use cubeyard_topology::{Finding, Topology};
use serde_json::json;

use super::Layout;
use crate::book::Book;
use crate::spec::{PlanSpec, Policy};

/// Computes the racks' totals and reports exceeded limits, once for each kind, with the worst rack.
pub(super) fn check(
    spec: &PlanSpec,
    topology: &Topology,
    book: &Book,
    layout: &mut Layout,
    findings: &mut Vec<Finding>,
) {
    tally(topology, book, layout);
    report_unplaced(spec, topology, layout, findings);
    report_power(spec, layout, findings);
    report_weight(spec, layout, findings);
}

fn tally(topology: &Topology, book: &Book, layout: &mut Layout) {
    let servers = topology.server_count();
    let part = |i: Option<usize>| {
        i.map_or((0.0, 0.0), |i| {
            (
                book.parts[i].power_watts.unwrap_or(0.0),
                book.parts[i].weight_kg.unwrap_or(0.0),
            )
        })
    };
    let (mut server_watts, mut server_kg) = part(layout.parts.server);
    for nic in &layout.parts.nics {
        let (watts, kg) = part(Some(nic.part));
        server_watts += watts * f64::from(nic.cards);
        server_kg += kg * f64::from(nic.cards);
    }
    // One bit per unit: devices side by side count their unit once.
    let mut used = vec![0u128; layout.racks.len()];
    let (racks, placements) = (&mut layout.racks, &layout.placements);
    let mut add = |v: u32, watts: f64, kg: f64, is_server: bool| {
        let rack = placements.rack[v as usize] as usize;
        racks.power_watts[rack] += watts;
        racks.weight_kg[rack] += kg;
        racks.servers[rack] += u32::from(is_server);
        racks.switches[rack] += u32::from(!is_server);
        let unit = u32::from(placements.unit[v as usize]);
        if unit > 0 {
            let height = u32::from(placements.height_units[v as usize]).min(127);
            used[rack] |= ((1u128 << height) - 1) << (unit - 1).min(127);
        }
    };
    for v in 0..servers {
        add(v, server_watts, server_kg, true);
    }
    for (t, tier) in topology.tiers().iter().enumerate() {
        let (watts, kg) = part(layout.parts.tier(t));
        for v in tier.first..tier.first + tier.count {
            add(v, watts, kg, false);
        }
    }
    for (rack, mask) in used.iter().enumerate() {
        layout.racks.units_used[rack] = mask.count_ones() as u16;
    }
}

fn report_unplaced(spec: &PlanSpec, topology: &Topology, layout: &Layout, findings: &mut Vec<Finding>) {
    let placements = &layout.placements;
    let mut unplaced = (0..topology.node_count()).filter(|&v| placements.unit[v as usize] == 0);
    let Some(first) = unplaced.next() else { return };
    let count = unplaced.count() + 1;
    let rack = &layout.racks.name[placements.rack[first as usize] as usize];
    let b = spec.packaging.logical_racks_per_rack.unwrap_or(2);
    let by_loops = matches!(
        layout.policy,
        Policy::SideToSide | Policy::PairedRows | Policy::InterChassis
    );
    let (hint, fix) = if by_loops && b > 1 {
        (
            format!(
                "Set packaging.logical_racks_per_rack to {}, or use a higher rack.",
                b - 1
            ),
            json!({"packaging": {"logical_racks_per_rack": b - 1}}),
        )
    } else if spec.packaging.servers_per_rack.is_some() {
        (
            "Leave packaging.servers_per_rack out: it is chosen so that everything fits.".to_owned(),
            json!({"packaging": {"servers_per_rack": null}}),
        )
    } else {
        (
            "Use a higher rack, denser parts, or another packaging.policy.".to_owned(),
            json!({"packaging": {"policy": "locality"}}),
        )
    };
    findings.push(
        Finding::error(
            "rack-over-units",
            "packaging",
            format!(
                "{count} devices find no unit in their rack of {} units; the first is {} in {rack}.",
                layout.site.rack_units,
                topology.node_name(first)
            ),
            hint,
        )
        .with_fix(fix),
    );
}

/// (racks over the limit, the fullest of all, its value)
fn over(values: &[f64], limit: f64) -> Option<(usize, usize, f64)> {
    let count = values.iter().filter(|&&v| v > limit).count();
    let worst = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)))?;
    (count > 0).then(|| (count, worst, values[worst]))
}

/// The number of servers that a rack can hold if only `share` of its load is allowed. Slightly less
/// than that share, because switches do not spread evenly over more racks.
fn fewer_servers(layout: &Layout, worst: usize, share: f64) -> u32 {
    ((f64::from(layout.racks.servers[worst]) * share * 0.93).floor() as u32).max(1)
}

fn load_fix(spec: &PlanSpec, layout: &Layout, worst: usize, share: f64) -> (String, serde_json::Value) {
    let by_loops = layout.loop_racks.is_some();
    let b = spec.packaging.logical_racks_per_rack.unwrap_or(2);
    if by_loops && b > 1 {
        return (
            format!("Set packaging.logical_racks_per_rack to {}.", b - 1),
            json!({"packaging": {"logical_racks_per_rack": b - 1}}),
        );
    }
    let servers = fewer_servers(layout, worst, share);
    // A BCube rack holds whole BCubes; any number goes with locality-first.
    (
        format!("Put at most {servers} servers into a rack, or raise the limit."),
        json!({"packaging": {"policy": "locality", "servers_per_rack": servers}}),
    )
}

fn report_power(spec: &PlanSpec, layout: &Layout, findings: &mut Vec<Finding>) {
    let Some(limit) = layout.site.rack_power_limit_watts else {
        return;
    };
    let Some((count, worst, watts)) = over(&layout.racks.power_watts, limit) else {
        return;
    };
    let (hint, fix) = load_fix(spec, layout, worst, limit / watts);
    findings.push(
        Finding::warning(
            "rack-over-power",
            "site.rack_power_limit_watts",
            format!(
                "{count} racks draw more than {limit:.0} W; {} draws {watts:.0} W.",
                layout.racks.name[worst]
            ),
            hint,
        )
        .with_fix(fix),
    );
}

fn report_weight(spec: &PlanSpec, layout: &Layout, findings: &mut Vec<Finding>) {
    let Some(limit) = layout.site.rack_weight_limit_kg else {
        return;
    };
    let Some((count, worst, kg)) = over(&layout.racks.weight_kg, limit) else {
        return;
    };
    let (hint, fix) = load_fix(spec, layout, worst, limit / kg);
    findings.push(
        Finding::warning(
            "rack-over-weight",
            "site.rack_weight_limit_kg",
            format!(
                "{count} racks hold more than {limit:.0} kg; {} holds {kg:.0} kg.",
                layout.racks.name[worst]
            ),
            hint,
        )
        .with_fix(fix),
    );
}
