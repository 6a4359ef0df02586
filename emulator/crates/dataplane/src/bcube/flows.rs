//! The flows of this server as a source: their paths, path caches and timers.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_topology::NodeId;

use super::round::Round;
use super::selection::Candidate;
use super::structure::Path;
use crate::counts::FLOWS;
use crate::flow::Flow;
use crate::protocol::Time;

/// A flow whose source is this server.
#[derive(Debug)]
pub struct FlowState {
    /// The flow's destination server.
    pub destination: NodeId,
    /// Number of the flow among those between the same two servers: see [`Flows::insert`].
    pub turn: u32,
    /// The path in use; `None` before the first probing.
    pub current: Option<Path>,
    /// The path cache: results of the latest probing, without paths that have failed since, in the
    /// order of probing.
    pub good: Vec<Candidate>,
    /// The current round of probing.
    pub round: Option<Round>,
    /// The flow's rate in the last report.
    pub rate_bits_per_sec: f64,
    /// The last time at which the flow was seen to send.
    pub active_at: Time,
    /// Rounds of probing so far.
    pub probings: u32,
    /// Path switches so far.
    pub switches: u32,
    /// Whether the latest probing found no path.
    pub stranded: bool,
    due: Time,
}

impl FlowState {
    /// Number of the current path; 0 for none.
    pub fn path_id(&self) -> u32 {
        self.current.as_ref().map_or(0, |path| path.numbered.id)
    }
}

/// All flows, ordered by five-tuple, each with the time of its next check.
#[derive(Debug, Default)]
pub struct Flows {
    table: BTreeMap<Flow, FlowState>,
    due: BTreeSet<(Time, Flow)>,
}

impl Flows {
    /// Adds a flow whose check is due immediately. If there are too many, removes and returns the
    /// flow that was silent longest.
    ///
    /// Flows of one pair of servers alternate between its parallel paths. A flow of
    /// acknowledgements (its source port is the lower one, like a service's) is counted separately:
    /// it carries little, and must not take its forward flow's turn.
    pub fn insert(&mut self, now: Time, flow: Flow, destination: NodeId) -> Option<Flow> {
        let answers = |flow: &Flow| flow.source_port() < flow.destination_port();
        let turn = self
            .table
            .iter()
            .filter(|(other, state)| state.destination == destination && answers(other) == answers(&flow));
        let turn = turn.count() as u32;
        let evicted = (self.table.len() >= FLOWS)
            .then(|| self.longest_silent())
            .flatten();
        if let Some(evicted) = evicted {
            self.remove(&evicted);
        }
        self.due.insert((now, flow));
        self.table.insert(
            flow,
            FlowState {
                destination,
                turn,
                current: None,
                good: Vec::new(),
                round: None,
                rate_bits_per_sec: 0.0,
                active_at: now,
                probings: 0,
                switches: 0,
                stranded: false,
                due: now,
            },
        );
        evicted
    }

    fn longest_silent(&self) -> Option<Flow> {
        let silent = self.table.iter().min_by_key(|(_, state)| state.active_at);
        silent.map(|(flow, _)| *flow)
    }

    /// Removes a flow.
    pub fn remove(&mut self, flow: &Flow) -> Option<FlowState> {
        let state = self.table.remove(flow)?;
        self.due.remove(&(state.due, *flow));
        Some(state)
    }

    /// Returns the state of a flow.
    pub fn get(&self, flow: &Flow) -> Option<&FlowState> {
        self.table.get(flow)
    }

    /// Returns the state of a flow for changing it.
    pub fn get_mut(&mut self, flow: &Flow) -> Option<&mut FlowState> {
        self.table.get_mut(flow)
    }

    /// All flows with their states.
    pub fn iter(&self) -> impl Iterator<Item = (&Flow, &FlowState)> {
        self.table.iter()
    }

    /// The five-tuples of all flows.
    pub fn keys(&self) -> Vec<Flow> {
        self.table.keys().copied().collect()
    }

    /// Sets the time of the next check to `due`, replacing any earlier plan.
    pub fn schedule(&mut self, flow: &Flow, due: Time) {
        if let Some(state) = self.table.get_mut(flow) {
            self.due.remove(&(state.due, *flow));
            state.due = due;
            self.due.insert((due, *flow));
        }
    }

    /// Schedules the next check of a flow at `due` or earlier.
    pub fn hasten(&mut self, flow: &Flow, due: Time) {
        if self.table.get(flow).is_some_and(|state| due < state.due) {
            self.schedule(flow, due);
        }
    }

    /// The time at which the next check is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The flows whose check is due.
    pub fn due(&self, now: Time) -> Vec<Flow> {
        let due = self.due.iter().take_while(|(due, _)| *due <= now);
        due.map(|(_, flow)| *flow).collect()
    }
}
