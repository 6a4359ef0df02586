//! The event loop: packets go from link to link, and are dropped or marked at queues.
//!
//! One event is a packet's arrival at the end of a link, or a timer. Links come before timers at the same moment, both by
//! number. Everything that is drawn depends on the seed, the route and the time, so that a run's bytes do not depend on the
//! machine. What senders and receivers do is in `ends`, TCP's reactions are in `tcp`.

use cubeyard_routing::random::mix;

use super::cubic::Cubic;
use super::flows::{Clock, Connection, Early, Receiver, Sender};
use super::links::{Header, Link, LinkCount, NONE, Pool};
use super::qcn::{Point, Reaction};
use super::rules::{Growth, Marks, Recovery, Rules, Transport};
use super::sack::Scoreboard;
use super::wheel::{NEVER, Wheel};

/// In a route, in place of a link: the route is over. The rest of the entry is four times the subflow, plus what the route is
/// for: 0 for data, or one of these.
pub const END: u32 = 1 << 31;
/// For acknowledgements.
pub(super) const ACK: u32 = 1;
/// For notices of congestion.
pub(super) const NOTICE: u32 = 2;

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
    /// Notices of congestion that they sent.
    pub notices: u64,
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
    /// The congestion points of links; none without notices of congestion.
    pub points: Vec<Point>,
    /// The reaction points of subflows; none without notices of congestion.
    pub reactions: Vec<Reaction>,
    /// What happened so far.
    pub totals: Totals,
    /// Connections that are not over.
    pub open: usize,
    /// How long a client waits for a response without acknowledgements, in ps.
    pub give_up_after: u64,
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
        let point = rules.qcn.as_ref().map(Point::new);
        let points = point.map_or_else(Vec::new, |point| vec![point; links.len()]);
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
            points,
            reactions: Vec::new(),
            totals: Totals::default(),
            open: 0,
            give_up_after: 0,
            pool: Pool::default(),
            early,
        }
    }

    /// Appends a route and its end; where it starts. `back` is that of acknowledgements. With notices of congestion, directed
    /// links are in pairs: `link ^ 1` is the other direction of `link`.
    pub fn add_route(&mut self, links: impl IntoIterator<Item = u32>, subflow: u32, back: bool) -> u32 {
        let start = self.routes.len() as u32;
        self.routes.extend(links);
        self.routes.push(END | subflow << 2 | if back { ACK } else { 0 });
        if self.rules.qcn.is_some() && !back {
            self.add_way_back(start, subflow);
        }
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
            answers: false,
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
            if self.rules.qcn.is_some() {
                self.reactions.push(Reaction::IDLE);
            }
        }
    }

    /// Sets every subflow's start. Called once, after the last connection.
    pub fn start(&mut self) {
        let kinds = 1 + usize::from(self.rules.delayed_ack > 0) + usize::from(self.rules.qcn.is_some());
        self.wheel.reserve(self.senders.len() * kinds);
        for subflow in 0..self.senders.len() as u32 {
            let start = self.connections[self.senders[subflow as usize].connection as usize].start;
            if start != NEVER {
                self.wheel.push(self.timer(subflow), start);
            }
        }
    }

    /// Makes a connection that was added with the start [`NEVER`] start `pause` ps after another one ends, which no other does.
    /// `answers`: as the response to it.
    pub fn chain(&mut self, connection: u32, after: u32, pause: u64, answers: bool) {
        let before = &mut self.connections[after as usize];
        (before.then, before.pause) = (connection, pause);
        self.connections[connection as usize].answers = answers;
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
                self.other_timer(event - links - subflows);
            }
        }
        if self.open == 0 {
            Stop::Finished
        } else {
            Stop::Budget
        }
    }

    /// A timer of which subflows have none in most runs: that of a late acknowledgement, then that of the limiter.
    fn other_timer(&mut self, number: u32) {
        let subflows = self.senders.len() as u32;
        if self.rules.delayed_ack > 0 && number < subflows {
            self.acknowledge_late(number);
        } else {
            self.limiter_due(number % subflows);
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
        let subflow = (entry & !END) >> 2;
        if header.is_ack() {
            self.pool.give(place);
            if entry & NOTICE == 0 {
                self.acknowledged(subflow, header);
            } else {
                self.told(subflow, header.number());
            }
        } else {
            self.receive(place, subflow, header);
        }
    }

    /// A packet enters a link, or is dropped.
    #[inline]
    pub(super) fn forward(&mut self, place: u32, link: u32) {
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
        let (time, position, is_ack) = (packet.time, packet.position, packet.header.is_ack());
        self.pool.set_next(place, NONE);
        if entered.tail == NONE {
            entered.head = place;
            self.wheel.push(link, time);
        } else {
            self.pool.set_next(entered.tail, place);
        }
        self.links[link as usize].tail = place;
        if !self.points.is_empty() && !is_ack && link < self.wires {
            self.observe(link, position, bytes);
        }
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
        let subflow = (self.routes[end] & !END) >> 2;
        self.note_drop(subflow);
    }

    pub(super) fn note_drop(&mut self, subflow: u32) {
        let connection = self.senders[subflow as usize].connection;
        self.connections[connection as usize].drops += 1;
        if self.rules.transport != Transport::Tcp {
            self.settle(connection);
        }
    }

    #[inline]
    pub(super) fn payload_of(&self, header: Header) -> u64 {
        u64::from(header.bytes() - self.rules.overhead)
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
