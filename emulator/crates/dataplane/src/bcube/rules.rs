//! Checks changes of a run's tables: only entries of existing neighbours, and paths along existing
//! hops. `[bcube §7.2]`
//!
//! Until a server's protocol has chosen paths, packets take those of BCubeRouting, which corrects
//! digits from the highest level down `[bcube §3.2]`. If a slice lacks a hop of such a path, they
//! take a shortest path within the slice. `[ours]`

use std::collections::{BTreeMap, VecDeque};

use cubeyard_routing::bcube::{Hops, correct_digits};
use cubeyard_topology::NodeId;
use zerocopy::FromBytes;

use super::gateways::nearest_first;
use super::keys::NeighbourKeys;
use super::nha::Nha;
use super::route::{NumberedPath, SourceRoute};
use super::structure::Structure;
use super::tables::{self, Config, DEFAULT_PATHS, FLOW_PATHS, NST, NextHop, OUTSIDE, Path};
use crate::address::{is_virtual, server_of, virtual_ip};
use crate::configuration::{Configuration, ConfigurationError, RunPlan};
use crate::flow::Flow;
use crate::tables::{TableError, TableRules, TableUpdate, array_index};

/// One server: its entries, and the neighbour behind each next hop.
#[derive(Debug)]
struct Place {
    own: Vec<TableUpdate>,
    next_hops: BTreeMap<Nha, (NextHop, NodeId)>,
}

/// The rules of one run.
#[derive(Debug)]
pub struct Rules {
    structure: Structure,
    places: BTreeMap<NodeId, Place>,
    gateways: Vec<NodeId>,
}

/// The entries for the server itself and for its neighbours.
pub fn own_entries(configuration: &Configuration) -> Result<Vec<TableUpdate>, ConfigurationError> {
    let structure = Structure::new(configuration)?;
    Ok(place(&structure, configuration)?.own)
}

/// The rules of a run's tables.
pub fn rules(run: &RunPlan) -> Result<Box<dyn TableRules>, ConfigurationError> {
    Ok(Box::new(Rules::new(run)?))
}

fn place(structure: &Structure, configuration: &Configuration) -> Result<Place, ConfigurationError> {
    let keys = NeighbourKeys::new(structure, configuration)?;
    let ports = configuration.ports.iter();
    let neighbours = ports.flat_map(|port| port.neighbours.iter().map(move |neighbour| (port, neighbour)));
    let entries = neighbours.zip(keys.all());
    let next_hops: BTreeMap<Nha, (NextHop, NodeId)> = entries
        .map(|((port, neighbour), &nha)| {
            let hop = NextHop::to(configuration, port, neighbour);
            (nha, (hop, neighbour.server))
        })
        .collect();
    let mut own = vec![Config::of(configuration).update()];
    own.extend(next_hops.iter().map(|(nha, (hop, _))| hop.update(*nha)));
    Ok(Place { own, next_hops })
}

impl Rules {
    /// Derives the rules of a run. Errors: a topology that is no BCube, or neighbours that the
    /// topology does not have.
    pub fn new(run: &RunPlan) -> Result<Rules, ConfigurationError> {
        let Some(first) = run.servers.first() else {
            return Err(ConfigurationError {
                field: "servers".to_owned(),
                value: "none".to_owned(),
                limit: "at least one".to_owned(),
                fix: "Name the servers of the run.".to_owned(),
            });
        };
        let structure = Structure::new(first)?;
        let places = run
            .servers
            .iter()
            .map(|configuration| Ok((configuration.server, place(&structure, configuration)?)));
        Ok(Rules {
            places: places.collect::<Result<_, ConfigurationError>>()?,
            gateways: first.gateways.clone(),
            structure,
        })
    }

    /// The end of a source route; `None` if a server on it lacks the next neighbour.
    fn end_of(&self, source: NodeId, route: &[Nha]) -> Option<NodeId> {
        route.iter().try_fold(source, |at, nha| {
            let (_, next) = self.places.get(&at)?.next_hops.get(nha)?;
            Some(*next)
        })
    }

    fn digit_correcting(&self, source: NodeId, destination: NodeId) -> Option<SourceRoute> {
        let shape = self.structure.shape();
        let mut hops = Hops::new();
        correct_digits(shape, source, destination, (0..shape.levels).rev(), &mut hops);
        let through: Vec<NodeId> = hops.iter().map(|hop| hop.server).collect();
        let route = SourceRoute::through(shape, source, &through)?;
        (self.end_of(source, route.hops()) == Some(destination)).then_some(route)
    }

    /// Shortest paths from a server to all servers that it can reach, by breadth-first search.
    fn shortest_from(&self, source: NodeId) -> BTreeMap<NodeId, Vec<Nha>> {
        let mut paths = BTreeMap::from([(source, Vec::new())]);
        let mut waiting = VecDeque::from([source]);
        while let Some(server) = waiting.pop_front() {
            let Some(place) = self.places.get(&server) else {
                continue;
            };
            for (&nha, &(_, next)) in &place.next_hops {
                if !paths.contains_key(&next) {
                    let mut path = paths[&server].clone();
                    path.push(nha);
                    paths.insert(next, path);
                    waiting.push_back(next);
                }
            }
        }
        paths
    }

    /// The default paths of a server to all other servers that it can reach.
    pub fn default_paths(&self, source: NodeId) -> Vec<(NodeId, SourceRoute)> {
        let shortest = self.shortest_from(source);
        let others = self.places.keys().filter(|&&server| server != source);
        others
            .filter_map(|&destination| {
                let shortest = || SourceRoute::new(shortest.get(&destination)?.iter().copied());
                let route = self.digit_correcting(source, destination).or_else(shortest)?;
                Some((destination, route))
            })
            .collect()
    }

    fn check_next_hop(&self, place: &Place, update: &TableUpdate) -> Result<(), TableError> {
        let refuse = |message: &str| Err(TableError::new(NST, message));
        let index = array_index(&update.key.0).and_then(|index| u8::try_from(index).ok());
        let Some((own, _)) = index.and_then(|index| place.next_hops.get(&Nha(index))) else {
            return refuse("the key names no neighbour of this server");
        };
        let value = update.value.as_ref().map_or(&[][..], |value| &value.0);
        match NextHop::read_from_bytes(value) {
            Ok(hop) if hop.up <= 1 && NextHop { up: own.up, ..hop } == *own => Ok(()),
            _ => refuse("only the status of a neighbour may change"),
        }
    }

    /// Checks a path's bytes and hops; returns the server at its end.
    fn check_path(&self, server: NodeId, table: &str, value: &[u8]) -> Result<NodeId, TableError> {
        let path = Path::read_from_bytes(value).ok();
        let route = path.as_ref().and_then(Path::route);
        let (Some(path), Some(route)) = (path, route) else {
            return Err(TableError::new(table, "a path has one to eight hops"));
        };
        let end = self.end_of(server, route.hops());
        let address = end.and_then(virtual_ip);
        match (end, address) {
            (Some(end), Some(address)) if Path::new(address, path.id, &route) == path => Ok(end),
            _ => Err(TableError::new(
                table,
                "each hop of a path must be a neighbour of the server before it, and its end the path's",
            )),
        }
    }

    fn check_default(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let Some(value) = &update.value else { return Ok(()) };
        let end = self.check_path(server, DEFAULT_PATHS, &value.0)?;
        let key: [u8; 4] = update.key.0.as_slice().try_into().unwrap_or_default();
        let allowed = if key == OUTSIDE {
            self.gateways.contains(&end)
        } else {
            server_of(key.into()) == Some(end)
        };
        let refused = || TableError::new(DEFAULT_PATHS, "the path does not lead to the entry's destination");
        allowed.then_some(()).ok_or_else(refused)
    }

    fn check_flow(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let Some(value) = &update.value else { return Ok(()) };
        let end = self.check_path(server, FLOW_PATHS, &value.0)?;
        let flow = Flow::read_from_bytes(&update.key.0).unwrap_or_default();
        let inside = is_virtual(flow.dst.into());
        if inside && server_of(flow.dst.into()) != Some(end) {
            return Err(TableError::new(
                FLOW_PATHS,
                "the path does not lead to the flow's destination",
            ));
        }
        Ok(())
    }
}

impl TableRules for Rules {
    fn initial(&self, server: NodeId) -> Vec<TableUpdate> {
        let Some(place) = self.places.get(&server) else {
            return Vec::new();
        };
        let mut updates = place.own.clone();
        for (destination, route) in self.default_paths(server) {
            if let Some(address) = virtual_ip(destination) {
                let numbered = NumberedPath::new(server, destination, route);
                updates.push(tables::path(address, &numbered).to(address.octets()));
            }
        }
        updates
    }

    fn check(&self, server: NodeId, update: &TableUpdate) -> Result<(), TableError> {
        let Some(place) = self.places.get(&server) else {
            return Err(TableError::new(
                &update.table,
                "there is no such server in the run",
            ));
        };
        match &*update.table {
            NST => self.check_next_hop(place, update),
            DEFAULT_PATHS => self.check_default(server, update),
            FLOW_PATHS => self.check_flow(server, update),
            tables::FLOW_COUNTS => Ok(()),
            other => Err(TableError::new(other, "the protocol does not write this table")),
        }
    }
    fn gateways_of(&self, server: NodeId) -> Vec<NodeId> {
        nearest_first(self.structure.shape(), server, &self.gateways)
    }
}
