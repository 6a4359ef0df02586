//! Routing tables of switches and servers in networks whose servers do not relay.
//!
//! [`Tables::new`] is a pure function of topology and failures. It gives each node routes to
//! servers, each with a group of weighted next hops. Packets go up until a switch has the
//! destination below it, then down; packets use the upward links from which the downward path
//! starts soonest. So no packet loops, and once all failures have recovered the tables equal the
//! original ones. Where switches have no tiers (Jellyfish, Dragonfly, custom), next hops are those
//! on shortest paths (`shortest`).
//!
//! A server prefers ToRs that it shares with the destination. Otherwise it uses all its live links
//! that lead there, and the downward paths to the destination's links are weighted like those
//! links, so that the links of both ends are chosen independently. `[subways §4.2, §4.3]` If a
//! server's ToRs are in several clusters, switches above ToRs also route by the link on which a
//! packet arrived (`crossing`).
//!
//! Servers with links to several ToRs may have an address for each port, by which MPTCP chooses
//! both ends' ToRs (`by_port`). `[subways §5.1]`
//!
//! With detours, servers of hot racks also have next hops through relays, and all nodes have the
//! routes for the rest of the detour (`detoured`). `[subways §6]`
//!
//! Not here: how tables get into a kernel (`cubeyard-fabric`), and how a switch chooses within a
//! group.

use cubeyard_topology::{NodeId, Topology, TopologySpec};

use crate::failures::Failures;
use crate::path::{DirectedLink, a_to_b, b_to_a};
use crate::subways::{LinkWeights, RackDetours};
use crossing::Clusters;
use detoured::Detours;
use maker::{Maker, reduced};
use shortest::Nearest;

mod by_port;
mod crossing;
mod detoured;
mod maker;
mod shortest;

pub use detoured::{Arrival, MAX_RELAYS, Relay, Relays, Segment};

/// Greatest weight of a next hop, that of Linux's next-hop groups.
pub const MAX_WEIGHT: u32 = 256;
/// No way to the destination.
const NONE: u16 = u16::MAX;

/// How flows are spread over the links of servers and the ways up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each as likely: equal-cost multipath.
    #[default]
    Equal,
    /// In proportion to rates: weighted-cost multipath. `[subways §4.3]`
    ByRate,
    /// By weights that controllers adjust to the load; initially all equal. `[subways §5.2]`
    ByLoad,
    /// The same, and hot racks' traffic leaves by other racks' ToRs too, relayed by servers.
    /// `[subways §6]`
    ByDetour,
}

impl Balance {
    /// All, the default first.
    pub const ALL: [Balance; 4] = [
        Balance::Equal,
        Balance::ByRate,
        Balance::ByLoad,
        Balance::ByDetour,
    ];

    /// Its name on every wire.
    pub fn name(self) -> &'static str {
        match self {
            Balance::Equal => "ecmp",
            Balance::ByRate => "wcmp",
            Balance::ByLoad => "lb",
            Balance::ByDetour => "detour",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Balance::Equal => "Equal (ECMP)",
            Balance::ByRate => "By link rate (WCMP)",
            Balance::ByLoad => "By load (controllers)",
            Balance::ByDetour => "By load, with detours around hot racks",
        }
    }

    /// Whether controllers set weights.
    pub fn follows_load(self) -> bool {
        matches!(self, Balance::ByLoad | Balance::ByDetour)
    }

    /// Whether a topology's switches support this balance: `ByLoad` needs servers with links to
    /// several ToRs, `ByDetour` needs loops with more ToRs than a single rack's.
    pub fn suits(self, topology: &TopologySpec) -> bool {
        match (self, topology) {
            (Balance::Equal | Balance::ByRate, _) => true,
            (Balance::ByLoad, TopologySpec::Subways(spec)) => spec.wiring_type != 0 && spec.p > 1,
            (Balance::ByDetour, TopologySpec::Subways(spec)) => {
                Balance::ByLoad.suits(topology) && spec.l > spec.p
            }
            (Balance::ByLoad | Balance::ByDetour, _) => false,
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Balance> {
        Balance::ALL.into_iter().find(|balance| balance.name() == name)
    }
}

/// A next hop of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The direction of the link that it takes.
    pub directed: DirectedLink,
    /// The node that it leads to.
    pub far: NodeId,
    /// Probability relative to the other members of its group: 1 to [`MAX_WEIGHT`].
    pub weight: u32,
    /// The relays that the packets still have to pass before they are routed like others; none on
    /// the direct path.
    pub relays: Relays,
    /// Where the packets arrive after the relays, for a detour towards a rack.
    pub arrival: Option<Arrival>,
}

impl Hop {
    /// A next hop without relays.
    pub fn straight(directed: DirectedLink, far: NodeId, weight: u32) -> Hop {
        Hop {
            directed,
            far,
            weight,
            relays: Relays::default(),
            arrival: None,
        }
    }
}

/// The destinations of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prefix {
    /// The route serves one server.
    Server(NodeId),
    /// The address of a server's port.
    Port(NodeId, u8),
    /// All packets that the server itself sends from the address of this port.
    From(u8),
    /// All servers without a more specific route.
    Any,
}

/// The routes of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeTable {
    /// Next hops, in the order of links. Routes share groups.
    pub groups: Vec<Vec<Hop>>,
    /// Prefixes in ascending order, each with the index of its group.
    pub routes: Vec<(Prefix, usize)>,
    /// Routes for the later parts of detours; empty without detours.
    pub segments: Vec<Segment>,
    /// Routes that come first for what enters by certain links.
    pub entering: Vec<Entering>,
}

/// Routes for what enters a switch by certain links. Each link is in one of them at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entering {
    /// The switch itself, for all packets that arrive from below, or the switch that represents the
    /// cluster from which the packets arrive.
    pub class: NodeId,
    /// Ids of the links, in ascending order.
    pub links: Vec<u32>,
    /// Servers in ascending order, each with the index of its group.
    pub routes: Vec<(NodeId, usize)>,
}

impl NodeTable {
    /// The next hops to a server; none where it cannot be reached.
    pub fn hops(&self, destination: NodeId) -> &[Hop] {
        self.hops_for(Prefix::Server(destination))
    }

    /// The next hops for a prefix; without a specific route, those of [`Prefix::Any`].
    pub fn hops_for(&self, wanted: Prefix) -> &[Hop] {
        let own = self.routes.binary_search_by_key(&wanted, |(prefix, _)| *prefix);
        let any = self.routes.last().filter(|(prefix, _)| *prefix == Prefix::Any);
        let group = match (own, any) {
            (Ok(at), _) => self.routes[at].1,
            (Err(_), Some((_, group))) => *group,
            (Err(_), None) => return &[],
        };
        &self.groups[group]
    }

    /// The same for packets that entered by a link; `None` for packets that the node sends itself.
    pub fn hops_entering(&self, by: Option<u32>, wanted: Prefix) -> &[Hop] {
        if let (Some(by), Prefix::Server(server)) = (by, wanted) {
            let class = self
                .entering
                .iter()
                .find(|class| class.links.binary_search(&by).is_ok());
            let own = class.and_then(|class| {
                let at = class.routes.binary_search_by_key(&server, |(to, _)| *to).ok()?;
                Some(class.routes[at].1)
            });
            if let Some(group) = own {
                return &self.groups[group];
            }
        }
        self.hops_for(wanted)
    }
}

/// The tables of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    nodes: Vec<NodeTable>,
}

impl Tables {
    /// Computes all tables, in time proportional to servers times links. `None` where servers
    /// relay.
    pub fn new(topology: &Topology, failures: &Failures, balance: Balance) -> Option<Tables> {
        let detours = (balance == Balance::ByDetour).then(|| Detours::none(topology, failures));
        Tables::with(
            topology,
            failures,
            balance.weigh(topology),
            balance.follows_load(),
            detours,
        )
    }

    /// The tables of [`Balance::ByLoad`]. Servers choose among their links by `weights.source`;
    /// switches choose among downward paths by the `weights.destination` of the destination's
    /// links, and among upward paths evenly. ToRs that a server shares with the destination get
    /// equal shares. `[subways §5.2]` `None` if servers relay.
    pub fn by_load(topology: &Topology, failures: &Failures, weights: &LinkWeights) -> Option<Tables> {
        let weigh = |link: usize| match topology.is_server(topology.links().a[link]) {
            true => [weights.source[link], weights.destination[link]].map(in_steps),
            false => [1; 2],
        };
        Tables::with(topology, failures, weigh, true, None)
    }

    /// The tables of [`Balance::ByDetour`]: like [`Tables::by_load`], but servers of racks with
    /// detours share their backbone traffic among their own ToRs, by weight, and detours, by
    /// capacity. A link with the weight 0 is not used while its rack has detours. Switches above
    /// the ToRs of a rack with detours towards it share the traffic to it in the same way.
    /// `detours` has for each server its detours out of its rack and towards it. `[subways §6]`
    /// `None` for other families than Subways.
    pub fn with_detours(
        topology: &Topology,
        failures: &Failures,
        weights: &LinkWeights,
        detours: [&[RackDetours]; 2],
    ) -> Option<Tables> {
        let weigh = |link: usize| match topology.is_server(topology.links().a[link]) {
            true => [weights.source[link], weights.destination[link]].map(in_steps),
            false => [1; 2],
        };
        let planned = Detours::planned(topology, failures, weights, detours)?;
        Tables::with(topology, failures, weigh, true, Some(planned))
    }

    /// `weigh` gives what a link weighs as a way up and as a server's last link.
    fn with(
        topology: &Topology,
        failures: &Failures,
        weigh: impl Fn(usize) -> [u64; 2],
        shares_equally: bool,
        detours: Option<Detours>,
    ) -> Option<Tables> {
        if topology.servers_relay() {
            return None;
        }
        let network = LiveLinks::of(topology, failures, weigh, shares_equally);
        let mut makers: Vec<Maker> = (0..topology.node_count()).map(|_| Maker::default()).collect();
        let mut ways = Ways::new(topology.node_count());
        let mut nearest = (!topology.has_tiers()).then(|| Nearest::new(topology));
        let clusters = Clusters::of(topology, &network);
        for destination in (0..topology.server_count()).filter(|&server| !failures.node_failed(server)) {
            if let Some(nearest) = &mut nearest {
                nearest.find(&network, destination);
                let others = (0..)
                    .zip(&mut makers)
                    .filter(|&(node, _)| node != destination && !failures.node_failed(node));
                for (node, maker) in others {
                    let hops = nearest.hops(&network, node);
                    // Packets to an unreachable destination must not loop between servers.
                    let goes_up =
                        topology.is_server(node) && hops.iter().all(|hop| !topology.is_server(hop.far));
                    maker.add(destination, hops, goes_up);
                }
                continue;
            }
            ways.find(&network, destination);
            let inward = detours.as_ref().and_then(|detours| detours.towards(destination));
            for (node, maker) in (0..).zip(&mut makers) {
                if node != destination && !failures.node_failed(node) {
                    let out = detours.as_ref().and_then(|detours| detours.of(node));
                    let (hops, goes_up) = ways.hops(&network, topology.is_server(node), node, (out, inward));
                    maker.add(destination, hops, goes_up);
                    let crossing = clusters.iter();
                    let crossing =
                        crossing.flat_map(|all| all.hops(&network, &ways, [node, destination], inward));
                    for (class, hops) in crossing {
                        maker.add_entering(class, destination, reduced(hops));
                    }
                }
            }
        }
        let entering = |node: NodeId| clusters.as_ref().map(|all| all.entering(&network, node));
        let mut nodes: Vec<NodeTable> = (0..)
            .zip(makers)
            .map(|(node, maker)| maker.finish(entering(node).unwrap_or_default()))
            .collect();
        if let Some(detours) = detours {
            for (table, segments) in nodes.iter_mut().zip(detours.segments) {
                table.segments = segments;
            }
        }
        Some(Tables { nodes })
    }

    /// Tables in which each node has its own from one of several: `of` gives it.
    pub fn each(nodes: u32, of: impl Fn(NodeId) -> NodeTable) -> Tables {
        Tables {
            nodes: (0..nodes).map(of).collect(),
        }
    }

    /// The table of `node`.
    pub fn of(&self, node: NodeId) -> &NodeTable {
        &self.nodes[node as usize]
    }

    /// The next hops from a node to a server; none where it cannot be reached.
    pub fn hops(&self, node: NodeId, destination: NodeId) -> &[Hop] {
        self.of(node).hops(destination)
    }
}

/// A live link as one end sees it.
#[derive(Clone, Copy, Debug)]
struct Half {
    directed: DirectedLink,
    far: NodeId,
    /// As a way up, or as the last link of a way down; not reduced yet.
    weight: u64,
    relays: Relays,
    arrival: Option<Arrival>,
}

/// Live links by node, upwards and downwards, in the order of links. Without tiers, up is from the
/// `a` end to the `b` end.
struct LiveLinks {
    ups: Vec<Vec<Half>>,
    downs: Vec<Vec<Half>>,
    /// Switches from the top tier to the lowest.
    switches: Vec<NodeId>,
    /// Indexed by node: the weights of its links as the last links of downward paths to it, in the
    /// order of its upward links.
    last: Vec<Vec<u64>>,
    /// Whether ToRs that both ends share get equal shares, regardless of the weights of their
    /// links.
    shares_equally: bool,
}

impl LiveLinks {
    fn of(
        topology: &Topology,
        failures: &Failures,
        weigh: impl Fn(usize) -> [u64; 2],
        shares_equally: bool,
    ) -> LiveLinks {
        let nodes = topology.node_count() as usize;
        let links = topology.links();
        let (mut ups, mut downs) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
        let mut last = vec![Vec::new(); nodes];
        for link in (0..links.len()).filter(|&link| failures.carries(links, link)) {
            let (below, above) = (links.a[link], links.b[link]);
            let [up, down] = weigh(link);
            ups[below as usize].push(Half {
                directed: a_to_b(link as u32),
                far: above,
                weight: up,
                relays: Relays::default(),
                arrival: None,
            });
            last[below as usize].push(down);
            downs[above as usize].push(Half {
                directed: b_to_a(link as u32),
                far: below,
                weight: down,
                relays: Relays::default(),
                arrival: None,
            });
        }
        let mut switches: Vec<NodeId> = (topology.server_count()..topology.node_count()).collect();
        switches.sort_by_key(|&switch| {
            let level = topology.tier_of(switch).map_or(0, |tier| tier.level);
            (std::cmp::Reverse(level), switch)
        });
        LiveLinks {
            ups,
            downs,
            switches,
            last,
            shares_equally,
        }
    }
}

/// The ways of all nodes to one destination.
struct Ways {
    /// Links down to the destination; [`NONE`] where it is not below.
    down: Vec<u16>,
    /// The weights of the destination's own links that those ways end with.
    weight: Vec<u64>,
    /// Links to the destination, first up and then down.
    distance: Vec<u16>,
    reached: Vec<NodeId>,
}

impl Ways {
    fn new(nodes: u32) -> Ways {
        Ways {
            down: vec![NONE; nodes as usize],
            weight: vec![0; nodes as usize],
            distance: vec![NONE; nodes as usize],
            reached: Vec::new(),
        }
    }

    fn find(&mut self, network: &LiveLinks, destination: NodeId) {
        self.find_by(network, destination, |_| true);
    }

    /// The ways that end with one of those links of the destination that are `wanted`.
    fn find_by(&mut self, network: &LiveLinks, destination: NodeId, wanted: impl Fn(DirectedLink) -> bool) {
        self.down.fill(NONE);
        self.weight.fill(0);
        self.distance.fill(NONE);
        self.down[destination as usize] = 0;
        self.distance[destination as usize] = 0;
        self.reached.clear();
        self.reached.push(destination);
        let mut next = 0;
        while let Some(&below) = self.reached.get(next) {
            next += 1;
            let links = self.down[below as usize] + 1;
            let own = &network.last[below as usize];
            let usable = |up: &Half| below != destination || wanted(up.directed);
            for (up, own) in network.ups[below as usize]
                .iter()
                .zip(own)
                .filter(|(up, _)| usable(up))
            {
                let above = up.far as usize;
                if self.down[above] == NONE {
                    self.down[above] = links;
                    self.reached.push(up.far);
                }
                if self.down[above] == links {
                    self.weight[above] += match below == destination {
                        true => *own,
                        false => self.weight[below as usize],
                    };
                }
            }
        }
        for &switch in &network.switches {
            let ups = network.ups[switch as usize].iter();
            let above = ups.map(|up| self.distance[up.far as usize]).min();
            self.distance[switch as usize] = match (self.down[switch as usize], above) {
                (NONE, Some(above)) => above.saturating_add(1),
                (down, _) => down,
            };
        }
    }

    /// Whether a link down from a node that has the destination below it is on a way down to it.
    fn is_nearer(&self, node: NodeId, link: &Half) -> bool {
        self.down[link.far as usize].saturating_add(1) == self.down[node as usize]
    }

    /// The weight of such a link.
    fn weight_of(&self, link: &Half) -> u64 {
        // Only the destination is no link away from itself.
        match self.down[link.far as usize] {
            0 => link.weight,
            _ => self.weight[link.far as usize],
        }
    }

    /// The ways down of a node that has the destination below it.
    fn downwards(
        &self,
        network: &LiveLinks,
        node: NodeId,
        inward: Option<&detoured::Inward>,
    ) -> Vec<(Half, u64)> {
        let downs = &network.downs[node as usize];
        let nearer = downs.iter().filter(|link| self.is_nearer(node, link));
        let straight = nearer.map(|link| (*link, self.weight_of(link))).collect();
        match inward {
            Some(inward) => inward.weigh(straight, downs),
            None => straight,
        }
    }

    /// The next hops of a node, and whether they go up.
    fn hops(
        &self,
        network: &LiveLinks,
        is_server: bool,
        node: NodeId,
        (out, inward): (Option<&detoured::Shares>, Option<&detoured::Inward>),
    ) -> (Vec<Hop>, bool) {
        let (down, distance) = (self.down[node as usize], self.distance[node as usize]);
        if down != NONE {
            return (reduced(self.downwards(network, node, inward)), false);
        }
        let ups = network.ups[node as usize].iter();
        let wanted = |link: &&Half| {
            let above = self.distance[link.far as usize];
            match is_server {
                true => above != NONE,
                false => above != NONE && above.saturating_add(1) == distance,
            }
        };
        let ways = ups.clone().filter(wanted);
        let shared = |link: &Half| self.down[link.far as usize] == 1;
        let has_shared = is_server && ups.clone().any(shared);
        let chosen = ways.filter(|link| !has_shared || shared(link));
        if let Some(shares) = out.filter(|_| !has_shared) {
            let leads_there = |node: NodeId| self.distance[node as usize] != NONE;
            return (reduced(shares.weigh(chosen, leads_there)), true);
        }
        let alike = has_shared && network.shares_equally;
        let weigh = |link: &Half| (*link, if alike { 1 } else { link.weight });
        (reduced(chosen.map(weigh).collect()), true)
    }
}

/// A weight of a controller, which is at most 1, as a whole number: in steps that a group of next
/// hops can have.
fn in_steps(weight: f64) -> u64 {
    (weight * f64::from(MAX_WEIGHT)).round().max(1.0) as u64
}
