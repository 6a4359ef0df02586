//! The whole network with its fabric manager, event by event in virtual time. The same calls give
//! the same events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use cubeyard_topology::NodeId;

use super::channel::{Arrived, Channel};
use super::edge::{Switch, ToEdge};
use super::host::{Delivered, Host, ip_of};
use super::manager::Manager;
use super::tables::Pmac;
use super::tree::Tree;
use crate::flaw::Flaw;
use crate::frame::Frame;
use crate::profile::EXTERNAL_PORTS;
use crate::registers::Register;

/// A packet's time from one node to the next.
const HOP_MICROS: u64 = 10;
/// A message's time between a CPU and the fabric manager.
const CONTROL_MICROS: u64 = 100;
/// Time after which neighbours have found that a link or switch has failed, or is back. `[ours]`
pub const DETECTION_MICROS: u64 = 50_000;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame reaches a port of a node, after this number of switches.
    Frame(NodeId, u8, Vec<u8>, u32),
    /// The fabric manager reads the state of the tree again.
    Detected,
    /// The manager sends a switch its state of the tree at this moment, by its number.
    Tells(NodeId, u64),
}

/// One switch that a frame has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub at_micros: u64,
    pub switch: NodeId,
    pub in_port: u8,
    pub frame: Vec<u8>,
}

/// The simulated network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The true state of the tree.
    tree: Tree,
    switches: BTreeMap<NodeId, Switch>,
    hosts: Vec<Host>,
    manager: Manager,
    channel: Channel,
    /// The states of the tree that the fabric manager has sent.
    trees: BTreeMap<u64, Tree>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    now_micros: u64,
    latest: u64,
    delivered: Vec<Delivered>,
    /// Hosts that neither answer nor send, though their links are whole.
    silent: BTreeSet<NodeId>,
    pub(super) passed: Option<Vec<Passed>>,
    most_switches: u32,
}

impl Default for Network {
    fn default() -> Network {
        Network::new()
    }
}

impl Network {
    /// A network without failures and without known hosts.
    pub fn new() -> Network {
        let tree = Tree::new();
        Network {
            switches: tree.switches().map(|id| (id, Switch::new(id, &tree))).collect(),
            hosts: tree.hosts().map(Host::new).collect(),
            tree,
            manager: Manager::default(),
            channel: Channel::new(CONTROL_MICROS),
            trees: BTreeMap::new(),
            events: BinaryHeap::new(),
            now_micros: 0,
            latest: 0,
            delivered: Vec::new(),
            silent: BTreeSet::new(),
            passed: None,
            most_switches: 0,
        }
    }

    /// The true state of the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The program of a switch's chip, as text.
    pub fn program_of(&self, switch: NodeId) -> String {
        let found = self.switches.get(&switch);
        found.map_or(String::new(), |switch| {
            crate::text::print(switch.chip.chip().program())
        })
    }

    /// The chip of a switch, for a trace.
    pub(super) fn chip_of(&self, switch: NodeId) -> Option<crate::Chip> {
        self.switches
            .get(&switch)
            .map(|switch| switch.chip.chip().clone())
    }

    /// The PMAC that the fabric manager has for a host.
    pub fn pmac_of(&self, host: NodeId) -> Option<Pmac> {
        self.manager.pmac(ip_of(host))
    }

    /// The network between the switches' CPUs and the fabric manager.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Microseconds since the beginning.
    pub fn now_micros(&self) -> u64 {
        self.now_micros
    }

    /// The most switches that one packet has passed.
    pub fn most_switches(&self) -> u32 {
        self.most_switches
    }

    /// A host sends a UDP packet from a port; if it does not have the destination's MAC, it sends
    /// an ARP request first.
    pub fn send(&mut self, from: NodeId, to: NodeId, source_port: u16, payload: &[u8]) {
        let frames = self.hosts[from as usize].send(ip_of(to), source_port, payload);
        self.leave_host(from, frames);
    }

    /// Hosts forget the MACs of others.
    pub fn forget(&mut self) {
        self.hosts.iter_mut().for_each(Host::forget);
    }

    /// A node loses its power or has it again.
    pub fn set_node(&mut self, node: NodeId, alive: bool) {
        self.tree.set_node(node, alive);
        self.at(DETECTION_MICROS, Event::Detected);
    }

    /// A host falls silent behind a whole link, or speaks again.
    pub fn set_silent(&mut self, host: NodeId, is_silent: bool) {
        if is_silent {
            self.silent.insert(host);
        } else {
            self.silent.remove(&host);
        }
    }

    /// The edges look at their hosts once.
    pub fn look(&mut self) {
        let ids: Vec<NodeId> = self.switches.keys().copied().collect();
        for id in ids {
            let Some(switch) = self.switches.get_mut(&id) else {
                continue;
            };
            let counted: Vec<u64> = (0..EXTERNAL_PORTS)
                .map(|port| switch.chip.chip().read_register(Register::InPackets(port)))
                .collect();
            let (told, probes) = switch.look(|port| counted.get(usize::from(port)).copied().unwrap_or(0));
            for message in told {
                self.channel.say(id, message, self.now_micros);
            }
            for (port, frame) in probes {
                self.leave(id, port, frame, 0);
            }
        }
    }

    /// Cuts or restores a link. Errors: these two nodes have none.
    pub fn set_link(&mut self, a: NodeId, b: NodeId, alive: bool) -> Result<(), Flaw> {
        if !self.tree.set_link(a, b, alive) {
            let name = |node| self.tree.topology().node_name(node);
            let fix = "Name a host and its edge switch, or two switches of layers one above the other.";
            let given = format!("{} and {}", name(a), name(b));
            return Err(Flaw::new("no-link", "link", given, "two nodes with a cable", fix));
        }
        self.at(DETECTION_MICROS, Event::Detected);
        Ok(())
    }

    /// Runs until no event is left. Returns the packets that hosts received since the last call, in
    /// order.
    pub fn run(&mut self) -> Vec<Delivered> {
        self.run_until(u64::MAX)
    }

    /// Runs until a moment. Returns what hosts have got since the last call, in order.
    pub fn run_until(&mut self, micros: u64) -> Vec<Delivered> {
        loop {
            let event = self.events.peek().map(|Reverse((at, ..))| *at);
            let Some(next) = event.into_iter().chain(self.channel.next_at()).min() else {
                break;
            };
            if next > micros {
                break;
            }
            self.now_micros = self.now_micros.max(next);
            if event == Some(next) {
                if let Some(Reverse((.., event))) = self.events.pop() {
                    self.handle(event);
                }
            } else if let Some(arrived) = self.channel.next_arrival(self.now_micros) {
                self.hear(arrived);
            }
        }
        if micros != u64::MAX {
            self.now_micros = micros;
        }
        std::mem::take(&mut self.delivered)
    }

    fn at(&mut self, after_micros: u64, event: Event) {
        self.latest += 1;
        self.events
            .push(Reverse((self.now_micros + after_micros, self.latest, event)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Frame(node, port, frame, switches) => self.on_frame(node, port, &frame, switches),
            Event::Detected => {
                let number = self.latest;
                self.trees.insert(number, self.tree.clone());
                // One after the other: for a while some go by the old tree and some by the new.
                for (turn, switch) in (0..).zip(self.tree.switches()) {
                    self.at(CONTROL_MICROS * turn, Event::Tells(switch, number));
                }
            }
            Event::Tells(switch, number) => {
                self.channel.tell(switch, ToEdge::Learn(number), self.now_micros);
            }
        }
    }

    /// Handles a message that has reached the fabric manager or a switch.
    fn hear(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::AtManager(_, message) => {
                for (edge, said) in self.manager.hear(message, &self.tree) {
                    self.channel.tell(edge, said, self.now_micros);
                }
            }
            Arrived::AtEdge(edge, message) => {
                let Some(switch) = self.switches.get_mut(&edge) else {
                    return;
                };
                if let ToEdge::Learn(number) = message
                    && let Some(tree) = self.trees.get(&number)
                {
                    switch.learn(tree);
                }
                for (port, frame) in switch.on_manager(message) {
                    self.leave(edge, port, frame, 0);
                }
            }
        }
    }

    fn leave_host(&mut self, host: NodeId, frames: Vec<Vec<u8>>) {
        if self.silent.contains(&host) {
            return;
        }
        for frame in frames {
            self.leave(host, 0, frame, 0);
        }
    }

    fn leave(&mut self, node: NodeId, port: u8, frame: Vec<u8>, switches: u32) {
        if self.tree.passes(node, port)
            && let Some((next, in_port)) = self.tree.end(node, port)
        {
            self.at(HOP_MICROS, Event::Frame(next, in_port, frame, switches));
        }
    }

    fn on_frame(&mut self, node: NodeId, port: u8, bytes: &[u8], switches: u32) {
        let Some(switch) = self.switches.get_mut(&node) else {
            if self.silent.contains(&node) {
                return;
            }
            let (frames, delivered) = self.hosts[node as usize].receive(bytes);
            self.delivered.extend(delivered);
            return self.leave_host(node, frames);
        };
        let switches = switches + 1;
        self.most_switches = self.most_switches.max(switches);
        if let Some(passed) = &mut self.passed {
            passed.push(Passed {
                at_micros: self.now_micros,
                switch: node,
                in_port: port,
                frame: bytes.to_vec(),
            });
        }
        let mut out = Vec::new();
        if let Ok(mut frame) = Frame::new(bytes) {
            // A frame that the chip discards is lost, and counted by the chip.
            let _ = switch.chip.receive(port, &mut frame, &mut |port, bytes| {
                out.push((port, bytes.to_vec()));
            });
        }
        let told = switch.work();
        for message in told {
            self.channel.say(node, message, self.now_micros);
        }
        for (port, frame) in out {
            self.leave(node, port, frame, switches);
        }
    }
}
