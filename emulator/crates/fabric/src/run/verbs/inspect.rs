//! `inspect`: the state of a server's node, with counters of the server's forwarding, and its
//! routes where switches are routers. The node answers later, or the caller gets an error. For a
//! router, the result contains its routes and the load that it knows of.

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

/// Requests the state from a server's node, or answers for a router. Answers by `reply` unless it
/// fails at once.
pub fn inspect(run: &mut RunState, id: u32, reply: &Reply) -> Result<()> {
    if run.network.switches_decide() && run.network.switch(id).is_ok() {
        let inspected = Inspected {
            server: id,
            counts: BTreeMap::new(),
            sections: switch_sections(run, id),
        };
        // A caller that has gone does not need the answer.
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
    let is_frozen = run.damage.server(server) == ServerCondition::Frozen;
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

/// The routes of a router or server, and the load that it knows of.
fn routing_sections(run: &RunState, id: u32) -> Vec<Section> {
    let mut sections = run.balance_sections(id);
    sections.extend(run.subflow_section(id));
    sections.extend(run.routes.sections(&run.network, id));
    sections
}

/// The result of `inspect`.
#[derive(Debug, Serialize)]
struct Inspected {
    /// The id of the server or router.
    server: u32,
    /// Counters of its forwarding.
    counts: BTreeMap<String, u64>,
    /// The state of its protocol.
    sections: Vec<Section>,
}

/// Answers everybody who waits for a server's node, which has sent this.
pub fn on_inspected(run: &mut RunState, server: usize, inspection: Inspection) {
    let kernel = run.kernels.servers[server].as_mut();
    // Without them the rest is still worth telling.
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
