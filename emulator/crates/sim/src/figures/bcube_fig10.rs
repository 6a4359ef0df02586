//! Per-server throughput of four traffic patterns on 16 servers. `[bcube §7.5, Fig. 10]`

use cubeyard_routing::bcube::{Hop, Shape, build_path_set, complete_graph, spanning_trees};
use cubeyard_routing::{Failures, Router, router};
use cubeyard_topology::{NodeId, Topology};
use serde_json::json;

use super::bcube_fig11::all_to_all_secs;
use super::testbed::{GIGABITS_A_GB, paths, run};
use super::{Context, Outcome, Row, built, setup};
use crate::predict::PredictError;

/// What the source sends, in GB.
const GIGABYTES: f64 = 10.0;

const IDEAL: &str =
    "an ideal fluid knows neither headers nor CPU nor TCP: it is an upper bound of the testbed";
const FALLS: &str = "an ideal fluid: the testbed's trees were relayed by CPU and reached 80 % of it";

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let bcube = built(&json!({"family": "bcube", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "servers": 16}))?;
    let shape = Shape::new(&bcube).ok_or_else(setup)?;
    let tree_router = router("tree", &tree, Failures::none(&tree)).map_err(|_| setup())?;
    let sent = GIGABYTES * GIGABITS_A_GB;
    let node = |name: &str| bcube.node_by_name(name).unwrap_or_default();
    let (a, b, c) = (node("00"), node("01"), node("10"));

    // One-to-one: a connection on each parallel path, half the data each.
    let across = node("13");
    let set: Vec<_> = build_path_set(&shape, a, across)
        .iter()
        .map(|hops| links(&shape, a, hops))
        .collect();
    let parallel = set.len() as f64;
    let bcube_one =
        sent / run(context, &paths(&set), GIGABYTES / parallel, directed(&bcube))?.makespan_secs();
    let both = vec![tree_path(tree_router.as_ref(), 0, 7); 2];
    let tree_one = sent / run(context, &paths(&both), GIGABYTES / 2.0, directed(&tree))?.makespan_secs();

    // One-to-several: half to each neighbour, which pass their halves on to each other at once.
    let graph = complete_graph(&shape, a, &[shape.digit(b, 0), shape.digit(c, 1)]).ok_or_else(setup)?;
    let mut edges = Vec::new();
    for (from, _, hops) in &graph.edges {
        edges.push(links(&shape, graph.servers[*from], hops));
        if *from > 0 {
            // The exchange runs both ways on the same links.
            edges.push(edges[edges.len() - 1].iter().rev().map(|link| link ^ 1).collect());
        }
    }
    let halves = (graph.servers.len() - 1) as f64;
    let several_secs = run(context, &paths(&edges), GIGABYTES / halves, directed(&bcube))?.makespan_secs();
    let pipeline: Vec<_> = [(0, 1), (1, 4)]
        .map(|(from, to)| tree_path(tree_router.as_ref(), from, to))
        .to_vec();
    let tree_several_secs = run(context, &paths(&pipeline), GIGABYTES, directed(&tree))?.makespan_secs();

    // One-to-all: an equal part down each spanning tree, every edge relaying as it receives.
    let trees = spanning_trees(&shape, a);
    let parts = trees.len() as f64;
    let edges: Vec<_> = trees
        .iter()
        .flatten()
        .map(|edge| {
            links(
                &shape,
                edge.parent,
                &[Hop {
                    server: edge.child,
                    level: edge.level,
                }],
            )
        })
        .collect();
    let bcube_all = sent / run(context, &paths(&edges), GIGABYTES / parts, directed(&bcube))?.makespan_secs();
    let pipeline: Vec<_> = (0..15)
        .map(|i| tree_path(tree_router.as_ref(), i, i + 1))
        .collect();
    let tree_all = sent / run(context, &paths(&pipeline), GIGABYTES, directed(&tree))?.makespan_secs();

    let bcube_secs = all_to_all_secs(context, &bcube, "bsr")?;
    let shuffle: Vec<f64> = bcube_secs.iter().map(|secs| sent / secs).collect();
    let tree_shuffle: Vec<f64> = all_to_all_secs(context, &tree, "tree")?
        .iter()
        .map(|secs| sent / secs)
        .collect();
    let row = |name: &str, unit, paper, step, ours: f64| {
        Row::printed(name, unit, paper, step, ours)
            .within(0.1)
            .because(IDEAL)
    };
    Ok(Outcome {
        rows: vec![
            row("one-to-one, BCube", "Gb/s", 1.93, 0.01, bcube_one),
            row("one-to-one, tree", "Gb/s", 0.99, 0.01, tree_one),
            row("one-to-several, BCube", "s", 47.9, 0.1, several_secs),
            row("one-to-several, tree", "s", 89.0, 1.0, tree_several_secs),
            row("one-to-all, BCube", "Gb/s", 1.6, 0.1, bcube_all).because(FALLS),
            row("one-to-all, tree", "Gb/s", 0.88, 0.01, tree_all),
            row("all-to-all, BCube", "Gb/s", 0.75, 0.01, 0.0)
                .within(0.4)
                .because("BSR's first choice by chance, without its re-probing")
                .over_seeds(&shuffle),
            row("all-to-all, tree", "Gb/s", 0.26, 0.01, 0.0)
                .within(0.25)
                .over_seeds(&tree_shuffle),
        ],
        choices: vec![
            "GB is 2^30 bytes; all links 1 Gb/s; relays pass on what they receive at once",
            "all-to-all in BCube: each connection takes one of its two parallel paths at random and stays there",
        ],
        ..Outcome::default()
    })
}

fn directed(topology: &Topology) -> usize {
    topology.links().len() * 2
}

fn links(shape: &Shape, source: NodeId, hops: &[Hop]) -> Vec<u32> {
    let mut path = Vec::new();
    shape.push_links(source, hops, &mut path);
    path
}

fn tree_path(router: &dyn Router, from: NodeId, to: NodeId) -> Vec<u32> {
    let mut path = Vec::new();
    // A tree without failures has a path between any two servers.
    let found = router.route(from, to, 0, &mut path);
    debug_assert!(found.is_ok());
    path
}
