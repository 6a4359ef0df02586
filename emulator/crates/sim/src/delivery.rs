//! The delivery of one server's data to many, as edges whose ends relay what they receive.

use cubeyard_routing::bcube::{Shape, spanning_trees};
use cubeyard_topology::Finding;
use serde_json::{Value, json};

use crate::network::Network;
use crate::workload::server_named;

/// The edge-disjoint spanning trees of a BCube from a server: a list of trees, each a list of
/// `[parent, child]` in which every parent comes before its children. `[bcube §3.5]`
///
/// # Errors
/// A finding when there is no such server, or the plan is no BCube.
pub fn spanning_trees_of(network: &Network, source: &str) -> Result<Value, Vec<Finding>> {
    let shape = Shape::new(network.topology()).ok_or_else(|| {
        vec![Finding::error(
            "no-spanning-trees",
            "plan.family",
            "Only a BCube has edge-disjoint spanning trees.",
            "Take a BCube, or deliver by a pipeline.",
        )]
    })?;
    let source = server_named(network, "workload.source", source)?;
    let trees: Vec<Vec<[u32; 2]>> = spanning_trees(&shape, source)
        .iter()
        .map(|tree| tree.iter().map(|edge| [edge.parent, edge.child]).collect())
        .collect();
    Ok(json!(trees))
}
