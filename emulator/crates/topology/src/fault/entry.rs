//! The form of the catalogue: the declarations of each kind of fault, and properties derived from
//! them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kinds::{CATALOG, Effect, FaultKind, LinkEffect, LinkQuality};
use crate::amount::Unit;

/// The kinds of targets of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultTarget {
    /// Only servers can be targets.
    Server,
    /// Only switches can be targets.
    Switch,
    /// Only links can be targets.
    Link,
    /// Servers, switches and links can be targets.
    Any,
}

/// The effect of a fault on the process of its target server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultProcess {
    /// It ends, and starts again on recovery.
    Ends,
    /// It is paused until recovery.
    Pauses,
}

/// A number that a kind of fault needs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FaultParameter {
    /// Name of the field in the fault, next to `kind`.
    pub name: &'static str,
    /// Name shown to users.
    pub title: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Least value allowed, inclusive.
    pub minimum: f64,
    /// Greatest value allowed, inclusive.
    pub maximum: f64,
    /// A value to start a form with.
    pub default: f64,
    /// Its effect on a degraded link.
    #[serde(skip)]
    pub degrade: fn(&mut LinkQuality, f64),
    /// The queueing discipline of the kernel that injects it into real packets, if that
    /// is a separate module.
    #[serde(skip)]
    pub needs: Option<&'static str>,
}

impl FaultParameter {
    /// Whether the value is within the limits; NaN is not.
    pub fn allows(&self, value: f64) -> bool {
        (self.minimum..=self.maximum).contains(&value)
    }

    /// The limits in words, like `0 to 10 s`.
    pub fn limits(&self) -> String {
        let number = |value: f64| {
            if value.abs() >= 1e4 {
                format!("{value:e}")
            } else {
                value.to_string()
            }
        };
        let unit = self.unit.name();
        let space = if unit.is_empty() { "" } else { " " };
        format!(
            "{} to {}{space}{unit}",
            number(self.minimum),
            number(self.maximum)
        )
    }
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct FaultEntry {
    /// The kind that the entry declares.
    pub kind: FaultKind,
    /// Its name in documents and messages.
    pub name: &'static str,
    /// Name shown to users.
    pub title: &'static str,
    /// The devices or links that this kind can affect.
    pub target: FaultTarget,
    /// The numbers that it needs, all of them.
    pub parameters: &'static [FaultParameter],
    /// The numbers that it can have.
    pub optional: &'static [FaultParameter],
    /// Its effect, in one sentence for users.
    pub summary: &'static str,
    /// Its effect as data.
    pub effect: Effect,
    /// For a kind that affects any target: the kinds with the same effect on a server, a switch and
    /// a link.
    pub stands_for: Option<StandsFor>,
}

/// The exact kinds of a general kind, by type of target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StandsFor {
    /// The kind used if the target is a server.
    pub server: FaultKind,
    /// The kind used if the target is a switch.
    pub switch: FaultKind,
    /// The kind used if the target is a link.
    pub link: FaultKind,
}

impl FaultEntry {
    /// Whether neighbours keep their carrier, so that only lost hellos reveal it.
    pub fn silent(&self) -> bool {
        !matches!(
            self.effect.links,
            LinkEffect::CarrierLost | LinkEffect::EndWithProcess | LinkEffect::PortDown
        )
    }

    /// Whether the target still carries packets: it is degraded then, and has not failed.
    pub fn carries(&self) -> bool {
        matches!(self.effect.links, LinkEffect::Degraded(_))
    }

    /// Whether the flow engine predicts it; an emulation takes every kind.
    pub fn predicted(&self) -> bool {
        let delays = self.parameters.iter().any(|parameter| {
            let mut quality = LinkQuality::WHOLE;
            (parameter.degrade)(&mut quality, parameter.default);
            quality.delay_secs > 0.0
        });
        self.effect.links.stops() || self.carries() && !delays
    }

    /// Whether it changes nothing but a server's process: where servers are containers, the
    /// container engine alone injects it.
    pub fn process_only(&self) -> bool {
        self.effect.process.is_some()
            && matches!(
                self.effect.links,
                LinkEffect::Unchanged | LinkEffect::EndWithProcess
            )
    }

    /// The queueing discipline of the kernel that injecting it needs.
    pub fn needs(&self) -> Option<&'static str> {
        self.parameters.iter().find_map(|parameter| parameter.needs)
    }

    fn document(&self) -> Value {
        json!({
            "name": self.name, "title": self.title, "target": self.target, "parameters": self.parameters,
            "optional": self.optional, "effect": self.summary, "silent": self.silent(),
            "predicted": self.predicted(), "carries": self.carries(), "process": self.effect.process,
            "process_only": self.process_only(), "needs": self.needs(), "stands_for": self.stands_for,
        })
    }
}

/// The whole catalogue as a JSON document.
pub fn catalog_json() -> Value {
    CATALOG.iter().map(FaultEntry::document).collect()
}
