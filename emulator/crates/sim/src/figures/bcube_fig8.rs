//! ABT of BCube, fat-tree and DCell of 2,048 servers as servers or switches fail.
//! `[bcube §6, Fig. 8]`

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::Topology;
use serde_json::json;

use super::{Axes, Context, Outcome, Row, Series, built, mean_and_deviation};
use crate::flow::{PredictError, aggregate_bottleneck};
use crate::flows::{Flows, Pattern};
use crate::scheme::Scheme;

/// The failure ratios of the axis: 0 to 20 %.
const RATIOS: [f64; 11] = [0.0, 0.02, 0.04, 0.06, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20];

/// A value that the text prints.
struct Printed {
    ratio: usize,
    abt_gbps: f64,
    reason: &'static str,
}

const fn printed(ratio: usize, abt_gbps: f64, reason: &'static str) -> Printed {
    Printed {
        ratio,
        abt_gbps,
        reason,
    }
}

const SPREAD: &str = "the fullest link depends on which switches fail: seeds differ by about a sixth";
const TIES: &str = "the paper names no rule among equally short substitute paths: a fixed port order gives 561-704, rotated or random ones 975-1077, no substitutes 989";

fn structures() -> [(&'static str, serde_json::Value, &'static str); 3] {
    [
        (
            "BCube",
            json!({"family": "bcube", "n": 8, "k": 3, "servers": 2048}),
            "bsr",
        ),
        (
            "Fat-tree",
            json!({"family": "fat_tree", "ports": 8, "layers": 5, "servers": 2048}),
            "fat-tree",
        ),
        (
            "DCell",
            json!({"family": "dcell", "n": 8, "k": 2, "servers": 2048}),
            "dfr",
        ),
    ]
}

/// Fig. 8(a): failed servers.
pub fn servers(context: &Context<'_>) -> Result<Outcome, PredictError> {
    compute(context, FailureKind::Server)
}

/// Fig. 8(b): failed switches.
pub fn switches(context: &Context<'_>) -> Result<Outcome, PredictError> {
    compute(context, FailureKind::Switch)
}

fn published(structure: &str, kind: FailureKind) -> Vec<Printed> {
    let mut values = match structure {
        "BCube" => vec![printed(
            0,
            2006.0,
            "1 % above the paper: each of the parallel paths drawn with equal chance; the paper does not say how BSR's probes chose",
        )],
        "Fat-tree" => vec![printed(0, 1895.0, "up-paths are drawn")],
        _ => vec![printed(0, 298.0, "")],
    };
    if kind == FailureKind::Switch {
        match structure {
            "BCube" => values.push(printed(10, 765.0, TIES)),
            "Fat-tree" => values.extend([
                printed(1, 1145.0, SPREAD),
                printed(3, 704.0, SPREAD),
                printed(10, 267.0, SPREAD),
            ]),
            _ => {}
        }
    }
    values
}

/// Gb/s by structure and seed with nothing failed, kept for the other of the two figures: their
/// first points are the same.
fn without_failures() -> MutexGuard<'static, BTreeMap<(usize, u64), f64>> {
    static SAMPLES: Mutex<BTreeMap<(usize, u64), f64>> = Mutex::new(BTreeMap::new());
    // A panic elsewhere leaves whole samples.
    SAMPLES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Structures by what a curve takes: the fat-tree's is there within two seconds.
const SOONEST_FIRST: [usize; 3] = [1, 0, 2];

/// Points that the paper prints use this multiple of the other points' seeds, because three draws
/// do not show a spread.
const PRINTED_TIMES: u64 = 4;

fn compute(context: &Context<'_>, kind: FailureKind) -> Result<Outcome, PredictError> {
    let flows = Flows::new((0..2048).collect(), Pattern::AllToAll);
    let structures = structures();
    let topologies: Vec<Topology> = structures
        .iter()
        .map(|(_, spec, _)| built(spec))
        .collect::<Result<_, _>>()?;
    // A seed's three curves are whole before the next seed begins, so that there is something to
    // see soon.
    let of_curve = |s: usize| (0..RATIOS.len()).map(move |r| (s, r));
    let curves = context.seeds().flat_map(|seed| {
        SOONEST_FIRST
            .into_iter()
            .flat_map(of_curve)
            .map(move |(s, r)| (s, r, seed))
    });
    let last = context.first_seed + PRINTED_TIMES * context.seeds;
    let printed: Vec<(usize, usize)> = SOONEST_FIRST
        .into_iter()
        .flat_map(|s| {
            published(structures[s].0, kind)
                .into_iter()
                .map(move |value| (s, value.ratio))
        })
        .collect();
    let more = (context.seeds().end..last).flat_map(|seed| printed.iter().map(move |&(s, r)| (s, r, seed)));
    let points: Vec<(usize, usize, u64)> = curves.chain(more).collect();
    context.expect(points.len() as u64 * flows.len());
    // [structure][ratio]: seeds.
    let mut samples = vec![vec![Vec::new(); RATIOS.len()]; structures.len()];
    for (s, r, seed) in points {
        let shared = (r == 0)
            .then(|| without_failures().get(&(s, seed)).copied())
            .flatten();
        let abt = if let Some(abt) = shared {
            context.progress.done.fetch_add(flows.len(), Ordering::Relaxed);
            abt
        } else {
            let failures = Failures::random(&topologies[s], kind, RATIOS[r], seed);
            let scheme = Scheme::new(Some(structures[s].2), &topologies[s], failures)?;
            let load = scheme.count_links(&flows, &[], seed, context.progress)?;
            aggregate_bottleneck(&load, &vec![1.0; topologies[s].links().len() * 2])
        };
        if r == 0 {
            without_failures().insert((s, seed), abt);
        }
        samples[s][r].push(abt);
        context.show(&outcome(kind, &samples));
    }
    Ok(outcome(kind, &samples))
}

/// The figure from the samples that there are, by structure and ratio.
fn outcome(kind: FailureKind, samples: &[Vec<Vec<f64>>]) -> Outcome {
    let mut outcome = Outcome {
        axes: Some(Axes {
            x: match kind {
                FailureKind::Server => "server failure ratio",
                _ => "switch failure ratio",
            },
            y: "ABT (Gb/s)",
        }),
        choices: vec![
            "points with a printed value are means over four times as many seeds as the others",
            "BSR takes each of the parallel paths that are alive with equal chance; among equally short substitutes the flow's own draw decides",
            "fat-tree: a random up-path for every flow, another available one where it is broken",
            "DCell: DFR with link state in DCell_1 and 30 retries, the flow's own draw among equally near proxies, servers 0 to 2047; without failures that is DCellRouting",
            "flows that find no path, or whose ends have failed, leave the flow count",
        ],
        ..Outcome::default()
    };
    for ((name, _, _), by_ratio) in structures().iter().zip(samples) {
        let mut line = Series {
            name: (*name).to_owned(),
            ..Series::default()
        };
        for (ratio, sample) in RATIOS
            .iter()
            .zip(by_ratio)
            .filter(|(_, sample)| !sample.is_empty())
        {
            let (mean, deviation) = mean_and_deviation(sample);
            line.x.push(*ratio);
            line.y.push(mean);
            line.deviation.push(deviation);
        }
        let printed = published(name, kind);
        let points = printed.iter().map(|value| (RATIOS[value.ratio], value.abt_gbps));
        let paper = Series::paper(format!("paper: {name}"), points);
        for value in printed.iter().filter(|value| !by_ratio[value.ratio].is_empty()) {
            let label = format!("{name}, {:.0} %", RATIOS[value.ratio] * 100.0);
            let row = Row::printed(label, "Gb/s", value.abt_gbps, 1.0, 0.0);
            outcome
                .rows
                .push(row.because(value.reason).over_seeds(&by_ratio[value.ratio]));
        }
        outcome.series.extend([line, paper]);
    }
    outcome
}
