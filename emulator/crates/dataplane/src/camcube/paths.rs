//! The paths of this server's flows, for display: computed from the server's link state, like its
//! tables. `[ours]`
//!
//! Packets of one flow can take several disjoint paths at a time; the shortest live one is
//! reported, with the number of others. Flows to one destination share their paths.

use std::collections::BTreeMap;
use std::time::Duration;

use cubeyard_routing::random::mix;
use cubeyard_topology::NodeId;

use crate::address::server_of;
use crate::event::{Event, PathSummary, SwitchReason};
use crate::flow::Flow;
use crate::protocol::Time;

/// Maximum number of flows whose paths are reported. Packets of further flows are forwarded all the
/// same.
const MAX_FLOWS: usize = 4096;
/// A flow is removed after this time without packets.
const IDLE: Duration = Duration::from_secs(60);

/// The paths to a destination: the servers of the reported path, and the number of others in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// The servers of the path including both ends; empty if there is no path.
    pub servers: Vec<NodeId>,
    /// Number of further paths that packets take at the same time.
    pub others: u32,
}

impl Route {
    fn summary(&self) -> PathSummary {
        PathSummary {
            path_id: path_id(&self.servers),
            servers: self.servers.clone(),
            available_bits_per_sec: None,
            others: self.others,
        }
    }
}

/// A number for a path; 0 for no path.
fn path_id(servers: &[NodeId]) -> u32 {
    let hash = servers
        .iter()
        .fold(0u64, |hash, &server| mix(hash ^ mix(server.into())));
    if servers.is_empty() {
        0
    } else {
        (hash >> 32) as u32 | 1
    }
}

/// The flows to one destination, each with the time of its last packet.
#[derive(Debug, Default)]
struct Target {
    flows: BTreeMap<Flow, Time>,
    route: Route,
}

/// The paths of all flows from a server.
#[derive(Debug, Default)]
pub struct Paths {
    targets: BTreeMap<NodeId, Target>,
}

impl Paths {
    /// Records activity of a flow. If the flow is new, returns the event with its path. `route`
    /// computes the paths to a destination.
    pub fn on_active(&mut self, now: Time, flow: Flow, route: impl Fn(NodeId) -> Route) -> Option<Event> {
        let destination = server_of(flow.dst.into())?;
        if let Some(active_at) = self
            .targets
            .get_mut(&destination)
            .and_then(|target| target.flows.get_mut(&flow))
        {
            *active_at = now;
            return None;
        }
        let flows: usize = self.targets.values().map(|target| target.flows.len()).sum();
        if flows >= MAX_FLOWS {
            return None;
        }
        let target = self.targets.entry(destination).or_insert_with(|| Target {
            flows: BTreeMap::new(),
            route: route(destination),
        });
        target.flows.insert(flow, now);
        let known = !target.route.servers.is_empty();
        known.then(|| Event::PathSelected {
            flow,
            path: target.route.summary(),
        })
    }

    /// Removes a flow that has ended.
    pub fn forget(&mut self, flow: &Flow) {
        for target in self.targets.values_mut() {
            target.flows.remove(flow);
        }
        self.targets.retain(|_, target| !target.flows.is_empty());
    }

    /// Handles a change of link state: returns events for flows whose path has changed.
    pub fn refresh(&mut self, now: Time, route: impl Fn(NodeId) -> Route) -> Vec<Event> {
        let mut events = Vec::new();
        for (&destination, target) in &mut self.targets {
            target.flows.retain(|_, active_at| now < *active_at + IDLE);
            let is = route(destination);
            let was = std::mem::replace(&mut target.route, is.clone());
            if was.servers == is.servers {
                continue;
            }
            for &flow in target.flows.keys() {
                events.push(changed(flow, &was, &is));
            }
        }
        self.targets.retain(|_, target| !target.flows.is_empty());
        events
    }

    /// The number of a flow's path; 0 where none is known.
    pub fn path_of(&self, flow: &Flow) -> u32 {
        let target = server_of(flow.dst.into()).and_then(|destination| self.targets.get(&destination));
        target
            .filter(|target| target.flows.contains_key(flow))
            .map_or(0, |target| path_id(&target.route.servers))
    }
}

fn changed(flow: Flow, was: &Route, is: &Route) -> Event {
    if is.servers.is_empty() {
        return Event::NoPath { flow };
    }
    let path = is.summary();
    if was.servers.is_empty() {
        return Event::PathSelected { flow, path };
    }
    let reason = if is.servers.len() < was.servers.len() {
        SwitchReason::Recovery
    } else {
        SwitchReason::Failure
    };
    let from_path_id = path_id(&was.servers);
    Event::PathSwitched {
        flow,
        from_path_id,
        path,
        reason,
    }
}
