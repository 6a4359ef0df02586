//! Networks whose switches are switching chips: checks of the description.

use std::collections::BTreeSet;

use cubeyard_topology::Topology;

use super::Network;
use super::behaviour::refused;
use crate::error::{FabricError, Result};

/// Links of the topology that the network leaves out, by their two nodes; none where switches are
/// no chips. Errors: several hosts, a topology that the chips' control does not support, a link
/// outside the topology.
pub fn outside(network: &Network) -> Result<BTreeSet<(u32, u32)>> {
    let description = &network.description;
    let Some(chips) = network.behaviour.entry.chips else {
        return Ok(BTreeSet::new());
    };
    if let Some(hosts) = description
        .hosts
        .as_ref()
        .filter(|hosts| hosts.underlays.len() > 1)
    {
        let given = format!("{} hosts", hosts.underlays.len());
        let limit = "one host with switches that are chips: a chip has no parts";
        return Err(FabricError::bad(
            "network.hosts",
            given,
            limit,
            "emulate it on one host",
        ));
    }
    (chips.control)(&network.spec).map_err(refused)?;
    let topology = Topology::build(&network.spec).map_err(|error| {
        let fix = "take the spec from the experiment";
        FabricError::bad(
            "network.spec",
            description.spec.to_string(),
            error.to_string(),
            fix,
        )
    })?;
    let links = topology.links();
    let mut outside: BTreeSet<(u32, u32)> = (0..links.len())
        .map(|link| (links.a[link], links.b[link]))
        .collect();
    for (at, link) in description.links.iter().enumerate() {
        let id = link.id as usize;
        let is_it = id < links.len()
            && link.a == [links.a[id], links.a_port[id].into()]
            && link.b == [links.b[id], links.b_port[id].into()];
        if !is_it {
            let (field, given) = (
                format!("network.links[{at}]"),
                format!("{:?} to {:?}", link.a, link.b),
            );
            let limit = "a link of the topology";
            return Err(FabricError::bad(field, given, limit, "take it from the engine"));
        }
        outside.remove(&(link.a[0], link.b[0]));
    }
    Ok(outside)
}
