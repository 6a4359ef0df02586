//! The all-to-all of 16 servers in time. `[bcube §7.5, Fig. 11]`

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use serde_json::json;

use super::testbed::{GIGABITS_A_GB, run};
use super::{Axes, Context, Outcome, Row, Series, built};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::fluid::Completion;
use crate::paths::Paths;
use crate::scheme::Scheme;

/// Data that every server sends in total, in GB.
pub(super) const GIGABYTES: f64 = 10.0;

/// An all-to-all in which every server sends `gigabytes`, an equal part to each other server.
pub(super) fn all_to_all(
    context: &Context<'_>,
    topology: &Topology,
    routing: &str,
    gigabytes: f64,
    seed: u64,
) -> Result<Completion, PredictError> {
    let paths = all_to_all_paths(context, topology, routing, seed)?;
    let each = gigabytes / f64::from(topology.server_count() - 1);
    run(context, &paths, each, topology.links().len() * 2)
}

/// The path from every server to every other one.
pub(super) fn all_to_all_paths(
    context: &Context<'_>,
    topology: &Topology,
    routing: &str,
    seed: u64,
) -> Result<Paths, PredictError> {
    let flows = Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll);
    let scheme = Scheme::new(Some(routing), topology, Failures::none(topology))?;
    Ok(scheme.route(&flows, seed, context.progress)?)
}

/// The time at which the last flow ends, for each seed.
pub(super) fn all_to_all_secs(
    context: &Context<'_>,
    topology: &Topology,
    routing: &str,
) -> Result<Vec<f64>, PredictError> {
    context
        .seeds()
        .map(|seed| Ok(all_to_all(context, topology, routing, GIGABYTES, seed)?.makespan_secs()))
        .collect()
}

/// The total rate as a line of steps.
pub(super) fn steps(name: &str, done: &Completion) -> Series {
    Series {
        name: name.to_owned(),
        x: done.total_rate.iter().map(|&(from, _)| from).collect(),
        y: done.total_rate.iter().map(|&(_, rate)| rate).collect(),
        ..Series::default()
    }
}

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let bcube = built(&json!({"family": "bcube", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "servers": 16}))?;
    let secs = all_to_all_secs(context, &bcube, "bsr")?;
    let best = all_to_all(context, &bcube, "bcube-fixed", GIGABYTES, 0)?;
    let in_bcube = all_to_all(context, &bcube, "bsr", GIGABYTES, 0)?;
    let in_tree = all_to_all(context, &tree, "tree", GIGABYTES, 0)?;
    let rate = |secs: f64| GIGABYTES * GIGABITS_A_GB / secs * 1e3;
    let tree_secs = in_tree.makespan_secs();
    let local_secs = in_tree.ends_secs.iter().copied().fold(f64::INFINITY, f64::min);
    let ideal = "an ideal fluid: no headers, no CPU, no TCP";
    let by_choice = "69 to about 130 s by which of the parallel paths each connection takes; the testbed re-probed and moved";
    Ok(Outcome {
        rows: vec![
            Row::printed("BCube is over", "s", 114.0, 1.0, 0.0)
                .of_packets()
                .because(by_choice)
                .over_seeds(&secs),
            Row::printed("BCube is over, one shortest path each", "s", 114.0, 1.0, best.makespan_secs())
                .of_packets()
                .because("the testbed's 626 Mb/s on each link implies 1.67 hops on average; shortest paths have 1.6 and use all links alike"),
            Row::printed("BCube is over, each connection probing as it starts", "s", 114.0, 1.0, 0.0)
                .of_packets()
                .because(by_choice)
                .over_seeds(&all_to_all_secs(context, &bcube, "bsr-greedy")?),
            Row::printed("BCube, each server", "Mb/s", 750.0, 1.0, 0.0)
                .of_packets()
                .because(by_choice)
                .over_seeds(&secs.iter().map(|&secs| rate(secs)).collect::<Vec<f64>>()),
            Row::printed("the tree is over", "s", 332.0, 1.0, tree_secs).of_packets().because(ideal),
            Row::printed("the tree, each server", "Mb/s", 260.0, 1.0, rate(tree_secs))
                .of_packets()
                .because(ideal),
            Row::printed("the tree's connections within a switch are over", "s", 39.0, 1.0, local_secs)
                .of_packets()
                .because("in an ideal fluid they take all that the connections over the root leave, at once"),
        ],
        series: vec![
            steps("BCube", &in_bcube),
            steps("Tree", &in_tree),
            Series::paper("paper: BCube is over", [(114.0, 0.0)]),
            Series::paper("paper: the tree is over", [(332.0, 0.0)]),
        ],
        axes: Some(Axes {
            x: "time (s)",
            y: "total throughput (Gb/s)",
        }),
        choices: vec![
            "GB is 2^30 bytes; all links 1 Gb/s, the tree's uplinks too",
            "BCube: each connection takes one of its two parallel paths at random and stays there",
        ],
    })
}
