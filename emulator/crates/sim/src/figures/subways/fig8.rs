//! A shuffle's speedup over type 0, by job size. `[subways §8.3, Fig. 8]`

use rayon::prelude::*;

use super::super::{Axes, Context, Outcome, Row, Series};
use super::{
    BALANCES, CONTROLLERS, DETOURS, FLUID, default_network, peak, racks_of_loops, shuffle_secs, value_at,
};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between, RackNetwork};

/// Racks of the loop: 15 to 180 servers.
const RACKS: usize = 12;
/// Racks in each of two loops: 30 to 180 servers.
const RACKS_A_LOOP: usize = 6;

const RATHER_60: &str = "at 45 and 60 servers D is as fast within a few per cent";
const FULL_LOOP: &str = "of 12 racks a server reaches its own and two others: 135 of 180 servers are behind the backbone where type 0 has 165, so a fluid gains 1.22";
const CROSS_PEAK: &str = "the fluid's peak is at 60 servers, where two hot racks find four cool ToRs at once; at 90 servers it gives 2.7";

/// One line: the speedup of every job size over type 0.
fn line(
    context: &Context<'_>,
    name: String,
    network: &RackNetwork,
    balance: Balance,
    loops: usize,
    type_0_secs: &[f64],
) -> Result<Series, PredictError> {
    let points = type_0_secs
        .iter()
        .enumerate()
        .map(|(index, &before)| {
            let racks = racks_of_loops(network, loops, index + 1);
            let secs = shuffle_secs(context, network, &racks, balance, Between::Any)?;
            Ok(((racks.len() * network.racks.servers) as f64, before / secs))
        })
        .collect::<Result<Vec<_>, PredictError>>()?;
    Ok(Series::ours(name, points))
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let types = [default_network(0)?, default_network(1)?, default_network(2)?];
    // Type 0 alone, three balances of type 1 within a cluster; those of types 1 and 2 across.
    context.expect((RACKS * 4 + RACKS_A_LOOP * 7) as u64);
    let type_0 = |loops: usize, most: usize| {
        (1..=most)
            .map(|count| {
                let racks = racks_of_loops(&types[0], loops, count);
                shuffle_secs(context, &types[0], &racks, Balance::Static, Between::Any)
            })
            .collect::<Result<Vec<f64>, _>>()
    };
    let (within, across) = (type_0(1, RACKS)?, type_0(2, RACKS_A_LOOP)?);
    let mut cases = Vec::new();
    for (wiring_type, loops) in [(1, 1), (1, 2), (2, 2)] {
        cases.extend(BALANCES.map(|(balance, suffix)| (wiring_type, loops, balance, suffix)));
    }
    let lines: Vec<Series> = cases
        .into_par_iter()
        .map(|(wiring_type, loops, balance, suffix)| {
            let (place, before) = if loops == 1 {
                ("one cluster", &within)
            } else {
                ("two clusters", &across)
            };
            let name = format!("Type {wiring_type}{suffix}, {place}");
            line(context, name, &types[wiring_type], balance, loops, before)
        })
        .collect::<Result<_, _>>()?;
    let [type_1, _, type_1d, .., type_2d] = &lines[..] else {
        return Err(super::setup());
    };
    let (at_within, most_within) = peak(type_1d);
    let (_, most_across) = peak(type_2d);
    let full_loop = value_at(type_1, 180.0)?;
    let rows = vec![
        Row::printed(
            "one cluster: greatest speedup, type 1D",
            "x",
            3.1,
            0.1,
            most_within,
        )
        .of_packets()
        .because("the fluid has no TCP and no queues"),
        Row::printed(
            "one cluster: job size of the greatest speedup",
            "servers",
            60.0,
            1.0,
            at_within,
        )
        .because(RATHER_60),
        Row::printed("one cluster: the whole loop, type 1", "x", 1.3, 0.1, full_loop)
            .of_packets()
            .because(FULL_LOOP),
        Row::printed(
            "two clusters: greatest speedup, type 2D",
            "x",
            2.7,
            0.1,
            most_across,
        )
        .of_packets()
        .because(CROSS_PEAK),
    ];
    let paper = [
        Series::paper("paper: Type 1D, one cluster", [(60.0, 3.1)]),
        Series::paper("paper: Type 1, one cluster", [(180.0, 1.3)]),
    ];
    Ok(Outcome {
        rows,
        series: lines.into_iter().chain(paper).collect(),
        axes: Some(Axes {
            x: "servers of the job",
            y: "speedup over type 0",
        }),
        choices: vec![
            "whole racks side by side; two clusters: as many in a loop of each; 15 MB of 10^6 bytes a pair",
            FLUID,
            CONTROLLERS,
            DETOURS,
            "type 2: each end chooses its ToR by itself, as the text says; with ToRs of one cluster where there are, 2LB and 2D have no advantage at 60 servers (1.5)",
            "the paper does not say at which job size 2D peaks, so its 2.7 is not in the chart",
        ],
    })
}
