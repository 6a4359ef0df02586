//! DFR's path failures in a DCell_3 of n = 6 that is being filled, 5 % failed.
//! `[dcell §6.2, Fig. 9]`

use std::sync::atomic::Ordering;

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use rayon::prelude::*;
use serde_json::json;

use super::dcell_table2::{Model, dfr_once};
use super::{Axes, Context, Outcome, Row, Series, built, mean_and_deviation};
use crate::count::Cancelled;
use crate::flow::PredictError;

/// Servers of the complete DCell_3, and of a DCell_1 of it.
const COMPLETE: u64 = 3_263_442;
const A_DCELL_1: u64 = 42;

/// The shares deployed that are computed: the figure's axis has every tenth.
const DEPLOYED: [f64; 4] = [0.1, 0.3, 0.5, 1.0];
const FAILED: f64 = 0.05;
const BOUND: &str = "the paper's bound; under link failures even the complete DCell_3 gives 1 %: a server whose links of levels 0 and 1 are both down is not found from inside its DCell_1, and the text does not say what saves it";
const PAIRS: u64 = 20_000;

const MODELS: [Model; 3] = [Model::Node, Model::Rack, Model::Link];

/// The DCell_3 with a share of its servers deployed.
fn network(share: f64) -> Result<Topology, PredictError> {
    let dcells = ((COMPLETE / A_DCELL_1) as f64 * share).round() as u64;
    built(&json!({"family": "dcell", "n": 6, "k": 3, "servers": dcells * A_DCELL_1, "growth": 1}))
}

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let models = MODELS;
    // DFR is computed at each share of failures, shortest paths at one share only.
    context.expect(((DEPLOYED.len() + 1) * models.len()) as u64 * context.seeds);
    // [model][share]: seeds.
    let mut found = vec![vec![Vec::new(); DEPLOYED.len()]; models.len()];
    for (d, share) in DEPLOYED.iter().enumerate() {
        let topology = network(*share)?;
        let cases: Vec<(usize, u64)> = (0..models.len())
            .flat_map(|model| context.seeds().map(move |seed| (model, seed)))
            .collect();
        let ratios: Vec<f64> = cases
            .par_iter()
            .map(|&(model, seed)| {
                if context.progress.cancelled.load(Ordering::Relaxed) {
                    return Err(PredictError::from(Cancelled));
                }
                let found = dfr_once(&topology, models[model], FAILED, seed, PAIRS)?;
                context.progress.done.fetch_add(1, Ordering::Relaxed);
                Ok(found.failure_ratio())
            })
            .collect::<Result<_, _>>()?;
        for (&(model, _), ratio) in cases.iter().zip(ratios) {
            found[model][d].push(ratio);
        }
    }
    let spf = shortest_path_failures(context)?;
    let mut outcome = Outcome {
        axes: Some(Axes {
            x: "share of servers deployed",
            y: "path failure ratio",
        }),
        choices: vec![
            "grown from the top down, as §5 says: DCell_1s are added whole to many incomplete DCell_2s, each linked with each; our order of the steps",
            "shortest paths: all pairs of a live source and any destination with a tenth deployed, where the fewest links are",
            "10, 30, 50 and 100 % computed; 5 % of nodes, racks (DCell_1s) or links failed",
            "destinations drawn from all servers: a failed one is a path failure, so 5 % is the least for nodes and racks",
        ],
        ..Outcome::default()
    };
    for (m, model) in models.iter().enumerate() {
        let means: Vec<f64> = found[m]
            .iter()
            .map(|sample| mean_and_deviation(sample).0)
            .collect();
        let most = means.iter().copied().fold(0.0, f64::max);
        let limit = if *model == Model::Link { 0.9 } else { 6.0 };
        outcome.rows.push(
            Row::at_most(
                format!(
                    "{} failures 5 %: greatest path failure ratio, below",
                    model.name()
                ),
                "%",
                limit,
                most * 100.0,
            )
            .because(BOUND),
        );
        let printed = if *model == Model::Link { 0.0 } else { 5.0 };
        let name = format!(
            "shortest paths, {} failures 5 %: path failure ratio",
            model.name()
        );
        outcome
            .rows
            .push(Row::printed(name, "%", printed, 1.0, 0.0).over_seeds(&spf[m]));
        outcome.series.push(Series {
            name: format!("DFR, {} failures", model.name()),
            x: DEPLOYED.to_vec(),
            y: means,
            deviation: found[m]
                .iter()
                .map(|sample| mean_and_deviation(sample).1)
                .collect(),
            ..Series::default()
        });
    }
    Ok(outcome)
}

/// Path failure ratios in per cent of shortest paths with a tenth deployed, by model and seed.
fn shortest_path_failures(context: &Context<'_>) -> Result<Vec<Vec<f64>>, PredictError> {
    let topology = network(DEPLOYED[0])?;
    MODELS
        .iter()
        .map(|model| {
            context
                .seeds()
                .map(|seed| {
                    let failures = model.failures(&topology, FAILED, seed);
                    context.did_one()?;
                    Ok(100.0 * unreachable_share(&topology, &failures))
                })
                .collect()
        })
        .collect()
}

/// The share of pairs (a live source and any other server) that no path joins, because the ends are
/// not in one connected part.
fn unreachable_share(topology: &Topology, failures: &Failures) -> f64 {
    let mut parent: Vec<u32> = (0..topology.node_count()).collect();
    let links = topology.links();
    for (link, (&a, &b)) in links.a.iter().zip(&links.b).enumerate() {
        if !failures.link_failed(link as u32) && !failures.node_failed(a) && !failures.node_failed(b) {
            let (a, b) = (root(&mut parent, a), root(&mut parent, b));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut servers_of = vec![0u64; parent.len()];
    let live = (0..topology.server_count()).filter(|&server| !failures.node_failed(server));
    let mut sources = 0;
    for server in live {
        servers_of[root(&mut parent, server) as usize] += 1;
        sources += 1;
    }
    let joined: u64 = servers_of
        .iter()
        .map(|servers| servers * servers.saturating_sub(1))
        .sum();
    let tried = sources * u64::from(topology.server_count() - 1);
    1.0 - joined as f64 / tried as f64
}

/// The root of a node's connected part; shortens the chain to it for later calls.
fn root(parent: &mut [u32], mut node: u32) -> u32 {
    while parent[node as usize] != node {
        let above = parent[parent[node as usize] as usize];
        parent[node as usize] = above;
        node = above;
    }
    node
}
