//! Networks without a cycle: every pair has one path, so the ABT follows from the number of servers
//! on either side of each link. `[ours]`

use cubeyard_topology::{NodeId, Topology};

/// The ABT of all-to-all traffic in Gb/s over the live links; None if links form a cycle or no
/// server can send. The number of flows on a link in each direction is the number of servers on one
/// side times the number on the other, and every flow has the rate of the slowest. O(nodes +
/// links).
pub fn abt_gbps(
    topology: &Topology,
    capacity_gbps: &[f64],
    server_alive: &dyn Fn(NodeId) -> bool,
    link_alive: &dyn Fn(usize) -> bool,
) -> Option<f64> {
    let links = topology.links();
    let nodes = topology.node_count() as usize;
    if links.len() + 1 > nodes {
        return None;
    }
    let adjacency = topology.adjacency();
    let servers = |node: NodeId| u64::from(topology.is_server(node) && server_alive(node));
    let mut below: Vec<u64> = (0..nodes).map(|node| servers(node as NodeId)).collect();
    let mut seen = vec![false; nodes];
    let (mut flows, mut slowest) = (0.0, f64::INFINITY);
    for root in 0..nodes {
        if seen[root] {
            continue;
        }
        // Nodes of a part, each after its parent.
        seen[root] = true;
        let mut part = vec![(root as NodeId, None)];
        let mut at = 0;
        while let Some(&(node, up)) = part.get(at) {
            at += 1;
            for (neighbour, link) in adjacency.row(node) {
                if !link_alive(link as usize) || up.is_some_and(|(_, up)| up == link) {
                    continue;
                }
                if std::mem::replace(&mut seen[neighbour as usize], true) {
                    return None;
                }
                part.push((neighbour, Some((node, link))));
            }
        }
        for &(node, up) in part.iter().rev() {
            if let Some((parent, _)) = up {
                below[parent as usize] += below[node as usize];
            }
        }
        let all = below[root];
        flows += all as f64 * all.saturating_sub(1) as f64;
        for &(node, up) in &part {
            let crossing = below[node as usize] * (all - below[node as usize]);
            if let (Some((_, link)), true) = (up, crossing > 0) {
                let link = link as usize;
                let narrower = capacity_gbps[2 * link].min(capacity_gbps[2 * link + 1]);
                slowest = slowest.min(narrower / crossing as f64);
            }
        }
    }
    (flows > 0.0).then_some(flows * slowest)
}

#[cfg(test)]
mod tests {
    use cubeyard_sim::faults::{Fault, struck};
    use cubeyard_sim::{Experiment, Network, Progress, predict};
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_what_a_prediction_counts_flow_by_flow() {
        for (edge, root, servers) in [(8, 4, 100), (2, 2, 64), (48, 48, 500), (3, 5, 47)] {
            let spec = json!({"family": "tree", "edge_ports": edge, "root_ports": root, "servers": servers});
            let network = Network::open(&spec.to_string()).expect("a tree");
            let (topology, links) = (network.topology(), network.topology().links());
            let capacity = network.capacity_gbps(None);
            for (kind, ratio) in [
                ("switch", 0.0),
                ("switch", 0.1),
                ("server", 0.2),
                ("link", 0.05),
                ("link", 0.3),
            ] {
                for seed in 0..5 {
                    let faults = if ratio > 0.0 {
                        json!([{"target": {"kind": kind, "ratio": ratio}}])
                    } else {
                        json!([])
                    };
                    let asked = json!({"workload": "all-to-all", "max_min": false, "faults": faults, "seeds": [seed]});
                    let experiment = Experiment::from_json(&asked.to_string()).expect("an experiment");
                    let predicted =
                        predict(&network, &experiment, &Progress::default()).expect("a prediction");
                    let faults: Vec<Fault> = serde_json::from_value(faults).expect("faults");
                    let failed = struck(&faults, &network, seed).expect("what fails");
                    let down = |node: NodeId| failed.iter().any(|item| item.node_failed(node));
                    let alive = |link: usize| {
                        !down(links.a[link])
                            && !down(links.b[link])
                            && !failed.iter().any(|item| item.link_failed(link as u32))
                    };
                    let ours = abt_gbps(topology, &capacity, &|node| !down(node), &alive).unwrap_or(0.0);
                    let theirs = predicted["abt_gbps"].as_f64().unwrap_or(0.0);
                    assert!(
                        (ours - theirs).abs() <= 1e-9 * theirs.max(1.0),
                        "{spec} {kind} {ratio} {seed}: {ours} {theirs}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_network_with_a_cycle_has_none() {
        let network = Network::open(r#"{"family": "bcube", "n": 4, "k": 1}"#).expect("a BCube");
        let capacity = network.capacity_gbps(None);
        assert_eq!(
            abt_gbps(network.topology(), &capacity, &|_| true, &|_| true),
            None
        );
    }
}
