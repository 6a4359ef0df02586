//! The main loop: handles the fabric's messages, the protocol and the workload on one thread.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use cubeyard_dataplane::catalog::{self, ForwardingKind};
use cubeyard_dataplane::protocol::{Input, Output, Protocol, Time};
use cubeyard_dataplane::service::Services;
use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::limits::{RATES_BITS_PER_SEC, ROWS};
use cubeyard_messages::{Configure, ToFabric, ToNode};

use crate::bandwidth::{Available, Meters};
use crate::carrier::CarrierWatch;
use crate::chip::{ChipServer, ServerChip};
use crate::clients::Clients;
use crate::clock::now;
use crate::control::{self, ControlSocket};
use crate::fabric::{Arrival, Fabric};
use crate::handed::Handed;
use crate::kernel_chip::KernelChip;
use crate::modules::{Modules, Part};
use crate::poller::{Interest, Poller, Token};
use crate::processes::Processes;
use crate::services::{ServiceSockets, answers};
use crate::signals::Signals;
use crate::software::Software;
use crate::workload::{AskedValues, FlowNews, Workload};

/// Time between two reports of flows.
const REPORT: Duration = Duration::from_millis(100);
/// Number of reports between readings of TCP's counters and the flows' rates.
const REPORTS_PER_MEASURE: u32 = 10;
/// Longest wait of the loop.
const IDLE: Duration = Duration::from_secs(10);

/// Runs until a signal ends it.
pub fn run(socket: &Path) -> io::Result<()> {
    let poller = Poller::new()?;
    let signals = Signals::new()?;
    poller.add(&signals.0, Token::Signals, Interest::READ)?;
    let mut node = Node {
        poller,
        fabric: Fabric::new(socket),
        handed: Handed::default(),
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
    /// Descriptors that belong to the next configuration.
    handed: Handed,
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
    kernel_chip: Option<KernelChip>,
    chip: Option<ChipServer>,
    services: Option<ServiceSockets>,
    modules: Modules,
    processes: Processes,
    clients: Option<Clients>,
    key_values: Option<AskedValues>,
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
            (Token::Frames(index), Some(server)) => server.on_frames(index as usize, &self.poller),
            (Token::Services(index), Some(server)) => server.on_services(index as usize, &self.poller),
            (Token::Listener(index), Some(server)) => server.on_knock(index as usize, &self.poller),
            (Token::Client(id), Some(server)) => server.on_client(id, &self.poller),
            (Token::Processes(index), Some(server)) => server.on_process(index, &self.poller, true),
            (Token::Process(index), Some(server)) => server.on_process(index, &self.poller, false),
            (Token::ChipListener, Some(server)) => server.on_chip_knock(&self.poller),
            (Token::ChipProgram(id), Some(server)) => server.on_chip_program(id, &self.poller),
            (Token::ChipPackets, Some(server)) => server.on_chip_packets(&self.poller),
            (Token::Flow(id), Some(server)) => server.workload.on_ready(id, now(), &self.poller),
            _ => {}
        }
        self.carry_out();
    }

    fn on_fabric(&mut self) {
        self.fabric.flush(&self.poller);
        while let Some(arrival) = self.fabric.receive() {
            let outcome = match arrival {
                Arrival::Message(ToNode::Cpu, descriptors) => {
                    self.handed.chip = descriptors;
                    Ok(())
                }
                Arrival::Message(ToNode::ChipListener, mut descriptors) => {
                    self.handed.chip_listener = descriptors.pop();
                    Ok(())
                }
                Arrival::Message(message, descriptors) => self.on_message(message, descriptors),
                Arrival::Refused(sentence) => Err(sentence),
            };
            if let Err(message) = outcome {
                self.fabric.send(&ToFabric::Error { message }, &self.poller);
            }
            self.carry_out();
        }
    }

    fn on_message(&mut self, message: ToNode, mut descriptors: Vec<OwnedFd>) -> Result<(), String> {
        if let ToNode::Configure(configure) = message {
            // Close the sockets of the previous server before those of the new one are opened.
            self.server = None;
            let handed = std::mem::take(&mut self.handed);
            let server = Server::new(&configure, handed, self.fabric.path(), &self.poller)?;
            self.server = Some(server);
            self.carry_out();
            self.fabric.send(&ToFabric::Ready, &self.poller);
            return Ok(());
        }
        let Some(server) = &mut self.server else {
            return Err("The server has no configuration yet: send configure first.".to_owned());
        };
        match message {
            ToNode::Configure(_) | ToNode::Cpu | ToNode::ChipListener => {}
            ToNode::Notice { bytes } => server.input(Input::Notice(&bytes.0)),
            ToNode::FlowRates { rows } => {
                for row in rows {
                    let (flow, bits_per_sec) = (row.flow, row.bits_per_sec);
                    server.input(Input::FlowRate { flow, bits_per_sec });
                }
            }
            ToNode::Carrier { port, up } => server.input(Input::Carrier { port, up }),
            ToNode::LinkRate {
                port,
                rate_bits_per_sec,
            } => server.meters.set_rate(port, rate_bits_per_sec),
            ToNode::Workload { flows } => {
                server.workload.add(flows, &self.poller)?;
                server.open_values(&self.poller)?;
            }
            ToNode::Start => server.workload.start(now()),
            ToNode::Stop => {
                server.report(&self.poller, &mut self.fabric, true);
                let available = server.meters.forget();
                server.tell_available(available);
                server.key_values = None;
                for flow in server.workload.stop() {
                    server.input(Input::FlowEnded(flow));
                }
            }
            ToNode::Program { text } => match &mut server.software {
                Some(software) => software.set_program(&text)?,
                None => return Err("The server forwards nothing in user space.".to_owned()),
            },
            ToNode::Service { service, bytes } => {
                services_of(&mut server.protocol)?.message(now(), &service, &bytes.0)?;
            }
            ToNode::ServiceModule {
                service,
                id,
                offset,
                bytes,
                last,
            } => {
                let part = Part {
                    service: &service,
                    id,
                    offset,
                    bytes: &bytes.0,
                    last,
                };
                server.modules.take(&part, services_of(&mut server.protocol)?)?;
            }
            ToNode::ServiceProcess { service, id } => {
                let services = services_of(&mut server.protocol)?;
                let listener = descriptors.pop();
                server
                    .processes
                    .host(&service, id, listener, services, &self.poller)?;
            }
            ToNode::Chip { id, request } => {
                let answer = match server.chips() {
                    (Some(chip), Some(called)) => chip.on_fabric(&request.0, called, &self.poller),
                    _ => Vec::new(),
                };
                let answer = HexBytes(answer);
                self.fabric.send(&ToFabric::Chip { id, answer }, &self.poller);
            }
            ToNode::Called {
                asker,
                cost_micros,
                answer,
            } => {
                if let (Some(chip), Some(called)) = server.chips() {
                    chip.on_called(asker, cost_micros, &answer.0, called, &self.poller);
                }
            }
            ToNode::Inspect => {
                let inspection = server.protocol.as_ref().map(|protocol| protocol.inspect(now()));
                let mut inspection = inspection.unwrap_or_default();
                let of_software = server.software.as_ref().map(Software::sections);
                inspection.sections.extend(of_software.unwrap_or_default());
                let message = ToFabric::Inspected(inspection);
                self.fabric.send(&message, &self.poller);
            }
        }
        Ok(())
    }

    /// Carries out the protocol's outputs.
    fn carry_out(&mut self) {
        let Some(server) = &mut self.server else {
            return;
        };
        while let Some((asker, request)) = server.kernel_chip.as_mut().and_then(KernelChip::next_ask) {
            let request = HexBytes(request);
            self.fabric.send(&ToFabric::Call { asker, request }, &self.poller);
        }
        while let Some(output) = server
            .protocol
            .as_mut()
            .and_then(|protocol| protocol.poll_output())
        {
            if let Some(message) = server.carry_out(output) {
                self.fabric.send(&message, &self.poller);
            }
        }
        if let (Some(protocol), Some(services)) = (&mut server.protocol, &mut server.services) {
            if let Some(hosted) = protocol.services() {
                server.processes.fill_all(hosted, &self.poller);
            }
            services.fill_all(&mut **protocol, &self.poller);
            if let (Some(clients), Some(hosted)) = (&mut server.clients, protocol.services()) {
                clients.answer(hosted, &self.poller);
            }
            for event in answers(&mut **protocol) {
                let at_nanos = now().as_nanos() as u64;
                self.fabric
                    .send(&ToFabric::Event { at_nanos, event }, &self.poller);
            }
        }
    }
}

/// The services of the protocol. Errors: the protocol has none.
fn services_of(protocol: &mut Option<Box<dyn Protocol>>) -> Result<&mut dyn Services, String> {
    let services = protocol.as_mut().and_then(|protocol| protocol.services());
    services.ok_or_else(|| "The server's protocol has no services: name another protocol.".to_owned())
}

impl Server {
    fn new(configure: &Configure, handed: Handed, fabric: &Path, poller: &Poller) -> Result<Server, String> {
        let now = now();
        let configuration = &configure.configuration;
        let entry = catalog::protocol(&configure.protocol).ok_or_else(|| {
            format!(
                "protocol is {}, which the catalogue does not have.",
                configure.protocol
            )
        })?;
        let ports: Vec<(u8, String)> = configuration
            .ports
            .iter()
            .map(|port| (port.port, port.name.clone()))
            .collect();
        let rate = configuration.rate_bits_per_sec;
        if !RATES_BITS_PER_SEC.contains(&rate) {
            return Err(format!("rate_bits_per_sec is {rate}, but must be 1e3 to 1e12."));
        }
        let make = entry.protocol.map(|make| make(configuration, now));
        let mut protocol = make.transpose().map_err(|error| error.to_string())?;
        let control = match &protocol {
            Some(_) => {
                control::open(poller, configuration.server, &ports).map_err(|error| error.to_string())?
            }
            None => Vec::new(),
        };
        let has_services = protocol
            .as_mut()
            .is_some_and(|protocol| protocol.services().is_some());
        let services = has_services.then(|| ServiceSockets::open(poller, configuration));
        let services = services.transpose().map_err(|error| error.to_string())?;
        let hosted = protocol.as_mut().and_then(|protocol| protocol.services());
        let clients = hosted.map(|services| Clients::open(poller, services, configure.address));
        let clients = clients.transpose().map_err(|error| error.to_string())?;
        let forwarding = match &configure.forwarding {
            Some(name) => Some(entry.forwarding(name).ok_or_else(|| {
                format!(
                    "forwarding is {name}, which {} does not have.",
                    configure.protocol
                )
            })?),
            None => None,
        };
        let mut software = match forwarding.map(|forwarding| forwarding.kind) {
            Some(ForwardingKind::Software(make)) => Some(Software::open(make, configuration, poller)?),
            Some(ForwardingKind::Kernel(_)) | None => None,
        };
        let kernel_chip = match handed.chip {
            none if none.is_empty() => None,
            chip => Some(KernelChip::open(chip, configure, poller)?),
        };
        let has_chip = kernel_chip.is_some() || software.as_mut().is_some_and(Software::has_chip);
        let chip = has_chip
            .then(|| ChipServer::open(handed.chip_listener, fabric, configuration, poller))
            .transpose()?;
        let nic_mtu = configuration.mtu.saturating_sub(entry.header_bytes);
        let workload = Workload::new(configure.address, rate, nic_mtu)
            .map_err(|error| format!("no memory for the workload: {error}"))?;
        let carriers = CarrierWatch::new()
            .and_then(|watch| poller.add(&watch, Token::Links, Interest::READ).map(|()| watch))
            .map_err(|error| format!("no news of the interfaces: {error}"))?;
        let memory = protocol
            .as_ref()
            .map_or(Duration::from_secs(1), |protocol| protocol.load_memory());
        Ok(Server {
            protocol,
            control,
            carriers,
            meters: Meters::new(rate, &ports, memory, now),
            ports,
            workload,
            software,
            kernel_chip,
            chip,
            services,
            modules: Modules::default(),
            processes: Processes::default(),
            clients,
            key_values: None,
            report_at: now + REPORT,
            reports: 0,
        })
    }

    /// The server for users' programs, and the chip that they call.
    fn chips(&mut self) -> (Option<&mut ChipServer>, Option<&mut dyn ServerChip>) {
        let called = match (&mut self.kernel_chip, &mut self.software) {
            (Some(chip), _) => Some(chip as &mut dyn ServerChip),
            (None, Some(software)) => Some(software as &mut dyn ServerChip),
            (None, None) => None,
        };
        (self.chip.as_mut(), called)
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
        let chip = self.chip.as_ref().and_then(ChipServer::next_timeout);
        let others = [protocol, self.workload.next_timeout(), chip];
        let own = self.report_at.min(self.meters.next_timeout());
        others.into_iter().flatten().fold(own, Time::min)
    }

    fn on_timeout(&mut self, poller: &Poller, fabric: &mut Fabric) {
        let now = now();
        self.workload.on_timeout(now, poller);
        if let (Some(chip), Some(called)) = self.chips() {
            chip.on_timeout(called, poller);
        }
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
                for (flow, bits_per_sec) in rates.unwrap_or_default() {
                    self.input(Input::FlowRate { flow, bits_per_sec });
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

    /// Reports to the fabric which flows have changed.
    fn report(&mut self, poller: &Poller, fabric: &mut Fabric, retransmits: bool) {
        let rows = self.workload.rows(now(), poller, retransmits);
        for rows in rows.chunks(ROWS) {
            fabric.send(&ToFabric::Flows { rows: rows.to_vec() }, poller);
        }
        if let Some(latencies) = self.workload.latencies() {
            fabric.send(&ToFabric::Latencies(latencies), poller);
        }
        if let Some(counts) = self.software.as_mut().and_then(Software::changed_counts) {
            fabric.send(&ToFabric::Traffic(counts), poller);
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

    fn on_services(&mut self, index: usize, poller: &Poller) {
        if let (Some(services), Some(protocol)) = (&mut self.services, &mut self.protocol) {
            services.on_ready(index, &mut **protocol, poller);
        }
    }

    /// Gives a server that answers requests values for memcached's clients too, unless one of its
    /// services has them.
    fn open_values(&mut self, poller: &Poller) -> Result<(), String> {
        if self.clients.is_none() && self.key_values.is_none() && self.workload.answers_requests() {
            let opened = AskedValues::open(self.workload.address(), poller);
            self.key_values = Some(opened.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn on_knock(&mut self, index: usize, poller: &Poller) {
        match (&mut self.clients, &mut self.key_values) {
            (Some(clients), _) => clients.on_knock(index, poller),
            (None, Some(values)) => values.on_knock(index, poller),
            (None, None) => {}
        }
    }

    fn on_client(&mut self, id: u32, poller: &Poller) {
        if let Some(values) = &mut self.key_values {
            values.on_ready(id, poller);
            return;
        }
        let services = self.protocol.as_mut().and_then(|protocol| protocol.services());
        if let (Some(clients), Some(services)) = (&mut self.clients, services) {
            clients.on_ready(id, services, poller);
        }
    }

    fn on_process(&mut self, index: u32, poller: &Poller, knocks: bool) {
        if let Ok(services) = services_of(&mut self.protocol) {
            if knocks {
                self.processes.on_knock(index as usize, services, poller);
            } else {
                self.processes.on_ready(index as usize, services, poller);
            }
        }
    }

    fn on_chip_knock(&mut self, poller: &Poller) {
        if let Some(chip) = &mut self.chip {
            chip.on_knock(poller);
        }
    }

    fn on_chip_program(&mut self, id: u32, poller: &Poller) {
        if let (Some(chip), Some(called)) = self.chips() {
            chip.on_ready(id, called, poller);
        }
    }

    fn on_chip_packets(&mut self, poller: &Poller) {
        if let (Some(chip), Some(called)) = self.chips() {
            chip.pass_on(called, poller);
        }
    }

    fn on_frames(&mut self, index: usize, poller: &Poller) {
        if let Some(software) = &mut self.software {
            software.on_ready(index);
            if let Some(chip) = &mut self.chip {
                chip.pass_on(software, poller);
            }
            for notice in software.take_notices() {
                self.input(Input::Notice(&notice));
            }
        }
    }

    /// Carries out an output of the protocol, or returns it as a message to the fabric.
    fn carry_out(&mut self, output: Output) -> Option<ToFabric> {
        match output {
            Output::Send { port, to, bytes } => {
                if let Some(socket) = self.control.iter().find(|socket| socket.port == port) {
                    socket.send(to, &bytes);
                }
                None
            }
            Output::Table(update) => match &mut self.software {
                Some(software) => software
                    .apply(&update)
                    .err()
                    .map(|message| ToFabric::Error { message }),
                None => Some(ToFabric::Table(update)),
            },
            Output::Event(event) => Some(ToFabric::Event {
                at_nanos: now().as_nanos() as u64,
                event,
            }),
        }
    }
}
