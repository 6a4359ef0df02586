//! The CPUs of all switches with the fabric manager, for packets that somebody else carries: no time passes between them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use cubeyard_topology::NodeId;

use super::edge::Switch;
use super::manager::Manager;
use super::tables::{Pmac, chosen_way, program};
use super::tree::Tree;
use crate::entries::Mac;

/// What follows from a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Frames that leave: by which switch and port.
    pub frames: Vec<(NodeId, u8, Vec<u8>)>,
    /// Switches whose programs are others now.
    pub changed: BTreeSet<NodeId>,
}

/// A host that an edge switch has met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The port that it is at.
    pub port: u8,
    /// Its own MAC.
    pub mac: Mac,
    /// Its PMAC.
    pub pmac: Pmac,
    /// Its address.
    pub address: Ipv4Addr,
    /// Whether it is forgotten until it says something: packets for it are dropped.
    pub is_silent: bool,
}

/// The CPUs and the fabric manager.
#[derive(Clone, Debug)]
pub struct Control {
    tree: Tree,
    switches: BTreeMap<NodeId, Switch>,
    manager: Manager,
}

impl Default for Control {
    fn default() -> Control {
        Control::new()
    }
}

impl Control {
    /// All of it alive, and no host known to anybody.
    pub fn new() -> Control {
        let tree = Tree::new();
        Control {
            switches: tree.switches().map(|id| (id, Switch::new(id, &tree))).collect(),
            manager: Manager::default(),
            tree,
        }
    }

    /// The tree as the fabric manager knows it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The program of a switch now, as text.
    pub fn program_of(&self, switch: NodeId) -> String {
        let found = self.switches.get(&switch);
        found.map_or_else(String::new, |found| program(&self.tree, switch, found.known()))
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

    /// The edges look at their hosts. `packets` have come in by a port of a switch so far.
    pub fn look(&mut self, packets: &dyn Fn(NodeId, u8) -> u64) -> Effects {
        let mut effects = Effects::default();
        for (&id, switch) in &mut self.switches {
            let (told, probes) = switch.look(|port| packets(id, port));
            if !told.is_empty() {
                effects.changed.insert(id);
            }
            for message in told {
                // Nobody is told anything about who is forgotten.
                self.manager.hear(message, &self.tree);
            }
            let frames = probes.into_iter();
            effects
                .frames
                .extend(frames.map(|(port, frame)| (id, port, frame)));
        }
        effects
    }

    /// A packet that came in by a port of a switch is its CPU's.
    pub fn on_packet(&mut self, switch: NodeId, port: u8, frame: &[u8]) -> Effects {
        let mut effects = Effects::default();
        let Some(met) = self.switches.get_mut(&switch) else {
            return effects;
        };
        let before = met.known().clone();
        let told = met.on_packet(port, frame);
        if met.known() != &before {
            effects.changed.insert(switch);
        }
        for (edge, said) in told
            .into_iter()
            .flat_map(|message| self.manager.hear(message, &self.tree))
            .collect::<Vec<_>>()
        {
            let out = self.switches.get_mut(&edge).map(|edge| edge.on_manager(said));
            let frames = out.unwrap_or_default().into_iter();
            effects
                .frames
                .extend(frames.map(|(port, frame)| (edge, port, frame)));
        }
        effects
    }

    /// The links that carry nothing are these: by the two nodes of each. Gives the switches whose programs are others now.
    pub fn on_failures(&mut self, links: &BTreeSet<(NodeId, NodeId)>) -> BTreeSet<NodeId> {
        let mut tree = Tree::new();
        for &(a, b) in links {
            tree.set_link(a, b, false);
        }
        let mut changed = BTreeSet::new();
        for (&id, switch) in &mut self.switches {
            let known = switch.known();
            if program(&self.tree, id, known) != program(&tree, id, known) {
                switch.learn(&tree);
                changed.insert(id);
            }
        }
        self.tree = tree;
        changed
    }

    /// The nodes that a flow's packets pass between two hosts, both included; none where no way is left.
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
