//! The cache service: a popular object gets copies spread over the torus. `[camcube §3.3]`

use cubeyard_topology::NodeId;
use cubeyard_topology::address::TorusAddresses;

use super::shape::{Shape, Ways};
use crate::random::Draws;

/// The eight secondary replicas: a quarter of each axis up or down from the primary, all
/// combinations. Each point of the torus is then near one of nine.
pub fn secondary_replicas(shape: &TorusAddresses, primary: NodeId) -> [NodeId; 8] {
    std::array::from_fn(|corner| {
        (0..3).fold(primary, |at, axis| {
            let quarter = i64::from(shape.sizes()[axis] / 4);
            shape.moved(
                at,
                axis,
                if corner >> axis & 1 == 0 {
                    quarter
                } else {
                    -quarter
                },
            )
        })
    })
}

/// The replica that a lookup uses: the nearest; the primary if it is among them, else a random one.
/// `None` is the primary itself, `Some` an index into `secondaries`.
pub fn nearest_replica(
    shape: &TorusAddresses,
    from: NodeId,
    primary: NodeId,
    secondaries: &[NodeId; 8],
    draws: &mut Draws,
) -> Option<usize> {
    let distances = secondaries.map(|server| shape.distance(from, server));
    let least = distances.into_iter().min().unwrap_or(u32::MAX);
    if shape.distance(from, primary) <= least {
        return None;
    }
    let nearest = || (0..8).filter(|&index| distances[index] == least);
    let pick = draws.below(nearest().count() as u32);
    nearest().nth(pick as usize)
}

/// Hops of lookups until they hit: `routing_service[h]` and `cache_service[h]` lookups took `h`
/// hops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheHops {
    /// On a random shortest path to the primary, or to a copy that lies on it.
    pub routing_service: Vec<u64>,
    /// By the nearest replica, which on a miss passes the lookup on and keeps a copy.
    pub cache_service: Vec<u64>,
}

/// Separates the random draws of the routing service's paths from those of the lookups.
const BASE: u64 = 0xB5_E0_CA_C4;

/// Lookups from uniform servers for keys of a Zipf distribution, the primaries uniform.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookups {
    /// Keys that there are.
    pub keys: u32,
    /// The distribution's, above 1.
    pub exponent: f64,
    /// Number of lookups.
    pub lookups: u64,
    /// Number of lookups per batch. All lookups of a batch use the routing service first, then the
    /// cache service, which makes copies; 1: each lookup uses both in turn.
    pub batch: u64,
    /// The links of the routing service's lookups.
    pub ways: Ways,
    /// The seed of all random draws.
    pub seed: u64,
}

/// Runs lookups with initially empty secondaries. Memory is one byte per key, two with batches.
pub fn cache_lookups(shape: &Shape, asked: &Lookups) -> CacheHops {
    let &Lookups {
        keys,
        exponent,
        lookups,
        batch,
        ways,
        seed,
    } = asked;
    let mut filled = vec![0u8; keys as usize];
    // The copies that existed before the batch.
    let mut before = Vec::new();
    let mut hops = CacheHops::default();
    for lookup in 0..lookups {
        if batch > 1 && lookup.is_multiple_of(batch) {
            before.clone_from(&filled);
        }
        let mut draws = Draws::of(seed, lookup);
        let from = draws.below(shape.servers());
        let key = zipf(keys, exponent, &mut draws);
        let primary = Draws::of(!seed, u64::from(key)).below(shape.servers());
        let straight = shape.distance(from, primary);
        let secondaries = secondary_replicas(shape, primary);
        let copies = before.get(key as usize).copied().unwrap_or(filled[key as usize]);
        let has_copy = |server| (0..8).any(|index| copies >> index & 1 == 1 && secondaries[index] == server);
        let met = hops_to_copy(
            shape,
            from,
            primary,
            has_copy,
            ways,
            &mut Draws::of(seed ^ BASE, lookup),
        );
        count(&mut hops.routing_service, met);
        let taken = match nearest_replica(shape, from, primary, &secondaries, &mut draws) {
            None => straight,
            Some(index) => {
                let copies = &mut filled[key as usize];
                let to_copy = shape.distance(from, secondaries[index]);
                if *copies >> index & 1 == 1 {
                    to_copy
                } else {
                    *copies |= 1 << index;
                    to_copy + shape.distance(secondaries[index], primary)
                }
            }
        };
        count(&mut hops.cache_service, taken);
    }
    hops
}

/// Number of hops of the routing service from `from` to the first server that has a copy or is the
/// primary. Each server forwards over a link on a shortest path (both directions count around half
/// a ring): a random one, as the paper's routers take a free one `[camcube §3.3]`, or the
/// first.
fn hops_to_copy(
    shape: &TorusAddresses,
    from: NodeId,
    primary: NodeId,
    has_copy: impl Fn(NodeId) -> bool,
    ways: Ways,
    draws: &mut Draws,
) -> u32 {
    let mut at = from;
    let mut taken = 0;
    while at != primary && !has_copy(at) {
        let mut steps = [(0, 0); 6];
        let mut count = 0;
        for axis in 0..3 {
            let (up, around) = (shape.offset(at, primary, axis), shape.sizes()[axis]);
            for (way, length) in [(1, up), (-1, around - up)] {
                if up > 0 && length == up.min(around - up) {
                    steps[count] = (axis, way);
                    count += 1;
                }
            }
        }
        let (axis, way) = match ways {
            Ways::Drawn => steps[draws.below(count as u32) as usize],
            Ways::First => steps[0],
        };
        at = shape.moved(at, axis, way);
        taken += 1;
    }
    taken
}

fn count(histogram: &mut Vec<u64>, hops: u32) {
    let hops = hops as usize;
    if histogram.len() <= hops {
        histogram.resize(hops + 1, 0);
    }
    histogram[hops] += 1;
}

/// A rank in `0..count` with probability proportional to `(rank + 1)^-exponent`, by rejection
/// (Devroye, Non-Uniform Random Variate Generation, X.6.1).
fn zipf(count: u32, exponent: f64, draws: &mut Draws) -> u32 {
    let b = 2f64.powf(exponent - 1.0);
    loop {
        let (u, v) = (1.0 - draws.unit(), draws.unit());
        let x = u.powf(-1.0 / (exponent - 1.0)).floor();
        let t = (1.0 + 1.0 / x).powf(exponent - 1.0);
        if x <= f64::from(count) && v * x * (t - 1.0) / (b - 1.0) <= t / b {
            return x as u32 - 1;
        }
    }
}
