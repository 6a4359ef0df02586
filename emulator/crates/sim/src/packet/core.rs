//! The event loop: packets go from link to link, and what happens at the ends of their routes.
//!
//! One event is a packet's arrival at the end of a link, or a timer. Links come before timers at the same moment, both by
//! number. Everything that is drawn depends on the seed, the route and the time, so that a run's bytes do not depend on the
//! machine. TCP's reactions are in `tcp`.

use cubeyard_routing::random::{Draws, mix};

use super::cubic::Cubic;
use super::flows::{Clock, Connection, Early, Receiver, Sender, flag};
use super::links::{Header, Link, LinkCount, NONE, Packet, Pool, SECOND};
use super::rules::{Growth, Marks, Recovery, Rules, Transport};
use super::sack::Scoreboard;
use super::wheel::{NEVER, Wheel};

/// In a route, in place of a link: the route is over. The rest of the entry is twice the subflow, plus one for the route of
/// acknowledgements.
pub const END: u32 = 1 << 31;

/// What all flows together did. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes that senders put on their first link, or would have, repeated ones included.
    pub sent: u64,
    /// Bytes that arrived, repeated ones included.
    pub received: u64,
    /// Bytes that queues did not take or that were lost on links.
    pub dropped: u64,
    /// Data packets dropped.
    pub drops: u64,
    /// Acknowledgements dropped.
    pub ack_drops: u64,
    /// Data packets sent again.
    pub again: u64,
    /// Expired retransmission timers.
    pub timeouts: u64,
    /// Packets that queues marked.
    pub marks: u64,
    /// Packets carried over one link each, acknowledgements included.
    pub hops: u64,
    /// Events of the queue.
    pub events: u64,
}

/// Why the loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Every connection is over.
    Finished,
    /// The time is over.
    Time,
    /// So many events are over as were wanted.
    Budget,
}

/// A network with its packets at a moment.
#[derive(Debug)]
pub struct Core {
    /// What does not change.
    pub rules: Rules,
    /// The time, in ps.
    pub now: u64,
    /// Links, then processors.
    pub links: Vec<Link>,
    /// What they have carried.
    pub counts: Vec<LinkCount>,
    /// How many of them are links.
    pub wires: u32,
    /// Routes, one after the other: links, and an entry with [`END`].
    pub routes: Vec<u32>,
    /// All subflows.
    pub senders: Vec<Sender>,
    /// Their round trips.
    pub clocks: Vec<Clock>,
    /// Their receivers.
    pub receivers: Vec<Receiver>,
    /// All connections.
    pub connections: Vec<Connection>,
    /// For growth or marks that need more: what DCTCP keeps a subflow.
    pub shares: Vec<MarkShare>,
    /// What CUBIC keeps a subflow.
    pub(super) cubics: Vec<Cubic>,
    /// What selective acknowledgements have told a subflow.
    pub(super) boards: Vec<Scoreboard>,
    /// The packets that they have named.
    pub(super) named: Early,
    /// What happened so far.
    pub totals: Totals,
    /// Connections that are not over.
    pub open: usize,
    pub(super) pool: Pool,
    pub(super) early: Early,
    pub(super) wheel: Wheel,
}

/// The share of marked packets, as DCTCP estimates it.
#[derive(Clone, Copy, Debug)]
pub struct MarkShare {
    /// The estimate.
    pub share: f64,
    /// Packets acknowledged in this window.
    pub acked: u32,
    /// Those of them with a mark.
    pub marked: u32,
    /// The window is over when all before this is acknowledged.
    pub until: u32,
}

impl Core {
    /// A network at time 0. `turn` is how far ahead most events are, in ps. Subflows begin when they are started.
    pub fn new(rules: Rules, links: Vec<Link>, wires: u32, turn: u64) -> Core {
        let (early, named) = (Early::new(rules.most_window), Early::new(rules.most_window));
        Core {
            counts: vec![LinkCount::default(); links.len()],
            wheel: Wheel::new(links.len(), turn, links.len()),
            rules,
            now: 0,
            links,
            wires,
            routes: Vec::new(),
            senders: Vec::new(),
            clocks: Vec::new(),
            receivers: Vec::new(),
            connections: Vec::new(),
            shares: Vec::new(),
            cubics: Vec::new(),
            boards: Vec::new(),
            named,
            totals: Totals::default(),
            open: 0,
            pool: Pool::default(),
            early,
        }
    }

    /// Appends a route and its end; where it starts. `back` is that of acknowledgements.
    pub fn add_route(&mut self, links: impl IntoIterator<Item = u32>, subflow: u32, back: bool) -> u32 {
        let start = self.routes.len() as u32;
        self.routes.extend(links);
        self.routes.push(END | subflow << 1 | u32::from(back));
        start
    }

    /// Adds a connection of `bytes` that starts at `start`, over `subflows` pairs of routes (there and back, as
    /// `add_route` gave them) and their idle round trips. All connections are added before the first event.
    pub fn add_connection(&mut self, bytes: u64, start: u64, subflows: &[(u32, u32, u64)]) {
        let packets = bytes.div_ceil(u64::from(self.rules.payload)) as u32;
        let last = bytes - u64::from(packets.saturating_sub(1)) * u64::from(self.rules.payload);
        let connection = self.connections.len() as u32;
        self.connections.push(Connection {
            start,
            end: NEVER,
            packets,
            unsent: packets,
            missing: packets,
            first: self.senders.len() as u32,
            drops: 0,
            again: 0,
            timeouts: 0,
            then: NONE,
            pause: 0,
            last_bytes: last as u16,
            subflows: subflows.len() as u16,
        });
        self.open += 1;
        for &(there, back, round_trip) in subflows {
            let window = f64::from(self.rules.initial_window);
            self.senders.push(Sender::new(connection, there, window));
            let (least, most) = (self.rules.least_timeout, self.rules.most_timeout);
            self.clocks.push(Clock::new(round_trip, least, most));
            self.receivers.push(Receiver {
                next: 0,
                path: back,
                page: NONE,
                early: 0,
                owed: 0,
            });
            if self.rules.marks == Marks::Proportion {
                self.shares.push(MarkShare {
                    share: 1.0,
                    acked: 0,
                    marked: 0,
                    until: 0,
                });
            }
            if self.rules.growth == Growth::Cubic {
                self.cubics.push(Cubic::default());
            }
            if self.rules.recovery == Recovery::Sack {
                self.boards.push(Scoreboard::default());
            }
        }
    }

    /// Sets every subflow's start. Called once, after the last connection.
    pub fn start(&mut self) {
        let timers = self.senders.len() * if self.rules.delayed_ack > 0 { 2 } else { 1 };
        self.wheel.reserve(timers);
        for subflow in 0..self.senders.len() as u32 {
            let start = self.connections[self.senders[subflow as usize].connection as usize].start;
            if start != NEVER {
                self.wheel.push(self.timer(subflow), start);
            }
        }
    }

    /// Makes a connection that was added with the start [`NEVER`] start `pause` ps after another one ends, which no other does.
    pub fn chain(&mut self, connection: u32, after: u32, pause: u64) {
        let before = &mut self.connections[after as usize];
        (before.then, before.pause) = (connection, pause);
    }

    /// The number of a subflow's timer.
    #[inline]
    pub(super) fn timer(&self, subflow: u32) -> u32 {
        self.links.len() as u32 + subflow
    }

    /// Does events up to the time `until` (inclusive), `budget` at most.
    pub fn run(&mut self, until: u64, budget: u64) -> Stop {
        let links = self.links.len() as u32;
        let subflows = self.senders.len() as u32;
        for _ in 0..budget {
            if self.open == 0 {
                return Stop::Finished;
            }
            let Some((time, event)) = self.wheel.pop(until) else {
                self.now = until;
                return Stop::Time;
            };
            self.now = time;
            self.totals.events += 1;
            if event < links {
                self.arrive(event);
            } else if event - links < subflows {
                self.expire(event - links);
            } else {
                self.acknowledge_late(event - links - subflows);
            }
        }
        if self.open == 0 {
            Stop::Finished
        } else {
            Stop::Budget
        }
    }

    /// The first packet on a link is at its end.
    fn arrive(&mut self, link: u32) {
        let ended = &mut self.links[link as usize];
        let place = ended.head;
        let next = self.pool.next(place);
        ended.head = next;
        if next == NONE {
            ended.tail = NONE;
        } else {
            self.wheel.push(link, self.pool.get(next).time);
        }
        self.totals.hops += u64::from(link < self.wires);
        let packet = self.pool.get_mut(place);
        packet.position += 1;
        let entry = self.routes[packet.position as usize];
        if entry & END == 0 {
            self.forward(place, entry);
            return;
        }
        let header = packet.header;
        let subflow = (entry & !END) >> 1;
        if header.is_ack() {
            self.pool.give(place);
            self.acknowledged(subflow, header);
        } else {
            self.receive(place, subflow, header);
        }
    }

    /// A packet enters a link, or is dropped.
    #[inline]
    fn forward(&mut self, place: u32, link: u32) {
        let now = self.now;
        let entered = &mut self.links[link as usize];
        let count = &mut self.counts[link as usize];
        let packet = self.pool.get_mut(place);
        let bytes = if packet.header.is_ack() {
            self.rules.overhead
        } else {
            packet.header.bytes()
        };
        let service = entered.service(bytes);
        let backlog = entered.backlog(now);
        if (backlog != 0 && backlog + service > entered.limit) || entered.dead != 0 || entered.loss != 0 {
            let lost = entered.dead == 0
                && entered.loss != 0
                && (mix(self.rules.seed ^ mix(u64::from(packet.position)) ^ now) as u32) < entered.loss;
            if entered.dead != 0 || lost || (backlog != 0 && backlog + service > entered.limit) {
                count.drops += 1;
                self.drop_packet(place);
                return;
            }
        }
        if backlog > entered.mark && !packet.header.is_ack() {
            packet.header = packet.header.mark();
            self.totals.marks += 1;
        }
        count.packets += 1;
        count.bytes += u64::from(bytes);
        count.wait += backlog >> 10;
        entered.busy = now + backlog + service;
        packet.time = entered.busy + entered.delay;
        let time = packet.time;
        self.pool.set_next(place, NONE);
        if entered.tail == NONE {
            entered.head = place;
            self.wheel.push(link, time);
        } else {
            self.pool.set_next(entered.tail, place);
        }
        self.links[link as usize].tail = place;
    }

    /// Takes a packet out of the network. Its place is free again.
    pub(super) fn drop_packet(&mut self, place: u32) {
        let packet = self.pool.get(place);
        self.pool.give(place);
        if packet.header.is_ack() {
            self.totals.ack_drops += 1;
            return;
        }
        self.totals.drops += 1;
        self.totals.dropped += self.payload_of(packet.header);
        let mut end = packet.position as usize;
        while self.routes[end] & END == 0 {
            end += 1;
        }
        let subflow = (self.routes[end] & !END) >> 1;
        self.note_drop(subflow);
    }

    fn note_drop(&mut self, subflow: u32) {
        let connection = self.senders[subflow as usize].connection;
        self.connections[connection as usize].drops += 1;
        if self.rules.transport != Transport::Tcp {
            self.settle(connection);
        }
    }

    #[inline]
    fn payload_of(&self, header: Header) -> u64 {
        u64::from(header.bytes() - self.rules.overhead)
    }

    /// One more packet of a connection is where it belongs (of UDP: or lost).
    fn settle(&mut self, connection: u32) {
        let connection = &mut self.connections[connection as usize];
        connection.missing -= 1;
        if connection.missing == 0 {
            connection.end = self.now;
            self.open -= 1;
            let (then, start) = (connection.then, self.now + connection.pause);
            if then != NONE {
                self.begin(then, start);
            }
        }
    }

    /// A connection that waited for another one starts at `start`.
    fn begin(&mut self, connection: u32, start: u64) {
        let begun = &mut self.connections[connection as usize];
        begun.start = start;
        for subflow in begun.first..begun.first + u32::from(begun.subflows) {
            self.wheel.push(self.timer(subflow), start);
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
        let place = self.pool.take(Packet {
            time: 0,
            position: sender.path,
            header: Header::data(number, payload + self.rules.overhead),
        });
        let link = self.routes[sender.path as usize];
        self.forward(place, link);
    }

    /// A data packet has arrived at its receiver.
    fn receive(&mut self, place: u32, subflow: u32, header: Header) {
        self.totals.received += self.payload_of(header);
        let connection = self.senders[subflow as usize].connection;
        if self.rules.transport != Transport::Tcp {
            self.pool.give(place);
            self.settle(connection);
            return;
        }
        let receiver = &mut self.receivers[subflow as usize];
        let distance = header.distance_from(receiver.next);
        let mut new = false;
        let mut named = 0;
        // Out of order, repeated, and what fills a gap is acknowledged at once. (RFC 5681, 4.2)
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
            self.pool.give(place);
            let event = self.timer(subflow) + self.senders.len() as u32;
            if self.wheel.due(event) == NEVER {
                self.wheel.push(event, self.now + self.rules.delayed_ack);
            }
        }
        if new {
            self.settle(connection);
        }
    }

    /// The timer of an acknowledgement that waits. It may have been sent since.
    fn acknowledge_late(&mut self, subflow: u32) {
        if self.receivers[subflow as usize].owed > 0 {
            self.acknowledge(subflow, None, 0, false);
        }
    }

    /// Sends an acknowledgement, in the place of the packet that asks for it if there is one. It names the packet `named` behind
    /// those that it acknowledges.
    fn acknowledge(&mut self, subflow: u32, place: Option<u32>, named: u32, marked: bool) {
        let receiver = &mut self.receivers[subflow as usize];
        receiver.owed = 0;
        let (path, next) = (receiver.path, receiver.next);
        if self.rules.delayed_ack > 0 && place.is_some() {
            let event = self.timer(subflow) + self.senders.len() as u32;
            self.wheel.remove(event);
        }
        if path == NONE {
            if let Some(place) = place {
                self.pool.give(place);
            }
            self.totals.ack_drops += 1;
            return;
        }
        let packet = Packet {
            time: 0,
            position: path,
            header: Header::ack(next, named, marked),
        };
        let place = match place {
            Some(place) => {
                *self.pool.get_mut(place) = packet;
                place
            }
            None => self.pool.take(packet),
        };
        self.forward(place, self.routes[path as usize]);
    }

    /// A subflow's timer: it starts, sends the next packet of UDP, or has waited too long for an acknowledgement.
    fn expire(&mut self, subflow: u32) {
        let sender = &mut self.senders[subflow as usize];
        if let Transport::Udp { gap, drawn } = self.rules.transport {
            self.send_next(subflow, gap, drawn);
        } else if !sender.is(flag::STARTED) {
            sender.flags |= flag::STARTED;
            self.fill(subflow);
        } else if sender.deadline > self.now {
            if sender.deadline != NEVER {
                let deadline = sender.deadline;
                self.wheel.push(self.timer(subflow), deadline);
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
            let event = self.links.len() as u32 + subflow;
            self.wheel.push(event, self.now + gap);
        }
        self.emit(subflow, number);
    }

    /// Payload on links, counted packet by packet. Linear in the packets.
    pub fn in_flight(&self) -> u64 {
        let mut bytes = 0;
        for link in &self.links {
            let mut place = link.head;
            while place != NONE {
                let header = self.pool.get(place).header;
                if !header.is_ack() {
                    bytes += self.payload_of(header);
                }
                place = self.pool.next(place);
            }
        }
        bytes
    }

    /// Packets on links: now, and the most so far.
    pub fn packets(&self) -> (usize, usize) {
        (self.pool.used(), self.pool.most())
    }
}
