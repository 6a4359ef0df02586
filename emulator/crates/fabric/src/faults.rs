//! Faults as data, and what the network looks like under a set of them. Pure.
//!
//! A fault is never undone by itself: the condition of everything follows anew from the faults that are left, so that
//! faults may overlap and be recovered in any order.

use serde::Deserialize;
use serde_json::Value;

use crate::error::{FabricError, Result};
use crate::network::{Checked, Place, check_rate};

/// What breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A server's process ends at once and its ports lose their carrier.
    ServerKilled,
    /// A server's process stops being run; its kernel goes on forwarding.
    ServerFrozen,
    /// A server without power: like killed.
    ServerOff,
    /// A cable pulled: both ends lose their carrier.
    CablePulled,
    /// A cable that carries nothing, with a carrier.
    CableCutSilent,
    /// A port set down by its server.
    PortDown,
    /// A switch that forwards nothing, with carriers.
    SwitchSilent,
    /// A switch without power.
    SwitchOff,
    /// A link at another rate.
    LinkRate,
    /// A link that loses packets.
    LinkLoss,
    /// A link that takes longer.
    LinkDelay,
}

/// What is struck, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A server.
    Server(u32),
    /// A switch.
    Switch(u32),
    /// A link.
    Link(u32),
    /// The port of a server, and the link on it.
    Port([u32; 2]),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultJson {
    id: Value,
    kind: Kind,
    target: Target,
    #[serde(default)]
    rate_bits_per_sec: Option<f64>,
    #[serde(default)]
    loss_ratio: Option<f64>,
    #[serde(default)]
    delay_secs: Option<f64>,
}

/// A checked fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The caller's name for it.
    pub id: String,
    /// What breaks.
    pub kind: Kind,
    /// What it does.
    pub effect: Effect,
}

/// What a fault does, by index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Ends the process of a server and takes its carriers away.
    Kill(usize),
    /// Stops the process of a server.
    Freeze(usize),
    /// Takes the carrier of a link away.
    Pull(usize),
    /// Has both ends of a link drop all they would send.
    Cut(usize),
    /// Sets one end of a link down.
    Down(usize, usize),
    /// Has a switch forward nothing.
    Silence(usize),
    /// Takes the carriers of a switch away.
    SwitchOff(usize),
    /// Gives a link another rate.
    Rate(usize, f64),
    /// Has a link lose this part of its packets.
    Loss(usize, f64),
    /// Has a link hold packets for so many seconds.
    Delay(usize, f64),
}

/// A fault's name in a request: a string, or a number taken as one.
pub fn fault_name(id: &Value) -> Result<String> {
    match id {
        Value::String(text) if (1..=64).contains(&text.len()) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(FabricError::bad(
            "fault.id",
            other,
            "a number or up to 64 letters",
            "name the fault",
        )),
    }
}

impl Fault {
    /// Reads a fault and checks it against the network.
    pub fn from_json(network: &Checked, fault: Value) -> Result<Fault> {
        let json: FaultJson = serde_path_to_error::deserialize(fault)
            .map_err(|error| FabricError::malformed(format!("fault.{}: {}", error.path(), error.inner())))?;
        let id = fault_name(&json.id)?;
        let effect = effect_of(network, &json)?;
        Ok(Fault {
            id,
            kind: json.kind,
            effect,
        })
    }

    /// Whether the kernel needs `netem` for it.
    pub fn needs_netem(&self) -> bool {
        matches!(self.effect, Effect::Loss(..) | Effect::Delay(..))
    }
}

fn effect_of(network: &Checked, json: &FaultJson) -> Result<Effect> {
    let wrong_target = |limit: &str| {
        FabricError::bad(
            "fault.target",
            format!("{:?}", json.target),
            limit,
            "strike something of that sort",
        )
    };
    let server = || match json.target {
        Target::Server(id) => network.server(id),
        _ => Err(wrong_target("a server with this kind of fault")),
    };
    let switch = || match json.target {
        Target::Switch(id) => network.switch(id),
        _ => Err(wrong_target("a switch with this kind of fault")),
    };
    let port = || match json.target {
        Target::Port([id, port]) => {
            let server = network.server(id)?;
            let port = u16::try_from(port).unwrap_or(u16::MAX);
            network.port(server, port).ok_or_else(|| {
                FabricError::not_found(
                    "port",
                    format!("{port} of server {id}"),
                    "name a port that has a link",
                )
            })
        }
        _ => Err(wrong_target("a port with this kind of fault")),
    };
    let link = || match json.target {
        Target::Link(id) => network.link(id),
        Target::Port(_) => Ok(port()?.0),
        _ => Err(wrong_target(
            "a link, or the port it is on, with this kind of fault",
        )),
    };
    Ok(match json.kind {
        Kind::ServerKilled | Kind::ServerOff => Effect::Kill(server()?),
        Kind::ServerFrozen => Effect::Freeze(server()?),
        Kind::CablePulled => Effect::Pull(link()?),
        Kind::CableCutSilent => Effect::Cut(link()?),
        Kind::PortDown => {
            let (link, end) = port()?;
            Effect::Down(link, end)
        }
        Kind::SwitchSilent => Effect::Silence(switch()?),
        Kind::SwitchOff => Effect::SwitchOff(switch()?),
        Kind::LinkRate => {
            let rate = json.rate_bits_per_sec.unwrap_or(f64::NAN);
            check_rate("fault.rate_bits_per_sec", rate)?;
            Effect::Rate(link()?, rate)
        }
        Kind::LinkLoss => Effect::Loss(link()?, within("fault.loss_ratio", json.loss_ratio, 1.0)?),
        Kind::LinkDelay => Effect::Delay(link()?, within("fault.delay_secs", json.delay_secs, 10.0)?),
    })
}

fn within(field: &str, value: Option<f64>, most: f64) -> Result<f64> {
    match value {
        Some(value) if (0.0..=most).contains(&value) => Ok(value),
        _ => {
            let given = value.map_or("missing".to_owned(), |value| value.to_string());
            Err(FabricError::bad(
                field,
                given,
                format!("0 to {most}"),
                "give a number in these bounds",
            ))
        }
    }
}

/// How one end of a link is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndCondition {
    /// Whether it is set up.
    pub up: bool,
    /// What it does with what it sends.
    pub queue: QueueCondition,
    /// Its rate.
    pub rate_bits_per_sec: f64,
}

/// What an end does with what it sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueCondition {
    /// Holds it back at its rate.
    Normal,
    /// Drops it.
    Cut,
    /// Loses part of it and holds the rest.
    Impaired {
        /// Seconds it is held.
        delay_secs: f64,
        /// Part that is lost.
        loss: f64,
    },
}

/// How a server's process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerCondition {
    /// It runs.
    #[default]
    Running,
    /// It is stopped.
    Frozen,
    /// It has ended.
    Killed,
}

/// How everything is.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    /// Both ends of every link.
    pub ends: Vec<[EndCondition; 2]>,
    /// Whether each switch forwards.
    pub switches: Vec<bool>,
    /// Every server's process.
    pub servers: Vec<ServerCondition>,
}

impl Conditions {
    /// How everything is under these faults, in any order. On one link the least rate counts, delays add up, and a packet
    /// has to survive each loss: as the flow engine takes it.
    pub fn under<'a>(network: &Checked, faults: impl IntoIterator<Item = &'a Fault>) -> Conditions {
        let normal = |link: usize| EndCondition {
            up: true,
            queue: QueueCondition::Normal,
            rate_bits_per_sec: network.rate_bits_per_sec(link),
        };
        let mut conditions = Conditions {
            ends: (0..network.network.links.len())
                .map(|link| [normal(link); 2])
                .collect(),
            switches: vec![true; network.network.switches.len()],
            servers: vec![ServerCondition::Running; network.network.servers.len()],
        };
        for fault in faults {
            conditions.strike(network, fault.effect);
        }
        conditions
    }

    fn strike(&mut self, network: &Checked, effect: Effect) {
        match effect {
            Effect::Kill(server) => {
                self.servers[server] = ServerCondition::Killed;
                let is_its =
                    |place: &Place| matches!(place, Place::Server { server: other, .. } if *other == server);
                self.set_down(network, is_its);
            }
            Effect::Freeze(server) => {
                if self.servers[server] == ServerCondition::Running {
                    self.servers[server] = ServerCondition::Frozen;
                }
            }
            Effect::Pull(link) => {
                // One end set down takes the carrier of both. The one at a switch is set down where there is one,
                // so that a server sees what it would: a carrier that is gone.
                let at_switch = |place: &Place| matches!(place, Place::Switch { .. });
                let end = network.places[link].iter().position(at_switch).unwrap_or(1);
                self.ends[link][end].up = false;
            }
            Effect::Cut(link) => {
                for end in &mut self.ends[link] {
                    end.queue = QueueCondition::Cut;
                }
            }
            Effect::Down(link, end) => self.ends[link][end].up = false,
            Effect::Silence(switch) => self.switches[switch] = false,
            Effect::SwitchOff(switch) => {
                self.switches[switch] = false;
                let is_its =
                    |place: &Place| matches!(place, Place::Switch { switch: other, .. } if *other == switch);
                self.set_down(network, is_its);
            }
            Effect::Rate(link, rate) => {
                for end in &mut self.ends[link] {
                    end.rate_bits_per_sec = end.rate_bits_per_sec.min(rate);
                }
            }
            Effect::Loss(link, loss) => self.impair(link, 0.0, loss),
            Effect::Delay(link, delay_secs) => self.impair(link, delay_secs, 0.0),
        }
    }

    fn set_down(&mut self, network: &Checked, is_its: impl Fn(&Place) -> bool) {
        for (places, ends) in network.places.iter().zip(&mut self.ends) {
            for (place, end) in places.iter().zip(ends) {
                end.up &= !is_its(place);
            }
        }
    }

    fn impair(&mut self, link: usize, more_delay_secs: f64, more_loss: f64) {
        for condition in &mut self.ends[link] {
            let (delay_secs, loss) = match condition.queue {
                QueueCondition::Cut => continue,
                QueueCondition::Normal => (0.0, 0.0),
                QueueCondition::Impaired { delay_secs, loss } => (delay_secs, loss),
            };
            condition.queue = QueueCondition::Impaired {
                delay_secs: delay_secs + more_delay_secs,
                loss: 1.0 - (1.0 - loss) * (1.0 - more_loss),
            };
        }
    }
}
