//! A network to emulate: the caller's description after its checks, with everything derived from
//! it.
//!
//! All functions here are pure: none calls the kernel. `description` has the caller's document,
//! `index` its ids, `placement` the ends of links, `neighbours` the members of each Ethernet
//! segment, `addresses` and `shaping` the settings of interfaces, `hosts` the division among hosts
//! and `far_ports` the server ports behind their tunnels, `behaviour` the protocol of servers,
//! `routing` the tables of routers, `chips` the requirements of switching chips, `services` those
//! of users' services.

pub mod addresses;
pub mod behaviour;
pub mod chips;
pub mod description;
pub mod far_ports;
pub mod hosts;
pub mod index;
pub mod neighbours;
pub mod placement;
pub mod program;
pub mod routing;
pub mod services;
pub mod shaping;

use std::collections::BTreeSet;

use cubeyard_dataplane::catalog::SwitchKind;
use cubeyard_topology::TopologySpec;
use serde_json::Value;

use behaviour::{Behaviour, Places};
pub use description::Description;
use hosts::Division;
use index::Index;
pub use neighbours::{Member, Neighbour};
pub use placement::{Place, PortEnd};
use routing::Routing;

use crate::congestion;
use crate::error::{FabricError, Result};
use crate::external;
use crate::switches::Rooms;

/// Maximum number of servers of a run on one host.
pub const MAX_SERVERS: usize = 1024;
/// Maximum number of links of a run on one host.
pub const MAX_LINKS: usize = 8192;

/// A checked network with derived data.
#[derive(Clone, Debug)]
pub struct Network {
    /// The caller's description.
    pub description: Description,
    /// Where both ends of every link are.
    pub places: Vec<[Place; 2]>,
    /// The ports of every server, in order.
    pub ports: Vec<Vec<PortEnd>>,
    /// The server ports of each Ethernet segment.
    pub segments: Vec<Vec<Member>>,
    /// Neighbours of every server, ordered by port, then by id.
    pub neighbours: Vec<Vec<Neighbour>>,
    /// Protocol and forwarding of the servers.
    pub behaviour: Behaviour,
    /// The run's plan for each server, and the rules of the run's tables.
    pub places_of_servers: Places,
    /// Parameters of the topology.
    pub spec: TopologySpec,
    /// The division among hosts.
    pub division: Division,
    /// The namespaces of this host's switches.
    pub rooms: Rooms,
    /// Input for routing tables; `None` unless switches are routers.
    pub routing: Option<Routing>,
    /// If switches are chips: the topology's links that the network leaves out, by their nodes.
    pub outside: BTreeSet<(u32, u32)>,
    index: Index,
}

impl Network {
    /// Reads a description from JSON and checks it.
    pub fn from_json(description: Value) -> Result<Network> {
        let description: Description = serde_path_to_error::deserialize(description).map_err(|error| {
            let path = error.path().to_string();
            FabricError::malformed(format!("network.{path}: {}", error.inner()))
        })?;
        Network::new(description)
    }

    /// Checks a description. Errors name the first field that is wrong.
    pub fn new(description: Description) -> Result<Network> {
        check_size("network.servers", description.servers.len(), 1, MAX_SERVERS)?;
        check_size("network.links", description.links.len(), 0, MAX_LINKS)?;
        shaping::check_rate("network.rate_bits_per_sec", description.rate_bits_per_sec)?;
        shaping::check_mtu("network.mtu", description.mtu)?;
        let spec = structure(&description)?;
        let index = Index::new(&description)?;
        let behaviour = Behaviour::of(&description)?;
        let places = placement::place_links(&description, &index, behaviour)?;
        let segments = neighbours::segments(description.switches.len(), &places);
        let servers = description.servers.len();
        let neighbours = neighbours::find_neighbours(behaviour, servers, &places, &segments)?;
        external::check(&description, behaviour, &index)?;
        services::check(&description, behaviour.entry)?;
        congestion::check(&description, behaviour)?;
        let ports = placement::ports_by_server(servers, &places);
        let mut network = Network {
            places_of_servers: Places::of(&description, behaviour, &spec, &ports, &neighbours)?,
            behaviour,
            ports,
            division: Division::default(),
            rooms: Rooms::default(),
            routing: None,
            outside: BTreeSet::new(),
            description,
            places,
            segments,
            neighbours,
            spec,
            index,
        };
        addresses::check(&network)?;
        network.division = Division::of(&network)?;
        network.routing = Routing::of(&network)?;
        network.outside = chips::outside(&network)?;
        network.rooms = Rooms::of(&network);
        Ok(network)
    }

    /// Whether switches forward by tables and detect failures, as routers and chips do.
    pub fn switches_decide(&self) -> bool {
        self.behaviour.entry.switches != SwitchKind::Bridge
    }

    /// Index of a server by its id.
    pub fn server(&self, id: u32) -> Result<usize> {
        let index = self.index.server(id);
        index.ok_or_else(|| FabricError::not_found("server", id, "name a server of network.servers"))
    }

    /// Index of a switch by its id.
    pub fn switch(&self, id: u32) -> Result<usize> {
        let index = self.index.switch(id);
        index.ok_or_else(|| FabricError::not_found("switch", id, "name a switch of network.switches"))
    }

    /// Index of a link by its id.
    pub fn link(&self, id: u32) -> Result<usize> {
        let index = self.index.link(id);
        index.ok_or_else(|| FabricError::not_found("link", id, "name a link of network.links"))
    }

    /// The link on a port of a server.
    pub fn port(&self, server: usize, port: u16) -> Option<PortEnd> {
        self.ports[server].iter().find(|end| end.port == port).copied()
    }

    /// The servers of this host, by index.
    pub fn servers_here(&self) -> impl Iterator<Item = usize> {
        let servers = 0..self.description.servers.len();
        servers.filter(|server| self.division.has_server(*server))
    }

    /// Whether a server is a gateway.
    pub fn is_gateway(&self, server: usize) -> bool {
        self.description
            .gateways
            .contains(&self.description.servers[server].id)
    }
}

fn structure(description: &Description) -> Result<TopologySpec> {
    TopologySpec::from_json(&description.spec).map_err(|error| {
        let limit = format!("the parameters of a topology: {error}");
        let fix = "take the spec from the experiment";
        FabricError::bad("network.spec", description.spec.to_string(), limit, fix)
    })
}

fn check_size(field: &str, count: usize, least: usize, most: usize) -> Result<()> {
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let limit = format!("{least} to {most} entries");
    let fix = "emulate a slice of the network";
    Err(FabricError::bad(field, format!("{count} entries"), limit, fix))
}
