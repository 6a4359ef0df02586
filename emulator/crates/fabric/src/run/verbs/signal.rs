//! `signal`: ends, pauses or resumes the node of a server in a pod, and the container with a user's
//! program there. In pods no container engine does this for the caller.

use serde::Deserialize;

use super::At;
use crate::error::{FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::host::process::Process;
use crate::host::strays::{ContainerId, each_process};
use crate::run::state::RunState;

/// The signal to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeSignal {
    /// Kill the process at once.
    Kill,
    /// Stop the process until it is resumed.
    Pause,
    /// Resume the stopped process.
    Resume,
}

impl NodeSignal {
    fn send(self, process: &Process) {
        match self {
            NodeSignal::Kill => process.kill(),
            NodeSignal::Pause => process.freeze(true),
            NodeSignal::Resume => process.freeze(false),
        }
    }
}

/// Sends the signal to the node, and to every process of the container `beside` in the server's
/// network namespace. Ignores processes that have already ended.
pub fn signal(run: &RunState, id: u32, signal: NodeSignal, beside: Option<&ContainerId>) -> Result<At> {
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
        signal.send(process);
    }
    let at_nanos = monotonic_nanos();
    if let (Some(container), Some(kernel)) = (beside, &run.kernels.servers[server]) {
        each_process(container, kernel.namespace.id()?, |process| signal.send(process));
    }
    Ok(At { at_nanos })
}
