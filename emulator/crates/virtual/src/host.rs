//! One server: its protocol and its forwarding.

use cubeyard_dataplane::catalog::{ForwardingKind, ProtocolEntry};
use cubeyard_dataplane::configuration::{Configuration, ConfigurationError};
use cubeyard_dataplane::forwarding::Forwarding;
use cubeyard_dataplane::protocol::{Protocol, Time};

/// A server in virtual time.
pub struct Host {
    /// The control half.
    pub protocol: Box<dyn Protocol>,
    /// The packet half.
    pub forwarding: Box<dyn Forwarding>,
    /// `false` after its power was lost.
    pub running: bool,
    /// Counts the requested wake-ups, so that only the latest is valid.
    pub wake: u64,
}

impl Host {
    /// A server that starts now, over the forwarding of that name.
    ///
    /// Errors: a configuration that the protocol refuses, or a protocol without such a forwarding
    /// in user space.
    pub fn start(
        entry: &ProtocolEntry,
        forwarding: &str,
        configuration: &Configuration,
        now: Time,
    ) -> Result<Host, ConfigurationError> {
        let make_forwarding = match entry.forwarding(forwarding).map(|entry| entry.kind) {
            Some(ForwardingKind::Software(make)) => Some(make),
            Some(ForwardingKind::Kernel(_)) | None => None,
        };
        let (Some(make), Some(make_forwarding)) = (entry.protocol, make_forwarding) else {
            return Err(ConfigurationError {
                field: "protocol".to_owned(),
                value: entry.name.to_owned(),
                limit: "one whose servers forward in user space".to_owned(),
                fix: "Take another protocol.".to_owned(),
            });
        };
        Ok(Host {
            protocol: make(configuration, now)?,
            forwarding: make_forwarding(configuration)?,
            running: true,
            wake: 0,
        })
    }
}
