//! A network of servers in virtual time: a discrete-event queue, links that fail, and flows whose packets follow the
//! paths that each server's protocol has set.

#![allow(clippy::unwrap_used)]

mod asked;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_dataplane::address::{Nha, port_ip, port_of, virtual_ip};
use cubeyard_dataplane::bsr::Bsr;
use cubeyard_dataplane::configuration::{Configuration, NeighbourAddress, Port, Settings};
use cubeyard_dataplane::maps::Flow;
use cubeyard_dataplane::protocol::{Event, Input, NumberedPath, Output, Protocol, Time};
use cubeyard_routing::Failures;
use cubeyard_routing::bcube::Shape;
use cubeyard_routing::random::Draws;
use cubeyard_topology::{BcubeSpec, NodeId, Topology, TopologySpec};

/// Rate of every link.
pub const RATE_BITS_PER_SEC: f64 = 100e6;
/// From one look at the links to the next.
const MEASURE: Duration = Duration::from_millis(200);
/// What servers see of their links is smoothed over a second, as a node's meters do: exp(-0.2 s / 1 s).
const KEPT: f64 = 0.8187;
/// From one packet of a flow to the next.
const PACKET: Duration = Duration::from_millis(10);
/// Time in which a port sees that its carrier has changed.
const CARRIER: Duration = Duration::from_millis(10);
/// Of one message over one hop.
const HOP: Duration = Duration::from_micros(200);

struct Server {
    bsr: Bsr,
    running: bool,
    up: Vec<bool>,
    routes: BTreeMap<NodeId, NumberedPath>,
    way_out: Option<(NodeId, NumberedPath)>,
    flows: BTreeMap<Flow, NumberedPath>,
    /// Counts the wake-ups asked for, so that only the latest counts.
    wake: u64,
}

/// A flow and what became of its packets.
pub struct Traffic {
    pub flow: Flow,
    pub source: NodeId,
    pub destination: NodeId,
    pub rate_bits_per_sec: f64,
    /// It never sends more than this.
    pub most_bits_per_sec: f64,
    /// When its latest packet arrived.
    pub arrived_at: Option<Time>,
    /// Longest time without a packet so far.
    pub longest_gap: Duration,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Arrive {
        server: NodeId,
        port: u8,
        from: Ipv4Addr,
        bytes: Vec<u8>,
    },
    Wake {
        server: NodeId,
        number: u64,
    },
    Carrier {
        server: NodeId,
        port: u8,
        up: bool,
    },
    Packet {
        flow: usize,
    },
    Measure,
}

pub struct Network {
    pub topology: Topology,
    pub shape: Shape,
    pub now: Time,
    pub failures: Failures,
    /// Share of the control messages that are lost.
    pub loss: f64,
    /// Ports at which nothing arrives, though what they send does.
    pub deaf: Vec<(NodeId, u8)>,
    pub traffic: Vec<Traffic>,
    pub log: Vec<(Time, NodeId, Event)>,
    pub settings: Settings,
    present: Option<Vec<NodeId>>,
    gateways: Vec<NodeId>,
    servers: BTreeMap<NodeId, Server>,
    /// By directed link, the share of its rate that is left, as the servers see it.
    seen_left: Vec<f64>,
    queue: BinaryHeap<Reverse<(Time, u64, Happening)>>,
    queued: u64,
    draws: Draws,
    seed: u64,
}

impl Network {
    /// BCube(n, k), all servers started.
    pub fn bcube(n: u32, k: u32, seed: u64) -> Network {
        Network::slice(n, k, seed, None)
    }

    /// BCube(n, k) some of whose servers are gateways.
    pub fn with_gateways(n: u32, k: u32, seed: u64, gateways: &[NodeId]) -> Network {
        let mut network = Network::slice(n, k, seed, Some(Vec::new()));
        network.present = None;
        network.gateways = gateways.to_vec();
        (0..network.shape.servers()).for_each(|server| network.start(server));
        network
    }

    /// The servers `present` of BCube(n, k).
    pub fn slice(n: u32, k: u32, seed: u64, present: Option<Vec<NodeId>>) -> Network {
        let spec = TopologySpec::Bcube(BcubeSpec { n, k, servers: None });
        let topology = Topology::build(&spec).unwrap();
        let shape = Shape::new(&topology).unwrap();
        let failures = Failures::none(&topology);
        let links = topology.link_count();
        let mut network = Network {
            topology,
            shape,
            now: Duration::ZERO,
            failures,
            loss: 0.0,
            deaf: Vec::new(),
            traffic: Vec::new(),
            log: Vec::new(),
            settings: Settings::default(),
            present,
            gateways: Vec::new(),
            servers: BTreeMap::new(),
            seen_left: vec![1.0; 2 * links],
            queue: BinaryHeap::new(),
            queued: 0,
            draws: Draws::new(seed),
            seed,
        };
        let all: Vec<NodeId> = (0..network.shape.servers()).collect();
        for server in network.present.clone().unwrap_or(all) {
            network.start(server);
        }
        network.push(MEASURE, Happening::Measure);
        network
    }

    /// What a server is told before it starts.
    pub fn configuration(&self, server: NodeId) -> Configuration {
        let is_there = |other: &NodeId| {
            self.present
                .as_ref()
                .is_none_or(|present| present.contains(other))
        };
        let port = |level: usize| Port {
            port: level as u8,
            neighbours: (0..self.shape.radix[level])
                .map(|digit| self.shape.with_digit(server, level, digit))
                .filter(|&other| other != server && is_there(&other))
                .map(|other| NeighbourAddress {
                    server: other,
                    nha: Nha::new(level as u32, self.shape.digit(other, level)).unwrap(),
                    ip: port_ip(other, level as u8).unwrap(),
                })
                .collect(),
        };
        Configuration {
            server,
            spec: self.topology.spec().clone(),
            present: self.present.clone(),
            gateways: self.gateways.clone(),
            ports: (0..self.shape.levels).map(port).collect(),
            rate_bits_per_sec: RATE_BITS_PER_SEC,
            settings: self.settings,
            seed: self.seed,
        }
    }

    fn start(&mut self, server: NodeId) {
        let bsr = Bsr::new(&self.configuration(server), self.now).unwrap();
        let started = Server {
            bsr,
            running: true,
            up: vec![false; Nha::VALUES],
            routes: BTreeMap::new(),
            way_out: None,
            flows: BTreeMap::new(),
            wake: 0,
        };
        self.servers.insert(server, started);
        self.carry_out(server);
    }

    fn push(&mut self, after: Duration, happening: Happening) {
        self.queued += 1;
        self.queue
            .push(Reverse((self.now + after, self.queued, happening)));
    }

    // ---------------------------------------------------------------- what a test does

    /// A flow begins now; its number.
    pub fn begin(&mut self, source: NodeId, destination: NodeId, sport: u16) -> usize {
        let (src, dst) = (virtual_ip(source).unwrap(), virtual_ip(destination).unwrap());
        self.begin_flow(
            source,
            destination,
            Flow::new(src, dst, 6, 40_000 + sport, 5201 + sport),
        )
    }

    /// A flow to an external address begins now; its number.
    pub fn begin_outwards(&mut self, source: NodeId, to: Ipv4Addr, sport: u16) -> usize {
        let (gateway, _) = self.servers[&source].way_out.expect("a way out");
        let flow = Flow::new(virtual_ip(source).unwrap(), to, 6, 40_000 + sport, 443);
        self.begin_flow(source, gateway, flow)
    }

    fn begin_flow(&mut self, source: NodeId, destination: NodeId, flow: Flow) -> usize {
        self.traffic.push(Traffic {
            flow,
            source,
            destination,
            rate_bits_per_sec: 0.0,
            most_bits_per_sec: RATE_BITS_PER_SEC,
            arrived_at: None,
            longest_gap: Duration::ZERO,
        });
        let number = self.traffic.len() - 1;
        self.input(source, Input::NewFlow(flow));
        self.push(Duration::ZERO, Happening::Packet { flow: number });
        number
    }

    /// A flow sends one packet and no more.
    pub fn new_flow(&mut self, server: NodeId, flow: Flow) {
        self.input(server, Input::NewFlow(flow));
    }

    /// Lets time pass.
    pub fn run(&mut self, secs: f64) {
        let end = self.now + Duration::from_secs_f64(secs);
        while self.queue.peek().is_some_and(|Reverse((at, _, _))| *at <= end) {
            let Some(Reverse((at, _, happening))) = self.queue.pop() else {
                break;
            };
            self.now = at;
            self.happen(happening);
        }
        self.now = end;
    }

    /// A server loses its power: its ports' carriers are behind switches, so that nobody sees it at once.
    pub fn kill(&mut self, server: NodeId) {
        self.failures.fail_node(server);
        self.servers.get_mut(&server).unwrap().running = false;
    }

    /// A killed server starts anew.
    pub fn revive(&mut self, server: NodeId) {
        self.failures.recover_node(server);
        self.start(server);
    }

    /// A server's cable is pulled: its own port sees it.
    pub fn pull_cable(&mut self, server: NodeId, port: u8) {
        self.failures
            .fail_link(self.shape.ports().link(server, u32::from(port)));
        self.push(
            CARRIER,
            Happening::Carrier {
                server,
                port,
                up: false,
            },
        );
    }

    /// A server's cable is put back.
    pub fn plug_cable(&mut self, server: NodeId, port: u8) {
        self.failures
            .recover_link(self.shape.ports().link(server, u32::from(port)));
        self.push(
            CARRIER,
            Happening::Carrier {
                server,
                port,
                up: true,
            },
        );
    }

    /// A message arrives from anybody.
    pub fn inject(&mut self, server: NodeId, port: u8, from: Ipv4Addr, bytes: &[u8]) {
        self.input(server, Input::Message { port, from, bytes });
    }

    // ---------------------------------------------------------------- what happens

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrive {
                server,
                port,
                from,
                bytes,
            } => {
                self.input(
                    server,
                    Input::Message {
                        port,
                        from,
                        bytes: &bytes,
                    },
                );
            }
            Happening::Wake { server, number } => {
                if self.servers[&server].wake == number {
                    self.input(server, Input::Timeout);
                }
            }
            Happening::Carrier { server, port, up } => self.input(server, Input::Carrier { port, up }),
            Happening::Packet { flow } => {
                self.send_packet(flow);
                self.push(PACKET, Happening::Packet { flow });
            }
            Happening::Measure => {
                self.measure();
                self.push(MEASURE, Happening::Measure);
            }
        }
    }

    fn input(&mut self, server: NodeId, input: Input<'_>) {
        let now = self.now;
        let state = self.servers.get_mut(&server).unwrap();
        if state.running {
            state.bsr.handle(now, input);
            self.carry_out(server);
        }
    }

    fn carry_out(&mut self, server: NodeId) {
        while let Some(output) = self
            .servers
            .get_mut(&server)
            .and_then(|state| state.bsr.poll_output())
        {
            let state = self.servers.get_mut(&server).unwrap();
            match output {
                Output::Send { port, to, bytes } => self.send(server, port, to, bytes),
                Output::SetNeighbour { nha, up } => state.up[nha.index()] = up,
                Output::SetRoute { destination, path } => {
                    state.routes.insert(destination, path);
                }
                Output::SetGateway { gateway, path } => state.way_out = Some((gateway, path)),
                Output::SetFlow {
                    flow,
                    destination,
                    path,
                } => {
                    state.flows.insert(flow, path);
                    let traffic = self.traffic.iter_mut().find(|traffic| traffic.flow == flow);
                    // To outside a flow goes by the gateway that its source chose.
                    traffic
                        .into_iter()
                        .for_each(|traffic| traffic.destination = destination);
                }
                Output::RemoveFlow { flow } => {
                    state.flows.remove(&flow);
                }
                Output::Event(event) => self.log.push((self.now, server, event)),
            }
        }
        let state = self.servers.get_mut(&server).unwrap();
        state.wake += 1;
        let number = state.wake;
        if let Some(at) = state.bsr.next_timeout() {
            self.push(at.saturating_sub(self.now), Happening::Wake { server, number });
        }
    }

    fn send(&mut self, from: NodeId, port: u8, to: Ipv4Addr, bytes: Vec<u8>) {
        let (server, level) = port_of(to).unwrap();
        assert_eq!(level, port, "a neighbour is on the same level");
        let alive = self
            .shape
            .hop_alive(from, server, usize::from(port), &self.failures);
        if alive && !self.deaf.contains(&(server, port)) && self.draws.unit() >= self.loss {
            let from = port_ip(from, port).unwrap();
            self.push(
                HOP,
                Happening::Arrive {
                    server,
                    port,
                    from,
                    bytes,
                },
            );
        }
    }

    fn send_packet(&mut self, number: usize) {
        let Traffic {
            flow,
            source,
            destination,
            ..
        } = self.traffic[number];
        let state = &self.servers[&source];
        if !state.running {
            return;
        }
        let Some(path) = state
            .flows
            .get(&flow)
            .or_else(|| state.routes.get(&destination))
            .copied()
        else {
            return;
        };
        let servers = self.path_of(number);
        assert_eq!(servers.last(), Some(&destination));
        let visited_twice = |(place, server)| servers[..place].contains(server);
        assert!(
            !servers.iter().enumerate().any(visited_twice),
            "a loop: {servers:?}"
        );
        for (pair, &nha) in servers.windows(2).zip(path.route.hops()) {
            if !self
                .servers
                .get(&pair[0])
                .is_some_and(|server| server.up[nha.index()])
            {
                let path_id = path.id;
                let dead = Input::NextHopDead {
                    nha,
                    source,
                    destination,
                    path_id,
                };
                return self.input(pair[0], dead);
            }
            let level = nha.level() as usize;
            if !self.shape.hop_alive(pair[0], pair[1], level, &self.failures) {
                return;
            }
        }
        let traffic = &mut self.traffic[number];
        let gap = self.now - traffic.arrived_at.unwrap_or(self.now);
        traffic.longest_gap = traffic.longest_gap.max(gap);
        traffic.arrived_at = Some(self.now);
    }

    /// Gives every flow its max-min fair rate, and tells the servers what is left of their links.
    fn measure(&mut self) {
        let paths: Vec<Vec<usize>> = (0..self.traffic.len())
            .map(|number| self.links_of(number))
            .collect();
        let links = 2 * self.topology.link_count();
        let mut left = vec![1.0f64; links];
        let mut rates = vec![0.0; paths.len()];
        let mut open: Vec<usize> = (0..paths.len())
            .filter(|&number| self.flows_well(number))
            .collect();
        while !open.is_empty() {
            let mut users = vec![0u32; links];
            open.iter()
                .flat_map(|&number| &paths[number])
                .for_each(|&link| users[link] += 1);
            let share = |link: usize| left[link] / f64::from(users[link]);
            let used = (0..links).filter(|&link| users[link] > 0);
            let tightest = used.min_by(|&a, &b| share(a).total_cmp(&share(b))).unwrap();
            let rate = share(tightest);
            let most = |number: usize| self.traffic[number].most_bits_per_sec / RATE_BITS_PER_SEC;
            // Whoever wants less than the least share has all it wants; else the tightest link is given away.
            let modest = open.iter().any(|&number| most(number) < rate);
            let (ended, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|&&number| {
                if modest {
                    most(number) < rate
                } else {
                    paths[number].contains(&tightest)
                }
            });
            for number in ended {
                rates[number] = rate.min(most(number));
                paths[number].iter().for_each(|&link| left[link] -= rates[number]);
            }
            open = rest;
        }
        for (seen, left) in self.seen_left.iter_mut().zip(&left) {
            *seen = KEPT * *seen + (1.0 - KEPT) * left;
        }
        let running: Vec<NodeId> = self.servers.keys().copied().collect();
        for server in running {
            for port in 0..self.shape.levels {
                let ports = self.shape.ports();
                let (out, back) = (
                    ports.outward(server, port as u32),
                    ports.inward(server, port as u32),
                );
                let available = Input::Available {
                    port: port as u8,
                    out_bits_per_sec: self.seen_left[out as usize] * RATE_BITS_PER_SEC,
                    in_bits_per_sec: self.seen_left[back as usize] * RATE_BITS_PER_SEC,
                };
                self.input(server, available);
            }
        }
        for (number, rate) in rates.into_iter().enumerate() {
            self.traffic[number].rate_bits_per_sec = rate * RATE_BITS_PER_SEC;
            let Traffic {
                flow,
                source,
                rate_bits_per_sec,
                ..
            } = self.traffic[number];
            self.input(
                source,
                Input::FlowRate {
                    flow,
                    bits_per_sec: rate_bits_per_sec,
                },
            );
        }
    }
}
