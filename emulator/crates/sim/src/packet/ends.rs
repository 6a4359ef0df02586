//! Sends, receives and acknowledges packets at the ends of routes, and starts and ends connections.
//!
//! Not here: how packets get from end to end (`core`), and TCP's windows (`tcp`).

use cubeyard_routing::random::{Draws, mix};

use super::core::Core;
use super::flows::{Connection, flag};
use super::links::{Header, NONE, SECOND};
use super::rules::Transport;
use super::wheel::NEVER;

/// A client that waits for each response sends its next request at least this time after a request
/// that it gave up, as in an emulation.
const RETRY: u64 = SECOND / 4;

impl Core {
    /// Another packet of a connection has arrived (for UDP: or is lost).
    pub(super) fn settle(&mut self, number: u32) {
        let connection = &mut self.connections[number as usize];
        connection.missing -= 1;
        if connection.missing == 0 {
            connection.end = self.now;
            let (then, start) = (connection.then, self.now + connection.pause);
            let lost = connection.drops > 0 && self.rules.transport != Transport::Tcp;
            self.open -= 1;
            if lost {
                self.give_up(number);
            } else if then != NONE {
                self.begin(then, start);
            }
        }
    }

    /// A part of a request or of its response was lost permanently: the request stays unanswered. A
    /// client that waits for each response continues after its timeout.
    fn give_up(&mut self, connection: u32) {
        let one = &self.connections[connection as usize];
        let (request, response) = if one.answers {
            (connection - 1, connection)
        } else {
            (connection, one.then)
        };
        if response == NONE {
            return;
        }
        if response != connection {
            // It is never sent.
            self.connections[response as usize].missing = 0;
            self.open -= 1;
        }
        let Connection { then, pause, .. } = self.connections[response as usize];
        if then != NONE {
            let given_up = self.connections[request as usize].start + self.give_up_after;
            self.begin(then, given_up.max(self.now) + pause.max(RETRY));
        }
    }

    /// A connection that waited for another one starts at `start`.
    fn begin(&mut self, connection: u32, start: u64) {
        let begun = &mut self.connections[connection as usize];
        begun.start = start;
        for subflow in begun.first..begun.first + u32::from(begun.subflows) {
            self.timers.push(subflow, start);
        }
    }

    /// Puts a subflow's packet on its first link.
    pub(super) fn emit(&mut self, subflow: u32, number: u32) {
        let sender = &self.senders[subflow as usize];
        let payload = if sender.short == number {
            u32::from(self.connections[sender.connection as usize].last_bytes)
        } else {
            self.rules.payload
        };
        self.totals.sent += u64::from(payload);
        if sender.path == NONE {
            self.totals.dropped += u64::from(payload);
            self.totals.drops += 1;
            self.note_drop(subflow);
            return;
        }
        let header = Header::data(number, payload + self.rules.overhead);
        let place = self.calendar.take(sender.path, header);
        let link = self.routes[sender.path as usize];
        if !self.reactions.is_empty() {
            self.count_sent(subflow, payload + self.rules.overhead);
        }
        self.forward(place, link);
    }

    /// A data packet has arrived at its receiver.
    pub(super) fn receive(&mut self, place: u32, subflow: u32, header: Header) {
        self.totals.received += self.payload_of(header);
        let connection = self.senders[subflow as usize].connection;
        if self.rules.transport != Transport::Tcp {
            self.calendar.give(place);
            self.settle(connection);
            return;
        }
        let receiver = &mut self.receivers[subflow as usize];
        let distance = header.distance_from(receiver.next);
        let mut new = false;
        let mut named = 0;
        // Packets that are out of order, repeated or fill a gap are acknowledged at once. (RFC
        // 5681, 4.2)
        let mut at_once = distance != 0 || receiver.early != 0 || header.marked();
        if distance == 0 {
            new = true;
            receiver.next += 1;
            while receiver.early > 0 && self.early.clear(receiver.page, receiver.next) {
                receiver.next += 1;
                receiver.early -= 1;
            }
            if receiver.early == 0 && receiver.page != NONE {
                self.early.give(&mut receiver.page);
            }
        } else if distance > 0 {
            let number = receiver.next + distance as u32;
            new = self.early.set(&mut receiver.page, number);
            receiver.early += u16::from(new);
            named = distance as u32;
        }
        receiver.owed += 1;
        at_once |= self.rules.delayed_ack == 0 || receiver.owed >= 2;
        if at_once {
            self.acknowledge(subflow, Some(place), named, header.marked());
        } else {
            self.calendar.give(place);
            let event = subflow + self.senders.len() as u32;
            if self.timers.due(event) == NEVER {
                self.timers.push(event, self.now + self.rules.delayed_ack);
            }
        }
        if new {
            self.settle(connection);
        }
    }

    /// The timer of a delayed acknowledgement, which may have been sent already.
    pub(super) fn acknowledge_late(&mut self, subflow: u32) {
        if self.receivers[subflow as usize].owed > 0 {
            self.acknowledge(subflow, None, 0, false);
        }
    }

    /// Sends an acknowledgement, reusing the record of the acknowledged packet if there is one. It
    /// names the packet `named` in addition to those that it acknowledges.
    fn acknowledge(&mut self, subflow: u32, place: Option<u32>, named: u32, marked: bool) {
        let receiver = &mut self.receivers[subflow as usize];
        receiver.owed = 0;
        let (path, next) = (receiver.path, receiver.next);
        if self.rules.delayed_ack > 0 && place.is_some() {
            let event = subflow + self.senders.len() as u32;
            self.timers.remove(event);
        }
        if path == NONE {
            if let Some(place) = place {
                self.calendar.give(place);
            }
            self.totals.ack_drops += 1;
            return;
        }
        let header = Header::ack(next, named, marked);
        let place = match place {
            Some(place) => {
                let packet = self.calendar.get_mut(place);
                (packet.position, packet.header) = (path, header);
                place
            }
            None => self.calendar.take(path, header),
        };
        self.forward(place, self.routes[path as usize]);
    }

    /// A subflow's timer: it starts, sends the next packet of UDP, or has waited too long for an
    /// acknowledgement.
    pub(super) fn expire(&mut self, subflow: u32) {
        let sender = &mut self.senders[subflow as usize];
        if let Transport::Udp { gap, drawn } = self.rules.transport {
            self.send_next(subflow, gap, drawn);
        } else if !sender.is(flag::STARTED) {
            sender.flags |= flag::STARTED;
            self.fill(subflow);
        } else if sender.deadline > self.now {
            if sender.deadline != NEVER {
                let deadline = sender.deadline;
                self.timers.push(subflow, deadline);
            }
        } else {
            self.timed_out(subflow);
        }
    }

    /// UDP sends a packet and sets the time of the next.
    fn send_next(&mut self, subflow: u32, gap: u64, drawn: bool) {
        let sender = &mut self.senders[subflow as usize];
        let connection = &mut self.connections[sender.connection as usize];
        if connection.unsent == 0 {
            return;
        }
        connection.unsent -= 1;
        let number = sender.next;
        sender.next += 1;
        if connection.unsent == 0 {
            sender.short = number;
        } else {
            let gap = if drawn {
                let seed = self.rules.seed ^ mix(u64::from(subflow));
                let unit = Draws::of(seed, u64::from(number)).unit();
                ((-(1.0 - unit).ln() * gap as f64) as u64).clamp(1, SECOND * 1_000)
            } else {
                gap
            };
            let gap = self.limited_gap(subflow, gap);
            self.timers.push(subflow, self.now + gap);
        }
        self.emit(subflow, number);
    }
}
