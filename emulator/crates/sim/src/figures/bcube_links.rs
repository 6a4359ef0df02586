//! Flows on the links of the partial DCell that BCube's evaluation compares with. `[bcube §6]`

use cubeyard_routing::Failures;
use serde_json::json;

use super::{Context, Outcome, Row, built};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::scheme::Scheme;

/// Servers of a complete DCell_1 of 8-port switches.
const A_DCELL_1: u32 = 72;

/// The most flows on a link by level, and the least at level 0, as printed.
const MOST: [f64; 3] = [14_047.0, 9_280.0, 5_184.0];
const LEAST: f64 = 2_095.0;

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let topology = built(&json!({"family": "dcell", "n": 8, "k": 2, "servers": 2048}))?;
    let flows = Flows::new((0..2048).collect(), Pattern::AllToAll);
    context.expect(flows.len());
    let scheme = Scheme::new(Some("dcell"), &topology, Failures::none(&topology))?;
    let load = scheme.count_links(&flows, &[], 0, context.progress)?;
    let links = topology.links();
    let of_level = |level: usize| {
        let directed = load.per_directed_link.iter().enumerate();
        directed.filter(move |(index, _)| usize::from(links.level[index / 2]) == level)
    };
    let mut rows: Vec<Row> = (0..3)
        .map(|level| {
            let most = of_level(level).map(|(_, &flows)| flows).max().unwrap_or(0);
            let name = format!("level {level}: most flows on a link");
            Row::printed(name, "", MOST[level], 1.0, f64::from(most))
        })
        .collect();
    let in_whole = 2048 / A_DCELL_1 * A_DCELL_1;
    for (name, servers) in [
        ("level 0: least flows on a link of a complete DCell_1", in_whole),
        ("level 0: least flows on a link", 2048),
    ] {
        let least = of_level(0)
            .filter(|(index, _)| links.a[index / 2] < servers)
            .map(|(_, &flows)| flows)
            .min();
        rows.push(
            Row::printed(name, "", LEAST, 1.0, f64::from(least.unwrap_or(0))).because(
                "four servers of the DCell_1 that is not complete carry their own flows only, 2,047",
            ),
        );
    }
    Ok(Outcome {
        rows,
        choices: vec![
            "DCellRouting, all-to-all among servers 0 to 2047; each direction of a link on its own",
        ],
        ..Outcome::default()
    })
}
