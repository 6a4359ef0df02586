//! `subscribe`: sends every frame from now on.

use serde::Serialize;

use crate::run::frames::FrameSender;
use crate::run::state::RunState;

/// The answer to a subscription.
#[derive(Debug, Serialize)]
pub struct Subscribed {
    /// Frames per second.
    hz: u32,
}

/// Adds a subscriber.
pub fn subscribe(run: &mut RunState, caller: usize, subscriber: FrameSender) -> Subscribed {
    if run.subscribers.is_empty() {
        // Reads the counters now, so that the first frame covers one tick and not all the time
        // without subscribers.
        let _ = run.telemetry.read(0, &mut run.kernels, &run.nodes);
        run.workload.columns();
        run.latencies.take();
    }
    run.subscribers.add(caller, subscriber);
    Subscribed { hz: 10 }
}
