//! Compares Jellyfish, Dragonfly, the two-dimensional torus and custom networks with published
//! results or an independent computation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use cubeyard_sim::{Experiment, Network, Progress, predict};
use cubeyard_topology::{NodeId, Topology, TopologySpec};
use proptest::prelude::*;
use serde_json::{Value, json};

fn build(spec: &Value) -> Topology {
    Topology::build(&TopologySpec::from_json(spec).unwrap()).unwrap()
}

/// Links from one node to all others, over any nodes: a plain breadth-first search.
fn distances(topology: &Topology, source: NodeId) -> Vec<u32> {
    let mut near = vec![Vec::new(); topology.node_count() as usize];
    for (&a, &b) in topology.links().a.iter().zip(&topology.links().b) {
        near[a as usize].push(b);
        near[b as usize].push(a);
    }
    let mut distance = vec![u32::MAX; near.len()];
    distance[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        for &far in &near[node as usize] {
            if distance[far as usize] == u32::MAX {
                distance[far as usize] = distance[node as usize] + 1;
                queue.push_back(far);
            }
        }
    }
    distance
}

/// The share of ordered pairs of servers that are fewer than `links` links apart.
fn nearer_than(topology: &Topology, links: u32) -> f64 {
    let servers = topology.server_count();
    let near: usize = (0..servers)
        .map(|server| {
            let distance = distances(topology, server);
            let others = distance[..servers as usize]
                .iter()
                .filter(|&&far| far > 0 && far < links);
            others.count()
        })
        .sum();
    near as f64 / (f64::from(servers) * f64::from(servers - 1))
}

/// Singla et al. (NSDI 2012), figure 1: with 686 servers on the 245 switches of 14 ports of a
/// fat-tree, more than 99.5 % of the pairs are fewer than 6 hops apart in Jellyfish, and 7.5 % in
/// the fat-tree (7.0 % counted exactly: the other 48 of the 49 servers of a pod).
#[test]
fn jellyfish_has_the_papers_path_lengths_on_the_switches_of_a_fat_tree() {
    let fat_tree = build(&json!({"family": "fat_tree", "ports": 14, "layers": 3}));
    assert_eq!((fat_tree.server_count(), fat_tree.switch_count()), (686, 245));
    let in_fat_tree = nearer_than(&fat_tree, 6);
    assert!(
        (in_fat_tree - 48.0 / 685.0).abs() < 1e-12 && (in_fat_tree - 0.075).abs() < 0.006,
        "{in_fat_tree}"
    );
    for seed in 1..=3 {
        let jellyfish = build(
            &json!({"family": "jellyfish", "switches": 245, "ports": 14, "servers_per_switch": 3,
            "servers": 686, "seed": seed}),
        );
        assert_eq!((jellyfish.server_count(), jellyfish.switch_count()), (686, 245));
        let near = nearer_than(&jellyfish, 6);
        assert!(near > 0.995, "seed {seed}: {near}");
    }
}

#[test]
fn a_jellyfish_is_the_same_for_a_seed_and_another_for_another() {
    let spec = |seed: u32| json!({"family": "jellyfish", "switches": 30, "ports": 8, "servers_per_switch": 3, "seed": seed});
    assert_eq!(build(&spec(4)).links(), build(&spec(4)).links());
    assert_ne!(build(&spec(4)).links(), build(&spec(5)).links());
}

/// Kim et al. (ISCA 2008), §3: N = a p (a h + 1) servers, a (a h + 1) routers, diameter 3 between
/// routers.
#[test]
fn full_dragonflies_have_the_papers_counts_and_diameter() {
    for (a, p, h) in [(4, 2, 2), (2, 1, 1), (6, 3, 3), (4, 1, 3), (8, 4, 4)] {
        let topology = build(&json!({"family": "dragonfly", "a": a, "p": p, "h": h}));
        let groups = a * h + 1;
        assert_eq!(topology.server_count(), a * p * groups);
        assert_eq!(topology.switch_count(), a * groups);
        let wires = a * p * groups + groups * a * (a - 1) / 2 + groups * a * h / 2;
        assert_eq!(topology.link_count(), wires as usize);
        let farthest = (topology.server_count()..topology.node_count())
            .map(|router| {
                let from = distances(&topology, router);
                *from[topology.server_count() as usize..].iter().max().unwrap()
            })
            .max();
        assert_eq!(farthest, Some(3), "a {a}, p {p}, h {h}");
        // One link between every two groups.
        let group = |router: NodeId| (router - topology.server_count()) / a;
        let mut between = BTreeSet::new();
        for link in (0..topology.link_count()).filter(|&link| topology.links().level[link] == 2) {
            let pair = (group(topology.links().a[link]), group(topology.links().b[link]));
            assert!(between.insert(pair), "{pair:?} twice");
        }
        assert_eq!(between.len(), (groups * (groups - 1) / 2) as usize);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..crate::cases::cases(40) })]

    /// A plane has the distances of a three-dimensional torus of depth 1, and its closed forms
    /// agree with a search.
    #[test]
    fn a_2d_torus_has_the_distances_of_a_plane(x in 1u32..=9, y in 1u32..=9) {
        prop_assume!(x * y > 1);
        let flat = build(&json!({"family": "torus2d", "x": x, "y": y}));
        let solid = build(&json!({"family": "torus3d", "x": x, "y": y, "z": 1}));
        prop_assert_eq!(flat.links(), solid.links());
        let (mut farthest, mut sum) = (0, 0);
        for server in 0..flat.server_count() {
            let from = distances(&flat, server);
            farthest = farthest.max(*from.iter().max().unwrap());
            sum += from.iter().sum::<u32>();
        }
        let mean = f64::from(sum) / f64::from(x * y) / f64::from(x * y - 1);
        let metrics = flat.metrics();
        prop_assert_eq!(metrics.diameter.value, f64::from(farthest));
        prop_assert!((metrics.average_path.unwrap().value - mean).abs() < 1e-9);
        prop_assert_eq!(metrics.bisection, solid.metrics().bisection);
    }
}

/// A family's network as a list of nodes and links, in its own order.
fn as_custom(topology: &Topology) -> Value {
    let name = |node: NodeId| topology.host_name(node);
    let nodes: Vec<Value> = (0..topology.node_count())
        .map(|node| match topology.tier_of(node) {
            None => json!({"name": name(node), "role": "server"}),
            Some(tier) => json!({"name": name(node), "role": "switch", "tier": tier.level}),
        })
        .collect();
    let links = topology.links();
    let rows: Vec<Value> = (0..links.len())
        .map(|link| {
            json!({"a": name(links.a[link]), "b": name(links.b[link]), "gbps": links.rate_bits_per_sec(link) / 1e9,
                "a_port": topology.port_name(links.a[link], links.a_port[link]),
                "b_port": topology.port_name(links.b[link], links.b_port[link])})
        })
        .collect();
    json!({"family": "custom", "nodes": nodes, "links": rows})
}

/// A prediction without the fields that name the plan.
fn prediction(spec: &Value, routing: &str, faults: &Value) -> BTreeMap<&'static str, Value> {
    let network = Network::open(&spec.to_string()).unwrap();
    let experiment =
        json!({"workload": {"kind": "all-to-all"}, "routing": routing, "faults": faults, "seeds": [7]});
    let experiment = Experiment::from_json(&experiment.to_string()).unwrap();
    let document = predict(&network, &experiment, &Progress::default()).unwrap();
    let said = [
        "abt_gbps",
        "flows",
        "dropped_flows",
        "max_link_flows",
        "path_hops",
        "maxmin",
    ];
    said.into_iter()
        .map(|field| (field, document[field].clone()))
        .collect()
}

#[test]
fn a_listed_network_predicts_what_its_family_does() {
    for spec in [
        json!({"family": "leaf_spine", "leaves": 4, "spines": 3, "servers_per_leaf": 4, "uplinks_per_spine": 2}),
        json!({"family": "fat_tree", "ports": 4, "layers": 3}),
        json!({"family": "jellyfish", "switches": 9, "ports": 6, "servers_per_switch": 2}),
    ] {
        let listed = as_custom(&build(&spec));
        let custom = build(&listed);
        assert!(custom.certificate().passed);
        assert_eq!(custom.links().a, build(&spec).links().a);
        for routing in ["shortest", "ecmp", "wcmp"] {
            for faults in [json!([]), json!([{"target": {"kind": "links", "ratio": 0.05}}])] {
                let (family, list) = (
                    prediction(&spec, routing, &faults),
                    prediction(&listed, routing, &faults),
                );
                assert!(family["abt_gbps"].as_f64().unwrap() > 0.0);
                assert_eq!(family, list, "{spec} {routing} {faults}");
            }
        }
    }
}
