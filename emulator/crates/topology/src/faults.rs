//! The catalogue of fault kinds: the only list of the ways in which a server, a switch or a link
//! can fail.
//!
//! The fabric, the flow engine, the API, the page and the command line read it. Each entry lists
//! the kind's targets, its parameters with their limits, its effect, whether neighbours see their
//! carrier drop, and whether the flow engine can predict it.
//!
//! Not here: which devices a target means (`cubeyard_sim::faults`), what a prediction makes of a
//! fault (`cubeyard_sim::degraded`), and how it is injected into real packets (`cubeyard-fabric`).

use serde::{Deserialize, Serialize};

/// A way to fail. Its name on every wire is in kebab-case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The target carries no traffic. Each device or link fails by its kind in
    /// [`FaultEntry::stands_for`].
    #[default]
    Down,
    /// Both ends of a cable lose their carrier.
    CablePulled,
    /// A link drops everything, with a carrier at both ends.
    CableCutSilent,
    /// A server sets its port down.
    PortDown,
    /// A link at a lower rate.
    LinkRate,
    /// A link that loses part of its packets.
    LinkLoss,
    /// A link that delivers packets later.
    LinkDelay,
    /// A server's process ends and its ports lose their carrier; its power stays on.
    ServerKilled,
    /// A server's process is paused; its kernel continues to forward packets.
    ServerFrozen,
    /// A server that neither sends nor takes anything, with a carrier at all its ports.
    ServerSilent,
    /// A server without power.
    ServerOff,
    /// A switch that drops everything, with a carrier at all ports.
    SwitchSilent,
    /// A switch without power.
    SwitchOff,
}

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FaultParameter {
    /// Name of the field in the fault, next to `kind`.
    pub name: &'static str,
    /// Name shown to users.
    pub title: &'static str,
    /// Unit of the value: `bit/s`, `s`, or the empty string for a ratio.
    pub unit: &'static str,
    /// Least value allowed, inclusive.
    pub minimum: f64,
    /// Greatest value allowed, inclusive.
    pub maximum: f64,
    /// A value to start a form with.
    pub default: f64,
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
        let unit = if self.unit.is_empty() { "" } else { " " };
        format!(
            "{} to {}{unit}{}",
            number(self.minimum),
            number(self.maximum),
            self.unit
        )
    }
}

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FaultEntry {
    /// The kind; its name in documents.
    #[serde(rename = "name")]
    pub kind: FaultKind,
    /// Name shown to users.
    pub title: &'static str,
    /// The devices or links that this kind can affect.
    pub target: FaultTarget,
    /// The numbers that it needs, all of them.
    pub parameters: &'static [FaultParameter],
    /// Its effect, in one sentence for users.
    pub effect: &'static str,
    /// Whether neighbours keep their carrier, so that only lost hellos reveal it.
    pub silent: bool,
    /// Whether the flow engine predicts it; an emulation takes every kind.
    pub predicted: bool,
    /// Whether the target still carries packets: it is degraded then, and has not failed.
    pub carries: bool,
    /// The effect on the process of the target server, if any.
    pub process: Option<FaultProcess>,
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

/// The capacity that remains on the link, in each direction. The limits include the rates of all
/// links that the emulation or a plan can have. `[ours]`
const RATE: FaultParameter = FaultParameter {
    name: "rate_bits_per_sec",
    title: "Rate left",
    unit: "bit/s",
    minimum: 1e4,
    maximum: 1e12,
    default: 1e7,
};

/// The ratio of packets that is lost, each way.
const LOSS: FaultParameter = FaultParameter {
    name: "loss_ratio",
    title: "Packets lost",
    unit: "",
    minimum: 0.0,
    maximum: 1.0,
    default: 0.05,
};

/// The added delay of packets, in each direction. `netem` keeps every packet that waits: 10 s
/// bounds its memory. `[ours]`
const DELAY: FaultParameter = FaultParameter {
    name: "delay_secs",
    title: "Added delay",
    unit: "s",
    minimum: 0.0,
    maximum: 10.0,
    default: 0.02,
};

/// Defaults: stops the target; neighbours see the carrier drop; no parameters. Entries state the
/// differences.
const PLAIN: FaultEntry = FaultEntry {
    kind: FaultKind::Down,
    title: "",
    target: FaultTarget::Any,
    parameters: &[],
    effect: "",
    silent: false,
    predicted: false,
    carries: false,
    process: None,
    stands_for: None,
};

/// Every kind, in the order of menus.
pub const CATALOG: &[FaultEntry] = &[
    FaultEntry {
        title: "Off / unplugged",
        effect: "Turns off a server or switch, or unplugs a cable.",
        predicted: true,
        stands_for: Some(StandsFor {
            server: FaultKind::ServerOff,
            switch: FaultKind::SwitchOff,
            link: FaultKind::CablePulled,
        }),
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::CablePulled,
        title: "Cable unplugged",
        target: FaultTarget::Link,
        effect: "Both ends lose their carrier and notice at once.",
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::CableCutSilent,
        title: "Link drops all traffic (carrier stays up)",
        target: FaultTarget::Link,
        effect: "Nothing passes, but both ends keep their carrier: only lost hellos reveal it.",
        silent: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::PortDown,
        title: "Port down",
        target: FaultTarget::Link,
        effect: "The server sets its port down, or the first of two switches does; both ends notice at once.",
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::LinkRate,
        title: "Lower link rate",
        target: FaultTarget::Link,
        parameters: &[RATE],
        effect: "The link continues at a lower rate.",
        silent: true,
        predicted: true,
        carries: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::LinkLoss,
        title: "Packet loss",
        target: FaultTarget::Link,
        parameters: &[LOSS],
        effect: "The link loses a random part of its packets.",
        silent: true,
        predicted: true,
        carries: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::LinkDelay,
        title: "Added delay",
        target: FaultTarget::Link,
        parameters: &[DELAY],
        effect: "Every packet arrives later, in both directions.",
        silent: true,
        carries: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::ServerKilled,
        title: "Server process killed",
        target: FaultTarget::Server,
        effect: "The server's process ends at once and its ports lose their carrier.",
        process: Some(FaultProcess::Ends),
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::ServerFrozen,
        title: "Server process frozen",
        target: FaultTarget::Server,
        effect: "The server's process is paused: its kernel still forwards packets, but it answers no message.",
        silent: true,
        process: Some(FaultProcess::Pauses),
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::ServerSilent,
        title: "Server silent (carrier stays up)",
        target: FaultTarget::Server,
        effect: "Nothing passes to or from the server, but its ports keep their carrier: only lost hellos reveal it.",
        silent: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::ServerOff,
        title: "Server off",
        target: FaultTarget::Server,
        effect: "The server loses power: its process ends and its ports lose their carrier.",
        process: Some(FaultProcess::Ends),
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::SwitchSilent,
        title: "Switch drops all traffic",
        target: FaultTarget::Switch,
        effect: "The switch forwards nothing, but its ports keep their carrier.",
        silent: true,
        ..PLAIN
    },
    FaultEntry {
        kind: FaultKind::SwitchOff,
        title: "Switch off",
        target: FaultTarget::Switch,
        effect: "The switch loses power: all its ports lose their carrier.",
        ..PLAIN
    },
];

impl FaultKind {
    /// The catalogue's entry for this kind.
    pub fn entry(self) -> &'static FaultEntry {
        // A kind without an entry cannot be released: a test goes through all of them.
        CATALOG
            .iter()
            .find(|entry| entry.kind == self)
            .unwrap_or(&CATALOG[0])
    }

    /// Its name in documents and messages.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Down => "down",
            FaultKind::CablePulled => "cable-pulled",
            FaultKind::CableCutSilent => "cable-cut-silent",
            FaultKind::PortDown => "port-down",
            FaultKind::LinkRate => "link-rate",
            FaultKind::LinkLoss => "link-loss",
            FaultKind::LinkDelay => "link-delay",
            FaultKind::ServerKilled => "server-killed",
            FaultKind::ServerFrozen => "server-frozen",
            FaultKind::ServerSilent => "server-silent",
            FaultKind::ServerOff => "server-off",
            FaultKind::SwitchSilent => "switch-silent",
            FaultKind::SwitchOff => "switch-off",
        }
    }
}

/// The whole catalogue as a JSON document.
pub fn catalog_json() -> serde_json::Value {
    serde_json::json!(CATALOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adding a kind without adding it here does not compile.
    fn all() -> Vec<FaultKind> {
        use FaultKind::*;
        let next = |kind| match kind {
            Down => Some(CablePulled),
            CablePulled => Some(CableCutSilent),
            CableCutSilent => Some(PortDown),
            PortDown => Some(LinkRate),
            LinkRate => Some(LinkLoss),
            LinkLoss => Some(LinkDelay),
            LinkDelay => Some(ServerKilled),
            ServerKilled => Some(ServerFrozen),
            ServerFrozen => Some(ServerSilent),
            ServerSilent => Some(ServerOff),
            ServerOff => Some(SwitchSilent),
            SwitchSilent => Some(SwitchOff),
            SwitchOff => None,
        };
        std::iter::successors(Some(Down), |&kind| next(kind)).collect()
    }

    #[test]
    fn every_kind_has_exactly_one_entry_and_its_wire_name() {
        let kinds = all();
        assert_eq!(
            CATALOG.iter().map(|entry| entry.kind).collect::<Vec<_>>(),
            kinds,
            "the catalogue lists each kind once, in the order of the enum"
        );
        for kind in kinds {
            assert_eq!(kind.entry().kind, kind);
            assert_eq!(serde_json::json!(kind), kind.name());
            let read: FaultKind =
                serde_json::from_value(serde_json::json!(kind.name())).expect("a known name");
            assert_eq!(read, kind);
        }
    }

    #[test]
    fn entries_are_consistent() {
        for entry in CATALOG {
            let name = entry.kind.name();
            assert!(!entry.title.is_empty() && entry.effect.ends_with('.'), "{name}");
            assert_eq!(
                entry.target == FaultTarget::Any,
                entry.stands_for.is_some(),
                "{name}"
            );
            assert!(
                entry.process.is_none() || entry.target == FaultTarget::Server,
                "{name}"
            );
            assert!(
                !entry.carries || entry.silent,
                "{name}: a link that carries packets has a carrier"
            );
            for parameter in entry.parameters {
                assert!(parameter.minimum < parameter.maximum, "{name}");
                assert!(parameter.allows(parameter.default), "{name}");
                assert!(
                    !parameter.allows(f64::NAN) && !parameter.allows(f64::INFINITY),
                    "{name}"
                );
            }
        }
        let general = FaultKind::Down.entry().stands_for.expect("a general kind");
        assert_eq!(general.server.entry().target, FaultTarget::Server);
        assert_eq!(general.switch.entry().target, FaultTarget::Switch);
        assert_eq!(general.link.entry().target, FaultTarget::Link);
    }

    #[test]
    fn limits_read_as_a_range_with_its_unit() {
        assert_eq!(RATE.limits(), "1e4 to 1e12 bit/s");
        assert_eq!(LOSS.limits(), "0 to 1");
        assert_eq!(DELAY.limits(), "0 to 10 s");
    }

    #[test]
    fn the_document_has_the_agreed_fields() {
        let document = catalog_json();
        let rate = document
            .as_array()
            .and_then(|kinds| kinds.iter().find(|kind| kind["name"] == "link-rate"))
            .expect("link-rate");
        assert_eq!(rate["target"], "link");
        assert_eq!(rate["silent"], true);
        assert_eq!(rate["predicted"], true);
        assert_eq!(rate["parameters"][0]["name"], "rate_bits_per_sec");
        assert_eq!(rate["parameters"][0]["unit"], "bit/s");
        assert_eq!(document[0]["stands_for"]["switch"], "switch-off");
    }
}
