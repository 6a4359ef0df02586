//! The paths of flows through routers and chips: computed from the tables, with the kernel's hash
//! for routers, and reported as events.

use cubeyard_dataplane::event::{Event, PathSummary, SwitchReason};
use cubeyard_dataplane::flow::Flow;
use cubeyard_routing::hash::{self, FiveTuple};
use cubeyard_routing::random::mix;
use cubeyard_routing::tables::Tables;

use super::chips::Chips;
use super::state::RunState;
use crate::host::clock::monotonic_nanos;
use crate::host::probe;

/// State of a flow's path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowPath {
    /// The flow's five-tuple, as its source sends it.
    flow: Flow,
    /// The nodes of the path, including both ends; empty if the tables do not lead to the
    /// destination.
    nodes: Vec<u32>,
}

impl RunState {
    /// Emits an event for each flow whose path has changed with the tables. The event of a fault is
    /// emitted earlier, so that path changes appear within the fault. Emits nothing where switches
    /// are bridges, or if this kernel's hash differs from ours.
    pub fn tell_paths(&mut self) {
        let of_chips = self.chips.as_mut().and_then(Chips::take_untold);
        if let Some(reason) = self.routes.take_untold().or(of_chips) {
            for at in 0..self.workload.flow_count() {
                self.tell_path(at, reason);
                self.tell_subflows(at);
            }
        }
    }

    /// As [`RunState::tell_paths`], for one flow, given by its index in the workload.
    pub fn tell_path(&mut self, at: usize, reason: SwitchReason) {
        let Some(flow) = self.workload.tuple(&self.network, at) else {
            return;
        };
        let ends = self
            .workload
            .ends(at)
            .map(|server| self.network.description.servers[server].id);
        let nodes = match (&self.chips, self.routes.tables()) {
            (Some(chips), _) => chips.path(ends, flow.source_port()),
            (None, Some(tables)) if probe::knows_hash() => {
                let tuple = FiveTuple {
                    addresses: [flow.src, flow.dst],
                    protocol: flow.proto,
                    ports: [flow.source_port(), flow.destination_port()],
                };
                self.nodes_of_path(tables, ends, self.workload.by_port(at), &tuple)
            }
            _ => return,
        };
        let now = FlowPath { flow, nodes };
        let before = self.workload.path(at).clone();
        if before == now {
            return;
        }
        let event = path_event(&before, &now, reason);
        self.events.add_of_node(ends[0], monotonic_nanos(), event);
        self.workload.set_path(at, now);
    }
}

impl RunState {
    /// The nodes of the path of packets between two servers, by id; empty if the tables lead
    /// nowhere.
    pub(super) fn nodes_of_path(
        &self,
        tables: &Tables,
        ends: [u32; 2],
        by_port: [Option<u8>; 2],
        tuple: &FiveTuple,
    ) -> Vec<u32> {
        let seed = self.network.description.seed;
        let hops = hash::path_by_ports(tables, seed, ends, by_port, tuple).unwrap_or_default();
        let after = hops.iter().map(|hop| hop.far);
        match hops.is_empty() {
            true => Vec::new(),
            false => std::iter::once(ends[0]).chain(after).collect(),
        }
    }
}

fn path_event(before: &FlowPath, now: &FlowPath, reason: SwitchReason) -> Event {
    let flow = now.flow;
    let path = PathSummary {
        path_id: number(&now.nodes),
        servers: now.nodes.clone(),
        available_bits_per_sec: None,
        others: 0,
    };
    if now.nodes.is_empty() {
        Event::NoPath { flow }
    } else if before.flow != flow || before.nodes.is_empty() {
        Event::PathSelected { flow, path }
    } else {
        let from_path_id = number(&before.nodes);
        Event::PathSwitched {
            flow,
            from_path_id,
            path,
            reason,
        }
    }
}

/// A number for a path: equal for equal nodes, and 0 for no path.
pub(super) fn number(nodes: &[u32]) -> u32 {
    if nodes.is_empty() {
        return 0;
    }
    let mixed = nodes.iter().fold(0, |mixed, node| mix(mixed ^ u64::from(*node)));
    (mixed as u32).max(1)
}
