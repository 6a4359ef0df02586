//! The paths of this server's flows, for display: packets do not contain their path, so a trace
//! message follows the tables from server to server and returns the list of visited servers.
//! `[ours]`
//!
//! Flows to one destination share a path. Traces are sent when a flow begins, when link state
//! changes, and periodically.

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_routing::random::mix;
use cubeyard_topology::NodeId;

use super::message::Answer;
use crate::address::server_of;
use crate::event::{Event, PathSummary, SwitchReason};
use crate::flow::Flow;
use crate::protocol::Time;

/// Maximum number of flows whose paths are known. Packets of further flows are forwarded all the
/// same.
const MAX_FLOWS: usize = 4096;
/// A flow is removed after this time without packets.
const IDLE: Duration = Duration::from_secs(60);
/// Minimum time between two traces to one destination.
const LEAST_GAP: Duration = Duration::from_millis(50);

/// The flows to one destination, with their path.
#[derive(Debug, Default)]
struct Target {
    /// The time of each flow's last packet, and whether its path was reported.
    flows: BTreeMap<Flow, (Time, bool)>,
    path: Option<Vec<NodeId>>,
    /// Number of the pending trace, and the time when it was sent.
    asked: Option<(u32, Time)>,
    due: Time,
}

/// The paths of all flows from a server.
#[derive(Debug)]
pub struct Traces {
    period: Duration,
    targets: BTreeMap<NodeId, Target>,
    flows: usize,
    number: u32,
}

/// A number for a path.
pub fn path_id(servers: &[NodeId]) -> u32 {
    let hash = servers
        .iter()
        .fold(0u64, |hash, &server| mix(hash ^ mix(server.into())));
    (hash >> 32) as u32 | 1
}

fn summary(servers: &[NodeId]) -> PathSummary {
    PathSummary {
        path_id: path_id(servers),
        servers: servers.to_vec(),
        available_bits_per_sec: None,
        others: 0,
    }
}

impl Traces {
    /// A state without flows. Paths are traced every `period`.
    pub fn new(period: Duration) -> Traces {
        Traces {
            period,
            targets: BTreeMap::new(),
            flows: 0,
            number: 0,
        }
    }

    /// Records activity of a flow.
    pub fn on_active(&mut self, now: Time, flow: Flow) {
        let Some(destination) = server_of(flow.dst.into()) else {
            return;
        };
        let known = self
            .targets
            .get(&destination)
            .is_some_and(|target| target.flows.contains_key(&flow));
        if !known && self.flows >= MAX_FLOWS {
            return;
        }
        let target = self.targets.entry(destination).or_insert_with(|| Target {
            due: now,
            ..Target::default()
        });
        let (active_at, reported) = target.flows.get(&flow).copied().unwrap_or((now, false));
        target.flows.insert(flow, (active_at.max(now), reported));
        if !known {
            self.flows += 1;
            target.due = target.due.min(now);
        }
    }

    /// Removes a flow that has ended.
    pub fn forget(&mut self, flow: &Flow) {
        let destination = server_of(flow.dst.into());
        let Some((destination, target)) = destination.and_then(|to| Some((to, self.targets.get_mut(&to)?)))
        else {
            return;
        };
        self.flows -= usize::from(target.flows.remove(flow).is_some());
        if target.flows.is_empty() {
            self.targets.remove(&destination);
        }
    }

    /// Removes flows that have been idle for too long, and returns them.
    pub fn idle(&mut self, now: Time) -> Vec<Flow> {
        let all = self.targets.values().flat_map(|target| &target.flows);
        let idle = all.filter(|(_, (active_at, _))| now >= *active_at + IDLE);
        let idle: Vec<Flow> = idle.map(|(flow, _)| *flow).collect();
        idle.iter().for_each(|flow| self.forget(flow));
        idle
    }

    /// Schedules early traces of all paths, since they may have changed.
    pub fn hasten(&mut self, now: Time) {
        for target in self.targets.values_mut() {
            let earliest = target.asked.map_or(now, |(_, at)| (at + LEAST_GAP).max(now));
            target.due = target.due.min(earliest);
        }
    }

    /// The time of the next trace.
    pub fn next_timeout(&self) -> Option<Time> {
        self.targets.values().map(|target| target.due).min()
    }

    /// The destinations whose traces are due, each with the number of the new trace.
    pub fn due(&mut self, now: Time) -> Vec<(NodeId, u32)> {
        let mut due = Vec::new();
        for (&destination, target) in &mut self.targets {
            if now >= target.due {
                self.number = self.number.wrapping_add(1);
                target.asked = Some((self.number, now));
                target.due = now + self.period;
                due.push((destination, self.number));
            }
        }
        due
    }

    /// Handles an answer and returns the resulting events; none if the answer belongs to no pending
    /// trace.
    pub fn on_answer(&mut self, answer: &Answer) -> Vec<Event> {
        let asked = |target: &Target| target.asked.is_some_and(|(number, _)| number == answer.number);
        let target_of = self.targets.iter_mut().find(|(_, target)| asked(target));
        let Some((&destination, target)) = target_of else {
            return Vec::new();
        };
        // A trace that ended elsewhere met a broken path. The next trace finds the path that
        // replaces it.
        if !answer.arrived || answer.servers.last() != Some(&destination) {
            return Vec::new();
        }
        let path = summary(&answer.servers);
        let before = target.path.replace(answer.servers.clone());
        let changed = before.as_ref().filter(|before| **before != answer.servers);
        let mut events = Vec::new();
        for (flow, (_, reported)) in &mut target.flows {
            let (flow, path) = (*flow, path.clone());
            if !std::mem::replace(reported, true) {
                events.push(Event::PathSelected { flow, path });
            } else if let Some(before) = changed {
                events.push(Event::PathSwitched {
                    flow,
                    from_path_id: path_id(before),
                    path,
                    reason: if answer.servers.len() < before.len() {
                        SwitchReason::Recovery
                    } else {
                        SwitchReason::Failure
                    },
                });
            }
        }
        events
    }

    /// The last known path to a destination.
    pub fn path_to(&self, destination: NodeId) -> Option<&[NodeId]> {
        self.targets.get(&destination)?.path.as_deref()
    }

    /// Every destination with its number of flows and its path, for users.
    pub fn status(&self) -> impl Iterator<Item = (NodeId, usize, Option<PathSummary>)> + '_ {
        self.targets.iter().map(|(&destination, target)| {
            let path = target.path.as_deref().map(summary);
            (destination, target.flows.len(), path)
        })
    }
}
