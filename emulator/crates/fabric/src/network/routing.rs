//! Input for routes where switches are routers: the topology, and which of its parts are in the
//! network.

use std::net::Ipv4Addr;

use cubeyard_dataplane::address::{switch_ip, virtual_ip};
use cubeyard_dataplane::catalog::SwitchKind;
use cubeyard_routing::Failures;
use cubeyard_routing::subflows::{MAX_SUBFLOWS, PortAddresses, Subflow};
use cubeyard_routing::subways::{LinkWeights, RackDetours};
use cubeyard_routing::tables::{Balance, Tables};
use cubeyard_topology::Topology;

use super::{Network, Place};
use crate::error::{FabricError, Result};
use crate::host::probe;

/// Input for the subflows of MPTCP's connections.
#[derive(Clone, Debug)]
struct Subflows {
    addresses: PortAddresses,
    /// Most subflows of a connection; `None` for as many as the addresses allow.
    most: Option<u32>,
}

/// The topology of a network of routers, of which the network may be a slice.
#[derive(Clone, Debug)]
pub struct Routing {
    topology: Topology,
    balance: Balance,
    /// Subflows of MPTCP connections; `None` where flows cannot be MPTCP.
    subflows: Option<Subflows>,
    /// Parts of the topology that are missing in the network.
    outside: Failures,
}

impl Routing {
    /// Derives the input; `None` unless switches are routers. Errors: a network on several hosts, a
    /// link outside the topology, an unknown balance.
    pub fn of(network: &Network) -> Result<Option<Routing>> {
        let entry = network.behaviour.entry;
        if entry.switches != SwitchKind::Router {
            return Ok(None);
        }
        if let Some(hosts) = network
            .description
            .hosts
            .as_ref()
            .filter(|hosts| hosts.underlays.len() > 1)
        {
            let given = format!("{} hosts", hosts.underlays.len());
            let limit = format!("one host with the protocol {}: a router has no parts", entry.name);
            let fix = "emulate it on one host";
            return Err(FabricError::bad("network.hosts", given, limit, fix));
        }
        let topology = Topology::build(&network.spec).map_err(|error| {
            let given = network.description.spec.to_string();
            FabricError::bad(
                "network.spec",
                given,
                error.to_string(),
                "take the spec from the experiment",
            )
        })?;
        if topology.servers_relay() {
            let limit = "a protocol whose servers forward packets, in this family";
            return Err(FabricError::bad(
                "network.protocol",
                entry.name,
                limit,
                "take it from the profile",
            ));
        }
        let name = network.description.balance.as_deref();
        let balance = name.map_or(Some(Balance::default()), Balance::named);
        let suits = |balance: &Balance| balance.suits(topology.spec());
        let balance = balance.filter(suits).ok_or_else(|| {
            let names = Balance::ALL.into_iter().filter(suits);
            let names: Vec<&str> = names.map(Balance::name).collect();
            let fix = "leave it out for the default";
            FabricError::bad(
                "network.balance",
                name.unwrap_or_default(),
                format!("one of {}", names.join(", ")),
                fix,
            )
        })?;
        let outside = outside(network, &topology)?;
        Ok(Some(Routing {
            subflows: subflows(network, &topology, balance)?,
            topology,
            balance,
            outside,
        }))
    }

    /// The topology, including parts outside the network.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How routers spread flows.
    pub fn balance(&self) -> Balance {
        self.balance
    }

    /// The ports with separate addresses of the server with this id; none where flows cannot be
    /// MPTCP.
    pub fn addressed_ports(&self, server: u32) -> &[u8] {
        let subflows = self.subflows.as_ref();
        subflows.map_or(&[], |subflows| subflows.addresses.ports(server))
    }

    /// The subflows of an MPTCP connection between two servers, by id; `None` where flows cannot be
    /// MPTCP.
    pub fn subflows(&self, connection: u32, ends: [u32; 2]) -> Option<Vec<Subflow>> {
        let subflows = self.subflows.as_ref()?;
        Some(subflows.addresses.subflows(connection, ends, subflows.most))
    }

    /// Whether flows may be MPTCP.
    pub fn has_subflows(&self) -> bool {
        self.subflows.is_some()
    }

    /// The parts of the topology that routing must avoid while these links and servers, given by
    /// index, cannot be used.
    pub fn failures(
        &self,
        network: &Network,
        links: impl Iterator<Item = usize>,
        servers: impl Iterator<Item = usize>,
    ) -> Failures {
        let mut failures = self.outside.clone();
        links.for_each(|link| failures.fail_link(network.description.links[link].id));
        servers.for_each(|server| failures.fail_node(network.description.servers[server].id));
        failures
    }

    /// The tables of all nodes.
    pub fn tables(&self, failures: &Failures) -> Option<Tables> {
        let tables = Tables::new(&self.topology, failures, self.balance)?;
        Some(match &self.subflows {
            Some(_) => tables.with_ports(&self.topology, failures, self.balance),
            None => tables,
        })
    }

    /// The tables of all nodes by the weights that controllers have set, and by detours: by server
    /// where there are any, out of its rack and towards it.
    pub fn tables_by_load(
        &self,
        failures: &Failures,
        weights: &LinkWeights,
        detours: [&[RackDetours]; 2],
    ) -> Option<Tables> {
        match self.balance {
            Balance::ByDetour => Tables::with_detours(&self.topology, failures, weights, detours),
            _ => Tables::by_load(&self.topology, failures, weights),
        }
    }
}

/// Checks the description's setting of subflows.
fn subflows(network: &Network, topology: &Topology, balance: Balance) -> Result<Option<Subflows>> {
    let Some(most) = network.description.subflows else {
        return Ok(None);
    };
    if most > MAX_SUBFLOWS {
        let limit = format!("0 to {MAX_SUBFLOWS}");
        return Err(FabricError::bad(
            "network.subflows",
            most,
            limit,
            "take 0 for the default",
        ));
    }
    if balance.follows_load() {
        let (given, limit) = (
            balance.name(),
            "ecmp or wcmp with MPTCP, which spreads connections itself",
        );
        return Err(FabricError::bad(
            "network.balance",
            given,
            limit,
            "leave one of the two out",
        ));
    }
    probe::check_mptcp()?;
    Ok(Some(Subflows {
        addresses: PortAddresses::of(topology),
        most: (most > 0).then_some(most),
    }))
}

/// Checks the ids and links of the network against the topology. Returns the parts that the network
/// leaves out.
fn outside(network: &Network, topology: &Topology) -> Result<Failures> {
    let description = &network.description;
    let mut outside = Failures::none(topology);
    (0..topology.node_count()).for_each(|node| outside.fail_node(node));
    (0..topology.link_count() as u32).for_each(|link| outside.fail_link(link));
    let nodes = description.servers.iter().map(|server| (server.id, true));
    for (id, is_server) in nodes.chain(description.switches.iter().map(|switch| (switch.id, false))) {
        if id >= topology.node_count() || topology.is_server(id) != is_server {
            let limit = "the ids of servers and switches of the topology";
            return Err(FabricError::bad(
                "network.switches",
                id,
                limit,
                "take them from the engine",
            ));
        }
        outside.recover_node(id);
    }
    let links = topology.links();
    for (at, link) in description.links.iter().enumerate() {
        let wired = |id: usize| {
            id < links.len()
                && link.a == [links.a[id], links.a_port[id].into()]
                && link.b == [links.b[id], links.b_port[id].into()]
        };
        if !wired(link.id as usize) {
            let field = format!("network.links[{at}]");
            let given = format!("{:?} to {:?}", link.a, link.b);
            return Err(FabricError::bad(
                field,
                given,
                "a link of the topology",
                "take it from the engine",
            ));
        }
        outside.recover_link(link.id);
    }
    Ok(outside)
}

/// The address of a server or router in a network of routers.
pub fn node_address(network: &Network, place: Place) -> Ipv4Addr {
    let address = match place {
        Place::Server { server, .. } => virtual_ip(network.description.servers[server].id),
        Place::Switch { switch, .. } => switch_ip(network.description.switches[switch].id),
    };
    // Ids beyond the last address were refused when the description was checked.
    address.unwrap_or(Ipv4Addr::UNSPECIFIED)
}
