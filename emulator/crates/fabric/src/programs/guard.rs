//! The program that hides packets from the kernel's network stack if the node forwards them.

use aya::Ebpf;
use cubeyard_dataplane::object::GUARD;

use super::object::{descriptor, open, program};
use crate::error::{During, Result};
use crate::netlink::{Batch, Hook, attach_program};

/// The loaded program.
#[derive(Debug)]
pub struct Guard {
    loaded: Ebpf,
}

impl Guard {
    /// Loads the program. Nothing is attached yet.
    pub fn load() -> Result<Guard> {
        let mut loaded = open(GUARD)?;
        program(&mut loaded, GUARD.port)?
            .load()
            .during(|| "loading the guard".to_owned())?;
        Ok(Guard { loaded })
    }

    /// Attaches the program to an interface, by its number.
    pub fn attach(&self, batch: &mut Batch, index: u32) -> Result<()> {
        attach_program(batch, index, descriptor(&self.loaded, GUARD.port)?, Hook::Ingress);
        Ok(())
    }
}
