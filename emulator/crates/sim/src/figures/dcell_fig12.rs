//! The all-to-all of 20 servers over time, DCell_1 compared with a tree. `[dcell §7.3, Fig. 12]`

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use rayon::prelude::*;
use serde_json::json;

use super::bcube_fig11::{all_to_all, all_to_all_paths, steps};
use super::testbed::GIGABITS_A_GB;
use super::testbed_packets::{Growing, SETTINGS, Sending};
use super::{Axes, Context, Outcome, Row, Series, built, setup};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::fluid::Completion;
use crate::scheme::Scheme;

/// Data that a server sends to all of the 19 others, 5 GB each.
const GIGABYTES: f64 = 5.0 * 19.0;

const AXES: Axes = Axes {
    x: "time (s)",
    y: "aggregate throughput (Gb/s)",
};

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let dcell = built(&json!({"family": "dcell", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "root_ports": 8, "servers": 20}))?;
    let in_dcell = all_to_all(context, &dcell, "dcell", GIGABYTES, 0)?;
    let in_tree = all_to_all(context, &tree, "tree", GIGABYTES, 0)?;
    let (dcell_secs, tree_secs) = (in_dcell.makespan_secs(), in_tree.makespan_secs());
    let one_hop = one_hop_secs(context, &dcell, &in_dcell)?;
    let peak = |rates: &[(f64, f64)]| rates.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
    let sent = 20.0 * GIGABYTES * GIGABITS_A_GB;
    let cpu = "the testbed forwarded in software at 100 % CPU; an ideal fluid has only links";
    let pause =
        "the testbed's flow control held up connections within a switch too; an ideal fluid has only links";
    Ok(Outcome {
        rows: vec![
            Row::printed("DCell is over", "s", 2270.0, 10.0, dcell_secs)
                .of_packets()
                .because(cpu),
            Row::printed(
                "DCell's 20 connections over one level-1 link are over",
                "s",
                350.0,
                10.0,
                one_hop,
            )
            .of_packets()
            .because(cpu),
            Row::printed("the tree is over", "s", 4460.0, 10.0, tree_secs)
                .of_packets()
                .because(pause),
            Row::printed(
                "the tree's time over DCell's",
                "x",
                2.0,
                1.0,
                tree_secs / dcell_secs,
            )
            .of_packets()
            .because(cpu),
            Row::printed(
                "DCell's greatest throughput",
                "Gb/s",
                9.6,
                0.1,
                peak(&in_dcell.total_rate),
            )
            .of_packets()
            .because(cpu),
            Row::printed(
                "DCell's greatest throughput, forwarding off the CPU (expected)",
                "Gb/s",
                20.0,
                1.0,
                peak(&in_dcell.total_rate),
            )
            .of_packets()
            .because("the paper's own expectation: about 20 Gb/s"),
            Row::printed("the tree's mean throughput", "Gb/s", 3.6, 0.1, sent / tree_secs)
                .of_packets()
                .because(pause),
        ],
        series: vec![
            steps("DCell", &in_dcell),
            steps("Tree", &in_tree),
            Series::paper("paper: DCell is over", [(2270.0, 0.0)]),
            Series::paper("paper: the tree is over", [(4460.0, 0.0)]),
        ],
        axes: Some(AXES),
        choices: vec![
            "5 GB of 2^30 bytes on each of 380 connections; all links 1 Gb/s; DCellRouting; the tree has two levels: five switches of four servers under one root",
        ],
    })
}

const BRIEF: &str = "a two-hundredth of the data: 25 MB of 2^20 bytes on each of 380 connections where the paper has 5 GB; times are told as of the whole, 200 times as long, and with them the start and the tail of each connection";
const WHOLE: &str = "the whole data: 5 GB of 2^30 bytes on each of 380 connections";

/// The same packet by packet, with the fluid in the chart.
pub(super) fn packets(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let dcell = built(&json!({"family": "dcell", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "root_ports": 8, "servers": 20}))?;
    context.expect((2.0 * 20.0 * GIGABYTES / context.parts() as f64 * GIGABITS_A_GB * 1.25e8) as u64);
    let growing = Growing::new(context, AXES, &packet_choices(context));
    let done: Vec<(Completion, Completion)> = [(&dcell, "dcell", "DCell"), (&tree, "tree", "Tree")]
        .into_par_iter()
        .map(|(topology, routing, title)| {
            let paths = all_to_all_paths(context, topology, routing, 0)?;
            let fluid = all_to_all(context, topology, routing, GIGABYTES, 0)?;
            growing.line(steps(&format!("{title}, fluid"), &fluid));
            let sending = Sending {
                paths: &paths,
                gigabytes: GIGABYTES / 19.0,
                directed_links: topology.links().len() * 2,
                expected_secs: fluid.makespan_secs(),
                seed: context.first_seed,
                shown: Some((&growing, &format!("{title}, packets"))),
            };
            Ok((fluid, sending.run(context)?))
        })
        .collect::<Result<_, PredictError>>()?;
    let [(dcell_fluid, in_dcell), (tree_fluid, in_tree)] = &done[..] else {
        return Err(setup());
    };
    let (dcell_secs, tree_secs) = (in_dcell.makespan_secs(), in_tree.makespan_secs());
    let one_hop = one_hop_secs(context, &dcell, in_dcell)?;
    let sent = 20.0 * GIGABYTES * GIGABITS_A_GB;
    let cpu = "the testbed forwarded in software at 100 % CPU, which is not simulated";
    let pause = "the testbed's flow control held up connections within a switch too; here there is none";
    let row =
        |name, unit, paper, step, ours, reason| Row::printed(name, unit, paper, step, ours).because(reason);
    Ok(Outcome {
        rows: vec![
            row("DCell is over", "s", 2270.0, 10.0, dcell_secs, cpu),
            row(
                "DCell's 20 connections over one level-1 link are over",
                "s",
                350.0,
                10.0,
                one_hop,
                cpu,
            ),
            row("the tree is over", "s", 4460.0, 10.0, tree_secs, pause),
            row(
                "the tree's time over DCell's",
                "x",
                2.0,
                1.0,
                tree_secs / dcell_secs,
                cpu,
            ),
            row(
                "the tree's mean throughput",
                "Gb/s",
                3.6,
                0.1,
                sent / tree_secs,
                pause,
            ),
        ],
        series: vec![
            steps("DCell, packets", in_dcell),
            steps("DCell, fluid", dcell_fluid),
            steps("Tree, packets", in_tree),
            steps("Tree, fluid", tree_fluid),
            Series::paper("paper: DCell is over", [(2270.0, 0.0)]),
            Series::paper("paper: the tree is over", [(4460.0, 0.0)]),
        ],
        axes: Some(AXES),
        choices: packet_choices(context),
    })
}

/// The assumptions of the packet simulation.
fn packet_choices(context: &Context<'_>) -> Vec<&'static str> {
    vec![
        context.of_data(BRIEF, WHOLE),
        SETTINGS,
        "DCellRouting; the tree has two levels: five switches of four servers under one root; relays take no CPU",
    ]
}

/// End of the last connection whose path is a single level-1 link.
fn one_hop_secs(context: &Context<'_>, dcell: &Topology, done: &Completion) -> Result<f64, PredictError> {
    let flows = Flows::new((0..dcell.server_count()).collect(), Pattern::AllToAll);
    let scheme = Scheme::new(Some("dcell"), dcell, Failures::none(dcell))?;
    let paths = scheme.route(&flows, 0, context.progress)?;
    let lengths = paths.offsets.windows(2).map(|pair| pair[1] - pair[0]);
    let ends = lengths.zip(&done.ends_secs).filter(|(length, _)| *length == 1);
    Ok(ends.map(|(_, &end)| end).fold(0.0, f64::max))
}
