//! `inject`: puts a fault into effect.

use serde_json::Value;

use super::At;
use crate::error::{FabricError, Result};
use crate::faults::Fault;
use crate::host::clock::monotonic_nanos;
use crate::host::probe;
use crate::run::events::EventKind;
use crate::run::state::RunState;

/// Puts a fault into effect.
pub fn inject(run: &mut RunState, fault: Value) -> Result<At> {
    let fault = Fault::from_json(&run.network, fault)?;
    if !run.kernels.is_wired() {
        return Err(FabricError::state("the run is not wired", "call wire first"));
    }
    if let Some(queue) = fault.needs.filter(|queue| !probe::has_queue(queue)) {
        let message = format!("this kernel has no {queue}, which {} needs", fault.kind);
        let fix = format!("use another kind, or load the module sch_{queue}");
        return Err(FabricError::unsupported(message, fix));
    }
    if !run.wiring.plain && fault.is_of_process_only() {
        let message = "the container engine freezes containers, not the fabric";
        return Err(FabricError::unsupported(message, "use docker pause"));
    }
    let injected = EventKind::FaultInjected {
        fault: fault.id.clone(),
        what: fault.kind,
    };
    run.active_faults.add(fault)?;
    run.apply_faults()?;
    let at_nanos = monotonic_nanos();
    run.events.add_at(injected, at_nanos);
    run.tell_paths();
    Ok(At { at_nanos })
}
