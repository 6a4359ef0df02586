//! `subscribe`: sends every frame from now on.

use serde::Serialize;

use crate::run::frames::FrameSender;
use crate::run::state::RunState;

/// The subscription.
#[derive(Debug, Serialize)]
pub struct Subscribed {
    /// Frames per second.
    hz: u32,
}

/// Adds a subscriber.
pub fn subscribe(run: &mut RunState, caller: usize, subscriber: FrameSender) -> Subscribed {
    if run.subscribers.is_empty() {
        // The first frame has to cover one tick, not all the time since somebody subscribed last.
        let _ = run.telemetry.read(0, &mut run.kernels, &run.nodes);
        run.workload.columns();
        run.latencies.take();
    }
    run.subscribers.add(caller, subscriber);
    Subscribed { hz: 10 }
}
