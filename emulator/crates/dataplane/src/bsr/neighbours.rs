//! Neighbour maintenance: who is alive at the other end of each port. `[bcube §7.2, §7.5]`
//!
//! Every neighbour gets a hello of its own each second, which also says whether the sender hears the receiver: a cable
//! that carries in one direction only is dead in both. `[ours]` A neighbour is dead after three seconds without such a
//! hello, at once when the port loses its carrier, and at once when it reports by another way that it does not reach
//! us. It lives again with the next hello in which it hears us.

use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::NodeId;

use super::limits::RateLimit;
use crate::address::Nha;
use crate::configuration::{Configuration, secs};
use crate::protocol::{NeighbourStatus, Time};

/// Messages a second that are taken in from one neighbour on average.
const MESSAGES_PER_SEC: f64 = 4000.0;
/// Least time between two hellos that answer a neighbour out of turn.
const ANSWER_PAUSE: Duration = Duration::from_millis(20);

/// A neighbour's entry in the neighbour status table.
#[derive(Debug)]
pub struct Neighbour {
    /// The neighbour.
    pub server: NodeId,
    /// Its key in the table.
    pub nha: Nha,
    /// Our port towards it.
    pub port: u8,
    /// The control address of its port.
    pub ip: Ipv4Addr,
    /// Whether it is alive.
    pub up: bool,
    /// What it may still send.
    pub limit: RateLimit,
    heard_at: Option<Time>,
    /// When it last said that it hears us; at first, when we began to listen.
    hears_us_at: Time,
    /// It told us that it does not reach us.
    reported: bool,
    answered_at: Option<Time>,
}

/// One of our ports.
#[derive(Debug)]
pub struct PortState {
    /// The port's number.
    pub port: u8,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// What the link could carry besides, from us, as last measured.
    out_bits_per_sec: f64,
    /// What flows that we moved here will take, and until when the measurement cannot show it.
    claims: Vec<(Time, f64)>,
    /// What the link could carry besides, to us.
    pub in_bits_per_sec: f64,
}

impl PortState {
    /// What the link could carry besides, from us.
    pub fn left_bits_per_sec(&self, now: Time) -> f64 {
        let claims = self.claims.iter().filter(|(until, _)| now < *until);
        let claimed: f64 = claims.map(|(_, bits_per_sec)| bits_per_sec).sum();
        (self.out_bits_per_sec - claimed).max(0.0)
    }
}

/// All neighbours, by port and then by address.
#[derive(Debug)]
pub struct Neighbours {
    list: Vec<Neighbour>,
    by_nha: Vec<Option<u16>>,
    ports: Vec<PortState>,
    hello_interval: Duration,
    dead_interval: Duration,
    /// Time after which a measurement shows a flow that has moved.
    claim_interval: Duration,
    next_hello: Time,
}

/// A hello that is due: which neighbour, and whether we hear it.
pub type Hello = (usize, bool);

impl Neighbours {
    /// All neighbours are taken for alive until they have been silent for as long as it takes.
    pub fn new(configuration: &Configuration, now: Time) -> Neighbours {
        let mut list = Vec::new();
        let mut by_nha = vec![None; Nha::VALUES];
        for port in &configuration.ports {
            for address in &port.neighbours {
                by_nha[address.nha.index()] = Some(list.len() as u16);
                list.push(Neighbour {
                    server: address.server,
                    nha: address.nha,
                    port: port.port,
                    ip: address.ip,
                    up: true,
                    limit: RateLimit::new(MESSAGES_PER_SEC),
                    heard_at: None,
                    hears_us_at: now,
                    reported: false,
                    answered_at: None,
                });
            }
        }
        let rate = configuration.rate_bits_per_sec;
        let ports = configuration.ports.iter().map(|port| PortState {
            port: port.port,
            carrier: true,
            out_bits_per_sec: rate,
            claims: Vec::new(),
            in_bits_per_sec: rate,
        });
        Neighbours {
            list,
            by_nha,
            ports: ports.collect(),
            hello_interval: secs(configuration.settings.hello_secs),
            dead_interval: configuration.settings.dead_interval(),
            claim_interval: 2 * configuration.settings.load_memory(),
            next_hello: now,
        }
    }

    /// All neighbours.
    pub fn list(&self) -> &[Neighbour] {
        &self.list
    }

    /// The index of the neighbour with a key.
    pub fn with_nha(&self, nha: Nha) -> Option<usize> {
        self.by_nha[nha.index()].map(usize::from)
    }

    /// The index of the neighbour with an address, if it is one of that port's: all others are strangers.
    pub fn sender(&self, port: u8, ip: Ipv4Addr) -> Option<usize> {
        self.list
            .iter()
            .position(|neighbour| neighbour.port == port && neighbour.ip == ip)
    }

    /// Whether a message from a neighbour is within what it may send.
    pub fn admit(&mut self, now: Time, index: usize) -> bool {
        self.list[index].limit.take(now)
    }

    /// Whether the neighbour with a key is there and alive.
    pub fn is_up(&self, nha: Nha) -> bool {
        self.with_nha(nha).is_some_and(|index| self.list[index].up)
    }

    /// The port's state.
    pub fn port(&self, port: u8) -> Option<&PortState> {
        self.ports.iter().find(|state| state.port == port)
    }

    /// Notes what a port's link could carry besides.
    pub fn set_available(&mut self, port: u8, out_bits_per_sec: f64, in_bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.out_bits_per_sec = out_bits_per_sec.max(0.0);
            state.in_bits_per_sec = in_bits_per_sec.max(0.0);
        }
    }

    /// Notes that a flow of ours moves to a port, and what it may take there. Without that, flows that choose within
    /// one measurement of each other would all follow the first. `[ours]`
    pub fn claim(&mut self, now: Time, port: u8, bits_per_sec: f64) {
        if let Some(state) = self.ports.iter_mut().find(|state| state.port == port) {
            state.claims.retain(|(until, _)| now < *until);
            state.claims.push((now + self.claim_interval, bits_per_sec));
        }
    }

    /// The keys of the neighbours that we do not reach.
    pub fn dead(&self) -> Vec<Nha> {
        let dead = self.list.iter().filter(|neighbour| !neighbour.up);
        dead.map(|neighbour| neighbour.nha).collect()
    }

    /// Takes in a hello: whether the neighbour lives again, and whether it should have an answer at once.
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
            // The neighbours should know soon.
            self.next_hello = self.next_hello.min(now);
        }
        self.bury(|neighbour| !up && neighbour.port == port)
    }

    /// Takes in a neighbour's report that it does not reach us; whether it was alive until now.
    pub fn on_report(&mut self, index: usize) -> bool {
        self.list[index].reported = true;
        !self.bury(|neighbour| neighbour.reported).is_empty()
    }

    /// What the time brings: the neighbours that died of silence, and the hellos that are due.
    pub fn on_timeout(&mut self, now: Time) -> (Vec<usize>, Vec<Hello>) {
        let silent = self.dead_interval;
        let died = self.bury(|neighbour| now >= neighbour.silent_since() + silent);
        let mut due = Vec::new();
        if now >= self.next_hello {
            self.next_hello = now + self.hello_interval;
            let carried = (0..self.list.len()).filter(|&index| self.carrier_of(index));
            due = carried.map(|index| (index, self.hears(now, index))).collect();
        }
        (died, due)
    }

    /// Whether we have heard a neighbour lately: what our hello tells it.
    pub fn hears(&self, now: Time, index: usize) -> bool {
        self.list[index]
            .heard_at
            .is_some_and(|at| now < at + self.dead_interval)
    }

    /// When a hello is due or a neighbour dies of silence.
    pub fn next_timeout(&self) -> Time {
        let alive = self.list.iter().filter(|neighbour| neighbour.up);
        alive
            .map(|neighbour| neighbour.silent_since() + self.dead_interval)
            .fold(self.next_hello, Time::min)
    }

    /// The table, for people.
    pub fn inspect(&self, now: Time) -> Vec<NeighbourStatus> {
        let status = |neighbour: &Neighbour| NeighbourStatus {
            server: neighbour.server,
            nha: neighbour.nha,
            port: neighbour.port,
            up: neighbour.up,
            silent_for: neighbour.heard_at.map(|at| now.saturating_sub(at)),
        };
        self.list.iter().map(status).collect()
    }

    fn carrier_of(&self, index: usize) -> bool {
        self.port(self.list[index].port)
            .is_some_and(|state| state.carrier)
    }

    /// Marks living neighbours dead; which.
    fn bury(&mut self, dies: impl Fn(&Neighbour) -> bool) -> Vec<usize> {
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
    /// A neighbour that hears us is one that we hear, so that its word is all that counts.
    fn silent_since(&self) -> Time {
        self.hears_us_at
    }
}
