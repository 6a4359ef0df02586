//! The course of a run over time: columns of at most [`MOST`] samples at equal intervals.
//!
//! The length of a run is not known in advance: sampling starts with short intervals, and whenever
//! the columns are full, every second sample is dropped. `[ours]`

use serde_json::{Value, json};

use super::core::Core;
use super::links::SECOND;

/// The most samples in a column.
const MOST: usize = 512;

/// One sample.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    received: u64,
    drops: u64,
    timeouts: u64,
    finished: u64,
    queue_bytes: u64,
    window: f64,
    /// The flow's limit by congestion notifications, in bit/s.
    limit: Option<f64>,
}

/// The recorded samples, in columns.
#[derive(Debug)]
pub struct Samples {
    /// Time between samples, in ps.
    step: u64,
    watch_link: Option<u32>,
    watch_subflow: Option<u32>,
    /// Whether that subflow may be limited.
    limits: bool,
    rows: Vec<Sample>,
}

impl Samples {
    /// Columns with intervals of at least `step` ps, which record one link and one subflow.
    pub fn new(step: u64, watch_link: Option<u32>, watch_subflow: Option<u32>) -> Samples {
        Samples {
            step: step.max(1),
            watch_link,
            watch_subflow,
            limits: false,
            rows: Vec::with_capacity(MOST),
        }
    }

    /// Time of the next sample, in ps.
    pub fn next(&self) -> u64 {
        self.step * (self.rows.len() as u64 + 1)
    }

    /// Records the present state as a sample.
    pub fn take(&mut self, core: &Core) {
        let queue_bytes = self
            .watch_link
            .map_or(0, |link| core.links.backlog_bytes(link, core.now));
        self.limits = self.watch_subflow.is_some() && !core.reactions.is_empty();
        self.rows.push(Sample {
            received: core.totals.received,
            drops: core.totals.drops,
            timeouts: core.totals.timeouts,
            finished: (core.connections.len() - core.open) as u64,
            queue_bytes,
            window: self
                .watch_subflow
                .map_or(0.0, |subflow| core.senders[subflow as usize].window),
            limit: self
                .watch_subflow
                .and_then(|subflow| core.reactions.get(subflow as usize)?.limit()),
        });
        if self.rows.len() == MOST {
            self.step *= 2;
            let mut odd = false;
            self.rows.retain(|_| {
                odd = !odd;
                !odd
            });
        }
    }

    /// `{step_secs, goodput_gbps, drops, timeouts, finished, queue_bytes, window_packets, limit_gbps}`:
    /// column `i` is at `(i + 1) * step_secs`; drops and timeouts are those of the step,
    /// `goodput_gbps` its mean; `limit_gbps` is null while the watched flow has no limit.
    pub fn document(&self) -> Value {
        let step_secs = self.step as f64 / SECOND as f64;
        let steps = |value: fn(&Sample) -> u64| -> Vec<u64> {
            let mut before = 0;
            self.rows
                .iter()
                .map(|row| value(row) - std::mem::replace(&mut before, value(row)))
                .collect()
        };
        let goodput: Vec<f64> = steps(|row| row.received)
            .into_iter()
            .map(|bytes| bytes as f64 * 8e-9 / step_secs)
            .collect();
        let mut document = json!({
            "step_secs": step_secs,
            "goodput_gbps": goodput,
            "drops": steps(|row| row.drops),
            "timeouts": steps(|row| row.timeouts),
            "finished": self.rows.iter().map(|row| row.finished).collect::<Vec<_>>(),
        });
        if self.watch_link.is_some() {
            document["queue_bytes"] = json!(self.rows.iter().map(|row| row.queue_bytes).collect::<Vec<_>>());
        }
        if self.watch_subflow.is_some() {
            document["window_packets"] = json!(self.rows.iter().map(|row| row.window).collect::<Vec<_>>());
        }
        if self.limits {
            let gbps = |row: &Sample| row.limit.map(|limit| limit / 1e9);
            document["limit_gbps"] = json!(self.rows.iter().map(gbps).collect::<Vec<_>>());
        }
        document
    }
}
