//! The tables of a node as sections of columns and rows: its routes, and the groups of next hops that they share.

use cubeyard_dataplane::inspection::{Cell, ColumnKind, Section};
use cubeyard_routing::path::link_of;
use cubeyard_routing::tables::{Hop, NodeTable, Prefix};

use crate::network::{Network, Place};

/// The sections of a node's table.
pub fn sections(network: &Network, table: &NodeTable) -> Vec<Section> {
    let number = |group: usize| Cell::Count(group as u64);
    let is_by_port = |(prefix, _): &(Prefix, usize)| matches!(prefix, Prefix::Port(..) | Prefix::From(_));
    let has_ports = table.routes.iter().any(is_by_port);
    let mut columns = vec![
        ("destination", "To (– is any other)", ColumnKind::Servers),
        ("group", "Group", ColumnKind::Count),
    ];
    if has_ports {
        columns.insert(1, ("address", "Address", ColumnKind::Text));
    }
    let routes = table.routes.iter().map(|(prefix, group)| {
        let (destination, address) = match prefix {
            Prefix::Server(server) => (Cell::Servers(vec![*server]), Cell::Empty),
            Prefix::Port(server, port) => (
                Cell::Servers(vec![*server]),
                Cell::Text(format!("of its port {port}")),
            ),
            Prefix::From(port) => (Cell::Empty, Cell::Text(format!("from the own port {port}'s"))),
            Prefix::Any => (Cell::Empty, Cell::Empty),
        };
        match has_ports {
            true => vec![destination, address, number(*group)],
            false => vec![destination, number(*group)],
        }
    });
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

/// The nodes that a detour passes beyond its first.
fn relays(hop: &Hop) -> Cell {
    let all = hop.relays.iter().flatten();
    let nodes: Vec<u32> = all.flat_map(|relay| [relay.server, relay.tor]).collect();
    if nodes.is_empty() {
        Cell::Empty
    } else {
        Cell::Servers(nodes)
    }
}

/// The port by which a direction of a link leaves.
fn port(network: &Network, directed: u32) -> Option<u64> {
    let link = network.link(link_of(directed)).ok()?;
    // The first direction of a link leaves from its first end.
    Some(match network.places[link][(directed % 2) as usize] {
        Place::Server { port, .. } => port.into(),
        Place::Switch { port, .. } => port.into(),
    })
}
