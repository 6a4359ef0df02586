//! `program`: returns the program of the servers' chips, or loads a user's program into each chip
//! of this host, while packets flow. The change is atomic on each server; a packet may be handled
//! by the old program at one server and by the new one at the next.

use std::sync::Arc;
use std::time::Instant;

use cubeyard_messages::ToNode;
use serde::Serialize;

use crate::error::{During, FabricError, Result};
use crate::host::clock::monotonic_nanos;
use crate::network::program;
use crate::run::events::EventKind;
use crate::run::state::RunState;

/// The result of loading a program.
#[derive(Debug, Serialize)]
pub struct Committed {
    /// Number of servers that have the program now. Servers that are off get it when they start.
    servers: usize,
    /// Duration for all servers, in microseconds.
    micros: u64,
    /// Completion time, on the monotonic clock.
    at_nanos: u64,
}

/// The current program of chips.
#[derive(Debug, Serialize)]
pub struct Running {
    /// Text of the program; `null` if users cannot program the servers.
    program: Option<String>,
}

/// The current program of the servers' chips: a user's, or the forwarding's own.
pub fn program(run: &RunState) -> Running {
    let own = run
        .network
        .behaviour
        .forwarding
        .and_then(|forwarding| forwarding.program);
    let users = run.network.set_program().map(str::to_owned);
    Running {
        program: users.or_else(|| own.map(|program| program.own.to_owned())),
    }
}

/// Checks the program for every server, then commits it. Errors: a program that a server cannot
/// run; then nothing changes.
pub fn set_program(run: &mut RunState, text: &str) -> Result<Committed> {
    let network = &run.network;
    let places = &network.places_of_servers.run;
    program::check("program", text, network.behaviour.forwarding, places)?;
    let started = Instant::now();
    let in_user_space = network.behaviour.in_user_space();
    // Stored for servers that start later.
    Arc::make_mut(&mut run.network).description.program = Some(text.to_owned());
    let mut servers = 0;
    for server in run.network.servers_here() {
        if in_user_space {
            if !run.nodes.is_connected(server) {
                continue;
            }
            if !run.nodes.announce(
                server,
                &ToNode::Program {
                    text: text.to_owned(),
                },
            ) {
                let message = format!("too many messages wait for the node of server {}", run.id(server));
                return Err(FabricError::state(message, "commit again when it reads them"));
            }
        } else {
            let kernel = run.kernels.servers[server].as_mut();
            let Some(programs) = kernel.and_then(|kernel| kernel.programs.as_mut()) else {
                continue;
            };
            programs
                .set_program(text)
                .during(|| "committing the chip's program".to_owned())?;
        }
        servers += 1;
    }
    let micros = started.elapsed().as_micros() as u64;
    run.events.add(EventKind::ProgramCommitted { servers, micros });
    Ok(Committed {
        servers,
        micros,
        at_nanos: monotonic_nanos(),
    })
}
