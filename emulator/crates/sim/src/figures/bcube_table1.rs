//! Formulas of four structures, against networks that are built and counted. `[bcube §8, Table 1]`

use cubeyard_routing::Failures;
use cubeyard_routing::bcube::{Shape, build_path_set, complete_graph, spanning_trees};
use cubeyard_topology::Topology;
use serde_json::json;

use super::{Context, Outcome, Row, built, setup};
use crate::flow::{PredictError, aggregate_bottleneck};
use crate::flows::{Flows, Pattern};
use crate::scheme::Scheme;

fn abt(context: &Context<'_>, topology: &Topology, routing: &str) -> Result<f64, PredictError> {
    let flows = Flows::new((0..topology.server_count()).collect(), Pattern::AllToAll);
    let directed = topology.links().len() * 2;
    let scheme = Scheme::new(Some(routing), topology, Failures::none(topology))?;
    let load = scheme.count_links(&flows, &[], 0, context.progress)?;
    Ok(aggregate_bottleneck(&load, &vec![1.0; directed]))
}

fn wires(topology: &Topology) -> f64 {
    topology.links().len() as f64
}

/// The cells of one-to-x traffic in the columns of the other structures: times a tree's rate.
fn one_to_x(single: &[(&str, &Topology)], dcell: &Topology) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, topology) in single {
        let paths = topology.metrics().disjoint_paths.value;
        rows.push(Row::printed(format!("{name}: one-to-one"), "x", 1.0, 1e-9, paths));
        // For any traffic, a server sends at most the sum of its ports' rates.
        let ports = f64::from(topology.server_ports());
        for what in ["one-to-several", "one-to-all"] {
            rows.push(Row::printed(format!("{name}: {what}"), "x", 1.0, 1e-9, ports));
        }
    }
    let levels = 3.0;
    let paths = dcell.metrics().disjoint_paths.value;
    rows.push(Row::printed(
        "DCell(4,2): one-to-one, k'+1",
        "x",
        levels,
        1e-9,
        paths,
    ));
    let ports = f64::from(dcell.server_ports());
    rows.push(Row::at_most(
        "DCell(4,2): one-to-all, at most k'+1",
        "x",
        levels,
        ports,
    ));
    rows
}

pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let tree = built(&json!({"family": "tree", "edge_ports": 8, "servers": 64}))?;
    let fat_tree = built(&json!({"family": "fat_tree", "ports": 8, "layers": 3}))?;
    let dcell = built(&json!({"family": "dcell", "n": 4, "k": 2}))?;
    let bcube = built(&json!({"family": "bcube", "n": 8, "k": 2}))?;
    let partial = built(&json!({"family": "bcube", "n": 8, "k": 3, "servers": 2048}))?;
    let n = 8.0;
    let shape = Shape::new(&bcube).ok_or_else(setup)?;
    let far = bcube.server_count() - 1;
    let in_parallel = build_path_set(&shape, 0, far).len() as f64;
    let neighbours =
        complete_graph(&shape, 0, &[1, 1, 1]).map_or(0.0, |graph| graph.servers.len() as f64 - 1.0);
    let trees = spanning_trees(&shape, 0).len() as f64;
    let fat_servers = f64::from(fat_tree.server_count());
    let dcell_servers = f64::from(dcell.server_count());
    let bcube_servers = f64::from(bcube.server_count());
    let partial_servers = f64::from(partial.server_count());
    let whole = |value: f64| value.round();
    let dcell_bound = dcell_servers / 4.0;
    let mut rows = one_to_x(&[("Tree", &tree), ("Fat-tree", &fat_tree)], &dcell);
    rows.extend([
        Row::printed("BCube(8,2): one-to-one, k+1", "x", 3.0, 1e-9, in_parallel),
        Row::printed("BCube(8,2): one-to-several, k+1", "x", 3.0, 1e-9, neighbours),
        Row::printed("BCube(8,2): one-to-all, k+1", "x", 3.0, 1e-9, trees),
        Row::printed("Tree of 8-port switches, 64 servers: ABT, n", "links", n, 1e-9, abt(context, &tree, "tree")?)
            .because("n counts the root's links only; flows within one switch, which do not cross it, come on top: n(N-1)/(N-n) = 9"),
        Row::printed("Fat-tree of 8-port switches, 128 servers: ABT, N", "links", fat_servers, 1e-9, abt(context, &fat_tree, "fat-tree")?)
            .because("N needs flows spread evenly; a random up-path for each is uneven in so small a network"),
        Row::at_least("DCell(4,2), 420 servers: ABT, N/2^k'", "links", dcell_bound, abt(context, &dcell, "dcell")?)
            .because("N/2^k' is a lower bound, for complete DCells"),
        Row::printed(
            "BCube(8,2): ABT, n(N-1)/(n-1)",
            "links",
            n * (bcube_servers - 1.0) / (n - 1.0),
            1e-6,
            abt(context, &bcube, "bcube-fixed")?,
        ),
        Row::printed("Tree of 8-port switches, 64 servers: wires, n(N-1)/(n-1)", "", n * 63.0 / 7.0, 1e-9, wires(&tree)),
        Row::printed(
            "Fat-tree of 8-port switches, 128 servers: wires, N log_(n/2)(N/2)",
            "",
            whole(fat_servers * (fat_servers / 2.0).log(n / 2.0)),
            1e-9,
            wires(&fat_tree),
        ),
        Row::printed("DCell(4,2): wires, (k'/2+1)N", "", 2.0 * dcell_servers, 1e-9, wires(&dcell)),
        Row::printed(
            "BCube(8,2): wires, N log_n N",
            "",
            whole(bcube_servers * bcube_servers.log(n)),
            1e-9,
            wires(&bcube),
        ),
        Row::printed(
            "Partial BCube of 2,048 servers: wires, N log_n N",
            "",
            whole(partial_servers * partial_servers.log(n)),
            1e-9,
            wires(&partial),
        )
        .because("the formula is of complete BCubes: a partial one keeps all four ports of every server, 8,192 wires"),
    ]);
    Ok(Outcome {
        rows,
        choices: vec![
            "each formula beside a complete network that is built and counted; ABT in multiples of a link's rate",
            "BCube takes the digits in a fixed order, for which Theorem 6 is exact",
        ],
        ..Outcome::default()
    })
}
