//! How large a structure would be, before it is built.

use crate::family::Shape;
use crate::finding::{Finding, TopologyError};
use crate::spec::TopologySpec;

/// Counts in closed form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of servers.
    pub servers: u64,
    /// Switches of all levels.
    pub switches: u64,
    /// Number of links.
    pub links: u64,
    /// Network ports of a server.
    pub server_ports: u32,
}

impl TopologySpec {
    /// The size of the structure without building it; takes microseconds for any size.
    pub fn size(&self) -> Result<Size, TopologyError> {
        let findings = self.validate();
        if findings.iter().any(Finding::is_error) {
            return Err(TopologyError { findings });
        }
        let shape = Shape::new(&self.resolve());
        let family = shape.family();
        Ok(Size {
            servers: u64::from(family.server_count()),
            switches: family.tiers().iter().map(|tier| u64::from(tier.count)).sum(),
            links: family.links_at_level().iter().sum(),
            server_ports: family.server_ports(),
        })
    }
}
