//! Per-server throughput of four traffic patterns on 16 servers. `[bcube §7.5, Fig. 10]`

use cubeyard_routing::bcube::{Hop, Shape, build_path_set, complete_graph, spanning_trees};
use cubeyard_routing::{DirectedLink, Failures, Router, router};
use cubeyard_topology::{NodeId, Topology};
use serde_json::json;

use super::bcube_fig11::all_to_all_secs;
use super::testbed::{GIGABITS_A_GB, paths, run};
use super::{Context, Outcome, Row, built, setup};
use crate::flow::PredictError;
use crate::fluid::Completion;
use crate::paths::Paths;

/// Data that the source sends, in GB.
const GIGABYTES: f64 = 10.0;

const IDEAL: &str =
    "an ideal fluid knows neither headers nor CPU nor TCP: it is an upper bound of the testbed";
const FALLS: &str = "an ideal fluid: the testbed's trees were relayed by CPU and reached 80 % of it";

/// A pattern of traffic but for all-to-all: the same data on each path.
pub(super) struct Pattern {
    pub paths: Paths,
    /// On each path, in GB.
    pub gigabytes: f64,
    pub directed_links: usize,
    /// The unit in which the paper reports the result.
    measure: Measure,
}

/// The unit in which the paper reports a pattern's result.
enum Measure {
    Gbps,
    Secs,
}

/// One-to-one, one-to-several and one-to-all, each in BCube and in the tree.
pub(super) fn patterns(bcube: &Topology, tree: &Topology) -> Result<[Pattern; 6], PredictError> {
    let shape = Shape::new(bcube).ok_or_else(setup)?;
    let tree_router = router("tree", tree, Failures::none(tree)).map_err(|_| setup())?;
    let node = |name: &str| bcube.node_by_name(name).unwrap_or_default();
    let (a, b, c) = (node("00"), node("01"), node("10"));
    let pattern = |topology: &Topology, measure, each: &[Vec<DirectedLink>], gigabytes| Pattern {
        paths: paths(each),
        gigabytes,
        directed_links: topology.links().len() * 2,
        measure,
    };

    // One-to-one: a connection on each parallel path, half the data each.
    let set: Vec<_> = build_path_set(&shape, a, node("13"))
        .iter()
        .map(|hops| links(&shape, a, hops))
        .collect();
    let both = vec![tree_path(tree_router.as_ref(), 0, 7); 2];

    // One-to-several: half to each neighbour, which pass their halves on to each other at once.
    let graph = complete_graph(&shape, a, &[shape.digit(b, 0), shape.digit(c, 1)]).ok_or_else(setup)?;
    let mut several = Vec::new();
    for (from, _, hops) in &graph.edges {
        several.push(links(&shape, graph.servers[*from], hops));
        if *from > 0 {
            // The exchange runs both ways on the same links.
            several.push(
                several[several.len() - 1]
                    .iter()
                    .rev()
                    .map(|link| link ^ 1)
                    .collect(),
            );
        }
    }
    let halves = (graph.servers.len() - 1) as f64;
    let tree_several = [(0, 1), (1, 4)].map(|(from, to)| tree_path(tree_router.as_ref(), from, to));

    // One-to-all: an equal part down each spanning tree, every edge relaying as it receives.
    let trees = spanning_trees(&shape, a);
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
    let pipeline: Vec<_> = (0..15)
        .map(|i| tree_path(tree_router.as_ref(), i, i + 1))
        .collect();
    Ok([
        pattern(bcube, Measure::Gbps, &set, GIGABYTES / set.len() as f64),
        pattern(tree, Measure::Gbps, &both, GIGABYTES / 2.0),
        pattern(bcube, Measure::Secs, &several, GIGABYTES / halves),
        pattern(tree, Measure::Secs, &tree_several, GIGABYTES),
        pattern(bcube, Measure::Gbps, &edges, GIGABYTES / trees.len() as f64),
        pattern(tree, Measure::Gbps, &pipeline, GIGABYTES),
    ])
}

impl Pattern {
    /// The completion times by the fluid model.
    pub(super) fn fluid(&self, context: &Context<'_>) -> Result<Completion, PredictError> {
        run(context, &self.paths, self.gigabytes, self.directed_links)
    }

    /// The paper's measure of a pattern that takes this time.
    pub(super) fn told(&self, secs: f64) -> f64 {
        match self.measure {
            Measure::Gbps => sent() / secs,
            Measure::Secs => secs,
        }
    }
}

/// Data that the source sends, in gigabits.
pub(super) fn sent() -> f64 {
    GIGABYTES * GIGABITS_A_GB
}

/// The paper's numbers: name, unit, value and the last printed digit's worth; the patterns in their
/// order, then all-to-all.
pub(super) const PRINTED: [(&str, &str, f64, f64); 8] = [
    ("one-to-one, BCube", "Gb/s", 1.93, 0.01),
    ("one-to-one, tree", "Gb/s", 0.99, 0.01),
    ("one-to-several, BCube", "s", 47.9, 0.1),
    ("one-to-several, tree", "s", 89.0, 1.0),
    ("one-to-all, BCube", "Gb/s", 1.6, 0.1),
    ("one-to-all, tree", "Gb/s", 0.88, 0.01),
    ("all-to-all, BCube", "Gb/s", 0.75, 0.01),
    ("all-to-all, tree", "Gb/s", 0.26, 0.01),
];

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let bcube = built(&json!({"family": "bcube", "n": 4, "k": 1}))?;
    let tree = built(&json!({"family": "tree", "edge_ports": 4, "servers": 16}))?;
    let mut rows = Vec::new();
    let row = |place: usize, ours| {
        let (name, unit, paper, step) = PRINTED[place];
        Row::printed(name, unit, paper, step, ours).of_packets()
    };
    for (place, pattern) in patterns(&bcube, &tree)?.iter().enumerate() {
        let ours = pattern.told(pattern.fluid(context)?.makespan_secs());
        let relayed = PRINTED[place].0 == "one-to-all, BCube";
        rows.push(row(place, ours).because(if relayed { FALLS } else { IDEAL }));
    }
    let rates = |secs: Vec<f64>| secs.iter().map(|secs| sent() / secs).collect::<Vec<f64>>();
    let shuffle = rates(all_to_all_secs(context, &bcube, "bsr")?);
    let tree_shuffle = rates(all_to_all_secs(context, &tree, "tree")?);
    rows.push(
        row(6, 0.0)
            .because("BSR's first choice by chance, without its re-probing")
            .over_seeds(&shuffle),
    );
    rows.push(row(7, 0.0).because(IDEAL).over_seeds(&tree_shuffle));
    Ok(Outcome {
        rows,
        choices: vec![
            "GB is 2^30 bytes; all links 1 Gb/s; relays pass on what they receive at once",
            "all-to-all in BCube: each connection takes one of its two parallel paths at random and stays there",
        ],
        ..Outcome::default()
    })
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
