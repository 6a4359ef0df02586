//! ABT of BCube, fat-tree and DCell of 2,048 servers as servers or switches fail. `[bcube §6, Fig. 8]`

use cubeyard_routing::{FailureKind, Failures};
use cubeyard_topology::Topology;
use serde_json::json;

use super::{Axes, Context, Outcome, Row, Series, built, mean_and_deviation};
use crate::flows::{Flows, Pattern};
use crate::predict::{PredictError, aggregate_bottleneck};
use crate::scheme::Scheme;

/// The failure ratios of the axis: 0 to 20 %.
const RATIOS: [f64; 11] = [0.0, 0.02, 0.04, 0.06, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20];

/// A value that the text prints, and the band around it.
struct Printed {
    ratio: usize,
    abt_gbps: f64,
    share: f64,
    reason: &'static str,
}

const fn printed(ratio: usize, abt_gbps: f64, share: f64, reason: &'static str) -> Printed {
    Printed {
        ratio,
        abt_gbps,
        share,
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

/// Fig. 8(a).
pub fn servers(context: &Context<'_>) -> Result<Outcome, PredictError> {
    compute(context, FailureKind::Server)
}

/// Fig. 8(b).
pub fn switches(context: &Context<'_>) -> Result<Outcome, PredictError> {
    compute(context, FailureKind::Switch)
}

fn published(structure: &str, kind: FailureKind) -> Vec<Printed> {
    let mut values = match structure {
        "BCube" => vec![printed(0, 2006.0, 0.03, "seeds differ by 13 Gb/s")],
        "Fat-tree" => vec![printed(0, 1895.0, 0.03, "seeds differ by 12 Gb/s")],
        _ => vec![printed(0, 298.0, 0.0, "")],
    };
    if kind == FailureKind::Switch {
        match structure {
            "BCube" => values.push(printed(10, 765.0, 0.15, TIES)),
            "Fat-tree" => values.extend([
                printed(1, 1145.0, 0.2, SPREAD),
                printed(3, 704.0, 0.25, SPREAD),
                printed(10, 267.0, 0.25, SPREAD),
            ]),
            _ => {}
        }
    }
    values
}

/// Structures by what a curve takes: the fat-tree's is there within two seconds.
const SOONEST_FIRST: [usize; 3] = [1, 0, 2];

fn compute(context: &Context<'_>, kind: FailureKind) -> Result<Outcome, PredictError> {
    let flows = Flows::new((0..2048).collect(), Pattern::AllToAll);
    let structures = structures();
    context.expect((structures.len() * RATIOS.len()) as u64 * context.seeds * flows.len());
    let topologies: Vec<Topology> = structures
        .iter()
        .map(|(_, spec, _)| built(spec))
        .collect::<Result<_, _>>()?;
    // [structure][ratio]: seeds. A seed's three curves are whole before the next seed begins, so that there is something
    // to see soon.
    let mut samples = vec![vec![Vec::new(); RATIOS.len()]; structures.len()];
    for seed in 0..context.seeds {
        for s in SOONEST_FIRST {
            let topology = &topologies[s];
            let directed_links = topology.links().len() * 2;
            let capacity = vec![1.0; directed_links];
            for (r, &ratio) in RATIOS.iter().enumerate() {
                let failures = Failures::random(topology, kind, ratio, seed);
                let scheme = Scheme::new(Some(structures[s].2), topology, failures)?;
                let load = scheme.count_links(&flows, &[], seed, context.progress)?;
                samples[s][r].push(aggregate_bottleneck(&load, &capacity));
                context.show(&outcome(kind, &samples));
            }
        }
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
            "BSR takes each of the parallel paths that are alive with equal chance; among equally short substitutes the flow's own draw decides",
            "fat-tree: a random up-path for every flow, another available one where it is broken",
            "DCell: DFR with link state in DCell_1 and 30 retries, servers 0 to 2047; without failures that is DCellRouting",
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
            let mut row = Row::printed(label, "Gb/s", value.abt_gbps, 1.0, 0.0);
            if value.share > 0.0 {
                row = row.within(value.share);
            }
            outcome
                .rows
                .push(row.because(value.reason).over_seeds(&by_ratio[value.ratio]));
        }
        outcome.series.extend([line, paper]);
    }
    outcome
}
