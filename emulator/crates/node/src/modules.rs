//! Services of users: their modules arrive in parts, and are hosted once they are complete.

use cubeyard_dataplane::service::{MAX_MODULE_BYTES, Services};
use cubeyard_sandbox::{Module, UserService};

use crate::clock::now;

/// A part of a module.
#[derive(Debug)]
pub struct Part<'a> {
    /// Name of the service.
    pub service: &'a str,
    /// Number of the service in packets.
    pub id: u16,
    /// Number of bytes in earlier parts.
    pub offset: u32,
    /// Content of the part.
    pub bytes: &'a [u8],
    /// Whether it is the last part.
    pub last: bool,
}

/// The module that is being received.
#[derive(Debug, Default)]
pub struct Modules {
    begun: Vec<u8>,
}

impl Modules {
    /// Adds a part; the last one makes the service start. Errors: parts out of order or too long, a
    /// module that is no service, a name or number that is taken.
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
