//! `signal`: ends, pauses or resumes the node of a server in a pod, which no container engine does for the caller.

use serde::Deserialize;

use super::At;
use crate::error::{FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::run::state::RunState;

/// What is done to the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeSignal {
    /// End it at once.
    Kill,
    /// Stop it until it is resumed.
    Pause,
    /// Let it go on.
    Resume,
}

/// Sends it. A process that has ended already has had its signal.
pub fn signal(run: &RunState, id: u32, signal: NodeSignal) -> Result<At> {
    if !run.wiring.pods {
        let message = "the run's servers are in no pods";
        let fix = "inject a fault, or ask the container engine";
        return Err(FabricError::unsupported(message, fix));
    }
    let server = run.network.server(id)?;
    if !run.network.division.has_server(server) {
        let fix = "ask the host it is on";
        return Err(FabricError::not_found("server on this host", id, fix));
    }
    if let Some(process) = run.nodes.process(server) {
        match signal {
            NodeSignal::Kill => process.kill(),
            NodeSignal::Pause => process.freeze(true),
            NodeSignal::Resume => process.freeze(false),
        }
    }
    Ok(At {
        at_nanos: monotonic_nanos(),
    })
}
