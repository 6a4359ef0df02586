//! Power of the devices, from the parts chosen for them. Watts at the plug as the book states them.

use cubeyard_topology::Topology;
use serde::Serialize;

use crate::book::Book;
use crate::selection::PartSelection;

/// Watts by kind of device. `at_least` when some device has no part or its part no power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Power {
    pub switches: f64,
    pub nics: f64,
    pub servers: f64,
    pub total: f64,
    pub at_least: bool,
}

/// Power of every switch, NIC and server of a plan.
pub fn power(topology: &Topology, selection: &PartSelection, book: &Book) -> Power {
    let mut at_least = false;
    let mut watts = |part: Option<usize>, count: f64| {
        let each = part.and_then(|i| book.parts[i].power_watts);
        at_least |= each.is_none() && count > 0.0;
        each.unwrap_or(0.0) * count
    };
    let servers_count = f64::from(topology.server_count());
    let switches: f64 = topology
        .tiers()
        .iter()
        .enumerate()
        .map(|(t, tier)| watts(selection.tier(t), f64::from(tier.count)))
        // Not `sum`, whose empty sum is -0.
        .fold(0.0, |all, each| all + each);
    let nics: f64 = selection
        .nics
        .iter()
        .map(|n| watts(Some(n.part), servers_count * f64::from(n.cards)))
        .fold(0.0, |all, each| all + each);
    let servers = watts(selection.server, servers_count);
    let at_least = at_least || selection.nics_missing;
    Power {
        switches,
        nics,
        servers,
        total: switches + nics + servers,
        at_least,
    }
}
