//! Faults as the caller sends them, checked against the catalogue of kinds and the network, and the
//! condition of the network under a set of them. Pure functions.
//!
//! Recovering a fault undoes nothing by itself: the condition of everything is derived again from
//! the faults that are left, so that faults may overlap and be recovered in any order. Kinds,
//! parameters, their check and effects are in `cubeyard_topology::fault`. Nothing here names a
//! kind.

mod conditions;

use cubeyard_topology::Finding;
use cubeyard_topology::fault::{Effect, FaultKind, FaultTarget, LinkEffect, Values};
use serde::Deserialize;
use serde_json::{Map, Value};

pub use conditions::{Conditions, EndCondition, QueueCondition, ServerCondition};

use crate::error::{FabricError, Result};
use crate::network::{Network, Place};

/// The target of a fault, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Target {
    Server(u32),
    Switch(u32),
    Link(u32),
    /// The port of a server, with the link on it.
    Port([u32; 2]),
}

#[derive(Debug, Deserialize)]
struct FaultJson {
    id: Value,
    kind: FaultKind,
    target: Target,
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

/// A checked fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The caller's id of the fault.
    pub id: String,
    /// Name of its kind.
    pub kind: &'static str,
    /// The part of the network that fails.
    pub part: Part,
    /// Its effect on that part.
    pub effect: Effect,
    /// The queueing discipline that it needs.
    pub needs: Option<&'static str>,
}

/// The part of the network that a fault affects, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A server with its links.
    Server(usize),
    /// A switch with its links.
    Switch(usize),
    /// A link, and the end at which a port is set down.
    Link(usize, usize),
}

/// Reads a fault's id: a string, or a number, which is converted.
pub fn fault_name(id: &Value) -> Result<String> {
    match id {
        Value::String(text) if (1..=64).contains(&text.len()) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => {
            let limit = "a number, or 1 to 64 characters";
            Err(FabricError::bad("fault.id", other, limit, "name the fault"))
        }
    }
}

impl Fault {
    /// Reads a fault and checks it against the catalogue and the network.
    pub fn from_json(network: &Network, fault: Value) -> Result<Fault> {
        let json: FaultJson = serde_path_to_error::deserialize(fault)
            .map_err(|error| FabricError::malformed(format!("fault.{}: {}", error.path(), error.inner())))?;
        let values = Values::from_json(&json.parameters)
            .map_err(|message| FabricError::malformed(format!("fault: {message}")))?;
        if let Some(finding) = json.kind.check(&values, "fault").into_iter().next() {
            return Err(refused(finding));
        }
        let part = part_of(network, json.target)?;
        let target = match part {
            Part::Server(_) => FaultTarget::Server,
            Part::Switch(_) => FaultTarget::Switch,
            Part::Link(..) => FaultTarget::Link,
        };
        let exact = json.kind.exact(target);
        if exact.entry().target != target {
            let limit = match exact.entry().target {
                FaultTarget::Server => "a server with this kind of fault",
                FaultTarget::Switch => "a switch with this kind of fault",
                _ => "a link, or a port of a server, with this kind of fault",
            };
            let fix = "name a target of that type";
            return Err(FabricError::bad(
                "fault.target",
                format!("{:?}", json.target),
                limit,
                fix,
            ));
        }
        Ok(Fault {
            id: fault_name(&json.id)?,
            kind: json.kind.name(),
            part,
            effect: exact.effect(&values),
            needs: exact.entry().needs(),
        })
    }

    /// Whether it changes a server's process and nothing of the network.
    pub fn is_of_process_only(&self) -> bool {
        self.effect.links == LinkEffect::Unchanged
    }
}

fn refused(finding: Finding) -> FabricError {
    let limit = finding.limit.as_ref().and_then(Value::as_str);
    match limit {
        Some(limit) => FabricError::bad(
            finding.field,
            finding.value.unwrap_or_default(),
            limit,
            "give a number within these limits",
        ),
        None => FabricError::malformed(format!("{}: {} {}", finding.field, finding.message, finding.hint)),
    }
}

fn part_of(network: &Network, target: Target) -> Result<Part> {
    Ok(match target {
        Target::Server(id) => Part::Server(network.server(id)?),
        Target::Switch(id) => Part::Switch(network.switch(id)?),
        Target::Link(id) => {
            let link = network.link(id)?;
            // The first end at a server is the port, else the first of two switches.
            let at_server = network.places[link]
                .iter()
                .position(|place| !Place::is_switch(place));
            Part::Link(link, at_server.unwrap_or(0))
        }
        Target::Port([id, port]) => {
            let server = network.server(id)?;
            let end = u16::try_from(port)
                .ok()
                .and_then(|port| network.port(server, port))
                .ok_or_else(|| {
                    let given = format!("{port} of server {id}");
                    FabricError::not_found("port", given, "name a port that has a link")
                })?;
            Part::Link(end.link, end.end)
        }
    })
}
