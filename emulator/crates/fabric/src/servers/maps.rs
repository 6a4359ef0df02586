//! Initial contents of the maps of a server's programs, before its node writes to them: the entries
//! that the rules of the run require.

use crate::error::{During, Result};
use crate::network::Network;
use crate::programs::Programs;

/// Loads a server's programs without attaching them, and fills their maps; `None` if the kernel
/// does not forward.
pub fn load(network: &Network, server: usize) -> Result<Option<Programs>> {
    let (Some(object), Some(forwarding)) = (network.behaviour.object(), network.behaviour.forwarding) else {
        return Ok(None);
    };
    let mut programs = Programs::load(object, forwarding.tables)?;
    fill(network, server, &mut programs)?;
    if let Some(text) = network.set_program() {
        programs
            .set_program(text)
            .during(|| "loading the chip's program".to_owned())?;
    }
    Ok(Some(programs))
}

/// Writes the initial entries of a server's maps.
pub fn fill(network: &Network, server: usize, programs: &mut Programs) -> Result<()> {
    let Some(rules) = &network.places_of_servers.rules else {
        return Ok(());
    };
    for update in rules.initial(network.description.servers[server].id) {
        programs
            .apply(&update)
            .during(|| format!("filling the map {}", update.table))?;
    }
    Ok(())
}
