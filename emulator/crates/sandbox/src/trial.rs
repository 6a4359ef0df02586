//! Runs a service on every server of a torus in virtual time, to try it before an emulation.
//!
//! The servers use the dataplane's runtime for services, so queues, polling and fair shares are
//! those of an emulation. Not modelled: failures, losses and link state, which needs memory for
//! every pair of servers. Links have one rate, and a packet arrives [`HOP`] after its link has
//! carried it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use cubeyard_dataplane::camcube::Structure;
use cubeyard_dataplane::camcube::header::{Header, OPTION_BYTES};
use cubeyard_dataplane::camcube::services::built_in;
use cubeyard_dataplane::camcube::services::context::View;
use cubeyard_dataplane::camcube::services::runtime::Runtime;
use cubeyard_dataplane::service::Service;
use cubeyard_routing::random::Draws;
use cubeyard_routing::torus::{Shape, Ties};
use cubeyard_topology::{NodeId, Topology, TopologySpec, Torus3dSpec};
use serde::{Deserialize, Serialize};

use crate::budget::Time;
use crate::limits::{FIRST_ID, MEMORY_BYTES};
use crate::module::{Flaw, Module};
use crate::process::{ProcessLink, ProcessService};
use crate::service::UserService;

/// The name of the service.
const NAME: &str = "trial";
/// Time from a link's end to the next server's service.
const HOP: Duration = Duration::from_micros(200);
/// Headers of Ethernet, IPv4 and UDP before a packet of a service.
const HEADERS_BYTES: usize = 42;
const MAX_PAYLOAD: usize = 9000 - 28 - OPTION_BYTES;
/// Memory of all instances together.
const ALL_MEMORY_BYTES: usize = 4 << 30;
/// Answers that a report quotes.
const ANSWERS: usize = 10;
/// In a message: a key drawn for each server.
const KEY: &str = "{key}";
/// Number of events between two checks for cancellation.
const LOOK_EVERY: u64 = 4096;
/// The most packets over links in one trial; a trial ends when it reaches them.
const MOST_PACKETS: u64 = 20_000_000;

/// The parameters of a trial.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Servers along each axis.
    pub size: [u32; 3],
    /// Virtual time, in seconds.
    pub secs: f64,
    /// The message that each server's instance receives once, at a random time within the first
    /// second; `{key}` is replaced by a random key for each.
    pub message: String,
    /// Rate of every link.
    pub rate_bits_per_sec: f64,
    /// Seed of everything left to chance.
    pub seed: u64,
}

/// The result of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Number of servers.
    pub servers: u32,
    /// Virtual time in seconds.
    pub secs: f64,
    /// Number of packets over links.
    pub carried: u64,
    /// Packets that F gave no further key, and `deliver` took.
    pub delivered: u64,
    /// Delivered packets by the hops that they took.
    pub hops: BTreeMap<u8, u64>,
    /// Calls of the module.
    pub calls: u64,
    /// Instructions that they took, about.
    pub fuel: u64,
    /// Number of lost packets and of rejected actions, by reason.
    pub lost: BTreeMap<String, u64>,
    /// The module's own counters.
    pub counters: BTreeMap<String, u64>,
    /// Answers to the outside.
    pub answers: u64,
    /// The first of them: second, server, text.
    pub said: Vec<(f64, String, String)>,
    /// Whether it was ended for the number of its packets.
    pub ended_early: bool,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Tell { server: NodeId, message: Vec<u8> },
    Arrive { to: (NodeId, u8), bytes: Vec<u8> },
    LinkFree { from: (NodeId, u8) },
    Wake { server: NodeId },
}

/// The service that the servers run: creates the instance of each server, and answers the calls of
/// a service in a process.
trait Tried {
    /// The name of the service.
    fn name(&self) -> &str {
        NAME
    }

    /// Creates the instance of a server; for a service in a process, also the link to the process.
    fn instance(&self, server: NodeId) -> Result<(Box<dyn Service>, Option<ProcessLink>), Flaw>;

    /// The answer of the process to a call; `None` if it does not answer. Errors: the process is
    /// gone.
    fn answer(&mut self, call: &[u8]) -> Result<Option<Vec<u8>>, Flaw>;
}

struct InModule<'a> {
    module: &'a Module,
    memory_bytes: usize,
}

impl Tried for InModule<'_> {
    fn instance(&self, _: NodeId) -> Result<(Box<dyn Service>, Option<ProcessLink>), Flaw> {
        let service = UserService::with_memory(NAME, self.module, Duration::ZERO, self.memory_bytes)?;
        Ok((Box::new(service), None))
    }

    fn answer(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, Flaw> {
        Ok(None)
    }
}

/// One of the services that every server of a run hosts.
struct BuiltIn {
    name: String,
}

impl Tried for BuiltIn {
    fn name(&self) -> &str {
        &self.name
    }

    fn instance(&self, _: NodeId) -> Result<(Box<dyn Service>, Option<ProcessLink>), Flaw> {
        let mut all = built_in(None);
        let names: Vec<String> = all.iter().map(|(_, item)| item.name().to_owned()).collect();
        match names.iter().position(|name| *name == self.name) {
            Some(place) => Ok((all.swap_remove(place).1, None)),
            None => Err(Flaw {
                code: "no-such-service",
                message: format!("No server hosts a service called {}.", self.name),
                fix: format!("Take one of {}, or a module.", names.join(", ")),
            }),
        }
    }

    fn answer(&mut self, _: &[u8]) -> Result<Option<Vec<u8>>, Flaw> {
        Ok(None)
    }
}

struct InProcess<F>(F);

impl<F: FnMut(&[u8]) -> Result<Option<Vec<u8>>, Flaw>> Tried for InProcess<F> {
    fn instance(&self, server: NodeId) -> Result<(Box<dyn Service>, Option<ProcessLink>), Flaw> {
        let (service, link) = ProcessService::new(NAME, server, Duration::ZERO);
        Ok((Box::new(service), Some(link)))
    }

    fn answer(&mut self, call: &[u8]) -> Result<Option<Vec<u8>>, Flaw> {
        (self.0)(call)
    }
}

struct Server {
    runtime: Runtime,
    /// The link to the process, if the service runs in one.
    link: Option<ProcessLink>,
    /// Ports whose links carry a packet, a bit each.
    busy: u8,
    wakes_at: Option<Time>,
    delivered: u64,
}

struct Torus<T> {
    tried: T,
    structure: Structure,
    roots: Vec<Option<NodeId>>,
    servers: Vec<Server>,
    queue: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    pushed: u64,
    now: Time,
    rate_bits_per_sec: f64,
    report: Report,
}

/// Called with the elapsed share of the virtual time, from 0 to 1; returns whether the trial
/// continues.
pub type GoesOn<'a> = &'a mut dyn FnMut(f64) -> bool;

/// Lets a module run on every server of a torus; `None` where `goes_on` ended it. Errors: it does
/// not start.
pub fn run(module: &Module, options: &Options, goes_on: GoesOn<'_>) -> Result<Option<Report>, Flaw> {
    let [x, y, z] = options.size.map(|size| size.max(1) as usize);
    let memory_bytes = MEMORY_BYTES.min(ALL_MEMORY_BYTES / (x * y * z));
    try_out(InModule { module, memory_bytes }, options, goes_on)
}

/// The same of one of the services that every server of a run hosts, by its name: it takes no fuel,
/// and its calls are not counted. Errors: there is none of that name, and a torus that there is
/// not.
pub fn run_built_in(name: &str, options: &Options, goes_on: GoesOn<'_>) -> Result<Option<Report>, Flaw> {
    let name = name.to_owned();
    try_out(BuiltIn { name }, options, goes_on)
}

/// The same of a service in a process, all of whose instances one process has: `answer` passes a
/// call to it, and gives its answer. A process takes no virtual time, and there is one call at a
/// time, so a trial is the same each time if the process is. Errors: those of `answer`, and a torus
/// that there is not.
pub fn run_process(
    answer: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, Flaw>,
    options: &Options,
) -> Result<Report, Flaw> {
    // Nothing ends it early.
    try_out(InProcess(answer), options, &mut |_| true).map(Option::unwrap_or_default)
}

fn try_out<T: Tried>(tried: T, options: &Options, goes_on: GoesOn<'_>) -> Result<Option<Report>, Flaw> {
    let mut torus = Torus::new(tried, options)?;
    let mut draws = Draws::new(options.seed);
    let [x, y, z] = options.size;
    for server in 0..x * y * z {
        let key = [x, y, z].map(|size| draws.below(size).to_string()).join(",");
        let message = options.message.replace(KEY, &key).into_bytes();
        let at = Duration::from_secs_f64(draws.unit());
        if !message.is_empty() {
            torus.push(at, Happening::Tell { server, message });
        }
    }
    let end = Duration::from_secs_f64(options.secs);
    let mut happened = 0;
    while let Some(Reverse((at, _, happening))) = torus.queue.pop() {
        if at > end {
            break;
        }
        if torus.report.carried >= MOST_PACKETS {
            torus.report.ended_early = true;
            break;
        }
        if happened % LOOK_EVERY == 0 && !goes_on(at.as_secs_f64() / options.secs) {
            return Ok(None);
        }
        happened += 1;
        torus.now = at;
        torus.happen(happening)?;
    }
    Ok(Some(torus.into_report(options.secs)))
}

impl<T: Tried> Torus<T> {
    fn new(tried: T, options: &Options) -> Result<Torus<T>, Flaw> {
        let [x, y, z] = options.size;
        let unfit = |error: String| Flaw {
            code: "no-torus",
            message: format!("There is no torus of {x} x {y} x {z}: {error}."),
            fix: "Give other sizes.".to_owned(),
        };
        let spec = TopologySpec::Torus3d(Torus3dSpec { x, y, z });
        let topology = Topology::build(&spec).map_err(|error| unfit(error.to_string()))?;
        let shape = Shape::new(&topology).ok_or_else(|| unfit("no coordinates".to_owned()))?;
        let structure = Structure::whole(shape);
        let count = structure.shape().servers();
        let servers = (0..count).map(|server| Server {
            runtime: Runtime::new(Vec::new(), structure.ports(), options.seed ^ u64::from(server)),
            link: None,
            busy: 0,
            wakes_at: None,
            delivered: 0,
        });
        let mut torus = Torus {
            tried,
            servers: servers.collect(),
            roots: (0..count).map(Some).collect(),
            structure,
            queue: BinaryHeap::new(),
            pushed: 0,
            now: Duration::ZERO,
            rate_bits_per_sec: options.rate_bits_per_sec,
            report: Report {
                servers: count,
                ..Report::default()
            },
        };
        for server in 0..count {
            let (service, link) = torus.tried.instance(server)?;
            torus.servers[server as usize].link = link;
            let hosted = torus.with(server, |runtime, view| {
                runtime.host(view, Duration::ZERO, FIRST_ID, service)
            });
            hosted.map_err(unfit)?;
            torus.settle(server, 0)?;
        }
        Ok(torus)
    }

    fn push(&mut self, at: Time, happening: Happening) {
        self.pushed += 1;
        self.queue.push(Reverse((at, self.pushed, happening)));
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Flaw> {
        let now = self.now;
        match happening {
            Happening::Tell { server, message } => {
                let name = self.tried.name().to_owned();
                self.with(server, |runtime, view| {
                    // It was hosted under this name.
                    let _ = runtime.message(view, now, &name, &message);
                });
                self.settle(server, 0)?;
            }
            Happening::Arrive {
                to: (server, port),
                bytes,
            } => {
                let hops = bytes
                    .first_chunk::<OPTION_BYTES>()
                    .and_then(Header::parse)
                    .map_or(0, |header| header.hops);
                self.with(server, |runtime, view| runtime.arrive(view, now, port, &bytes));
                self.settle(server, hops)?;
            }
            Happening::LinkFree { from: (server, port) } => {
                self.servers[server as usize].busy &= !(1 << port);
                self.fill(server, port);
            }
            Happening::Wake { server } => {
                if self.servers[server as usize].wakes_at == Some(now) {
                    self.servers[server as usize].wakes_at = None;
                    self.with(server, |runtime, view| runtime.on_timeout(view, now));
                    self.settle(server, 0)?;
                }
            }
        }
        Ok(())
    }

    /// Passes a server's calls to its process, and the answers back, until neither has more.
    fn exchange(&mut self, server: NodeId) -> Result<(), Flaw> {
        let Some(link) = self.servers[server as usize].link.clone() else {
            return Ok(());
        };
        let now = self.now;
        loop {
            if link.hangs_up() {
                link.disconnect();
            } else if link.is_open() {
                link.connect();
            } else if let Some(call) = link.next_call() {
                if let Some(answer) = self.tried.answer(&call)? {
                    link.answer(&answer);
                }
            } else {
                return Ok(());
            }
            self.with(server, |runtime, view| runtime.wake(view, now, FIRST_ID));
        }
    }

    /// Calls a server's runtime with what it sees of the network.
    fn with<R>(&mut self, server: NodeId, call: impl FnOnce(&mut Runtime, &View<'_>) -> R) -> R {
        let structure = &self.structure;
        let shortest = |to: NodeId| ports_towards(structure, server, to);
        let view = View {
            me: server,
            structure,
            shortest: &shortest,
            roots: &self.roots,
            up: ((1u16 << structure.ports()) - 1) as u8,
            max_payload: MAX_PAYLOAD,
        };
        call(&mut self.servers[server as usize].runtime, &view)
    }

    /// Collects the packets that a server's service sends, and fills its free links.
    fn settle(&mut self, server: NodeId, hops: u8) -> Result<(), Flaw> {
        self.exchange(server)?;
        let at = self.now.as_secs_f64();
        let one = &mut self.servers[server as usize];
        while let Some((_, said)) = one.runtime.poll_answer() {
            self.report.answers += 1;
            if self.report.said.len() < ANSWERS {
                let text = String::from_utf8_lossy(&said).into_owned();
                self.report.said.push((at, self.structure.name(server), text));
            }
        }
        let delivered = delivered(&one.runtime);
        let new = delivered - std::mem::replace(&mut one.delivered, delivered);
        if new > 0 {
            *self.report.hops.entry(hops).or_default() += new;
        }
        if one.runtime.has_news() {
            for port in 0..self.structure.ports() {
                self.fill(server, port);
            }
        }
        let one = &mut self.servers[server as usize];
        let wakes_at = one.runtime.next_timeout().map(|at| at.max(self.now));
        if let Some(at) = wakes_at.filter(|_| wakes_at != one.wakes_at) {
            self.push(at, Happening::Wake { server });
        }
        self.servers[server as usize].wakes_at = wakes_at;
        Ok(())
    }

    fn fill(&mut self, server: NodeId, port: u8) {
        let now = self.now;
        if self.servers[server as usize].busy >> port & 1 == 1 {
            return;
        }
        let Some(bytes) = self.with(server, |runtime, view| runtime.next_packet(view, now, port)) else {
            return;
        };
        self.servers[server as usize].busy |= 1 << port;
        self.report.carried += 1;
        let bits = 8.0 * (bytes.len() + HEADERS_BYTES) as f64;
        let free_at = now + Duration::from_secs_f64(bits / self.rate_bits_per_sec);
        self.push(free_at, Happening::LinkFree { from: (server, port) });
        if let Some(far) = self.structure.far(server, port) {
            let to = (far, self.structure.far_port(port));
            self.push(free_at + HOP, Happening::Arrive { to, bytes });
        }
    }

    fn into_report(mut self, secs: f64) -> Report {
        self.report.secs = secs;
        for server in &self.servers {
            for (_, _, waiting, counters) in server.runtime.status() {
                *self.report.lost.entry("packets-waiting".to_owned()).or_default() += waiting as u64;
                for (name, count) in counters {
                    match name {
                        "calls" => self.report.calls += count,
                        "fuel" => self.report.fuel += count,
                        "packets-delivered" => self.report.delivered += count,
                        "packets-sent" | "packets-arrived" | "bytes-sent" => {}
                        _ if name.starts_with("counter-") => {
                            *self.report.counters.entry(name.to_owned()).or_default() += count;
                        }
                        _ => *self.report.lost.entry(name.to_owned()).or_default() += count,
                    }
                }
            }
        }
        self.report.lost.retain(|_, count| *count > 0);
        self.report
    }
}

fn delivered(runtime: &Runtime) -> u64 {
    let counters = runtime.status().map(|(.., counters)| counters);
    counters
        .map(|counters| counters.get("packets-delivered").copied().unwrap_or(0))
        .sum()
}

/// The ports on shortest paths in a torus without failures, a bit each.
fn ports_towards(structure: &Structure, from: NodeId, to: NodeId) -> u8 {
    let shape = structure.shape();
    let mut ports = 0;
    for axis in 0..3 {
        let nearer = shape.nearer(from, to, axis, Ties::Both);
        for (up, _) in [true, false]
            .into_iter()
            .zip(nearer)
            .filter(|(_, nearer)| *nearer)
        {
            ports |= 1 << structure.port(axis, up);
        }
    }
    ports
}
