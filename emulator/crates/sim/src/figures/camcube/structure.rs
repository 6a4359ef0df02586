//! The networks that CamCube's evaluation simulates: lengths of paths and links. `[camcube §2]`

use cubeyard_routing::Failures;
use serde_json::json;

use super::super::{Context, Outcome, Row, built};
use super::ROOT;
use crate::flow::PredictError;
use crate::hops::hops_from;

/// Edge, diameter and mean path, as printed.
const PRINTED: [(u32, f64, f64); 2] = [(20, 30.0, 15.0), (12, 18.0, 9.0)];

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let mut rows = Vec::new();
    context.expect(PRINTED.len() as u64);
    for (edge, diameter, mean) in PRINTED {
        let topology = built(&json!({"family": "torus3d", "x": edge, "y": edge, "z": edge}))?;
        // All servers are alike.
        let hops = hops_from(&topology, &Failures::none(&topology), &[ROOT]);
        let name = |what: &str| format!("{edge}-ary 3-cube: {what}");
        rows.push(Row::printed(
            name("diameter"),
            "hops",
            diameter,
            1.0,
            f64::from(hops.diameter()),
        ));
        rows.push(Row::printed(name("mean path"), "hops", mean, 1.0, hops.mean()));
        if edge == 20 {
            let directed = 2.0 * topology.links().len() as f64;
            rows.push(Row::printed(
                name("links, one for each direction"),
                "",
                48_000.0,
                1.0,
                directed,
            ));
        }
        context.did_one()?;
    }
    Ok(Outcome {
        rows,
        choices: vec!["breadth-first search over the network as built; the mean is over other servers"],
        ..Outcome::default()
    })
}
