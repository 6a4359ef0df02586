//! A shuffle's speedup over type 0, by loop size. `[subways §8.5, Fig. 10]`

use rayon::prelude::*;
use serde_json::json;

use super::super::{Axes, Context, Outcome, Row, Series};
use super::{BALANCES, CONTROLLERS, DETOURS, FLUID, default_network, network, shuffle_secs, value_at};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between};

/// Loops that fill a cluster of 12 racks.
const LOOPS: [usize; 5] = [2, 3, 4, 6, 12];
/// Six racks, 90 servers.
const RACKS: [usize; 6] = [0, 1, 2, 3, 4, 5];

const EVEN: &str = "in loops of 3 two jobs of three racks load all ToRs alike: in a fluid there is nothing left to balance, and no cool ToR to detour to; ECMP's uneven hashing, which LB repairs in the paper, is not in it";

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    context.expect(1 + (LOOPS.len() * BALANCES.len()) as u64);
    let before = shuffle_secs(
        context,
        &default_network(0)?,
        &RACKS,
        Balance::Static,
        Between::Any,
    )?;
    let networks = LOOPS
        .iter()
        .map(|size| {
            network(json!({
                "type": 1, "p": 2, "q": 30, "l": size, "clusters": 2, "loops_per_cluster": 12 / size,
            }))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let lines = BALANCES
        .par_iter()
        .map(|(balance, suffix)| {
            let points = LOOPS
                .iter()
                .zip(&networks)
                .map(|(&size, network)| {
                    let secs = shuffle_secs(context, network, &RACKS, *balance, Between::Any)?;
                    Ok((size as f64, before / secs))
                })
                .collect::<Result<Vec<_>, PredictError>>()?;
            Ok(Series::ours(format!("Type 1{suffix}"), points))
        })
        .collect::<Result<Vec<Series>, PredictError>>()?;
    let mut rows = vec![
        Row::printed(
            "l = 2 (multihoming), type 1",
            "x",
            1.3,
            0.1,
            value_at(&lines[0], 2.0)?,
        )
        .of_packets()
        .because("the fluid has no TCP and no queues"),
        Row::printed("l = 3, type 1", "x", 1.64, 0.01, value_at(&lines[0], 3.0)?)
            .of_packets()
            .because("the fluid has no TCP and no queues"),
    ];
    for line in &lines[1..] {
        rows.push(
            Row::printed(
                format!("l = 3, {}", line.name),
                "x",
                1.85,
                0.01,
                value_at(line, 3.0)?,
            )
            .of_packets()
            .because(EVEN),
        );
    }
    rows.push(
        Row::at_most(
            "type 1 at l = 4 over l = 3: less than",
            "x",
            1.0,
            value_at(&lines[0], 4.0)? / value_at(&lines[0], 3.0)?,
        )
        .because("the text: six racks do not fit loops of 4, and ECMP loads their ToRs unevenly"),
    );
    let paper = [
        Series::paper("paper: Type 1", [(2.0, 1.3), (3.0, 1.64)]),
        Series::paper("paper: Type 1LB and Type 1D", [(3.0, 1.85)]),
    ];
    Ok(Outcome {
        rows,
        series: lines.into_iter().chain(paper).collect(),
        axes: Some(Axes {
            x: "racks of a loop",
            y: "speedup over type 0",
        }),
        choices: vec![
            "90 servers in the first six racks; loops of 2, 3, 4, 6 and 12 fill a cluster of 12 racks",
            FLUID,
            CONTROLLERS,
            DETOURS,
        ],
    })
}
