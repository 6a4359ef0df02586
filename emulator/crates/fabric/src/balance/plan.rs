//! The nodes that take part in balancing by load: racks, ToRs and loops, and the order of links in
//! messages.

use cubeyard_routing::subways::Racks;
use cubeyard_topology::{NodeId, Topology};

/// The part of a topology that controllers use.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Racks and ToRs.
    pub racks: Racks,
    /// By ToR: the links to servers, by their ids in the topology.
    pub server_links: Vec<Vec<usize>>,
    /// By ToR: the ids of its uplinks.
    pub uplinks: Vec<Vec<usize>>,
    /// By rack: the links of its servers, one server after the other.
    pub rack_links: Vec<Vec<usize>>,
    /// By link of a server: the link's rack, and its position among that rack's links.
    places: Vec<Option<(usize, usize)>>,
    /// By link: the server at its lower end, and the number of the ToR at its upper end.
    ends: Vec<(NodeId, usize)>,
    servers: NodeId,
    /// By loop: the switches that forward the reports of its ToRs.
    relays: Vec<Vec<NodeId>>,
}

impl Plan {
    /// `None` for a topology whose servers have one ToR, or none.
    pub fn of(topology: &Topology) -> Option<Plan> {
        let racks = Racks::of(topology).filter(|racks| racks.ring.ports > 1)?;
        let links = topology.links();
        let servers = topology.server_count();
        let tors = racks.tor_node(0)..racks.tor_node(racks.count);
        let mut server_links = vec![Vec::new(); racks.count];
        let mut uplinks = vec![Vec::new(); racks.count];
        let mut rack_links = vec![Vec::new(); racks.count];
        let mut ends = vec![(0, 0); links.len()];
        for (link, ends) in ends.iter_mut().enumerate() {
            let (below, above) = (links.a[link], links.b[link]);
            if below < servers && tors.contains(&above) {
                server_links[racks.tor_of(above)].push(link);
                rack_links[racks.rack_of(below)].push(link);
                *ends = (below, racks.tor_of(above));
            } else if tors.contains(&below) {
                uplinks[racks.tor_of(below)].push(link);
            }
        }
        let mut places = vec![None; links.len()];
        for (rack, own) in rack_links.iter_mut().enumerate() {
            own.sort_by_key(|&link| (links.a[link], link));
            for (at, &link) in own.iter().enumerate() {
                places[link] = Some((rack, at));
            }
        }
        let above = |tor: usize| {
            uplinks[tor]
                .iter()
                .map(|&link| links.b[link])
                .collect::<Vec<NodeId>>()
        };
        let relays = (0..racks.loops()).map(|number| {
            let tors = number * racks.ring.size..(number + 1) * racks.ring.size;
            let mut relays: Vec<NodeId> = tors.clone().flat_map(above).collect();
            relays.sort_unstable();
            relays.dedup();
            let meets_all = |relay: &NodeId| tors.clone().all(|tor| above(tor).contains(relay));
            // ToRs of several clusters meet at core switches only.
            if !relays.iter().any(meets_all) {
                let beyond = (0..links.len()).filter(|&link| relays.contains(&links.a[link]));
                let beyond: Vec<NodeId> = beyond.map(|link| links.b[link]).collect();
                relays.extend(beyond);
            }
            relays
        });
        let relays = relays.collect();
        Some(Plan {
            racks,
            server_links,
            uplinks,
            rack_links,
            places,
            ends,
            servers,
            relays,
        })
    }

    /// The rack of a server's link, and the link's position there; `None` for other links.
    pub fn place(&self, link: usize) -> Option<(usize, usize)> {
        self.places[link]
    }

    /// The server and the ToR, by number, of a server's link.
    pub fn ends(&self, link: usize) -> (NodeId, usize) {
        self.ends[link]
    }

    /// The number of a ToR; `None` for other nodes.
    pub fn tor(&self, node: NodeId) -> Option<usize> {
        let tors = self.racks.tor_node(0)..self.racks.tor_node(self.racks.count);
        tors.contains(&node).then(|| self.racks.tor_of(node))
    }

    /// The rack of a server; `None` for switches.
    pub fn rack(&self, node: NodeId) -> Option<usize> {
        (node < self.servers).then(|| self.racks.rack_of(node))
    }

    /// Number of servers in the topology.
    pub fn servers(&self) -> NodeId {
        self.servers
    }

    /// The loop of a rack or ToR, both by number.
    pub fn loop_of(&self, at: usize) -> usize {
        at / self.racks.ring.size
    }

    /// The racks, and ToRs, of a loop.
    pub fn members(&self, number: usize) -> std::ops::Range<usize> {
        number * self.racks.ring.size..(number + 1) * self.racks.ring.size
    }

    /// Whether a node receives the reports of a loop's ToRs: the loop's own ToRs, and the switches
    /// between them.
    pub fn hears_reports(&self, number: usize, node: NodeId) -> bool {
        self.tor(node).is_some_and(|tor| self.loop_of(tor) == number) || self.relays[number].contains(&node)
    }

    /// Whether a node receives the weights of a rack: every switch, and the rack's servers.
    pub fn hears_weights(&self, rack: usize, node: NodeId) -> bool {
        self.rack(node).is_none_or(|own| own == rack)
    }
}
