//! Closed forms against an independent graph library and brute force.

use crate::common;

use std::collections::{HashMap, VecDeque};

use common::{any_spec, servers_relay};
use cubeyard_topology::{Metric, Topology, TopologySpec};
use petgraph::algo::{connected_components, dijkstra};
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;
use proptest::prelude::*;

/// Links weigh 2, or 1 between server and switch, so that half a distance is the papers' hops.
fn graph_of(topology: &Topology) -> UnGraph<(), u32> {
    let links = topology.links();
    let edges = (0..links.len()).map(|link| {
        let direct = topology.is_server(links.a[link]) && topology.is_server(links.b[link]);
        (links.a[link], links.b[link], 1 + u32::from(direct))
    });
    let mut graph = UnGraph::from_edges(edges);
    while graph.node_count() < topology.node_count() as usize {
        graph.add_node(());
    }
    graph
}

/// Distance in links from one server to all others, forwarding servers or not.
fn link_distances(graph: &UnGraph<(), u32>, servers: u32, relays: bool, source: u32) -> Vec<Option<u32>> {
    let mut distance = vec![None; graph.node_count()];
    let mut queue = VecDeque::from([source]);
    distance[source as usize] = Some(0);
    while let Some(node) = queue.pop_front() {
        if node != source && node < servers && !relays {
            continue;
        }
        let here = distance[node as usize].unwrap();
        for neighbour in graph.neighbors(NodeIndex::new(node as usize)) {
            if distance[neighbour.index()].is_none() {
                distance[neighbour.index()] = Some(here + 1);
                queue.push_back(neighbour.index() as u32);
            }
        }
    }
    distance
}

fn check(metric: &Metric, found: f64, what: &str) -> Result<(), TestCaseError> {
    if metric.exact {
        prop_assert!(
            (metric.value - found).abs() < 1e-9,
            "{what}: {} but found {found}",
            metric.value
        );
    } else {
        prop_assert!(
            found <= metric.value + 1e-9,
            "{what}: bound {} but found {found}",
            metric.value
        );
    }
    Ok(())
}

/// Largest flow by augmenting paths over arcs `(to, capacity, reverse)`; stops at `enough`.
struct Flow {
    arcs: Vec<Vec<usize>>,
    to: Vec<usize>,
    capacity: Vec<u32>,
}

impl Flow {
    fn new(nodes: usize) -> Flow {
        Flow {
            arcs: vec![Vec::new(); nodes],
            to: Vec::new(),
            capacity: Vec::new(),
        }
    }

    fn arc(&mut self, from: usize, to: usize, forth: u32, back: u32) {
        for (from, to, capacity) in [(from, to, forth), (to, from, back)] {
            self.arcs[from].push(self.to.len());
            self.to.push(to);
            self.capacity.push(capacity);
        }
    }

    fn run(&mut self, source: usize, sink: usize) -> u32 {
        let mut total = 0;
        loop {
            let mut by = vec![usize::MAX; self.arcs.len()];
            let mut queue = VecDeque::from([source]);
            while let Some(node) = queue.pop_front() {
                for &arc in &self.arcs[node] {
                    let next = self.to[arc];
                    if self.capacity[arc] > 0 && by[next] == usize::MAX && next != source {
                        by[next] = arc;
                        queue.push_back(next);
                    }
                }
            }
            if by[sink] == usize::MAX {
                return total;
            }
            let mut node = sink;
            while node != source {
                let arc = by[node];
                self.capacity[arc] -= 1;
                self.capacity[arc ^ 1] += 1;
                node = self.to[arc ^ 1];
            }
            total += 1;
        }
    }
}

/// Node-disjoint paths between two servers, by splitting every node in two.
fn disjoint_paths(topology: &Topology, from: u32, to: u32) -> u32 {
    let relays = servers_relay(topology.spec());
    let nodes = topology.node_count() as usize;
    let mut flow = Flow::new(2 * nodes);
    for node in 0..nodes {
        let through = relays || node >= topology.server_count() as usize;
        flow.arc(2 * node, 2 * node + 1, u32::from(through), 0);
    }
    let links = topology.links();
    for (&a, &b) in links.a.iter().zip(&links.b) {
        flow.arc(2 * a as usize + 1, 2 * b as usize, 1, 0);
        flow.arc(2 * b as usize + 1, 2 * a as usize, 1, 0);
    }
    flow.run(2 * from as usize + 1, 2 * to as usize)
}

/// Fewest links between a set of servers and the others, switches free to choose sides.
fn smallest_cut(topology: &Topology, set: u32) -> u32 {
    let nodes = topology.node_count() as usize;
    let mut flow = Flow::new(nodes + 2);
    let links = topology.links();
    for (&a, &b) in links.a.iter().zip(&links.b) {
        flow.arc(a as usize, b as usize, 1, 1);
    }
    for server in 0..topology.server_count() {
        if set >> server & 1 == 1 {
            flow.arc(nodes, server as usize, 1 << 20, 0);
        } else {
            flow.arc(server as usize, nodes + 1, 1 << 20, 0);
        }
    }
    flow.run(nodes, nodes + 1)
}

fn brute_bisection(topology: &Topology) -> u32 {
    let servers = topology.server_count();
    (0u32..1 << servers)
        .filter(|set| set.count_ones() == servers / 2)
        .map(|set| smallest_cut(topology, set))
        .min()
        .unwrap()
}

proptest! {
    #![proptest_config(common::cases(120))]

    #[test]
    fn distances_match_the_closed_forms(spec in any_spec(160)) {
        let topology = Topology::build(&spec).unwrap();
        let graph = graph_of(&topology);
        prop_assert_eq!(connected_components(&graph), 1);
        let servers = topology.server_count();
        let metrics = topology.metrics();
        let relays = servers_relay(&spec);
        let (mut farthest, mut sum, mut farthest_hops, mut sum_hops) = (0, 0u64, 0, 0u64);
        for source in 0..servers {
            let links = link_distances(&graph, servers, relays, source);
            for target in 0..servers {
                let links = links[target as usize].expect("connected");
                farthest = farthest.max(links);
                sum += u64::from(links);
            }
            if relays {
                let hops = dijkstra(&graph, NodeIndex::new(source as usize), None, |edge| *edge.weight());
                for target in 0..servers {
                    let hops = hops[&NodeIndex::new(target as usize)];
                    farthest_hops = farthest_hops.max(hops);
                    sum_hops += u64::from(hops);
                }
            }
        }
        let pairs = u64::from(servers) * u64::from(servers - 1);
        check(&metrics.diameter_links, f64::from(farthest), "diameter in links")?;
        if let Some(average) = &metrics.average_path_links {
            check(average, sum as f64 / pairs as f64, "average in links")?;
        }
        if relays {
            prop_assert_eq!(metrics.diameter.unit, "hops");
            check(&metrics.diameter, f64::from(farthest_hops) / 2.0, "diameter in hops")?;
            if let Some(average) = &metrics.average_path {
                check(average, sum_hops as f64 / 2.0 / pairs as f64, "average in hops")?;
            }
        } else {
            prop_assert_eq!(metrics.diameter.unit, "links");
            prop_assert_eq!(&metrics.diameter, &metrics.diameter_links);
        }
        prop_assert_eq!(metrics.wires.value, graph.edge_count() as f64);
        let busiest = (0..servers).map(|server| graph.edges(NodeIndex::new(server as usize)).count()).max();
        prop_assert!(busiest.unwrap_or(0) as f64 <= metrics.server_ports.value);
    }

    #[test]
    fn disjoint_paths_match_a_flow(spec in any_spec(24)) {
        let topology = Topology::build(&spec).unwrap();
        let servers = topology.server_count();
        let metric = topology.metrics().disjoint_paths;
        let fewest = (0..servers)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| disjoint_paths(&topology, a, b))
            .min()
            .unwrap_or(0);
        let lower_bound = matches!(spec, TopologySpec::Subways(_) | TopologySpec::Custom(_)) && !metric.exact;
        if lower_bound {
            prop_assert!(f64::from(fewest) >= metric.value, "{spec:?}: {fewest}, promised {}", metric.value);
        } else {
            check(&metric, f64::from(fewest), "disjoint paths")?;
        }
    }
}

proptest! {
    #![proptest_config(common::cases(40))]

    #[test]
    fn bisections_match_brute_force(spec in any_spec(10)) {
        let topology = Topology::build(&spec).unwrap();
        if topology.server_count() > 1 {
            check(&topology.metrics().bisection, f64::from(brute_bisection(&topology)), "bisection")?;
        }
    }
}

#[test]
fn dcell_1_and_disjoint_paths_of_larger_ones() {
    for n in 2..=9 {
        let topology = common::build(&format!(r#"{{"family":"dcell","n":{n},"k":1}}"#));
        let graph = graph_of(&topology);
        let servers = topology.server_count();
        let all = (0..servers).flat_map(|source| link_distances(&graph, servers, true, source));
        let links = all
            .enumerate()
            .filter(|(i, _)| i % graph.node_count() < servers as usize);
        let farthest = links.map(|(_, distance)| distance.unwrap()).max().unwrap();
        assert_eq!(farthest, if n == 2 { 4 } else { 5 }, "n = {n}");
        assert_eq!(topology.metrics().diameter_links.exact, n > 2);
    }
    for json in [
        r#"{"family":"dcell","n":2,"k":2}"#,
        r#"{"family":"dcell","n":3,"k":2}"#,
        r#"{"family":"bcube","n":3,"k":3,"servers":54}"#,
        r#"{"family":"torus3d","x":3,"y":4,"z":5}"#,
    ] {
        let topology = common::build(json);
        let servers = topology.server_count();
        let metric = topology.metrics().disjoint_paths;
        assert!(metric.exact);
        for other in 1..servers {
            let found = f64::from(disjoint_paths(
                &topology,
                servers / 3,
                (servers / 3 + other) % servers,
            ));
            assert!(found >= metric.value, "{json}: {found}");
        }
    }
}

#[test]
fn torus_bisections_of_odd_and_even_rings() {
    for (x, y, z) in [
        (3, 3, 1),
        (5, 3, 1),
        (4, 3, 1),
        (3, 4, 1),
        (2, 2, 3),
        (2, 2, 2),
        (4, 4, 1),
        (7, 1, 1),
    ] {
        let topology = common::build(&format!(r#"{{"family":"torus3d","x":{x},"y":{y},"z":{z}}}"#));
        let (metric, found) = (
            topology.metrics().bisection,
            f64::from(brute_bisection(&topology)),
        );
        assert!(
            if metric.exact {
                metric.value == found
            } else {
                metric.value >= found
            },
            "{x}x{y}x{z}: {metric:?} {found}"
        );
    }
}

/// BCube as the paper builds it, by recursion over sub-BCubes instead of by digits [bcube §3.1].
fn recursive_bcube(n: u32, k: u32, groups: u32) -> Vec<(String, String)> {
    if k == 0 {
        return (0..groups)
            .map(|server| (server.to_string(), "<0,>".to_owned()))
            .collect();
    }
    let mut links = Vec::new();
    for j in 0..groups {
        for (server, switch) in recursive_bcube(n, k - 1, n) {
            let (level, label) = switch.trim_matches(['<', '>']).split_once(',').unwrap();
            links.push((format!("{j}{server}"), format!("<{level},{j}{label}>")));
        }
    }
    // The level-k port of the i-th server of the j-th BCube_{k-1} goes to the i-th level-k switch.
    for j in 0..groups {
        for i in 0..n.pow(k) {
            let label: String = (0..k).rev().map(|d| (i / n.pow(d) % n).to_string()).collect();
            links.push((format!("{j}{label}"), format!("<{k},{label}>")));
        }
    }
    links
}

/// BuildDCells, on name prefixes [dcell §3]; server names by their place in the sub-DCell.
fn recursive_dcell(n: u32, k: u32, prefix: &str, links: &mut Vec<(String, String)>) -> Vec<String> {
    if k == 0 {
        let servers: Vec<String> = (0..n).map(|i| format!("[{prefix}{i}]")).collect();
        let switch = format!("<{}>", prefix.trim_end_matches(','));
        links.extend(servers.iter().map(|server| (server.clone(), switch.clone())));
        return servers;
    }
    let below = (0..k - 1).fold(n, |size, _| size * (size + 1));
    let subs: Vec<Vec<String>> = (0..=below)
        .map(|i| recursive_dcell(n, k - 1, &format!("{prefix}{i},"), links))
        .collect();
    for i in 0..subs.len() {
        for j in i + 1..subs.len() {
            links.push((subs[i][j - 1].clone(), subs[j][i].clone()));
        }
    }
    subs.concat()
}

fn named_links(topology: &Topology) -> Vec<(String, String)> {
    let links = topology.links();
    let name = |node| topology.node_name(node);
    let mut named: Vec<_> = links
        .a
        .iter()
        .zip(&links.b)
        .map(|(&a, &b)| (name(a), name(b)))
        .collect();
    named.sort();
    named
}

#[test]
fn bcube_equals_the_papers_recursion() {
    for (n, k) in [(2u32, 0), (4, 1), (3, 2), (2, 4), (5, 2)] {
        for groups in 1..=n {
            let servers = groups * n.pow(k);
            let topology = common::build(&format!(
                r#"{{"family":"bcube","n":{n},"k":{k},"servers":{servers}}}"#
            ));
            let mut expected = recursive_bcube(n, k, groups);
            expected.sort();
            assert_eq!(
                named_links(&topology),
                expected,
                "n = {n}, k = {k}, {groups} groups"
            );
        }
    }
}

#[test]
fn dcell_equals_the_papers_recursion() {
    for (n, k) in [(2, 0), (4, 1), (2, 2), (3, 2), (4, 2), (2, 3)] {
        let mut complete = Vec::new();
        let servers = recursive_dcell(n, k, "", &mut complete);
        let place: HashMap<&str, usize> = servers
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), i))
            .collect();
        for count in [1, 2, servers.len() / 3 + 1, servers.len() - 1, servers.len()] {
            let topology = common::build(&format!(
                r#"{{"family":"dcell","n":{n},"k":{k},"servers":{count}}}"#
            ));
            // Partial: the first servers, and every link whose servers all exist.
            let exists = |name: &str| place.get(name).is_none_or(|&place| place < count);
            let mut expected: Vec<_> = complete
                .iter()
                .filter(|(a, b)| exists(a) && exists(b))
                .cloned()
                .collect();
            expected.sort();
            assert_eq!(
                named_links(&topology),
                expected,
                "n = {n}, k = {k}, {count} servers"
            );
        }
    }
}

#[test]
fn parallel_subways_edges_are_trunks_only() {
    let topology = common::build(r#"{"family":"subways","type":1,"p":3,"q":9,"l":5,"clusters":2}"#);
    let graph = graph_of(&topology);
    let mut seen = HashMap::new();
    for edge in graph.edge_references() {
        *seen.entry((edge.source(), edge.target())).or_insert(0) += 1;
    }
    assert!(seen.values().all(|&count| count == 1));
}
