//! The carriers of servers' ports, as announced by the kernel.

use std::sync::Arc;

use super::poller::{Poller, Token};
use crate::error::Result;
use crate::names;
use crate::netlink::read_link_state;
use crate::network::Network;
use crate::servers::ServerKernel;

/// The carriers of all ports.
#[derive(Debug)]
pub struct Carriers {
    network: Arc<Network>,
    poller: Arc<Poller>,
    /// Whether a port has a carrier, by server and port, in the order of `Network::ports`.
    up: Vec<Vec<bool>>,
}

impl Carriers {
    /// The initial state: every port has a carrier.
    pub fn new(network: &Arc<Network>, poller: &Arc<Poller>) -> Carriers {
        Carriers {
            up: network
                .ports
                .iter()
                .map(|ports| vec![true; ports.len()])
                .collect(),
            network: network.clone(),
            poller: poller.clone(),
        }
    }

    /// Starts to receive changes of a server's links.
    pub fn watch(&mut self, server: usize, kernel: &mut ServerKernel) -> Result<()> {
        // Announcements of newly created links are no changes.
        kernel.link_events.announced(|_| {})?;
        self.up[server].fill(true);
        self.poller.add(&kernel.link_events, Token::Links(server))
    }

    /// The ports whose carrier has changed, with the new state.
    pub fn changes(&mut self, server: usize, kernel: &mut ServerKernel) -> Result<Vec<(u16, bool)>> {
        let mut changes = Vec::new();
        let ports = &self.network.ports[server];
        let up = &mut self.up[server];
        kernel.link_events.announced(|answer| {
            let Some(link) = read_link_state(answer) else {
                return;
            };
            let position = ports
                .iter()
                .position(|port| names::port_index(port.port) == link.index);
            let Some(at) = position else { return };
            let has_carrier = link.carrier && !link.removed;
            if std::mem::replace(&mut up[at], has_carrier) != has_carrier {
                changes.push((ports[at].port, has_carrier));
            }
        })?;
        Ok(changes)
    }
}
