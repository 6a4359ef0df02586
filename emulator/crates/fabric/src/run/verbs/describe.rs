//! `describe`: the state of the run, and the location of each server's socket. `prepare` returns it
//! too.

use std::path::PathBuf;

use serde::Serialize;

use crate::congestion::{Congestion, Counts};
use crate::names::RunId;
use crate::run::state::RunState;

/// Description of a run.
#[derive(Debug, Serialize)]
pub struct RunDescription {
    run: RunId,
    owner: String,
    servers: Vec<ServerDescription>,
    plain: bool,
    started: bool,
    flows: usize,
    faults: Vec<String>,
    /// Counters of congestion notification; absent where it is off.
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion: Option<Counts>,
}

/// A server of this host.
#[derive(Debug, Serialize)]
struct ServerDescription {
    id: u32,
    /// The folder that the server's container must mount.
    mount: PathBuf,
    wired: bool,
    pid: Option<u32>,
}

/// Returns the description of a run.
pub fn describe(run: &RunState) -> RunDescription {
    let servers = run.network.servers_here().map(|server| ServerDescription {
        id: run.id(server),
        mount: run.nodes.path(server),
        wired: run.kernels.servers[server].is_some(),
        pid: run.nodes.pid(server),
    });
    RunDescription {
        run: run.network.description.run.clone(),
        owner: run.network.description.owner.clone(),
        servers: servers.collect(),
        plain: run.wiring.plain,
        started: run.workload.started_nanos().is_some(),
        flows: run.workload.flow_count(),
        faults: run.active_faults.ids(),
        congestion: run.congestion.as_ref().map(Congestion::counts),
    }
}
