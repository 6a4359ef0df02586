//! Checks changes of a run's tables: only existing neighbours, and paths through neighbours to
//! existing servers. `[dcell §7.2]`

use std::collections::BTreeMap;

use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::routes::{self, HopsByNeighbour};
use super::settings::Settings;
use super::structure::Structure;
use super::tables::{ALL_FLAGS, Config, FIB, FLOW_COUNTS, HAS_HOP, NST, NextHop, Route};
use crate::configuration::{Configuration, ConfigurationError, RunPlan};
use crate::tables::{TableError, TableRules, TableUpdate, array_index};

/// One server, with its neighbours' entries by hop.
#[derive(Debug)]
struct Place {
    config: Config,
    next_hops: Vec<NextHop>,
    hops: HopsByNeighbour,
}

/// The rules of one run.
#[derive(Debug)]
struct Rules {
    structure: Structure,
    places: BTreeMap<NodeId, Place>,
}

/// The entries for the server itself and for its neighbours.
pub fn own_entries(configuration: &Configuration) -> Result<Vec<TableUpdate>, ConfigurationError> {
    let structure = Structure::new(configuration)?;
    Ok(Place::new(&structure, configuration)?.own_entries())
}

/// Derives the rules of a run. Errors: a topology that is no DCell, or neighbours that the topology
/// does not have.
pub fn rules(run: &RunPlan) -> Result<Box<dyn TableRules>, ConfigurationError> {
    let Some(first) = run.servers.first() else {
        return Err(ConfigurationError {
            field: "servers".to_owned(),
            value: "none".to_owned(),
            limit: "at least one".to_owned(),
            fix: "Name the servers of the run.".to_owned(),
        });
    };
    let structure = Structure::new(first)?;
    let places = run.servers.iter();
    let places =
        places.map(|configuration| Ok((configuration.server, Place::new(&structure, configuration)?)));
    let places = places.collect::<Result<_, ConfigurationError>>()?;
    Ok(Box::new(Rules { structure, places }))
}

/// The hops of a configuration's server, in the configuration's order.
pub fn next_hops(configuration: &Configuration) -> Vec<NextHop> {
    let ports = configuration.ports.iter();
    let neighbours = ports.flat_map(|port| port.neighbours.iter().map(move |neighbour| (port, neighbour)));
    neighbours
        .map(|(port, neighbour)| NextHop::to(configuration, port, neighbour))
        .collect()
}

/// The hops of a configuration's server, by neighbour and level. Errors: a neighbour that the
/// topology does not have.
pub fn hops_by_neighbour(
    structure: &Structure,
    configuration: &Configuration,
) -> Result<HopsByNeighbour, ConfigurationError> {
    let links = structure.neighbours(configuration)?;
    let numbered = (0u8..).zip(links);
    Ok(numbered
        .map(|(hop, link)| ((link.neighbour, link.port), hop))
        .collect())
}

impl Place {
    fn new(structure: &Structure, configuration: &Configuration) -> Result<Place, ConfigurationError> {
        let settings = Settings::of(&configuration.settings)?;
        let cell = structure.cell(configuration.server);
        Ok(Place {
            config: Config::of(configuration, cell, settings.retries),
            next_hops: next_hops(configuration),
            hops: hops_by_neighbour(structure, configuration)?,
        })
    }

    fn own_entries(&self) -> Vec<TableUpdate> {
        let neighbours = (0u8..).zip(&self.next_hops);
        let neighbours = neighbours.map(|(hop, entry)| entry.update(hop));
        std::iter::once(self.config.update()).chain(neighbours).collect()
    }
}

impl Rules {
    fn check_next_hop(place: &Place, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(NST, message));
        let index = array_index(&update.key.0);
        let Some(own) = index.and_then(|index| place.next_hops.get(index)) else {
            return refuse("the key names no neighbour of this server");
        };
        let value = update.value.as_ref().map_or(&[][..], |value| &value.0);
        match NextHop::read_from_bytes(value) {
            Ok(hop) if hop.up <= 1 && NextHop { up: own.up, ..hop } == *own => Ok(()),
            _ => refuse("only the status of a neighbour may change"),
        }
    }

    fn check_route(&self, server: NodeId, place: &Place, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(FIB, message));
        let key: Option<[u8; 4]> = update.key.0.as_slice().try_into().ok();
        let destination = key.map(NodeId::from_ne_bytes);
        if !destination.is_some_and(|to| to != server && self.structure.is_present(to)) {
            return refuse("the key names no other server of the run");
        }
        let Some(value) = &update.value else { return Ok(()) };
        let Ok(route) = Route::read_from_bytes(&value.0) else {
            return refuse("it is no route");
        };
        let known = |hop: u8| usize::from(hop) < place.next_hops.len();
        if route.flags & !ALL_FLAGS != 0 || (route.flags & HAS_HOP != 0 && !known(route.hop)) {
            return refuse("a hop must be a neighbour of the server");
        }
        for at in [0, 1] {
            let Some((hop, proxy)) = route.alternative(at) else {
                continue;
            };
            if !known(hop) || proxy == server || !self.structure.is_present(proxy) {
                return refuse("an alternative leads by a neighbour to another server of the run");
            }
            let cell = self.structure.cell(proxy);
            let expected = if cell == place.config.cell { 0 } else { cell };
            if route.alternative_cells[at] != expected {
                return refuse("an alternative names the group of its proxy");
            }
        }
        Ok(())
    }
}

impl TableRules for Rules {
    fn initial(&self, server: NodeId) -> Vec<TableUpdate> {
        let Some(place) = self.places.get(&server) else {
            return Vec::new();
        };
        let all_work = |_: NodeId, to: NodeId, _: usize| self.structure.is_present(to);
        let routes = routes::compute(&self.structure, server, &place.hops, all_work);
        let mut updates = place.own_entries();
        updates.extend(
            routes
                .iter()
                .map(|(&destination, route)| route.update(destination)),
        );
        updates
    }

    fn check(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let Some(place) = self.places.get(&server) else {
            let message = "there is no such server in the run";
            return Err(TableError::new(&update.table, message));
        };
        match &*update.table {
            NST => Rules::check_next_hop(place, update),
            FIB => self.check_route(server, place, update),
            FLOW_COUNTS => Ok(()),
            other => Err(TableError::new(other, "the protocol does not write this table")),
        }
    }
}
