//! `chip`: a request to the chip of a server, as programs on its own socket make them. The node answers later, or the caller gets an
//! error. What a request is and what it may do, `cubeyard_chip::api` says; nothing of it is read here.

use std::time::Instant;

use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::ToNode;
use serde::Serialize;

use crate::error::{FabricError, Result};
use crate::faults::ServerCondition;
use crate::run::Reply;
use crate::run::inspections::no_answer;
use crate::run::state::RunState;
use crate::run::verbs::answer;

/// Longest request: it goes to the node in hexadecimal digits.
const MAX_REQUEST_BYTES: usize = 28 * 1024;

/// The answer.
#[derive(Debug, Serialize)]
struct Answered {
    /// The id of the server.
    server: u32,
    /// Its answer, in hexadecimal digits.
    answer: HexBytes,
}

/// Sends the request to the node of a server. Answers by `reply` unless it fails at once.
pub fn ask(run: &mut RunState, id: u32, request: Vec<u8>, reply: &Reply) -> Result<()> {
    let server = run.network.server(id)?;
    if !run.network.division.has_server(server) {
        let fix = "ask the host it is on";
        return Err(FabricError::not_found("server on this host", id, fix));
    }
    let behaviour = &run.network.behaviour;
    if !behaviour.in_user_space()
        || behaviour
            .forwarding
            .is_none_or(|forwarding| forwarding.program.is_none())
    {
        let fix = "start the run with the forwarding serverswitch-software, or commit a whole program to all servers";
        return Err(FabricError::state(
            "no chip in user space forwards in this run",
            fix,
        ));
    }
    if request.len() > MAX_REQUEST_BYTES {
        let limit = format!("at most {MAX_REQUEST_BYTES} bytes");
        let given = format!("{} bytes", request.len());
        return Err(FabricError::bad("request", given, limit, "send less at once"));
    }
    let is_frozen = run.damage.server(server) == ServerCondition::Frozen;
    if is_frozen || !run.nodes.is_connected(server) {
        return Err(no_answer(id));
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

/// A node has answered.
pub fn on_answer(run: &mut RunState, server: usize, number: u64, bytes: &HexBytes) {
    let answered = Answered {
        server: run.id(server),
        answer: bytes.clone(),
    };
    run.chip_requests.answer(server, number, answer(answered));
}
