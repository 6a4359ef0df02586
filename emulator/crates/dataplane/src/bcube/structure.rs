//! Converts between source routes and lists of servers of a BCube.
//!
//! The address arithmetic is in `cubeyard_routing::bcube::Shape`; this module adds the set of
//! existing servers.

use cubeyard_routing::BitSet;
use cubeyard_routing::bcube::{Hop, Hops, Shape};
use cubeyard_topology::{NodeId, Topology, TopologySpec};

use super::nha::Nha;
use super::route::{NumberedPath, SourceRoute};
use crate::address::MAX_SERVER;
use crate::configuration::{Configuration, ConfigurationError};

/// A BCube with the set of its existing servers.
#[derive(Debug)]
pub struct Structure {
    shape: Shape,
    present: BitSet,
}

/// A path with the servers on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Hops and number of the path.
    pub numbered: NumberedPath,
    /// The servers, both ends included.
    pub servers: Vec<NodeId>,
}

impl Path {
    /// The pairs of consecutive servers.
    pub fn pairs(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.servers.windows(2).map(|pair| (pair[0], pair[1]))
    }

    /// Number of hops.
    pub fn hops(&self) -> usize {
        self.numbered.route.hops().len()
    }
}

/// Whether a topology can run BCube: it must be a BCube whose addresses fit the header.
pub fn check(spec: &TopologySpec) -> Result<(), ConfigurationError> {
    shape(spec).map(|_| ())
}

fn wrong(field: &str, value: String, limit: &str, fix: &str) -> ConfigurationError {
    ConfigurationError {
        field: field.to_owned(),
        value,
        limit: limit.to_owned(),
        fix: fix.to_owned(),
    }
}

fn shape(spec: &TopologySpec) -> Result<Shape, ConfigurationError> {
    let topology = Topology::build(spec).map_err(|error| {
        wrong(
            "spec",
            error.to_string(),
            "a topology that can be built",
            "See its findings.",
        )
    })?;
    let shape = Shape::new(&topology).ok_or_else(|| {
        wrong(
            "spec.family",
            spec.family().to_owned(),
            "bcube",
            "Take a BCube, or a protocol of this family.",
        )
    })?;
    let fix =
        "A next hop in the header has 2 bits for the level and 6 for the digit: take a smaller topology.";
    if shape.levels > usize::from(Nha::LEVELS) {
        let limit = format!("at most {}", Nha::LEVELS - 1);
        return Err(wrong("spec.k", (shape.levels - 1).to_string(), &limit, fix));
    }
    let widest = shape.radix.iter().copied().max().unwrap_or(0);
    if widest > u32::from(Nha::DIGITS) {
        let limit = format!("at most {}", Nha::DIGITS);
        return Err(wrong("spec.n", widest.to_string(), &limit, fix));
    }
    if shape.servers() > MAX_SERVER + 1 {
        let limit = format!("at most {}", MAX_SERVER + 1);
        return Err(wrong(
            "spec.servers",
            shape.servers().to_string(),
            &limit,
            "Take a smaller topology.",
        ));
    }
    Ok(shape)
}

impl Structure {
    /// The structure of a configuration, which must be a BCube whose addresses fit the header.
    pub fn new(configuration: &Configuration) -> Result<Structure, ConfigurationError> {
        let shape = shape(&configuration.spec)?;
        let servers = shape.servers();
        let mut present = BitSet::new(servers as usize);
        let listed = configuration.present.clone();
        for server in listed.unwrap_or_else(|| (0..servers).collect()) {
            if server >= servers {
                let limit = format!("less than {servers}");
                return Err(wrong(
                    "servers",
                    server.to_string(),
                    &limit,
                    "Name servers of the structure.",
                ));
            }
            present.insert(server);
        }
        if configuration.server >= servers || !present.contains(configuration.server) {
            return Err(wrong(
                "server",
                configuration.server.to_string(),
                "one of the servers present",
                "Name a server of the run.",
            ));
        }
        Ok(Structure { shape, present })
    }

    /// The arithmetic of addresses.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether the server exists in this run.
    pub fn is_present(&self, server: NodeId) -> bool {
        server < self.shape.servers() && self.present.contains(server)
    }

    /// The existing servers in ascending order.
    pub fn servers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.present.iter()
    }

    /// The neighbour of `at` that a next hop names; `None` if there is none, or the hop leads back
    /// to `at`.
    pub fn neighbour(&self, at: NodeId, nha: Nha) -> Option<NodeId> {
        let (level, digit) = (nha.level() as usize, nha.digit());
        let known = level < self.shape.levels && digit < self.shape.radix[level];
        (known && self.shape.digit(at, level) != digit).then(|| self.shape.with_digit(at, level, digit))
    }

    /// The next-hop byte of a neighbour behind a port, whose number is the level. `None` unless the
    /// two addresses differ at exactly that level.
    pub fn key(&self, server: NodeId, port: u8, neighbour: NodeId) -> Option<Nha> {
        let known = usize::from(port) < self.shape.levels && neighbour < self.shape.servers();
        let nha = known.then(|| Nha::new(port.into(), self.shape.digit(neighbour, port.into())))??;
        (self.neighbour(server, nha) == Some(neighbour)).then_some(nha)
    }

    /// The path of a route from `source`; `None` if a hop has no neighbour or the path visits a
    /// server twice.
    pub fn path(&self, source: NodeId, route: &SourceRoute) -> Option<Path> {
        if source >= self.shape.servers() {
            return None;
        }
        let mut servers = vec![source];
        servers.extend(route.servers(&self.shape, source)?);
        let twice = |(place, server)| servers[..place].contains(server);
        if servers.iter().enumerate().any(twice) {
            return None;
        }
        let destination = servers.last().copied()?;
        Some(Path {
            numbered: NumberedPath::new(source, destination, *route),
            servers,
        })
    }

    /// The path of a search result; `None` if it is too long for a header.
    pub fn path_of_hops(&self, source: NodeId, hops: &Hops) -> Option<Path> {
        let route = hops.iter().map(|hop| {
            let digit = self.shape.digit(hop.server, usize::from(hop.level));
            Nha::new(u32::from(hop.level), digit)
        });
        self.path(source, &SourceRoute::new(route.collect::<Option<Vec<_>>>()?)?)
    }

    /// A path in the format of a search.
    pub fn hops_of(&self, path: &Path) -> Hops {
        let levels = path.numbered.route.hops().iter().map(|hop| hop.level() as u8);
        let reached = path.servers[1..].iter().zip(levels);
        reached.map(|(&server, level)| Hop { server, level }).collect()
    }

    /// The route back along these consecutive servers, from the last to the first; `None` for fewer
    /// than two.
    pub fn reverse(&self, servers: &[NodeId]) -> Option<SourceRoute> {
        let backwards: Vec<NodeId> = servers.iter().rev().copied().collect();
        SourceRoute::through(&self.shape, *backwards.first()?, &backwards[1..])
    }

    /// A number that depends only on how two addresses differ. If all servers use it for a choice,
    /// their choices are symmetric and spread evenly. `[ours]`
    pub fn difference(&self, from: NodeId, to: NodeId) -> u32 {
        let shape = &self.shape;
        (0..shape.levels)
            .map(|level| {
                let radix = shape.radix[level];
                (shape.digit(to, level) + radix - shape.digit(from, level)) % radix
            })
            .sum()
    }
}
