//! Hops to a cache hit. `[camcube §3.3, Fig. 3]`

use cubeyard_routing::torus::{CacheHops, Lookups, Shape, Ways, cache_lookups};

use super::super::{Axes, Context, Outcome, Row, Series};
use super::shape;
use crate::flow::PredictError;

/// Hops to a cache hit.
pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shape = shape(context)?;
    let (mut base, mut own, mut most) = (Vec::new(), Vec::new(), 0);
    let mut series = Vec::new();
    context.expect(context.seeds);
    for seed in context.seeds() {
        let hops = lookups(&shape, seed);
        context.did_one()?;
        base.push(f64::from(median(&hops.routing_service)));
        own.push(f64::from(median(&hops.cache_service)));
        most = most
            .max(hops.routing_service.len().saturating_sub(1))
            .max(hops.cache_service.len().saturating_sub(1));
        if seed == 0 {
            series = vec![
                cumulative("routing service", &hops.routing_service),
                cumulative("cache service", &hops.cache_service),
                Series::paper(
                    "paper: routing service, median and longest",
                    [(15.0, 0.5), (30.0, 1.0)],
                ),
                Series::paper("paper: cache service, median", [(7.0, 0.5)]),
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
            "routing service: a random shortest path, which ends at a copy of the key that lies on it; the copies are those that the cache service has made until then",
            "secondaries at the primary's coordinate plus (5 or -5, 5 or -5, 5 or -5), filled on demand",
        ],
    })
}

/// The experiment's lookups: 800,000 by Zipf (1.5) among 8,000,000 keys.
pub(super) fn lookups(shape: &Shape, seed: u64) -> CacheHops {
    cache_lookups(
        shape,
        &Lookups {
            keys: 8_000_000,
            exponent: 1.5,
            lookups: 800_000,
            batch: 1,
            ways: Ways::Drawn,
            seed,
        },
    )
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
