//! The TCP/IP service's paths, and what they gain over the routing service.
//! `[camcube §3.1, Fig. 1]`

use cubeyard_routing::PathSet;
use cubeyard_routing::torus::{Ties, Ways, disjoint_paths, saturated_flow};

use super::super::{Axes, Context, Outcome, Row, Series, setup};
use super::{ROOT, shape};
use crate::flow::PredictError;

const IN_ALL: &str =
    "a fluid of packets: where the routing service's own paths meet late enough, it loses nothing";

/// The paths to one destination.
struct Reached {
    paths: usize,
    /// First links that lie on a shortest path.
    shortest: u32,
    /// Throughput of the disjoint paths over that of the routing service.
    gain: f64,
}

/// To every other server.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape(context)?;
    let mut paths = PathSet::default();
    let (mut stretch, mut shared) = (0, 0);
    let mut reached = Vec::with_capacity(shape.servers() as usize);
    for destination in 1..shape.servers() {
        disjoint_paths(&shape, ROOT, destination, &mut paths);
        let least = shape.distance(ROOT, destination) as usize;
        stretch = paths
            .iter()
            .map(|path| path.len() - least)
            .fold(stretch, usize::max);
        let mut links: Vec<u32> = paths.iter().flatten().copied().collect();
        links.sort_unstable();
        let all = links.len();
        links.dedup();
        shared += all - links.len();
        let axes = (0..3).filter(|&axis| shape.axis_distance(ROOT, destination, axis) > 0);
        let base = saturated_flow(&shape, ROOT, destination, Ties::Up, Ways::Drawn);
        reached.push(Reached {
            paths: paths.len(),
            shortest: axes.count() as u32,
            gain: paths.len() as f64 / base.delivered,
        });
    }
    let fewest = reached.iter().map(|item| item.paths).min().ok_or_else(setup)?;
    let gaining = reached.iter().filter(|item| item.gain > 1.0 + 1e-9).count();
    let mean_gain = |few: bool| {
        let gains: Vec<f64> = reached
            .iter()
            .filter(|item| (item.shortest < 3) == few)
            .map(|item| item.gain)
            .collect();
        gains.iter().sum::<f64>() / gains.len() as f64
    };
    let mut gains: Vec<f64> = reached.iter().map(|item| item.gain).collect();
    gains.sort_unstable_by(f64::total_cmp);
    // Every percentile: a point a flow would be thousands.
    let cdf = (1..=100).map(|percent| {
        (
            gains[(gains.len() * percent).div_ceil(100) - 1],
            f64::from(percent as u8) / 100.0,
        )
    });
    Ok(Outcome {
        rows: vec![
            Row::printed("disjoint paths, at least", "", 3.0, 1e-9, fewest as f64),
            Row::printed("stretch of a path, at most", "hops", 2.0, 1e-9, stretch as f64),
            Row::printed(
                "links shared by two paths of one pair",
                "",
                0.0,
                1e-9,
                shared as f64,
            ),
            Row::printed(
                "destinations with more throughput than by the routing service",
                "%",
                100.0,
                0.1,
                100.0 * gaining as f64 / gains.len() as f64,
            )
            .because(IN_ALL),
            Row::at_least(
                "mean gain with fewer than three shortest first links over that with three: more than",
                "x",
                1.0,
                mean_gain(true) / mean_gain(false),
            )
            .because(
                "the text: the most benefit is with fewer than three shortest paths; it gives no number",
            ),
        ],
        series: vec![Series::ours("all destinations", cdf)],
        axes: Some(Axes {
            x: "throughput over the routing service's (x)",
            y: "share of destinations",
        }),
        choices: vec![
            "after the arrival axis the next in cyclic order (x, y, z, x): the lowest axis first is not link-disjoint; at half the way round one direction only",
            "all 7,999 destinations; the paper draws 2,000",
            "throughput as a fluid of packets: disjoint paths carry a full link each; in the routing service every server divides what it gets evenly among its links on shortest paths and drops what they cannot carry",
        ],
    })
}
