//! The network: time, faults, control messages, packets, measurements and controllers. Inside:
//! [`Network`] and its events, in this file; in `network/` its options (`options`), packets of
//! flows (`packets`) and of services (`services`), and measurements (`measure`). Not here: one
//! server (`host.rs`), one flow (`flow.rs`), the neighbours at a port (`wiring.rs`), and the order
//! of events (`queue.rs`).

mod measure;
mod options;
mod packets;
mod services;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_dataplane::address::{MAX_SERVER, port_ip, port_of, virtual_ip};
use cubeyard_dataplane::configuration::{Configuration, ConfigurationError, RunPlan};
use cubeyard_dataplane::event::Event;
use cubeyard_dataplane::flow::Flow;
use cubeyard_dataplane::forwarding::Forwarding;
use cubeyard_dataplane::inspection::Inspection;
use cubeyard_dataplane::protocol::{Input, Output, Time};
use cubeyard_dataplane::run_role::Controller;
use cubeyard_dataplane::service::ClientId;
use cubeyard_dataplane::settings::Given;
use cubeyard_dataplane::tables::{TableError, TableRules, TableUpdate};
use cubeyard_routing::Failures;
use cubeyard_routing::random::Draws;
use cubeyard_topology::{NodeId, Topology};

use self::options::configuration;
use crate::flow::FlowState;
use crate::host::Host;
use crate::queue::EventQueue;
use crate::wiring::{PortOf, Wiring};

pub use self::options::Options;

/// Interval between measurements of the links.
const MEASURE: Duration = Duration::from_millis(200);
/// Interval between packets of a flow.
pub const PACKET: Duration = Duration::from_millis(10);
/// Time in which a port sees that its carrier has changed.
const CARRIER: Duration = Duration::from_millis(10);
/// Time of a control message over one hop.
const HOP: Duration = Duration::from_micros(200);

/// The kinds of events.
#[derive(Debug)]
enum Happening {
    Arrive {
        to: PortOf,
        from: Ipv4Addr,
        bytes: Vec<u8>,
    },
    Wake {
        server: NodeId,
        number: u64,
    },
    Carrier {
        port: PortOf,
        up: bool,
    },
    Packet {
        flow: usize,
    },
    /// A packet of a service.
    Service {
        to: PortOf,
        bytes: Vec<u8>,
    },
    /// A link can take the next packet of services.
    LinkFree {
        from: PortOf,
    },
    Measure,
}

/// A network in virtual time.
pub struct Network {
    /// The topology of the network.
    pub topology: Topology,
    /// The current failures.
    pub failures: Failures,
    /// Share of the control messages that are lost.
    pub loss: f64,
    /// Ports at which nothing arrives, though what they send does.
    pub deaf: Vec<PortOf>,
    /// The flows, by number.
    pub flows: Vec<FlowState>,
    /// Every event, with its time and server.
    pub log: Vec<(Time, NodeId, Event)>,
    /// Packets that visited a server twice.
    pub looped_packets: u64,
    /// Updates of controllers that the run's rules refused.
    pub refused_updates: Vec<TableError>,
    /// The answers of services to the outside: time, server, service, and message.
    pub answers: Vec<(Time, NodeId, String, Vec<u8>)>,
    /// The data that services sent to clients: server, client, and bytes; no bytes mean the end of
    /// a connection.
    pub replies: Vec<(NodeId, ClientId, Vec<u8>)>,
    /// Packets of services that each directed link has carried.
    pub service_packets: Vec<u64>,
    options: Options,
    wiring: Wiring,
    /// Ports whose links carry a packet of a service now.
    busy: BTreeSet<PortOf>,
    rules: Box<dyn TableRules>,
    hosts: BTreeMap<NodeId, Host>,
    controllers: Vec<Box<dyn Controller>>,
    /// By directed link, the share of its rate that is left, as the servers see it.
    seen_left: Vec<f64>,
    queue: EventQueue<Happening>,
    draws: Draws,
}

impl Network {
    /// A network all of whose servers have started.
    ///
    /// Errors: a topology or settings that the protocol refuses.
    pub fn new(options: Options) -> Result<Network, ConfigurationError> {
        let topology = Topology::build(&options.spec).map_err(|error| ConfigurationError {
            field: "spec".to_owned(),
            value: error.to_string(),
            limit: "a topology that can be built".to_owned(),
            fix: "See its findings.".to_owned(),
        })?;
        (options.protocol.check)(&options.spec)?;
        let wiring = Wiring::new(&topology);
        let all = (0..topology.server_count().min(MAX_SERVER + 1)).collect();
        let servers: Vec<NodeId> = options.present.clone().unwrap_or(all);
        let places = servers
            .iter()
            .map(|&server| configuration(&options, &wiring, server))
            .collect();
        let forwarding = options.protocol.forwarding(options.forwarding);
        let Some(forwarding) = forwarding else {
            return Err(ConfigurationError {
                field: "protocol".to_owned(),
                value: options.protocol.name.to_owned(),
                limit: "one whose servers forward".to_owned(),
                fix: "Take another protocol.".to_owned(),
            });
        };
        let mut network = Network {
            failures: Failures::none(&topology),
            loss: 0.0,
            deaf: Vec::new(),
            flows: Vec::new(),
            log: Vec::new(),
            looped_packets: 0,
            refused_updates: Vec::new(),
            answers: Vec::new(),
            replies: Vec::new(),
            service_packets: vec![0; 2 * topology.link_count()],
            busy: BTreeSet::new(),
            rules: (forwarding.rules)(&RunPlan { servers: places })?,
            hosts: BTreeMap::new(),
            controllers: Vec::new(),
            seen_left: vec![1.0; 2 * topology.link_count()],
            queue: EventQueue::default(),
            draws: Draws::new(options.seed),
            topology,
            wiring,
            options,
        };
        for server in servers {
            network.start(server)?;
        }
        network.queue.push(MEASURE, Happening::Measure);
        Ok(network)
    }

    /// The current virtual time.
    pub fn now(&self) -> Time {
        self.queue.now()
    }

    /// The servers, ascending, including those without power.
    pub fn servers(&self) -> Vec<NodeId> {
        self.hosts.keys().copied().collect()
    }

    /// The forwarding of a server; `None` if the network does not have the server.
    pub fn forwarding(&self, server: NodeId) -> Option<&dyn Forwarding> {
        self.hosts.get(&server).map(|host| &*host.forwarding)
    }

    /// The configuration of a server before it starts.
    pub fn configuration(&self, server: NodeId) -> Configuration {
        configuration(&self.options, &self.wiring, server)
    }

    /// Changes the settings of servers that start from now on.
    pub fn set_settings(&mut self, settings: Given) {
        self.options.settings = settings;
    }

    fn start(&mut self, server: NodeId) -> Result<(), ConfigurationError> {
        let configuration = self.configuration(server);
        let mut host = Host::start(
            self.options.protocol,
            self.options.forwarding,
            &configuration,
            self.now(),
        )?;
        for update in self.rules.initial(server) {
            // Every entry of the rules is one of the forwarding's tables; a refused one would show
            // as lost packets.
            if let Err(error) = host.forwarding.apply(&update) {
                self.refused_updates.push(error);
            }
        }
        self.hosts.insert(server, host);
        self.carry_out(server);
        Ok(())
    }

    // ---------------------------------------------------------------- what a test does

    /// Starts a flow between two servers now; returns its number. Flows of the same pair need
    /// different ports.
    pub fn begin(&mut self, source: NodeId, destination: NodeId, source_port: u16, port: u16) -> usize {
        let address = |server| virtual_ip(server).unwrap_or(Ipv4Addr::UNSPECIFIED);
        let flow = Flow::new(address(source), address(destination), 6, source_port, port);
        self.begin_flow(source, flow)
    }

    /// A flow of any five-tuple begins at a server now; its number.
    pub fn begin_flow(&mut self, source: NodeId, flow: Flow) -> usize {
        let rate = self.options.rate_bits_per_sec;
        self.flows.push(FlowState::new(flow, source, rate));
        let number = self.flows.len() - 1;
        self.queue
            .push(Duration::ZERO, Happening::Packet { flow: number });
        number
    }

    /// Ends all flows and restarts their numbers at 0. Servers are not notified: for them the flows
    /// become idle.
    pub fn end_flows(&mut self) {
        self.flows.clear();
        self.queue
            .retain(|happening| !matches!(happening, Happening::Packet { .. }));
    }

    /// A server's applications send one packet of a flow now; returns the result.
    pub fn send_once(&mut self, source: NodeId, flow: Flow) -> FlowState {
        let mut state = FlowState::new(flow, source, 0.0);
        self.send_packet(&mut state);
        state
    }

    /// Lets time pass, in seconds.
    pub fn run(&mut self, secs: f64) {
        let end = self.now() + Duration::from_secs_f64(secs);
        while let Some(happening) = self.queue.pop_until(end) {
            self.happen(happening);
        }
    }

    /// A server loses its power: its ports' carriers are behind switches, so that nobody sees it at
    /// once.
    pub fn kill(&mut self, server: NodeId) {
        self.failures.fail_node(server);
        if let Some(host) = self.hosts.get_mut(&server) {
            host.running = false;
        }
    }

    /// Restarts a killed server. Errors: those of its first start.
    pub fn revive(&mut self, server: NodeId) -> Result<(), ConfigurationError> {
        self.failures.recover_node(server);
        self.start(server)
    }

    /// A server's cable is pulled: the ports at its ends see it.
    pub fn pull_cable(&mut self, server: NodeId, port: u8) {
        self.set_cable(server, port, false);
    }

    /// A server's cable is plugged in again.
    pub fn plug_cable(&mut self, server: NodeId, port: u8) {
        self.set_cable(server, port, true);
    }

    fn set_cable(&mut self, server: NodeId, port: u8, up: bool) {
        let Some(link) = self.wiring.link((server, port)) else {
            return;
        };
        if up {
            self.failures.recover_link(link as u32);
        } else {
            self.failures.fail_link(link as u32);
        }
        let links = self.topology.links();
        let ends = [
            (links.a[link], links.a_port[link]),
            (links.b[link], links.b_port[link]),
        ];
        for (node, port) in ends {
            if self.topology.is_server(node) {
                let port = (node, port as u8);
                self.queue.push(CARRIER, Happening::Carrier { port, up });
            }
        }
    }

    /// A control message arrives from anybody.
    pub fn inject(&mut self, server: NodeId, port: u8, from: Ipv4Addr, bytes: &[u8]) {
        self.input(server, Input::Message { port, from, bytes });
    }

    /// A controller watches the network from now on.
    pub fn add_controller(&mut self, controller: Box<dyn Controller>) {
        self.controllers.push(controller);
    }

    // ---------------------------------------------------------------- what a test reads

    /// The servers that a flow's latest packet visited.
    pub fn path_of(&self, number: usize) -> Vec<NodeId> {
        self.flows[number].path.clone()
    }

    /// Whether a flow's latest packet arrived.
    pub fn flows_well(&self, number: usize) -> bool {
        let at = self.flows[number].arrived_at;
        at.is_some_and(|at| at + 2 * PACKET >= self.now())
    }

    /// Flows on each directed link.
    pub fn load(&self) -> Vec<u32> {
        let mut load = vec![0; 2 * self.topology.link_count()];
        for flow in &self.flows {
            flow.links.iter().for_each(|&link| load[link] += 1);
        }
        load
    }

    /// The state of a server's protocol; empty if the server does not exist.
    pub fn inspect(&self, server: NodeId) -> Inspection {
        let host = self.hosts.get(&server);
        host.map(|host| host.protocol.inspect(self.now()))
            .unwrap_or_default()
    }

    /// A server; `None` if it does not exist.
    pub fn host(&self, server: NodeId) -> Option<&Host> {
        self.hosts.get(&server)
    }

    // ---------------------------------------------------------------- what happens

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive { to, from, bytes } => {
                let (port, bytes) = (to.1, &bytes);
                self.input(to.0, Input::Message { port, from, bytes });
            }
            Happening::Wake { server, number } => {
                if self.hosts.get(&server).is_some_and(|host| host.wake == number) {
                    self.input(server, Input::Timeout);
                }
            }
            Happening::Carrier {
                port: (server, port),
                up,
            } => self.input(server, Input::Carrier { port, up }),
            Happening::Packet { flow } => {
                let mut state = self.flows[flow].clone();
                self.send_packet(&mut state);
                self.flows[flow] = state;
                self.queue.push(PACKET, Happening::Packet { flow });
            }
            Happening::Service { to, bytes } => self.arrive(to, &bytes),
            Happening::LinkFree { from } => self.on_link_free(from),
            Happening::Measure => {
                self.measure();
                self.queue.push(MEASURE, Happening::Measure);
            }
        }
    }

    fn input(&mut self, server: NodeId, input: Input<'_>) {
        let now = self.now();
        if let Some(host) = self.hosts.get_mut(&server).filter(|host| host.running) {
            host.protocol.handle(now, input);
            self.carry_out(server);
        }
    }

    /// Carries out the actions that a server's protocol requests, and schedules its next wake-up.
    fn carry_out(&mut self, server: NodeId) {
        let now = self.now();
        while let Some(output) = self.output(server) {
            match output {
                Output::Send { port, to, bytes } => self.send_message((server, port), to, bytes),
                Output::Table(update) => self.apply(server, &update),
                Output::Event(event) => self.log.push((now, server, event)),
            }
        }
        let Some(host) = self.hosts.get_mut(&server) else {
            return;
        };
        host.wake += 1;
        let number = host.wake;
        if let Some(at) = host.protocol.next_timeout() {
            self.queue
                .push(at.saturating_sub(now), Happening::Wake { server, number });
        }
        self.serve(server);
    }

    fn output(&mut self, server: NodeId) -> Option<Output> {
        self.hosts.get_mut(&server)?.protocol.poll_output()
    }

    /// Changes a server's table, if the run's rules allow it.
    fn apply(&mut self, server: NodeId, update: &TableUpdate) {
        let checked = self.rules.check(server, update);
        let applied = checked.and_then(|()| match self.hosts.get_mut(&server) {
            Some(host) => host.forwarding.apply(update),
            None => Ok(()),
        });
        if let Err(error) = applied {
            self.refused_updates.push(error);
        }
    }

    fn send_message(&mut self, from: PortOf, to: Ipv4Addr, bytes: Vec<u8>) {
        let (Some(to), Some(address)) = (port_of(to), port_ip(from.0, from.1)) else {
            return;
        };
        let carried = self.wiring.carries(&self.topology, &self.failures, from, to);
        if carried && !self.deaf.contains(&to) && self.draws.unit() >= self.loss {
            let arrival = Happening::Arrive {
                to,
                from: address,
                bytes,
            };
            self.queue.push(HOP, arrival);
        }
    }
}
