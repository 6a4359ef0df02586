//! Maps ids of the topology to indices of the description, and checks the ids.

use std::collections::BTreeMap;

use cubeyard_dataplane::address::{MAX_SERVER, virtual_ip};

use super::Description;
use crate::error::{FabricError, Result};
use crate::names::ID_LIMIT;

/// Indices by id.
#[derive(Clone, Debug, Default)]
pub struct Index {
    servers: BTreeMap<u32, usize>,
    switches: BTreeMap<u32, usize>,
    links: BTreeMap<u32, usize>,
}

impl Index {
    /// Checks all ids of a description: in range and unique.
    pub fn new(description: &Description) -> Result<Index> {
        let mut index = Index::default();
        for (at, server) in description.servers.iter().enumerate() {
            let field = |name: &str| format!("network.servers[{at}].{name}");
            let Some(address) = virtual_ip(server.id) else {
                let limit = format!("at most {MAX_SERVER}");
                let fix = "emulate a slice with lower ids";
                return Err(FabricError::bad(field("id"), server.id, limit, fix));
            };
            if let Some(ip) = server.ip.filter(|ip| *ip != address) {
                let limit = address.to_string();
                return Err(FabricError::bad(field("ip"), ip, limit, "leave it out"));
            }
            let taken = index.servers.insert(server.id, at).is_some();
            refuse_if(taken, field("id"), server.id, "unique among servers")?;
        }
        for (at, switch) in description.switches.iter().enumerate() {
            let field = format!("network.switches[{at}].id");
            check_range(&field, switch.id)?;
            let taken = index.servers.contains_key(&switch.id);
            let taken = index.switches.insert(switch.id, at).is_some() || taken;
            refuse_if(taken, field, switch.id, "unique among servers and switches")?;
        }
        for (at, link) in description.links.iter().enumerate() {
            let field = format!("network.links[{at}].id");
            check_range(&field, link.id)?;
            let taken = index.links.insert(link.id, at).is_some();
            refuse_if(taken, field, link.id, "unique among links")?;
        }
        Ok(index)
    }

    /// Index of the server with this id.
    pub fn server(&self, id: u32) -> Option<usize> {
        self.servers.get(&id).copied()
    }

    /// Index of the switch with this id.
    pub fn switch(&self, id: u32) -> Option<usize> {
        self.switches.get(&id).copied()
    }

    /// Index of the link with this id.
    pub fn link(&self, id: u32) -> Option<usize> {
        self.links.get(&id).copied()
    }
}

fn check_range(field: &str, id: u32) -> Result<()> {
    if id < ID_LIMIT {
        return Ok(());
    }
    let limit = format!("less than {ID_LIMIT}");
    Err(FabricError::bad(field, id, limit, "use the topology's ids"))
}

fn refuse_if(taken: bool, field: String, id: u32, limit: &str) -> Result<()> {
    if taken {
        return Err(FabricError::bad(field, id, limit, "list each id once"));
    }
    Ok(())
}
