//! The thread of a run. It waits for calls, nodes, programs, links, processes and the clock, and
//! handles one event after the other, so that no state needs a lock.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::ToNode;
use serde_json::Value;

use super::congestion::LOOK;
use super::events::EventKind;
use super::frames::Frame;
use super::messages::{chip_listener, configure, program, services};
use super::node_socket::Received;
use super::poller::{Poller, Token};
use super::state::RunState;
use super::verbs::{
    answer, capture, chip, describe, destroy, inject, inspect, program as program_verb, recover, registers,
    signal as signal_verb, start, stop, subscribe, tell, wire, workload,
};
use super::{Call, Reply, Request, Setup};
use crate::error::{FabricError, Result};
use crate::host::clock::{monotonic_nanos, timer};

const TICK: Duration = Duration::from_millis(100);
/// Most messages of one node per turn, so that other nodes get theirs.
const MESSAGES_PER_TURN: usize = 64;
/// The rates of flows are sent to nodes once in this many ticks.
const TICKS_PER_FLOW_RATES: u64 = 10;
/// The CPUs of chips check the servers at their switches once in this many ticks.
const TICKS_PER_LOOK: u64 = 10;

/// Missing subflows are requested once in this many ticks.
const TICKS_PER_SUBFLOWS: u64 = 30;

/// The thread of a run.
pub(super) struct RunThread {
    run: RunState,
    poller: Arc<Poller>,
    calls: Receiver<Call>,
    /// Readable when a call is waiting.
    wakeup: Arc<OwnedFd>,
    clock: OwnedFd,
    /// Readable at the end of a round of hellos; `None` without hellos.
    hello_clock: Option<OwnedFd>,
    /// Readable when an update of limited ports is due; `None` without congestion notification.
    congestion_clock: Option<OwnedFd>,
    tick: u64,
    is_over: bool,
}

impl RunThread {
    /// Prepares the run: its journal entry and sockets.
    pub fn new(setup: Setup, calls: Receiver<Call>, wakeup: Arc<OwnedFd>) -> Result<RunThread> {
        let poller = Arc::new(Poller::new()?);
        poller.add(&wakeup, Token::Calls)?;
        let clock = timer(TICK)?;
        poller.add(&clock, Token::Clock)?;
        let run = RunState::new(setup, &poller)?;
        let hello_clock = run
            .hellos
            .as_ref()
            .map(|hellos| timer(hellos.round))
            .transpose()?;
        if let Some(clock) = &hello_clock {
            poller.add(clock, Token::Hellos)?;
        }
        let congestion_clock = run.congestion.as_ref().map(|_| timer(LOOK)).transpose()?;
        if let Some(clock) = &congestion_clock {
            poller.add(clock, Token::Congestion)?;
        }
        Ok(RunThread {
            run,
            poller,
            calls,
            wakeup,
            clock,
            hello_clock,
            congestion_clock,
            tick: 0,
            is_over: false,
        })
    }

    /// Handles events until the run is destroyed.
    pub fn work(mut self) {
        while !self.is_over {
            let tokens = match self.poller.wait() {
                Ok(tokens) => tokens,
                Err(error) => {
                    self.run.log_error(&error);
                    continue;
                }
            };
            for token in tokens {
                if let Err(error) = self.handle(token) {
                    self.run.log_error(&error);
                }
            }
        }
    }

    fn handle(&mut self, token: Token) -> Result<()> {
        match token {
            Token::Calls => {
                let _ = rustix::io::read(&self.wakeup, &mut [0_u8; 8]);
                while let Ok(call) = self.calls.try_recv() {
                    self.call(call.request, &call.reply);
                }
                Ok(())
            }
            Token::Clock => {
                let _ = rustix::io::read(&self.clock, &mut [0_u8; 8]);
                self.on_tick()
            }
            Token::Listener(server) => self.run.on_connection(server),
            Token::Node(server) => {
                self.run.on_node(server);
                Ok(())
            }
            Token::Programs(server) => {
                self.run.on_notices(server);
                Ok(())
            }
            Token::Links(server) => self.run.on_links(server),
            Token::Process(server) => self.run.on_process_end(server),
            Token::RouterLinks(room) => self.run.on_router_links(room),
            Token::Answers(server) => self.run.on_answers(server),
            Token::Congestion => {
                if let Some(clock) = &self.congestion_clock {
                    let _ = rustix::io::read(clock, &mut [0_u8; 8]);
                }
                self.run.on_congestion_clock()
            }
            Token::Subflows(server) => self.run.on_subflows(server),
            Token::Cpu(room) => self.run.on_cpu(room),
            Token::Hellos => {
                if let Some(clock) = &self.hello_clock {
                    // If this thread missed several rounds, they count as one: it sent no hellos in
                    // between.
                    let _ = rustix::io::read(clock, &mut [0_u8; 8]);
                }
                self.run.on_hellos()
            }
        }
    }

    /// Carries out a request. The answer is sent at once or later.
    fn call(&mut self, request: Request, reply: &Reply) {
        let run = &mut self.run;
        let result = match request {
            Request::Describe => answer(describe::describe(run)),
            Request::Wire { homes, rest_follows } => match wire::wire(run, homes, rest_follows, reply) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            Request::Isolate(pids) => wire::isolate(run, &pids).and_then(answer),
            Request::Workload(flows) => workload::set_workload(run, flows).and_then(answer),
            Request::Start => start::start(run).and_then(answer),
            Request::Stop => answer(stop::stop(run)),
            Request::Inject(fault) => inject::inject(run, fault).and_then(answer),
            Request::Recover(fault) => recover::recover(run, &fault).and_then(answer),
            Request::Signal {
                server,
                signal,
                beside,
            } => signal_verb::signal(run, server, signal, beside.as_ref()).and_then(answer),
            Request::Inspect(server) => match inspect::inspect(run, server, reply) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            Request::Tell {
                server,
                service,
                bytes,
            } => tell::tell(run, server, service, bytes).and_then(answer),
            Request::Program(Some(text)) => program_verb::set_program(run, &text).and_then(answer),
            Request::Program(None) => answer(program_verb::program(run)),
            Request::Chip { server, request } => match chip::ask(run, server, request, reply) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            Request::Registers { server, register } => {
                let register = register.as_ref().map(|(name, value)| (name.as_str(), *value));
                registers::registers(run, server, register).and_then(answer)
            }
            Request::Capture(target, sender) => capture::open_capture(run, target).map(|socket| {
                let interface = socket.interface.clone();
                // The caller may have disconnected, so a failure is ignored.
                let _ = sender.send(socket);
                Value::from(interface)
            }),
            Request::Subscribe(caller, subscriber) => answer(subscribe::subscribe(run, caller, subscriber)),
            Request::Destroy { end_processes } => {
                let destroyed = destroy::destroy(run, end_processes);
                self.is_over = destroyed.is_ok();
                destroyed.and_then(answer)
            }
        };
        // The caller may have disconnected, so a failure is ignored.
        let _ = reply.send(result);
    }

    fn on_tick(&mut self) -> Result<()> {
        self.tick += 1;
        let run = &mut self.run;
        if self.tick.is_multiple_of(TICKS_PER_FLOW_RATES) {
            run.send_flow_rates((TICK * TICKS_PER_FLOW_RATES as u32).as_secs_f64());
            run.tell_congestion();
        }
        if self.tick.is_multiple_of(TICKS_PER_LOOK) {
            run.log_strangers();
            run.look_at_servers()?;
        }
        run.log_unsent();
        run.check_wiring();
        run.expire_inspections();
        if run.routes.is_due {
            run.bring_routes()?;
        }
        run.tell_paths();
        if self.tick.is_multiple_of(TICKS_PER_SUBFLOWS) {
            run.ask_for_subflows();
        }
        if run.subscribers.is_empty() {
            run.events.forget_old();
            return Ok(());
        }
        run.log_floods();
        let read = run.telemetry.read(self.tick, &mut run.kernels, &run.nodes)?;
        let since_start = |start: u64| monotonic_nanos().saturating_sub(start) as f64 / 1e9;
        let frame = Frame {
            tick: self.tick,
            at_secs: run.workload.started_nanos().map_or(0.0, since_start),
            links: read.links,
            servers: read.servers,
            flows: run.workload.columns(),
            latencies: run.latencies.take(),
            subflows: run.workload.subflow_rows(),
            drops: read.drops,
            host: read.host,
            events: run.events.take(),
        };
        run.subscribers.send(&run.network.description.run, &frame)
    }
}

impl RunState {
    /// Emits an event for an internal error of the fabric.
    pub fn log_error(&mut self, error: &FabricError) {
        let message = error.message.clone();
        self.events.add(EventKind::FabricError { message });
    }

    /// Answers the wire call if its nodes are ready or its time is up.
    pub fn check_wiring(&mut self) {
        let (nodes, servers) = (&self.nodes, &self.network.description.servers);
        let has_process = |server: usize| nodes.process(server).is_some();
        self.wiring.check(has_process, |server| servers[server].id);
    }

    fn expire_inspections(&mut self) {
        let servers = &self.network.description.servers;
        let (now, id) = (Instant::now(), |server: usize| servers[server].id);
        self.inspections.expire(now, id);
        self.chip_requests.expire(now, id);
    }

    /// Handles a message that was too long for a node: fails the wire call that waits for the node,
    /// and emits an event.
    fn log_unsent(&mut self) {
        for server in 0..self.nodes.len() {
            if let Some(why) = self.nodes.take_unsent(server) {
                let id = self.id(server);
                self.wiring.refuse(server, id, &why);
                let message = format!("sending to the node of server {id}: {why}");
                self.events.add(EventKind::FabricError { message });
            }
        }
    }

    /// Emits an event for each node that exceeded its message rate since the last frame, and for
    /// connections of other processes.
    fn log_floods(&mut self) {
        for server in 0..self.nodes.len() {
            let messages = self.nodes.take_refused(server);
            if messages > 0 {
                let server = self.id(server);
                self.events.add(EventKind::NodeFlooding { server, messages });
            }
            let strangers = self.nodes.take_strangers(server);
            if strangers > 0 {
                let message = format!(
                    "{strangers} connections to the server's socket were closed: only its own process may connect, once"
                );
                let server = self.id(server);
                self.events.add(EventKind::NodeRefused { server, message });
            }
        }
    }

    /// Emits an event for foreign packets that the tunnels to other hosts have refused.
    fn log_strangers(&mut self) {
        match self.kernels.take_strangers() {
            Ok(0) => {}
            Ok(packets) => self.events.add(EventKind::StrangersRefused { packets }),
            Err(error) => {
                let message =
                    format!("packets of others at the tunnels to other hosts are not refused: {error}");
                self.events.add(EventKind::FabricError { message });
            }
        }
    }

    fn on_connection(&mut self, server: usize) -> Result<()> {
        if self.nodes.accept(server)? && self.kernels.servers[server].is_some() {
            self.configure_node(server);
        }
        Ok(())
    }

    /// Sends a node its configuration and the workload.
    pub fn configure_node(&mut self, server: usize) {
        self.hand_over_chip(server);
        let ports = &self.network.ports[server];
        let mut messages: Vec<ToNode> = chip_listener(&self.network).into_iter().collect();
        messages.push(configure(&self.network, server));
        messages.extend(program(&self.network));
        messages.extend(services(&self.network));
        let rates = self.active_faults.unusual_rates(&self.network, ports);
        messages.extend(
            rates
                .into_iter()
                .map(|(port, rate_bits_per_sec)| ToNode::LinkRate {
                    port: port as u8,
                    rate_bits_per_sec,
                }),
        );
        let mut begun_again = BTreeMap::new();
        if self.workload.started_nanos().is_some() {
            begun_again = self.workload.begun_again(server);
            messages.extend(begun_again.remove(&server).unwrap_or_default());
            messages.push(ToNode::Start);
        } else {
            messages.extend(self.workload.orders(server));
        }
        for message in &messages {
            if let Err(error) = self.nodes.send_with_socket(server, message) {
                self.log_error(&error);
            }
        }
        for (peer, mut orders) in begun_again {
            orders.push(ToNode::Start);
            self.nodes.send(peer, &orders);
        }
    }

    fn on_node(&mut self, server: usize) {
        self.nodes.flush(server);
        for _ in 0..MESSAGES_PER_TURN {
            match self.nodes.receive(server) {
                Received::Datagram(bytes) => self.on_message(server, &bytes),
                Received::Refused => {}
                Received::Nothing | Received::Closed => break,
            }
        }
    }

    fn on_notices(&mut self, server: usize) {
        while let Some(bytes) = self.kernels.servers[server]
            .as_mut()
            .and_then(|kernel| kernel.programs.as_mut()?.next_notice())
        {
            let bytes = HexBytes(bytes);
            self.nodes.announce(server, &ToNode::Notice { bytes });
        }
    }

    fn on_links(&mut self, server: usize) -> Result<()> {
        let Some(kernel) = &mut self.kernels.servers[server] else {
            return Ok(());
        };
        for (port, up) in self.carriers.changes(server, kernel)? {
            let message = ToNode::Carrier { port: port as u8, up };
            self.nodes.announce(server, &message);
            let server = self.id(server);
            self.events.add(EventKind::Carrier { server, port, up });
        }
        Ok(())
    }

    fn on_process_end(&mut self, server: usize) -> Result<()> {
        self.nodes.forget_process(server);
        self.nodes.disconnect(server);
        let gone = FabricError::state("the server's node has ended", "recover the server");
        self.inspections.answer(server, &Err(gone.clone()));
        self.chip_requests.end(server, &gone);
        let id = self.id(server);
        self.events.add(EventKind::NodeLost { server: id });
        if !self.wiring.plain {
            // If another process uses the namespace, its links stay. So the ports of an ended
            // container must be removed explicitly.
            self.kernels.servers[server] = None;
            self.forget_routes_of(server);
            return self.bring_routes();
        }
        Ok(())
    }

    fn send_flow_rates(&mut self, secs: f64) {
        for (server, kernel) in self.kernels.servers.iter().enumerate() {
            let programs = kernel.as_ref().and_then(|kernel| kernel.programs.as_ref());
            if let Some(programs) = programs
                && self.nodes.is_connected(server)
            {
                for message in self.flow_rates.messages(server, programs, secs) {
                    self.nodes.announce(server, &message);
                }
            }
        }
    }

    /// Starts to receive events of a server's programs and links.
    pub fn watch(&mut self, server: usize) -> Result<()> {
        if let Some(kernel) = &mut self.kernels.servers[server] {
            self.carriers.watch(server, kernel)?;
            if let Some(programs) = &kernel.programs {
                self.nodes.watch_programs(server, programs)?;
            }
            if let Some(paths) = &kernel.paths {
                self.nodes.watch_subflows(server, paths)?;
            }
        }
        self.watch_congestion(server)
    }
}
