//! Who is at the other end of a server's port: the servers at the same switch, or the one at the
//! cable's end.

use std::collections::BTreeMap;

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::configuration::NeighbourAddress;
use cubeyard_routing::Failures;
use cubeyard_topology::{NodeId, Topology};

/// A port of a server.
pub type PortOf = (NodeId, u8);

/// The ports of all servers and what they are cabled to.
#[derive(Debug)]
pub struct Wiring {
    /// By port: its link, and whether the server is the link's end a.
    links: BTreeMap<PortOf, (usize, bool)>,
    /// By port: the ports that it reaches without passing a server.
    segments: BTreeMap<PortOf, Vec<PortOf>>,
}

impl Wiring {
    /// The wiring of a topology. Links between switches are not followed: their servers need no
    /// protocol.
    pub fn new(topology: &Topology) -> Wiring {
        let columns = topology.links();
        let mut links = BTreeMap::new();
        let mut at_switch: BTreeMap<NodeId, Vec<PortOf>> = BTreeMap::new();
        let mut segments: BTreeMap<PortOf, Vec<PortOf>> = BTreeMap::new();
        for link in 0..columns.len() {
            let a = (columns.a[link], columns.a_port[link] as u8);
            let b = (columns.b[link], columns.b_port[link] as u8);
            for (near, far, is_a) in [(a, b, true), (b, a, false)] {
                if !topology.is_server(near.0) {
                    continue;
                }
                links.insert(near, (link, is_a));
                if topology.is_server(far.0) {
                    segments.insert(near, vec![far]);
                } else {
                    at_switch.entry(far.0).or_default().push(near);
                }
            }
        }
        for ports in at_switch.into_values() {
            for &port in &ports {
                let others = ports.iter().copied().filter(|&other| other != port);
                segments.insert(port, others.collect());
            }
        }
        Wiring { links, segments }
    }

    /// The cabled ports of a server, ascending.
    pub fn ports(&self, server: NodeId) -> Vec<u8> {
        let ports = self.links.range((server, 0)..=(server, u8::MAX));
        ports.map(|(&(_, port), _)| port).collect()
    }

    /// The link of a port; `None` for a port without a cable.
    pub fn link(&self, port: PortOf) -> Option<usize> {
        self.links.get(&port).map(|(link, _)| *link)
    }

    /// The neighbours behind a port.
    pub fn neighbours(&self, port: PortOf) -> Vec<NeighbourAddress> {
        let reached = self.segments.get(&port).into_iter().flatten();
        let address = |&(server, port): &PortOf| {
            let ip = port_ip(server, port)?;
            Some(NeighbourAddress { server, port, ip })
        };
        reached.filter_map(address).collect()
    }

    /// Whether a port reaches another.
    pub fn joins(&self, from: PortOf, to: PortOf) -> bool {
        self.segments.get(&from).is_some_and(|ports| ports.contains(&to))
    }

    /// Whether everything between two ports that are joined works, and the second one's server.
    pub fn carries(&self, topology: &Topology, failures: &Failures, from: PortOf, to: PortOf) -> bool {
        let works = |port: PortOf| {
            let link = self.link(port);
            link.is_some_and(|link| !failures.link_failed(link as u32))
        };
        let switch = self.link(from).map(|link| topology.links().b[link]);
        let switch_works = switch.is_none_or(|switch| !failures.node_failed(switch));
        self.joins(from, to) && works(from) && works(to) && switch_works && !failures.node_failed(to.0)
    }

    /// The directed link out of a port, `2 * link` from the link's end a, `2 * link + 1` from its
    /// end b.
    pub fn outward(&self, port: PortOf) -> Option<usize> {
        let (link, is_a) = self.links.get(&port)?;
        Some(2 * link + usize::from(!is_a))
    }

    /// The directed link into a port.
    pub fn inward(&self, port: PortOf) -> Option<usize> {
        let (link, is_a) = self.links.get(&port)?;
        Some(2 * link + usize::from(*is_a))
    }

    /// The directed links of a hop between two ports: one where a cable joins them, two through a
    /// switch.
    pub fn hop_links(&self, from: PortOf, to: PortOf) -> impl Iterator<Item = usize> {
        let out = self.outward(from);
        let in_ = self.inward(to).filter(|link| Some(*link) != out);
        out.into_iter().chain(in_)
    }
}
