//! The table of one node in the kernel: the numbers of its next hops and groups, and the requests
//! that change one table into another.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use cubeyard_dataplane::address::{port_ip, port_mac, virtual_ip};
use cubeyard_routing::path::link_of;
use cubeyard_routing::tables::{Hop, NodeTable, Prefix, Relays, Segment};
use cubeyard_topology::NodeId;

use super::detours;
use crate::links;
use crate::names::{self, ID_LIMIT, Mac};
use crate::netlink::{
    Batch, GroupMember, RT_TABLE_MAIN, RouteByHop, add_entering_rule, add_group, add_neighbour, add_next_hop,
    add_route_by_hop, delete_entering_rule, delete_next_hop, delete_route_by_hop,
};
use crate::network::routing::node_address;
use crate::network::{Network, Place};

/// Number of the first group, higher than those of all links.
const FIRST_GROUP: u32 = ID_LIMIT + 1;

/// Number of the first port's table: a server has at most 64 ports, and the kernel uses the highest
/// numbers itself.
const FIRST_TABLE: u8 = 100;
/// First number of the tables for packets that enter by certain links. The table's number is also
/// the priority of its rule, which must precede the main table's 32,766; there are fewer clusters
/// than that.
const FIRST_ENTERING: u32 = 1000;

/// Maximum number of groups and detours whose numbers a node keeps: weights that follow the load
/// create new groups all the time.
const MAX_NUMBERS: usize = 4096;

/// The installed table of a node.
#[derive(Debug, Default)]
pub(super) struct Installed {
    table: NodeTable,
    /// Numbers of groups; the next hop of a detour counts as a group of one. Unused groups keep
    /// their numbers, up to a limit, so that a group has the same number when it is used again.
    numbers: BTreeMap<Vec<Hop>, u32>,
    /// How many numbers have been assigned.
    numbered: u32,
    /// Numbers of the tables for packets that enter by certain links, by class.
    tables: BTreeMap<NodeId, u32>,
    /// Whether the kernel may have removed parts of the table.
    is_lost: bool,
}

impl Installed {
    /// Notes that the kernel may have removed parts of the table.
    pub fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Adds the requests that turn the node's table into the wanted one.
    pub fn bring(
        &mut self,
        network: &Network,
        node: Place,
        wanted: &NodeTable,
        put: &mut Batch,
        remove: &mut Batch,
    ) {
        if self.table == *wanted && !self.is_lost {
            return;
        }
        let had = std::mem::replace(&mut self.table, wanted.clone());
        let was_lost = std::mem::take(&mut self.is_lost);
        self.number(&had, wanted);
        let (old, new) = (self.numbered(&had), self.numbered(wanted));
        let nothing = Numbered::default();
        // After a loss all objects are sent again; obsolete ones are removed if they exist.
        let known = if was_lost { &nothing } else { &old };
        let segments = |of: &NodeTable| -> BTreeMap<(Ipv6Addr, u8), Segment> {
            let all = of.segments.iter();
            all.map(|route| (detours::network_of(network, node, route), *route))
                .collect()
        };
        let (old_segments, new_segments) = (segments(&had), segments(wanted));
        for (to, route) in &new_segments {
            if was_lost || old_segments.get(to) != Some(route) {
                detours::add_segment(put, network, node, route);
            }
        }
        for (id, hop) in new.hops.iter().filter(|(id, _)| !known.hops.contains_key(id)) {
            match is_straight(hop) {
                true => add_hop(put, network, node, hop.directed),
                false => detours::add_hop(put, network, node, *id, hop),
            }
        }
        for (id, group) in new.groups.iter().filter(|(id, _)| !known.groups.contains_key(id)) {
            let members = group.iter().map(|hop| GroupMember {
                id: self.number_of(hop),
                weight: hop.weight,
            });
            add_group(put, *id, &members.collect::<Vec<_>>());
        }
        let source = node_address(network, node);
        for (route, hop) in &new.routes {
            if known.routes.get(route) != Some(hop) {
                let (to, prefix_bits, table) = self.network_of(*route);
                let hop = *hop;
                let source = match &route.0 {
                    Prefix::From(port) => own_port_address(network, node, *port).unwrap_or(source),
                    _ => source,
                };
                add_route_by_hop(
                    put,
                    &RouteByHop {
                        to,
                        prefix_bits,
                        hop,
                        source,
                        table,
                        mtu: detours::route_mtu(network, node),
                    },
                );
            }
        }
        // The kernel keeps rules when their interfaces are removed.
        let (old_rules, new_rules) = (self.rules(network, node, &had), self.rules(network, node, wanted));
        for (interface, table) in new_rules.difference(&old_rules) {
            add_entering_rule(put, interface, *table);
        }
        for (interface, table) in old_rules.difference(&new_rules) {
            delete_entering_rule(remove, interface, *table);
        }
        for route in old.routes.keys().filter(|route| !new.routes.contains_key(route)) {
            let (to, prefix_bits, table) = self.network_of(*route);
            delete_route_by_hop(remove, to, prefix_bits, table);
        }
        for id in old.groups.keys().filter(|id| !new.groups.contains_key(id)) {
            delete_next_hop(remove, *id);
        }
        for id in old.hops.keys().filter(|id| !new.hops.contains_key(id)) {
            delete_next_hop(remove, *id);
        }
        let gone = old_segments.keys().filter(|to| !new_segments.contains_key(to));
        gone.for_each(|to| detours::delete_segment(remove, *to));
    }

    /// Assigns numbers to new groups and next hops. If there are too many, the numbers of unused
    /// ones are freed first.
    fn number(&mut self, had: &NodeTable, wanted: &NodeTable) {
        let ways = |table: &NodeTable| -> Vec<Vec<Hop>> {
            let detours = table.groups.iter().flatten().filter(|hop| !is_straight(hop));
            let groups = table.groups.iter().filter(|group| group.len() > 1).cloned();
            detours.map(|hop| vec![way(hop)]).chain(groups).collect()
        };
        if self.numbers.len() > MAX_NUMBERS {
            let used: BTreeSet<Vec<Hop>> = ways(had).into_iter().chain(ways(wanted)).collect();
            self.numbers.retain(|group, _| used.contains(group));
        }
        for way in ways(wanted) {
            if !self.numbers.contains_key(&way) {
                self.numbers.insert(way, FIRST_GROUP + self.numbered);
                self.numbered += 1;
            }
        }
        for entering in &wanted.entering {
            let next = FIRST_ENTERING + self.tables.len() as u32;
            self.tables.entry(entering.class).or_insert(next);
        }
    }

    /// The rules of a table: incoming interfaces, each with the number of the table that routes its
    /// packets.
    fn rules(&self, network: &Network, node: Place, table: &NodeTable) -> BTreeSet<(String, u32)> {
        let mut rules = BTreeSet::new();
        for entering in &table.entering {
            let Some(number) = self.tables.get(&entering.class) else {
                continue;
            };
            for id in &entering.links {
                let Ok(link) = network.link(*id) else { continue };
                let end = usize::from(!is_at(network.places[link][0], node));
                rules.insert((names::switch_port_name(*id, end), *number));
            }
        }
        rules
    }

    /// The network of a route, and the number of its table.
    fn network_of(&self, (prefix, class): (Prefix, Option<NodeId>)) -> (Ipv4Addr, u8, u32) {
        let (to, prefix_bits, table) = network_of(prefix);
        let entering = class.and_then(|class| self.tables.get(&class)).copied();
        (to, prefix_bits, entering.unwrap_or(table.into()))
    }

    /// Number of a next hop, which is unique at the node: each link, and each detour, has its own.
    fn number_of(&self, hop: &Hop) -> u32 {
        match is_straight(hop) {
            true => hop_id(hop.directed),
            false => self.numbers.get(&vec![way(hop)]).copied().unwrap_or_default(),
        }
    }

    /// A table with the kernel's numbers of groups and next hops.
    fn numbered<'a>(&self, table: &'a NodeTable) -> Numbered<'a> {
        let number = |group: &Vec<Hop>| match group[..] {
            [only] => self.number_of(&only),
            _ => self.numbers.get(group).copied().unwrap_or_default(),
        };
        let groups = table.groups.iter().filter(|group| group.len() > 1);
        let routes = table.routes.iter();
        let routes = routes.map(|(prefix, group)| ((*prefix, None), *group));
        let entering = table.entering.iter().flat_map(|entering| {
            let routes = entering.routes.iter();
            routes.map(|(server, group)| ((Prefix::Server(*server), Some(entering.class)), *group))
        });
        Numbered {
            hops: table
                .groups
                .iter()
                .flatten()
                .map(|hop| (self.number_of(hop), way(hop)))
                .collect(),
            groups: groups.map(|group| (number(group), &group[..])).collect(),
            routes: routes
                .chain(entering)
                .map(|(route, group)| (route, number(&table.groups[group])))
                .collect(),
        }
    }
}

/// A routing table, with nodes and groups by the kernel's numbers.
#[derive(Debug, Default)]
struct Numbered<'a> {
    /// All next hops, without weights.
    hops: BTreeMap<u32, Hop>,
    /// Groups of more than one next hop.
    groups: BTreeMap<u32, &'a [Hop]>,
    /// The next hop or group of each route; routes for packets that enter by certain links have a
    /// class.
    routes: BTreeMap<(Prefix, Option<NodeId>), u32>,
}

/// The same next hop without its weight.
fn way(hop: &Hop) -> Hop {
    Hop { weight: 0, ..*hop }
}

fn is_straight(hop: &Hop) -> bool {
    hop.relays == Relays::default()
}

/// Number of the next hop over a link.
fn hop_id(directed: u32) -> u32 {
    link_of(directed) + 1
}

/// The table for packets that a server sends from the address of a port. Rules with the server's
/// addresses select it.
pub fn table_of_port(port: u8) -> u8 {
    FIRST_TABLE + port
}

/// The network of a prefix, and the table of its route.
fn network_of(prefix: Prefix) -> (Ipv4Addr, u8, u8) {
    // Ids beyond the last address were refused when the description was checked.
    let or_none = |address: Option<Ipv4Addr>| address.unwrap_or(Ipv4Addr::UNSPECIFIED);
    match prefix {
        Prefix::Server(server) => (or_none(virtual_ip(server)), 32, RT_TABLE_MAIN),
        Prefix::Port(server, port) => (or_none(port_ip(server, port)), 32, RT_TABLE_MAIN),
        Prefix::From(port) => (Ipv4Addr::UNSPECIFIED, 0, table_of_port(port)),
        Prefix::Any => (Ipv4Addr::UNSPECIFIED, 0, RT_TABLE_MAIN),
    }
}

/// The address of a server's own port.
fn own_port_address(network: &Network, node: Place, port: u8) -> Option<Ipv4Addr> {
    match node {
        Place::Server { server, .. } => port_ip(network.description.servers[server].id, port),
        Place::Switch { .. } => None,
    }
}

/// The next hop over a link, with the hardware address of the link's other end.
fn add_hop(put: &mut Batch, network: &Network, node: Place, directed: u32) {
    let Some(far) = far_end(network, node, directed) else {
        return;
    };
    add_neighbour(put, far.index, far.address, &far.mac);
    add_next_hop(put, hop_id(directed), far.index, far.address);
}

/// The far end of a node's link.
pub(super) struct FarEnd {
    /// Number of this node's interface.
    pub index: u32,
    /// Address of the other node.
    pub address: Ipv4Addr,
    /// Hardware address of the other interface.
    pub mac: Mac,
}

/// The far end of a link. The tables contain links of the network only.
pub(super) fn far_end(network: &Network, node: Place, directed: u32) -> Option<FarEnd> {
    let link = network.link(link_of(directed)).ok()?;
    let end = usize::from(!is_at(network.places[link][0], node));
    let far = network.places[link][1 - end];
    let id = network.description.links[link].id;
    let mac = match far {
        Place::Server { server, port } => port_mac(network.description.servers[server].id, port as u8),
        Place::Switch { .. } => names::switch_port_mac(id, 1 - end),
    };
    Some(FarEnd {
        index: links::interface(network, link, end),
        address: node_address(network, far),
        mac,
    })
}

fn is_at(place: Place, node: Place) -> bool {
    match node {
        Place::Server { server, .. } => place.is_of_server(server),
        Place::Switch { switch, .. } => place.is_of_switch(switch),
    }
}
