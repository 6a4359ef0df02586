//! The runtime of a server's services: arriving packets go to their service, the extended routing
//! service forwards them by the service's decision, and links poll services for packets.
//! `[camcube §2.1.1, §5]`
//!
//! Calls to services are never nested: a service's requests are carried out in order after it has
//! returned. A packet that keeps returning to the same server is dropped after [`MOST_STEPS`], and
//! so are the packets that its service sends because of it. `[ours]`

use std::collections::{BTreeMap, VecDeque};

use cubeyard_routing::random::Draws;

use super::context::{Call, Request, View};
use super::fair::Fair;
use super::hosted::{Hosted, Sent, count};
use super::queues::{Candidate, Waiting};
use crate::camcube::header::{Header, MAX_HOPS, ONE_HOP, OPTION_BYTES};
use crate::protocol::Time;
use crate::service::{Action, ClientId, Journey, Key, LOCAL, MAX_KEYS, MAX_SERVICES, Packet, Reply, Service};

/// A packet that causes more calls than this on one server counts as looping.
const MOST_STEPS: u32 = 64;

/// Pending work for the service with an index.
enum Work {
    Arrive {
        packet: Packet,
        port: u8,
        journey: Journey,
    },
    Route {
        packet: Packet,
        at: Key,
        journey: Journey,
    },
}

/// All services of a server.
pub struct Runtime {
    hosted: Vec<Hosted>,
    ports: u8,
    /// A number that increases with each change of the network's state.
    version: u64,
    /// By port: the turns of the services.
    turns: Vec<Fair>,
    news: bool,
    answers: VecDeque<(String, Vec<u8>)>,
    replies: VecDeque<Reply>,
    /// Number of packets without a service or with an invalid header.
    refused: u64,
    sequence: u32,
    draws: Draws,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.hosted.iter().map(|hosted| hosted.service.name()).collect();
        write!(f, "Runtime({names:?})")
    }
}

impl Runtime {
    /// A runtime with these services, by number, on a server with this many ports.
    pub fn new(services: Vec<(u16, Box<dyn Service>)>, ports: u8, seed: u64) -> Runtime {
        let hosted = services
            .into_iter()
            .map(|(id, service)| Hosted::new(id, service, ports));
        Runtime {
            hosted: hosted.collect(),
            ports,
            version: 0,
            turns: vec![Fair::default(); ports.into()],
            news: false,
            answers: VecDeque::new(),
            replies: VecDeque::new(),
            refused: 0,
            sequence: 0,
            draws: Draws::new(seed),
        }
    }

    /// Adds a service, and calls it for each live neighbour. Errors: the number or the name is
    /// taken, or there are too many services.
    pub fn host(
        &mut self,
        view: &View<'_>,
        now: Time,
        id: u16,
        service: Box<dyn Service>,
    ) -> Result<(), String> {
        let name = service.name();
        if let Some(taken) = self.hosted.iter().find(|hosted| hosted.id == id) {
            let taken = taken.service.name();
            return Err(format!(
                "Number {id} of service {name} is that of service {taken}: give it another."
            ));
        }
        if self.hosted.iter().any(|hosted| hosted.service.name() == name) {
            return Err(format!(
                "There is a service {name} already: give this one another name."
            ));
        }
        if self.hosted.len() >= MAX_SERVICES {
            return Err(format!(
                "A server hosts at most {MAX_SERVICES} services: leave one out."
            ));
        }
        let index = self.hosted.len();
        self.hosted.push(Hosted::new(id, service, self.ports));
        for port in (0..self.ports).filter(|port| view.up >> port & 1 == 1) {
            self.call(view, now, index, Journey::default(), |service, call| {
                service.neighbour(call, port, true);
            });
        }
        Ok(())
    }

    /// Handles a packet of a service that arrived at a port.
    pub fn arrive(&mut self, view: &View<'_>, now: Time, port: u8, bytes: &[u8]) {
        let header = bytes.split_first_chunk::<OPTION_BYTES>();
        let parsed = header.and_then(|(head, payload)| Some((Header::parse(head)?, payload)));
        let index = parsed.and_then(|(header, _)| self.index_of(header.service));
        let (Some((header, payload)), Some(index)) = (parsed, index) else {
            self.refused += 1;
            return;
        };
        let inside = view.structure.home(header.key).is_some();
        if !inside || header.flags & !ONE_HOP != 0 || !(1..=MAX_HOPS).contains(&header.hops) {
            self.refused += 1;
            return;
        }
        let packet = Packet {
            key: header.key,
            colour: header.colour,
            payload: payload.to_vec(),
        };
        let hosted = &mut self.hosted[index];
        count(hosted, "packets-arrived", 1);
        let journey = Journey {
            from: Some(port),
            hops: header.hops,
            steps: 0,
            one_hop: header.flags & ONE_HOP != 0,
        };
        if !journey.one_hop {
            let work = Work::Arrive {
                packet,
                port,
                journey,
            };
            self.work(view, now, index, work);
            return;
        }
        // The packet was sent for one hop. To send it further, the service must pass it to the
        // routing service.
        let mut packet = packet;
        let action = self.call(view, now, index, journey, |service, call| {
            service.packet(call, port, &mut packet)
        });
        match action {
            Action::Consumed => {}
            Action::Pass | Action::Drop => count(&mut self.hosted[index], "packets-dropped", 1),
            Action::Route => {
                let at = view.structure.key(view.me);
                let work = Work::Route { packet, at, journey };
                self.work(view, now, index, work);
            }
        }
    }

    /// The next packet for a port whose link is free.
    pub fn next_packet(&mut self, view: &View<'_>, now: Time, port: u8) -> Option<Vec<u8>> {
        if view.up >> port & 1 == 0 {
            return None;
        }
        let fits = |waiting: &Waiting| leads(view, waiting, port).next().is_some();
        // Choose the service whose turn it is among those with a packet for this link. Packets in a
        // service's slot for the link go first.
        let mut best: Option<(u64, usize, Option<Candidate>)> = None;
        for (index, hosted) in self.hosted.iter_mut().enumerate() {
            let expired = hosted.queues.expire(now);
            if expired > 0 {
                count(hosted, "packets-expired", expired);
            }
            let turn = self.turns[usize::from(port)].turn(index);
            if best.is_some_and(|(earliest, ..)| turn >= earliest) {
                continue;
            }
            if hosted.slots[usize::from(port)].is_some() {
                best = Some((turn, index, None));
            } else if let Some(candidate) = hosted.queues.candidate(port, fits) {
                best = Some((turn, index, Some(candidate)));
            }
        }
        let (_, index, candidate) = best?;
        let Some(candidate) = candidate else {
            let bytes = self.hosted[index].slots[usize::from(port)].take()?;
            self.leave(view, now, index, port, bytes.len());
            return Some(bytes);
        };
        let mut waiting = self.hosted[index].queues.take(port, candidate)?;
        let keys: Vec<Key> = leads(view, &waiting, port).collect();
        // If several keys are reachable over this link, one of them is drawn [camcube §5].
        waiting.packet.key = keys[self.draws.below(keys.len() as u32) as usize];
        let bytes = self.emit(index, &waiting.packet, waiting.queue, 0, waiting.hops + 1);
        self.leave(view, now, index, port, bytes.len());
        Some(bytes)
    }

    /// Records that a packet of a service leaves by a port: its turn ends, and the service may send
    /// the next packet.
    fn leave(&mut self, view: &View<'_>, now: Time, index: usize, port: u8, bytes: usize) {
        self.turns[usize::from(port)].take(index, bytes, 1);
        let sent = &mut self.hosted[index].sent[usize::from(port)];
        sent.packets += 1;
        sent.bytes += bytes as u64;
        self.call(view, now, index, Journey::default(), |service, call| {
            service.sent(call, port);
        });
    }

    /// Whether packets were added to queues since the last call.
    pub fn has_news(&mut self) -> bool {
        std::mem::take(&mut self.news)
    }

    /// Passes a message from outside to a service.
    pub fn message(&mut self, view: &View<'_>, now: Time, name: &str, bytes: &[u8]) -> Result<(), String> {
        let index = self
            .hosted
            .iter()
            .position(|hosted| hosted.service.name() == name);
        let Some(index) = index else {
            let names: Vec<&str> = self.hosted.iter().map(|hosted| hosted.service.name()).collect();
            return Err(format!(
                "There is no service {name}: name one of {}.",
                names.join(", ")
            ));
        };
        let begin = Journey::default();
        self.call(view, now, index, begin, |service, call| {
            service.message(call, bytes);
        });
        Ok(())
    }

    /// Calls a service that was waiting for an external program.
    pub fn wake(&mut self, view: &View<'_>, now: Time, id: u16) {
        if let Some(index) = self.index_of(id) {
            self.call(view, now, index, Journey::default(), |service, call| {
                service.woken(call);
            });
        }
    }

    /// Handles a neighbour that died or is alive again.
    pub fn neighbour(&mut self, view: &View<'_>, now: Time, port: u8, up: bool) {
        self.version += 1;
        for index in 0..self.hosted.len() {
            if !up && let Some(slot) = self.hosted[index].slots.get_mut(usize::from(port)) {
                *slot = None;
            }
            self.call(view, now, index, Journey::default(), |service, call| {
                service.neighbour(call, port, up);
            });
        }
        // The paths of waiting packets may have changed.
        self.news = true;
    }

    /// Handles changed paths: waiting packets may leave by other links.
    pub fn paths_changed(&mut self) {
        self.version += 1;
        self.news = true;
    }

    /// Calls the services whose timers have fired.
    pub fn on_timeout(&mut self, view: &View<'_>, now: Time) {
        for index in 0..self.hosted.len() {
            let timer = &mut self.hosted[index].timer;
            if timer.is_some_and(|at| now >= at) {
                *timer = None;
                let begin = Journey::default();
                self.call(view, now, index, begin, |service, call| service.timer(call));
            }
        }
    }

    /// The time of the next timer of a service.
    pub fn next_timeout(&self) -> Option<Time> {
        self.hosted.iter().filter_map(|hosted| hosted.timer).min()
    }

    /// The next answer for a client outside the network.
    pub fn poll_answer(&mut self) -> Option<(String, Vec<u8>)> {
        self.answers.pop_front()
    }

    /// The TCP ports of services that have clients.
    pub fn tcp_ports(&self) -> Vec<u16> {
        let ports = self.hosted.iter().map(|hosted| hosted.service.tcp_port());
        ports.flatten().collect()
    }

    /// Passes bytes of a client to the service at a TCP port; `None` if the client has finished
    /// sending.
    pub fn client(
        &mut self,
        view: &View<'_>,
        now: Time,
        tcp_port: u16,
        client: ClientId,
        bytes: Option<&[u8]>,
    ) {
        let at = |hosted: &Hosted| hosted.service.tcp_port() == Some(tcp_port);
        if let Some(index) = self.hosted.iter().position(at) {
            let begin = Journey::default();
            self.call(view, now, index, begin, |service, call| match bytes {
                Some(bytes) => service.client(call, client, bytes),
                None => service.client_ended(call, client),
            });
        }
    }

    /// The next bytes that a service sends to a client.
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// State of every service: its name, number, waiting packets, and counters.
    pub fn status(&self) -> impl Iterator<Item = (&str, u16, usize, BTreeMap<&'static str, u64>)> {
        self.hosted.iter().map(|hosted| {
            let mut counters = hosted.counters.clone();
            counters.extend(hosted.service.counters());
            (hosted.service.name(), hosted.id, hosted.queues.len(), counters)
        })
    }

    /// Sent traffic of every service: its name, and a counter for each port.
    pub fn sent(&self) -> impl Iterator<Item = (&str, &[Sent])> {
        let hosted = self.hosted.iter();
        hosted.map(|hosted| (hosted.service.name(), &hosted.sent[..]))
    }

    /// Number of packets without a service.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn index_of(&self, id: u16) -> Option<usize> {
        self.hosted.iter().position(|hosted| hosted.id == id)
    }

    /// Calls a service because of a packet with this journey, then carries out the service's
    /// requests.
    fn call<R>(
        &mut self,
        view: &View<'_>,
        now: Time,
        index: usize,
        journey: Journey,
        call: impl FnOnce(&mut dyn Service, &mut Call<'_>) -> R,
    ) -> R {
        let hosted = &mut self.hosted[index];
        let taken = |port: usize| u8::from(hosted.slots[port].is_some()) << port;
        let busy = (0..hosted.slots.len()).map(taken).sum();
        let mut context = Call {
            view: *view,
            now,
            version: self.version,
            busy,
            waiting: hosted.queues.len(),
            journey,
            requests: Vec::new(),
            timer: &mut hosted.timer,
            counters: &mut hosted.counters,
            draws: &mut self.draws,
        };
        let result = call(&mut *hosted.service, &mut context);
        let requests = context.requests;
        self.carry_out(view, now, index, journey.steps, requests);
        result
    }

    fn carry_out(&mut self, view: &View<'_>, now: Time, index: usize, steps: u32, requests: Vec<Request>) {
        // Packets that the service sends because of this one start a new journey, but keep its
        // count of calls on this server.
        let begun = Journey {
            steps: steps + 1,
            ..Journey::default()
        };
        for request in requests {
            match request {
                Request::Send(port, packet) => {
                    let queue = self.hosted[index].service.classify(&packet);
                    let bytes = self.emit(index, &packet, queue, ONE_HOP, 1);
                    self.hosted[index].slots[usize::from(port)] = Some(bytes);
                    self.news = true;
                }
                Request::Route(packet) => {
                    let work = Work::Route {
                        packet,
                        at: view.structure.key(view.me),
                        journey: begun,
                    };
                    self.work(view, now, index, work);
                }
                Request::Transmit(packet, keys) => {
                    self.towards(view, now, index, packet, keys, None, begun);
                }
                Request::Forward(packet, keys, queue, journey) => {
                    let journey = Journey {
                        steps: steps.max(journey.steps) + 1,
                        ..journey
                    };
                    self.towards(view, now, index, packet, keys, Some(queue), journey);
                }
                Request::Deliver(bytes) => {
                    let name = self.hosted[index].service.name().to_owned();
                    self.answers.push_back((name, bytes));
                }
                Request::Reply(client, bytes) => {
                    let last = false;
                    self.replies.push_back(Reply { client, bytes, last });
                }
                Request::HangUp(client) => {
                    let (bytes, last) = (Vec::new(), true);
                    self.replies.push_back(Reply { client, bytes, last });
                }
            }
        }
    }

    fn work(&mut self, view: &View<'_>, now: Time, index: usize, work: Work) {
        let (Work::Arrive { journey, .. } | Work::Route { journey, .. }) = &work;
        if journey.steps > MOST_STEPS {
            count(&mut self.hosted[index], "packets-looping", 1);
            return;
        }
        match work {
            Work::Arrive {
                mut packet,
                port,
                journey,
            } => {
                let action = self.call(view, now, index, journey, |service, call| {
                    service.packet(call, port, &mut packet)
                });
                let from = Some(port).filter(|port| *port != LOCAL);
                let key = packet.key;
                let mine = view.root(key) == Some(view.me);
                let journey = Journey {
                    from,
                    steps: journey.steps + 1,
                    ..journey
                };
                match action {
                    Action::Consumed => {}
                    Action::Drop => count(&mut self.hosted[index], "packets-dropped", 1),
                    Action::Pass if !mine => self.queue(view, now, index, packet, vec![key], None, journey),
                    Action::Pass | Action::Route => {
                        let at = if mine { key } else { view.structure.key(view.me) };
                        let work = Work::Route { packet, at, journey };
                        self.work(view, now, index, work);
                    }
                }
            }
            Work::Route {
                mut packet,
                at,
                journey,
            } => {
                let keys = self.call(view, now, index, journey, |service, call| {
                    service.route(call, at, &mut packet)
                });
                let journey = Journey {
                    steps: journey.steps + 1,
                    ..journey
                };
                self.towards(view, now, index, packet, keys, None, journey);
            }
        }
    }

    /// Sends a packet towards one of these keys: over a link if another server owns the key, else
    /// to this server's service. The queue is `queue` if given, else the service's choice.
    #[allow(clippy::too_many_arguments, reason = "all of them are the packet's")]
    fn towards(
        &mut self,
        view: &View<'_>,
        now: Time,
        index: usize,
        mut packet: Packet,
        keys: Vec<Key>,
        queue: Option<u8>,
        journey: Journey,
    ) {
        if keys.len() > MAX_KEYS {
            count(&mut self.hosted[index], "packets-dropped", 1);
            return;
        }
        let (own, others): (Vec<Key>, Vec<Key>) =
            keys.into_iter().partition(|key| view.root(*key) == Some(view.me));
        if !others.is_empty() {
            self.queue(view, now, index, packet, others, queue, journey);
        } else if let Some(key) = own.first() {
            packet.key = *key;
            let work = Work::Arrive {
                packet,
                port: LOCAL,
                journey: Journey {
                    from: None,
                    one_hop: false,
                    ..journey
                },
            };
            self.work(view, now, index, work);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "all of them are the packet's")]
    fn queue(
        &mut self,
        view: &View<'_>,
        now: Time,
        index: usize,
        packet: Packet,
        keys: Vec<Key>,
        queue: Option<u8>,
        journey: Journey,
    ) {
        let hosted = &mut self.hosted[index];
        let reached = keys.iter().any(|key| view.root(*key).is_some());
        let Journey { from, hops, .. } = journey;
        if !reached || hops >= MAX_HOPS || packet.payload.len() > view.max_payload {
            count(hosted, "packets-dropped", 1);
            return;
        }
        let queue = queue.unwrap_or_else(|| hosted.service.classify(&packet));
        let waiting = Waiting {
            packet,
            hops,
            keys,
            from,
            queue,
        };
        let service = &mut hosted.service;
        if hosted.queues.push(now, || service.queue(queue), waiting) {
            self.news = true;
        } else {
            count(hosted, "packets-without-room", 1);
        }
    }

    fn emit(&mut self, index: usize, packet: &Packet, queue: u8, flags: u8, hops: u8) -> Vec<u8> {
        let hosted = &mut self.hosted[index];
        count(hosted, "packets-sent", 1);
        count(hosted, "bytes-sent", packet.payload.len() as u64);
        self.sequence = self.sequence.wrapping_add(1);
        let header = Header {
            service: hosted.id,
            key: packet.key,
            flags,
            sequence: self.sequence,
            hops,
            queue,
            colour: packet.colour,
        };
        [&header.emit()[..], &packet.payload].concat()
    }
}

/// The keys of a packet that are reached by shortest paths over a port. The port of arrival is
/// excluded, unless a failure leaves no other way to any key. `[ours]`
fn leads<'a>(view: &'a View<'_>, waiting: &'a Waiting, port: u8) -> impl Iterator<Item = Key> + 'a {
    let back = waiting.from.map_or(0, |from| 1 << from);
    let keys = || waiting.keys.iter().copied();
    let stuck = keys().all(|key| view.ports_to(key) & !back == 0);
    let allowed = if stuck { u8::MAX } else { !back };
    keys().filter(move |key| (view.ports_to(*key) & allowed) >> port & 1 == 1)
}
