//! BCube's testbed packet by packet: traffic patterns, and the all-to-all in time.
//! `[bcube §7.5, Figs 10 and 11]`
//!
//! The flows and paths are those of the fluid figures (`bcube_fig10`, `bcube_fig11`); one chart
//! shows both.

use cubeyard_topology::Topology;
use rayon::prelude::*;
use serde_json::json;

use super::bcube_fig10::{PRINTED, patterns, sent};
use super::bcube_fig11::{GIGABYTES, all_to_all_paths, steps};
use super::testbed::run;
use super::testbed_packets::{Growing, SETTINGS, Sending};
use super::{Axes, Context, Outcome, Row, Series, built};
use crate::engine::PredictError;
use crate::fluid::Completion;

const BRIEF: &str = "a twentieth of the data: 0.5 GB of 2^30 bytes where the paper has 10; times are told as of the whole, 20 times as long";
const WHOLE: &str = "the whole data: 10 GB of 2^30 bytes";
const CPU: &str =
    "the testbed relayed and copied on its CPU, which is not simulated; its TCP's settings are not stated";
const TWO_WAY: &str = "acknowledgements wait behind the data of the other direction and come in bursts, of which queues of one idle round trip lose packets; the testbed's queues are not stated, and its relays copied on their CPU";
const CHOICE: &str = "each connection takes one of its two parallel paths at random and stays there; the testbed re-probed and moved";

fn networks() -> Result<(Topology, Topology), PredictError> {
    Ok((
        built(&json!({"family": "bcube", "n": 4, "k": 1}))?,
        built(&json!({"family": "tree", "edge_ports": 4, "servers": 16}))?,
    ))
}

/// An all-to-all as a fluid and packet by packet.
fn both(
    context: &Context<'_>,
    topology: &Topology,
    routing: &str,
    seed: u64,
    growing: Option<&Growing<'_>>,
) -> Result<(Completion, Completion), PredictError> {
    let paths = all_to_all_paths(context, topology, routing, seed)?;
    let gigabytes = GIGABYTES / f64::from(topology.server_count() - 1);
    let directed_links = topology.links().len() * 2;
    let fluid = run(context, &paths, gigabytes, directed_links)?;
    let title = if routing == "tree" { "Tree" } else { "BCube" };
    if let Some(growing) = growing {
        growing.line(steps(&format!("{title}, fluid"), &fluid));
    }
    let packets = format!("{title}, packets");
    let sending = Sending {
        paths: &paths,
        gigabytes,
        directed_links,
        expected_secs: fluid.makespan_secs(),
        seed,
        shown: growing.map(|growing| (growing, packets.as_str())),
    };
    Ok((fluid, sending.run(context)?))
}

/// The same for each seed, in BCube and in the tree; `growing` shows the first one.
fn shuffles(
    context: &Context<'_>,
    growing: Option<&Growing<'_>>,
    bcube: &Topology,
    tree: &Topology,
) -> Result<Vec<[(Completion, Completion); 2]>, PredictError> {
    let seeds: Vec<u64> = context.seeds().collect();
    seeds
        .into_par_iter()
        .map(|seed| {
            let growing = growing.filter(|_| seed == context.first_seed);
            Ok([
                both(context, bcube, "bsr", seed, growing)?,
                both(context, tree, "tree", seed, growing)?,
            ])
        })
        .collect()
}

/// Payload that the all-to-alls of all seeds simulate.
fn shuffled_bytes(context: &Context<'_>) -> u64 {
    (context.seeds as f64 * 2.0 * 16.0 * GIGABYTES / context.parts() as f64 * 1_073_741_824.0) as u64
}

fn ends(done: &[[(Completion, Completion); 2]], tree: usize, packets: bool) -> Vec<f64> {
    done.iter()
        .map(|both| {
            let (fluid, sent) = &both[tree];
            if packets {
                sent.makespan_secs()
            } else {
                fluid.makespan_secs()
            }
        })
        .collect()
}

/// Fig. 10: throughput of the patterns, with the fluid's in the chart.
pub(super) fn fig10(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let (bcube, tree) = networks()?;
    let patterns = patterns(&bcube, &tree)?;
    let fluids = patterns
        .iter()
        .map(|pattern| Ok(pattern.fluid(context)?.makespan_secs()))
        .collect::<Result<Vec<f64>, PredictError>>()?;
    let sendings = || {
        patterns
            .iter()
            .zip(&fluids)
            .map(|(pattern, &expected_secs)| Sending {
                paths: &pattern.paths,
                gigabytes: pattern.gigabytes,
                directed_links: pattern.directed_links,
                expected_secs,
                seed: context.first_seed,
                shown: None,
            })
    };
    let patterned: u64 = sendings().map(|sending| sending.total_bytes(context)).sum();
    context.expect(patterned + shuffled_bytes(context));
    let sendings: Vec<Sending<'_>> = sendings().collect();
    let packets = sendings
        .par_iter()
        .map(|sending| Ok(sending.run(context)?.makespan_secs()))
        .collect::<Result<Vec<f64>, PredictError>>()?;
    let done = shuffles(context, None, &bcube, &tree)?;
    let mut rows = Vec::new();
    for (place, (pattern, &secs)) in patterns.iter().zip(&packets).enumerate() {
        let (name, unit, paper, step) = PRINTED[place];
        rows.push(
            Row::printed(name, unit, paper, step, pattern.told(secs)).because(if place < 2 {
                CPU
            } else {
                TWO_WAY
            }),
        );
    }
    let rate = |secs: &f64| sent() / secs;
    for (place, tree) in [(6, 0), (7, 1)] {
        let (name, unit, paper, step) = PRINTED[place];
        let sample: Vec<f64> = ends(&done, tree, true).iter().map(rate).collect();
        let reason = if tree == 0 { CHOICE } else { TWO_WAY };
        rows.push(
            Row::printed(name, unit, paper, step, 0.0)
                .because(reason)
                .over_seeds(&sample),
        );
    }
    let mean = |secs: Vec<f64>| secs.iter().map(rate).sum::<f64>() / secs.len() as f64;
    let line = |secs: &[f64], packets| {
        let shuffled = [0, 1].map(|tree| mean(ends(&done, tree, packets)));
        let rates = secs.iter().map(rate).chain(shuffled);
        rates
            .enumerate()
            .map(|(place, rate)| ((place + 1) as f64, rate))
            .collect::<Vec<_>>()
    };
    let paper = PRINTED.iter().enumerate().map(|(place, &(_, unit, value, _))| {
        let gbps = if unit == "s" { sent() / value } else { value };
        ((place + 1) as f64, gbps)
    });
    Ok(Outcome {
        rows,
        series: vec![
            Series::ours("Packets", line(&packets, true)),
            Series::ours("Fluid", line(&fluids, false)),
            Series::paper("paper", paper),
        ],
        axes: Some(Axes {
            x: "pattern, in the order of the table",
            y: "throughput of a server, Gb/s",
        }),
        choices: vec![
            context.of_data(BRIEF, WHOLE),
            SETTINGS,
            CHOICE,
            "one-to-several and one-to-all: relays pass on what they receive at once, so every edge is a flow of its own",
        ],
    })
}

/// Fig. 11: the all-to-all in time, with the fluid's in the chart.
pub(super) fn fig11(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let (bcube, tree) = networks()?;
    context.expect(shuffled_bytes(context));
    let axes = Axes {
        x: "time (s)",
        y: "total throughput (Gb/s)",
    };
    let choices = vec![
        context.of_data(BRIEF, WHOLE),
        SETTINGS,
        CHOICE,
        "throughput in the chart is goodput of packets, and of the fluid the rate on the line; of the first seed",
    ];
    let growing = Growing::new(context, axes, &choices);
    let done = shuffles(context, Some(&growing), &bcube, &tree)?;
    let rate = |secs: &f64| sent() / secs * 1e3;
    let rates = |tree| ends(&done, tree, true).iter().map(rate).collect::<Vec<f64>>();
    let local: Vec<f64> = done
        .iter()
        .map(|[_, (_, sent)]| {
            let paths = 16 * 3;
            let mut ends = sent.ends_secs.clone();
            ends.sort_unstable_by(f64::total_cmp);
            ends[paths - 1]
        })
        .collect();
    let row = |name, unit, paper, reason| Row::printed(name, unit, paper, 1.0, 0.0).because(reason);
    let [(bcube_fluid, bcube_packets), (tree_fluid, tree_packets)] = &done[0];
    Ok(Outcome {
        rows: vec![
            row("BCube is over", "s", 114.0, CHOICE).over_seeds(&ends(&done, 0, true)),
            row("BCube, each server", "Mb/s", 750.0, CHOICE).over_seeds(&rates(0)),
            row("the tree is over", "s", 332.0, CPU).over_seeds(&ends(&done, 1, true)),
            row("the tree, each server", "Mb/s", 260.0, CPU).over_seeds(&rates(1)),
            row(
                "the tree's connections within a switch are over",
                "s",
                39.0,
                "as many connections as are within switches: those that are over first",
            )
            .over_seeds(&local),
        ],
        series: vec![
            steps("BCube, packets", bcube_packets),
            steps("BCube, fluid", bcube_fluid),
            steps("Tree, packets", tree_packets),
            steps("Tree, fluid", tree_fluid),
            Series::paper("paper: BCube is over", [(114.0, 0.0)]),
            Series::paper("paper: the tree is over", [(332.0, 0.0)]),
        ],
        axes: Some(axes),
        choices,
    })
}
