//! Requests of callers to a run, one verb per file. Each verb is a function of the run's state and
//! its parameters.
//!
//! Verbs that wait for nodes (`wire`, `inspect`, `chip`) answer later, through their `reply`
//! argument. Each answer has its own type, which is serialized to JSON here.
//!
//! Not here: reading requests from the socket (`api/`), and requests of nodes (`run/inbox.rs`).

pub mod capture;
pub mod chip;
pub mod describe;
pub mod destroy;
pub mod inject;
pub mod inspect;
pub mod program;
pub mod recover;
pub mod registers;
pub mod signal;
pub mod start;
pub mod stop;
pub mod subscribe;
pub mod tell;
pub mod wire;
pub mod workload;

use serde::Serialize;
use serde_json::Value;

use crate::error::{During, Result};

/// Serializes an answer as JSON.
pub fn answer(answer: impl Serialize) -> Result<Value> {
    serde_json::to_value(answer).during(|| "writing an answer".to_owned())
}

/// The answer of verbs that report their time.
#[derive(Debug, Serialize)]
pub struct At {
    /// Completion time, on the monotonic clock.
    pub at_nanos: u64,
}
