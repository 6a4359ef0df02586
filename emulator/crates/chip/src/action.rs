//! The actions of entries on packets `[serverswitch §3.1, §3.2, §3.3.2, §7]`.
//!
//! `REDIRECT_VIF` sends through the interface table and the modifiers. Every other action leaves
//! the packet as it is: a BCube packet reaches its destination with a TTL of 1 and goes on to the
//! CPU unchanged.

use std::fmt::Write;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::entries::VIFS;
use crate::flaw::Flaw;
use crate::profile::{PARSED_BYTES, PORTS, Profile};

/// Where the packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Forward {
    /// Through an entry of the interface table, with its MACs, and through the modifiers.
    Vif(u16),
    /// Out of a port, unchanged.
    Port(u8),
    /// To no port: the packet is dropped.
    Discard,
    /// A copy out of each port whose bit is set.
    Duplicate(u8),
    /// Sends a copy out of a port; the table of the next lower priority decides on the packet
    /// itself.
    Mirror(u8),
    /// To the CPU port of the port that it came in by: 0 to 4, 1 to 5, 2 to 6, 3 to 7.
    ToCpu,
}

/// A change of the label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mpls {
    /// Pushes a label in front of the existing ones.
    Push(u32),
    /// The outermost label away.
    Pop,
    /// Another label in place of the outermost.
    Swap(u32),
}

/// A change of IP tunnels; `extended` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tunnel {
    /// An outer IPv4 header with these ends.
    Push(Ipv4Addr, Ipv4Addr),
    /// The outer IPv4 header away.
    Pop,
}

/// The action of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Action {
    /// Where the packet goes.
    pub forward: Forward,
    /// A copy of the packet as it came, out of this port.
    pub mirror: Option<u8>,
    /// New DSCP of an IPv4 packet, 0 to 63.
    pub dscp: Option<u8>,
    /// Change of the label stack.
    pub mpls: Option<Mpls>,
    /// Change of IP tunnels.
    pub tunnel: Option<Tunnel>,
    /// A byte of the packet that one is added to, 255 becoming 0.
    pub count_up: Option<u8>,
}

/// The names of `act`.
pub const ACTS: [&str; 6] = [
    "REDIRECT_VIF",
    "REDIRECT_PORT",
    "DISCARD",
    "DUPLICATE",
    "MIRROR",
    "TO_CPU",
];

/// The greatest MPLS label.
pub const MAX_LABEL: u32 = (1 << 20) - 1;

impl Action {
    /// An action that only forwards.
    pub fn to(forward: Forward) -> Action {
        Action {
            forward,
            mirror: None,
            dscp: None,
            mpls: None,
            tunnel: None,
            count_up: None,
        }
    }

    /// Whether the modifiers change anything except TTL and MACs.
    pub fn modifies(&self) -> bool {
        self.dscp.is_some() || self.mpls.is_some() || self.tunnel.is_some() || self.count_up.is_some()
    }
}

/// An action as it is written: every field by its name, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawAction {
    /// The action, one of [`ACTS`].
    pub act: String,
    /// For `REDIRECT_VIF`: the index in the interface table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vif: Option<u64>,
    /// For `REDIRECT_PORT` and `MIRROR`: the port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
    /// For `DUPLICATE`: the ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<u64>>,
    /// Port of a copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirror: Option<u64>,
    /// The new DSCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u64>,
    /// `PUSH`, `POP` or `SWAP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpls: Option<String>,
    /// The label of `PUSH` and `SWAP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<u64>,
    /// The change of the tunnel: `PUSH` or `POP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// Source of the outer header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// Destination of the outer header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<String>,
    /// Byte to count up, like `B36`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
}

/// The fields of an action, in the order in which they are written.
pub const FIELDS: [&str; 12] = [
    "act", "vif", "port", "ports", "mirror", "dscp", "mpls", "label", "tunnel", "src", "dst", "count",
];

fn within(field: &'static str, value: u64, limit: u64, fix: &str) -> Result<u64, Flaw> {
    let most = limit - 1;
    (value < limit)
        .then_some(value)
        .ok_or_else(|| Flaw::new("action-range", field, value, format!("0 to {most}"), fix))
}

fn port(field: &'static str, value: u64) -> Result<u8, Flaw> {
    let fix = "Ports 0 to 3 are external, 4 to 7 go to the CPU.";
    within(field, value, PORTS.into(), fix).map(|port| port as u8)
}

fn needed<T>(field: &'static str, value: Option<T>, of: &str) -> Result<T, Flaw> {
    value.ok_or_else(|| {
        Flaw::new(
            "action-missing",
            field,
            "missing",
            format!("given with {of}"),
            format!("Add {field}=…."),
        )
    })
}

impl RawAction {
    /// The action, checked for a profile. Errors name the field of the action.
    pub fn check(&self, profile: Profile) -> Result<Action, Flaw> {
        let forward = self.forward()?;
        self.refuse_strangers(forward)?;
        let dscp_fix = "DSCP has six bits.";
        let action = Action {
            forward,
            mirror: self.mirror.map(|value| port("mirror", value)).transpose()?,
            dscp: self
                .dscp
                .map(|value| within("dscp", value, 64, dscp_fix))
                .transpose()?
                .map(|v| v as u8),
            mpls: self.mpls()?,
            tunnel: self.tunnel()?,
            count_up: self.count_up()?,
        };
        if action.modifies() && !matches!(forward, Forward::Vif(_)) {
            let fix =
                "Redirect to an interface (REDIRECT_VIF): every other action leaves packets as they are.";
            return Err(Flaw::new(
                "action-modifies",
                "act",
                &self.act,
                "REDIRECT_VIF where the packet is changed",
                fix,
            ));
        }
        if action.tunnel.is_some() && action.mpls.is_some() {
            let fix = "Give one of the two.";
            return Err(Flaw::new(
                "action-both",
                "tunnel",
                "given with mpls",
                "given without mpls",
                fix,
            ));
        }
        let extended = action
            .tunnel
            .map(|_| "tunnel")
            .or(action.count_up.map(|_| "count"));
        match extended {
            Some(field) if profile != Profile::Extended => {
                let fix = "Begin the program with SetProfile(extended);, or leave the field out.";
                Err(Flaw::new(
                    "action-profile",
                    field,
                    "given",
                    format!("absent in profile {}", profile.name()),
                    fix,
                ))
            }
            _ => Ok(action),
        }
    }

    fn forward(&self) -> Result<Forward, Flaw> {
        let act = self.act.as_str();
        Ok(match act {
            "REDIRECT_VIF" => {
                let fix = "The interface table has so many entries.";
                Forward::Vif(within("vif", needed("vif", self.vif, act)?, VIFS as u64, fix)? as u16)
            }
            "REDIRECT_PORT" => Forward::Port(port("port", needed("port", self.port, act)?)?),
            "DISCARD" => Forward::Discard,
            "DUPLICATE" => {
                let mut set = 0;
                for &item in needed("ports", self.ports.as_ref(), act)? {
                    set |= 1 << port("ports", item)?;
                }
                if set == 0 {
                    let fix = "Write for example ports=(0, 1), or use DISCARD.";
                    return Err(Flaw::new("action-ports", "ports", "()", "at least one port", fix));
                }
                Forward::Duplicate(set)
            }
            "MIRROR" => Forward::Mirror(port("port", needed("port", self.port, act)?)?),
            "TO_CPU" => Forward::ToCpu,
            "" => return needed("act", None, "every action"),
            _ => {
                let fix = "The chip changes no other fields and has no other actions.";
                return Err(Flaw::new(
                    "action-unknown",
                    "act",
                    format!("\"{act}\""),
                    format!("one of {}", ACTS.join(", ")),
                    fix,
                ));
            }
        })
    }

    /// Fields that mean nothing for this action.
    fn refuse_strangers(&self, forward: Forward) -> Result<(), Flaw> {
        let labelled = matches!(self.mpls.as_deref(), Some("PUSH" | "SWAP"));
        let pushed = self.tunnel.as_deref() == Some("PUSH");
        let strangers = [
            ("vif", self.vif.is_some() && !matches!(forward, Forward::Vif(_))),
            (
                "port",
                self.port.is_some() && !matches!(forward, Forward::Port(_) | Forward::Mirror(_)),
            ),
            (
                "ports",
                self.ports.is_some() && !matches!(forward, Forward::Duplicate(_)),
            ),
            (
                "mirror",
                self.mirror.is_some() && matches!(forward, Forward::Mirror(_)),
            ),
            ("label", self.label.is_some() && !labelled),
            ("src", self.src.is_some() && !pushed),
            ("dst", self.dst.is_some() && !pushed),
        ];
        match strangers.into_iter().find(|(_, stranger)| *stranger) {
            None => Ok(()),
            Some((field, _)) => {
                let limit = format!("absent from this action ({})", self.act);
                Err(Flaw::new(
                    "action-stranger",
                    field,
                    "given",
                    limit,
                    format!("Leave {field} out."),
                ))
            }
        }
    }

    fn mpls(&self) -> Result<Option<Mpls>, Flaw> {
        let label = || {
            let value = needed("label", self.label, "mpls=PUSH and mpls=SWAP")?;
            within("label", value, u64::from(MAX_LABEL) + 1, "A label has 20 bits.").map(|label| label as u32)
        };
        Ok(match self.mpls.as_deref() {
            None => None,
            Some("PUSH") => Some(Mpls::Push(label()?)),
            Some("POP") => Some(Mpls::Pop),
            Some("SWAP") => Some(Mpls::Swap(label()?)),
            Some(other) => {
                let fix = "Write mpls=PUSH, mpls=POP or mpls=SWAP.";
                return Err(Flaw::new(
                    "action-mpls",
                    "mpls",
                    format!("\"{other}\""),
                    "PUSH, POP or SWAP",
                    fix,
                ));
            }
        })
    }

    fn tunnel(&self) -> Result<Option<Tunnel>, Flaw> {
        let end = |field: &'static str, text: &Option<String>| {
            let text = needed(field, text.as_ref(), "tunnel=PUSH")?;
            text.parse::<Ipv4Addr>().map_err(|_| {
                let fix = "Write for example \"10.0.0.1\".";
                Flaw::new(
                    "action-address",
                    field,
                    format!("\"{text}\""),
                    "an IPv4 address",
                    fix,
                )
            })
        };
        Ok(match self.tunnel.as_deref() {
            None => None,
            Some("PUSH") => Some(Tunnel::Push(end("src", &self.src)?, end("dst", &self.dst)?)),
            Some("POP") => Some(Tunnel::Pop),
            Some(other) => {
                let fix = "Write tunnel=PUSH or tunnel=POP.";
                return Err(Flaw::new(
                    "action-tunnel",
                    "tunnel",
                    format!("\"{other}\""),
                    "PUSH or POP",
                    fix,
                ));
            }
        })
    }

    fn count_up(&self) -> Result<Option<u8>, Flaw> {
        let Some(text) = &self.count else {
            return Ok(None);
        };
        let digits = text
            .strip_prefix('B')
            .filter(|digits| digits.bytes().all(|c| c.is_ascii_digit()));
        let byte = digits.and_then(|digits| digits.parse::<u8>().ok());
        match byte {
            Some(byte) if (14..PARSED_BYTES).contains(&usize::from(byte)) => Ok(Some(byte)),
            _ => {
                let limit = format!("a byte behind the Ethernet header, B14 to B{}", PARSED_BYTES - 1);
                let fix = "Write for example count=B36.";
                Err(Flaw::new(
                    "action-count",
                    "count",
                    format!("\"{text}\""),
                    limit,
                    fix,
                ))
            }
        }
    }
}

impl From<&Action> for RawAction {
    fn from(action: &Action) -> RawAction {
        let mut raw = RawAction {
            mirror: action.mirror.map(u64::from),
            dscp: action.dscp.map(u64::from),
            count: action.count_up.map(|byte| format!("B{byte}")),
            ..RawAction::default()
        };
        let act = match action.forward {
            Forward::Vif(vif) => {
                raw.vif = Some(vif.into());
                0
            }
            Forward::Port(port) => {
                raw.port = Some(port.into());
                1
            }
            Forward::Discard => 2,
            Forward::Duplicate(set) => {
                raw.ports = Some(
                    (0..PORTS)
                        .filter(|port| set >> port & 1 == 1)
                        .map(u64::from)
                        .collect(),
                );
                3
            }
            Forward::Mirror(port) => {
                raw.port = Some(port.into());
                4
            }
            Forward::ToCpu => 5,
        };
        raw.act = ACTS[act].to_owned();
        let (mpls, label) = match action.mpls {
            None => (None, None),
            Some(Mpls::Push(label)) => (Some("PUSH"), Some(label)),
            Some(Mpls::Pop) => (Some("POP"), None),
            Some(Mpls::Swap(label)) => (Some("SWAP"), Some(label)),
        };
        (raw.mpls, raw.label) = (mpls.map(str::to_owned), label.map(u64::from));
        match action.tunnel {
            None => {}
            Some(Tunnel::Pop) => raw.tunnel = Some("POP".to_owned()),
            Some(Tunnel::Push(source, destination)) => {
                raw.tunnel = Some("PUSH".to_owned());
                (raw.src, raw.dst) = (Some(source.to_string()), Some(destination.to_string()));
            }
        }
        raw
    }
}

/// Writes the form `{act=REDIRECT_VIF, vif=3}`.
impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let raw = RawAction::from(self);
        let mut text = format!("{{act={}", raw.act);
        let mut number = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                let _ = write!(text, ", {name}={value}");
            }
        };
        number("vif", raw.vif);
        number("port", raw.port);
        if let Some(ports) = &raw.ports {
            let ports: Vec<String> = ports.iter().map(u64::to_string).collect();
            let _ = write!(text, ", ports=({})", ports.join(", "));
        }
        let mut number = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                let _ = write!(text, ", {name}={value}");
            }
        };
        number("mirror", raw.mirror);
        number("dscp", raw.dscp);
        for (name, value) in [
            ("mpls", &raw.mpls),
            ("tunnel", &raw.tunnel),
            ("count", &raw.count),
        ] {
            if let Some(value) = value {
                let _ = write!(text, ", {name}={value}");
            }
        }
        if let Some(label) = raw.label {
            let _ = write!(text, ", label={label}");
        }
        for (name, value) in [("src", &raw.src), ("dst", &raw.dst)] {
            if let Some(value) = value {
                let _ = write!(text, ", {name}=\"{value}\"");
            }
        }
        write!(f, "{text}}}")
    }
}
