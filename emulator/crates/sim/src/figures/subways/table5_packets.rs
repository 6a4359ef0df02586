//! The testbed's incast packet by packet, over the sizes of queues: they decide how much a type 1
//! wiring gains. `[subways §8.2, Table 5]`

use rayon::prelude::*;
use serde_json::{Value, json};

use super::super::outcome::mean_and_deviation;
use super::super::{Axes, Context, Outcome, Row, Series, setup};
use crate::engine::{EngineKind, PredictError};
use crate::experiment::Experiment;
use crate::network::Network;

/// 100 MB of 10^6 bytes.
const BYTES: u64 = 100_000_000;
/// Flows from each sender to each receiver.
const FLOWS: u32 = 4;
/// The queue size whose tail latencies are compared with the paper's: a port's rate times 600 us,
/// as in a network of 60 us per hop. `[subways §8.1]`
const QUEUE_BYTES: u64 = 37_500;
/// Queues of the sweep.
const QUEUES: [u64; 3] = [QUEUE_BYTES, 150_000, 500_000];

/// Seconds until the last of the 192 flows is complete.
fn tail_secs(
    context: &Context<'_>,
    network: &Network,
    queue_bytes: u64,
    seed: u64,
) -> Result<f64, PredictError> {
    let topology = network.topology();
    let pairs = (4..16).flat_map(|from| (0..4).flat_map(move |to| (0..FLOWS).map(move |_| (from, to))));
    let flows: Vec<Value> = pairs
        .map(|(from, to)| json!([topology.node_name(from), topology.node_name(to), BYTES, 0.0]))
        .collect();
    let experiment = json!({
        "engine": "packet", "workload": {"kind": "listed", "flows": flows}, "routing": "subways-ecmp", "seeds": [seed],
        "packet": {"queue_bytes": queue_bytes},
    });
    let experiment = Experiment::from_json(&experiment.to_string())?;
    let engine = EngineKind::Packet.engine();
    let document = engine.run(network, &experiment, context.progress, &mut |_| {})?;
    document["completion_secs"]["max"].as_f64().ok_or_else(setup)
}

/// Both wirings over the sizes of queues; the smallest one is compared with the paper's simulator
/// and testbed.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    context.expect(2 * QUEUES.len() as u64 * context.seeds * u64::from(12 * 4 * FLOWS) * BYTES);
    let mut rows = Vec::new();
    let mut series = Vec::new();
    for (wiring_type, simulator, testbed) in [(0, 171.3, 179.1), (1, 47.6, 47.5)] {
        let spec = json!({
            "family": "subways", "type": wiring_type, "p": 2, "q": 8, "l": 4, "aggs_per_cluster": 2,
            "server_gbps": 0.5, "uplink_gbps": 0.5,
        });
        let network =
            Network::open(&spec.to_string()).map_err(|error| PredictError::Findings(error.findings))?;
        let runs: Vec<(u64, u64)> = QUEUES
            .iter()
            .flat_map(|&queue| context.seeds().map(move |seed| (queue, seed)))
            .collect();
        let tails: Vec<f64> = runs
            .par_iter()
            .map(|&(queue, seed)| tail_secs(context, &network, queue, seed))
            .collect::<Result<_, _>>()?;
        let samples: Vec<&[f64]> = tails.chunks(context.seeds as usize).collect();
        let spread: Vec<(f64, f64)> = samples.iter().map(|sample| mean_and_deviation(sample)).collect();
        series.push(Series {
            deviation: spread.iter().map(|&(_, deviation)| deviation).collect(),
            ..Series::ours(
                format!("Type {wiring_type}"),
                QUEUES
                    .iter()
                    .zip(&spread)
                    .map(|(&queue, &(mean, _))| (queue as f64 / 1e3, mean)),
            )
        });
        for (which, secs) in [("simulator", simulator), ("testbed", testbed)] {
            rows.push(
                Row::printed(format!("Type {wiring_type}, {which}"), "s", secs, 0.1, 0.0)
                    .because(
                        "the paper does not state its queues, its shortest timeout and its initial window",
                    )
                    .over_seeds(samples[0]),
            );
        }
    }
    Ok(Outcome {
        rows,
        series,
        axes: Some(Axes {
            x: "queue, KB",
            y: "tail, s",
        }),
        choices: vec![
            "the whole data: 12 senders, 4 flows of 100 MB (10^6 bytes) to each of 4 receivers; all links 500 Mb/s",
            "TCP NewReno, MTU 1500, initial window 10, shortest timeout 200 ms, 60 us a hop, starts within 100 us, acknowledgements on a route of their own",
            "drop-tail queues of 37.5 KB beside the paper's values; the chart sweeps them, because they decide type 1",
            "ECMP for each flow on its own, by its number and the seed; even spreading would give 153.6 and 38.4 s",
        ],
    })
}
