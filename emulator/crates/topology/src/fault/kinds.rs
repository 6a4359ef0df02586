//! Every kind of fault, and the effects that they can have.
//!
//! A new kind of a known effect is an entry of `kinds!`. A new effect is a variant of
//! [`LinkEffect`] as well, and an arm of `Conditions::enact` in the fabric. The engines simulate
//! and predict what stops a link ([`LinkEffect::stops`]) or degrades it, and refuse other effects.

use serde::{Deserialize, Serialize};

use super::entry::{FaultEntry, FaultParameter, FaultProcess, FaultTarget, StandsFor};
use super::value::Values;
use crate::amount::Unit;

/// The effect of a fault on its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// On the link, or on all links of the device.
    pub links: LinkEffect,
    /// On the process of a server.
    pub process: Option<FaultProcess>,
}

/// The effect of a fault on the links of its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkEffect {
    /// They carry packets as before.
    Unchanged,
    /// They lose their carrier because the process of their server ends.
    EndWithProcess,
    /// They lose their carrier.
    CarrierLost,
    /// One end of the link is set down.
    PortDown,
    /// They drop everything, with a carrier at both ends.
    Dropped,
    /// They carry packets worse.
    Degraded(LinkQuality),
}

impl LinkEffect {
    /// The kind's parameters set the quality.
    const DEGRADED: LinkEffect = LinkEffect::Degraded(LinkQuality::WHOLE);

    /// Whether nothing passes over the links.
    pub fn stops(self) -> bool {
        match self {
            LinkEffect::EndWithProcess
            | LinkEffect::CarrierLost
            | LinkEffect::PortDown
            | LinkEffect::Dropped => true,
            LinkEffect::Unchanged | LinkEffect::Degraded(_) => false,
        }
    }

    /// The quality of links that still carry packets, if it is reduced.
    pub fn degraded(self) -> Option<LinkQuality> {
        match self {
            LinkEffect::Degraded(quality) => Some(quality),
            _ => None,
        }
    }
}

/// The quality of a link, in each direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkQuality {
    /// The highest rate; infinity for the link's own.
    pub rate_bits_per_sec: f64,
    /// The share of packets that arrives, 0 to 1.
    pub passes: f64,
    /// The added delay of packets.
    pub delay_secs: f64,
}

impl LinkQuality {
    /// A link as it was made.
    pub const WHOLE: LinkQuality = LinkQuality {
        rate_bits_per_sec: f64::INFINITY,
        passes: 1.0,
        delay_secs: 0.0,
    };

    /// Two faults on one link: the lower rate, independent losses, the sum of the delays.
    #[must_use]
    pub fn and(self, other: LinkQuality) -> LinkQuality {
        LinkQuality {
            rate_bits_per_sec: self.rate_bits_per_sec.min(other.rate_bits_per_sec),
            passes: self.passes * other.passes,
            delay_secs: self.delay_secs + other.delay_secs,
        }
    }
}

/// The capacity that remains on the link, in each direction. The limits include the rates of all
/// links that the emulation or a plan can have. `[ours]`
const RATE: FaultParameter = FaultParameter {
    name: "rate_bits_per_sec",
    title: "Rate left",
    unit: Unit::BitsPerSec,
    minimum: 1e4,
    maximum: 1e12,
    default: 1e7,
    degrade: |quality, value| quality.rate_bits_per_sec = value,
    needs: None,
};

/// The ratio of packets that is lost, each way.
const LOSS: FaultParameter = FaultParameter {
    name: "loss_ratio",
    title: "Packets lost",
    unit: Unit::Share,
    minimum: 0.0,
    maximum: 1.0,
    default: 0.05,
    degrade: |quality, value| quality.passes = 1.0 - value,
    needs: None,
};

/// The added delay of packets, in each direction. `netem` keeps every packet that waits: 10 s
/// bounds its memory. `[ours]`
const DELAY: FaultParameter = FaultParameter {
    name: "delay_secs",
    title: "Added delay",
    unit: Unit::Secs,
    minimum: 0.0,
    maximum: 10.0,
    default: 0.02,
    degrade: |quality, value| quality.delay_secs = value,
    needs: Some("netem"),
};

/// A fault with a period is on and off for this long each, until it ends.
pub const PERIOD: FaultParameter = FaultParameter {
    name: "flap_secs",
    title: "Repeat every",
    unit: Unit::Secs,
    minimum: 0.2,
    maximum: 3600.0,
    default: 1.0,
    degrade: |_, _| (),
    needs: None,
};

/// Defaults: neighbours see the carrier drop; no parameters but a period. Entries state the
/// differences.
const PLAIN: FaultEntry = FaultEntry {
    kind: FaultKind::Down,
    name: "",
    title: "",
    target: FaultTarget::Any,
    parameters: &[],
    optional: &[PERIOD],
    summary: "",
    effect: on_links(LinkEffect::CarrierLost),
    stands_for: None,
};

const fn on_links(links: LinkEffect) -> Effect {
    Effect { links, process: None }
}

const fn on_process(links: LinkEffect, process: FaultProcess) -> Effect {
    Effect {
        links,
        process: Some(process),
    }
}

/// Declares `FaultKind` and `CATALOG` from one list: no kind can be in one of them alone.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident = $name:literal { $($field:ident: $value:expr,)* })*) => {
        /// A way to fail. Its name in documents is in kebab-case.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum FaultKind {
            $($(#[$meta])* #[serde(rename = $name)] $kind,)*
        }

        /// Every kind, in the order of menus.
        pub const CATALOG: &[FaultEntry] = &[
            $(FaultEntry { kind: FaultKind::$kind, name: $name, $($field: $value,)* ..PLAIN },)*
        ];
    };
}

kinds! {
    /// The target carries no traffic. Each device or link fails by its kind in
    /// [`FaultEntry::stands_for`].
    #[default]
    Down = "down" {
        title: "Off / unplugged",
        summary: "Turns off a server or switch, or unplugs a cable.",
        stands_for: Some(StandsFor {
            server: FaultKind::ServerOff,
            switch: FaultKind::SwitchOff,
            link: FaultKind::CablePulled,
        }),
    }

    /// Both ends of a cable lose their carrier.
    CablePulled = "cable-pulled" {
        title: "Cable unplugged",
        target: FaultTarget::Link,
        summary: "Both ends lose their carrier and notice at once.",
    }

    /// A link drops everything, with a carrier at both ends.
    CableCutSilent = "cable-cut-silent" {
        title: "Link drops all traffic (carrier stays up)",
        target: FaultTarget::Link,
        summary: "Nothing passes, but both ends keep their carrier: only lost hellos reveal it.",
        effect: on_links(LinkEffect::Dropped),
    }

    /// A server sets its port down.
    PortDown = "port-down" {
        title: "Port down",
        target: FaultTarget::Link,
        summary: "The server sets its port down, or the first of two switches does; both ends notice at once.",
        effect: on_links(LinkEffect::PortDown),
    }

    /// A link at a lower rate.
    LinkRate = "link-rate" {
        title: "Lower link rate",
        target: FaultTarget::Link,
        parameters: &[RATE],
        summary: "The link continues at a lower rate.",
        effect: on_links(LinkEffect::DEGRADED),
    }

    /// A link that loses part of its packets.
    LinkLoss = "link-loss" {
        title: "Packet loss",
        target: FaultTarget::Link,
        parameters: &[LOSS],
        summary: "The link loses a random part of its packets.",
        effect: on_links(LinkEffect::DEGRADED),
    }

    /// A link that delivers packets later.
    LinkDelay = "link-delay" {
        title: "Added delay",
        target: FaultTarget::Link,
        parameters: &[DELAY],
        summary: "Every packet arrives later, in both directions.",
        effect: on_links(LinkEffect::DEGRADED),
    }

    /// A server's process ends and its ports lose their carrier; its power stays on.
    ServerKilled = "server-killed" {
        title: "Server process killed",
        target: FaultTarget::Server,
        summary: "The server's process ends at once and its ports lose their carrier.",
        effect: on_process(LinkEffect::EndWithProcess, FaultProcess::Ends),
    }

    /// A server's process is paused; its kernel continues to forward packets.
    ServerFrozen = "server-frozen" {
        title: "Server process frozen",
        target: FaultTarget::Server,
        summary: "The server's process is paused: its kernel still forwards packets, but it answers no message.",
        effect: on_process(LinkEffect::Unchanged, FaultProcess::Pauses),
    }

    /// A server that neither sends nor takes anything, with a carrier at all its ports.
    ServerSilent = "server-silent" {
        title: "Server silent (carrier stays up)",
        target: FaultTarget::Server,
        summary: "Nothing passes to or from the server, but its ports keep their carrier: only lost hellos reveal it.",
        effect: on_links(LinkEffect::Dropped),
    }

    /// A server without power.
    ServerOff = "server-off" {
        title: "Server off",
        target: FaultTarget::Server,
        summary: "The server loses power: its process ends and its ports lose their carrier.",
        effect: on_process(LinkEffect::CarrierLost, FaultProcess::Ends),
    }

    /// A switch that drops everything, with a carrier at all ports.
    SwitchSilent = "switch-silent" {
        title: "Switch drops all traffic",
        target: FaultTarget::Switch,
        summary: "The switch forwards nothing, but its ports keep their carrier.",
        effect: on_links(LinkEffect::Dropped),
    }

    /// A switch without power.
    SwitchOff = "switch-off" {
        title: "Switch off",
        target: FaultTarget::Switch,
        summary: "The switch loses power: all its ports lose their carrier.",
    }
}

impl FaultKind {
    /// The kind with this name.
    pub fn of_name(name: &str) -> Option<FaultKind> {
        CATALOG
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| entry.kind)
    }

    /// The catalogue's entry for this kind.
    pub fn entry(self) -> &'static FaultEntry {
        &CATALOG[self as usize]
    }

    /// Its name in documents and messages.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// The kind with the same effect on a target of exactly this type.
    #[must_use]
    pub fn exact(self, target: FaultTarget) -> FaultKind {
        match (self.entry().stands_for, target) {
            (None, _) | (_, FaultTarget::Any) => self,
            (Some(kinds), FaultTarget::Server) => kinds.server,
            (Some(kinds), FaultTarget::Switch) => kinds.switch,
            (Some(kinds), FaultTarget::Link) => kinds.link,
        }
    }

    /// Its effect with these values of its parameters.
    pub fn effect(self, values: &Values) -> Effect {
        let mut effect = self.entry().effect;
        if let LinkEffect::Degraded(quality) = &mut effect.links {
            for (parameter, value) in values.iter() {
                (parameter.degrade)(quality, value);
            }
        }
        effect
    }
}
