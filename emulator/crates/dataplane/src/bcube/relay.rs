//! Relays messages from server to server, and sends path failure messages. `[bcube §4.2]`
//!
//! A message contains its whole path. It is used only if that path leads from its source through
//! the neighbour that sent it to this server, by the port of arrival, without visiting a server
//! twice.

use cubeyard_topology::NodeId;

use super::bsr::{Bsr, MAX_REPORTS, REPORT_PAUSE};
use super::message::{MAX_DEAD, Message, Trail};
use super::nha::Nha;
use super::structure::Path;
use crate::event::{DeathCause, Event};
use crate::protocol::Time;

impl Bsr {
    /// Handles a message with a trail from a neighbour.
    pub(super) fn on_trail(&mut self, now: Time, port: u8, sender: usize, message: Message) {
        let (Message::Probe(trail) | Message::Response(trail) | Message::Failure { trail, .. }) = &message
        else {
            return;
        };
        let trail = *trail;
        let Some(path) = self.travelled(port, sender, &trail) else {
            return self.refuse("off-path");
        };
        let ends_here = trail.next_hop().is_none();
        match message {
            Message::Probe(_) => self.on_probe(now, port, trail, &path),
            Message::Response(_) if ends_here => self.on_response(now, sender, &trail),
            Message::Response(_) => self.pass_on(trail, Message::Response),
            Message::Failure { dead, .. } => {
                // Every relay of a message also uses its content. [bcube §4.2]
                self.learn(now, trail.source, &dead);
                if !ends_here {
                    self.pass_on(trail, |trail| Message::Failure { trail, dead });
                } else if trail.round != 0 {
                    self.on_probe_refused(now, &trail);
                }
            }
            Message::Hello { .. } => {}
        }
    }

    /// The path of a message; `None` if it is invalid or the message did not take it.
    fn travelled(&self, port: u8, sender: usize, trail: &Trail) -> Option<Path> {
        let path = self.structure.path(trail.source, &trail.route)?;
        let index = usize::from(trail.index);
        let taken = trail.route.hops().get(index.checked_sub(1)?)?;
        let came = path.servers.get(index) == Some(&self.me)
            && path.servers.get(index - 1) == Some(&self.neighbours.list()[sender].server)
            && u32::from(port) == taken.level();
        (came && path.servers.last() == Some(&trail.destination)).then_some(path)
    }

    fn on_probe(&mut self, now: Time, port: u8, mut trail: Trail, path: &Path) {
        let left_in = self
            .neighbours
            .port(port)
            .map_or(0.0, |state| state.in_bits_per_sec);
        let so_far = trail.available_bits_per_sec.min(left_in as u64);
        let here = &path.servers[..=usize::from(trail.index)];
        let Some(route) = self.structure.reverse(here) else {
            return;
        };
        let back = Trail {
            source: self.me,
            destination: trail.source,
            available_bits_per_sec: so_far,
            index: 0,
            route,
            ..trail
        };
        match trail.next_hop() {
            None => self.send_on(back, Message::Response),
            Some(next) if self.is_up(next) => {
                trail.available_bits_per_sec = so_far.min(self.left_towards(now, next) as u64);
                self.send_on(trail, Message::Probe);
            }
            Some(next) => {
                let dead = self.dead_with(next);
                self.send_on(back, |trail| Message::Failure { trail, dead });
            }
        }
    }

    /// Relays a message. If its next hop is down, the message is lost, and its source sends it
    /// again.
    fn pass_on(&mut self, trail: Trail, make: impl FnOnce(Trail) -> Message) {
        if trail.next_hop().is_some_and(|next| self.is_up(next)) {
            self.send_on(trail, make);
        } else {
            self.refuse("next-hop-dead");
        }
    }

    /// Sends a message to its next hop.
    pub(super) fn send_on(&mut self, mut trail: Trail, make: impl FnOnce(Trail) -> Message) {
        let Some(next) = trail.next_hop().and_then(|nha| self.keys.index(nha)) else {
            return self.refuse("unknown-next-hop");
        };
        trail.index += 1;
        self.send(next, &make(trail));
    }

    /// All neighbours that we cannot reach, the requested one first, so that one message reports
    /// all of them. `[ours]`
    fn dead_with(&self, nha: Nha) -> Vec<Nha> {
        let dead = self.neighbours.dead().map(|index| self.keys.nha(index));
        let others = dead.filter(|&other| other != nha);
        std::iter::once(nha).chain(others).take(MAX_DEAD).collect()
    }

    /// Records the neighbours that a server reports as unreachable.
    fn learn(&mut self, now: Time, reporter: NodeId, dead: &[Nha]) {
        let unreachable: Vec<NodeId> = dead
            .iter()
            .filter_map(|&nha| self.structure.neighbour(reporter, nha))
            .collect();
        let mut news = false;
        for &server in &unreachable {
            if server != self.me {
                news |= self.failed.insert(now, reporter, server);
                continue;
            }
            let neighbour = self
                .neighbours
                .list()
                .iter()
                .position(|other| other.server == reporter);
            if let Some(index) = neighbour.filter(|&index| self.neighbours.on_report(index)) {
                self.on_deaths(now, &[index], DeathCause::Report);
            }
        }
        if news {
            self.report_event(Event::PathFailed {
                reporter,
                unreachable,
            });
            self.after_failure(now);
        }
    }

    /// Handles a packet that our forwarding dropped because its next hop is down: reports it to the
    /// packet's source.
    pub(super) fn on_next_hop_dead(&mut self, now: Time, nha: Nha, source: NodeId, path_id: u32) {
        if source == self.me || self.is_up(nha) || !self.structure.is_present(source) {
            return;
        }
        let since = self.reported.get(&(source, nha));
        if since.is_some_and(|&at| now < at + REPORT_PAUSE) {
            return;
        }
        if self.reported.len() >= MAX_REPORTS {
            self.reported.retain(|_, at| now < *at + REPORT_PAUSE);
        }
        if self.reported.len() < MAX_REPORTS {
            self.reported.insert((source, nha), now);
            let dead = self.dead_with(nha);
            self.report(source, path_id, &dead);
        }
    }

    /// Reports to neighbours that we cannot reach them. Their carrier does not show it, since there
    /// is a switch in between. `[ours]`
    pub(super) fn report_to(&mut self, died: &[usize]) {
        let dead: Vec<Nha> = died.iter().map(|&index| self.keys.nha(index)).collect();
        for (&index, &nha) in died.iter().zip(&dead) {
            let others = dead.iter().copied().filter(|&other| other != nha);
            let dead: Vec<Nha> = std::iter::once(nha).chain(others).take(MAX_DEAD).collect();
            self.report(self.neighbours.list()[index].server, 0, &dead);
        }
    }

    /// Sends a path failure message along a random path of usable hops. If that path is broken too,
    /// the report for the next packet takes another path.
    fn report(&mut self, to: NodeId, path_id: u32, dead: &[Nha]) {
        let mut paths = self.path_set(to);
        paths.retain(|path| self.path_usable(path));
        let drawn = self.draws.next_bits() as u32;
        let chosen = if paths.is_empty() {
            self.search(to, std::iter::empty(), |_, _| false, drawn >> 16)
        } else {
            Some(paths.swap_remove(drawn as usize % paths.len()))
        };
        let Some(route) = chosen.map(|path| path.numbered.route) else {
            return self.refuse("no-path-to-report");
        };
        let trail = Trail {
            source: self.me,
            destination: to,
            round: 0,
            slot: 0,
            available_bits_per_sec: 0,
            path_id,
            index: 0,
            route,
        };
        let dead = dead.to_vec();
        self.send_on(trail, |trail| Message::Failure { trail, dead });
    }
}
