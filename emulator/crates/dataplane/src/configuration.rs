//! What a server is told of itself and its network before it starts.

use std::fmt;
use std::net::Ipv4Addr;
use std::time::Duration;

use cubeyard_topology::{NodeId, TopologySpec};
use serde::{Deserialize, Serialize};

use crate::address::Nha;

/// A server's place in its network.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The server itself.
    pub server: NodeId,
    /// The structure.
    pub spec: TopologySpec,
    /// The servers there are; `None` for all of the structure's.
    pub present: Option<Vec<NodeId>>,
    /// The servers that are gateways to an external network `[bcube §5.3]`.
    pub gateways: Vec<NodeId>,
    /// The ports that are cabled.
    pub ports: Vec<Port>,
    /// Rate of a link in each direction.
    pub rate_bits_per_sec: f64,
    /// Timers and limits.
    pub settings: Settings,
    /// Of everything left to chance.
    pub seed: u64,
}

/// A port and who can be reached by it in one hop.
#[derive(Clone, Debug)]
pub struct Port {
    /// The port's number.
    pub port: u8,
    /// The neighbours on the switch it is cabled to.
    pub neighbours: Vec<NeighbourAddress>,
}

/// How to reach a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourAddress {
    /// The neighbour.
    pub server: NodeId,
    /// Its key in the neighbour status table.
    pub nha: Nha,
    /// The control address of its port.
    pub ip: Ipv4Addr,
}

/// The timers of a per-server protocol.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Time from one hello to the next.
    pub hello_secs: f64,
    /// Hellos missed in a row after which a neighbour is dead `[bcube §7.5: three seconds]`.
    pub dead_after: u32,
    /// Time from one probing of a flow's paths to the next `[bcube §4.3]`.
    pub adapt_secs: f64,
    /// Up to this share of `adapt_secs` is added by chance, so that flows do not swing together `[bcube §4.3]`.
    pub adapt_jitter: f64,
    /// Time to wait for a probe's answer; it is sent twice.
    pub probe_timeout_secs: f64,
    /// Time from a failure to the next probing of a flow that had a path left in its cache `[ours]`.
    pub reprobe_after_failure_secs: f64,
    /// Time after which a link in the failed-link database is forgotten `[bcube §4.2]`.
    pub failed_link_timeout_secs: f64,
    /// Time from a probing that found no path to the next one `[ours]`.
    pub retry_secs: f64,
    /// Time without a packet after which a flow is forgotten `[ours]`.
    pub flow_idle_secs: f64,
    /// Share of a link's rate by which another path must be better before a flow moves `[ours]`.
    pub switch_margin: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            hello_secs: 1.0,
            dead_after: 3,
            adapt_secs: 10.0,
            adapt_jitter: 0.5,
            probe_timeout_secs: 0.5,
            reprobe_after_failure_secs: 2.0,
            failed_link_timeout_secs: 20.0,
            retry_secs: 1.0,
            flow_idle_secs: 60.0,
            switch_margin: 0.1,
        }
    }
}

/// Least and greatest value of the settings that are times, in seconds.
const TIME_SECS: (f64, f64) = (0.001, 86_400.0);

impl Settings {
    /// Checks every setting against its limits.
    pub fn check(&self) -> Result<(), ConfigurationError> {
        let times = [
            ("hello_secs", self.hello_secs),
            ("adapt_secs", self.adapt_secs),
            ("probe_timeout_secs", self.probe_timeout_secs),
            ("reprobe_after_failure_secs", self.reprobe_after_failure_secs),
            ("failed_link_timeout_secs", self.failed_link_timeout_secs),
            ("retry_secs", self.retry_secs),
            ("flow_idle_secs", self.flow_idle_secs),
        ];
        for (name, value) in times {
            within(name, value, TIME_SECS)?;
        }
        within("adapt_jitter", self.adapt_jitter, (0.0, 1.0))?;
        within("switch_margin", self.switch_margin, (0.0, 1.0))?;
        within("dead_after", f64::from(self.dead_after), (1.0, 100.0))
    }

    /// Silence after which a neighbour is dead.
    pub fn dead_interval(&self) -> Duration {
        secs(self.hello_secs) * self.dead_after
    }

    /// What links carried longer ago than this counts for less than a third of what they are taken to carry now: long
    /// enough that TCP's swings even out, short against the time between two adaptations. `[ours]`
    pub fn load_memory(&self) -> Duration {
        secs((self.adapt_secs / 10.0).clamp(0.2, 1.0))
    }
}

/// A setting in seconds as a duration; settings that were checked fit.
pub fn secs(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn within(name: &'static str, value: f64, (least, greatest): (f64, f64)) -> Result<(), ConfigurationError> {
    // Not a number fails as well.
    if value >= least && value <= greatest {
        return Ok(());
    }
    Err(ConfigurationError {
        field: format!("settings.{name}"),
        value: value.to_string(),
        limit: format!("{least} to {greatest}"),
        fix: "Give a value within the limits, or leave it out for the default.".to_owned(),
    })
}

/// What is wrong in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationError {
    /// Where.
    pub field: String,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub limit: String,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is {}, but must be {}. {}",
            self.field, self.value, self.limit, self.fix
        )
    }
}

impl std::error::Error for ConfigurationError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_timers_are_the_default_and_allowed() {
        let settings = Settings::default();
        assert_eq!(settings.check(), Ok(()));
        assert_eq!(settings.dead_interval(), Duration::from_secs(3));
        assert_eq!(settings.load_memory(), Duration::from_secs(1));
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_its_limits() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let settings = Settings {
                adapt_secs: wrong,
                ..Settings::default()
            };
            let error = settings.check().unwrap_err();
            assert_eq!(error.field, "settings.adapt_secs");
            assert!(error.to_string().contains("0.001 to 86400"), "{error}");
        }
    }
}
