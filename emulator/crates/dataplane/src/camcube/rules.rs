//! Checks changes of a run's tables: only existing neighbours, and paths over ports with cables.
//!
//! Until a server's protocol has link state, packets take the paths of a torus with all servers of
//! the run alive.

use std::collections::BTreeMap;

use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::settings::Settings;
use super::structure::Structure;
use super::tables::{self, Config, NO_PORT, NST, NextHop, WAYS, Way};
use super::ways;
use crate::configuration::{Configuration, ConfigurationError, RunPlan};
use crate::tables::{TableError, TableRules, TableUpdate, array_index};

/// The entries that follow from a server's position: its own and its neighbours'.
pub fn own_entries(configuration: &Configuration) -> Result<Vec<TableUpdate>, ConfigurationError> {
    let structure = Structure::new(configuration)?;
    let disjoint = Settings::new(&configuration.settings)?.disjoint_paths;
    let config = Config::of(configuration, &structure, disjoint).update();
    let hops = next_hops(configuration)
        .into_iter()
        .map(|(port, hop)| hop.update(port));
    Ok(std::iter::once(config).chain(hops).collect())
}

/// The entries of neighbours by port; all count as alive.
pub fn next_hops(configuration: &Configuration) -> BTreeMap<u8, NextHop> {
    let ports = configuration.ports.iter();
    let entry = |neighbour, port: &crate::configuration::Port| {
        (port.port, NextHop::to(configuration, port, neighbour))
    };
    ports
        .filter_map(|port| Some(entry(port.neighbours.first()?, port)))
        .collect()
}

/// The rules of a run's tables.
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
    let place = |configuration: &Configuration| {
        let place = Place {
            own: own_entries(configuration)?,
            next_hops: next_hops(configuration),
        };
        Ok((configuration.server, place))
    };
    let places = run.servers.iter().map(place);
    Ok(Box::new(Rules {
        places: places.collect::<Result<_, ConfigurationError>>()?,
        structure,
    }))
}

#[derive(Debug)]
struct Place {
    own: Vec<TableUpdate>,
    next_hops: BTreeMap<u8, NextHop>,
}

#[derive(Debug)]
struct Rules {
    structure: Structure,
    places: BTreeMap<NodeId, Place>,
}

impl Rules {
    fn check_next_hop(place: &Place, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(NST, message));
        let port = array_index(&update.key.0).and_then(|index| u8::try_from(index).ok());
        let Some(own) = port.and_then(|port| place.next_hops.get(&port)) else {
            return refuse("the key names no port with a neighbour");
        };
        let value = update.value.as_ref().map_or(&[][..], |value| &value.0);
        match NextHop::read_from_bytes(value) {
            Ok(hop) if hop.up <= 1 && NextHop { up: own.up, ..hop } == *own => Ok(()),
            _ => refuse("only the status of a neighbour may change"),
        }
    }

    fn check_way(&self, place: &Place, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(WAYS, message));
        let home = array_index(&update.key.0);
        let inside = home.is_some_and(|home| home < self.structure.shape().servers() as usize);
        if !inside {
            return refuse("the key is no server of the torus");
        }
        let value = update.value.as_ref().map_or(&[][..], |value| &value.0);
        let Ok(way) = Way::read_from_bytes(value) else {
            return refuse("a way has eight bytes");
        };
        let cabled = place.next_hops.keys().fold(0u8, |mask, port| mask | 1 << port);
        let onward = |port: &u8| *port == NO_PORT || *port < self.structure.ports();
        if (way.shortest | way.disjoint) & !cabled != 0 || !way.onward.iter().all(onward) {
            return refuse("a way leads by ports of the server that have a neighbour");
        }
        Ok(())
    }
}

impl TableRules for Rules {
    fn initial(&self, server: NodeId) -> Vec<TableUpdate> {
        let Some(place) = self.places.get(&server) else {
            return Vec::new();
        };
        let there = |server: NodeId, port: u8| {
            let next_hops = self.places.get(&server).map(|place| &place.next_hops);
            next_hops.is_some_and(|hops| hops.contains_key(&port))
        };
        let ways = ways::all(&self.structure, server, &there);
        let ways = (0..).zip(&ways).map(|(home, way)| way.update(home));
        place.own.iter().cloned().chain(ways).collect()
    }

    fn check(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let Some(place) = self.places.get(&server) else {
            let message = "there is no such server in the run";
            return Err(TableError::new(&update.table, message));
        };
        match &*update.table {
            NST => Rules::check_next_hop(place, update),
            WAYS => self.check_way(place, update),
            tables::FLOW_COUNTS => Ok(()),
            other => Err(TableError::new(other, "the protocol does not write this table")),
        }
    }
}
