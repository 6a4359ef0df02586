//! The control half of a server: handles events of neighbours and link state, and computes the
//! forwarding table. `[dcell §4.3, §7]`

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::header::Rerouting;
use super::message::{Answer, MAX_TRACED, Message, Trace};
use super::routes::{self, HopsByNeighbour, Routes};
use super::rules::{hops_by_neighbour, next_hops};
use super::settings::Settings;
use super::structure::Structure;
use super::tables::{NEW_FLOW, NextHop, Notice, REROUTED, forget_flow, forget_route};
use super::traces::{Traces, path_id};
use crate::address::server_of;
use crate::configuration::{Configuration, ConfigurationError, secs};
use crate::event::{DeathCause, Event, NamedCell};
use crate::flow::Flow;
use crate::inspection::{Cell, ColumnKind, Inspection};
use crate::link_state::{Heard, LinkEnd, LinkState};
use crate::neighbours::Neighbours;
use crate::protocol::{Input, Output, Protocol, Time};

/// Minimum time between two computations of the forwarding table, since changes come in bursts.
/// `[ours]`
const LEAST_GAP: Duration = Duration::from_millis(20);
/// Time from the loss of a neighbour to the new table. Until then packets are rerouted by the old
/// table, whose proxies do not depend on other servers' link state. Within this time, the other
/// servers learn of the loss; with a new table before that, packets could be sent back by them.
/// (RFC 8333 delays local convergence for the same reason.) `[ours]`
const HOLD: Duration = Duration::from_millis(100);
/// Minimum time between two reports of local reroutes to the same proxy. `[ours]`
const REPORT_PAUSE: Duration = Duration::from_secs(1);

/// The DCell state of one server.
#[derive(Debug)]
pub struct Dcell {
    pub(super) me: NodeId,
    pub(super) settings: Settings,
    pub(super) structure: Structure,
    pub(super) neighbours: Neighbours,
    /// The neighbours as links, in the order of the configuration.
    pub(super) links: Vec<LinkEnd>,
    /// The neighbours' entries of the neighbour status table, in the order of the configuration.
    next_hops: Vec<NextHop>,
    hops: HopsByNeighbour,
    pub(super) link_state: LinkState,
    pub(super) routes: Routes,
    /// The earliest time for the next computation of the forwarding table, and whether the table is
    /// outdated.
    free_at: Time,
    stale: bool,
    pub(super) traces: Traces,
    /// When a local reroute to each proxy was last reported.
    reported: BTreeMap<NodeId, Time>,
    /// Number of local reroutes that the forwarding reported, and number of computations of the
    /// table.
    pub(super) reroutes: u64,
    pub(super) computations: u64,
    outputs: VecDeque<Output>,
    pub(super) refused: BTreeMap<&'static str, u64>,
}

impl Dcell {
    /// The initial state: every neighbour and link counts as alive until it has been silent for too
    /// long.
    pub fn new(configuration: &Configuration, now: Time) -> Result<Dcell, ConfigurationError> {
        let settings = Settings::of(&configuration.settings)?;
        let structure = Structure::new(configuration)?;
        let (ports, rate) = (&configuration.ports, configuration.rate_bits_per_sec);
        let me = configuration.server;
        let mut dcell = Dcell {
            me,
            neighbours: Neighbours::new(ports, rate, settings.intervals(), now),
            links: structure.neighbours(configuration)?,
            next_hops: next_hops(configuration),
            hops: hops_by_neighbour(&structure, configuration)?,
            link_state: LinkState::new(me, structure.group(me), settings.timing(), now),
            traces: Traces::new(secs(settings.trace_secs)),
            structure,
            settings,
            routes: Routes::new(),
            free_at: now,
            stale: true,
            reported: BTreeMap::new(),
            reroutes: 0,
            computations: 0,
            outputs: VecDeque::new(),
            refused: BTreeMap::new(),
        };
        for index in 0..dcell.links.len() {
            dcell.set_status(index);
        }
        dcell.settle(now);
        Ok(dcell)
    }

    fn refuse(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    fn send(&mut self, index: usize, message: &Message<'_>) {
        let neighbour = &self.neighbours.list()[index];
        self.outputs.push_back(Output::Send {
            port: neighbour.port,
            to: neighbour.ip,
            bytes: message.emit(),
        });
    }

    // ---------------------------------------------------------------- the forwarding tables

    /// Writes a neighbour's status to the neighbour status table.
    fn set_status(&mut self, index: usize) {
        let up = u8::from(self.neighbours.list()[index].up);
        let entry = NextHop {
            up,
            ..self.next_hops[index]
        };
        self.outputs.push_back(Output::Table(entry.update(index as u8)));
    }

    /// Does all work that is due: computes the forwarding table if it is outdated `[dcell §7.2]`,
    /// and sends waiting messages of link state.
    fn settle(&mut self, now: Time) {
        if self.stale && now >= self.free_at {
            self.stale = false;
            self.free_at = now + LEAST_GAP;
            self.compute();
            self.traces.hasten(now);
        }
        while let Some(message) = self.link_state.poll() {
            let place = self.hops.get(&(message.to, message.port));
            if let Some(&hop) = place {
                self.send(usize::from(hop), &Message::LinkState(&message.bytes));
            }
        }
        for (destination, number) in self.traces.due(now) {
            let trace = Trace {
                number,
                destination,
                rerouting: Rerouting {
                    retries: self.settings.retries,
                    ..Rerouting::default()
                },
                servers: Vec::new(),
            };
            self.on_trace(trace);
        }
    }

    /// Computes the forwarding table again, and writes only the differences.
    fn compute(&mut self) {
        let (structure, link_state) = (&self.structure, &self.link_state);
        let alive = |from: NodeId, to: NodeId, level: usize| {
            let port = level as u8;
            let link = LinkEnd {
                port,
                neighbour: to,
                far_port: port,
            };
            link_state.is_up(from, link)
        };
        let routes = routes::compute(structure, self.me, &self.hops, alive);
        for (&destination, route) in &routes {
            if self.routes.get(&destination) != Some(route) {
                self.outputs.push_back(Output::Table(route.update(destination)));
            }
        }
        for &destination in self.routes.keys() {
            if !routes.contains_key(&destination) {
                self.outputs.push_back(Output::Table(forget_route(destination)));
            }
        }
        self.routes = routes;
        self.computations += 1;
    }

    // ---------------------------------------------------------------- neighbours and link state

    /// Reports our live links to link state. If they have changed, the table is outdated.
    fn on_links(&mut self, now: Time) {
        let alive = self.neighbours.list().iter().zip(&self.links);
        let alive: Vec<LinkEnd> = alive
            .filter(|(neighbour, _)| neighbour.up)
            .map(|(_, link)| *link)
            .collect();
        self.stale |= self.link_state.set_own(now, alive);
    }

    fn on_deaths(&mut self, now: Time, died: &[usize], cause: DeathCause) {
        for &index in died {
            let neighbour = &self.neighbours.list()[index];
            let (neighbour, port) = (neighbour.server, neighbour.port);
            self.set_status(index);
            self.outputs.push_back(Output::Event(Event::NeighbourDead {
                neighbour,
                port,
                cause,
            }));
        }
        if !died.is_empty() {
            let waited = self.stale;
            self.on_links(now);
            // A delayed computation is not delayed further: a flapping cable would delay it
            // forever.
            if !waited {
                self.free_at = now + HOLD;
            }
        }
    }

    fn on_hello(&mut self, now: Time, index: usize, hears_us: bool) {
        let (revived, answer) = self.neighbours.on_hello(now, index, hears_us);
        if answer {
            self.send(index, &Message::Hello { hears_you: true });
        }
        if revived {
            let neighbour = &self.neighbours.list()[index];
            let (neighbour, port) = (neighbour.server, neighbour.port);
            self.set_status(index);
            self.outputs
                .push_back(Output::Event(Event::NeighbourAlive { neighbour, port }));
            self.on_links(now);
            self.link_state.on_neighbour_alive(now, port, neighbour);
        }
    }

    fn on_message(&mut self, now: Time, port: u8, from: Ipv4Addr, bytes: &[u8]) {
        let Some(sender) = self.neighbours.sender(port, from) else {
            return self.refuse("stranger");
        };
        if !self.neighbours.admit(now, sender) {
            return self.refuse("too many");
        }
        match Message::parse(bytes) {
            None => self.refuse("malformed"),
            Some(Message::Hello { hears_you }) => self.on_hello(now, sender, hears_you),
            Some(Message::LinkState(advertisement)) => {
                let server = self.neighbours.list()[sender].server;
                match self.link_state.on_message(now, port, server, advertisement) {
                    Ok(Heard::New { changed }) => self.stale |= changed,
                    Ok(Heard::Duplicate | Heard::Own) => {}
                    Err(refusal) => self.refuse(refusal.name()),
                }
            }
            Some(Message::Trace(trace)) => {
                let came_by = trace.servers.last() == Some(&self.neighbours.list()[sender].server);
                if came_by && self.structure.is_present(trace.destination) {
                    self.on_trace(trace);
                } else {
                    self.refuse("trace out of place");
                }
            }
            Some(Message::Answer(answer)) => self.on_answer(&answer),
        }
    }

    // ---------------------------------------------------------------- traces

    /// Handles a trace that has reached this server: adds the server, and forwards the trace as a
    /// packet would be, or returns the answer.
    fn on_trace(&mut self, mut trace: Trace) {
        if trace.servers.len() >= MAX_TRACED {
            return self.refuse("trace too long");
        }
        trace.servers.push(self.me);
        let mut rerouting = trace.rerouting;
        rerouting.proxy = rerouting.proxy.filter(|&proxy| proxy != self.me);
        let target = rerouting.proxy.unwrap_or(trace.destination);
        let is_up = |hop: u8| {
            let neighbour = self.neighbours.list().get(usize::from(hop));
            neighbour.is_some_and(|neighbour| neighbour.up)
        };
        let route = self.routes.get(&target).filter(|_| trace.destination != self.me);
        let choice = route.and_then(|route| {
            let cell = self.structure.cell(self.me);
            route.choose(rerouting, cell, is_up).ok()
        });
        match choice {
            Some(choice) => {
                trace.rerouting = choice.rerouting;
                self.send(usize::from(choice.hop), &Message::Trace(trace));
            }
            None => self.on_answer(&Answer {
                number: trace.number,
                arrived: trace.destination == self.me,
                servers: trace.servers,
            }),
        }
    }

    /// Handles an answer: stores it if the trace began here, else sends it one server back.
    fn on_answer(&mut self, answer: &Answer) {
        if !answer
            .servers
            .iter()
            .all(|&server| self.structure.is_present(server))
        {
            return self.refuse("answer out of place");
        }
        let place = answer.servers.iter().position(|&server| server == self.me);
        match place {
            Some(0) => {
                let events = self.traces.on_answer(answer);
                self.outputs.extend(events.into_iter().map(Output::Event));
            }
            Some(place) => {
                let before = answer.servers[place - 1];
                let back = self.links.iter().position(|link| link.neighbour == before);
                match back {
                    Some(index) => self.send(index, &Message::Answer(answer.clone())),
                    None => self.refuse("answer out of place"),
                }
            }
            None => self.refuse("answer out of place"),
        }
    }

    fn on_notice(&mut self, now: Time, bytes: &[u8]) {
        let Ok(notice) = Notice::read_from_bytes(bytes) else {
            return;
        };
        match notice.kind {
            NEW_FLOW => self.traces.on_active(now, notice.flow),
            REROUTED => self.on_rerouted(now, &notice),
            _ => {}
        }
    }

    /// Handles the notice that packets were rerouted locally to a proxy.
    fn on_rerouted(&mut self, now: Time, notice: &Notice) {
        self.reroutes += 1;
        let lately = self.reported.get(&notice.proxy);
        if lately.is_some_and(|at| now < *at + REPORT_PAUSE) || !self.structure.is_present(notice.proxy) {
            return;
        }
        self.reported.insert(notice.proxy, now);
        let cell = |name: &str, kind, value| NamedCell {
            name: name.to_owned(),
            kind,
            value,
        };
        let destination = server_of(notice.flow.dst.into());
        self.outputs.push_back(Output::Event(Event::Reported {
            what: "local-reroute".to_owned(),
            cells: vec![
                cell(
                    "destination",
                    ColumnKind::Server,
                    destination.map_or(Cell::Empty, |server| Cell::Count(server.into())),
                ),
                cell("proxy", ColumnKind::Server, Cell::Count(notice.proxy.into())),
            ],
        }));
    }

    fn on_timeout(&mut self, now: Time) {
        let (died, hellos) = self.neighbours.on_timeout(now);
        for (index, hears_you) in hellos {
            self.send(index, &Message::Hello { hears_you });
        }
        self.on_deaths(now, &died, DeathCause::Silence);
        self.stale |= self.link_state.on_timeout(now);
        for flow in self.traces.idle(now) {
            self.outputs.push_back(Output::Table(forget_flow(&flow)));
        }
    }
}

impl Protocol for Dcell {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Timeout => self.on_timeout(now),
            Input::Message { port, from, bytes } => self.on_message(now, port, from, bytes),
            Input::Carrier { port, up } => {
                let died = self.neighbours.on_carrier(now, port, up);
                self.on_deaths(now, &died, DeathCause::Carrier);
            }
            Input::Notice(bytes) => self.on_notice(now, bytes),
            Input::FlowRate { flow, .. } => self.traces.on_active(now, flow),
            Input::FlowEnded(flow) => {
                self.traces.forget(&flow);
                self.outputs.push_back(Output::Table(forget_flow(&flow)));
            }
            Input::Available { .. } => {}
        }
        self.settle(now);
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        let own = [self.neighbours.next_timeout(), self.link_state.next_timeout()];
        let table = self.stale.then_some(self.free_at);
        let all = own.into_iter().chain(table).chain(self.traces.next_timeout());
        all.min()
    }

    fn inspect(&self, now: Time) -> Inspection {
        self.sections(now)
    }

    fn path_of(&self, flow: &Flow) -> u32 {
        let path = server_of(flow.dst.into()).and_then(|destination| self.traces.path_to(destination));
        path.map_or(0, path_id)
    }
}
