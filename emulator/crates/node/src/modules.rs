//! Services that users wrote: their modules come in parts, and are hosted once they are whole.

use cubeyard_dataplane::service::{MAX_MODULE_BYTES, Services};
use cubeyard_sandbox::{Module, UserService};

use crate::clock::now;

/// A part of a module.
#[derive(Debug)]
pub struct Part<'a> {
    /// The service's name.
    pub service: &'a str,
    /// Its number in packets.
    pub id: u16,
    /// Bytes before it.
    pub offset: u32,
    /// The part.
    pub bytes: &'a [u8],
    /// Whether it is the last one.
    pub last: bool,
}

/// The module that is being received.
#[derive(Debug, Default)]
pub struct Modules {
    begun: Vec<u8>,
}

impl Modules {
    /// Takes a part in; with the last one, the service is hosted. Errors: parts out of order or too
    /// long, a module that is no service, a name or number that is taken.
    pub fn take(&mut self, part: &Part<'_>, services: &mut dyn Services) -> Result<(), String> {
        if part.offset == 0 {
            self.begun.clear();
        }
        let name = part.service;
        if part.offset as usize != self.begun.len() || self.begun.len() + part.bytes.len() > MAX_MODULE_BYTES
        {
            self.begun.clear();
            return Err(format!(
                "The module of service {name} does not arrive whole: send its parts in order, at most \
                 {MAX_MODULE_BYTES} bytes."
            ));
        }
        self.begun.extend(part.bytes);
        if !part.last {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.begun);
        let now = now();
        let module = Module::new(&bytes).map_err(|flaw| format!("Service {name}: {flaw}"))?;
        let service =
            UserService::new(name, &module, now).map_err(|flaw| format!("Service {name}: {flaw}"))?;
        services.host(now, part.id, Box::new(service))
    }
}
