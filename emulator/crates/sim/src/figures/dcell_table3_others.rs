//! The structures that DCell is compared with, as far as the text names their numbers.
//! `[dcell §8, Table 3]`

use std::collections::VecDeque;

use cubeyard_routing::Failures;
use cubeyard_topology::Topology;
use serde_json::{Value, json};

use super::{Context, Row, built};
use crate::flow::PredictError;
use crate::flows::{Flows, Pattern};
use crate::scheme::Scheme;

/// The choices made where the paper says nothing about these structures.
pub(super) const CHOICE: &str = "other structures: a full mesh of 16 servers, rings of 16, 2D tori with odd sides, in dimension order (an even side's diameter is the root of N), \
     trees of switches with two ports down; the text has no number for hypercube, butterfly, de Bruijn and fat-tree";

/// Exponents come from two finite sizes, which differ from the limit by less than this.
const EXPONENT_STEP: f64 = 0.1;

pub(super) fn rows(context: &Context<'_>) -> Result<Vec<Row>, PredictError> {
    let mesh = built(&full_mesh(16))?;
    let ring = built(&json!({"family": "torus3d", "x": 16, "y": 1, "z": 1}))?;
    let (torus, larger_torus) = (built(&torus(9))?, built(&torus(27))?);
    let (tree, larger_tree) = (built(&tree(64))?, built(&tree(256))?);
    let exact = |name: &str, unit, paper, ours| Row::printed(name, unit, paper, 1e-9, ours);
    let exponent = |name: &str, routing: &str, paper, small: &Topology, large: &Topology| {
        let flows = most_flows(large, routing, context)? / most_flows(small, routing, context)?;
        let servers = f64::from(large.server_count()) / f64::from(small.server_count());
        Ok::<Row, PredictError>(Row::printed(
            name,
            "",
            paper,
            EXPONENT_STEP,
            flows.ln() / servers.ln(),
        ))
    };
    Ok(vec![
        exact("FullMesh: node degree, N - 1", "", 15.0, degree(&mesh)),
        exact("FullMesh: diameter", "hops", 1.0, diameter(&mesh)),
        exact("Ring: node degree", "", 2.0, degree(&ring)),
        exact("Ring: diameter, N / 2", "hops", 8.0, diameter(&ring)),
        exact(
            "Ring: bisection width",
            "links",
            2.0,
            ring.metrics().bisection.value,
        ),
        exact("2D Torus: node degree", "", 4.0, degree(&torus)),
        exact("2D Torus: diameter, root of N - 1", "hops", 8.0, diameter(&torus)),
        exponent(
            "2D Torus: bottleneck degree grows as N to the power of",
            "torus-dimension",
            1.5,
            &torus,
            &larger_torus,
        )?,
        exact("Tree: diameter, 2 log N", "links", 12.0, diameter(&tree)),
        exact(
            "Tree: bisection width",
            "links",
            1.0,
            tree.metrics().bisection.value,
        ),
        exponent(
            "Tree: bottleneck degree grows as N to the power of",
            "ecmp",
            2.0,
            &tree,
            &larger_tree,
        )?,
    ])
}

fn torus(side: u32) -> Value {
    json!({"family": "torus2d", "x": side, "y": side})
}

fn tree(servers: u32) -> Value {
    json!({"family": "tree", "edge_ports": 2, "root_ports": 2, "servers": servers})
}

fn full_mesh(servers: u32) -> Value {
    let nodes: Vec<Value> = (0..servers)
        .map(|server| json!({"name": format!("m{server}"), "role": "server"}))
        .collect();
    let links: Vec<Value> = (0..servers)
        .flat_map(|a| (a + 1..servers).map(move |b| json!({"a": format!("m{a}"), "b": format!("m{b}")})))
        .collect();
    json!({"family": "custom", "nodes": nodes, "links": links})
}

/// Links of a server; all have equally many.
fn degree(topology: &Topology) -> f64 {
    f64::from(topology.adjacency().degree(0))
}

/// Links between the two servers farthest from each other, by a search from each server in
/// O(servers x links).
fn diameter(topology: &Topology) -> f64 {
    let csr = topology.adjacency();
    let servers = topology.server_count();
    let mut farthest = 0;
    for source in 0..servers {
        let mut links = vec![u32::MAX; topology.node_count() as usize];
        links[source as usize] = 0;
        let mut next = VecDeque::from([source]);
        while let Some(node) = next.pop_front() {
            for &neighbour in csr.neighbours_of(node) {
                if links[neighbour as usize] == u32::MAX {
                    links[neighbour as usize] = links[node as usize] + 1;
                    next.push_back(neighbour);
                }
            }
        }
        farthest = farthest.max(links[..servers as usize].iter().copied().max().unwrap_or(0));
    }
    f64::from(farthest)
}

/// Flows on the fullest direction of a link, all-to-all.
fn most_flows(topology: &Topology, routing: &str, context: &Context<'_>) -> Result<f64, PredictError> {
    let flows = Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll);
    let scheme = Scheme::new(Some(routing), topology, Failures::none(topology))?;
    let load = scheme.count_links(&flows, &[], 0, context.progress)?;
    Ok(f64::from(load.most()))
}
