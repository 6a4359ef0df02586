//! The state of every part of a network under a set of faults. Pure functions.

use super::{Effect, Fault};
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
            conditions.apply(network, fault.effect);
        }
        conditions
    }

    fn apply(&mut self, network: &Network, effect: Effect) {
        match effect {
            Effect::Kill(server) => {
                self.servers[server] = ServerCondition::Killed;
                self.set_down(network, |place| place.is_of_server(server));
            }
            Effect::Freeze(server) => {
                if self.servers[server] == ServerCondition::Running {
                    self.servers[server] = ServerCondition::Frozen;
                }
            }
            Effect::Pull(link) => {
                // Setting one end down removes the carrier of both. Use an end at a switch, or the
                // end that represents a server on another host: then the server loses its carrier,
                // while its port stays up.
                let remote = network.division.remote_end(link).map(|(end, _)| end);
                let at_switch = network.places[link].iter().position(Place::is_switch);
                let end = remote.or(at_switch).unwrap_or(1);
                self.ends[link][end].up = false;
            }
            Effect::Cut(link) => self.cut(link),
            Effect::Mute(server) => {
                for port in &network.ports[server] {
                    self.cut(port.link);
                }
            }
            Effect::Down(link, end) => self.ends[link][end].up = false,
            Effect::Silence(switch) if switches::kind(network, switch).falls_silent_at_ends() => {
                for (places, ends) in network.places.iter().zip(&mut self.ends) {
                    for (place, end) in places.iter().zip(ends) {
                        if place.is_of_switch(switch) {
                            end.queue = QueueCondition::Cut;
                        }
                    }
                }
            }
            Effect::Silence(switch) => self.switches[switch] = false,
            Effect::SwitchOff(switch) => {
                self.switches[switch] = false;
                self.set_down(network, |place| place.is_of_switch(switch));
            }
            Effect::Rate(link, rate) => {
                for end in &mut self.ends[link] {
                    end.rate_bits_per_sec = end.rate_bits_per_sec.min(rate);
                }
            }
            Effect::Loss(link, loss) => {
                for end in &mut self.ends[link] {
                    end.loss = 1.0 - (1.0 - end.loss) * (1.0 - loss);
                }
            }
            Effect::Delay(link, secs) => {
                for end in &mut self.ends[link] {
                    end.queue = match end.queue {
                        QueueCondition::Normal => QueueCondition::Delayed(secs),
                        QueueCondition::Delayed(others) => QueueCondition::Delayed(others + secs),
                        QueueCondition::Cut => QueueCondition::Cut,
                    };
                }
            }
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
