//! BSR, BCube's source routing protocol, as one server runs it. `[bcube §4]`
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | inputs to the parts, what a failure and a recovery mean for flows and default routes |
//! | `probing.rs` | rounds of path selection, from the first probe to the choice |
//! | `relay.rs` | messages of others: probes, responses, failures on their way |
//! | `neighbours.rs` | who is alive |
//! | `gateways.rs` | the way to external networks |
//! | `failed_links.rs`, `flows.rs`, `round.rs`, `selection.rs`, `structure.rs`, `limits.rs`, `message.rs` | plain data |

mod failed_links;
mod flows;
pub mod gateways;
mod limits;
pub mod message;
mod neighbours;
mod probing;
mod relay;
mod round;
mod selection;
mod structure;

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_routing::bcube::{Hops, Taken, build_path_set, shortest_parallel};
use cubeyard_routing::random::Draws;
use cubeyard_topology::NodeId;

use self::failed_links::FailedLinks;
use self::flows::Flows;
use self::gateways::Gateways;
use self::limits::RateLimit;
use self::message::Message;
use self::neighbours::Neighbours;
use self::selection::Candidate;
use self::structure::{Path, Structure};
use crate::address::Nha;
use crate::configuration::{Configuration, ConfigurationError, Settings, secs};
use crate::maps::Flow;
use crate::protocol::{
    DeathCause, Event, FlowStatus, Input, Inspection, Output, PathSummary, Protocol, SwitchReason, Time,
};

/// Rounds of probing that begin in a second on average.
const ROUNDS_PER_SEC: f64 = 500.0;
/// Time to wait when that is used up.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// How much more than before a flow may send once it has moved to a free path. What answers a transfer sends next to
/// nothing on any path, and must not keep the path from those that would use it. `[ours]`
const GROWTH: f64 = 4.0;
/// Least time between two failure messages to one source about one next hop.
const REPORT_PAUSE: Duration = Duration::from_millis(100);
/// Sources and next hops for which that is remembered.
const MAX_REPORTS: usize = 1024;

/// One server's BSR.
#[derive(Debug)]
pub struct Bsr {
    me: NodeId,
    rate_bits_per_sec: f64,
    settings: Settings,
    structure: Structure,
    neighbours: Neighbours,
    failed: FailedLinks,
    flows: Flows,
    /// Rounds under way, by number.
    rounds: BTreeMap<u32, Flow>,
    round_limit: RateLimit,
    /// Paths of flows without one of their own, by destination.
    routes: BTreeMap<NodeId, Path>,
    gateways: Gateways,
    /// When a data packet's failure was last reported, by its source and next hop.
    reported: BTreeMap<(NodeId, Nha), Time>,
    draws: Draws,
    outputs: VecDeque<Output>,
    refused: BTreeMap<&'static str, u64>,
}

impl Bsr {
    /// A server that starts now: every neighbour counts as alive until it has been silent for too long.
    pub fn new(configuration: &Configuration, now: Time) -> Result<Bsr, ConfigurationError> {
        configuration.settings.check()?;
        let settings = configuration.settings;
        let structure = Structure::new(configuration)?;
        let mut bsr = Bsr {
            me: configuration.server,
            rate_bits_per_sec: configuration.rate_bits_per_sec,
            gateways: Gateways::new(structure.shape(), configuration.server, &configuration.gateways),
            structure,
            neighbours: Neighbours::new(configuration, now),
            failed: FailedLinks::new(secs(settings.failed_link_timeout_secs)),
            settings,
            flows: Flows::default(),
            rounds: BTreeMap::new(),
            round_limit: RateLimit::new(ROUNDS_PER_SEC),
            routes: BTreeMap::new(),
            reported: BTreeMap::new(),
            draws: Draws::of(configuration.seed, u64::from(configuration.server)),
            outputs: VecDeque::new(),
            refused: BTreeMap::new(),
        };
        bsr.check_neighbours()?;
        bsr.check_gateways(&configuration.gateways)?;
        for neighbour in bsr.neighbours.list() {
            bsr.outputs.push_back(Output::SetNeighbour {
                nha: neighbour.nha,
                up: true,
            });
        }
        bsr.refresh_routes(now);
        Ok(bsr)
    }

    /// Every neighbour must be the one that its key names.
    fn check_neighbours(&self) -> Result<(), ConfigurationError> {
        for neighbour in self.neighbours.list() {
            let named = self.structure.neighbour(self.me, neighbour.nha);
            if named != Some(neighbour.server) {
                return Err(ConfigurationError {
                    field: format!("ports[{}].neighbours.nha", neighbour.port),
                    value: format!("{} for server {}", neighbour.nha.0, neighbour.server),
                    limit: "the level times 64 plus the neighbour's digit there".to_owned(),
                    fix: "Take the neighbours from the structure's wiring.".to_owned(),
                });
            }
        }
        Ok(())
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

    fn refuse(&mut self, reason: &'static str) {
        *self.refused.entry(reason).or_default() += 1;
    }

    // ---------------------------------------------------------------- what is known to work

    /// Whether a hop is not known to be dead: to neighbours our own table counts, elsewhere what was reported.
    fn hop_usable(&self, from: NodeId, to: NodeId) -> bool {
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
            .is_some_and(|nha| self.neighbours.is_up(nha))
    }

    /// Whether no hop of a path is known to be dead.
    fn path_usable(&self, path: &Path) -> bool {
        path.pairs().all(|(from, to)| self.hop_usable(from, to))
    }

    /// BuildPathSet as far as its servers are there and a header can hold it, level `k` first. `[bcube §3.3]`
    fn path_set(&self, destination: NodeId) -> Vec<Path> {
        let set = build_path_set(self.structure.shape(), self.me, destination);
        set.iter()
            .filter_map(|hops| self.structure.path_of_hops(self.me, hops))
            .collect()
    }

    /// A shortest path over usable hops, clear of `standing` paths and of hops that are `suspect`. `[bcube §4.2]`
    fn search<'a>(
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

    /// The path to take to a server when nothing has been probed: the shortest of BuildPathSet that is usable, in
    /// turn by how the addresses differ, so that all-to-all loads every link alike `[ours]`; else any.
    fn default_path(&self, destination: NodeId) -> Option<Path> {
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

    /// Brings the default routes up to date with what is known.
    fn refresh_routes(&mut self, now: Time) {
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
                self.outputs.push_back(Output::SetRoute {
                    destination,
                    path: path.numbered,
                });
                self.routes.insert(destination, path);
            }
        }
        self.refresh_gateway(now);
    }

    // ---------------------------------------------------------------- failures and recoveries

    /// Marks neighbours dead that the table has just buried.
    fn on_deaths(&mut self, now: Time, died: &[usize], cause: DeathCause) {
        for &index in died {
            let neighbour = &self.neighbours.list()[index];
            let (nha, server, port) = (neighbour.nha, neighbour.server, neighbour.port);
            self.outputs.push_back(Output::SetNeighbour { nha, up: false });
            self.tell(Event::NeighbourDead { server, port, cause });
        }
        if !died.is_empty() {
            self.after_failure(now);
        }
    }

    /// Moves flows off paths that are known to be broken now, each to the best path of its cache. `[bcube §4.3]`
    fn after_failure(&mut self, now: Time) {
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
                // As long as there are paths left, probing can wait. [bcube §4.3]
                let pause = secs(self.settings.reprobe_after_failure_secs);
                let due = now + pause + self.jitter(pause);
                self.flows.hasten(&flow, due);
            }
        }
        self.refresh_routes(now);
    }

    /// A random part of `adapt_jitter` times a time. `[bcube §4.3]`
    fn jitter(&mut self, of: Duration) -> Duration {
        of.mul_f64(self.settings.adapt_jitter * self.draws.unit())
    }

    /// Puts a flow on a path.
    fn switch(&mut self, now: Time, flow: &Flow, candidate: &Candidate, reason: SwitchReason) {
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
        let moves_to = self.neighbours.with_nha(candidate.path.numbered.route.hops()[0]);
        if let Some(index) = moves_to.filter(|_| !first) {
            let port = self.neighbours.list()[index].port;
            self.neighbours.claim(now, port, will_take);
        }
        self.outputs.push_back(Output::SetFlow {
            flow: *flow,
            destination,
            path: candidate.path.numbered,
        });
        self.tell(if first {
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

    fn tell(&mut self, event: Event) {
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
                    self.refuse("forged_hello");
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
        let (nha, server, port) = (neighbour.nha, neighbour.server, neighbour.port);
        self.failed.remove(self.me, server);
        self.outputs.push_back(Output::SetNeighbour { nha, up: true });
        self.tell(Event::NeighbourAlive { server, port });
        self.refresh_routes(now);
    }

    fn send_hello(&mut self, index: usize, hears_you: bool) {
        let sender = self.me;
        self.send(index, &Message::Hello { sender, hears_you });
    }

    fn send(&mut self, index: usize, message: &Message) {
        let neighbour = &self.neighbours.list()[index];
        self.outputs.push_back(Output::Send {
            port: neighbour.port,
            to: neighbour.ip,
            bytes: message.to_bytes(),
        });
    }

    fn on_new_flow(&mut self, now: Time, flow: Flow) {
        let Some(destination) = self.destination_of(&flow) else {
            return self.refuse("not_our_flow");
        };
        if let Some(state) = self.flows.get_mut(&flow) {
            // Told again: the forwarding engine has forgotten the flow, and its path with it.
            state.active_at = now;
            if let Some(path) = state.current.as_ref().map(|path| path.numbered) {
                self.outputs.push_back(Output::SetFlow {
                    flow,
                    destination,
                    path,
                });
            }
            return;
        }
        if let Some(evicted) = self.flows.insert(now, flow, destination) {
            self.forget(&evicted);
        }
        self.on_flow_due(now, &flow);
    }

    fn on_flow_rate(&mut self, now: Time, flow: &Flow, bits_per_sec: f64) {
        if let Some(state) = self.flows.get_mut(flow) {
            state.active_at = now;
            state.rate_bits_per_sec = bits_per_sec.max(0.0);
        }
    }

    /// Forgets a flow here and in the forwarding engine.
    fn forget(&mut self, flow: &Flow) {
        if let Some(round) = self.flows.remove(flow).and_then(|state| state.round) {
            self.rounds.remove(&round.id);
        }
        self.outputs.push_back(Output::RemoveFlow { flow: *flow });
    }

    fn on_carrier(&mut self, now: Time, port: u8, up: bool) {
        let died = self.neighbours.on_carrier(now, port, up);
        self.on_deaths(now, &died, DeathCause::Carrier);
        self.report_to(&died);
    }
}

fn summary(candidate: &Candidate) -> PathSummary {
    PathSummary {
        id: candidate.path.numbered.id,
        servers: candidate.path.servers.clone(),
        available_bits_per_sec: Some(candidate.available_bits_per_sec),
    }
}

impl Protocol for Bsr {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Timeout => self.on_timeout(now),
            Input::Message { port, from, bytes } => self.on_message(now, port, from, bytes),
            Input::NewFlow(flow) => self.on_new_flow(now, flow),
            Input::FlowRate { flow, bits_per_sec } => self.on_flow_rate(now, &flow, bits_per_sec),
            Input::FlowEnded(flow) => {
                if self.flows.get(&flow).is_some() {
                    self.forget(&flow);
                }
            }
            Input::NextHopDead {
                nha, source, path_id, ..
            } => self.on_next_hop_dead(now, nha, source, path_id),
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
        let flows = self.flows.iter().map(|(flow, state)| FlowStatus {
            flow: *flow,
            path_id: state.path_id(),
            paths: state.good.iter().map(summary).collect(),
            probings: state.probings,
            switches: state.switches,
        });
        Inspection {
            neighbours: self.neighbours.inspect(now),
            flows: flows.collect(),
            failed_links: self.failed.list(now),
            refused: self
                .refused
                .iter()
                .map(|(&reason, &count)| (reason, count))
                .collect(),
        }
    }
}
