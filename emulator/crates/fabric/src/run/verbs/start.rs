//! `start`: starts the flows. A second call changes nothing.

use cubeyard_messages::ToNode;

use super::At;
use crate::error::{FabricError, Result};
use crate::run::state::RunState;

/// Starts the flows.
pub fn start(run: &mut RunState) -> Result<At> {
    if !run.kernels.is_wired() {
        return Err(FabricError::state("the run is not wired", "call wire first"));
    }
    let at_nanos = run.workload.start();
    run.nodes.send_to_all(&ToNode::Start);
    Ok(At { at_nanos })
}
