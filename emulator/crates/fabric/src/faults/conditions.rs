//! The state of every part of a network under a set of faults. Pure functions.

use cubeyard_topology::fault::{FaultProcess, LinkEffect, LinkQuality};

use super::{Fault, Part};
use crate::network::{Network, Place};
use crate::switches;

/// The condition of one end of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndCondition {
    /// Whether it is set up.
    pub up: bool,
    /// State of the queue of packets that this end sends.
    pub queue: QueueCondition,
    /// Share of these packets that is lost at random.
    pub loss: f64,
    /// Rate of this end.
    pub rate_bits_per_sec: f64,
}

impl EndCondition {
    /// Adds a fault to those that degrade the end already.
    fn degrade(&mut self, quality: LinkQuality) {
        self.rate_bits_per_sec = self.rate_bits_per_sec.min(quality.rate_bits_per_sec);
        self.loss = 1.0 - (1.0 - self.loss) * quality.passes;
        self.queue = match self.queue {
            QueueCondition::Normal if quality.delay_secs > 0.0 => QueueCondition::Delayed(quality.delay_secs),
            QueueCondition::Delayed(others) => QueueCondition::Delayed(others + quality.delay_secs),
            other => other,
        };
    }
}

/// Treatment of packets that an end of a link sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueCondition {
    /// They wait for the link's rate.
    Normal,
    /// All packets are dropped.
    Cut,
    /// Each packet is delayed by this many seconds.
    Delayed(f64),
}

/// The condition of a server's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerCondition {
    /// The process runs.
    #[default]
    Running,
    /// The process is paused.
    Frozen,
    /// The process has ended.
    Killed,
}

/// The state of the whole network.
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
    /// The state under these faults, in any order. If several faults affect a link, the lowest rate
    /// applies, delays add up, and losses are independent, as in the flow engine.
    pub fn under<'a>(network: &Network, faults: impl IntoIterator<Item = &'a Fault>) -> Conditions {
        let normal = |link: usize| EndCondition {
            up: true,
            queue: QueueCondition::Normal,
            loss: 0.0,
            rate_bits_per_sec: network.rate_bits_per_sec(link),
        };
        let mut conditions = Conditions {
            ends: (0..network.description.links.len())
                .map(|link| [normal(link); 2])
                .collect(),
            switches: vec![true; network.description.switches.len()],
            servers: vec![ServerCondition::Running; network.description.servers.len()],
        };
        for fault in faults {
            conditions.enact(network, fault);
        }
        conditions
    }

    fn enact(&mut self, network: &Network, fault: &Fault) {
        if let (Some(process), Part::Server(server)) = (fault.effect.process, fault.part) {
            let condition = &mut self.servers[server];
            match process {
                FaultProcess::Ends => *condition = ServerCondition::Killed,
                FaultProcess::Pauses if *condition == ServerCondition::Running => {
                    *condition = ServerCondition::Frozen;
                }
                FaultProcess::Pauses => {}
            }
        }
        match fault.effect.links {
            LinkEffect::Unchanged => {}
            LinkEffect::EndWithProcess | LinkEffect::CarrierLost => self.take_carrier(network, fault.part),
            LinkEffect::PortDown => {
                if let Part::Link(link, end) = fault.part {
                    self.ends[link][end].up = false;
                }
            }
            LinkEffect::Dropped => self.drop_all(network, fault.part),
            LinkEffect::Degraded(quality) => {
                if let Part::Link(link, _) = fault.part {
                    for end in &mut self.ends[link] {
                        end.degrade(quality);
                    }
                }
            }
        }
    }

    fn take_carrier(&mut self, network: &Network, part: Part) {
        match part {
            Part::Server(server) => self.set_down(network, |place| place.is_of_server(server)),
            Part::Switch(switch) => {
                self.switches[switch] = false;
                self.set_down(network, |place| place.is_of_switch(switch));
            }
            Part::Link(link, _) => {
                // Setting one end down removes the carrier of both. Prefer an end at a switch, or
                // the end that represents a server on another host: then the server sees a lost
                // carrier, not a port that is down.
                let remote = network.division.remote_end(link).map(|(end, _)| end);
                let at_switch = network.places[link].iter().position(Place::is_switch);
                let end = remote.or(at_switch).unwrap_or(1);
                self.ends[link][end].up = false;
            }
        }
    }

    fn drop_all(&mut self, network: &Network, part: Part) {
        match part {
            Part::Link(link, _) => self.cut(link),
            Part::Server(server) => {
                for port in &network.ports[server] {
                    self.cut(port.link);
                }
            }
            Part::Switch(switch) if switches::kind(network, switch).falls_silent_at_ends() => {
                for (places, ends) in network.places.iter().zip(&mut self.ends) {
                    for (place, end) in places.iter().zip(ends) {
                        if place.is_of_switch(switch) {
                            end.queue = QueueCondition::Cut;
                        }
                    }
                }
            }
            Part::Switch(switch) => self.switches[switch] = false,
        }
    }

    fn cut(&mut self, link: usize) {
        for end in &mut self.ends[link] {
            end.queue = QueueCondition::Cut;
        }
    }

    fn set_down(&mut self, network: &Network, is_struck: impl Fn(&Place) -> bool) {
        for (places, ends) in network.places.iter().zip(&mut self.ends) {
            for (place, end) in places.iter().zip(ends) {
                end.up &= !is_struck(place);
            }
        }
    }
}
