//! DFR's path failures in a DCell_3 of n = 6 that is being filled, 5 % failed. `[dcell §6.2, Fig. 9]`

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use serde_json::json;

use super::dcell_table2::{Model, dfr_once};
use super::{Axes, Context, Outcome, Row, Series, built, mean_and_deviation};
use crate::count::Cancelled;
use crate::predict::PredictError;

/// Servers of the complete DCell_3, and of a DCell_2 of it.
const COMPLETE: u64 = 3_263_442;
const A_DCELL_2: u64 = 1_806;

/// The shares deployed that are computed: the figure's axis has every tenth.
const DEPLOYED: [f64; 4] = [0.1, 0.3, 0.5, 1.0];
const FAILED: f64 = 0.05;
const PAIRS: u64 = 20_000;

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let models = [Model::Node, Model::Rack, Model::Link];
    context.expect((DEPLOYED.len() * models.len()) as u64 * context.seeds);
    // [model][share]: seeds.
    let mut found = vec![vec![Vec::new(); DEPLOYED.len()]; models.len()];
    for (d, share) in DEPLOYED.iter().enumerate() {
        let dcells = ((COMPLETE / A_DCELL_2) as f64 * share).round() as u64;
        let topology = built(&json!({"family": "dcell", "n": 6, "k": 3, "servers": dcells * A_DCELL_2}))?;
        let cases: Vec<(usize, u64)> = (0..models.len())
            .flat_map(|model| (0..context.seeds).map(move |seed| (model, seed)))
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
    let mut outcome = Outcome {
        axes: Some(Axes {
            x: "share of servers deployed",
            y: "path failure ratio",
        }),
        choices: vec![
            "whole DCell_2s deployed; 10, 30, 50 and 100 % computed; 5 % of nodes, racks (DCell_1s) or links failed",
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
        let (limit, least) = if *model == Model::Link {
            (0.9, 0.0)
        } else {
            (6.0, 4.0)
        };
        outcome.rows.push(
            Row::printed(
                format!(
                    "{} failures 5 %: greatest path failure ratio, below",
                    model.name()
                ),
                "%",
                limit,
                1e-9,
                most * 100.0,
            )
            .band(least, limit)
            .because("the text gives a bound"),
        );
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
