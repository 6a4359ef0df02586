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

/// Average number of messages per second that are accepted from a neighbour.
const MESSAGES_PER_SEC: f64 = 4000.0;
/// Minimum time between two hellos that answer a neighbour outside the regular interval.
const ANSWER_PAUSE: Duration = Duration::from_millis(20);

/// The state of a neighbour.
#[derive(Debug)]
pub struct Neighbour {
    /// The neighbour's id.
    pub server: NodeId,
    /// The port to the neighbour.
    pub port: u8,
    /// Control address of the neighbour's port.
    pub ip: Ipv4Addr,
    /// Whether the neighbour is alive.
    pub up: bool,
    limit: RateLimit,
    heard_at: Option<Time>,
    /// When the neighbour last confirmed receiving our hellos; at first, the time at which we began
    /// to listen.
    hears_us_at: Time,
    /// Whether the neighbour reported that it cannot reach us.
    reported: bool,
    answered_at: Option<Time>,
}

/// The state of one of our ports.
#[derive(Debug)]
pub struct PortState {
    /// The number of the port.
    pub port: u8,
    /// Whether the port has a carrier.
    pub carrier: bool,
    /// Free bandwidth of the link from us, as last measured.
    out_bits_per_sec: f64,
    /// Rates of flows that have moved to this port, each with the time from which measurements
    /// include it.
    claims: Vec<(Time, f64)>,
    /// Free bandwidth of the link to us.
    pub in_bits_per_sec: f64,
}

impl PortState {
    /// Free bandwidth of the link from us, minus the expected rates of flows that have just moved
    /// here.
    pub fn left_bits_per_sec(&self, now: Time) -> f64 {
        let claims = self.claims.iter().filter(|(until, _)| now < *until);
        let claimed: f64 = claims.map(|(_, bits_per_sec)| bits_per_sec).sum();
        (self.out_bits_per_sec - claimed).max(0.0)
    }
}

/// A neighbour's state, for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourStatus {
    /// The neighbour's id.
    pub server: NodeId,
    /// The port to the neighbour.
    pub port: u8,
    /// Whether the neighbour is alive.
    pub up: bool,
    /// Time since the neighbour's last hello; `None` if there was none.
    pub silent_for: Option<Duration>,
}

/// The intervals of neighbour maintenance.
#[derive(Clone, Copy, Debug)]
pub struct Intervals {
    /// Time between two hellos.
    pub hello: Duration,
    /// A neighbour is dead after this time without hellos.
    pub dead: Duration,
    /// Time after which measurements include a flow that has moved.
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

/// A hello to send: the index of the neighbour, and whether we receive its hellos.
pub type Hello = (usize, bool);

impl Neighbours {
    /// The initial state: all neighbours count as alive until they have been silent for too long.
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

    /// The index of the neighbour with this address, if it is reachable by this port.
    pub fn sender(&self, port: u8, ip: Ipv4Addr) -> Option<usize> {
        self.list
            .iter()
            .position(|neighbour| neighbour.port == port && neighbour.ip == ip)
    }

    /// Whether another message of a neighbour is accepted. Messages above the rate limit are
    /// dropped.
    pub fn admit(&mut self, now: Time, index: usize) -> bool {
        self.list[index].limit.take(now)
    }

    /// The state of the port.
    pub fn port(&self, port: u8) -> Option<&PortState> {
        self.ports.iter().find(|state| state.port == port)
    }

    /// Records the free bandwidth of a port's link.
    pub fn set_available(&mut self, port: u8, out_bits_per_sec: f64, in_bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.out_bits_per_sec = out_bits_per_sec.max(0.0);
            state.in_bits_per_sec = in_bits_per_sec.max(0.0);
        }
    }

    /// Records that a flow moves to a port, with its expected rate there. Otherwise, all flows that
    /// choose between two measurements would follow the first one. `[ours]`
    pub fn claim(&mut self, now: Time, port: u8, bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.claims.retain(|(until, _)| now < *until);
            state.claims.push((now + self.intervals.claim, bits_per_sec));
        }
    }

    /// The neighbours that we cannot reach.
    pub fn dead(&self) -> impl Iterator<Item = usize> {
        let dead = self
            .list
            .iter()
            .enumerate()
            .filter(|(_, neighbour)| !neighbour.up);
        dead.map(|(index, _)| index)
    }

    /// Handles a hello. Returns whether the neighbour is alive again, and whether it should get an
    /// answer immediately.
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

    /// Handles a change of a port's carrier; returns the neighbours that died.
    pub fn on_carrier(&mut self, now: Time, port: u8, up: bool) -> Vec<usize> {
        let Some(state) = self.ports.iter_mut().find(|state| state.port == port) else {
            return Vec::new();
        };
        if state.carrier == up {
            return Vec::new();
        }
        state.carrier = up;
        if up {
            // The next hello is due immediately, so that neighbours learn of the change.
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

    /// Returns the neighbours that have been silent for too long, and the hellos that are due.
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

    /// Whether we have recently received hellos of a neighbour. Our hellos report this to it.
    pub fn hears(&self, now: Time, index: usize) -> bool {
        self.list[index]
            .heard_at
            .is_some_and(|at| now < at + self.intervals.dead)
    }

    /// When a hello is due or the silence of a neighbour is too long.
    pub fn next_timeout(&self) -> Time {
        let alive = self.list.iter().filter(|neighbour| neighbour.up);
        alive
            .map(|neighbour| neighbour.silent_since() + self.intervals.dead)
            .fold(self.next_hello, Time::min)
    }

    /// The state of every neighbour, for users.
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

    /// Marks the live neighbours for which `dies` returns true as dead; returns them.
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
    /// A confirmation that a neighbour receives our hellos arrives in its own hellos, so their time
    /// is enough.
    fn silent_since(&self) -> Time {
        self.hears_us_at
    }
}
