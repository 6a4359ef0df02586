//! Links saved by the VM distribution service. `[camcube §3.2, Fig. 2]`

use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{JoinTree, Shape, Ties, join_by_corners, join_tree};

use super::super::{Axes, Context, Outcome, Row, Series, mean_and_deviation};
use super::shape;
use crate::flow::PredictError;

/// Links that the VM distribution service's own protocol saves, by the share of servers that join.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    const SHARES: [f64; 11] = [0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0];
    /// Where the paper's curve has its greatest value.
    const A_TENTH: usize = 5;
    let shape = shape(context)?;
    let mut line = Series {
        name: "reduction in links".to_owned(),
        ..Series::default()
    };
    let mut by_share: Vec<Vec<f64>> = Vec::new();
    for share in SHARES {
        let gains: Vec<f64> = context.seeds().map(|seed| saved(&shape, share, seed)).collect();
        let (mean, deviation) = mean_and_deviation(&gains);
        line.x.push(share);
        line.y.push(mean);
        line.deviation.push(deviation);
        by_share.push(gains);
    }
    // For each seed's curve: the ratio of its value at a tenth to its largest value.
    let of_greatest: Vec<f64> = (0..by_share[0].len())
        .map(|seed| {
            let greatest = by_share
                .iter()
                .map(|gains| gains[seed])
                .fold(f64::MIN_POSITIVE, f64::max);
            by_share[A_TENTH][seed] / greatest
        })
        .collect();
    let last = SHARES.len() - 1;
    Ok(Outcome {
        rows: vec![
            Row::printed(
                "reduction when a tenth of the servers join, of the greatest at any share",
                "",
                1.0,
                0.001,
                0.0,
            )
            .over_seeds(&of_greatest)
            .because("the curve is flat at its top: which share is the greatest differs from seed to seed"),
            Row::printed("reduction when all servers join", "", 0.0, 0.001, line.y[last]),
        ],
        series: vec![line, Series::paper("paper: all servers join", [(1.0, 0.0)])],
        axes: Some(Axes {
            x: "share of servers that join",
            y: "share of links saved",
        }),
        choices: vec![
            "the base takes the first link on a shortest path in a fixed order: only then has the curve the described shape; with a random order the gain falls from 0.27 to 0. Table 1 needs the first free link, so the base of this figure contradicts that of Table 1: the paper does not say which it is",
            "for an edge of 20 the level of a mini-cube is the exponent of 2 in the distance; the text's lines 7 to 9 come after its loop",
        ],
    })
}

/// The share of tree links that joining by corners saves against the base.
fn saved(shape: &Shape, share: f64, seed: u64) -> f64 {
    let [own, base] = trees(shape, share, seed);
    1.0 - own.edges.len() as f64 / base.edges.len().max(1) as f64
}

/// The tree of the service's own protocol and that of the base, for a drawn root and a drawn share
/// of the servers.
pub(super) fn trees(shape: &Shape, share: f64, seed: u64) -> [JoinTree; 2] {
    let mut draws = Draws::new(seed);
    let root = draws.below(shape.servers());
    let mut servers: Vec<u32> = (0..shape.servers()).collect();
    draws.shuffle(&mut servers);
    let members = &servers[..(share * f64::from(shape.servers())).round() as usize];
    let own = join_tree(shape, root, members, |at| join_by_corners(shape, at, root));
    let base = join_tree(shape, root, members, |at| {
        (0..3)
            .map(|axis| (axis, shape.nearer(at, root, axis, Ties::Up)))
            .find(|(_, nearer)| *nearer != [false, false])
            .map_or((0, true), |(axis, nearer)| (axis, nearer[0]))
    });
    [own, base]
}
