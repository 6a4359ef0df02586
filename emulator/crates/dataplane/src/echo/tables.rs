//! The forwarding table: a next hop for each destination.

use std::collections::BTreeMap;

use cubeyard_topology::NodeId;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::routes::NextHops;
use crate::address::port_mac;
use crate::configuration::{Configuration, ConfigurationError, NeighbourAddress, Port, RunPlan};
use crate::tables::{TableError, TableKind, TableRules, TableSchema, TableUpdate, Writer};

/// Name of the table of next hops: [`NextHop`] by the destination's id.
pub const NEXT_HOPS: &str = "next-hops";
/// Maximum number of destinations in the table.
pub const DESTINATIONS: usize = 65_536;

/// The schemas of all tables.
pub const SCHEMAS: &[TableSchema] = &[TableSchema {
    name: NEXT_HOPS,
    kind: TableKind::Hash,
    key_bytes: 4,
    value_bytes: size_of::<NextHop>(),
    entries: DESTINATIONS,
    writer: Writer::Protocol,
}];

/// A neighbour to send to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct NextHop {
    /// Hardware address of the neighbour's port.
    pub next_mac: [u8; 6],
    /// Hardware address of our port.
    pub own_mac: [u8; 6],
    /// The port that leads to the neighbour.
    pub port: u8,
    /// Reserved, always zero.
    pub reserved: u8,
}

impl NextHop {
    /// The entry for a neighbour.
    pub fn to(server: NodeId, port: &Port, neighbour: &NeighbourAddress) -> NextHop {
        NextHop {
            next_mac: neighbour.mac(),
            own_mac: port_mac(server, port.port),
            port: port.port,
            reserved: 0,
        }
    }
}

/// The update that sets the next hop to a destination.
pub fn set(destination: NodeId, next_hop: &NextHop) -> TableUpdate {
    TableUpdate::set(NEXT_HOPS, &destination.to_ne_bytes(), next_hop.as_bytes())
}

/// No entries: nothing follows from a server's position.
pub fn own_entries(_configuration: &Configuration) -> Result<Vec<TableUpdate>, ConfigurationError> {
    Ok(Vec::new())
}

/// The rules of a run's tables: next hops are neighbours.
pub fn rules(run: &RunPlan) -> Result<Box<dyn TableRules>, ConfigurationError> {
    let places = run.servers.iter().map(|configuration| {
        let entries = configuration.ports.iter().flat_map(|port| {
            let neighbours = port.neighbours.iter();
            neighbours.map(|neighbour| NextHop::to(configuration.server, port, neighbour))
        });
        let place = Place {
            entries: entries.collect(),
            next_hops: NextHops::new(configuration)?,
        };
        Ok((configuration.server, place))
    });
    let places = places.collect::<Result<_, ConfigurationError>>()?;
    Ok(Box::new(Rules { places }))
}

#[derive(Debug)]
struct Place {
    entries: Vec<NextHop>,
    next_hops: NextHops,
}

#[derive(Debug)]
struct Rules {
    places: BTreeMap<NodeId, Place>,
}

impl TableRules for Rules {
    fn initial(&self, server: NodeId) -> Vec<TableUpdate> {
        let Some(place) = self.places.get(&server) else {
            return Vec::new();
        };
        let towards = |destination: NodeId| {
            let index = place.next_hops.towards(destination, |_| true)?;
            Some(set(destination, place.next_hops.entry(index)))
        };
        let destinations = place.next_hops.destinations();
        destinations.into_iter().filter_map(towards).collect()
    }

    fn check(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let own = self.places.get(&server).map_or(&[][..], |place| &place.entries);
        let known = match &update.value {
            Some(value) => own.iter().any(|entry| entry.as_bytes() == value.0),
            None => true,
        };
        let refused = || TableError::new(&update.table, "a next hop must be a neighbour of the server");
        known.then_some(()).ok_or_else(refused)
    }
}
