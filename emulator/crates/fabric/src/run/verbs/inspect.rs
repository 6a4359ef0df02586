//! `inspect`: the state of a server's node with the counters of its forwarding and, where switches
//! are routers, its routes. The node answers later, or the caller gets an error. For a router: its
//! routes, and the loads that it knows.

use std::collections::BTreeMap;
use std::time::Instant;

use cubeyard_dataplane::inspection::{Inspection, Section};
use cubeyard_messages::ToNode;
use serde::Serialize;

use crate::error::{FabricError, Result};
use crate::faults::ServerCondition;
use crate::run::Reply;
use crate::run::inspections::no_answer;
use crate::run::state::RunState;
use crate::run::verbs::answer;

/// Requests the state from a server's node, or returns that of a router. Sends the answer by
/// `reply`, unless it fails immediately.
pub fn inspect(run: &mut RunState, id: u32, reply: &Reply) -> Result<()> {
    if run.network.switches_decide() && run.network.switch(id).is_ok() {
        let inspected = Inspected {
            server: id,
            counts: BTreeMap::new(),
            sections: switch_sections(run, id),
        };
        // The caller may have disconnected, so a failure is ignored.
        let _ = reply.send(answer(inspected));
        return Ok(());
    }
    let server = run.network.server(id)?;
    if !run.network.division.has_server(server) {
        return Err(FabricError::not_found(
            "server on this host",
            id,
            "ask the host it is on",
        ));
    }
    let is_frozen = run.active_faults.server(server) == ServerCondition::Frozen;
    if is_frozen || !run.nodes.is_connected(server) {
        return Err(no_answer(id));
    }
    if !run.nodes.announce(server, &ToNode::Inspect) {
        let message = format!("too many messages wait for the node of server {id}");
        return Err(FabricError::state(message, "wait until it reads them"));
    }
    run.inspections.add(server, reply, Instant::now());
    Ok(())
}

/// State of a router or a chip.
fn switch_sections(run: &mut RunState, id: u32) -> Vec<Section> {
    let mut sections = run.chip_sections(id);
    sections.extend(routing_sections(run, id));
    sections
}

/// The routes of a router or server, and the loads that it knows.
fn routing_sections(run: &RunState, id: u32) -> Vec<Section> {
    let mut sections = run.balance_sections(id);
    sections.extend(run.subflow_section(id));
    sections.extend(run.routes.sections(&run.network, id));
    sections
}

/// The result of `inspect`.
#[derive(Debug, Serialize)]
struct Inspected {
    /// Id of the server or router.
    server: u32,
    /// Counters of the server's forwarding.
    counts: BTreeMap<String, u64>,
    /// The state as tables for users.
    sections: Vec<Section>,
}

/// Passes the state of a server's node to all callers that wait for it.
pub fn on_inspected(run: &mut RunState, server: usize, inspection: Inspection) {
    let kernel = run.kernels.servers[server].as_mut();
    // If the queues cannot be read, the other state is still useful.
    let queues = kernel.and_then(|kernel| kernel.queues().ok()).unwrap_or_default();
    let kernel = run.kernels.servers[server].as_ref();
    let counts = run.telemetry.forwarding.of(server, kernel).describe();
    let id = run.id(server);
    let programs = kernel.and_then(|kernel| kernel.programs.as_ref());
    let of_programs = programs
        .map(|programs| programs.inspect(&queues))
        .unwrap_or_default();
    let own = inspection.sections.into_iter();
    let sections = own.chain(of_programs).chain(routing_sections(run, id)).collect();
    let inspected = counts.map(|counts| Inspected {
        server: id,
        counts,
        sections,
    });
    run.inspections.answer(server, &inspected.and_then(answer));
}
