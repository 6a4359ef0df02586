//! `tell`: sends a message to a service of a server. The service answers by events.

use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::ToNode;
use cubeyard_messages::limits::SERVICE_MESSAGE_BYTES;

use super::At;
use crate::error::{FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::run::events::EventKind;
use crate::run::inspections::no_answer;
use crate::run::state::RunState;

/// The event log has at most this many characters of a message.
const LOGGED_CHARS: usize = 200;

/// Sends the message to the server's node, and adds it to the event log.
pub fn tell(run: &mut RunState, id: u32, service: String, bytes: Vec<u8>) -> Result<At> {
    let server = run.network.server(id)?;
    if bytes.len() > SERVICE_MESSAGE_BYTES {
        let limit = format!("at most {SERVICE_MESSAGE_BYTES} bytes");
        let given = format!("{} bytes", bytes.len());
        return Err(FabricError::bad("message", given, limit, "send less at once"));
    }
    if !run.nodes.is_connected(server) {
        return Err(no_answer(id));
    }
    let message = EventKind::ServiceMessage {
        server: id,
        service: service.chars().take(LOGGED_CHARS).collect(),
        message: String::from_utf8_lossy(&bytes)
            .chars()
            .take(LOGGED_CHARS)
            .collect(),
        bytes: bytes.len(),
    };
    let bytes = HexBytes(bytes);
    if !run.nodes.announce(server, &ToNode::Service { service, bytes }) {
        let message = format!("too many messages wait for the node of server {id}");
        return Err(FabricError::state(message, "wait until it reads them"));
    }
    run.events.add(message);
    Ok(At {
        at_nanos: monotonic_nanos(),
    })
}
