//! The parallel paths of two servers of a plan, with parts of it removed: converts names for
//! `routing::disjoint`.

use cubeyard_routing::disjoint::disjoint_paths;
use cubeyard_routing::path::link_of;
use cubeyard_routing::{Failures, NoPath};
use cubeyard_topology::fault::{FaultKind, Values};
use cubeyard_topology::{Finding, NodeId, Topology};
use serde_json::{Value, json};

use crate::faults::{self, Fault, Named, Target};
use crate::network::Network;
use crate::workload::server_named;

/// The two servers, and the parts that their paths must avoid.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// A server's name or host name.
    pub source: String,
    /// The other server's name.
    pub destination: String,
    /// Servers, switches, racks and links (`0132/<3,001>`) that are removed first.
    pub without: Vec<String>,
}

/// The paths as a document:
/// `{"source", "destination", "without", "reason", "paths": [{"links": [link], "devices": [name]}]}`,
/// the shortest first. Links are numbered like the plan's cables; `devices` includes both ends. If
/// there is no path, `reason` explains why; otherwise it is null.
///
/// # Errors
///
/// A finding for each unknown name, and if source and destination are the same server.
pub fn paths_between(network: &Network, asked: &Between) -> Result<Value, Vec<Finding>> {
    let topology = network.topology();
    let ends = [("source", &asked.source), ("destination", &asked.destination)]
        .map(|(field, name)| server_named(network, field, name));
    let (source, destination) = match ends {
        [Ok(source), Ok(destination)] => (source, destination),
        several => return Err(several.into_iter().filter_map(Result::err).flatten().collect()),
    };
    if source == destination {
        let message = format!("{} is the source too.", asked.destination);
        let hint = "Name two different servers.";
        return Err(vec![
            Finding::error("same-server", "destination", message, hint).with_value(asked.destination.clone()),
        ]);
    }
    let failures = failures_of(network, &asked.without)?;
    let found = disjoint_paths(topology, source, destination, &failures);
    let reason = found.as_ref().err().map(|reason| match reason {
        NoPath::SourceFailed => "source-failed",
        NoPath::DestinationFailed => "destination-failed",
        NoPath::NotFound => "no-path",
    });
    let paths: Vec<Value> = found
        .iter()
        .flat_map(|set| set.iter())
        .map(|path| json!({"links": path.iter().map(|&one| link_of(one)).collect::<Vec<_>>(), "devices": devices(topology, source, path)}))
        .collect();
    Ok(json!({
        "source": topology.node_name(source),
        "destination": topology.node_name(destination),
        "without": asked.without,
        "reason": reason,
        "paths": paths,
    }))
}

fn failures_of(network: &Network, names: &[String]) -> Result<Failures, Vec<Finding>> {
    if names.is_empty() {
        return Ok(Failures::none(network.topology()));
    }
    let fault = Fault {
        at_secs: 0.0,
        target: Target::Names(Named {
            names: names.to_vec(),
        }),
        kind: FaultKind::default(),
        values: Values::default(),
        until_secs: None,
    };
    let damage = faults::apply(&[fault], network, 0).map_err(|findings| {
        findings
            .into_iter()
            .map(|finding| Finding {
                field: "without".to_owned(),
                ..finding
            })
            .collect::<Vec<_>>()
    })?;
    Ok(damage.failures)
}

fn devices(topology: &Topology, source: NodeId, path: &[u32]) -> Vec<String> {
    let links = topology.links();
    let far = |&direction: &u32| {
        let link = link_of(direction) as usize;
        if direction % 2 == 0 {
            links.b[link]
        } else {
            links.a[link]
        }
    };
    std::iter::once(source)
        .chain(path.iter().map(far))
        .map(|node| topology.node_name(node))
        .collect()
}
