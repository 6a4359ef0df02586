//! The CPUs of all switches with the fabric manager, for callers that carry the packets. Messages
//! between them have no delay, unless the channel is set otherwise; lost messages are repeated at
//! the next poll.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use super::channel::{Arrived, Channel};
use super::edge::{Switch, ToEdge};
use super::manager::Manager;
use super::tables::{Pmac, chosen_way};
use super::tree::Tree;
use crate::entries::Mac;

/// The effects of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Frames that leave: by which switch and port.
    pub frames: Vec<(NodeId, u8, Vec<u8>)>,
    /// Switches whose programs are others now.
    pub changed: BTreeSet<NodeId>,
    /// Hosts that have fallen silent or are there again.
    pub news: Vec<News>,
}

/// A host that its edge has forgotten because it is silent, or has detected again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// The edge switch of the host.
    pub edge: NodeId,
    /// The host's id.
    pub host: NodeId,
    /// Whether it is forgotten.
    pub is_silent: bool,
}

/// Time from one look at hosts to the next.
pub const LOOK_MICROS: u64 = 1_000_000;

/// A host that an edge switch has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The port that it is at.
    pub port: u8,
    /// The host's own MAC.
    pub mac: Mac,
    /// The host's PMAC.
    pub pmac: Pmac,
    /// The host's IP address.
    pub address: Ipv4Addr,
    /// Whether it is forgotten until it sends something: packets for it are dropped.
    pub is_silent: bool,
}

/// The CPUs and the fabric manager.
#[derive(Clone, Debug)]
pub struct Control {
    tree: Tree,
    switches: BTreeMap<NodeId, Switch>,
    manager: Manager,
    channel: Channel,
    /// The states of the tree that the manager has sent, by number; switches may still have to
    /// receive them.
    trees: BTreeMap<u64, Tree>,
    told: u64,
    now_micros: u64,
    /// The effects of messages that no caller has received yet.
    pending: Effects,
}

impl Default for Control {
    fn default() -> Control {
        Control::new()
    }
}

impl Control {
    /// A network without failures and without known hosts.
    pub fn new() -> Control {
        let tree = Tree::new();
        Control {
            switches: tree.switches().map(|id| (id, Switch::new(id, &tree))).collect(),
            manager: Manager::default(),
            channel: Channel::new(0),
            trees: BTreeMap::new(),
            told: 0,
            now_micros: 0,
            pending: Effects::default(),
            tree,
        }
    }

    /// The network between the CPUs and the fabric manager.
    pub fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// The PMAC that the fabric manager has for an address.
    pub fn pmac(&self, address: Ipv4Addr) -> Option<Pmac> {
        self.manager.pmac(address)
    }

    /// Delivers the messages that have arrived, and collects their effects.
    fn deliver(&mut self) {
        while let Some(arrived) = self.channel.next_arrival(self.now_micros) {
            match arrived {
                Arrived::AtManager(_, message) => {
                    for (edge, said) in self.manager.hear(message, &self.tree) {
                        self.channel.tell(edge, said, self.now_micros);
                    }
                }
                Arrived::AtEdge(edge, message) => self.on_manager(edge, message),
            }
        }
    }

    fn on_manager(&mut self, edge: NodeId, message: ToEdge) {
        let Some(switch) = self.switches.get_mut(&edge) else {
            return;
        };
        if let ToEdge::Learn(number) = message
            && let Some(tree) = self.trees.get(&number)
            && switch.learn(tree)
        {
            self.pending.changed.insert(edge);
        }
        let frames = switch.on_manager(message).into_iter();
        self.pending
            .frames
            .extend(frames.map(|(port, frame)| (edge, port, frame)));
    }

    /// Delivers messages and returns the effects.
    fn settle(&mut self) -> Effects {
        self.deliver();
        std::mem::take(&mut self.pending)
    }

    /// The tree as the fabric manager sees it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The program of a switch now, as text.
    pub fn program_of(&self, switch: NodeId) -> String {
        self.switches
            .get(&switch)
            .map_or_else(String::new, Switch::program)
    }

    /// The hosts that a switch has met.
    pub fn hosts_of(&self, switch: NodeId) -> Vec<Met> {
        let found = self.switches.get(&switch);
        let met = |found: &Switch| {
            let watched = found.watched().iter();
            watched
                .map(|(&port, watched)| Met {
                    port,
                    mac: watched.host.mac,
                    pmac: watched.host.pmac,
                    address: watched.address,
                    is_silent: !found.known().contains_key(&port),
                })
                .collect()
        };
        found.map_or_else(Vec::new, met)
    }

    /// The edges look at their hosts, [`LOOK_MICROS`] after the last time. `packets` have come in
    /// by a port of a switch so far.
    pub fn look(&mut self, packets: &dyn Fn(NodeId, u8) -> u64) -> Effects {
        self.now_micros += LOOK_MICROS;
        for (&id, switch) in &mut self.switches {
            let before = silent_ports(switch);
            let (told, probes) = switch.look(|port| packets(id, port));
            for port in silent_ports(switch).difference(&before) {
                self.pending.news.extend(news(&self.tree, id, *port, true));
                self.pending.changed.insert(id);
            }
            for message in told {
                self.channel.say(id, message, self.now_micros);
            }
            let frames = probes.into_iter();
            self.pending
                .frames
                .extend(frames.map(|(port, frame)| (id, port, frame)));
        }
        self.settle()
    }

    /// A packet that came in by a port of a switch is its CPU's.
    pub fn on_packet(&mut self, switch: NodeId, port: u8, frame: &[u8]) -> Effects {
        let Some(met) = self.switches.get_mut(&switch) else {
            return Effects::default();
        };
        let (known, silent) = (met.known().clone(), silent_ports(met));
        let told = met.on_packet(port, frame);
        if met.known() != &known {
            self.pending.changed.insert(switch);
        }
        for port in silent.difference(&silent_ports(met)) {
            self.pending.news.extend(news(&self.tree, switch, *port, false));
        }
        for message in told {
            self.channel.say(switch, message, self.now_micros);
        }
        self.settle()
    }

    /// Sets the dead links, by the two nodes of each. Returns the resulting changes of programs,
    /// once switches receive them.
    pub fn on_failures(&mut self, links: &BTreeSet<(NodeId, NodeId)>) -> Effects {
        let mut tree = Tree::new();
        for &(a, b) in links {
            tree.set_link(a, b, false);
        }
        self.told += 1;
        self.trees.insert(self.told, tree.clone());
        self.tree = tree;
        for &id in self.switches.keys() {
            self.channel.tell(id, ToEdge::Learn(self.told), self.now_micros);
        }
        let effects = self.settle();
        if self.channel.next_at().is_none() {
            // Nobody has still to learn an older one.
            self.trees.clear();
        }
        effects
    }

    /// The nodes that a flow's packets pass between two hosts, both included; none where no way is
    /// left.
    pub fn path(&self, [from, to]: [NodeId; 2], source_port: u16) -> Vec<NodeId> {
        let tree = &self.tree;
        let (mut at, (edge, port)) = (tree.edge_of(from).0, tree.edge_of(to));
        let mut nodes = vec![from, at];
        if !tree.passes(from, 0) || !tree.passes(edge, port) {
            return Vec::new();
        }
        while at != edge {
            let Some(next) = chosen_way(tree, at, edge, source_port).and_then(|out| tree.end(at, out)) else {
                return Vec::new();
            };
            at = next.0;
            nodes.push(at);
        }
        nodes.push(to);
        nodes
    }
}

/// Ports whose hosts are forgotten.
fn silent_ports(switch: &Switch) -> BTreeSet<u8> {
    let met = switch.watched().keys();
    met.copied()
        .filter(|port| !switch.known().contains_key(port))
        .collect()
}

fn news(tree: &Tree, edge: NodeId, port: u8, is_silent: bool) -> Option<News> {
    let (host, _) = tree.end(edge, port)?;
    Some(News {
        edge,
        host,
        is_silent,
    })
}
