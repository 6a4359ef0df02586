//! A shuffle's speedup over type 0, by ports per server. `[subways §8.6, Fig. 11]`

use rayon::prelude::*;
use serde_json::json;

use super::super::{Axes, Context, Outcome, Row, Series};
use super::{BALANCES, CONTROLLERS, DETOURS, FLUID, network, racks_of_loops, shuffle_secs};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between, RackNetwork};

const PORTS: [u32; 3] = [2, 4, 6];
/// 90 servers in one loop, or 180 in two.
const RACKS: usize = 6;

const WORDS: &str = "the text gives no number here, only what grows and what shrinks";
const OVERKILL: &str = "with 6 ports all six racks share ToRs, most of them one and the same: short paths by equal chance load the servers' links to it, and those are the bottleneck";

/// The default with more ports: 15 servers a rack, ToRs 5:1.
fn with_ports(wiring_type: u8, ports: u32) -> Result<RackNetwork, PredictError> {
    let spread = if wiring_type == 2 { 2 } else { 1 };
    network(json!({
        "type": wiring_type, "p": ports, "q": 15 * ports, "l": 12, "c": spread, "clusters": 2,
    }))
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let places = [(1, 1, "one cluster"), (2, 2, "two clusters")];
    context.expect((places.len() * PORTS.len() * (1 + BALANCES.len())) as u64);
    let lines = places
        .par_iter()
        .flat_map(|&place| BALANCES.par_iter().map(move |&balance| (place, balance)))
        .map(|((wiring_type, loops, place), (balance, suffix))| {
            let points = PORTS
                .iter()
                .map(|&ports| {
                    let secs = |wiring_type, balance| {
                        let network = with_ports(wiring_type, ports)?;
                        let racks = racks_of_loops(&network, loops, RACKS);
                        shuffle_secs(context, &network, &racks, balance, Between::Any)
                    };
                    Ok((
                        f64::from(ports),
                        secs(0, Balance::Static)? / secs(wiring_type, balance)?,
                    ))
                })
                .collect::<Result<Vec<_>, PredictError>>()?;
            Ok(Series::ours(
                format!("Type {wiring_type}{suffix}, {place}"),
                points,
            ))
        })
        .collect::<Result<Vec<Series>, PredictError>>()?;
    // The gain of LB or D over the plain type, at one number of ports.
    let benefit = |balanced: usize, plain: usize, at: usize| lines[balanced].y[at] / lines[plain].y[at];
    let shrinking = [1, 2]
        .into_iter()
        .filter(|&line| benefit(line, 0, 2) < benefit(line, 0, 0));
    let growing = benefit(4, 3, 2) > benefit(4, 3, 0);
    // How many of a place's variants are faster at one number of ports than at another.
    let faster = |lines: &[Series], more: usize, fewer: usize| {
        lines.iter().filter(|line| line.y[more] > line.y[fewer]).count()
    };
    let diminishing = |line: &&Series| line.y[2] - line.y[1] < line.y[1] - line.y[0];
    let count = |name: &str, printed: f64, ours: usize| {
        Row::printed(name, "", printed, 1e-9, ours as f64).because(WORDS)
    };
    let (within, across) = lines.split_at(BALANCES.len());
    let rows = vec![
        count(
            "one cluster: variants faster with 4 ports than with 2",
            3.0,
            faster(within, 1, 0),
        ),
        count(
            "one cluster: variants faster with 6 ports than with 2",
            3.0,
            faster(within, 2, 0),
        )
        .because(OVERKILL),
        count(
            "one cluster: variants that gain less from 4 to 6 ports than from 2 to 4",
            3.0,
            within.iter().filter(diminishing).count(),
        ),
        count(
            "one cluster: of LB and D, those that add less with 6 ports than with 2",
            2.0,
            shrinking.count(),
        ),
        count(
            "two clusters: variants faster with 4 ports than with 2",
            3.0,
            faster(across, 1, 0),
        ),
        count(
            "two clusters: variants faster with 6 ports than with 4",
            3.0,
            faster(across, 2, 1),
        ),
        count(
            "two clusters: LB adds more with 6 ports than with 2 (1 = yes)",
            1.0,
            usize::from(growing),
        ),
    ];
    Ok(Outcome {
        rows,
        series: lines,
        axes: Some(Axes {
            x: "ports per server",
            y: "speedup over type 0",
        }),
        choices: vec![
            "90 servers in 6 racks of a loop of 12; 180 servers in 6 racks of each of two loops; 6, 12 and 18 aggregation switches",
            "each point is set beside type 0 with as many ports",
            FLUID,
            CONTROLLERS,
            DETOURS,
        ],
    })
}
