//! Applies faults to a network with packets on it: links change, and routes change.

use std::collections::{BTreeMap, BTreeSet};

use super::core::{Core, END};
use super::links::{Link, NONE};
use super::wheel::NEVER;

/// New properties of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// Rate in bit/s.
    pub rate_bits_per_sec: f64,
    /// Size of the queue in bytes.
    pub queue_bytes: u64,
    /// Waiting bytes above which packets are marked.
    pub mark_bytes: Option<u64>,
    /// Time from the last bit sent to the arrival, in ps.
    pub delay: u64,
    /// Share of packets lost at random.
    pub loss_ratio: f64,
    /// Number of active faults that stop all traffic.
    pub dead: u32,
}

/// The old and the new properties of a link.
struct Change {
    old: Link,
    new: Link,
}

impl Change {
    /// The new time of a departure that was due at `old`: departures move with the work that is
    /// left before them.
    fn departure(&self, now: u64, old: u64) -> u64 {
        let scale = self.new.per_byte as f64 / self.old.per_byte.max(1) as f64;
        match old.checked_sub(now) {
            None | Some(0) => old,
            Some(left) => now + (left as f64 * scale) as u64,
        }
    }
}

impl Core {
    /// Changes links, each named once. Waiting packets continue at the new rate; packets on the way
    /// arrive with the new delay, in the same order; on a dead link all packets are lost. Linear in
    /// the links, plus the packets of the whole network if there are any.
    pub fn set_links(&mut self, states: &[(u32, LinkState)]) {
        let packet_bytes = u64::from(self.rules.payload + self.rules.overhead);
        let mut changes = BTreeMap::new();
        for &(link, ref state) in states {
            let old = self.links.get(link).clone();
            let mut new = old.clone();
            new.set_rate(state.rate_bits_per_sec, state.queue_bytes, packet_bytes);
            new.mark = state.mark_bytes.map_or(NEVER, |bytes| new.time_of(bytes));
            new.delay = state.delay;
            new.loss = (state.loss_ratio * f64::from(u32::MAX)) as u32;
            new.dead = state.dead;
            if old != new {
                self.links.set(link, new.clone());
                changes.insert(link, Change { old, new });
            }
        }
        if changes.is_empty() || self.calendar.used() == 0 {
            return;
        }
        let now = self.now;
        let packets = self.calendar.packets();
        self.calendar.clear();
        let mut lost = Vec::new();
        let mut moved = BTreeSet::new();
        for (time, place) in packets {
            let link = self.routes[self.calendar.get(place).position as usize];
            let Some(change) = changes.get(&link) else {
                self.calendar.push(place, time, &self.routes);
                continue;
            };
            moved.insert(link);
            if change.new.dead > 0 {
                lost.push((link, place));
                continue;
            }
            let departure = change.departure(now, time - change.old.delay);
            let time = now.max(departure + change.new.delay);
            self.calendar.push(place, time, &self.routes);
        }
        // A packet without a sender has no departure that could move.
        for link in moved {
            let change = &changes[&link];
            let lane = &mut self.links.lanes[link as usize];
            lane.busy = if change.new.dead > 0 {
                now
            } else {
                change.departure(now, lane.busy)
            };
        }
        for (link, place) in lost {
            self.links.drops[link as usize] += 1;
            self.drop_packet(place);
        }
    }

    /// Changes the properties of one link.
    pub fn set_link(&mut self, link: u32, state: LinkState) {
        self.set_links(&[(link, state)]);
    }

    /// The links and processors of the route that starts at `start`; none for [`NONE`].
    pub fn route(&self, start: u32) -> &[u32] {
        if start == NONE {
            return &[];
        }
        let rest = &self.routes[start as usize..];
        let links = rest
            .iter()
            .position(|entry| entry & END != 0)
            .unwrap_or(rest.len());
        &rest[..links]
    }

    /// Sets a new route for a subflow's data or acknowledgements; none if there is no path. Packets
    /// on the way stay on the old route. Returns true if the route changed.
    pub fn reroute(&mut self, subflow: u32, back: bool, links: Option<&[u32]>) -> bool {
        let index = subflow as usize;
        let start = if back {
            self.receivers[index].path
        } else {
            self.senders[index].path
        };
        let same = match links {
            None => start == NONE,
            Some(links) => start != NONE && self.route(start) == links,
        };
        if same {
            return false;
        }
        let start = links.map_or(NONE, |links| self.add_route(links.iter().copied(), subflow, back));
        if back {
            self.receivers[index].path = start;
        } else {
            self.senders[index].path = start;
        }
        true
    }
}
