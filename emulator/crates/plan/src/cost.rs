//! The cost of a plan by category: sums of the bill's lines.

use serde::Serialize;

use crate::bom::{BomLine, Category};

/// In the price book's currency. `at_least` when some line has no price: the true total is higher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    pub switches: f64,
    pub nics: f64,
    pub servers: f64,
    /// Cables, and the plugs of those cut from bulk.
    pub cables: f64,
    pub transceivers: f64,
    pub racks: f64,
    /// Shelves, rails, PDUs, power cords and ties.
    pub fittings: f64,
    pub containers: f64,
    pub trays: f64,
    pub labels: f64,
    pub labour: f64,
    /// Switches, NICs, cables and transceivers.
    pub network: f64,
    /// The sum of all lines with a price.
    pub total: f64,
    pub at_least: bool,
}

/// Add up lines. In whole cents, so that the sum does not depend on the order.
pub fn cost(lines: &[BomLine]) -> Cost {
    let of = |wanted: &[Category]| -> f64 {
        let cents: i64 = lines
            .iter()
            .filter(|l| wanted.contains(&l.category))
            .filter_map(|l| l.total_cents)
            .sum();
        cents as f64 / 100.0
    };
    use Category::{
        Cable, Connector, Container, Cord, Label, Labour, Nic, Pdu, Rack, Rail, Server, Shelf, Switch, Tie,
        Transceiver, Tray,
    };
    Cost {
        switches: of(&[Switch]),
        nics: of(&[Nic]),
        servers: of(&[Server]),
        cables: of(&[Cable, Connector]),
        transceivers: of(&[Transceiver]),
        racks: of(&[Rack]),
        fittings: of(&[Shelf, Rail, Pdu, Cord, Tie]),
        containers: of(&[Container]),
        trays: of(&[Tray]),
        labels: of(&[Label]),
        labour: of(&[Labour]),
        network: of(&[Switch, Nic, Cable, Connector, Transceiver]),
        total: lines.iter().filter_map(|l| l.total_cents).sum::<i64>() as f64 / 100.0,
        at_least: lines.iter().any(|l| l.total_cents.is_none()),
    }
}
