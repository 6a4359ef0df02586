//! `recover`: ends one fault, or all faults.

use serde::Serialize;
use serde_json::Value;

use crate::error::Result;
use crate::faults::fault_name;
use crate::host::clock::monotonic_nanos;
use crate::run::events::EventKind;
use crate::run::state::RunState;

/// The result of a recovery.
#[derive(Debug, Serialize)]
pub struct Recovered {
    /// Completion time, on the monotonic clock.
    at_nanos: u64,
    /// Number of recovered faults.
    recovered: usize,
}

/// Ends the fault with this id, or all faults (`"all"`).
pub fn recover(run: &mut RunState, fault: &Value) -> Result<Recovered> {
    let recovered = if fault == "all" {
        run.active_faults.clear()
    } else {
        run.active_faults.remove(&fault_name(fault)?)?;
        1
    };
    run.apply_faults()?;
    let at_nanos = monotonic_nanos();
    let fault = fault.clone();
    run.events.add_at(EventKind::FaultRecovered { fault }, at_nanos);
    run.tell_paths();
    Ok(Recovered { at_nanos, recovered })
}
