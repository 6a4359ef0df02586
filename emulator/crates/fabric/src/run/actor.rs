//! The run's thread: waits for calls, nodes, the fast path, links, processes and the clock.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError};
use std::time::{Duration, Instant};

use cubeyard_dataplane::address::MAX_PORTS;
use cubeyard_dataplane::maps::{EVENT_NEW_FLOW, EVENT_NEXT_HOP_DEAD, Event, FlowCount};
use rustix::fd::AsFd;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use serde_json::{Value, json};

use super::messages::{FiveTuple, FromNode, SoftwareCounts};
use super::node_socket::{MAX_BYTES, NodeSocket, Received, listen_at};
use super::poller::{Poller, Token};
use super::telemetry::{Frame, Telemetry};
use super::workload::Workload;
use super::{Call, Setup};
use crate::ahead::Ahead;
use crate::assembly::{ServerKernel, SwitchKernel};
use crate::error::{During, Result};
use crate::faults::{Conditions, Fault};
use crate::journal::{self, Entry, State};
use crate::names::{self, RunId};
use crate::netlink::read_link_state;
use crate::network::Checked;
use crate::outside::Outside;
use crate::process::Process;
use crate::wiring::{self, PortEnd};

/// From one frame to the next.
const TICK: Duration = Duration::from_millis(100);
/// Datagrams taken from one node before the others have their turn.
const TURN: usize = 64;
/// Events of one frame; more are counted only. When a workload starts, each flow has four: both ways, a probing and a path.
const MOST_EVENTS: usize = 10_000;
/// Events that are kept while nobody looks.
const UNSEEN_EVENTS: usize = 250;
/// Every so manieth tick nodes are told what flows send.
const FLOW_RATES_EVERY: u64 = 10;

pub(super) type Reply = Sender<Result<Value>>;

/// A wire call that waits for nodes.
#[derive(Debug)]
pub(super) struct PendingWire {
    pub reply: Reply,
    pub started: Instant,
    pub deadline: Instant,
    pub built_millis: f64,
    pub waiting: BTreeSet<usize>,
}

/// What is known of one server's node.
#[derive(Debug)]
pub(super) struct Node {
    pub folder: PathBuf,
    /// Of a server of another host there is none.
    pub listener: Option<OwnedFd>,
    pub socket: Option<NodeSocket>,
    pub process: Option<Process>,
    pub carriers: Vec<Option<bool>>,
    pub inspections: VecDeque<Reply>,
    pub last_counts: Vec<(cubeyard_dataplane::maps::Flow, FlowCount)>,
    pub software: Option<SoftwareCounts>,
}

pub(super) struct Actor {
    pub network: Arc<Checked>,
    pub ports: Vec<Vec<PortEnd>>,
    pub state: Arc<State>,
    pub entry: Entry,
    pub node_program: PathBuf,
    pub poller: Poller,
    pub plain: bool,
    pub switches: Option<SwitchKernel>,
    pub outside: Option<Outside>,
    pub kernels: Vec<Option<ServerKernel>>,
    pub ahead: Ahead,
    pub nodes: Vec<Node>,
    pub faults: Vec<Fault>,
    pub applied: Conditions,
    pub workload: Workload,
    pub started_nanos: Option<u64>,
    pub pending_wire: Option<PendingWire>,
    pub subscribers: Vec<SyncSender<Arc<str>>>,
    pub telemetry: Telemetry,
    pub ended: bool,
    calls: Receiver<Call>,
    bell: Arc<OwnedFd>,
    clock: OwnedFd,
    tick: u64,
    events: Vec<Value>,
    events_lost: u64,
    buffer: Vec<u8>,
}

/// CLOCK_MONOTONIC.
pub fn monotonic_nanos() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Actor {
    /// Writes the journal, then makes the sockets.
    pub fn new(setup: Setup, calls: Receiver<Call>, bell: Arc<OwnedFd>) -> Result<Actor> {
        let Setup {
            network,
            state,
            node_program,
        } = setup;
        let run = network.network.run.clone();
        let entry = Entry {
            run: run.clone(),
            namespaces: Vec::new(),
            containers: Vec::new(),
        };
        state.write(&entry)?;
        let poller = Poller::new()?;
        poller.add(&bell, Token::Calls)?;
        let clock = every(TICK)?;
        poller.add(&clock, Token::Clock)?;
        let nodes = make_nodes(&network, &state, &run, &poller)?;
        Ok(Actor {
            ports: wiring::ports_by_server(&network),
            kernels: network.network.servers.iter().map(|_| None).collect(),
            ahead: Ahead::begin(&network),
            applied: Conditions::under(&network, []),
            telemetry: Telemetry::new(&network),
            network,
            state,
            entry,
            node_program,
            poller,
            plain: false,
            switches: None,
            outside: None,
            nodes,
            faults: Vec::new(),
            workload: Workload::default(),
            started_nanos: None,
            pending_wire: None,
            subscribers: Vec::new(),
            ended: false,
            calls,
            bell,
            clock,
            tick: 0,
            events: Vec::new(),
            events_lost: 0,
            buffer: vec![0; MAX_BYTES],
        })
    }

    /// Works until the run is destroyed.
    pub fn work(mut self) {
        while !self.ended {
            let tokens = match self.poller.wait() {
                Ok(tokens) => tokens,
                Err(error) => {
                    self.tell(json!({"kind": "fabric-error", "message": error.message}));
                    continue;
                }
            };
            for token in tokens {
                if let Err(error) = self.attend(token) {
                    self.tell(json!({"kind": "fabric-error", "message": error.message}));
                }
            }
        }
    }

    fn attend(&mut self, token: Token) -> Result<()> {
        match token {
            Token::Calls => {
                let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
                while let Ok(call) = self.calls.try_recv() {
                    self.answer(call.request, &call.reply);
                }
                Ok(())
            }
            Token::Clock => {
                let _ = rustix::io::read(&self.clock, &mut [0_u8; 8]);
                self.on_tick()
            }
            Token::Listener(server) => self.on_connection(server),
            Token::Node(server) => self.on_node(server),
            Token::FastPath(server) => {
                self.on_fast_path(server);
                Ok(())
            }
            Token::Links(server) => self.on_links(server),
            Token::Process(server) => {
                self.on_process_end(server);
                Ok(())
            }
        }
    }

    /// Puts something in the event log.
    pub fn tell(&mut self, mut event: Value) {
        if let Value::Object(fields) = &mut event {
            fields
                .entry("at_nanos")
                .or_insert_with(|| monotonic_nanos().into());
        }
        if self.events.len() < MOST_EVENTS {
            self.events.push(event);
        } else {
            self.events_lost += 1;
        }
    }

    /// The id of a server.
    pub fn id(&self, server: usize) -> u32 {
        self.network.network.servers[server].id
    }

    fn on_connection(&mut self, server: usize) -> Result<()> {
        let Some(socket) = self.nodes[server].listener.as_ref().and_then(NodeSocket::accept) else {
            return Ok(());
        };
        self.poller.add(&socket, Token::Node(server))?;
        // A node that connects again has been started anew: the old connection means nothing any more.
        self.nodes[server].socket = Some(socket);
        if self.kernels[server].is_some() {
            self.greet(server);
        }
        Ok(())
    }

    /// Tells a node all it has to know.
    pub fn greet(&mut self, server: usize) {
        let configure = super::messages::configure(&self.network, server, &self.ports[server]);
        let Some(socket) = &mut self.nodes[server].socket else {
            return;
        };
        socket.send(&configure);
        for (port, rate_bits_per_sec) in
            super::conditions::unusual_rates(&self.network, &self.applied, &self.ports[server])
        {
            socket.send(&super::messages::link_rate(port, rate_bits_per_sec));
        }
        for order in self.workload.orders(server) {
            socket.send(&order);
        }
        if self.started_nanos.is_some() {
            socket.send(&json!({"t": "start"}));
        }
        self.watch_room(server);
    }

    /// Has the poller say when a node that is behind reads again.
    pub fn watch_room(&mut self, server: usize) {
        if let Some(socket) = &self.nodes[server].socket {
            let _ = self
                .poller
                .want_room(socket, Token::Node(server), socket.has_waiting());
        }
    }

    fn on_node(&mut self, server: usize) -> Result<()> {
        if let Some(socket) = &mut self.nodes[server].socket
            && socket.has_waiting()
        {
            socket.flush();
            self.watch_room(server);
        }
        for _ in 0..TURN {
            let Some(socket) = &mut self.nodes[server].socket else {
                break;
            };
            match socket.receive(&mut self.buffer) {
                Received::Datagram(bytes) => self.take(server, &bytes),
                Received::Refused => {}
                Received::Nothing => break,
                Received::Closed => self.nodes[server].socket = None,
            }
        }
        Ok(())
    }

    fn take(&mut self, server: usize, bytes: &[u8]) {
        let id = self.id(server);
        let message = match serde_json::from_slice::<FromNode>(bytes) {
            Ok(message) => message,
            Err(error) => {
                self.tell(json!({"kind": "node-refused", "server": id, "message": error.to_string()}));
                return;
            }
        };
        let result = match message {
            FromNode::Ready => {
                self.on_ready(server);
                Ok(())
            }
            FromNode::SetNst { nha, up } => self.set_next_hop(server, nha, up),
            FromNode::SetRoute { dst, nha, path_id } => self.set_route(server, dst, &nha, path_id),
            FromNode::SetGateway {
                gateway,
                nha,
                path_id,
            } => self.set_gateway(server, gateway, &nha, path_id),
            FromNode::SetFlow { flow, nha, path_id } => self.set_flow(server, flow, &nha, path_id),
            FromNode::RemoveFlow { flow } => {
                if let Some(fast_path) = self.kernels[server]
                    .as_mut()
                    .and_then(|kernel| kernel.fast_path.as_mut())
                {
                    fast_path.remove_flow(flow.into());
                }
                Ok(())
            }
            FromNode::Event(mut event) => {
                event.remove("t");
                event.insert("server".to_owned(), id.into());
                self.tell(Value::Object(event));
                Ok(())
            }
            FromNode::Flows { rows } => {
                for row in rows {
                    self.workload.take(server, &row);
                    if row.done {
                        self.tell(
                            json!({"kind": "flow-done", "server": id, "flow": row.id, "reason": row.reason}),
                        );
                    }
                }
                Ok(())
            }
            FromNode::Traffic(counts) => {
                self.nodes[server].software = Some(counts);
                Ok(())
            }
            FromNode::Inspected(known) => {
                // What a node was asked before it was configured it never answers: one answer is for all who wait.
                for reply in std::mem::take(&mut self.nodes[server].inspections) {
                    let _ = reply.send(self.with_counts(server, known.clone()));
                }
                Ok(())
            }
            FromNode::Error { message } => {
                self.tell(json!({"kind": "node-error", "server": id, "message": message}));
                self.refuse_pending_wire(server, &message);
                Ok(())
            }
        };
        if let Err(error) = result {
            self.tell(json!({"kind": "node-refused", "server": id, "message": error.to_string()}));
        }
    }

    fn on_fast_path(&mut self, server: usize) {
        while let Some(event) = self.kernels[server]
            .as_mut()
            .and_then(|kernel| kernel.fast_path.as_mut()?.next_event())
        {
            let message = match event.kind {
                EVENT_NEW_FLOW => json!({"t": "new_flow", "flow": FiveTuple::from(event.flow)}),
                EVENT_NEXT_HOP_DEAD => next_hop_dead(&event),
                _ => continue,
            };
            if let Some(socket) = &mut self.nodes[server].socket {
                socket.announce(&message);
            }
        }
        self.watch_room(server);
    }

    fn on_links(&mut self, server: usize) -> Result<()> {
        let mut changes = Vec::new();
        if let Some(kernel) = &mut self.kernels[server] {
            let ports = &self.ports[server];
            kernel.link_events.announced(|answer| {
                let Some(link) = read_link_state(answer) else {
                    return;
                };
                let is_it = |port: &PortEnd| names::port_index(port.port) == link.index;
                if let Some(at) = ports.iter().position(is_it) {
                    changes.push((at, link.carrier && !link.removed));
                }
            })?;
        }
        for (at, up) in changes {
            if self.nodes[server].carriers[at].replace(up) == Some(up) {
                continue;
            }
            let port = self.ports[server][at].port;
            if let Some(socket) = &mut self.nodes[server].socket {
                socket.announce(&json!({"t": "carrier", "port": port, "up": up}));
            }
            let id = self.id(server);
            self.tell(json!({"kind": "carrier", "server": id, "port": port, "up": up}));
        }
        self.watch_room(server);
        Ok(())
    }

    fn on_process_end(&mut self, server: usize) {
        if let Some(mut process) = self.nodes[server].process.take() {
            process.collect();
        }
        self.nodes[server].socket = None;
        for reply in self.nodes[server].inspections.drain(..) {
            let gone = crate::error::FabricError::state("the server's node has ended", "recover the server");
            let _ = reply.send(Err(gone));
        }
        let id = self.id(server);
        self.tell(json!({"kind": "node-lost", "server": id}));
        if !self.plain {
            // Whoever holds a namespace keeps its links alive: a dead container's ports must go.
            self.kernels[server] = None;
        }
    }

    fn on_tick(&mut self) -> Result<()> {
        self.tick += 1;
        if self.tick.is_multiple_of(FLOW_RATES_EVERY) {
            self.tell_flow_rates();
        }
        self.check_pending_wire();
        if self.subscribers.is_empty() {
            let excess = self.events.len().saturating_sub(UNSEEN_EVENTS);
            self.events.drain(..excess);
            return Ok(());
        }
        let links = self.telemetry.links(self.switches.as_mut(), &mut self.kernels)?;
        let (servers, drops) = self.telemetry.servers(self.tick, &self.kernels, &self.nodes)?;
        let mut events = std::mem::take(&mut self.events);
        let lost = std::mem::take(&mut self.events_lost);
        if lost > 0 {
            events.push(json!({"kind": "events-lost", "count": lost, "at_nanos": monotonic_nanos()}));
        }
        events.extend(self.floods());
        let since_start = |start: u64| monotonic_nanos().saturating_sub(start) as f64 / 1e9;
        let frame = Frame {
            tick: self.tick,
            at_secs: self.started_nanos.map_or(0.0, since_start),
            links,
            servers,
            flows: self.workload.columns(),
            drops,
            host: self.telemetry.host(),
            events,
        };
        let line: Arc<str> =
            serde_json::to_string(&json!({"stream": self.network.network.run, "frame": frame}))
                .during(|| "writing a frame".to_owned())?
                .into();
        // One who does not read misses frames; one who is gone is forgotten.
        self.subscribers.retain(|subscriber| {
            !matches!(
                subscriber.try_send(line.clone()),
                Err(TrySendError::Disconnected(_))
            )
        });
        Ok(())
    }

    /// One event for each node that sent more than it may since the last frame.
    fn floods(&mut self) -> Vec<Value> {
        let network = &self.network.network;
        let sockets = self.nodes.iter_mut().map(|node| node.socket.as_mut());
        let refused = sockets.map(|socket| socket.map_or(0, NodeSocket::take_refused));
        let counted = refused.zip(&network.servers).filter(|&(refused, _)| refused > 0);
        counted
            .map(|(refused, server)| {
                json!({"kind": "node-flooding", "server": server.id, "messages": refused, "at_nanos": monotonic_nanos()})
            })
            .collect()
    }

    fn tell_flow_rates(&mut self) {
        let secs = (TICK * FLOW_RATES_EVERY as u32).as_secs_f64();
        for server in 0..self.nodes.len() {
            let fast_path = self.kernels[server]
                .as_ref()
                .and_then(|kernel| kernel.fast_path.as_ref());
            let (Some(fast_path), Some(_)) = (fast_path, &self.nodes[server].socket) else {
                continue;
            };
            let mut counts = fast_path.flow_counts();
            counts.sort_by_key(|(flow, _)| *flow);
            let node = &mut self.nodes[server];
            let last = std::mem::replace(&mut node.last_counts, counts);
            let rows: Vec<Value> = node
                .last_counts
                .iter()
                .filter_map(|(flow, now)| {
                    let at = last.binary_search_by_key(flow, |(flow, _)| *flow);
                    let before = at.map_or(0, |at| last[at].1.bytes);
                    let bytes = now.bytes.checked_sub(before).unwrap_or(now.bytes);
                    let bits_per_sec = bytes as f64 * 8.0 / secs;
                    (bytes > 0).then(|| json!({"flow": FiveTuple::from(*flow), "bits_per_sec": bits_per_sec}))
                })
                .collect();
            for rows in rows.chunks(200) {
                if let Some(socket) = &mut node.socket {
                    socket.announce(&json!({"t": "flow_rates", "rows": rows}));
                }
            }
            self.watch_room(server);
        }
    }

    /// Waits for a server's fast path and links from now on.
    pub fn watch(&mut self, server: usize) -> Result<()> {
        if let Some(kernel) = &mut self.kernels[server] {
            // What was announced while the links were made is no news.
            kernel.link_events.announced(|_| {})?;
            self.nodes[server].carriers.fill(Some(true));
            self.poller.add(&kernel.link_events, Token::Links(server))?;
            if let Some(fast_path) = &kernel.fast_path {
                self.poller
                    .add(fast_path.events.as_fd(), Token::FastPath(server))?;
            }
        }
        Ok(())
    }

    /// Watches the process of a server's node.
    pub fn adopt(&mut self, server: usize, process: Process) -> Result<()> {
        self.poller.add(&process, Token::Process(server))?;
        self.nodes[server].process = Some(process);
        Ok(())
    }
}

fn next_hop_dead(event: &Event) -> Value {
    let address = |octets: [u8; 4]| std::net::Ipv4Addr::from(octets);
    json!({"t": "next_hop_dead", "nha": event.nha, "src": address(event.src), "dst": address(event.dst),
        "path_id": event.path_id})
}

fn every(period: Duration) -> Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let clock = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
        .during(|| "making a clock".to_owned())?;
    let period = Timespec {
        tv_sec: period.as_secs() as i64,
        tv_nsec: i64::from(period.subsec_nanos()),
    };
    let setting = Itimerspec {
        it_interval: period,
        it_value: period,
    };
    rustix::time::timerfd_settime(&clock, TimerfdTimerFlags::empty(), &setting)
        .during(|| "setting a clock".to_owned())?;
    Ok(clock)
}

fn make_nodes(network: &Checked, state: &State, run: &RunId, poller: &Poller) -> Result<Vec<Node>> {
    let folder = state.run_folder(run);
    // Containers get their part of it by a mount; nobody else is to reach the sockets.
    journal::make_folder(&folder, 0o700)?;
    let mut nodes = Vec::with_capacity(network.network.servers.len());
    for (at, server) in network.network.servers.iter().enumerate() {
        let folder = folder.join(server.id.to_string());
        let listener = if network.division.has_server(at) {
            journal::make_folder(&folder, 0o755)?;
            let listener = listen_at(&folder.join("fabric.sock"))?;
            poller.add(&listener, Token::Listener(at))?;
            Some(listener)
        } else {
            None
        };
        nodes.push(Node {
            folder,
            listener,
            socket: None,
            process: None,
            carriers: vec![None; usize::from(MAX_PORTS)],
            inspections: VecDeque::new(),
            last_counts: Vec::new(),
            software: None,
        });
    }
    Ok(nodes)
}
