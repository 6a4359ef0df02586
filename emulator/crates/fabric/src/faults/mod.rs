//! Faults as the caller sends them, checked against the catalogue of kinds and the network, and the
//! condition of the network under a set of them. Pure functions.
//!
//! Recovering a fault undoes nothing by itself: the condition of everything is derived again from
//! the faults that are left, so that faults may overlap and be recovered in any order. The kinds,
//! their targets and the limits of their parameters are in `cubeyard_topology::faults`.

mod conditions;

use cubeyard_topology::faults::FaultKind;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use conditions::{Conditions, EndCondition, QueueCondition, ServerCondition};

use crate::error::{FabricError, Result};
use crate::network::{Network, PortEnd};

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
    /// Kind of the fault.
    pub kind: FaultKind,
    /// Effect on the network.
    pub effect: Effect,
}

/// The effect of a fault, by index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Ends the process of a server and takes its carriers away.
    Kill(usize),
    /// Pauses the process of a server.
    Freeze(usize),
    /// Takes the carrier of a link away.
    Pull(usize),
    /// Makes both ends of a link drop all packets.
    Cut(usize),
    /// Sets one end of a link down.
    Down(usize, usize),
    /// Makes all links of a server drop all packets.
    Mute(usize),
    /// Makes a switch forward nothing.
    Silence(usize),
    /// Takes the carriers of a switch away.
    SwitchOff(usize),
    /// Gives a link another rate, in bits per second.
    Rate(usize, f64),
    /// Makes a link lose this share of its packets.
    Loss(usize, f64),
    /// Makes a link delay packets by this many seconds.
    Delay(usize, f64),
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
        check_parameters(json.kind, &json.parameters)?;
        Ok(Fault {
            id: fault_name(&json.id)?,
            kind: json.kind,
            effect: effect_of(network, &json)?,
        })
    }

    /// Whether the kernel needs `netem` for this fault.
    pub fn needs_netem(&self) -> bool {
        matches!(self.effect, Effect::Delay(..))
    }
}

/// Checks that the kind's parameters are present and within their limits, and that there are no
/// unknown ones.
fn check_parameters(kind: FaultKind, given: &Map<String, Value>) -> Result<()> {
    let catalog = cubeyard_topology::faults::CATALOG.iter();
    let known: Vec<&str> = catalog
        .flat_map(|entry| entry.parameters)
        .map(|flat_map| flat_map.name)
        .collect();
    // Parameters of other kinds are ignored: callers send one document for all kinds.
    if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
        let message = format!("fault.{name}: there is no such field");
        return Err(FabricError::malformed(message));
    }
    for parameter in kind.entry().parameters {
        let value = given.get(parameter.name).unwrap_or(&Value::Null);
        if !value.as_f64().is_some_and(|value| parameter.allows(value)) {
            let field = format!("fault.{}", parameter.name);
            let fix = "give a number within these limits";
            return Err(FabricError::bad(field, value, parameter.limits(), fix));
        }
    }
    Ok(())
}

fn effect_of(network: &Network, json: &FaultJson) -> Result<Effect> {
    let wrong_target = |limit: &str| {
        let fix = "name a target of that type";
        FabricError::bad("fault.target", format!("{:?}", json.target), limit, fix)
    };
    let server = || match json.target {
        Target::Server(id) => network.server(id),
        _ => Err(wrong_target("a server with this kind of fault")),
    };
    let switch = || match json.target {
        Target::Switch(id) => network.switch(id),
        _ => Err(wrong_target("a switch with this kind of fault")),
    };
    let port = || -> Result<PortEnd> {
        let Target::Port([id, port]) = json.target else {
            return Err(wrong_target("a port with this kind of fault"));
        };
        let server = network.server(id)?;
        let end = u16::try_from(port)
            .ok()
            .and_then(|port| network.port(server, port));
        end.ok_or_else(|| {
            let given = format!("{port} of server {id}");
            FabricError::not_found("port", given, "name a port that has a link")
        })
    };
    let link = || match json.target {
        Target::Link(id) => network.link(id),
        Target::Port(_) => Ok(port()?.link),
        _ => Err(wrong_target(
            "a link, or a port of a server, with this kind of fault",
        )),
    };
    // `check_parameters` has verified that all required parameters are present.
    let number = |name: &str| {
        json.parameters
            .get(name)
            .and_then(Value::as_f64)
            .unwrap_or_default()
    };
    Ok(match exact_kind(json) {
        FaultKind::ServerKilled | FaultKind::ServerOff => Effect::Kill(server()?),
        FaultKind::ServerFrozen => Effect::Freeze(server()?),
        FaultKind::ServerSilent => Effect::Mute(server()?),
        FaultKind::Down | FaultKind::CablePulled => Effect::Pull(link()?),
        FaultKind::CableCutSilent => Effect::Cut(link()?),
        // A port-down fault on a link between switches names the link; it applies to the link's
        // first end.
        FaultKind::PortDown if matches!(json.target, Target::Link(_)) => Effect::Down(link()?, 0),
        FaultKind::PortDown => {
            let port = port()?;
            Effect::Down(port.link, port.end)
        }
        FaultKind::SwitchSilent => Effect::Silence(switch()?),
        FaultKind::SwitchOff => Effect::SwitchOff(switch()?),
        FaultKind::LinkRate => Effect::Rate(link()?, number("rate_bits_per_sec")),
        FaultKind::LinkLoss => Effect::Loss(link()?, number("loss_ratio")),
        FaultKind::LinkDelay => Effect::Delay(link()?, number("delay_secs")),
    })
}

/// The exact kind for the target of a general kind.
fn exact_kind(json: &FaultJson) -> FaultKind {
    match (json.kind.entry().stands_for, json.target) {
        (None, _) => json.kind,
        (Some(stands_for), Target::Server(_)) => stands_for.server,
        (Some(stands_for), Target::Switch(_)) => stands_for.switch,
        (Some(stands_for), Target::Link(_) | Target::Port(_)) => stands_for.link,
    }
}
