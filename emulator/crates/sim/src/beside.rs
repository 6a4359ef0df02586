//! Model results for an experiment of any size, to compare with the same experiment measured with
//! real packets. The figures of `figures/` have the papers' sizes; measured ones have a size that a
//! machine can emulate.

use cubeyard_routing::dcell::{Dfr, DfrOptions};
use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{
    JoinTree, LinkStress, Lookups as CacheLookups, Shape, Ties, Ways, aggregation_loads, cache_lookups,
    disjoint_paths, join_by_corners, join_tree, link_stress, routing_service_loads, saturated_flow,
};
use cubeyard_routing::{Failures, PathSet};
use cubeyard_topology::{Finding, NodeId, Topology};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::figures::used_live;
use crate::network::Network;

/// The largest numbers of lookups, keys and seeds: those of the papers' figures.
const MOST_LOOKUPS: u64 = 8_000_000;
const MOST_SEEDS: u64 = 1_000;

/// The results to compute for a torus; omitted ones are not computed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TorusQuestion {
    /// One packet of every server to this one `[camcube Table 1]`.
    pub aggregation: Option<Aggregation>,
    /// Trees built by joins `[camcube Fig. 2]`.
    pub joins: Vec<Joins>,
    /// A source that fills its links, to every other server `[camcube Fig. 1]`.
    pub source: Option<NodeId>,
    /// Lookups until they hit `[camcube Fig. 3]`.
    pub lookups: Option<Lookups>,
    /// Links that services use, all four at once `[camcube Fig. 5]`.
    pub together: Option<Together>,
}

/// The settings of [`TorusQuestion::together`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Together {
    /// The number of draws of pairs, primary and members.
    pub seeds: u64,
    /// Whether packets take the first of several links, as servers do whose links are free.
    #[serde(default)]
    pub first_way: bool,
}

/// The settings of [`TorusQuestion::aggregation`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aggregation {
    /// The server that receives the packets.
    pub root: NodeId,
    /// How many times the routing service's choices among free links are drawn, each time with
    /// another seed.
    pub seeds: u64,
}

/// The settings of [`TorusQuestion::joins`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Joins {
    /// The root of the tree.
    pub root: NodeId,
    /// The members that join, in this order.
    pub members: Vec<NodeId>,
    /// Seed of the base service's choices among several links, if it does not take the first.
    #[serde(default)]
    pub seed: u64,
}

/// The settings of [`TorusQuestion::lookups`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lookups {
    /// Number of keys.
    pub keys: u32,
    /// The exponent of Zipf's distribution.
    pub exponent: f64,
    /// Number of lookups.
    pub lookups: u64,
    /// Lookups per batch: each batch goes by the routing service first, then by the cache service.
    #[serde(default = "one")]
    pub batch: u64,
    /// Whether they take the first of several links, as servers do whose links are free.
    #[serde(default)]
    pub first_way: bool,
    /// Seed of all random draws.
    pub seed: u64,
}

fn one() -> u64 {
    1
}

fn ways(first_way: bool) -> Ways {
    if first_way { Ways::First } else { Ways::Drawn }
}

fn wrong(field: &str, message: String, hint: &str) -> Vec<Finding> {
    vec![Finding::error("beside", field, message, hint)]
}

/// Link loads of a torus's services:
/// `{aggregation: {none, full, routed: [stress]}, joins: [{own, base, base_drawn}], source: [{destination, distance, paths, carried_by_paths, delivered, carried, delivered_by_first_ways, carried_by_first_ways}], together: [{services, links}], lookups: {routing_service, cache_service}}`;
/// a stress is `{links_used, packets, median, percentile_90, percentile_99, maximum}`, a tree's
/// edges are `[child, parent]`, and lookups are counted by hops.
///
/// # Errors
///
/// A finding if the network is no torus, a server does not exist, or a number is out of range.
pub fn torus_services(network: &Network, asked: &TorusQuestion) -> Result<Value, Vec<Finding>> {
    let shape = Shape::new(network.topology()).ok_or_else(|| {
        wrong(
            "family",
            "Services are those of a torus.".to_owned(),
            "Take torus3d or torus2d.",
        )
    })?;
    let there = |field: &str, server: NodeId| {
        let servers = shape.servers();
        let message = format!("There is no server {server}: they are 0 to {}.", servers - 1);
        (server < servers)
            .then_some(server)
            .ok_or_else(|| wrong(field, message, "Name one of them."))
    };
    let mut found = Map::new();
    if let Some(Aggregation { root, seeds }) = asked.aggregation {
        let root = there("aggregation.root", root)?;
        if seeds > MOST_SEEDS {
            let message = format!("{seeds} seeds are more than {MOST_SEEDS}.");
            return Err(wrong("aggregation.seeds", message, "Give fewer."));
        }
        let stress_of = |loads: &[u32]| stress(&link_stress(loads));
        let routed = (0..seeds).map(|seed| stress_of(&routing_service_loads(&shape, root, Ties::Up, seed)));
        let document = json!({
            "none": stress_of(&aggregation_loads(&shape, root, false)),
            "full": stress_of(&aggregation_loads(&shape, root, true)),
            "routed": routed.collect::<Vec<_>>(),
        });
        found.insert("aggregation".to_owned(), document);
    }
    let mut trees = Vec::new();
    for joins in &asked.joins {
        let root = there("joins.root", joins.root)?;
        for &member in &joins.members {
            there("joins.members", member)?;
        }
        let mut draws = Draws::new(joins.seed);
        trees.push(json!({
            "base_drawn": edges(&join_tree(&shape, root, &joins.members, |at| drawn_way(&shape, at, root, &mut draws))),
            "own": edges(&join_tree(&shape, root, &joins.members, |at| join_by_corners(&shape, at, root))),
            "base": edges(&join_tree(&shape, root, &joins.members, |at| first_way(&shape, at, root))),
        }));
    }
    found.insert("joins".to_owned(), Value::Array(trees));
    if let Some(source) = asked.source {
        let source = there("source", source)?;
        let others = (0..shape.servers()).filter(|&server| server != source);
        let reached = others.map(|destination| reached(&shape, source, destination));
        found.insert("source".to_owned(), reached.collect());
    }
    if let Some(asked) = &asked.lookups {
        let fits = (1..=MOST_LOOKUPS).contains(&asked.lookups)
            && (1..=MOST_LOOKUPS).contains(&u64::from(asked.keys))
            && asked.exponent > 1.0
            && asked.exponent.is_finite();
        if !fits {
            let message = format!("Keys and lookups are 1 to {MOST_LOOKUPS}, and the exponent is above 1.");
            return Err(wrong("lookups", message, "Give numbers in these ranges."));
        }
        let hops = cache_lookups(
            &shape,
            &CacheLookups {
                keys: asked.keys,
                exponent: asked.exponent,
                lookups: asked.lookups,
                batch: asked.batch,
                ways: ways(asked.first_way),
                seed: asked.seed,
            },
        );
        let document = json!({"routing_service": hops.routing_service, "cache_service": hops.cache_service});
        found.insert("lookups".to_owned(), document);
    }
    if let Some(Together { seeds, first_way }) = asked.together {
        if seeds > MOST_SEEDS {
            let message = format!("{seeds} seeds are more than {MOST_SEEDS}.");
            return Err(wrong("together.seeds", message, "Give fewer."));
        }
        let of_seed = |seed| together(&shape, ways(first_way), seed);
        found.insert("together".to_owned(), (0..seeds).map(of_seed).collect());
    }
    Ok(Value::Object(found))
}

/// The share of all directed links that each service uses, and the shares that are used by 0 to 4
/// services.
fn together(shape: &Shape, ways: Ways, seed: u64) -> Value {
    let services = used_live(shape, ways, seed);
    let links = shape.directed_links();
    let share = |count: usize| count as f64 / links as f64;
    let used = |used: &Vec<bool>| share(used.iter().filter(|used| **used).count());
    let by = |many: usize| {
        let users = |link: &usize| services.iter().filter(|used| used[*link]).count() == many;
        share((0..links).filter(users).count())
    };
    json!({
        "services": services.iter().map(used).collect::<Vec<_>>(),
        "links": (0..=services.len()).map(by).collect::<Vec<_>>(),
    })
}

fn stress(stress: &LinkStress) -> Value {
    json!({
        "links_used": stress.links_used,
        "packets": stress.packets,
        "median": stress.median,
        "percentile_90": stress.percentile_90,
        "percentile_99": stress.percentile_99,
        "maximum": stress.maximum,
    })
}

fn edges(tree: &JoinTree) -> Vec<[NodeId; 2]> {
    let edges = tree.edges.iter();
    edges.map(|&(child, parent, _)| [child, parent]).collect()
}

/// The first direction, in the fixed order in which links are polled, that leads nearer.
fn first_way(shape: &Shape, at: NodeId, root: NodeId) -> (usize, bool) {
    (0..3)
        .map(|axis| (axis, shape.nearer(at, root, axis, Ties::Up)))
        .find(|(_, nearer)| *nearer != [false, false])
        .map_or((0, true), |(axis, nearer)| (axis, nearer[0]))
}

/// A random one of the directions that lead nearer.
fn drawn_way(shape: &Shape, at: NodeId, root: NodeId, draws: &mut Draws) -> (usize, bool) {
    let ways = (0..3).flat_map(|axis| {
        let nearer = shape.nearer(at, root, axis, Ties::Both);
        [(axis, true, nearer[0]), (axis, false, nearer[1])]
    });
    let ways: Vec<_> = ways.filter(|way| way.2).map(|(axis, up, _)| (axis, up)).collect();
    ways.get(draws.below(ways.len().max(1) as u32) as usize)
        .copied()
        .unwrap_or((0, true))
}

fn reached(shape: &Shape, source: NodeId, destination: NodeId) -> Value {
    let mut paths = PathSet::default();
    disjoint_paths(shape, source, destination, &mut paths);
    let base = saturated_flow(shape, source, destination, Ties::Up, Ways::Drawn);
    let first = saturated_flow(shape, source, destination, Ties::Up, Ways::First);
    json!({
        "destination": destination,
        "distance": shape.distance(source, destination),
        "paths": paths.len(),
        "carried_by_paths": paths.iter().map(<[u32]>::len).sum::<usize>(),
        "delivered": base.delivered,
        "carried": base.carried,
        "delivered_by_first_ways": first.delivered,
        "carried_by_first_ways": first.carried,
    })
}

/// The hops of every pair of servers by DFR's tables, after failures of servers and links: one row
/// per source, `null` where there is no path. `[dcell §4.3]`
///
/// # Errors
///
/// A finding if the network is no DCell, or if a node or link does not exist.
pub fn dfr_hops(
    network: &Network,
    nodes: &[NodeId],
    links: &[u32],
    group_level: usize,
    retries: u32,
) -> Result<Vec<Vec<Option<u32>>>, Vec<Finding>> {
    let topology = network.topology();
    let failures = failures(topology, nodes, links)?;
    let options = DfrOptions { group_level, retries };
    let dfr = Dfr::with_options(topology, failures, options)
        .ok_or_else(|| wrong("family", "DFR is for a DCell.".to_owned(), "Take a DCell."))?;
    let mut path = Vec::new();
    let mut hops = |source: NodeId, destination: NodeId| {
        path.clear();
        let found = dfr.hops_by_tables(source, destination, &mut path).is_ok();
        found.then_some(path.len() as u32)
    };
    let servers = 0..topology.server_count();
    let rows = servers.clone().map(|source| {
        servers
            .clone()
            .map(|destination| {
                if source == destination {
                    Some(0)
                } else {
                    hops(source, destination)
                }
            })
            .collect()
    });
    Ok(rows.collect())
}

fn failures(topology: &Topology, nodes: &[NodeId], links: &[u32]) -> Result<Failures, Vec<Finding>> {
    let mut failures = Failures::none(topology);
    for (field, numbers, count) in [
        ("nodes", nodes, topology.node_count()),
        ("links", links, topology.links().len() as u32),
    ] {
        if let Some(number) = numbers.iter().find(|number| **number >= count) {
            let message = format!("There is none of number {number}: they are 0 to {}.", count - 1);
            return Err(wrong(field, message, "Name one of them."));
        }
    }
    nodes.iter().for_each(|&node| failures.fail_node(node));
    links.iter().for_each(|&link| failures.fail_link(link));
    Ok(failures)
}
