//! Memcache throughput by the ToRs' oversubscription. `[subways §8.7, Fig. 12]`

use rayon::prelude::*;
use serde_json::json;

use super::super::{Axes, Context, Outcome, Row, Series};
use super::{BALANCES, CONTROLLERS, DETOURS, FLUID, job_secs, network, value_at};
use crate::flow::PredictError;
use crate::rack_fluid::{Balance, Between, Demand, RackNetwork};

/// Ratios that whole uplinks of a 30-port ToR give.
pub(super) const RATIOS: [f64; 6] = [3.0, 5.0, 6.0, 7.5, 10.0, 15.0];
/// The two racks of memcache servers, of 12.
pub(super) const MEMCACHE: [usize; 2] = [5, 6];
/// Queries in all: enough for the controllers' first periods not to count.
const QUERIES: f64 = 1e8;
const RESPONSE_GIGABITS: f64 = 1500.0 * 8e-9;
const REQUEST_GIGABITS: f64 = 50.0 * 8e-9;

const STATIC: &str = "a fluid: 1/10 of the traffic takes short paths, and the shared ToR carries the rest of one rack, so 1 / 0.9";
const TWO_HOPS: &str = "a fluid fills every detour to the last bit: two cool ToRs on either side at 60 % are 5.4 ToRs for 1.8 racks' traffic, so 3; at low ratios the servers' own links limit it";

/// Equal numbers of queries from every web server to every memcache server.
fn demands(network: &RackNetwork) -> Vec<Demand> {
    let web: Vec<usize> = (0..network.racks.count)
        .filter(|rack| !MEMCACHE.contains(rack))
        .collect();
    let flows = (network.racks.servers * network.racks.servers) as f64;
    let queries = QUERIES / (flows * (web.len() * MEMCACHE.len()) as f64);
    let pairs = MEMCACHE
        .iter()
        .flat_map(|&memcache| web.iter().map(move |&web| (memcache, web)));
    pairs
        .flat_map(|(memcache, web)| {
            let flow = |from, to, gigabits: f64| Demand {
                from,
                to,
                flows,
                gigabits: gigabits * queries,
            };
            [
                flow(memcache, web, RESPONSE_GIGABITS),
                flow(web, memcache, REQUEST_GIGABITS),
            ]
        })
        .collect()
}

/// Millions of queries a second.
fn throughput(
    context: &Context<'_>,
    wiring_type: u8,
    ratio: f64,
    balance: Balance,
) -> Result<f64, PredictError> {
    let network = network(json!({
        "type": wiring_type, "p": 2, "q": 30, "l": 12, "tor_oversubscription": ratio,
    }))?;
    let secs = job_secs(context, &network, &demands(&network), balance, Between::Any)?;
    Ok(QUERIES / secs / 1e6)
}

/// Wiring types with their balances, and what they are called.
pub(super) fn variants() -> Vec<(u8, Balance, String)> {
    let mut variants = vec![(0, Balance::Static, "Type 0".to_owned())];
    variants.extend(BALANCES.map(|(balance, suffix)| (1, balance, format!("Type 1{suffix}"))));
    variants
}

/// A line a variant.
pub(super) fn lines(context: &Context<'_>) -> Result<Vec<Series>, PredictError> {
    variants()
        .into_par_iter()
        .map(|(wiring_type, balance, name)| {
            let points = RATIOS
                .par_iter()
                .map(|&ratio| Ok((ratio, throughput(context, wiring_type, ratio, balance)?)))
                .collect::<Result<Vec<_>, PredictError>>()?;
            Ok(Series::ours(name, points))
        })
        .collect()
}

/// The paper's numbers next to these lines of all variants, with the reasons for differences of
/// type 1, LB, D, and of type 0 at 5:1.
pub(super) fn rows(lines: &[Series], reasons: [&'static str; 4]) -> Result<Vec<Row>, PredictError> {
    let [of_type_1, of_balancing, of_detours, of_type_0] = reasons;
    let speedups = |line: usize| -> Vec<f64> {
        let pairs = lines[line].y.iter().zip(&lines[0].y);
        pairs.map(|(ours, type_0)| ours / type_0).collect()
    };
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let detours = speedups(3);
    let least = detours.iter().copied().fold(f64::INFINITY, f64::min);
    let most = detours.iter().copied().fold(0.0, f64::max);
    let speedup =
        |name: &str, printed, ours, reason| Row::printed(name, "x", printed, 0.1, ours).because(reason);
    Ok(vec![
        speedup("type 1 over type 0, mean", 1.2, mean(&speedups(1)), of_type_1),
        speedup(
            "type 1LB over type 0, mean",
            1.6,
            mean(&speedups(2)),
            of_balancing,
        ),
        speedup("type 1D over type 0, least", 1.8, least, of_detours),
        speedup("type 1D over type 0, most", 2.5, most, of_detours),
        Row::printed("type 0 at 5:1", "Mq/s", 10.0, 1.0, value_at(&lines[0], 5.0)?).because(of_type_0),
        Row::printed("type 1D at 10:1", "Mq/s", 10.0, 1.0, value_at(&lines[3], 10.0)?).because(of_detours),
    ])
}

/// The points of its lines that the paper prints.
pub(super) fn printed() -> [Series; 2] {
    [
        Series::paper("paper: Type 0", [(5.0, 10.0)]),
        Series::paper("paper: Type 1D", [(10.0, 10.0)]),
    ]
}

pub(super) const AXES: Axes = Axes {
    x: "oversubscription of the ToRs",
    y: "throughput (million queries/s)",
};
pub(super) const PLACES: &str = "memcache in two racks side by side, web servers in the ten others of a loop; with the racks apart type 1 would gain 2.5";

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    context.expect((variants().len() * RATIOS.len()) as u64);
    let lines = lines(context)?;
    let reasons = [
        STATIC,
        "a fluid balances without loss",
        TWO_HOPS,
        "the uplinks of two ToRs are full",
    ];
    let rows = rows(&lines, reasons)?.into_iter().map(Row::of_packets);
    Ok(Outcome {
        rows: rows.collect(),
        series: lines.into_iter().chain(printed()).collect(),
        axes: Some(AXES),
        choices: vec![
            PLACES,
            "the greatest steady rate is a long backlog's queries over the time it takes: a fluid's latency is nothing until a link is full",
            FLUID,
            CONTROLLERS,
            DETOURS,
        ],
    })
}
