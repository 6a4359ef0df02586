//! `chip`: a request to the chip of a server, in the format of the chip's own socket. The fabric
//! itself answers requests about the tables of a chip in the kernel. All other requests go to the
//! node; the caller gets its answer later, or an error. `cubeyard_chip::api` defines the requests
//! and their limits.

use std::time::Instant;

use cubeyard_chip::api::is_about_tables;
use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::ToNode;
use cubeyard_messages::limits::CHIP_REQUEST_BYTES;
use serde::Serialize;

use crate::error::{FabricError, Result};
use crate::faults::ServerCondition;
use crate::run::Reply;
use crate::run::chip_calls::Caller;
use crate::run::inspections::no_answer;
use crate::run::state::RunState;
use crate::run::verbs::answer;

/// The result of a request to a chip.
#[derive(Debug, Serialize)]
struct Answered {
    /// Id of the server.
    server: u32,
    /// The chip's answer, in hexadecimal digits.
    answer: HexBytes,
}

/// Carries out the request, or sends it to the node of a server. Sends the answer by `reply`,
/// unless it fails immediately.
pub fn ask(run: &mut RunState, id: u32, request: Vec<u8>, reply: &Reply) -> Result<()> {
    let server = run.network.server(id)?;
    if !run.network.division.has_server(server) {
        let fix = "ask the host it is on";
        return Err(FabricError::not_found("server on this host", id, fix));
    }
    let place = place_of(run, server)?;
    if request.len() > CHIP_REQUEST_BYTES {
        let limit = format!("at most {CHIP_REQUEST_BYTES} bytes");
        let given = format!("{} bytes", request.len());
        return Err(FabricError::bad("request", given, limit, "send less at once"));
    }
    let is_frozen = run.active_faults.server(server) == ServerCondition::Frozen;
    if is_frozen || !run.nodes.is_connected(server) {
        return Err(no_answer(id));
    }
    if place == ChipPlace::Kernel && is_about_tables(&request) {
        let answered = run.call_chip(server, Caller::Fabric, &request)?;
        let bytes = answered.bytes.get(4..).unwrap_or_default().to_vec();
        let answered = Answered {
            server: id,
            answer: HexBytes(bytes),
        };
        // The caller may have disconnected, so a failure is ignored.
        let _ = reply.send(answer(answered));
        return Ok(());
    }
    let number = run.chip_requests.add(server, reply, Instant::now())?;
    let request = HexBytes(request);
    if !run.nodes.announce(server, &ToNode::Chip { id: number, request }) {
        let message = format!("too many messages wait for the node of server {id}");
        let error = FabricError::state(message, "wait until it reads them");
        run.chip_requests.end(server, &error);
    }
    Ok(())
}

/// Location of a server's chip.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChipPlace {
    /// In the kernel: the fabric has its tables, and packets go between the kernel and the node.
    Kernel,
    /// In the server's node.
    Node,
}

fn place_of(run: &RunState, server: usize) -> Result<ChipPlace> {
    let behaviour = &run.network.behaviour;
    let is_programmed = behaviour
        .forwarding
        .is_some_and(|forwarding| forwarding.program.is_some());
    if is_programmed && behaviour.in_user_space() {
        return Ok(ChipPlace::Node);
    }
    if is_programmed && run.kernels.servers[server].is_some() {
        return Ok(ChipPlace::Kernel);
    }
    let fix = "start the run with the dataplane serverswitch or serverswitch-software";
    Err(FabricError::state("the server has no chip", fix))
}

/// Handles the answer of a node.
pub fn on_answer(run: &mut RunState, server: usize, number: u64, bytes: &HexBytes) {
    let answered = Answered {
        server: run.id(server),
        answer: bytes.clone(),
    };
    run.chip_requests.answer(server, number, answer(answered));
}
