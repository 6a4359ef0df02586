//! Number of the four services that use each link. `[camcube §3.5, Fig. 5]`

use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{
    Multipath, Shape, Ties, Ways, aggregation_loads, append_shortest, disjoint_paths, nearest_replica,
    secondary_replicas,
};
use cubeyard_routing::{DirectedLink, Failures, NoPath, PathSet, Router};

use super::super::{Axes, Context, Outcome, Row, Series, mean_and_deviation, setup};
use super::fig2::trees;
use super::{ROOT, shape, topology};
use crate::flow::PredictError;

/// TCP/IP, cache, VM distribution, aggregation.
pub(crate) const SERVICES: usize = 4;
/// Servers for each pair that transmits by the TCP/IP service: 1,000 pairs of 8,000.
const SERVERS_A_PAIR: u32 = 8;
/// Servers in the tree of the VM distribution service.
const JOINED: f64 = 0.5;

/// Which links a service's packets use.
pub(crate) type Used = Vec<bool>;

fn mark(used: &mut Used, links: &[DirectedLink]) {
    links.iter().for_each(|&link| used[link as usize] = true);
}

fn tcp(shape: &Shape, draws: &mut Draws) -> Used {
    let mut used = vec![false; shape.directed_links()];
    let mut paths = PathSet::default();
    for _ in 0..shape.servers() / SERVERS_A_PAIR {
        let source = draws.below(shape.servers());
        let other = draws.below(shape.servers() - 1);
        disjoint_paths(shape, source, other + u32::from(other >= source), &mut paths);
        paths.iter().for_each(|path| mark(&mut used, path));
    }
    used
}

/// Every server, in a drawn order, looks up one object; a replica that misses passes the lookup on
/// and keeps a copy.
fn cache(shape: &Shape, service: &Multipath, draws: &mut Draws) -> Result<Used, NoPath> {
    let mut used = vec![false; shape.directed_links()];
    let primary = draws.below(shape.servers());
    let secondaries = secondary_replicas(shape, primary);
    let mut filled = [false; 8];
    let mut servers: Vec<u32> = (0..shape.servers()).collect();
    draws.shuffle(&mut servers);
    let mut path = Vec::new();
    for server in servers {
        let replica = nearest_replica(shape, server, primary, &secondaries, draws);
        let by = replica.map_or(primary, |index| secondaries[index]);
        service.route(server, by, draws.next_bits(), &mut path)?;
        mark(&mut used, &path);
        if let Some(index) = replica
            && !std::mem::replace(&mut filled[index], true)
        {
            service.route(by, primary, draws.next_bits(), &mut path)?;
            mark(&mut used, &path);
        }
    }
    Ok(used)
}

/// The same including the answers, which return by the replica that forwarded a lookup: this is the
/// load on the links of real servers.
fn cache_with_answers(shape: &Shape, ways: Ways, draws: &mut Draws) -> Used {
    let mut used = vec![false; shape.directed_links()];
    let primary = draws.below(shape.servers());
    let secondaries = secondary_replicas(shape, primary);
    let mut filled = [false; 8];
    let mut path = Vec::new();
    for server in 0..shape.servers() {
        let replica = nearest_replica(shape, server, primary, &secondaries, draws);
        let by = replica.map_or(primary, |index| secondaries[index]);
        let mut legs = vec![(server, by), (by, server)];
        if let Some(index) = replica
            && !std::mem::replace(&mut filled[index], true)
        {
            legs.extend([(by, primary), (primary, by)]);
        }
        for (from, to) in legs {
            append_shortest(shape, from, to, ways, draws, &mut path);
        }
    }
    mark(&mut used, &path);
    used
}

/// The links that each service uses on real servers: answers of lookups and joins are packets too.
pub(crate) fn used_live(shape: &Shape, ways: Ways, seed: u64) -> [Used; SERVICES] {
    let mut draws = Draws::new(seed);
    let pairs = tcp(shape, &mut draws);
    let cache = cache_with_answers(shape, ways, &mut draws);
    let mut tree = tree(shape, seed);
    let [own, _] = trees(shape, JOINED, seed);
    let joins: Vec<DirectedLink> = own.edges.iter().map(|&(_, _, link)| link ^ 1).collect();
    mark(&mut tree, &joins);
    [pairs, cache, tree, aggregation(shape)]
}

fn tree(shape: &Shape, seed: u64) -> Used {
    let mut used = vec![false; shape.directed_links()];
    let [own, _] = trees(shape, JOINED, seed);
    // Data goes from parent to child, which is the direction that an edge names.
    own.edges
        .iter()
        .for_each(|&(_, _, link)| mark(&mut used, &[link]));
    used
}

fn aggregation(shape: &Shape) -> Used {
    aggregation_loads(shape, ROOT, true)
        .iter()
        .map(|&load| load > 0)
        .collect()
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let topology = topology(context)?;
    let shape = shape(context)?;
    let service = Multipath::with_ties(&topology, Failures::none(&topology), Ties::Both).ok_or_else(setup)?;
    context.expect(context.seeds);
    // By number of services: a share of the links for every seed.
    let mut shares = vec![Vec::new(); SERVICES + 1];
    for seed in context.seeds() {
        let mut draws = Draws::new(seed);
        let services: [Used; SERVICES] = [
            tcp(&shape, &mut draws),
            cache(&shape, &service, &mut draws).map_err(|_| setup())?,
            tree(&shape, seed),
            aggregation(&shape),
        ];
        let mut links = [0u32; SERVICES + 1];
        for link in 0..shape.directed_links() {
            links[services.iter().filter(|used| used[link]).count()] += 1;
        }
        for (sample, count) in shares.iter_mut().zip(links) {
            sample.push(f64::from(count) / shape.directed_links() as f64);
        }
        context
            .progress
            .done
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
    let by_seed = |of: fn(&[f64]) -> f64| -> Vec<f64> {
        (0..context.seeds as usize)
            .map(|seed| of(&shares.iter().map(|sample| sample[seed]).collect::<Vec<_>>()))
            .collect()
    };
    let most_common = |shares: &[f64]| {
        (0..shares.len()).fold(0, |best, n| if shares[n] > shares[best] { n } else { best }) as f64
    };
    let (y, deviation) = shares.iter().map(|sample| mean_and_deviation(sample)).unzip();
    Ok(Outcome {
        rows: vec![
            Row::printed("services of most links", "", 1.0, 1e-9, 0.0)
                .because("the text: the majority of links are used by a single service")
                .over_seeds(&by_seed(most_common)),
            Row::at_least(
                "links of one service, share of those used: at least",
                "%",
                50.0,
                0.0,
            )
            .because("a majority, the text says; it gives no number")
            .over_seeds(&by_seed(|shares| 100.0 * shares[1] / (1.0 - shares[0]))),
            Row::at_most(
                "links of three or four services over those of one: less than",
                "x",
                1.0,
                0.0,
            )
            .because("few, the text says; it gives no number")
            .over_seeds(&by_seed(|shares| (shares[3] + shares[4]) / shares[1])),
        ],
        series: vec![Series {
            deviation,
            y,
            ..Series::ours("share of links", (0..=SERVICES).map(|n| (n as f64, 0.0)))
        }],
        axes: Some(Axes {
            x: "services that use a link",
            y: "share of links",
        }),
        choices: vec![
            "each service by its own protocol: 1,000 pairs by disjoint paths, one object looked up by every server, 50 % of the servers in a tree, all servers to one root with full aggregation",
            "lookups by the routing service over random shortest paths; answers and acknowledgements not counted; a tree's links carry data from parent to child",
        ],
    })
}
