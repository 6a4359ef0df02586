//! The core services of a server: liveness of neighbours, link state, and the paths and key owners
//! that follow from them. `[camcube §2.1.2]`

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use cubeyard_routing::torus::KeyMap;
use cubeyard_topology::NodeId;

use super::header::OPTION_BYTES;
use super::paths::{Paths, Route};
use super::rules::next_hops;
use super::services::built_in;
use super::services::context::View;
use super::services::runtime::Runtime;
use super::settings::Settings;
use super::structure::Structure;
use super::tables::{NextHop, Way};
use super::ways;
use crate::configuration::{Configuration, ConfigurationError};
use crate::event::{DeathCause, Event, NamedCell};
use crate::flow::Flow;
use crate::inspection::{Cell, ColumnKind, Inspection};
use crate::link_state::{Heard, LinkEnd, LinkState, Plan, Refusal, Timing};
use crate::neighbours::{Intervals, Neighbours};
use crate::protocol::{Input, Output, Protocol, Time};
use crate::service::{ClientId, Reply, ServesClients, Service, Services};

/// First byte of a hello. The second byte: whether the sender receives hellos from the receiver.
const HELLO: u8 = 0xca;
/// First byte of a link-state message, which is followed by the advertisement.
const LINK_STATE: u8 = 0xcb;
/// Bytes of the IPv4 and UDP headers of a service's packet.
const UDP_BYTES: usize = 28;
/// Minimum time between two advertisements of one server. `[ours]`
const LEAST_GAP: Duration = Duration::from_millis(50);
/// Delay between a change of link state and the computation of paths, to collect further changes:
/// each neighbour of a failed server reports it separately. `[ours]`
const GATHER: Duration = Duration::from_millis(10);

/// The control half of one server.
#[derive(Debug)]
pub(super) struct CamCube {
    pub(super) me: NodeId,
    pub(super) structure: Structure,
    pub(super) neighbours: Neighbours,
    pub(super) link_state: LinkState,
    /// The current content of the forwarding tables.
    next_hops: BTreeMap<u8, NextHop>,
    pub(super) ways: Vec<Way>,
    keys: KeyMap,
    /// The server that owns each coordinate's keys, by the coordinate's home server.
    pub(super) roots: Vec<Option<NodeId>>,
    /// Bit mask of ports with a living neighbour.
    up: u8,
    /// The time at which paths must be computed again.
    compute_at: Option<Time>,
    pub(super) refused: BTreeMap<Refusal, u64>,
    /// Whether applications' packets take disjoint paths.
    disjoint_paths: bool,
    paths: Paths,
    pub(super) services: Runtime,
    max_payload: usize,
    outputs: VecDeque<Output>,
}

/// A service's view of the network; a macro, so that the services themselves can be borrowed at the
/// same time.
macro_rules! view {
    ($server:expr) => {
        View {
            me: $server.me,
            structure: &$server.structure,
            shortest: &|server| shortest(&$server.ways, server),
            roots: &$server.roots,
            up: $server.up,
            max_payload: $server.max_payload,
        }
    };
}

impl CamCube {
    /// The initial state: all servers of the run count as alive, as in the initial tables.
    pub(super) fn new(configuration: &Configuration, now: Time) -> Result<CamCube, ConfigurationError> {
        let settings = Settings::new(&configuration.settings)?;
        let structure = Structure::new(configuration)?;
        let me = configuration.server;
        let intervals = Intervals {
            hello: settings.hello,
            dead: settings.dead,
            claim: settings.hello,
        };
        let timing = Timing {
            refresh: settings.refresh,
            expire: settings.expire,
            least_gap: LEAST_GAP,
        };
        let rate = configuration.rate_bits_per_sec;
        let mut server = CamCube {
            me,
            neighbours: Neighbours::new(&configuration.ports, rate, intervals, now),
            link_state: LinkState::new(me, plan(&structure), timing, now),
            next_hops: next_hops(configuration),
            ways: Vec::new(),
            keys: KeyMap::new(structure.shape()),
            roots: Vec::new(),
            compute_at: None,
            refused: BTreeMap::new(),
            disjoint_paths: settings.disjoint_paths,
            paths: Paths::default(),
            services: Runtime::new(
                built_in(settings.memcached_port),
                structure.ports(),
                configuration.seed ^ u64::from(me),
            ),
            max_payload: (configuration.mtu as usize).saturating_sub(UDP_BYTES + OPTION_BYTES),
            up: configuration.ports.iter().fold(0, |up, port| up | 1 << port.port),
            outputs: VecDeque::new(),
            structure,
        };
        server.ways = server.compute_ways();
        server.roots = server.compute_roots();
        // A restarted server does not know what its tables contain, so it writes them again.
        let ways = (0..).zip(&server.ways).map(|(home, way)| way.update(home));
        server.outputs = ways.map(Output::Table).collect();
        Ok(server)
    }

    /// Whether a server is this one or is reachable.
    pub(super) fn is_reachable(&self, server: NodeId) -> bool {
        server == self.me
            || self
                .ways
                .get(server as usize)
                .is_some_and(|way| way.shortest != 0)
    }

    fn compute_ways(&self) -> Vec<Way> {
        let alive = |server: NodeId, port: u8| {
            let end = link_end(&self.structure, server, port);
            end.is_some_and(|end| self.link_state.is_up(server, end))
        };
        ways::all(&self.structure, self.me, &alive)
    }

    fn compute_roots(&self) -> Vec<Option<NodeId>> {
        let shape = self.structure.shape();
        let root = |home: NodeId| {
            let alive = |server| self.is_reachable(server);
            self.keys.server_of(shape, home.into(), home, alive)
        };
        (0..shape.servers()).map(root).collect()
    }

    /// The current path of applications' packets to a server.
    fn route_to(&self, destination: NodeId) -> Route {
        let (structure, me) = (&self.structure, self.me);
        let Some(way) = self.ways.get(destination as usize).copied() else {
            return Route::default();
        };
        let starts =
            (0..structure.ports()).filter(|port| self.disjoint_paths && way.disjoint >> port & 1 == 1);
        let paths = starts.map(|port| ways::disjoint_path(structure, me, destination, port));
        let paths: Vec<Vec<NodeId>> = paths.collect();
        let others = paths.len().saturating_sub(1) as u32;
        let shortest = paths.into_iter().min_by_key(Vec::len);
        let servers = shortest.unwrap_or_else(|| {
            let alive = |server: NodeId, port: u8| {
                let end = link_end(structure, server, port);
                end.is_some_and(|end| self.link_state.is_up(server, end))
            };
            if way.shortest == 0 {
                return Vec::new();
            }
            ways::shortest_path(structure, me, destination, &alive)
        });
        Route { servers, others }
    }

    /// Updates tables and key owners after a change of link state.
    fn refresh(&mut self, now: Time) {
        let ways = self.compute_ways();
        for (home, (was, is)) in (0..).zip(self.ways.iter().zip(&ways)) {
            if was != is {
                self.outputs.push_back(Output::Table(is.update(home)));
            }
        }
        self.ways = ways;
        let roots = self.compute_roots();
        for (home, (was, is)) in (0..).zip(self.roots.iter().zip(&roots)) {
            // Only the new owner of a key reports the change, so that there is one event.
            if was != is && *is == Some(self.me) {
                self.outputs
                    .push_back(Output::Event(remapped(home, *was, self.me)));
            }
        }
        self.roots = roots;
        self.services.paths_changed();
        let mut paths = std::mem::take(&mut self.paths);
        let events = paths.refresh(now, |destination| self.route_to(destination));
        self.paths = paths;
        self.outputs.extend(events.into_iter().map(Output::Event));
    }

    /// Reports live neighbours to link state and to the forwarding.
    fn on_neighbours(&mut self, now: Time) {
        let living = self.neighbours.list().iter().filter(|neighbour| neighbour.up);
        let ports: BTreeSet<u8> = living.map(|neighbour| neighbour.port).collect();
        for (port, hop) in &mut self.next_hops {
            let up = ports.contains(port).into();
            if hop.up != up {
                hop.up = up;
                self.outputs.push_back(Output::Table(hop.update(*port)));
            }
        }
        let was = std::mem::replace(&mut self.up, ports.iter().fold(0, |up, port| up | 1 << port));
        for port in (0..self.structure.ports()).filter(|port| (was ^ self.up) >> port & 1 == 1) {
            let up = self.up >> port & 1 == 1;
            self.services.neighbour(&view!(self), now, port, up);
        }
        let (me, structure) = (self.me, &self.structure);
        let links = ports.iter().filter_map(|port| link_end(structure, me, *port));
        if self.link_state.set_own(now, links) {
            self.gather(now);
        }
    }

    fn gather(&mut self, now: Time) {
        self.compute_at.get_or_insert(now + GATHER);
    }

    fn on_deaths(&mut self, now: Time, died: &[usize], cause: DeathCause) {
        for &index in died {
            let neighbour = &self.neighbours.list()[index];
            self.outputs.push_back(Output::Event(Event::NeighbourDead {
                neighbour: neighbour.server,
                port: neighbour.port,
                cause,
            }));
        }
        if !died.is_empty() {
            self.on_neighbours(now);
        }
    }

    fn send(&mut self, index: usize, bytes: Vec<u8>) {
        let neighbour = &self.neighbours.list()[index];
        let (port, to) = (neighbour.port, neighbour.ip);
        self.outputs.push_back(Output::Send { port, to, bytes });
    }

    fn on_hello(&mut self, now: Time, index: usize, hears_us: bool) {
        let (revived, answer) = self.neighbours.on_hello(now, index, hears_us);
        if answer {
            self.send(index, vec![HELLO, 1]);
        }
        if revived {
            let neighbour = &self.neighbours.list()[index];
            let (port, neighbour) = (neighbour.port, neighbour.server);
            self.outputs
                .push_back(Output::Event(Event::NeighbourAlive { neighbour, port }));
            self.on_neighbours(now);
            self.link_state.on_neighbour_alive(now, port, neighbour);
        }
    }

    fn on_message(&mut self, now: Time, index: usize, bytes: &[u8]) {
        match bytes {
            &[HELLO, hears_us @ (0 | 1)] => self.on_hello(now, index, hears_us == 1),
            [LINK_STATE, advertisement @ ..] => {
                let neighbour = &self.neighbours.list()[index];
                let (port, from) = (neighbour.port, neighbour.server);
                match self.link_state.on_message(now, port, from, advertisement) {
                    Ok(Heard::New { changed: true }) => self.gather(now),
                    Ok(_) => {}
                    Err(refusal) => *self.refused.entry(refusal).or_default() += 1,
                }
            }
            _ => *self.refused.entry(Refusal::Malformed).or_default() += 1,
        }
    }

    fn on_timeout(&mut self, now: Time) {
        let (died, hellos) = self.neighbours.on_timeout(now);
        for (index, hears_you) in hellos {
            self.send(index, vec![HELLO, hears_you.into()]);
        }
        self.on_deaths(now, &died, DeathCause::Silence);
        if self.link_state.on_timeout(now) {
            self.gather(now);
        }
        if self.compute_at.is_some_and(|at| now >= at) {
            self.compute_at = None;
            self.refresh(now);
        }
        self.services.on_timeout(&view!(self), now);
    }

    /// Sends the pending advertisements of link state.
    fn flood(&mut self) {
        while let Some(message) = self.link_state.poll() {
            let list = self.neighbours.list();
            let index = list
                .iter()
                .position(|neighbour| (neighbour.port, neighbour.server) == (message.port, message.to));
            if let Some(index) = index {
                let bytes = [&[LINK_STATE], &message.bytes[..]].concat();
                self.send(index, bytes);
            }
        }
    }
}

/// Bit mask of the ports on shortest live paths to a server.
fn shortest(ways: &[Way], server: NodeId) -> u8 {
    ways.get(server as usize).map_or(0, |way| way.shortest)
}

/// A server's port as an end of a link; `None` if the neighbour is not in the run.
fn link_end(structure: &Structure, server: NodeId, port: u8) -> Option<LinkEnd> {
    let neighbour = structure.far(server, port)?;
    let there = structure.is_present(server) && structure.is_present(neighbour);
    there.then(|| LinkEnd {
        port,
        neighbour,
        far_port: structure.far_port(port),
    })
}

/// The links of every server of the run.
fn plan(structure: &Structure) -> Plan {
    let servers = (0..structure.shape().servers()).filter(|&server| structure.is_present(server));
    let links = |server| (0..structure.ports()).filter_map(move |port| link_end(structure, server, port));
    servers.map(|server| (server, links(server).collect())).collect()
}

/// The event that another server now owns the keys of a coordinate.
fn remapped(home: NodeId, from: Option<NodeId>, to: NodeId) -> Event {
    let cell = |name: &str, server: Option<NodeId>| NamedCell {
        name: name.to_owned(),
        kind: ColumnKind::Server,
        value: server.map_or(Cell::Empty, |server| Cell::Count(server.into())),
    };
    Event::Reported {
        what: "key-remapped".to_owned(),
        cells: vec![cell("key", Some(home)), cell("from", from), cell("to", Some(to))],
    }
}

impl Protocol for CamCube {
    fn handle(&mut self, now: Time, input: Input<'_>) {
        match input {
            Input::Timeout => self.on_timeout(now),
            Input::Message { port, from, bytes } => match self.neighbours.sender(port, from) {
                Some(sender) if self.neighbours.admit(now, sender) => self.on_message(now, sender, bytes),
                Some(_) => *self.refused.entry(Refusal::TooMany).or_default() += 1,
                None => *self.refused.entry(Refusal::Stranger).or_default() += 1,
            },
            Input::Carrier { port, up } => {
                let died = self.neighbours.on_carrier(now, port, up);
                self.on_deaths(now, &died, DeathCause::Carrier);
            }
            Input::FlowRate { flow, .. } => {
                let mut paths = std::mem::take(&mut self.paths);
                let event = paths.on_active(now, flow, |destination| self.route_to(destination));
                self.paths = paths;
                self.outputs.extend(event.map(Output::Event));
            }
            Input::FlowEnded(flow) => self.paths.forget(&flow),
            Input::Notice(_) | Input::Available { .. } => {}
        }
        self.flood();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        let own = self.neighbours.next_timeout().min(self.link_state.next_timeout());
        let others = [self.compute_at, self.services.next_timeout()];
        Some(others.into_iter().flatten().fold(own, Time::min))
    }

    fn services(&mut self) -> Option<&mut dyn Services> {
        Some(self)
    }

    fn inspect(&self, now: Time) -> Inspection {
        self.sections(now)
    }

    fn path_of(&self, flow: &Flow) -> u32 {
        self.paths.path_of(flow)
    }
}

impl Services for CamCube {
    fn host(&mut self, now: Time, id: u16, service: Box<dyn Service>) -> Result<(), String> {
        self.services.host(&view!(self), now, id, service)
    }

    fn arrive(&mut self, now: Time, port: u8, bytes: &[u8]) {
        self.services.arrive(&view!(self), now, port, bytes);
    }

    fn next_packet(&mut self, now: Time, port: u8) -> Option<Vec<u8>> {
        self.services.next_packet(&view!(self), now, port)
    }

    fn has_news(&mut self) -> bool {
        self.services.has_news()
    }

    fn message(&mut self, now: Time, service: &str, bytes: &[u8]) -> Result<(), String> {
        self.services.message(&view!(self), now, service, bytes)
    }

    fn wake(&mut self, now: Time, id: u16) {
        self.services.wake(&view!(self), now, id);
    }

    fn poll_answer(&mut self) -> Option<(String, Vec<u8>)> {
        self.services.poll_answer()
    }
}

impl ServesClients for CamCube {
    fn tcp_ports(&self) -> Vec<u16> {
        self.services.tcp_ports()
    }

    fn client(&mut self, now: Time, tcp_port: u16, client: ClientId, bytes: &[u8]) {
        self.services
            .client(&view!(self), now, tcp_port, client, Some(bytes));
    }

    fn client_ended(&mut self, now: Time, tcp_port: u16, client: ClientId) {
        self.services.client(&view!(self), now, tcp_port, client, None);
    }

    fn poll_reply(&mut self) -> Option<Reply> {
        self.services.poll_reply()
    }
}
