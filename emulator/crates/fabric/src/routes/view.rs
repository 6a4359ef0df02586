//! A node's table for users: its routes, and the groups of next hops that routes share.

use cubeyard_dataplane::inspection::{Cell, ColumnKind, Section};
use cubeyard_routing::path::{b_to_a, link_of};
use cubeyard_routing::tables::{Hop, NodeTable, Prefix};

use crate::network::{Network, Place};

/// The table of a node, for users.
pub fn sections(network: &Network, table: &NodeTable) -> Vec<Section> {
    let number = |group: usize| Cell::Count(group as u64);
    let is_by_port = |(prefix, _): &(Prefix, usize)| matches!(prefix, Prefix::Port(..) | Prefix::From(_));
    let has_ports = table.routes.iter().any(is_by_port);
    let has_entering = !table.entering.is_empty();
    let mut columns = vec![("destination", "To (– is any other)", ColumnKind::Servers)];
    if has_ports {
        columns.push(("address", "Address", ColumnKind::Text));
    }
    if has_entering {
        columns.push(("entering", "Arrived by port (– is any other)", ColumnKind::Text));
    }
    columns.push(("group", "Group", ColumnKind::Count));
    let row = |prefix: &Prefix, entering: Cell, group: usize| {
        let (destination, address) = match prefix {
            Prefix::Server(server) => (Cell::Servers(vec![*server]), Cell::Empty),
            Prefix::Port(server, port) => (
                Cell::Servers(vec![*server]),
                Cell::Text(format!("of its port {port}")),
            ),
            Prefix::From(port) => (Cell::Empty, Cell::Text(format!("from the own port {port}'s"))),
            Prefix::Any => (Cell::Empty, Cell::Empty),
        };
        let mut row = vec![destination];
        row.extend(has_ports.then_some(address));
        row.extend(has_entering.then_some(entering));
        row.push(number(group));
        row
    };
    let entering = table.entering.iter().flat_map(|entering| {
        let ports = ports_of(network, &entering.links);
        let routes = entering.routes.iter();
        routes.map(move |(server, group)| row(&Prefix::Server(*server), Cell::Text(ports.clone()), *group))
    });
    let routes = table
        .routes
        .iter()
        .map(|(prefix, group)| row(prefix, Cell::Empty, *group));
    let routes = entering.chain(routes);
    let hops = table.groups.iter().enumerate().flat_map(|(group, hops)| {
        let total: u32 = hops.iter().map(|hop| hop.weight).sum();
        hops.iter().map(move |hop| {
            vec![
                number(group),
                Cell::Count(hop.far.into()),
                port(network, hop.directed).map_or(Cell::Empty, Cell::Count),
                Cell::Count(hop.weight.into()),
                Cell::Text(format!("{}/{total}", hop.weight)),
                relays(hop),
            ]
        })
    });
    vec![
        Section::new("routes", "Routes", &columns, routes),
        Section::new(
            "groups",
            "Next hops by group",
            &[
                ("group", "Group", ColumnKind::Count),
                ("neighbour", "Neighbour", ColumnKind::Server),
                ("port", "Port", ColumnKind::Port),
                ("weight", "Weight", ColumnKind::Count),
                ("share", "Share of flows", ColumnKind::Text),
                ("relays", "Relays, and ToRs after them", ColumnKind::Servers),
            ],
            hops,
        ),
    ]
}

/// The nodes that a detour passes after its first one.
fn relays(hop: &Hop) -> Cell {
    let all = hop.relays.iter().flatten();
    let nodes: Vec<u32> = all.flat_map(|relay| [relay.server, relay.tor]).collect();
    if nodes.is_empty() {
        Cell::Empty
    } else {
        Cell::Servers(nodes)
    }
}

/// The switch ports at the upper ends of links.
fn ports_of(network: &Network, links: &[u32]) -> String {
    let ports = links.iter().filter_map(|&link| port(network, b_to_a(link)));
    let ports: Vec<String> = ports.map(|port| port.to_string()).collect();
    ports.join(", ")
}

/// The port from which a direction of a link departs.
fn port(network: &Network, directed: u32) -> Option<u64> {
    let link = network.link(link_of(directed)).ok()?;
    // The first direction of a link departs from its first end.
    Some(match network.places[link][(directed % 2) as usize] {
        Place::Server { port, .. } => port.into(),
        Place::Switch { port, .. } => port.into(),
    })
}
