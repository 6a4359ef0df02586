//! The testbed's incast: three racks send to the fourth. `[subways §8.2, Table 5]`

use cubeyard_routing::Failures;
use serde_json::json;

use super::super::{Context, Outcome, Row, built};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::fluid;
use crate::scheme::Scheme;

/// 100 MB of 10^6 bytes.
const GIGABITS: f64 = 0.8;
/// Flows from each sender to each receiver.
const FLOWS: u32 = 4;

const TCP: &str = "an ideal fluid: flows hashed one by one and sharing max-min fairly, but no queues and no timeouts, which decide the tail here";

/// Seconds until the last of the 192 flows has ended.
fn tail_secs(context: &Context<'_>, wiring_type: u8, seed: u64) -> Result<f64, PredictError> {
    let topology = built(&json!({
        "family": "subways", "type": wiring_type, "p": 2, "q": 8, "l": 4, "aggs_per_cluster": 2,
        "server_gbps": 0.5, "uplink_gbps": 0.5,
    }))?;
    let pairs = (4..16).flat_map(|from| (0..4).flat_map(move |to| (0..FLOWS).map(move |_| (from, to))));
    let flows = Flows::new((0..16).collect(), Pattern::Listed(pairs.collect()));
    let directed_links = topology.links().len() * 2;
    let scheme = Scheme::new(Some("subways-ecmp"), &topology, Failures::none(&topology))?;
    let paths = scheme.route(&flows, seed, context.progress)?;
    let sizes = vec![GIGABITS; paths.len()];
    let done = fluid::run(&paths, &sizes, &vec![0.5; directed_links], context.progress)?;
    Ok(done.makespan_secs())
}

/// Both wirings, compared with the paper's simulator and testbed.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    // Each of the flows is routed, then runs.
    context.expect(2 * context.seeds * u64::from(12 * 4 * FLOWS) * 2);
    let mut rows = Vec::new();
    for (wiring_type, simulator, testbed) in [(0, 171.3, 179.1), (1, 47.6, 47.5)] {
        let sample: Vec<f64> = context
            .seeds()
            .map(|seed| tail_secs(context, wiring_type, seed))
            .collect::<Result<_, _>>()?;
        for (which, secs) in [("simulator", simulator), ("testbed", testbed)] {
            rows.push(
                Row::printed(format!("Type {wiring_type}, {which}"), "s", secs, 0.1, 0.0)
                    .of_packets()
                    .because(TCP)
                    .over_seeds(&sample),
            );
        }
    }
    Ok(Outcome {
        rows,
        choices: vec![
            "rack 0 receives; 12 senders, 4 flows of 100 MB (10^6 bytes) to each of 4 receivers; all links 500 Mb/s",
            "ECMP for each flow on its own, by its number and the seed; even spreading would give 153.6 and 38.4 s",
        ],
        ..Outcome::default()
    })
}
