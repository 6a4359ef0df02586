//! Congestion notifications on their way from queues to sources, and sources that limit their rate
//! by them.
//!
//! A notification is a packet of the size of an acknowledgement. It goes back over the links that
//! the sampled packet has crossed, waits in their queues, and can be lost there. Its route is
//! stored after the route of the data: the same links in reverse. A queue at the source itself
//! notifies it without delay.
//!
//! A source holds packets back instead of dropping them: TCP sends later, and UDP has longer gaps.
//! `[ours]`
//!
//! Not here: the content of notifications and the calculation of the rate (`qcn`).

use cubeyard_routing::random::{Draws, mix};

use super::core::{Core, END, NOTICE};
use super::links::Header;
use super::qcn::Reaction;
use super::rules::Transport;

impl Core {
    /// A random number from 0 to 1 for a link or a subflow, at this time.
    fn drawn(&self, number: u32) -> f64 {
        Draws::of(self.rules.seed ^ mix(u64::from(number)), self.now).unit()
    }

    /// A data packet has joined the queue of the link at this position of the routes.
    #[inline(never)]
    pub(super) fn observe(&mut self, link: u32, position: u32, bytes: u32) {
        if !self.points[link as usize].count(bytes) {
            return;
        }
        let unit = self.drawn(link);
        let Some(qcn) = &self.rules.qcn else { return };
        let queue = self.links.backlog_bytes(link, self.now);
        let feedback = self.points[link as usize].sample(qcn, queue, unit);
        if feedback > 0 {
            self.notify(position, feedback);
        }
    }

    /// Sends a notice back from the queue of the link at this position of a route.
    fn notify(&mut self, position: u32, feedback: u32) {
        self.totals.notices += 1;
        let (mut end, mut wires) = (position as usize, 0);
        while self.routes[end] & END == 0 {
            wires += usize::from(self.routes[end] < self.wires);
            end += 1;
        }
        // After the route's end are its links in reverse. The first of them follow this position in
        // the route, so the packet has not crossed them.
        let start = end + 1 + wires;
        let entry = self.routes[start];
        if entry & END != 0 {
            self.told((entry & !END) >> 2, feedback);
            return;
        }
        let header = Header::ack(feedback, 0, false);
        let place = self.calendar.take(start as u32, header);
        self.forward(place, entry);
    }

    /// A notice has reached its source.
    pub(super) fn told(&mut self, subflow: u32, feedback: u32) {
        let (now, unit) = (self.now, self.drawn(subflow));
        let path = self.senders[subflow as usize].path;
        let Some(qcn) = &self.rules.qcn else { return };
        let Some(&first) = self.routes.get(path as usize) else {
            return;
        };
        let line = self.links.get(first).bits_per_sec();
        self.reactions[subflow as usize].told(qcn, feedback, line, now, unit);
        self.arm(subflow);
    }

    fn limiter_event(&self, subflow: u32) -> u32 {
        let kinds = 1 + u32::from(self.rules.delayed_ack > 0);
        subflow + kinds * self.senders.len() as u32
    }

    /// Schedules the limiter's event no later than its next action. An event that comes too early
    /// schedules the next one.
    fn arm(&mut self, subflow: u32) {
        let Reaction { free, waits, .. } = self.reactions[subflow as usize];
        let mut due = self.reactions[subflow as usize].timer();
        if waits {
            due = due.min(free);
        }
        let event = self.limiter_event(subflow);
        if self.timers.due(event) > due {
            self.timers.remove(event);
            self.timers.push(event, due);
        }
    }

    /// The limiter's timer expired: a cycle may have ended, or a packet may be sent.
    pub(super) fn limiter_due(&mut self, subflow: u32) {
        let (now, unit) = (self.now, self.drawn(subflow));
        let sender = &self.senders[subflow as usize];
        let over = self.connections[sender.connection as usize].missing == 0;
        let Some(qcn) = &self.rules.qcn else { return };
        let reaction = &mut self.reactions[subflow as usize];
        if over {
            reaction.stop();
        } else if reaction.timer() <= now {
            reaction.tick(qcn, now, unit);
        }
        let limited = reaction.limit().is_some();
        if reaction.waits && (reaction.free <= now || !limited) {
            reaction.waits = false;
            if self.rules.transport == Transport::Tcp {
                self.fill(subflow);
            }
        }
        if self.reactions[subflow as usize].limit().is_some() {
            self.arm(subflow);
        }
    }

    /// Whether a subflow may send a packet now; if not, it is called later when it may.
    #[inline]
    pub(super) fn may_send(&mut self, subflow: u32) -> bool {
        if self.reactions.is_empty() {
            return true;
        }
        let now = self.now;
        let reaction = &mut self.reactions[subflow as usize];
        if reaction.limit().is_none() || reaction.free <= now {
            return true;
        }
        reaction.waits = true;
        self.arm(subflow);
        false
    }

    /// Counts `bytes` bytes that a subflow has sent in a packet.
    pub(super) fn count_sent(&mut self, subflow: u32, bytes: u32) {
        let (now, unit) = (self.now, self.drawn(subflow));
        let Some(qcn) = &self.rules.qcn else { return };
        let reaction = &mut self.reactions[subflow as usize];
        if reaction.limit().is_some() {
            reaction.sent(qcn, bytes, now, unit);
        }
    }

    /// The gap to the next packet of UDP under the limit, in ps.
    pub(super) fn limited_gap(&self, subflow: u32, gap: u64) -> u64 {
        match self.reactions.get(subflow as usize) {
            Some(reaction) if reaction.limit().is_some() => {
                gap.max(reaction.service(self.rules.payload + self.rules.overhead))
            }
            _ => gap,
        }
    }

    /// Appends the route of notices behind the route of data that starts at `start`: its links in
    /// reverse.
    pub(super) fn add_way_back(&mut self, start: u32, subflow: u32) {
        let links = start as usize..self.routes.len() - 1;
        for place in links.rev() {
            let link = self.routes[place];
            if link < self.wires {
                self.routes.push(link ^ 1);
            }
        }
        self.routes.push(END | subflow << 2 | NOTICE);
    }
}
