//! The fat-tree: the node at each port, the failures, and the remaining paths.

use std::collections::{BTreeMap, BTreeSet};

use cubeyard_topology::{NodeId, Topology, TopologySpec};
use serde_json::json;

/// Ports of a switch `[serverswitch §4.1]`.
pub const PORTS: u8 = 4;

/// A fat-tree of switches with four ports: 16 hosts, 20 switches.
#[derive(Clone, Debug)]
pub struct Tree {
    topology: Topology,
    /// The other end of each port.
    ends: BTreeMap<(NodeId, u8), (NodeId, u8)>,
    /// Nodes and links without power; a link by its lower end and its port there.
    dead_nodes: BTreeSet<NodeId>,
    dead_links: BTreeSet<((NodeId, u8), (NodeId, u8))>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}

impl Tree {
    /// All of it alive.
    pub fn new() -> Tree {
        let spec = TopologySpec::from_json(&json!({"family": "fat_tree", "ports": PORTS, "layers": 3}));
        let topology = spec.ok().and_then(|spec| Topology::build(&spec).ok());
        let topology = topology.expect("a fat-tree of four ports and three layers is one");
        let links = topology.links();
        let mut ends = BTreeMap::new();
        for link in 0..links.len() {
            let a = (links.a[link], links.a_port[link] as u8);
            let b = (links.b[link], links.b_port[link] as u8);
            ends.insert(a, b);
            ends.insert(b, a);
        }
        Tree {
            topology,
            ends,
            dead_nodes: BTreeSet::new(),
            dead_links: BTreeSet::new(),
        }
    }

    /// The topology of the tree.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The ids of the hosts.
    pub fn hosts(&self) -> std::ops::Range<NodeId> {
        0..self.topology.server_count()
    }

    /// The switches, layer by layer from the edge.
    pub fn switches(&self) -> std::ops::Range<NodeId> {
        self.topology.server_count()..self.topology.node_count()
    }

    /// 0 for an edge switch, 1 for aggregation, 2 for a core switch.
    pub fn layer(&self, switch: NodeId) -> u8 {
        self.topology.tier_of(switch).map_or(0, |tier| tier.level)
    }

    /// The switches of the edge.
    pub fn edges(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.switches().filter(|&switch| self.layer(switch) == 0)
    }

    /// Pod and position of an edge switch: two of them make a pod.
    pub fn place(&self, edge: NodeId) -> (u16, u8) {
        let number = edge - self.hosts().end;
        ((number / 2) as u16, (number % 2) as u8)
    }

    /// The node and port at the other end of a port, dead or alive.
    pub fn end(&self, node: NodeId, port: u8) -> Option<(NodeId, u8)> {
        self.ends.get(&(node, port)).copied()
    }

    /// The switch of a host and the port there.
    pub fn edge_of(&self, host: NodeId) -> (NodeId, u8) {
        self.ends[&(host, 0)]
    }

    /// Whether a packet passes from this port to its other end.
    pub fn passes(&self, node: NodeId, port: u8) -> bool {
        self.end(node, port).is_some_and(|end| {
            let link = link((node, port), end);
            !self.dead_links.contains(&link)
                && !self.dead_nodes.contains(&node)
                && !self.dead_nodes.contains(&end.0)
        })
    }

    /// Takes a node's power away or gives it back.
    pub fn set_node(&mut self, node: NodeId, alive: bool) {
        if alive {
            self.dead_nodes.remove(&node);
        } else {
            self.dead_nodes.insert(node);
        }
    }

    /// Cuts or restores the link of two nodes; returns whether they have one.
    pub fn set_link(&mut self, a: NodeId, b: NodeId, alive: bool) -> bool {
        let port = (0..PORTS).find(|&port| self.end(a, port).is_some_and(|end| end.0 == b));
        let Some(port) = port else {
            return false;
        };
        let near = (a, port);
        let link = link(near, self.ends[&near]);
        if alive {
            self.dead_links.remove(&link);
        } else {
            self.dead_links.insert(link);
        }
        true
    }

    /// The ports by which a switch can send towards an edge switch: down if it is below, otherwise
    /// up to switches that have a path. A packet goes up and then down, so it never visits a switch
    /// twice.
    pub fn ways(&self, from: NodeId, edge: NodeId) -> Vec<u8> {
        if from == edge {
            return Vec::new();
        }
        let layer = self.layer(from);
        let leads = |port: u8, down: bool| {
            self.passes(from, port)
                && self.end(from, port).is_some_and(|(next, _)| {
                    let is_switch = !self.topology.is_server(next);
                    is_switch && (self.layer(next) < layer) == down && self.arrives(next, edge, down)
                })
        };
        let below: Vec<u8> = (0..PORTS).filter(|&port| leads(port, true)).collect();
        // Above an edge switch's own pod, down is the only way, dead or not: going up again would
        // come back.
        if !below.is_empty() || self.is_above(from, edge) {
            return below;
        }
        (0..PORTS).filter(|&port| leads(port, false)).collect()
    }

    fn arrives(&self, at: NodeId, edge: NodeId, downwards: bool) -> bool {
        at == edge || (!downwards || self.is_above(at, edge)) && !self.ways(at, edge).is_empty()
    }

    /// Whether the edge switch is below this one when all is alive.
    fn is_above(&self, switch: NodeId, edge: NodeId) -> bool {
        (0..PORTS).any(|port| {
            self.end(switch, port).is_some_and(|(next, _)| {
                !self.topology.is_server(next)
                    && self.layer(next) < self.layer(switch)
                    && (next == edge || self.is_above(next, edge))
            })
        })
    }
}

fn link(a: (NodeId, u8), b: (NodeId, u8)) -> ((NodeId, u8), (NodeId, u8)) {
    (a.min(b), a.max(b))
}
