//! The event loop: packets go from link to link, and are dropped or marked at queues.
//!
//! One event is a packet's arrival at the end of a link, or a timer. At the same moment, links come
//! before timers, both ordered by number. Random draws depend only on the seed, the route and the
//! time, so a run's bytes do not depend on the machine. Senders and receivers are in `ends`, TCP's
//! reactions in `tcp`.

use cubeyard_routing::random::mix;

use super::calendar::Calendar;
use super::cubic::Cubic;
use super::flows::{Clock, Connection, Early, Receiver, Sender};
use super::links::{Header, Lane, Link, Links, NONE};
use super::qcn::{Point, Reaction};
use super::rules::{Growth, Marks, Recovery, Rules, Transport};
use super::sack::Scoreboard;
use super::timers::Timers;
use super::wheel::{NEVER, draw};

/// Marks the end of a route, where a link would be. The rest of the entry is four times the
/// subflow, plus the purpose of the route: 0 for data, or one of these.
pub const END: u32 = 1 << 31;
/// The route carries acknowledgements.
pub(super) const ACK: u32 = 1;
/// The route carries notices of congestion.
pub(super) const NOTICE: u32 = 2;

/// Sums over all flows. Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes that senders put on their first link, or would have, repeated ones included.
    pub sent: u64,
    /// Bytes that arrived, repeated ones included.
    pub received: u64,
    /// Bytes that queues dropped or that were lost on links.
    pub dropped: u64,
    /// Number of data packets dropped.
    pub drops: u64,
    /// Number of acknowledgements dropped.
    pub ack_drops: u64,
    /// Data packets sent again.
    pub again: u64,
    /// Number of expired retransmission timers.
    pub timeouts: u64,
    /// Packets that queues marked.
    pub marks: u64,
    /// Notices of congestion that queues sent.
    pub notices: u64,
    /// Packets carried over one link each, acknowledgements included.
    pub hops: u64,
    /// Number of processed events.
    pub events: u64,
}

/// Why the loop stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All connections have ended.
    Finished,
    /// The end of the simulated time was reached.
    Time,
    /// The requested number of events was processed.
    Budget,
}

/// A network with its packets at a point in time.
#[derive(Debug)]
pub struct Core {
    /// The constants of the run.
    pub rules: Rules,
    /// The time, in ps.
    pub now: u64,
    /// Links, then processors, with their counters.
    pub links: Links,
    /// The number of links in `links`; the rest are processors.
    pub wires: u32,
    /// Routes, one after the other: links, and an entry with [`END`].
    pub routes: Vec<u32>,
    /// The senders of all subflows.
    pub senders: Vec<Sender>,
    /// The round-trip times of all subflows.
    pub clocks: Vec<Clock>,
    /// The receivers of all subflows.
    pub receivers: Vec<Receiver>,
    /// The state of all connections.
    pub connections: Vec<Connection>,
    /// DCTCP's state per subflow; empty without DCTCP.
    pub shares: Vec<MarkShare>,
    /// CUBIC's state per subflow.
    pub(super) cubics: Vec<Cubic>,
    /// The state of selective acknowledgements per subflow.
    pub(super) boards: Vec<Scoreboard>,
    /// The packets that acknowledgements have named.
    pub(super) named: Early,
    /// The congestion points of links; none without notices of congestion.
    pub points: Vec<Point>,
    /// The reaction points of subflows; none without notices of congestion.
    pub reactions: Vec<Reaction>,
    /// Sums since the start.
    pub totals: Totals,
    /// Connections that have not ended.
    pub open: usize,
    /// How long a client waits for a response without acknowledgements, in ps.
    pub give_up_after: u64,
    pub(super) early: Early,
    /// The packets on links.
    pub(super) calendar: Calendar,
    /// The timers of subflows: first of TCP or UDP, then of delayed acknowledgements and of
    /// limiters, if any.
    pub(super) timers: Timers,
    /// The time within which most events are due, in ps.
    turn: u64,
}

/// The share of marked packets, as DCTCP estimates it.
#[derive(Clone, Copy, Debug)]
pub struct MarkShare {
    /// The estimated share of marked packets.
    pub share: f64,
    /// Packets acknowledged in this window.
    pub acked: u32,
    /// Acknowledged packets with a mark in this window.
    pub marked: u32,
    /// The window ends when all packets before this number are acknowledged.
    pub until: u32,
}

impl Core {
    /// A network at time 0. Most events are due within `turn` ps. Subflows begin when they are
    /// started.
    pub fn new(rules: Rules, links: Vec<Link>, wires: u32, turn: u64) -> Core {
        let (early, named) = (Early::new(rules.most_window), Early::new(rules.most_window));
        let point = rules.qcn.as_ref().map(Point::new);
        let points = point.map_or_else(Vec::new, |point| vec![point; links.len()]);
        Core {
            calendar: Calendar::new(1, 1),
            timers: Timers::new(links.len() as u32, 0, turn),
            turn,
            rules,
            now: 0,
            links: Links::new(links),
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
            early,
        }
    }

    /// Appends a route and its end. Returns its start. `back` is the route of acknowledgements.
    /// With notices of congestion, directed links are in pairs: `link ^ 1` is the other direction
    /// of `link`.
    pub fn add_route(&mut self, links: impl IntoIterator<Item = u32>, subflow: u32, back: bool) -> u32 {
        let start = self.routes.len() as u32;
        self.routes.extend(links);
        self.routes.push(END | subflow << 2 | if back { ACK } else { 0 });
        if self.rules.qcn.is_some() && !back {
            self.add_way_back(start, subflow);
        }
        start
    }

    /// Adds a connection of `bytes` that starts at `start`, over `subflows` pairs of routes (there
    /// and back, as `add_route` gave them) and their idle round trips. All connections are added
    /// before the first event.
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
        let timers = self.senders.len() * kinds;
        self.timers = Timers::new(self.links.len() as u32, timers, self.turn);
        self.calendar = self.new_calendar();
        for subflow in 0..self.senders.len() as u32 {
            let start = self.connections[self.senders[subflow as usize].connection as usize].start;
            if start != NEVER {
                self.timers.push(subflow, start);
            }
        }
    }

    /// A calendar for these links: a packet is on a link no longer than the sum of queueing and
    /// propagation.
    fn new_calendar(&self) -> Calendar {
        let bytes = self.rules.payload + self.rules.overhead;
        let (mut rate, mut turn) = (0.0, 0);
        for lane in &self.links.lanes {
            let link = &self.links.kinds[lane.kind()].link;
            rate += 1.0 / link.service(bytes).max(1) as f64;
            turn = turn.max(link.limit.saturating_add(link.delay));
        }
        Calendar::new((1.0 / rate) as u64, turn)
    }

    /// Makes a connection that was added with the start [`NEVER`] start `pause` ps after the end of
    /// another, which starts no other connection. `answers`: it is the response to that connection.
    pub fn chain(&mut self, connection: u32, after: u32, pause: u64, answers: bool) {
        let before = &mut self.connections[after as usize];
        (before.then, before.pause) = (connection, pause);
        self.connections[connection as usize].answers = answers;
    }

    /// Processes events up to the time `until` (inclusive), `budget` at most.
    pub fn run(&mut self, until: u64, budget: u64) -> Stop {
        let mut left = budget;
        while left > 0 && self.open > 0 {
            // A timer may put packets on links from its time on: the calendar goes no further
            // before it.
            let soonest = self.timers.soonest();
            let time = self.calendar.next(until.min(soonest), &self.routes);
            if time < soonest {
                self.arrive_at(time);
            } else if soonest > until {
                break;
            } else {
                let Some(timer) = self.timers.pop(soonest) else {
                    continue;
                };
                let place = (timer + self.links.len() as u32) ^ draw(soonest);
                if time == soonest && self.calendar.next_drawn() < place {
                    self.timers.push(timer, soonest);
                    self.arrive_at(time);
                } else {
                    self.now = soonest;
                    self.timer_due(timer);
                }
            }
            self.totals.events += 1;
            left -= 1;
        }
        if self.open == 0 {
            Stop::Finished
        } else if left == 0 {
            Stop::Budget
        } else {
            self.now = until;
            Stop::Time
        }
    }

    #[inline]
    fn arrive_at(&mut self, time: u64) {
        self.now = time;
        // In large networks a hop waits for memory, so prefetch the record, route and link of the
        // next packet.
        if let Some(soon) = self.calendar.soon() {
            let onto = self.routes[soon.position as usize + 1];
            if let Some(lane) = self.links.lanes.get(onto as usize) {
                std::hint::black_box(lane.busy);
            }
        }
        let place = self.calendar.pop();
        self.arrive(place);
    }

    fn timer_due(&mut self, timer: u32) {
        let subflows = self.senders.len() as u32;
        if timer < subflows {
            self.expire(timer);
        } else if self.rules.delayed_ack > 0 && timer < 2 * subflows {
            self.acknowledge_late(timer - subflows);
        } else {
            self.limiter_due(timer % subflows);
        }
    }

    /// A packet is at the end of its link.
    #[inline]
    fn arrive(&mut self, place: u32) {
        let packet = self.calendar.get_mut(place);
        let position = packet.position as usize;
        packet.position += 1;
        let header = packet.header;
        let &[link, entry] = &self.routes[position..position + 2] else {
            return;
        };
        self.totals.hops += u64::from(link < self.wires);
        if entry & END == 0 {
            self.forward(place, entry);
            return;
        }
        let subflow = (entry & !END) >> 2;
        if header.is_ack() {
            self.calendar.give(place);
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
        let header = self.calendar.get(place).header;
        let bytes = if header.is_ack() {
            self.rules.overhead
        } else {
            header.bytes()
        };
        let mut lane = &mut self.links.lanes[link as usize];
        let mut kind = &self.links.kinds[lane.kind()];
        let (service, backlog) = (kind.link.service(bytes), lane.backlog(self.now));
        if backlog + service > kind.calm {
            if !self.admit(place, link, service) {
                return;
            }
            lane = &mut self.links.lanes[link as usize];
            kind = &self.links.kinds[lane.kind()];
        }
        lane.tally += Lane::PACKET;
        lane.bytes += u64::from(bytes);
        lane.wait += backlog >> 10;
        lane.busy = self.now + backlog + service;
        let time = lane.busy + kind.link.delay;
        self.calendar.push(place, time, &self.routes);
        if !self.points.is_empty() && !header.is_ack() && link < self.wires {
            let position = self.calendar.get(place).position;
            self.observe(link, position, bytes);
        }
    }

    /// Drops or marks a packet if the state of the link requires it. Returns whether the link
    /// accepts it.
    #[inline(never)]
    fn admit(&mut self, place: u32, link: u32, service: u64) -> bool {
        let now = self.now;
        let backlog = self.links.lanes[link as usize].backlog(now);
        let entered = self.links.get(link);
        let packet = self.calendar.get_mut(place);
        let lost = || {
            entered.loss != 0
                && (mix(self.rules.seed ^ mix(u64::from(packet.position)) ^ now) as u32) < entered.loss
        };
        let full = backlog != 0 && backlog + service > entered.limit;
        if full || entered.dead != 0 || lost() {
            self.links.drops[link as usize] += 1;
            self.drop_packet(place);
            return false;
        }
        if backlog > entered.mark && !packet.header.is_ack() {
            packet.header = packet.header.mark();
            self.totals.marks += 1;
        }
        true
    }

    /// Removes a packet from the network and frees its record.
    pub(super) fn drop_packet(&mut self, place: u32) {
        let packet = self.calendar.get(place);
        self.calendar.give(place);
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
        let packets = self.calendar.packets();
        let headers = packets.iter().map(|&(_, place)| self.calendar.get(place).header);
        headers
            .filter(|header| !header.is_ack())
            .map(|header| self.payload_of(header))
            .sum()
    }

    /// Packets on links: the present number, and the largest so far.
    pub fn packets(&self) -> (usize, usize) {
        (self.calendar.used(), self.calendar.most())
    }
}
