//! The subflows of MPTCP connections: adds them when a connection is established, replaces them
//! when they end, and reports them as events.
//!
//! A server's node opens the connection between the addresses of two ports; this module adds the
//! other subflows. The destination port of a connection is unique to its flow, and so identifies
//! the flow.
//!
//! Not here: which subflows a connection has (`cubeyard_routing::subflows`), and their counters,
//! which nodes report.

use std::collections::BTreeMap;

use cubeyard_dataplane::event::PathSummary;
use cubeyard_dataplane::inspection::{Cell, ColumnKind, Section};
use cubeyard_routing::hash::FiveTuple;

use super::events::EventKind;
use super::flow_paths::number;
use super::state::RunState;
use crate::error::Result;
use crate::host::probe;
use crate::netlink::{PathEvent, SubflowRequest};

/// The connections that servers have opened: by server and token, the index of the flow.
#[derive(Debug, Default)]
pub struct Connections {
    flows: BTreeMap<(usize, u32), usize>,
}

impl RunState {
    /// Handles the kernel's messages on a server's MPTCP.
    pub fn on_subflows(&mut self, server: usize) -> Result<()> {
        let kernel = self.kernels.servers[server].as_mut();
        let Some(paths) = kernel.and_then(|kernel| kernel.paths.as_mut()) else {
            return Ok(());
        };
        for event in paths.events()? {
            self.on_path_event(server, event);
        }
        Ok(())
    }

    fn on_path_event(&mut self, server: usize, event: PathEvent) {
        match event {
            PathEvent::Established {
                token,
                ports: [from, to],
                is_accepted: false,
            } => {
                if let Some(at) = self.workload.mptcp_sent_to(server, to) {
                    self.connections.flows.insert((server, token), at);
                    self.set_subflow(at, 0, Some(from));
                    self.add_missing(server, token, at);
                }
            }
            PathEvent::Established { .. } => {}
            PathEvent::Closed { token } => {
                if let Some(at) = self.connections.flows.remove(&(server, token)) {
                    for subflow in self.workload.subflows_mut(at) {
                        subflow.source_port = None;
                    }
                }
            }
            PathEvent::SubflowUp {
                token,
                id,
                source_port,
            } => self.on_subflow(server, token, id, Some(source_port)),
            PathEvent::SubflowDown { token, id } => self.on_subflow(server, token, id, None),
        }
    }

    fn on_subflow(&mut self, server: usize, token: u32, id: u8, source_port: Option<u16>) {
        if let Some(&at) = self.connections.flows.get(&(server, token)) {
            self.set_subflow(at, id, source_port);
        }
    }

    /// Records that a subflow has this source port, or has ended.
    fn set_subflow(&mut self, at: usize, number: u8, source_port: Option<u16>) {
        let Some(subflow) = self.workload.subflows_mut(at).get_mut(usize::from(number)) else {
            return;
        };
        let was_there = subflow.source_port.is_some();
        subflow.source_port = source_port;
        if source_port.is_some() {
            subflow.is_told = false;
            self.tell_subflows(at);
        } else if was_there {
            let kind = self.subflow_down(at, number, "closed");
            self.events.add(kind);
        }
    }

    fn subflow_down(&self, at: usize, subflow: u8, reason: &'static str) -> EventKind {
        EventKind::SubflowDown {
            server: self.id(self.workload.ends(at)[0]),
            flow: self.workload.id(at),
            subflow,
            reason,
        }
    }

    /// Emits an event for each subflow of a flow that has a new path or none any more.
    pub fn tell_subflows(&mut self, at: usize) {
        let servers = self.workload.ends(at);
        let ends = servers.map(|server| self.network.description.servers[server].id);
        for number_of in 0..self.workload.subflows(at).len() {
            let subflow = &self.workload.subflows(at)[number_of];
            let Some(source_port) = subflow.source_port else {
                continue;
            };
            let (by_port, was_told) = (subflow.planned.by_port, subflow.is_told);
            let addresses = [0, 1].map(|end| self.network.end_address(servers[end], by_port[end]).octets());
            let tuple = FiveTuple {
                addresses,
                protocol: 6,
                ports: [source_port, self.workload.sent_to(at)],
            };
            let tables = self.routes.tables().filter(|_| probe::knows_hash());
            let nodes = tables.map(|tables| self.nodes_of_path(tables, ends, by_port, &tuple));
            let now = nodes.clone().unwrap_or_default();
            if was_told && self.workload.subflows(at)[number_of].path == now {
                continue;
            }
            let kind = match &nodes {
                Some(nodes) if nodes.is_empty() => self.subflow_down(at, number_of as u8, "no-path"),
                known => EventKind::SubflowUp {
                    server: ends[0],
                    flow: self.workload.id(at),
                    subflow: number_of as u8,
                    ports: by_port,
                    path: known.as_ref().map(|nodes| PathSummary {
                        path_id: number(nodes),
                        servers: nodes.clone(),
                        available_bits_per_sec: None,
                        others: 0,
                    }),
                },
            };
            self.events.add(kind);
            let subflow = &mut self.workload.subflows_mut(at)[number_of];
            (subflow.path, subflow.is_told) = (now, true);
        }
    }

    /// The subflows that a server sends, with the ports and the path of each; `None` where no flow
    /// can be MPTCP.
    pub fn subflow_section(&self, id: u32) -> Option<Section> {
        let routing = self.network.routing.as_ref();
        let server = self.network.server(id).ok()?;
        routing.filter(|routing| routing.has_subflows())?;
        let mut rows = Vec::new();
        for at in (0..self.workload.flow_count()).filter(|at| self.workload.ends(*at)[0] == server) {
            for (number, subflow) in self.workload.subflows(at).iter().enumerate() {
                let port = |end: usize| {
                    let port = subflow.planned.by_port[end];
                    port.map_or(Cell::Empty, |port| Cell::Count(port.into()))
                };
                let path = match subflow.path.is_empty() || subflow.source_port.is_none() {
                    true => Cell::Empty,
                    false => Cell::Servers(subflow.path.clone()),
                };
                rows.push(vec![
                    Cell::Count(self.workload.id(at).into()),
                    Cell::Count(number as u64),
                    Cell::Flag(subflow.source_port.is_some()),
                    port(0),
                    port(1),
                    path,
                    Cell::Count(subflow.bytes()),
                ]);
            }
        }
        let columns = [
            ("flow", "Flow", ColumnKind::Count),
            ("subflow", "Subflow", ColumnKind::Count),
            ("up", "Up", ColumnKind::Flag),
            ("from_port", "From port", ColumnKind::Port),
            ("to_port", "To port", ColumnKind::Port),
            ("path", "Path", ColumnKind::Servers),
            ("bytes", "Bytes arrived", ColumnKind::Count),
        ];
        Some(Section::new("subflows", "MPTCP subflows", &columns, rows))
    }

    /// Requests all missing subflows: they have ended or could not be created.
    pub fn ask_for_subflows(&mut self) {
        let all: Vec<(usize, u32, usize)> = self
            .connections
            .flows
            .iter()
            .map(|((server, token), at)| (*server, *token, *at))
            .collect();
        for (server, token, at) in all {
            self.add_missing(server, token, at);
        }
    }

    /// Requests the missing subflows of a connection, including an ended first one, without which
    /// the connection continues. Refused requests are repeated later: the subflow is still being
    /// created, or its port has no cable.
    fn add_missing(&mut self, server: usize, token: u32, at: usize) {
        let [source, destination] = self.workload.ends(at);
        let port = self.workload.sent_to(at);
        let kernel = self.kernels.servers[server].as_mut();
        let Some(paths) = kernel.and_then(|kernel| kernel.paths.as_mut()) else {
            return;
        };
        let subflows = self.workload.subflows(at).iter().enumerate();
        for (number, subflow) in subflows.filter(|(_, subflow)| subflow.source_port.is_none()) {
            let [from, to] = subflow.planned.by_port;
            // The kernel keeps the source port of the first subflow, which is the connection's own.
            let source_port = subflow.planned.source_port.filter(|_| number > 0);
            let _asked_again_later = paths.add(&SubflowRequest {
                token,
                id: number as u8,
                from: (self.network.end_address(source, from), source_port),
                to: (self.network.end_address(destination, to), port),
            });
        }
    }
}
