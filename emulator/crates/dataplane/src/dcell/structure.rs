//! The structure of a DCell run: the existing servers, their DCell_b, and the links that link state
//! can report.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

use cubeyard_routing::BitSet;
use cubeyard_routing::dcell::Shape;
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use super::settings::Settings;
use super::tables::{DESTINATIONS, HOPS};
use crate::address::MAX_SERVER;
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::PORTS;
use crate::link_state::{LinkEnd, MAX_LINKS, Plan};

/// A DCell with the set of its existing servers.
#[derive(Clone, Debug)]
pub struct Structure {
    shape: Arc<Shape>,
    present: Arc<BitSet>,
    group_level: usize,
}

fn wrong(field: &str, value: &dyn Display, limit: &dyn Display, fix: &str) -> ConfigurationError {
    ConfigurationError {
        field: field.to_owned(),
        value: value.to_string(),
        limit: limit.to_string(),
        fix: fix.to_owned(),
    }
}

/// Whether a topology can run DCell's protocol.
pub fn check(spec: &TopologySpec) -> Result<(), ConfigurationError> {
    shape(spec).map(|_| ())
}

fn shape(spec: &TopologySpec) -> Result<Shape, ConfigurationError> {
    let smaller = "Take a smaller topology, or a slice.";
    let topology = Topology::build(spec).map_err(|error| {
        wrong(
            "spec",
            &error,
            &"a topology that can be built",
            "See its findings.",
        )
    })?;
    let shape = Shape::new(&topology).ok_or_else(|| {
        let fix = "Take a DCell, or a protocol of this family.";
        wrong("spec.family", &spec.family(), &"dcell", fix)
    })?;
    if shape.k() >= PORTS {
        let limit = format!("at most {}", PORTS - 1);
        return Err(wrong("spec.k", &shape.k(), &limit, smaller));
    }
    // A server's links must fit one advertisement, and its neighbours the neighbour status table.
    let neighbours = shape.size(0) - 1 + shape.k() as u64;
    if neighbours > MAX_LINKS.min(HOPS) as u64 {
        let limit = format!("a server with at most {} neighbours", MAX_LINKS.min(HOPS));
        return Err(wrong("spec.n", &shape.size(0), &limit, smaller));
    }
    if shape.servers() > MAX_SERVER + 1 {
        let limit = format!("at most {}", MAX_SERVER + 1);
        return Err(wrong("spec.servers", &shape.servers(), &limit, smaller));
    }
    Ok(shape)
}

impl Structure {
    /// The structure of a configuration.
    ///
    /// Errors: a topology that is no DCell or too large, a server that does not exist, more servers
    /// than fit in the tables.
    pub fn new(configuration: &Configuration) -> Result<Structure, ConfigurationError> {
        let shape = shape(&configuration.spec)?;
        let settings = Settings::of(&configuration.settings)?;
        let servers = shape.servers();
        let mut present = BitSet::new(servers as usize);
        let listed = configuration.present.clone();
        for server in listed.unwrap_or_else(|| (0..servers).collect()) {
            if server >= servers {
                let fix = "Name servers of the structure.";
                return Err(wrong("servers", &server, &format!("less than {servers}"), fix));
            }
            present.insert(server);
        }
        let count = present.iter().count();
        if count > DESTINATIONS {
            let fix = "Emulate a slice.";
            return Err(wrong("servers", &count, &format!("at most {DESTINATIONS}"), fix));
        }
        let structure = Structure {
            group_level: settings.group_level.min(shape.k()),
            shape: Arc::new(shape),
            present: Arc::new(present),
        };
        if !structure.is_present(configuration.server) {
            let fix = "Name a server of the run.";
            return Err(wrong(
                "server",
                &configuration.server,
                &"one of the servers present",
                fix,
            ));
        }
        Ok(structure)
    }

    /// The arithmetic of addresses.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The level `b` of DCell_b, at most `k`.
    pub fn group_level(&self) -> usize {
        self.group_level
    }

    /// Whether the server exists in this run.
    pub fn is_present(&self, server: NodeId) -> bool {
        server < self.shape.servers() && self.present.contains(server)
    }

    /// The existing servers in ascending order.
    pub fn servers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.present.iter()
    }

    /// 1 + the index of a server's DCell_b, as in headers.
    pub fn cell(&self, server: NodeId) -> u16 {
        let cell = self.shape.cell(server, self.group_level);
        u16::try_from(cell + 1).unwrap_or(u16::MAX)
    }

    /// The links of a server to other servers that exist.
    pub fn links_of(&self, server: NodeId) -> BTreeSet<LinkEnd> {
        let (shape, mates) = (self.shape(), self.shape.size(0) as u32);
        let first = server / mates * mates;
        let same_switch = (first..first + mates).filter(|&mate| mate != server);
        let cables = (1..=shape.k()).filter_map(|level| Some((shape.peer(server, level)?, level as u8)));
        let links = same_switch.map(|mate| (mate, 0)).chain(cables);
        links
            .filter(|&(neighbour, _)| self.is_present(neighbour))
            .map(|(neighbour, port)| LinkEnd {
                port,
                neighbour,
                far_port: port,
            })
            .collect()
    }

    /// The existing servers of a server's DCell_b, with their links.
    pub fn group(&self, server: NodeId) -> Plan {
        let size = self
            .shape
            .size(self.group_level)
            .min(u64::from(self.shape.servers())) as u32;
        let first = server / size * size;
        let end = first.saturating_add(size).min(self.shape.servers());
        let there = (first..end).filter(|&member| self.is_present(member));
        there.map(|member| (member, self.links_of(member))).collect()
    }

    /// The neighbours of a configuration's server as links, in the configuration's order. The port
    /// is the level at both ends.
    ///
    /// Errors: a neighbour that the structure does not have.
    pub fn neighbours(&self, configuration: &Configuration) -> Result<Vec<LinkEnd>, ConfigurationError> {
        let links = self.links_of(configuration.server);
        let listed = configuration.ports.iter().flat_map(|port| {
            let neighbours = port.neighbours.iter();
            neighbours.map(|neighbour| LinkEnd {
                port: port.port,
                neighbour: neighbour.server,
                far_port: neighbour.port,
            })
        });
        let listed: Vec<LinkEnd> = listed.collect();
        let stranger = listed.iter().find(|link| !links.contains(link));
        stranger.map_or(Ok(listed.clone()), |link| {
            let value = format!("server {} at port {}", link.neighbour, link.port);
            let fix = "Describe the topology's own links.";
            Err(wrong("ports", &value, &"a neighbour of the structure", fix))
        })
    }
}
