//! The effort to install and to grow a plan's wiring, by the metrics of Zhang et al. (NSDI 2019),
//! as far as a plan has the data.
//!
//! Inside: for one plan, the bundles between racks; for two plans, the links that a crew rewires to
//! get from one to the other, from the work order. Not here: the work order itself (`diff`) and the
//! duration of the work (`bom`).

use std::collections::BTreeSet;

use serde::Serialize;

use crate::diff::{Action, NO_CABLE, WorkOrder};
use crate::plan::Plan;

/// Ports of the patch panels that are counted. `[ours]`
const PANEL_PORTS: u32 = 48;
/// The share of a device's links that may be unplugged at the same time while a network grows: a
/// quarter, as in the paper's example of keeping 75 % of the capacity. `[nsdi19 §5.2]`
const OUT_AT_ONCE: f64 = 0.25;

/// Putting up. `[nsdi19 §3]`
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deployment {
    /// Number of cables between racks.
    pub inter_rack_cables: u32,
    /// Cables between the same two racks over the same trays, pulled together.
    pub bundles: u32,
    /// Bundles that differ in their number of cables or in their length, to the metre: each is made
    /// separately.
    pub bundle_types: u32,
    /// Panels of 48 ports if every cable between racks ended on one in each of its racks. Plans
    /// have none themselves.
    pub patch_panels: u32,
}

/// Growing from another plan. `[nsdi19 §4]`
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Expansion {
    /// Number of existing links that are moved or removed.
    pub links_rewired: u32,
    /// Number of new links.
    pub links_added: u32,
    /// The smallest number of steps that keeps every device on three quarters of its links.
    pub steps: u32,
    /// Cable ends to rewire per rack and step, averaged over the racks where cables are rewired.
    pub rewired_per_rack_and_step: f64,
    /// Trays that hold cables that are rewired.
    pub trays_touched: u32,
    /// Mean number of rewired cables in these trays.
    pub rewired_per_tray: f64,
}

/// Counts the bundles of a plan. Linear in bundles.
pub fn deployment(plan: &Plan) -> Deployment {
    let bundles = &plan.wiring.bundles;
    let types: BTreeSet<(u32, u64)> = bundles
        .cables
        .iter()
        .zip(&bundles.length_metres)
        .map(|(&cables, &metres)| (cables, metres.ceil() as u64))
        .collect();
    let leaving = &plan.wiring.rack_cables_leaving;
    Deployment {
        inter_rack_cables: plan.wiring.bundle.iter().filter(|&&bundle| bundle >= 0).count() as u32,
        bundles: bundles.len() as u32,
        bundle_types: types.len() as u32,
        patch_panels: leaving.iter().map(|cables| cables.div_ceil(PANEL_PORTS)).sum(),
    }
}

/// Counts the links that a work order from `before` rewires. Linear in cables and in the trays that
/// they use.
pub fn expansion(before: &Plan, order: &WorkOrder) -> Expansion {
    let links = before.topology.links();
    let rewired: Vec<usize> = order
        .action
        .iter()
        .zip(&order.before)
        .filter(|&(&action, &cable)| matches!(action, Action::Move | Action::Remove) && cable != NO_CABLE)
        .map(|(_, &cable)| cable as usize)
        .collect();
    let nodes = before.topology.node_count() as usize;
    let (mut out, mut degree) = (vec![0u32; nodes], vec![0u32; nodes]);
    let mut at_rack = vec![0u32; before.layout.racks.len()];
    let mut in_tray = vec![0u32; before.wiring.trays.len()];
    for link in 0..links.len() {
        degree[links.a[link] as usize] += 1;
        degree[links.b[link] as usize] += 1;
    }
    for &cable in &rewired {
        for end in [links.a[cable], links.b[cable]] {
            out[end as usize] += 1;
            at_rack[before.layout.placements.rack[end as usize] as usize] += 1;
        }
        if let Ok(bundle) = usize::try_from(before.wiring.bundle[cable]) {
            before
                .wiring
                .bundles
                .trays_of(bundle)
                .for_each(|tray| in_tray[tray] += 1);
        }
    }
    let steps_of = |(&out, &degree): (&u32, &u32)| {
        let at_once = (f64::from(degree) * OUT_AT_ONCE).floor().max(1.0);
        (f64::from(out) / at_once).ceil() as u32
    };
    let steps = out.iter().zip(&degree).map(steps_of).max().unwrap_or(0);
    let mean = |counts: &[u32]| {
        let touched = counts.iter().filter(|&&count| count > 0).count();
        let sum: u32 = counts.iter().sum();
        (touched as u32, f64::from(sum) / touched.max(1) as f64)
    };
    let (trays_touched, rewired_per_tray) = mean(&in_tray);
    Expansion {
        links_rewired: rewired.len() as u32,
        links_added: order.links(Action::Add),
        steps,
        rewired_per_rack_and_step: mean(&at_rack).1 / f64::from(steps.max(1)),
        trays_touched,
        rewired_per_tray,
    }
}
