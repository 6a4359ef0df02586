//! The rate of each flow of a server, from the counters of its programs. Nodes use it to choose
//! paths.

use cubeyard_dataplane::counts::FlowCount;
use cubeyard_dataplane::flow::Flow;
use cubeyard_messages::limits::ROWS;
use cubeyard_messages::{FlowRate, ToNode};

use crate::programs::Programs;

/// The counters at the last reading, by server.
#[derive(Debug)]
pub struct FlowRates {
    last: Vec<Vec<(Flow, FlowCount)>>,
}

impl FlowRates {
    /// The initial state without counters.
    pub fn new(servers: usize) -> FlowRates {
        FlowRates {
            last: vec![Vec::new(); servers],
        }
    }

    /// Removes the counters of a server whose flows were removed.
    pub fn forget(&mut self, server: usize) {
        self.last[server].clear();
    }

    /// Messages with the rates of a server's flows since the last call, which was `secs` ago.
    pub fn messages(&mut self, server: usize, programs: &Programs, secs: f64) -> Vec<ToNode> {
        let mut counts = programs.flow_counts();
        counts.sort_by_key(|(flow, _)| *flow);
        let last = std::mem::replace(&mut self.last[server], counts);
        let rows: Vec<FlowRate> = self.last[server]
            .iter()
            .filter_map(|(flow, now)| {
                let at = last.binary_search_by_key(flow, |(flow, _)| *flow);
                let before = at.map_or(0, |at| last[at].1.bytes);
                let bytes = now.bytes.checked_sub(before).unwrap_or(now.bytes);
                let bits_per_sec = bytes as f64 * 8.0 / secs;
                (bytes > 0).then_some(FlowRate {
                    flow: *flow,
                    bits_per_sec,
                })
            })
            .collect();
        rows.chunks(ROWS)
            .map(|rows| ToNode::FlowRates { rows: rows.to_vec() })
            .collect()
    }
}
