//! The behaviour of a network's servers: a protocol of the catalogue, one of its forwardings, and
//! each server's settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use cubeyard_dataplane::address::port_ip;
use cubeyard_dataplane::catalog::{self, ForwardingEntry, ForwardingKind, ProtocolEntry};
use cubeyard_dataplane::configuration::{Configuration, ConfigurationError, NeighbourAddress, Port, RunPlan};
use cubeyard_dataplane::object::KernelObject;
use cubeyard_dataplane::settings::{self, Given};
use cubeyard_dataplane::tables::TableRules;
use cubeyard_topology::TopologySpec;
use serde_json::Value;

use super::{Description, Neighbour, PortEnd, program};
use crate::error::{FabricError, Result};
use crate::names;

/// Name of the fabric's own setting among those of the protocol: bytes that may wait at an end of a
/// link.
pub const QUEUE_BYTES: &str = "queue_bytes";

/// A protocol with one of its forwardings.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// The protocol that servers run.
    pub entry: &'static ProtocolEntry,
    /// Forwarding of packets; `None` where servers forward nothing.
    pub forwarding: Option<&'static ForwardingEntry>,
}

impl Behaviour {
    /// All settings of the protocol by name: the value in the description, or the default. Errors:
    /// a setting that is not allowed.
    pub fn values(&self, description: &Description) -> Result<BTreeMap<&'static str, f64>> {
        settings::read(self.entry.settings, &own_settings(description)?).map_err(refused)
    }

    /// Looks up protocol and forwarding. Errors name the field and the entries of the catalogue.
    pub fn of(description: &Description) -> Result<Behaviour> {
        let names: Vec<&str> = catalog::PROTOCOLS.iter().map(|entry| entry.name).collect();
        let Some(entry) = catalog::protocol(&description.protocol) else {
            let (given, limit) = (&description.protocol, format!("one of {}", names.join(", ")));
            return Err(FabricError::bad(
                "network.protocol",
                given,
                limit,
                "name a protocol",
            ));
        };
        let forwarding = match (&description.forwarding, entry.forwardings) {
            (None, []) => None,
            (Some(name), _) if entry.forwarding(name).is_some() => entry.forwarding(name),
            (given, forwardings) => {
                let names: Vec<&str> = forwardings.iter().map(|entry| entry.name).collect();
                let limit = match names[..] {
                    [] => format!("absent: servers forward nothing with {}", entry.name),
                    _ => format!("one of {}", names.join(", ")),
                };
                let given = given.clone().unwrap_or_else(|| "absent".to_owned());
                let fix = "take it from the profile of the family";
                return Err(FabricError::bad("network.forwarding", given, limit, fix));
            }
        };
        if let Some(forwarding) =
            forwarding.filter(|forwarding| forwarding.one_host && description.hosts.is_some())
        {
            let fix = "leave network.hosts out, or choose another forwarding";
            let limit = "a forwarding for several hosts";
            return Err(FabricError::bad(
                "network.forwarding",
                forwarding.name,
                limit,
                fix,
            ));
        }
        Ok(Behaviour { entry, forwarding })
    }

    /// Whether servers forward packets, and so have a virtual network card.
    pub fn forwards(&self) -> bool {
        self.forwarding.is_some()
    }

    /// Whether nodes forward packets.
    pub fn in_user_space(&self) -> bool {
        let kind = self.forwarding.map(|forwarding| forwarding.kind);
        matches!(kind, Some(ForwardingKind::Software(_)))
    }

    /// The object whose programs forward packets in the kernel; `None` where the kernel does not
    /// forward.
    pub fn object(&self) -> Option<KernelObject> {
        match self.forwarding?.kind {
            ForwardingKind::Kernel(object) => Some(object),
            ForwardingKind::Software(_) => None,
        }
    }
}

/// The run's plan for its servers, and the rules of its tables.
#[derive(Clone, Debug)]
pub struct Places {
    /// The plan: a configuration per server.
    pub run: Arc<RunPlan>,
    /// `None` where servers forward nothing.
    pub rules: Option<Arc<dyn TableRules>>,
}

impl Places {
    /// Computes every server's configuration and the rules of the run. Errors are those of the
    /// protocol.
    pub fn of(
        description: &Description,
        behaviour: Behaviour,
        spec: &TopologySpec,
        ports: &[Vec<PortEnd>],
        neighbours: &[Vec<Neighbour>],
    ) -> Result<Places> {
        let settings = own_settings(description)?;
        let all: Vec<u32> = description.servers.iter().map(|server| server.id).collect();
        let configuration = |(server, ports): (usize, &Vec<PortEnd>)| Configuration {
            server: description.servers[server].id,
            spec: spec.clone(),
            present: Some(all.clone()),
            gateways: description.gateways.clone(),
            ports: ports
                .iter()
                .map(|port| port_of(description, &neighbours[server], port.port))
                .collect(),
            virtual_nic: names::VIRTUAL_NIC_INDEX,
            rate_bits_per_sec: description.rate_bits_per_sec,
            mtu: description.mtu,
            settings: settings.clone(),
            seed: description.seed,
        };
        let run = RunPlan {
            servers: ports.iter().enumerate().map(configuration).collect(),
        };
        if let Some(text) = &description.program {
            program::check("network.program", text, behaviour.forwarding, &run)?;
        }
        let rules = behaviour.forwarding.map(|forwarding| (forwarding.rules)(&run));
        Ok(Places {
            rules: rules.transpose().map_err(refused)?.map(Arc::from),
            run: Arc::new(run),
        })
    }
}

pub(super) fn refused(error: ConfigurationError) -> FabricError {
    FabricError::bad(
        format!("network.{}", error.field),
        error.value,
        error.limit,
        error.fix,
    )
}

fn port_of(description: &Description, neighbours: &[Neighbour], port: u16) -> Port {
    let reached = neighbours.iter().filter(|neighbour| neighbour.port == port);
    let address = |neighbour: &Neighbour| {
        let server = description.servers[neighbour.server].id;
        let port = neighbour.far_port as u8;
        let ip = port_ip(server, port)?;
        Some(NeighbourAddress { server, port, ip })
    };
    Port {
        port: port as u8,
        name: names::port_name(port),
        interface: names::port_index(port),
        neighbours: reached.filter_map(address).collect(),
    }
}

/// The protocol's settings, without the fabric's own.
fn own_settings(description: &Description) -> Result<Given> {
    let own = description
        .settings
        .iter()
        .filter(|(name, _)| *name != QUEUE_BYTES);
    let number = |(name, value): (&String, &Value)| match value.as_f64() {
        Some(number) => Ok((name.clone(), number)),
        None => {
            let field = format!("network.settings.{name}");
            Err(FabricError::bad(
                field,
                value,
                "a number",
                "leave it out for the default",
            ))
        }
    };
    own.map(number).collect()
}
