//! Detects failed links of routers and servers: hellos that stop or return, and carriers of
//! routers. Emits an event for the node that detects a change, and updates the tables.

use std::collections::BTreeSet;

use cubeyard_dataplane::event::{DeathCause, Event};

use super::state::RunState;
use crate::balance::Balancing;
use crate::error::Result;
use crate::hellos::{Hellos, Lane, Notice};
use crate::host::clock::monotonic_nanos;
use crate::netlink::read_link_state;
use crate::network::{Network, Place};

impl RunState {
    /// Handles a round of hellos: checks the received ones, and sends the next ones.
    pub fn on_hellos(&mut self) -> Result<()> {
        let Some(mut hellos) = self.hellos.take() else {
            return Ok(());
        };
        let notices = self.hello_round(&mut hellos);
        self.hellos = Some(hellos);
        let has_weights = self.balancing.as_mut().is_some_and(Balancing::take_changed);
        if notices.is_empty() && !has_weights {
            return Ok(());
        }
        for (lane, notice) in notices {
            self.tell_neighbour(lane.link, lane.end, notice == Notice::Alive, DeathCause::Silence);
        }
        self.bring_routes()?;
        self.tell_paths();
        Ok(())
    }

    /// Receives and sends the hellos of all ends; returns the changes that the ends have detected.
    fn hello_round(&mut self, hellos: &mut Hellos) -> Vec<(Lane, Notice)> {
        let mut notices: Vec<(Lane, Notice)> = Vec::new();
        if !self.kernels.is_wired() {
            return notices;
        }
        let down: BTreeSet<usize> = self.active_faults.links_down().collect();
        let is_whole = |link: usize| !down.contains(&link) && self.kernels.has_both_ends(link);
        let whole: Vec<bool> = (0..self.network.places.len()).map(is_whole).collect();
        for (link, _) in whole.iter().enumerate().filter(|(_, is_whole)| !**is_whole) {
            hellos.forget(link);
        }
        let silent: BTreeSet<usize> = hellos.dead_links().collect();
        let is_live = |link: usize| whole[link] && !silent.contains(&link);
        for (site, lanes) in hellos.lanes.clone() {
            let is_off = !lanes
                .iter()
                .any(|lane| self.active_faults.is_end_up(lane.link, lane.end));
            let mut heard = Vec::new();
            let socket = self.kernels.hello_socket(site);
            if let Some(socket) = socket {
                socket.heard(|index, messages| heard.push((index, messages.to_vec())));
            }
            if socket.is_none() || is_off {
                if let Some(lane) = lanes.first() {
                    let (node, _) = node_of(&self.network, self.network.places[lane.link][lane.end]);
                    self.stop_balancing(node);
                }
                continue;
            }
            let lanes: Vec<Lane> = lanes.into_iter().filter(|lane| whole[lane.link]).collect();
            let frames = self.balance(site, &lanes, &heard, is_live);
            if let Some(socket) = self.kernels.hello_socket(site) {
                for (lane, frames) in lanes.iter().zip(frames) {
                    frames.iter().for_each(|frame| socket.send(lane.index, frame));
                }
            }
            for lane in lanes {
                let has_heard = heard.iter().any(|(index, _)| *index == lane.index);
                let packets = || self.kernels.received_packets(site, lane.index);
                let notice = hellos.hear(lane, has_heard, packets);
                notices.extend(notice.map(|notice| (lane, notice)));
            }
        }
        notices
    }

    /// Starts to receive changes of routers' links.
    pub fn watch_routers(&mut self) -> Result<()> {
        for (number, room) in self.kernels.rooms.iter_mut().enumerate() {
            self.router_carriers.watch(number, room)?;
        }
        Ok(())
    }

    /// Handles the kernel's announcements about a router's links.
    pub fn on_router_links(&mut self, number: usize) -> Result<()> {
        let Some(events) = self
            .kernels
            .rooms
            .get_mut(number)
            .and_then(|room| room.link_events.as_mut())
        else {
            return Ok(());
        };
        let mut announced = Vec::new();
        events.announced(|answer| announced.extend(read_link_state(answer)))?;
        for state in announced {
            let has_carrier = state.carrier && !state.removed;
            let Some((link, end)) = self.router_carriers.change(number, state.index, has_carrier) else {
                continue;
            };
            // A router that is itself off detects nothing.
            if self.active_faults.is_end_up(link, end) {
                self.tell_neighbour(link, end, has_carrier, DeathCause::Carrier);
            }
        }
        Ok(())
    }

    fn tell_neighbour(&mut self, link: usize, end: usize, is_alive: bool, cause: DeathCause) {
        let (node, port) = node_of(&self.network, self.network.places[link][end]);
        let (neighbour, _) = node_of(&self.network, self.network.places[link][1 - end]);
        let event = match is_alive {
            true => Event::NeighbourAlive { neighbour, port },
            false => Event::NeighbourDead {
                neighbour,
                port,
                cause,
            },
        };
        self.events.add_of_node(node, monotonic_nanos(), event);
    }
}

/// The id and the port of an end of a link.
pub fn node_of(network: &Network, place: Place) -> (u32, u8) {
    let (id, port) = match place {
        Place::Server { server, port } => (network.description.servers[server].id, port.into()),
        Place::Switch { switch, port } => (network.description.switches[switch].id, port),
    };
    // A port's number is a byte in events. A router of a run on one host has fewer ports than that.
    (id, u8::try_from(port).unwrap_or(u8::MAX))
}
