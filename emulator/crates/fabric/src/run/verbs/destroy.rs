//! `destroy`: removes everything that the run has made. If an object cannot be removed, the caller
//! gets that error, and the journal keeps the run for another try.

use std::time::Instant;

use serde::Serialize;

use crate::error::Result;
use crate::run::state::RunState;

/// The result of destroying a run.
#[derive(Debug, Serialize)]
pub struct Destroyed {
    /// Number of removed namespaces of servers and switches.
    removed: usize,
    /// Duration in milliseconds.
    millis: f64,
}

/// Removes everything. The caller ends the processes in containers itself, unless it is gone
/// (`end_processes`).
pub fn destroy(run: &mut RunState, end_processes: bool) -> Result<Destroyed> {
    let started = Instant::now();
    let removed = run.kernels.count();
    run.wiring.abandon();
    if run.wiring.plain {
        run.nodes.end_all_processes();
    } else {
        run.kernels.remove_interfaces()?;
        if end_processes {
            run.nodes.kill_processes();
        }
    }
    run.kernels.release()?;
    run.wiring.remove_namespaces()?;
    Ok(Destroyed {
        removed,
        millis: started.elapsed().as_secs_f64() * 1e3,
    })
}
