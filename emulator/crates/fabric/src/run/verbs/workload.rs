//! `workload`: replaces the flows, without starting them.

use serde::Serialize;
use serde_json::Value;

use super::stop::stop;
use crate::error::Result;
use crate::run::latencies::LatencyCounts;
use crate::run::state::RunState;
use crate::run::workload::Workload;

/// The result of loading a workload.
#[derive(Debug, Serialize)]
pub struct Loaded {
    /// Number of its flows.
    flows: usize,
}

/// Stops the flows and replaces them.
pub fn set_workload(run: &mut RunState, flows: Value) -> Result<Loaded> {
    let workload = Workload::from_json(&run.network, flows)?;
    stop(run);
    run.workload = workload;
    run.latencies = LatencyCounts::default();
    for server in 0..run.nodes.len() {
        run.nodes.send(server, &run.workload.orders(server));
    }
    Ok(Loaded {
        flows: run.workload.flow_count(),
    })
}
