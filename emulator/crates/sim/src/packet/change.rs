//! What faults do to a network while packets are on it: links that change, and routes that do.

use super::core::{Core, END};
use super::links::NONE;
use super::wheel::NEVER;

/// What a link is like from now on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkState {
    /// In bit/s.
    pub rate_bits_per_sec: f64,
    /// What may wait, in bytes.
    pub queue_bytes: u64,
    /// Waiting bytes above which packets are marked.
    pub mark_bytes: Option<u64>,
    /// From the last bit sent to the arrival, in ps.
    pub delay: u64,
    /// Share of packets lost at random.
    pub loss_ratio: f64,
    /// How many faults let nothing pass.
    pub dead: u32,
}

impl Core {
    /// Changes a link. What waits goes on at the new rate, what is on the way arrives with the new delay, in the same order; on a
    /// link that is dead everything is lost.
    pub fn set_link(&mut self, link: u32, state: LinkState) {
        let packet_bytes = u64::from(self.rules.payload + self.rules.overhead);
        let now = self.now;
        let old = self.links[link as usize].clone();
        let changed = &mut self.links[link as usize];
        changed.set_rate(state.rate_bits_per_sec, state.queue_bytes, packet_bytes);
        changed.mark = state.mark_bytes.map_or(NEVER, |bytes| changed.time_of(bytes));
        changed.delay = state.delay;
        changed.loss = (state.loss_ratio * f64::from(u32::MAX)) as u32;
        changed.dead = state.dead;
        if old.head == NONE {
            return;
        }
        self.wheel.remove(link);
        if state.dead > 0 {
            self.lose_all(link);
            return;
        }
        // Departures move by the work that is left before them.
        let scale = self.links[link as usize].per_byte as f64 / old.per_byte.max(1) as f64;
        let departs = |old_departure: u64| match old_departure.checked_sub(now) {
            None | Some(0) => old_departure,
            Some(left) => now + (left as f64 * scale) as u64,
        };
        let mut place = old.head;
        while place != NONE {
            let packet = self.pool.get_mut(place);
            packet.time = now.max(departs(packet.time - old.delay) + state.delay);
            place = self.pool.next(place);
        }
        self.links[link as usize].busy = departs(old.busy);
        self.wheel.push(link, self.pool.get(old.head).time);
    }

    /// Everything on a link is lost, the waiting packets too.
    fn lose_all(&mut self, link: u32) {
        let lost = &mut self.links[link as usize];
        let mut place = lost.head;
        (lost.head, lost.tail, lost.busy) = (NONE, NONE, self.now);
        while place != NONE {
            let next = self.pool.next(place);
            self.counts[link as usize].drops += 1;
            self.drop_packet(place);
            place = next;
        }
    }

    /// The links of the route that starts at `start`, processors among them; none for [`NONE`].
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

    /// Gives a subflow another route for its data, or for its acknowledgements; none when there is none. Packets that are
    /// on the way stay on theirs. True when it differs from the one it has.
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
