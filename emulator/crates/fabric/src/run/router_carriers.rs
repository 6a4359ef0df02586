//! Which ports of routers and chips have a carrier, as the kernel announces it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::poller::{Poller, Token};
use crate::error::Result;
use crate::links::{self, Site};
use crate::network::Network;
use crate::switches::Room;

/// The carriers of all ports of routers.
#[derive(Debug)]
pub struct RouterCarriers {
    poller: Arc<Poller>,
    /// By room and interface: link and end.
    ends: BTreeMap<(usize, u32), (usize, usize)>,
    /// By link, both ends.
    up: Vec<[bool; 2]>,
}

impl RouterCarriers {
    /// Every port has a carrier until the kernel announces something else.
    pub fn new(network: &Network, poller: &Arc<Poller>) -> RouterCarriers {
        let mut ends = BTreeMap::new();
        // Ports of bridges have no namespace of their own, and bridges do not react to carriers.
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

    /// Listens to a room's links from now on.
    pub fn watch(&mut self, number: usize, room: &mut Room) -> Result<()> {
        let Some(events) = &mut room.link_events else {
            return Ok(());
        };
        // The announcements of links being made are no changes.
        events.announced(|_| {})?;
        self.poller.add(&*events, Token::RouterLinks(number))
    }

    /// The end of a link that an interface of a room is, if its carrier has changed.
    pub fn change(&mut self, room: usize, interface: u32, has_carrier: bool) -> Option<(usize, usize)> {
        let (link, end) = *self.ends.get(&(room, interface))?;
        let was = std::mem::replace(&mut self.up[link][end], has_carrier);
        (was != has_carrier).then_some((link, end))
    }
}
