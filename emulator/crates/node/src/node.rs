//! The loop: the fabric's messages, the protocol and the workload on one thread.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use cubeyard_dataplane::address::{Nha, server_of};
use cubeyard_dataplane::bsr::Bsr;
use cubeyard_dataplane::configuration::{Configuration, NeighbourAddress, Port};
use cubeyard_dataplane::header::HEADER_BYTES;
use cubeyard_dataplane::maps::Flow;
use cubeyard_dataplane::protocol::{Input, NumberedPath, Output, Protocol, Time};
use cubeyard_topology::{NodeId, TopologySpec};
use serde_json::Value;

use crate::bandwidth::{Available, Meters};
use crate::carrier::CarrierWatch;
use crate::clock::now;
use crate::control::{self, ControlSocket};
use crate::fabric::{Arrival, Fabric};
use crate::messages::{Configure, Dataplane, FromFabric, PortOrder, ToFabric};
use crate::poller::{Interest, Poller, Token};
use crate::signals::Signals;
use crate::software::Software;
use crate::workload::{FlowNews, RATES_BITS_PER_SEC, Workload};

/// From one report of the flows to the next.
const REPORT: Duration = Duration::from_millis(100);
/// Reports between two looks at TCP's counters and the flows' rates.
const REPORTS_PER_MEASURE: u32 = 10;
/// Rows of one report: a datagram holds no more.
const ROWS: usize = 200;
/// Longest wait.
const IDLE: Duration = Duration::from_secs(10);

/// Runs until a signal ends it.
pub fn run(socket: &Path) -> io::Result<()> {
    let poller = Poller::new()?;
    let signals = Signals::new()?;
    poller.add(&signals.0, Token::Signals, Interest::READ)?;
    let mut node = Node {
        poller,
        fabric: Fabric::new(socket),
        server: None,
    };
    loop {
        let wait = node.next_timeout().saturating_sub(now());
        for token in node.poller.wait(wait.min(IDLE))? {
            if token == Token::Signals && signals.handle() {
                return Ok(());
            }
            node.on_ready(token);
        }
        node.on_timeout();
    }
}

struct Node {
    poller: Poller,
    fabric: Fabric,
    server: Option<Server>,
}

/// A configured server.
struct Server {
    protocol: Option<Box<dyn Protocol>>,
    control: Vec<ControlSocket>,
    /// Interface names of the ports.
    ports: Vec<(u8, String)>,
    carriers: CarrierWatch,
    meters: Meters,
    workload: Workload,
    software: Option<Software>,
    /// Numbers of the paths that flows and default routes take.
    flow_paths: BTreeMap<Flow, u32>,
    route_paths: BTreeMap<NodeId, u32>,
    report_at: Time,
    reports: u32,
}

impl Node {
    fn next_timeout(&self) -> Time {
        let server = self.server.as_ref().map(Server::next_timeout);
        [self.fabric.next_timeout(), server]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Duration::MAX)
    }

    fn on_timeout(&mut self) {
        self.fabric.on_timeout(now(), &self.poller);
        if let Some(server) = &mut self.server {
            server.on_timeout(&self.poller, &mut self.fabric);
        }
        self.carry_out();
    }

    fn on_ready(&mut self, token: Token) {
        match (token, &mut self.server) {
            (Token::Fabric, _) => self.on_fabric(),
            (Token::Links, Some(server)) => server.on_links(),
            (Token::Control(index), Some(server)) => server.on_control(index as usize),
            (Token::Frames(index), Some(server)) => server.on_frames(index as usize),
            (Token::Flow(id), Some(server)) => server.workload.on_ready(id, now(), &self.poller),
            _ => {}
        }
        self.carry_out();
    }

    fn on_fabric(&mut self) {
        self.fabric.flush(&self.poller);
        while let Some(arrival) = self.fabric.receive() {
            let outcome = match arrival {
                Arrival::Message(message) => self.on_message(message),
                Arrival::Refused(sentence) => Err(sentence),
            };
            if let Err(message) = outcome {
                self.fabric.send(&ToFabric::Error { message }, &self.poller);
            }
            self.carry_out();
        }
    }

    fn on_message(&mut self, message: FromFabric) -> Result<(), String> {
        if let FromFabric::Configure(configure) = message {
            // The sockets of the server before must be closed when the new one's are opened.
            self.server = None;
            self.server = Some(Server::new(&configure, &self.poller)?);
            self.carry_out();
            self.fabric.send(&ToFabric::Ready, &self.poller);
            return Ok(());
        }
        let Some(server) = &mut self.server else {
            return Err("The server has no configuration yet: send configure first.".to_owned());
        };
        match message {
            FromFabric::Configure(_) => {}
            FromFabric::NewFlow { flow } => server.input(Input::NewFlow(flow.into())),
            FromFabric::FlowRates { rows } => {
                for row in rows {
                    let (flow, bits_per_sec) = (row.flow.into(), row.bits_per_sec);
                    server.input(Input::FlowRate { flow, bits_per_sec });
                }
            }
            FromFabric::NextHopDead {
                nha,
                src,
                dst,
                path_id,
            } => {
                let (Some(source), Some(destination)) = (server_of(src), server_of(dst)) else {
                    return Err(format!(
                        "next_hop_dead: {src} or {dst} is no server's address (10.0.0.0/8)."
                    ));
                };
                server.input(Input::NextHopDead {
                    nha: Nha(nha),
                    source,
                    destination,
                    path_id,
                });
            }
            FromFabric::Carrier { port, up } => server.input(Input::Carrier { port, up }),
            FromFabric::LinkRate {
                port,
                rate_bits_per_sec,
            } => server.meters.set_rate(port, rate_bits_per_sec),
            FromFabric::Workload { flows } => server.workload.add(flows, &self.poller)?,
            FromFabric::Start => server.workload.start(now()),
            FromFabric::Stop => {
                server.report(&self.poller, &mut self.fabric, true);
                let available = server.meters.forget();
                server.tell_available(available);
                for flow in server.workload.stop() {
                    server.input(Input::FlowEnded(flow));
                }
            }
            FromFabric::Inspect => {
                let inspection = server.protocol.as_ref().map(|protocol| protocol.inspect(now()));
                let body = inspection.unwrap_or_default().into();
                self.fabric.send(&ToFabric::Inspected(body), &self.poller);
            }
        }
        Ok(())
    }

    /// Does what the protocol wants done.
    fn carry_out(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        while let Some(output) = server
            .protocol
            .as_mut()
            .and_then(|protocol| protocol.poll_output())
        {
            if let Some(message) = server.carry_out(output) {
                self.fabric.send(&message, &self.poller);
            }
        }
    }
}

impl Server {
    fn new(configure: &Configure, poller: &Poller) -> Result<Server, String> {
        let now = now();
        let ports: Vec<(u8, String)> = configure
            .ports
            .iter()
            .map(|port| (port.port, port.name.clone()))
            .collect();
        let rate = configure.rate_bits_per_sec;
        if !RATES_BITS_PER_SEC.contains(&rate) {
            return Err(format!("rate_bits_per_sec is {rate}, but must be 1e3 to 1e12."));
        }
        let forwards = configure.dataplane != Dataplane::None;
        let protocol = if forwards {
            Some(protocol(configure, now)?)
        } else {
            None
        };
        let control = if forwards {
            control::open(poller, configure.server, &ports).map_err(|error| error.to_string())?
        } else {
            Vec::new()
        };
        let in_software = configure.dataplane == Dataplane::Software;
        let software = in_software
            .then(|| Software::open(configure, poller))
            .transpose()?;
        let header = if forwards { HEADER_BYTES as u32 } else { 0 };
        let workload = Workload::new(configure.ip, rate, configure.mtu.saturating_sub(header))
            .map_err(|error| format!("no memory for the workload: {error}"))?;
        let carriers = CarrierWatch::new()
            .and_then(|watch| poller.add(&watch, Token::Links, Interest::READ).map(|()| watch))
            .map_err(|error| format!("no news of the interfaces: {error}"))?;
        Ok(Server {
            protocol,
            control,
            carriers,
            meters: Meters::new(rate, &ports, configure.settings.load_memory(), now),
            ports,
            workload,
            software,
            flow_paths: BTreeMap::new(),
            route_paths: BTreeMap::new(),
            report_at: now + REPORT,
            reports: 0,
        })
    }

    fn input(&mut self, input: Input<'_>) {
        if let Some(protocol) = &mut self.protocol {
            protocol.handle(now(), input);
        }
    }

    fn tell_available(&mut self, ports: Vec<Available>) {
        for available in ports {
            self.input(Input::Available {
                port: available.port,
                out_bits_per_sec: available.out_bits_per_sec,
                in_bits_per_sec: available.in_bits_per_sec,
            });
        }
    }

    fn next_timeout(&self) -> Time {
        let protocol = self
            .protocol
            .as_ref()
            .and_then(|protocol| protocol.next_timeout());
        let others = [protocol, self.workload.next_timeout()];
        let own = self.report_at.min(self.meters.next_timeout());
        others.into_iter().flatten().fold(own, Time::min)
    }

    fn on_timeout(&mut self, poller: &Poller, fabric: &mut Fabric) {
        let now = now();
        self.workload.on_timeout(now, poller);
        if now >= self.meters.next_timeout() {
            let available = self.meters.look(now);
            self.tell_available(available);
        }
        if now >= self.report_at {
            self.report_at = (self.report_at + REPORT).max(now);
            self.reports += 1;
            let measure = self.reports.is_multiple_of(REPORTS_PER_MEASURE);
            self.report(poller, fabric, measure);
            if measure {
                let elapsed_secs = (REPORT * REPORTS_PER_MEASURE).as_secs_f64();
                let rates = self
                    .software
                    .as_mut()
                    .map(|software| software.take_rates(elapsed_secs));
                for rate in rates.unwrap_or_default() {
                    self.input(rate);
                }
                for news in self.workload.news(elapsed_secs) {
                    match news {
                        FlowNews::Rate { flow, bits_per_sec } => {
                            self.input(Input::FlowRate { flow, bits_per_sec });
                        }
                        FlowNews::Ended { flow } => self.input(Input::FlowEnded(flow)),
                    }
                }
            }
        }
        let due = self
            .protocol
            .as_ref()
            .and_then(|protocol| protocol.next_timeout());
        if due.is_some_and(|due| now >= due) {
            self.input(Input::Timeout);
        }
    }

    /// Tells the fabric which flows have moved on.
    fn report(&mut self, poller: &Poller, fabric: &mut Fabric, retransmits: bool) {
        let (flow_paths, route_paths) = (&self.flow_paths, &self.route_paths);
        let path_id = |flow: &Flow| {
            let default = || server_of(flow.dst.into()).and_then(|server| route_paths.get(&server));
            flow_paths.get(flow).or_else(default).copied().unwrap_or(0)
        };
        let rows = self.workload.rows(now(), poller, retransmits, path_id);
        for rows in rows.chunks(ROWS) {
            fabric.send(&ToFabric::Flows { rows: rows.to_vec() }, poller);
        }
        if let Some(counts) = self.software.as_mut().and_then(Software::changed_counts) {
            let traffic = counts.traffic;
            let message = ToFabric::Traffic {
                own_bytes: traffic.own_bytes,
                relayed_bytes: traffic.relayed_bytes,
                delivered_bytes: traffic.delivered_bytes,
                drops: counts.drops,
            };
            fabric.send(&message, poller);
        }
    }

    fn on_links(&mut self) {
        for news in self.carriers.receive() {
            let port = self
                .ports
                .iter()
                .find(|(_, name)| *name == news.name)
                .map(|(port, _)| *port);
            if let Some(port) = port {
                self.input(Input::Carrier {
                    port,
                    up: news.carrier,
                });
            }
        }
    }

    fn on_control(&mut self, index: usize) {
        let (Some(socket), Some(protocol)) = (self.control.get(index), &mut self.protocol) else {
            return;
        };
        let port = socket.port;
        socket.receive(|from, bytes| protocol.handle(now(), Input::Message { port, from, bytes }));
    }

    fn on_frames(&mut self, index: usize) {
        if let Some(software) = &mut self.software {
            software.on_ready(index);
            for input in software.take_inputs() {
                self.input(input);
            }
        }
    }

    /// Does what the protocol wants done here; what the fabric has to do.
    fn carry_out(&mut self, output: Output) -> Option<ToFabric> {
        if let Some(software) = &mut self.software {
            software.carry_out(&output);
        }
        let bytes = |path: &NumberedPath| path.route.hops().iter().map(|hop| hop.0).collect();
        Some(match output {
            Output::Send { port, to, bytes } => {
                if let Some(socket) = self.control.iter().find(|socket| socket.port == port) {
                    socket.send(to, &bytes);
                }
                return None;
            }
            Output::SetNeighbour { nha, up } => ToFabric::SetNst { nha: nha.0, up },
            Output::SetRoute { destination, path } => {
                self.route_paths.insert(destination, path.id);
                ToFabric::SetRoute {
                    dst: destination,
                    nha: bytes(&path),
                    path_id: path.id,
                }
            }
            Output::SetGateway { gateway, path } => ToFabric::SetGateway {
                gateway,
                nha: bytes(&path),
                path_id: path.id,
            },
            Output::SetFlow {
                flow,
                destination,
                path,
            } => {
                self.flow_paths.insert(flow, path.id);
                ToFabric::SetFlow {
                    flow: flow.into(),
                    dst: destination,
                    nha: bytes(&path),
                    path_id: path.id,
                }
            }
            Output::RemoveFlow { flow } => {
                self.flow_paths.remove(&flow);
                ToFabric::RemoveFlow { flow: flow.into() }
            }
            Output::Event(event) => ToFabric::Event {
                at_nanos: now().as_nanos() as u64,
                event: event.into(),
            },
        })
    }
}

/// The protocol of the server's family.
fn protocol(configure: &Configure, now: Time) -> Result<Box<dyn Protocol>, String> {
    let mut spec = configure.spec.clone();
    spec.insert("family".to_owned(), Value::from(configure.family.as_str()));
    let spec = TopologySpec::from_json(&Value::Object(spec)).map_err(|error| error.to_string())?;
    let configuration = Configuration {
        server: configure.server,
        spec,
        present: configure.servers.clone(),
        gateways: configure.gateways.clone(),
        ports: configure.ports.iter().map(port).collect(),
        rate_bits_per_sec: configure.rate_bits_per_sec,
        settings: configure.settings,
        seed: configure.seed,
    };
    match configure.family.as_str() {
        "bcube" => Bsr::new(&configuration, now)
            .map(|bsr| Box::new(bsr) as Box<dyn Protocol>)
            .map_err(|error| error.to_string()),
        other => Err(format!(
            "family is {other}, but must be bcube, or dataplane none: no other has a protocol."
        )),
    }
}

fn port(order: &PortOrder) -> Port {
    let neighbour = |neighbour: &crate::messages::NeighbourOrder| NeighbourAddress {
        server: neighbour.server,
        nha: Nha(neighbour.nha),
        ip: neighbour.ip,
    };
    Port {
        port: order.port,
        neighbours: order.neighbours.iter().map(neighbour).collect(),
    }
}
