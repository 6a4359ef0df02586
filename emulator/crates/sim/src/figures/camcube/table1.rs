//! Links of the aggregation service. `[camcube §3.4, Table 1]`

use cubeyard_routing::torus::{LinkStress, Ties, aggregation_loads, link_stress, routing_service_loads};
use cubeyard_topology::Topology;

use super::super::{Context, Outcome, Row};
use super::{ROOT, shape, topology};
use crate::flow::PredictError;

/// Links and packets of the aggregation service, compared with the routing service.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape(context)?;
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
    let none = cells(&link_stress(&aggregation_loads(&shape, ROOT, false)));
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
    context.expect(context.seeds);
    let mut runs: Vec<[f64; 7]> = Vec::new();
    for seed in context.seeds() {
        runs.push(cells(&link_stress(&routing_service_loads(
            &shape,
            ROOT,
            Ties::Up,
            seed,
        ))));
        context.did_one()?;
    }
    let printed = [19_646.0, 41.0, 120_000.0, 3.0, 7.0, 51.0, 1_494.0];
    for (cell, (what, unit)) in names.iter().enumerate() {
        let sample: Vec<f64> = runs.iter().map(|run| run[cell]).collect();
        rows.push(
            Row::printed(format!("Routing service: {what}"), unit, printed[cell], 1.0, 0.0)
                .because("packets take the first free link, drawn where several are free")
                .over_seeds(&sample),
        );
    }
    // The least of both ratios over seeds.
    let higher = runs
        .iter()
        .flat_map(|run| [none[5] / run[5], none[6] / run[6]])
        .fold(f64::INFINITY, f64::min);
    rows.push(Row::at_least(
        "Aggregation, none, over the routing service: 99th percentile and most, over",
        "x",
        2.5,
        higher,
    ));
    let merged = most_merged(&topology(context)?, &aggregation_loads(&shape, ROOT, true));
    rows.push(Row::printed(
        "Aggregation, full: most packets that a server merges",
        "",
        7.0,
        1.0,
        merged,
    ));
    Ok(Outcome {
        rows,
        choices: vec![
            "axes in order x, y, z; at half the way round always the same direction",
            "percentiles by nearest rank over the links used",
        ],
        ..Outcome::default()
    })
}

/// The most packets that any server merges: those from its links, and its own.
fn most_merged(topology: &Topology, loads: &[u32]) -> f64 {
    let links = topology.links();
    let mut packets = vec![1u32; topology.server_count() as usize];
    for (directed, &load) in loads.iter().enumerate() {
        // The even one of a link's two directions leads to its end b.
        let ends = if directed % 2 == 0 { &links.b } else { &links.a };
        packets[ends[directed / 2] as usize] += load;
    }
    f64::from(packets.into_iter().max().unwrap_or(0))
}
