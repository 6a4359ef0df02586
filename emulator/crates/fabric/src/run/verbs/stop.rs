//! `stop`: stops and removes the flows.

use cubeyard_messages::ToNode;

use super::At;
use crate::host::clock::monotonic_nanos;
use crate::run::state::RunState;
use crate::run::subflows::Connections;
use crate::run::workload::Workload;

/// Stops and removes the flows.
pub fn stop(run: &mut RunState) -> At {
    run.workload = Workload::default();
    run.connections = Connections::default();
    run.nodes.send_to_all(&ToNode::Stop);
    At {
        at_nanos: monotonic_nanos(),
    }
}
