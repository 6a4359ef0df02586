//! Upgrade paths of a 10 Gb/s network. `[subways §8.4, Fig. 9]`

use rayon::prelude::*;
use serde_json::json;

use super::super::{Axes, Context, Outcome, Row, Series};
use super::{BALANCES, CONTROLLERS, DETOURS, FLUID, network, racks_of_loops, shuffle_secs};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between, RackNetwork};

/// A job of 90 servers.
const RACKS: usize = 6;

/// One port a server, at a rate.
fn single(gbps: f64) -> Result<RackNetwork, PredictError> {
    network(json!({
        "type": 0, "p": 1, "q": 15, "l": 12, "clusters": 2, "server_gbps": gbps, "uplink_gbps": gbps,
    }))
}

/// A second network of another rate in addition to the one of 10 Gb/s; ToRs alternate.
fn augmented(gbps: f64) -> Result<RackNetwork, PredictError> {
    let both = network(json!({
        "type": 2, "p": 2, "q": 30, "l": 12, "c": 2, "clusters": 2, "cluster_gbps": [10, gbps],
    }))?;
    Ok(both.oversubscribed(5.0, 4.0))
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let replaced = [(25.0, single(25.0)?), (40.0, single(40.0)?)];
    let beside = [(10.0, augmented(10.0)?), (25.0, augmented(25.0)?)];
    context.expect((1 + replaced.len() + beside.len() * BALANCES.len()) as u64);
    let secs = |network: &RackNetwork, balance| {
        let racks = racks_of_loops(network, 1, RACKS);
        shuffle_secs(context, network, &racks, balance, Between::SameCluster)
    };
    let before = secs(&single(10.0)?, Balance::Static)?;
    let mut rows = Vec::new();
    let mut points = Vec::new();
    for (gbps, network) in &replaced {
        let speedup = before / secs(network, Balance::Static)?;
        points.push((*gbps, speedup));
        let printed = gbps / 10.0;
        rows.push(Row::printed(
            format!("replaced by {gbps:.0} GbE"),
            "x",
            printed,
            0.1,
            speedup,
        ));
    }
    let mut series = vec![Series::ours("one network", points)];
    for (balance, suffix) in BALANCES {
        let line = beside
            .par_iter()
            .map(|(gbps, network)| Ok((10.0 + gbps, before / secs(network, balance)?)))
            .collect::<Result<Vec<_>, PredictError>>()?;
        if balance == Balance::Detours {
            rows.push(
                Row::printed("10 GbE beside the old, type 2D", "x", 4.0, 1.0, line[0].1)
                    .of_packets()
                    .because("about 4 in the text"),
            );
            rows.push(
                Row::at_least(
                    "25 GbE beside the old over 10 GbE beside it, type 2D: more than",
                    "x",
                    1.0,
                    line[1].1 / line[0].1,
                )
                .because("the text says only that there are additional benefits; capacity grows by 1.75"),
            );
        }
        series.push(Series::ours(format!("10 GbE and another, type 2{suffix}"), line));
    }
    series.push(Series::paper("paper: one network", [(25.0, 2.5), (40.0, 4.0)]));
    series.push(Series::paper("paper: 10 GbE and another, type 2D", [(20.0, 4.0)]));
    Ok(Outcome {
        rows,
        series,
        axes: Some(Axes {
            x: "rate of a server's ports together (Gb/s)",
            y: "speedup over one 10 GbE port",
        }),
        choices: vec![
            "90 servers in 6 of 12 racks of a loop; ToRs 5:1 and aggregation 4:1 in every network",
            "the added network is its own: a flow's ToRs are both of one network, chosen by the rates of the links",
            FLUID,
            CONTROLLERS,
            DETOURS,
        ],
    })
}
