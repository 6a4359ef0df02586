//! CamCube's services on a 20-ary 3-cube of 8,000 servers. `[camcube §3, Figs 1 to 3, Table 1]`

use cubeyard_routing::PathSet;
use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{
    LinkStress, Shape, Ties, aggregation_loads, cache_lookups, disjoint_paths, join_by_corners, join_tree,
    link_stress, routing_service_loads,
};
use serde_json::json;

use super::{Axes, Context, Outcome, Row, Series, built, mean_and_deviation, setup};
use crate::predict::PredictError;

/// The reducer; by symmetry any server would do.
const ROOT: u32 = 0;

fn shape() -> Result<Shape, PredictError> {
    let topology = built(&json!({"family": "torus3d", "x": 20, "y": 20, "z": 20}))?;
    Shape::new(&topology).ok_or_else(setup)
}

/// Path sets of the TCP/IP service to every other server.
pub(super) fn fig1(_: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape()?;
    let mut paths = PathSet::default();
    let (mut fewest, mut stretch, mut shared) = (usize::MAX, 0, 0u32);
    let mut with = [0u64; 7];
    for destination in 1..shape.servers() {
        disjoint_paths(&shape, 0, destination, &mut paths);
        fewest = fewest.min(paths.len());
        with[paths.len().min(6)] += 1;
        let least = shape.distance(0, destination) as usize;
        stretch = paths
            .iter()
            .map(|path| path.len() - least)
            .fold(stretch, usize::max);
        let mut links: Vec<u32> = paths.iter().flatten().copied().collect();
        links.sort_unstable();
        let all = links.len();
        links.dedup();
        shared += (all - links.len()) as u32;
    }
    Ok(Outcome {
        rows: vec![
            Row::printed("disjoint paths, at least", "", 3.0, 1e-9, fewest as f64),
            Row::printed("stretch of a path, at most", "hops", 2.0, 1e-9, stretch as f64),
            Row::printed(
                "links shared by two paths of one pair",
                "",
                0.0,
                1e-9,
                f64::from(shared),
            ),
        ],
        series: vec![Series {
            name: "destinations by number of disjoint paths".to_owned(),
            x: (0..7).map(f64::from).collect(),
            y: with.iter().map(|&count| count as f64).collect(),
            ..Series::default()
        }],
        axes: Some(Axes {
            x: "link-disjoint paths",
            y: "destinations",
        }),
        choices: vec![
            "after the arrival axis the next in cyclic order (x, y, z, x): the lowest axis first is not link-disjoint; at half the way round one direction only",
            "what the text says of the paths themselves; the gain in packets of the figure's curve waits for the packet engine",
        ],
    })
}

/// Links that the VM distribution service's own protocol saves, by the share of servers that join.
pub(super) fn fig2(context: &Context<'_>) -> Result<Outcome, PredictError> {
    const SHARES: [f64; 11] = [0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0];
    let shape = shape()?;
    let mut line = Series {
        name: "reduction in links".to_owned(),
        ..Series::default()
    };
    for share in SHARES {
        let gains: Vec<f64> = (0..context.seeds)
            .map(|seed| saved(&shape, share, seed))
            .collect();
        let (mean, deviation) = mean_and_deviation(&gains);
        line.x.push(share);
        line.y.push(mean);
        line.deviation.push(deviation);
    }
    let peak = (0..SHARES.len()).fold(0, |best, i| if line.y[i] > line.y[best] { i } else { best });
    let last = SHARES.len() - 1;
    Ok(Outcome {
        rows: vec![
            Row::printed(
                "share of servers with the greatest reduction",
                "",
                0.1,
                0.01,
                SHARES[peak],
            )
            .band(0.03, 0.2)
            .because("the curve is flat at its top"),
            Row::printed("reduction when all servers join", "", 0.0, 0.001, line.y[last]),
        ],
        series: vec![line],
        axes: Some(Axes {
            x: "share of servers that join",
            y: "share of links saved",
        }),
        choices: vec![
            "the base takes the first link on a shortest path in a fixed order: only then has the curve the described shape; with a random order the gain falls from 0.27 to 0",
            "for an edge of 20 the level of a mini-cube is the exponent of 2 in the distance; the text's lines 7 to 9 come after its loop",
        ],
    })
}

/// The share of tree links that joining by corners saves against the base.
fn saved(shape: &Shape, share: f64, seed: u64) -> f64 {
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
    1.0 - own.edges.len() as f64 / base.edges.len().max(1) as f64
}

/// Hops to a cache hit.
pub(super) fn fig3(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape()?;
    let (mut base, mut own, mut most) = (Vec::new(), Vec::new(), 0);
    let mut series = Vec::new();
    for seed in 0..context.seeds {
        let hops = cache_lookups(&shape, 8_000_000, 1.5, 800_000, seed);
        base.push(f64::from(median(&hops.routing_service)));
        own.push(f64::from(median(&hops.cache_service)));
        most = most
            .max(hops.routing_service.len().saturating_sub(1))
            .max(hops.cache_service.len().saturating_sub(1));
        if seed == 0 {
            series = vec![
                cumulative("routing service", &hops.routing_service),
                cumulative("cache service", &hops.cache_service),
            ];
        }
    }
    Ok(Outcome {
        rows: vec![
            Row::printed("routing service: median", "hops", 15.0, 1.0, 0.0).over_seeds(&base),
            Row::printed("cache service: median", "hops", 7.0, 1.0, 0.0).over_seeds(&own),
            Row::printed("longest", "hops", 30.0, 1.0, most as f64),
        ],
        series,
        axes: Some(Axes {
            x: "hops to a hit",
            y: "share of lookups",
        }),
        choices: vec![
            "secondaries at the primary's coordinate plus (5 or -5, 5 or -5, 5 or -5), filled on demand",
        ],
    })
}

/// Links and packets of the aggregation service beside the routing service.
pub(super) fn table1(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape()?;
    let links = shape.directed_links() as f64;
    let cells = |stress: &LinkStress| -> [f64; 7] {
        [
            stress.links_used as f64,
            100.0 * stress.links_used as f64 / links,
            stress.packets as f64,
            f64::from(stress.median),
            f64::from(stress.percentile_90),
            f64::from(stress.percentile_99),
            f64::from(stress.maximum),
        ]
    };
    let names: [(&str, &'static str); 7] = [
        ("links used", ""),
        ("share of links used", "%"),
        ("packets sent", ""),
        ("median packets of a link", ""),
        ("90th percentile", ""),
        ("99th percentile", ""),
        ("most on a link", ""),
    ];
    let mut rows = Vec::new();
    for (name, full, printed) in [
        (
            "Aggregation, none",
            false,
            [7_999.0, 17.0, 120_000.0, 5.0, 9.0, 160.0, 4_000.0],
        ),
        (
            "Aggregation, full",
            true,
            [7_999.0, 17.0, 7_999.0, 1.0, 1.0, 1.0, 1.0],
        ),
    ] {
        let ours = cells(&link_stress(&aggregation_loads(&shape, ROOT, full)));
        for (cell, (what, unit)) in names.iter().enumerate() {
            rows.push(Row::printed(
                format!("{name}: {what}"),
                unit,
                printed[cell],
                1.0,
                ours[cell],
            ));
        }
    }
    let runs: Vec<[f64; 7]> = (0..context.seeds)
        .map(|seed| cells(&link_stress(&routing_service_loads(&shape, ROOT, Ties::Up, seed))))
        .collect();
    let printed = [19_646.0, 41.0, 120_000.0, 3.0, 7.0, 51.0, 1_494.0];
    for (cell, (what, unit)) in names.iter().enumerate() {
        let sample: Vec<f64> = runs.iter().map(|run| run[cell]).collect();
        rows.push(
            Row::printed(format!("Routing service: {what}"), unit, printed[cell], 1.0, 0.0)
                .within(0.02)
                .because("packets take the first free link, drawn where several are free")
                .over_seeds(&sample),
        );
    }
    Ok(Outcome {
        rows,
        choices: vec![
            "axes in order x, y, z; at half the way round always the same direction",
            "percentiles by nearest rank over the links used",
        ],
        ..Outcome::default()
    })
}

/// The median of values counted by size.
fn median(counts: &[u64]) -> u32 {
    let half = counts.iter().sum::<u64>().div_ceil(2);
    let mut seen = 0;
    for (value, &count) in (0u32..).zip(counts) {
        seen += count;
        if seen >= half {
            return value;
        }
    }
    0
}

fn cumulative(name: &str, counts: &[u64]) -> Series {
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let mut seen = 0;
    let mut line = Series {
        name: name.to_owned(),
        ..Series::default()
    };
    for (hops, &count) in counts.iter().enumerate() {
        seen += count;
        line.x.push(hops as f64);
        line.y.push(seen as f64 / all);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_value() {
        assert_eq!(median(&[0, 1, 1, 1]), 2);
        assert_eq!(median(&[5]), 0);
        assert_eq!(median(&[]), 0);
    }
}
