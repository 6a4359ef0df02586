//! BSR, the control half of a server: handles events of neighbours and flows, and computes default
//! paths. `[bcube §4]`

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_routing::bcube::{Hops, Taken, build_path_set, shortest_parallel};
use cubeyard_routing::random::Draws;
use cubeyard_topology::NodeId;

use zerocopy::FromBytes;

use super::failed_links::FailedLinks;
use super::flows;
use super::flows::Flows;
use super::gateways::Gateways;
use super::keys::NeighbourKeys;
use super::message::Message;
use super::nha::Nha;
use super::route::NumberedPath;
use super::selection::Candidate;
use super::settings::Settings;
use super::structure::{Path, Structure};
use super::tables::{self, NEW_FLOW, NEXT_HOP_DEAD, NextHop, Notice};
use crate::address::{server_of, virtual_ip};
use crate::configuration::{Configuration, ConfigurationError, secs};
use crate::event::{DeathCause, Event, PathSummary, SwitchReason};
use crate::flow::Flow;
use crate::inspection::Inspection;
use crate::neighbours::Neighbours;
use crate::protocol::{Input, Output, Protocol, Time};
use crate::rate_limit::RateLimit;

/// Average number of probing rounds that may begin per second.
const ROUNDS_PER_SEC: f64 = 500.0;
/// Pause if more rounds are due than allowed.
pub(super) const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// A flow's rate can grow by this factor after it has moved to a free path. The acknowledgements of
/// a transfer need almost no bandwidth on any path, and must not keep data flows away from a path.
/// `[ours]`
const GROWTH: f64 = 4.0;
/// Minimum time between two failure messages to one source about the same next hop.
pub(super) const REPORT_PAUSE: Duration = Duration::from_millis(100);
/// How many pairs of source and next hop are remembered for that.
pub(super) const MAX_REPORTS: usize = 1024;

/// State of BSR on one server.
#[derive(Debug)]
pub struct Bsr {
    pub(super) me: NodeId,
    pub(super) rate_bits_per_sec: f64,
    pub(super) settings: Settings,
    pub(super) structure: Structure,
    pub(super) neighbours: Neighbours,
    pub(super) keys: NeighbourKeys,
    /// The neighbours' entries of the neighbour status table, in the order of neighbours.
    pub(super) next_hops: Vec<NextHop>,
    pub(super) failed: FailedLinks,
    pub(super) flows: Flows,
    /// Rounds in progress, by number.
    pub(super) rounds: BTreeMap<u32, Flow>,
    pub(super) round_limit: RateLimit,
    /// Paths by destination, for flows that have no own path yet.
    pub(super) routes: BTreeMap<NodeId, Path>,
    pub(super) gateways: Gateways,
    /// When a data packet's failure was last reported, by its source and next hop.
    pub(super) reported: BTreeMap<(NodeId, Nha), Time>,
    pub(super) draws: Draws,
    pub(super) outputs: VecDeque<Output>,
    pub(super) refused: BTreeMap<&'static str, u64>,
}

impl Bsr {
    /// The state at the start: every neighbour counts as alive until it has been silent for too
    /// long.
    pub fn new(configuration: &Configuration, now: Time) -> Result<Bsr, ConfigurationError> {
        let settings = Settings::of(&configuration.settings)?;
        let structure = Structure::new(configuration)?;
        let keys = NeighbourKeys::new(&structure, configuration)?;
        let (ports, rate) = (&configuration.ports, configuration.rate_bits_per_sec);
        let next_hops = ports.iter().flat_map(|port| {
            let neighbours = port.neighbours.iter();
            neighbours.map(move |neighbour| NextHop::to(configuration, port, neighbour))
        });
        let mut bsr = Bsr {
            me: configuration.server,
            rate_bits_per_sec: rate,
            next_hops: next_hops.collect(),
            gateways: Gateways::new(structure.shape(), configuration.server, &configuration.gateways),
            structure,
            neighbours: Neighbours::new(ports, rate, settings.intervals(), now),
            keys,
            failed: FailedLinks::new(secs(settings.failed_link_timeout_secs)),
            settings,
            flows: Flows::default(),
            rounds: BTreeMap::new(),
            round_limit: RateLimit::per_sec(ROUNDS_PER_SEC),
            routes: BTreeMap::new(),
            reported: BTreeMap::new(),
            draws: Draws::of(configuration.seed, u64::from(configuration.server)),
            outputs: VecDeque::new(),
            refused: BTreeMap::new(),
        };
        bsr.check_gateways(&configuration.gateways)?;
        for index in 0..bsr.neighbours.list().len() {
            bsr.set_status(index);
        }
        bsr.refresh_routes(now);
        Ok(bsr)
    }

    fn check_gateways(&self, gateways: &[NodeId]) -> Result<(), ConfigurationError> {
        let absent = gateways
            .iter()
            .position(|&gateway| !self.structure.is_present(gateway));
        absent.map_or(Ok(()), |place| {
            Err(ConfigurationError {
                field: format!("gateways[{place}]"),
                value: gateways[place].to_string(),
                limit: "one of the servers present".to_owned(),
                fix: "Name a server of the run.".to_owned(),
            })
        })
    }

    pub(super) fn refuse(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    // ---------------------------------------------------------------- the forwarding tables

    /// Writes a neighbour's status to the neighbour status table.
    fn set_status(&mut self, index: usize) {
        let up = u8::from(self.neighbours.list()[index].up);
        let entry = NextHop {
            up,
            ..self.next_hops[index]
        };
        let update = entry.update(self.keys.nha(index));
        self.outputs.push_back(Output::Table(update));
    }

    /// Writes the default path to a destination.
    pub(super) fn set_default(&mut self, destination: [u8; 4], end: NodeId, path: &NumberedPath) {
        if let Some(end) = virtual_ip(end) {
            let update = tables::path(end, path).to(destination);
            self.outputs.push_back(Output::Table(update));
        }
    }

    /// Writes the path of one flow.
    pub(super) fn set_flow(&mut self, flow: &Flow, end: NodeId, path: &NumberedPath) {
        if let Some(end) = virtual_ip(end) {
            let update = tables::path(end, path).of_flow(flow);
            self.outputs.push_back(Output::Table(update));
        }
    }

    // ---------------------------------------------------------------- known failures

    /// Whether the byte names a neighbour that is alive.
    pub(super) fn is_up(&self, nha: Nha) -> bool {
        let index = self.keys.index(nha);
        index.is_some_and(|index| self.neighbours.list()[index].up)
    }

    /// Whether a hop may work: neighbours' hops by our own table, other hops by reports.
    pub(super) fn hop_usable(&self, from: NodeId, to: NodeId) -> bool {
        if !self.structure.is_present(to) {
            return false;
        }
        if from != self.me {
            return !self.failed.contains(from, to);
        }
        let differs = |nha: &Nha| self.structure.neighbour(self.me, *nha) == Some(to);
        let shape = self.structure.shape();
        (0..shape.levels)
            .filter_map(|level| Nha::new(level as u32, shape.digit(to, level)))
            .find(differs)
            .is_some_and(|nha| self.is_up(nha))
    }

    /// Whether a path contains no hop that is known to be dead.
    pub(super) fn path_usable(&self, path: &Path) -> bool {
        path.pairs().all(|(from, to)| self.hop_usable(from, to))
    }

    /// The paths of BuildPathSet, level `k` first, without paths that need missing servers or do
    /// not fit a header. `[bcube §3.3]`
    pub(super) fn path_set(&self, destination: NodeId) -> Vec<Path> {
        let set = build_path_set(self.structure.shape(), self.me, destination);
        set.iter()
            .filter_map(|hops| self.structure.path_of_hops(self.me, hops))
            .collect()
    }

    /// A shortest path over usable hops that avoids the `standing` paths and `suspect` hops.
    /// `[bcube §4.2]`
    pub(super) fn search<'a>(
        &self,
        destination: NodeId,
        standing: impl Iterator<Item = &'a Path>,
        suspect: impl Fn(NodeId, NodeId) -> bool,
        rotation: u32,
    ) -> Option<Path> {
        let shape = self.structure.shape();
        let mut taken = Taken::default();
        for path in standing {
            taken.take(shape, self.me, &self.structure.hops_of(path));
        }
        let alive = |from, to, _| self.hop_usable(from, to) && !suspect(from, to);
        let mut hops = Hops::new();
        let found = shortest_parallel(shape, self.me, destination, &taken, rotation, alive, &mut hops);
        found
            .then(|| self.structure.path_of_hops(self.me, &hops))
            .flatten()
    }

    /// The path to a server that has not been probed: a shortest usable path of BuildPathSet, else
    /// any path. Which of the shortest depends on how the addresses differ, so that all-to-all
    /// traffic loads all links equally `[ours]`.
    pub(super) fn default_path(&self, destination: NodeId) -> Option<Path> {
        let mut usable = self.path_set(destination);
        usable.retain(|path| self.path_usable(path));
        let fewest = usable.iter().map(Path::hops).min();
        usable.retain(|path| Some(path.hops()) == fewest);
        if usable.is_empty() {
            return self.search(destination, std::iter::empty(), |_, _| false, 0);
        }
        let turn = self.structure.difference(self.me, destination) as usize % usable.len();
        Some(usable.swap_remove(turn))
    }

    /// Updates the default routes by the known failures.
    pub(super) fn refresh_routes(&mut self, now: Time) {
        let others: Vec<NodeId> = self
            .structure
            .servers()
            .filter(|&server| server != self.me)
            .collect();
        for destination in others {
            let Some(path) = self.default_path(destination) else {
                continue;
            };
            if self.routes.get(&destination) != Some(&path) {
                let address = virtual_ip(destination).map(|ip| ip.octets());
                self.set_default(address.unwrap_or_default(), destination, &path.numbered);
                self.routes.insert(destination, path);
            }
        }
        self.refresh_gateway(now);
    }

    // ---------------------------------------------------------------- failures and recoveries

    /// Handles neighbours that have just died.
    pub(super) fn on_deaths(&mut self, now: Time, died: &[usize], cause: DeathCause) {
        for &index in died {
            let neighbour = &self.neighbours.list()[index];
            let (neighbour, port) = (neighbour.server, neighbour.port);
            self.set_status(index);
            self.report_event(Event::NeighbourDead {
                neighbour,
                port,
                cause,
            });
        }
        if !died.is_empty() {
            self.after_failure(now);
        }
    }

    /// Moves flows away from paths that are known to be broken, each to the best path of its cache.
    /// `[bcube §4.3]`
    pub(super) fn after_failure(&mut self, now: Time) {
        for flow in self.flows.keys() {
            let Some(state) = self.flows.get(&flow) else {
                continue;
            };
            let left: Vec<Candidate> = state
                .good
                .iter()
                .filter(|candidate| self.path_usable(&candidate.path))
                .cloned()
                .collect();
            let lost = left.len() < state.good.len();
            let broken = state.current.as_ref().is_some_and(|path| !self.path_usable(path));
            if !lost && !broken {
                continue;
            }
            let probing = state.round.is_some();
            let best = broken.then(|| self.best(&flow, &left)).flatten();
            if let Some(state) = self.flows.get_mut(&flow) {
                state.good = left;
            }
            let has_another = best.is_some();
            if let Some(best) = best {
                self.switch(now, &flow, &best, SwitchReason::Failure);
            }
            if probing {
                continue;
            }
            if broken && !has_another {
                self.flows.schedule(&flow, now);
            } else if broken {
                // While the flow has paths left, probing can wait. [bcube §4.3]
                let pause = secs(self.settings.reprobe_after_failure_secs);
                let due = now + pause + self.jitter(pause);
                self.flows.hasten(&flow, due);
            }
        }
        self.refresh_routes(now);
    }

    /// A random share of a time, up to `adapt_jitter`. `[bcube §4.3]`
    pub(super) fn jitter(&mut self, of: Duration) -> Duration {
        of.mul_f64(self.settings.adapt_jitter * self.draws.unit())
    }

    /// Moves a flow to a path.
    pub(super) fn switch(&mut self, now: Time, flow: &Flow, candidate: &Candidate, reason: SwitchReason) {
        let summary = summary(candidate);
        let Some(state) = self.flows.get_mut(flow) else {
            return;
        };
        let from_path_id = state.path_id();
        let (first, destination) = (state.current.is_none(), state.destination);
        let will_take = candidate
            .available_bits_per_sec
            .min(GROWTH * state.rate_bits_per_sec);
        state.switches += u32::from(!first);
        state.current = Some(candidate.path.clone());
        let moves_to = self.keys.index(candidate.path.numbered.route.hops()[0]);
        if let Some(index) = moves_to.filter(|_| !first) {
            let port = self.neighbours.list()[index].port;
            self.neighbours.claim(now, port, will_take);
        }
        self.set_flow(flow, destination, &candidate.path.numbered);
        self.report_event(if first {
            Event::PathSelected {
                flow: *flow,
                path: summary,
            }
        } else {
            Event::PathSwitched {
                flow: *flow,
                from_path_id,
                path: summary,
                reason,
            }
        });
    }

    pub(super) fn report_event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    // ---------------------------------------------------------------- inputs

    fn on_timeout(&mut self, now: Time) {
        let (died, hellos) = self.neighbours.on_timeout(now);
        for (index, hears_you) in hellos {
            self.send_hello(index, hears_you);
        }
        self.on_deaths(now, &died, DeathCause::Silence);
        if self.failed.expire(now) {
            self.refresh_routes(now);
        }
        for flow in self.flows.due(now) {
            self.on_flow_due(now, &flow);
        }
    }

    fn on_message(&mut self, now: Time, port: u8, from: Ipv4Addr, bytes: &[u8]) {
        let Some(sender) = self.neighbours.sender(port, from) else {
            return self.refuse("stranger");
        };
        if !self.neighbours.admit(now, sender) {
            return self.refuse("flood");
        }
        match Message::from_bytes(bytes) {
            Ok(Message::Hello {
                sender: id,
                hears_you,
            }) => {
                if id == self.neighbours.list()[sender].server {
                    self.on_hello(now, sender, hears_you);
                } else {
                    self.refuse("forged-hello");
                }
            }
            Ok(message) => self.on_trail(now, port, sender, message),
            Err(error) => self.refuse(error.name()),
        }
    }

    fn on_hello(&mut self, now: Time, index: usize, hears_us: bool) {
        let (revived, answer) = self.neighbours.on_hello(now, index, hears_us);
        if answer {
            self.send_hello(index, true);
        }
        if !revived {
            return;
        }
        let neighbour = &self.neighbours.list()[index];
        let (neighbour, port) = (neighbour.server, neighbour.port);
        self.failed.remove(self.me, neighbour);
        self.set_status(index);
        self.report_event(Event::NeighbourAlive { neighbour, port });
        self.refresh_routes(now);
    }

    pub(super) fn send_hello(&mut self, index: usize, hears_you: bool) {
        let sender = self.me;
        self.send(index, &Message::Hello { sender, hears_you });
    }

    pub(super) fn send(&mut self, index: usize, message: &Message) {
        let neighbour = &self.neighbours.list()[index];
        self.outputs.push_back(Output::Send {
            port: neighbour.port,
            to: neighbour.ip,
            bytes: message.to_bytes(),
        });
    }

    fn on_new_flow(&mut self, now: Time, flow: Flow) {
        let Some(destination) = self.destination_of(&flow) else {
            return self.refuse("not-our-flow");
        };
        if let Some(state) = self.flows.get_mut(&flow) {
            // The forwarding has reported the flow again, because it had evicted the flow and its
            // path.
            state.active_at = now;
            if let Some(path) = state.current.as_ref().map(|path| path.numbered) {
                self.set_flow(&flow, destination, &path);
            }
            return;
        }
        if let Some(evicted) = self.flows.insert(now, flow, destination) {
            self.forget(&evicted);
        }
        self.on_flow_due(now, &flow);
    }

    /// Handles a record of the forwarding.
    fn on_notice(&mut self, now: Time, bytes: &[u8]) {
        let Ok(notice) = Notice::read_from_bytes(bytes) else {
            return self.refuse("bad-notice");
        };
        let nha = u8::try_from(notice.nha).map(Nha);
        match (notice.kind, nha, server_of(notice.src.into())) {
            (NEW_FLOW, ..) => self.on_new_flow(now, notice.flow),
            (NEXT_HOP_DEAD, Ok(nha), Some(source)) => {
                self.on_next_hop_dead(now, nha, source, notice.path_id);
            }
            _ => self.refuse("bad-notice"),
        }
    }

    fn on_flow_rate(&mut self, now: Time, flow: &Flow, bits_per_sec: f64) {
        if let Some(state) = self.flows.get_mut(flow) {
            state.active_at = now;
            state.rate_bits_per_sec = bits_per_sec.max(0.0);
        }
    }

    /// Removes a flow here and in the forwarding.
    pub(super) fn forget(&mut self, flow: &Flow) {
        if let Some(round) = self.flows.remove(flow).and_then(|state| state.round) {
            self.rounds.remove(&round.id);
        }
        self.outputs.extend(tables::forget(flow).map(Output::Table));
    }

    fn on_carrier(&mut self, now: Time, port: u8, up: bool) {
        let died = self.neighbours.on_carrier(now, port, up);
        self.on_deaths(now, &died, DeathCause::Carrier);
        self.report_to(&died);
    }
}

pub(super) fn summary(candidate: &Candidate) -> PathSummary {
    PathSummary {
        path_id: candidate.path.numbered.id,
        servers: candidate.path.servers.clone(),
        available_bits_per_sec: Some(candidate.available_bits_per_sec),
        others: 0,
    }
}

impl Protocol for Bsr {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Timeout => self.on_timeout(now),
            Input::Message { port, from, bytes } => self.on_message(now, port, from, bytes),
            Input::Notice(bytes) => self.on_notice(now, bytes),
            Input::FlowRate { flow, bits_per_sec } => self.on_flow_rate(now, &flow, bits_per_sec),
            Input::FlowEnded(flow) => {
                if self.flows.get(&flow).is_some() {
                    self.forget(&flow);
                }
            }
            Input::Carrier { port, up } => self.on_carrier(now, port, up),
            Input::Available {
                port,
                out_bits_per_sec,
                in_bits_per_sec,
            } => self
                .neighbours
                .set_available(port, out_bits_per_sec, in_bits_per_sec),
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        let others = [self.flows.next_timeout(), self.failed.next_timeout()];
        others
            .into_iter()
            .flatten()
            .chain([self.neighbours.next_timeout()])
            .min()
    }

    fn inspect(&self, now: Time) -> Inspection {
        self.sections(now)
    }

    fn path_of(&self, flow: &Flow) -> u32 {
        let own = self.flows.get(flow).map(flows::FlowState::path_id);
        let default = || match server_of(flow.dst.into()) {
            Some(server) => self.routes.get(&server).map_or(0, |path| path.numbered.id),
            None => self.gateways.path_id(),
        };
        own.filter(|id| *id != 0).unwrap_or_else(default)
    }

    fn load_memory(&self) -> Duration {
        self.settings.load_memory()
    }
}
