//! Frames, ten per second, and the callers that subscribe to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use cubeyard_contract::tick::{FlowColumns, Host, Latencies, LinkColumns, ServerColumns};
use serde::Serialize;

use super::events::Event;
use crate::error::{During, Result};
use crate::names::RunId;

/// The report of one tick.
#[derive(Debug, Serialize)]
pub struct Frame {
    /// Number of the tick, from 1.
    pub tick: u64,
    /// Seconds since the start of the workload; 0 before.
    pub at_secs: f64,
    /// Columns with a value per link.
    pub links: LinkColumns,
    /// Columns with a value per server.
    pub servers: ServerColumns,
    /// Columns with a value per flow.
    pub flows: FlowColumns,
    /// Latencies of requests; absent without requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies: Option<Latencies>,
    /// Bytes of MPTCP subflows since the last frame: index of the flow, number of the subflow,
    /// bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<[u64; 3]>,
    /// Packets dropped in forwarding, by reason, without reasons that have none.
    pub drops: BTreeMap<&'static str, u64>,
    /// Load of the host.
    pub host: Host,
    /// Events since the last frame.
    pub events: Vec<Event>,
}

/// A frame as a line for a caller.
#[derive(Serialize)]
struct FrameLine<'a> {
    stream: &'a RunId,
    frame: &'a Frame,
}

/// The sender of frames to a caller.
pub type FrameSender = SyncSender<Arc<str>>;

/// Callers that get every frame, by their numbers.
#[derive(Debug, Default)]
pub struct Subscribers(BTreeMap<usize, FrameSender>);

impl Subscribers {
    /// Whether there are no subscribers.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a caller. It gets each frame once, however often it subscribes.
    pub fn add(&mut self, caller: usize, subscriber: FrameSender) {
        self.0.insert(caller, subscriber);
    }

    /// Sends a frame to all subscribers. A caller that does not read misses frames; a disconnected
    /// one is removed.
    pub fn send(&mut self, run: &RunId, frame: &Frame) -> Result<()> {
        let line = FrameLine { stream: run, frame };
        let line: Arc<str> = serde_json::to_string(&line)
            .during(|| "writing a frame".to_owned())?
            .into();
        self.0.retain(|_, subscriber| {
            let sent = subscriber.try_send(line.clone());
            !matches!(sent, Err(TrySendError::Disconnected(_)))
        });
        Ok(())
    }
}
