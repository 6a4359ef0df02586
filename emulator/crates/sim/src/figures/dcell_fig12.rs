//! The all-to-all of 20 servers in time, DCell_1 beside a tree. `[dcell §7.3, Fig. 12]`

use serde_json::json;

use super::bcube_fig11::{all_to_all, steps};
use super::testbed::GIGABITS_A_GB;
use super::{Axes, Context, Outcome, Row, Series, built};
use crate::predict::PredictError;

/// What a server sends to each of the 19 others: 5 GB.
const GIGABYTES: f64 = 5.0 * 19.0;

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let dcell = built(&json!({"family": "dcell", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "servers": 20}))?;
    let in_dcell = all_to_all(context, &dcell, "dcell", GIGABYTES, 0)?;
    let in_tree = all_to_all(context, &tree, "tree", GIGABYTES, 0)?;
    let (dcell_secs, tree_secs) = (in_dcell.makespan_secs(), in_tree.makespan_secs());
    let peak = |rates: &[(f64, f64)]| rates.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
    let sent = 20.0 * GIGABYTES * GIGABITS_A_GB;
    let cpu = "the testbed forwarded in software at 100 % CPU; an ideal fluid has only links";
    let pause =
        "the testbed's flow control held up connections within a switch too; an ideal fluid has only links";
    Ok(Outcome {
        rows: vec![
            Row::printed("DCell is over", "s", 2270.0, 10.0, dcell_secs)
                .within(0.1)
                .because(cpu),
            Row::printed("the tree is over", "s", 4460.0, 10.0, tree_secs)
                .within(0.1)
                .because(pause),
            Row::printed(
                "the tree's time over DCell's",
                "x",
                2.0,
                1.0,
                tree_secs / dcell_secs,
            )
            .within(0.25)
            .because(cpu),
            Row::printed(
                "DCell's greatest throughput",
                "Gb/s",
                9.6,
                0.1,
                peak(&in_dcell.total_rate),
            )
            .within(0.1)
            .because(cpu),
            Row::printed(
                "DCell's greatest throughput, forwarding off the CPU (expected)",
                "Gb/s",
                20.0,
                1.0,
                peak(&in_dcell.total_rate),
            )
            .within(0.25)
            .because("the paper's own expectation: about 20 Gb/s"),
            Row::printed("the tree's mean throughput", "Gb/s", 3.6, 0.1, sent / tree_secs)
                .within(0.1)
                .because(pause),
        ],
        series: vec![
            steps("DCell", &in_dcell),
            steps("Tree", &in_tree),
            Series::paper("paper: DCell is over", [(2270.0, 0.0)]),
            Series::paper("paper: the tree is over", [(4460.0, 0.0)]),
        ],
        axes: Some(Axes {
            x: "time (s)",
            y: "aggregate throughput (Gb/s)",
        }),
        choices: vec!["5 GB of 2^30 bytes on each of 380 connections; all links 1 Gb/s; DCellRouting"],
    })
}
