//! Longest server wires of Subways' three floor plans. `[subways §7.2, Tables 2-4]`

use cubeyard_plan::wiring::paper_measure::longest_server_wire;
use cubeyard_plan::{Book, PlanSpec, builtin_book, lay_out};
use cubeyard_topology::{Finding, Topology};
use serde_json::json;

use super::super::{Context, Outcome, Row};
use crate::flow::PredictError;

fn problem(message: String) -> PredictError {
    PredictError::Findings(vec![Finding::error(
        "figure-setup",
        "figure",
        message,
        "This is a bug in the engine: report it.",
    )])
}

/// The current book with the paper's rack: h = 2 m, w = 0.5 m.
fn book() -> Result<Book, PredictError> {
    let mut book = builtin_book("current-2026").ok_or_else(|| problem("No price book.".to_owned()))?;
    let known = book
        .rack_for(None, 44)
        .ok_or_else(|| problem("The price book has no rack.".to_owned()))?;
    let mut rack = book.parts[known].clone();
    rack.sku = "SUBWAYS".to_owned();
    rack.attributes.width_metres = Some(0.5);
    rack.attributes.height_metres = Some(2.0);
    rack.attributes.units = Some(44);
    book.parts.push(rack);
    Ok(book)
}

/// The longest wire by the paper's measure, and with the ToRs that servers are wired to.
fn longest(policy: &str, p: u32, l: u32, b: u32) -> Result<(f64, f64), PredictError> {
    // Few servers are enough: only the positions of the logical racks matter.
    let spec: PlanSpec = serde_json::from_value(json!({
        "topology": {"family": "subways", "type": 1, "p": p, "q": 2 * p, "l": l, "clusters": 1},
        "site": {"enclosure": "rows", "rack": "SUBWAYS", "aisle_metres": 1.2},
        "packaging": {"policy": policy, "logical_racks_per_rack": b},
    }))
    .map_err(|error| problem(error.to_string()))?;
    let topology = Topology::build(&spec.topology).map_err(|error| PredictError::Findings(error.findings))?;
    let layout = lay_out(&spec, &topology, &book()?, &mut Vec::new());
    let lengths = longest_server_wire(&topology, &layout)
        .ok_or_else(|| problem("The layout has no loop.".to_owned()))?;
    Ok((lengths.table_metres, lengths.as_wired_metres))
}

const AS_WIRED: &str = "the table lets a server reach p-1 racks to one side; §4.2 wires half of them to either side, so no wire is as long";

/// Side-to-side: h + (l/b) w.
pub fn table2(_: &Context<'_>) -> Result<Outcome, PredictError> {
    let mut rows = Vec::new();
    for (l, metres) in [(8, 4.0), (16, 6.0), (48, 14.0), (128, 34.0)] {
        let (table, _) = longest("side-to-side", 2, l, 2)?;
        rows.push(Row::printed(format!("l = {l}"), "m", metres, 0.01, table));
    }
    Ok(outcome(
        rows,
        "ends of a wire: from the far edges of the two racks, a server anywhere in its rack and the ToR at the bottom of its logical rack",
    ))
}

/// Paired rows: a + w floor((p-1)/b) + (h/b) ((p-1) mod b).
pub fn table3(_: &Context<'_>) -> Result<Outcome, PredictError> {
    const ENDS: &str =
        "ends of a wire: from centre to centre of the racks, at equal heights within the logical racks";
    sided("paired-rows", 32, 2, [(2, 2.2), (8, 3.7), (16, 5.7)], ENDS)
}

/// Inter-chassis: w (p-1) + h/(2b).
pub fn table4(_: &Context<'_>) -> Result<Outcome, PredictError> {
    const ENDS: &str = "ends of a wire: from centre to centre of the racks, the ToR in the middle of its logical rack and a server at either end";
    sided("inter-chassis", 48, 4, [(2, 0.75), (4, 1.75), (8, 3.75)], ENDS)
}

fn sided(
    policy: &str,
    l: u32,
    b: u32,
    printed: [(u32, f64); 3],
    ends: &'static str,
) -> Result<Outcome, PredictError> {
    let mut rows = Vec::new();
    for (p, metres) in printed {
        let (table, wired) = longest(policy, p, l, b)?;
        rows.push(Row::printed(format!("p = {p}"), "m", metres, 0.01, table));
        if p > 2 {
            rows.push(
                Row::at_most(format!("p = {p}, as wired by §4.2"), "m", metres, wired).because(AS_WIRED),
            );
        }
    }
    Ok(outcome(rows, ends))
}

fn outcome(rows: Vec<Row>, ends: &'static str) -> Outcome {
    Outcome {
        rows,
        choices: vec![
            "the planner's own floors and routes, with the paper's rack (2 m by 0.5 m), 1.2 m aisle and measures: no slack, wires within a row straight",
            ends,
        ],
        ..Outcome::default()
    }
}
