//! Packets of each service's own protocol against the routing service. `[camcube §3.5, Fig. 4]`

use std::sync::atomic::Ordering;

use cubeyard_routing::PathSet;
use cubeyard_routing::torus::{
    Shape, Ties, Ways, aggregation_loads, disjoint_paths, link_stress, routing_service_loads, saturated_flow,
};

use super::super::{Axes, Context, Outcome, Row, Series, mean_and_deviation};
use super::fig2::trees;
use super::fig3::lookups;
use super::{ROOT, shape};
use crate::count::Cancelled;
use crate::flow::PredictError;

/// Packets on all links per delivered packet, over all destinations: disjoint paths compared with
/// the routing service, whose source sends dropped packets again.
fn tcp_overhead(shape: &Shape) -> f64 {
    let mut paths = PathSet::default();
    let (mut own, mut base) = (0.0, 0.0);
    for destination in 1..shape.servers() {
        disjoint_paths(shape, ROOT, destination, &mut paths);
        own += paths.iter().map(<[u32]>::len).sum::<usize>() as f64 / paths.len() as f64;
        let flow = saturated_flow(shape, ROOT, destination, Ties::Up, Ways::Drawn);
        base += flow.carried / flow.delivered;
    }
    own / base
}

fn tree_overhead(shape: &Shape, share: f64, seed: u64) -> f64 {
    let [own, base] = trees(shape, share, seed);
    own.edges.len() as f64 / base.edges.len() as f64
}

fn cache_overhead(shape: &Shape, seed: u64) -> f64 {
    let hops = lookups(shape, seed);
    let links = |counts: &[u64]| {
        counts
            .iter()
            .zip(0u64..)
            .map(|(count, hops)| count * hops)
            .sum::<u64>() as f64
    };
    links(&hops.cache_service) / links(&hops.routing_service)
}

fn aggregation_overhead(shape: &Shape, seed: u64) -> f64 {
    let packets = |loads: &[u32]| link_stress(loads).packets as f64;
    packets(&aggregation_loads(shape, ROOT, true))
        / packets(&routing_service_loads(shape, ROOT, Ties::Up, seed))
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    type Overhead = fn(&Shape, u64) -> f64;
    let services: [(&str, Overhead); 4] = [
        ("VM 0.1", |shape, seed| tree_overhead(shape, 0.1, seed)),
        ("VM 0.5", |shape, seed| tree_overhead(shape, 0.5, seed)),
        ("Cache", cache_overhead),
        ("Aggregation", aggregation_overhead),
    ];
    let shape = shape(context)?;
    context.expect(1 + services.len() as u64 * context.seeds);
    let mut found = vec![("TCP/IP", vec![tcp_overhead(&shape)])];
    context.progress.done.fetch_add(1, Ordering::Relaxed);
    for (name, overhead) in services {
        let mut sample = Vec::new();
        for seed in context.seeds() {
            if context.progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled.into());
            }
            sample.push(overhead(&shape, seed));
            context.progress.done.fetch_add(1, Ordering::Relaxed);
        }
        found.push((name, sample));
    }
    let mut outcome = Outcome {
        axes: Some(Axes {
            x: "service, in the order of the legend",
            y: "packets over the routing service's (x)",
        }),
        choices: vec![
            "the figure's bars have no printed values; the text says that all are lower than 1",
            "TCP/IP: to every other server, as a fluid of packets; dropped packets are sent again by the source",
            "VM: join packets, one for each edge of the tree; the base as in Fig. 2",
            "cache: links that lookups cross until they hit, at a copy met on the way too, answers not counted",
            "aggregation: Table 1's packets with full aggregation; with none both protocols send 120,000, which is not less",
        ],
        ..Outcome::default()
    };
    for (index, (name, sample)) in found.into_iter().enumerate() {
        outcome.rows.push(
            Row::at_most(format!("{name}: less than"), "x", 1.0, 0.0)
                .because("the text gives a bound")
                .over_seeds(&sample),
        );
        let (mean, deviation) = mean_and_deviation(&sample);
        outcome.series.push(Series {
            deviation: vec![deviation],
            ..Series::ours(name, [((index + 1) as f64, mean)])
        });
    }
    Ok(outcome)
}
