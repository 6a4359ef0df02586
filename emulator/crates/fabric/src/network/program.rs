//! Checks whether all servers of the run can run a user's program for their chips.

use cubeyard_dataplane::catalog::{ForwardingEntry, MAX_PROGRAM_BYTES};
use cubeyard_dataplane::configuration::RunPlan;

use super::Network;
use crate::error::{FabricError, Result};

impl Network {
    /// The program that replaces the default program of the servers' chips: the user's, or the one
    /// that sends questions about queues.
    pub fn set_program(&self) -> Option<&str> {
        let marked = self
            .behaviour
            .forwarding
            .and_then(|forwarding| forwarding.program?.marked);
        let marked = marked.filter(|_| self.description.congestion.is_some());
        self.description.program.as_deref().or(marked)
    }
}

/// Checks a program for every server, in O(servers × executed instructions). Errors name `field`,
/// and the first wrong line.
pub fn check(field: &str, text: &str, forwarding: Option<&ForwardingEntry>, run: &RunPlan) -> Result<()> {
    let Some(program) = forwarding.and_then(|forwarding| forwarding.program) else {
        let given = forwarding.map_or("no forwarding", |forwarding| forwarding.name);
        let limit = "with a forwarding that users can program";
        let fix = "leave it out, or choose another forwarding";
        return Err(FabricError::bad(field, format!("given with {given}"), limit, fix));
    };
    if text.len() > MAX_PROGRAM_BYTES {
        let limit = format!("at most {MAX_PROGRAM_BYTES} bytes");
        let fix = "shorten it, for example by loops";
        return Err(FabricError::bad(
            field,
            format!("{} bytes", text.len()),
            limit,
            fix,
        ));
    }
    for server in &run.servers {
        let Err(flaws) = (program.check)(server, text) else {
            continue;
        };
        let Some(flaw) = flaws.into_iter().next() else {
            continue;
        };
        let place = match flaw.line {
            0 => field.to_owned(),
            line => format!("{field}:{line}:{}", flaw.column),
        };
        let given = format!("a program whose {} is {}", flaw.field, flaw.value);
        return Err(FabricError::bad(place, given, flaw.limit, flaw.hint));
    }
    Ok(())
}
