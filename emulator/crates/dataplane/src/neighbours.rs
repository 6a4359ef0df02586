//! Neighbour maintenance for all protocols: detects whether the server at the other end of each
//! port is alive. `[bcube §7.2, §7.5]`
//!
//! Every neighbour gets a separate hello at each interval, which also reports whether the sender
//! receives the receiver's hellos: a cable that works in one direction only counts as dead in both.
//! `[ours]` A neighbour is dead if no such hello has arrived for the dead interval, and at once if
//! the port loses its carrier or the neighbour reports by another path that it cannot reach us. It
//! is alive again with its next hello that confirms receiving ours.
//!
//! Neighbours are numbered in the order of the configuration: by port, then as listed there. The
//! protocol defines the format of hellos.

use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::NodeId;

use crate::configuration::Port;
use crate::protocol::Time;
use crate::rate_limit::RateLimit;

/// Messages a second that are taken in from one neighbour on average.
const MESSAGES_PER_SEC: f64 = 4000.0;
/// Least time between two hellos that answer a neighbour out of turn.
const ANSWER_PAUSE: Duration = Duration::from_millis(20);

/// The state of a neighbour.
#[derive(Debug)]
pub struct Neighbour {
    /// The neighbour's id.
    pub server: NodeId,
    /// Our port towards it.
    pub port: u8,
    /// The control address of its port.
    pub ip: Ipv4Addr,
    /// Whether it is alive.
    pub up: bool,
    limit: RateLimit,
    heard_at: Option<Time>,
    /// The last time at which it confirmed receiving our hellos; initially the time at which we
    /// began to listen.
    hears_us_at: Time,
    /// It reported that it cannot reach us.
    reported: bool,
    answered_at: Option<Time>,
}

/// One of our ports.
#[derive(Debug)]
pub struct PortState {
    /// The number of the port.
    pub port: u8,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Bandwidth the link has left from us, as last measured.
    out_bits_per_sec: f64,
    /// The rates of flows that were moved to this port, each until the time from which the
    /// measurement includes it.
    claims: Vec<(Time, f64)>,
    /// Bandwidth the link has left to us.
    pub in_bits_per_sec: f64,
}

impl PortState {
    /// Bandwidth the link has left from us, less what flows that moved here will take.
    pub fn left_bits_per_sec(&self, now: Time) -> f64 {
        let claims = self.claims.iter().filter(|(until, _)| now < *until);
        let claimed: f64 = claims.map(|(_, bits_per_sec)| bits_per_sec).sum();
        (self.out_bits_per_sec - claimed).max(0.0)
    }
}

/// A neighbour's state, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourStatus {
    /// The neighbour's id.
    pub server: NodeId,
    /// Our port towards it.
    pub port: u8,
    /// Whether it is alive.
    pub up: bool,
    /// Time since its last hello; `None` if there was none.
    pub silent_for: Option<Duration>,
}

/// The times that neighbour maintenance goes by.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// From one hello to the next.
    pub hello: Duration,
    /// Silence after which a neighbour is dead.
    pub dead: Duration,
    /// Time after which a measurement shows a flow that has moved.
    pub claim: Duration,
}

/// The state of all neighbours.
#[derive(Debug)]
pub struct Neighbours {
    list: Vec<Neighbour>,
    ports: Vec<PortState>,
    intervals: Intervals,
    next_hello: Time,
}

/// A hello that is due: the index of the neighbour, and whether we receive its hellos.
pub type Hello = (usize, bool);

impl Neighbours {
    /// All neighbours count as alive until they have been silent for too long.
    pub fn new(ports: &[Port], rate_bits_per_sec: f64, intervals: Intervals, now: Time) -> Neighbours {
        let mut list = Vec::new();
        for port in ports {
            list.extend(port.neighbours.iter().map(|address| Neighbour {
                server: address.server,
                port: port.port,
                ip: address.ip,
                up: true,
                limit: RateLimit::per_sec(MESSAGES_PER_SEC),
                heard_at: None,
                hears_us_at: now,
                reported: false,
                answered_at: None,
            }));
        }
        let ports = ports.iter().map(|port| PortState {
            port: port.port,
            carrier: true,
            out_bits_per_sec: rate_bits_per_sec,
            claims: Vec::new(),
            in_bits_per_sec: rate_bits_per_sec,
        });
        Neighbours {
            list,
            ports: ports.collect(),
            intervals,
            next_hello: now,
        }
    }

    /// The state of all neighbours.
    pub fn list(&self) -> &[Neighbour] {
        &self.list
    }

    /// The index of the neighbour with an address, if it is one of that port's: all others are
    /// strangers.
    pub fn sender(&self, port: u8, ip: Ipv4Addr) -> Option<usize> {
        self.list
            .iter()
            .position(|neighbour| neighbour.port == port && neighbour.ip == ip)
    }

    /// Whether a neighbour may send another message: a flood from one is dropped.
    pub fn admit(&mut self, now: Time, index: usize) -> bool {
        self.list[index].limit.take(now)
    }

    /// The state of the port.
    pub fn port(&self, port: u8) -> Option<&PortState> {
        self.ports.iter().find(|state| state.port == port)
    }

    /// Records the bandwidth that a port's link has left.
    pub fn set_available(&mut self, port: u8, out_bits_per_sec: f64, in_bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.out_bits_per_sec = out_bits_per_sec.max(0.0);
            state.in_bits_per_sec = in_bits_per_sec.max(0.0);
        }
    }

    /// Notes that a flow of ours moves to a port, and what it may take there. Without that, flows
    /// that choose within one measurement of each other would all follow the first. `[ours]`
    pub fn claim(&mut self, now: Time, port: u8, bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.claims.retain(|(until, _)| now < *until);
            state.claims.push((now + self.intervals.claim, bits_per_sec));
        }
    }

    /// The neighbours that we do not reach.
    pub fn dead(&self) -> impl Iterator<Item = usize> {
        let dead = self
            .list
            .iter()
            .enumerate()
            .filter(|(_, neighbour)| !neighbour.up);
        dead.map(|(index, _)| index)
    }

    /// Takes in a hello: whether the neighbour lives again, and whether it should have an answer at
    /// once.
    pub fn on_hello(&mut self, now: Time, index: usize, hears_us: bool) -> (bool, bool) {
        let carrier = self.carrier_of(index);
        let pause_over = |at: Option<Time>| at.is_none_or(|at| now >= at + ANSWER_PAUSE);
        let neighbour = &mut self.list[index];
        neighbour.heard_at = Some(now);
        if hears_us {
            neighbour.hears_us_at = now;
            neighbour.reported = false;
        }
        let revived = !neighbour.up && hears_us && carrier;
        neighbour.up |= revived;
        let answer = (revived || !hears_us) && pause_over(neighbour.answered_at);
        if answer {
            neighbour.answered_at = Some(now);
        }
        (revived, answer)
    }

    /// Takes in a port's carrier: the neighbours that died with it.
    pub fn on_carrier(&mut self, now: Time, port: u8, up: bool) -> Vec<usize> {
        let Some(state) = self.ports.iter_mut().find(|state| state.port == port) else {
            return Vec::new();
        };
        if state.carrier == up {
            return Vec::new();
        }
        state.carrier = up;
        if up {
            // Send a hello soon, so that the neighbours learn of the change.
            self.next_hello = self.next_hello.min(now);
        }
        self.mark_dead(|neighbour| !up && neighbour.port == port)
    }

    /// Records a neighbour's report that it does not receive our hellos. Returns whether the
    /// neighbour was alive until now.
    pub fn on_report(&mut self, index: usize) -> bool {
        self.list[index].reported = true;
        !self.mark_dead(|neighbour| neighbour.reported).is_empty()
    }

    /// Returns the neighbours that are silent for too long at this time, and the hellos that are
    /// due.
    pub fn on_timeout(&mut self, now: Time) -> (Vec<usize>, Vec<Hello>) {
        let silent = self.intervals.dead;
        let died = self.mark_dead(|neighbour| now >= neighbour.silent_since() + silent);
        let mut due = Vec::new();
        if now >= self.next_hello {
            self.next_hello = now + self.intervals.hello;
            let carried = (0..self.list.len()).filter(|&index| self.carrier_of(index));
            due = carried.map(|index| (index, self.hears(now, index))).collect();
        }
        (died, due)
    }

    /// Whether we have received hellos of a neighbour lately, as reported in our hellos to it.
    pub fn hears(&self, now: Time, index: usize) -> bool {
        self.list[index]
            .heard_at
            .is_some_and(|at| now < at + self.intervals.dead)
    }

    /// When a hello is due or a neighbour dies of silence.
    pub fn next_timeout(&self) -> Time {
        let alive = self.list.iter().filter(|neighbour| neighbour.up);
        alive
            .map(|neighbour| neighbour.silent_since() + self.intervals.dead)
            .fold(self.next_hello, Time::min)
    }

    /// Every neighbour's state, for people.
    pub fn status(&self, now: Time) -> impl Iterator<Item = NeighbourStatus> {
        self.list.iter().map(move |neighbour| NeighbourStatus {
            server: neighbour.server,
            port: neighbour.port,
            up: neighbour.up,
            silent_for: neighbour.heard_at.map(|at| now.saturating_sub(at)),
        })
    }

    fn carrier_of(&self, index: usize) -> bool {
        self.port(self.list[index].port)
            .is_some_and(|state| state.carrier)
    }

    /// Marks those living neighbours dead for which `dies` holds; returns them.
    fn mark_dead(&mut self, dies: impl Fn(&Neighbour) -> bool) -> Vec<usize> {
        let mut died = Vec::new();
        for (index, neighbour) in self.list.iter_mut().enumerate() {
            if neighbour.up && dies(neighbour) {
                neighbour.up = false;
                died.push(index);
            }
        }
        died
    }
}

impl Neighbour {
    /// If a neighbour confirms receiving our hellos, we receive its hellos too, so only the time of
    /// its own hellos matters.
    fn silent_since(&self) -> Time {
        self.hears_us_at
    }
}
