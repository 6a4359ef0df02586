//! Carriers of the ports of routers and chips, as the kernel announces them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::poller::{Poller, Token};
use crate::error::Result;
use crate::links::{self, Site};
use crate::network::Network;
use crate::switches::Room;

/// Carriers of all ports of routers.
#[derive(Debug)]
pub struct RouterCarriers {
    poller: Arc<Poller>,
    /// By namespace and interface: link and end.
    ends: BTreeMap<(usize, u32), (usize, usize)>,
    /// By link: whether each end has a carrier.
    up: Vec<[bool; 2]>,
}

impl RouterCarriers {
    /// The initial state: every port has a carrier.
    pub fn new(network: &Network, poller: &Arc<Poller>) -> RouterCarriers {
        let mut ends = BTreeMap::new();
        // Bridges do not react to carriers, and their ports have no separate namespaces.
        let links = (0..network.places.len()).filter(|_| network.switches_decide());
        for (link, end) in links.flat_map(|link| [(link, 0), (link, 1)]) {
            if let Site::Room(room) = links::kind(network, link).site(network, link, end) {
                ends.insert((room, links::interface(network, link, end)), (link, end));
            }
        }
        RouterCarriers {
            poller: poller.clone(),
            ends,
            up: vec![[true; 2]; network.places.len()],
        }
    }

    /// Starts to receive changes of the links in a namespace.
    pub fn watch(&mut self, number: usize, room: &mut Room) -> Result<()> {
        let Some(events) = &mut room.link_events else {
            return Ok(());
        };
        // Announcements of newly created links are no changes.
        events.announced(|_| {})?;
        self.poller.add(&*events, Token::RouterLinks(number))
    }

    /// Records an announced carrier. Returns the interface's link and end if the carrier has
    /// changed.
    pub fn change(&mut self, room: usize, interface: u32, has_carrier: bool) -> Option<(usize, usize)> {
        let (link, end) = *self.ends.get(&(room, interface))?;
        let was = std::mem::replace(&mut self.up[link][end], has_carrier);
        (was != has_carrier).then_some((link, end))
    }
}
