//! `registers`: reads the registers of a server's chip, or writes one of them. `[serverswitch §3.3.2]`

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::error::{FabricError, Result};
use crate::run::state::RunState;

/// What they hold.
#[derive(Debug, Serialize)]
pub struct Registers {
    /// By name.
    registers: BTreeMap<String, u64>,
    /// How long it took.
    nanos: u64,
}

/// Reads all registers of a server's chip, after writing one of them if `write` names it. Errors: a server that is not here or off,
/// a forwarding without a chip in the kernel, a register that is not or that cannot have the value.
pub fn registers(run: &mut RunState, id: u32, write: Option<(&str, u64)>) -> Result<Registers> {
    let server = run.network.server(id)?;
    let has_classes = run.network.sharers().is_some();
    let gone = || {
        FabricError::state(
            format!("server {id} is not here"),
            "ask its host, or recover it first",
        )
    };
    let kernel = run.kernels.servers[server].as_mut().ok_or_else(gone)?;
    let queues = kernel.queues(has_classes)?;
    let Some(programs) = kernel.programs.as_mut() else {
        let fix = "run it with the dataplane serverswitch";
        return Err(FabricError::unsupported(
            "the run's servers have no chip in the kernel",
            fix,
        ));
    };
    let started = Instant::now();
    if let Some((name, value)) = write {
        programs.write_register(name, value, &queues)?;
    }
    let registers = programs.registers(&queues)?.into_iter().collect();
    Ok(Registers {
        registers,
        nanos: started.elapsed().as_nanos() as u64,
    })
}
