//! `registers`: reads all registers of a server's chip or a single one, or writes one.
//! `[serverswitch §3.3.2]`

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

use crate::error::{FabricError, Result};
use crate::run::state::RunState;

/// Values that were read.
#[derive(Debug, Serialize)]
pub struct Registers {
    /// Values of registers, by name.
    registers: BTreeMap<String, u64>,
    /// Time to read all registers, or to write one, in nanoseconds.
    nanos: u64,
}

/// Reads the registers of a server's chip. `register` selects one: with a value, it is written, and
/// then all are read; without, only this one is read. Errors: a server that is off or on another
/// host, no chip in the kernel, an unknown register, a value that the register cannot have.
pub fn registers(run: &mut RunState, id: u32, register: Option<(&str, Option<u64>)>) -> Result<Registers> {
    let server = run.network.server(id)?;
    let gone = || {
        FabricError::state(
            format!("server {id} is not here"),
            "ask its host, or recover it first",
        )
    };
    let kernel = run.kernels.servers[server].as_mut().ok_or_else(gone)?;
    let queues = kernel.queues()?;
    let Some(programs) = kernel.programs.as_mut() else {
        let fix = "run it with the dataplane serverswitch";
        return Err(FabricError::unsupported(
            "the run's servers have no chip in the kernel",
            fix,
        ));
    };
    let started = Instant::now();
    let nanos = || started.elapsed().as_nanos() as u64;
    let (registers, nanos) = match register {
        Some((name, None)) => {
            let value = programs.register(name, &queues)?;
            let nanos = nanos();
            (BTreeMap::from([(name.to_owned(), value)]), nanos)
        }
        Some((name, Some(value))) => {
            programs.write_register(name, value)?;
            let nanos = nanos();
            (programs.registers(&queues)?.into_iter().collect(), nanos)
        }
        None => {
            let all = programs.registers(&queues)?;
            (all.into_iter().collect(), nanos())
        }
    };
    Ok(Registers { registers, nanos })
}
