//! DCell's settings: the `b` of DCell_b, local reroutes, and timers.

use std::time::Duration;

use crate::configuration::{ConfigurationError, secs};
use crate::link_state::Timing;
use crate::neighbours::Intervals;
use crate::settings::{Given, Setting, read};

/// Minimum time between two advertisements of a server. `[ours]`
const LEAST_GAP: Duration = Duration::from_millis(50);

const fn time(
    name: &'static str,
    title: &'static str,
    default: f64,
    source: &'static str,
    description: &'static str,
) -> Setting {
    Setting {
        name,
        title,
        description,
        whole: false,
        unit: "s",
        minimum: 0.02,
        maximum: 60.0,
        default,
        source,
    }
}

const fn count(
    name: &'static str,
    title: &'static str,
    [minimum, maximum, default]: [f64; 3],
    source: &'static str,
    description: &'static str,
) -> Setting {
    Setting {
        name,
        title,
        description,
        whole: true,
        unit: "",
        minimum,
        maximum,
        default,
        source,
    }
}

/// All settings, with their limits and defaults.
pub const SCHEMA: &[Setting] = &[
    count(
        "group_level",
        "Order b of link state",
        [0.0, 7.0, 1.0],
        "[dcell §4.3]",
        "Link state is known inside a DCell of this order; packets leave it by DCellRouting.",
    ),
    count(
        "retries",
        "Local reroutes",
        [0.0, 15.0, 5.0],
        "[dcell §7.1]",
        "Times that a packet may be sent to a proxy before it is dropped.",
    ),
    time(
        "hello_secs",
        "Hello interval",
        1.0,
        "[dcell §7.1]",
        "Time from one hello to the next.",
    ),
    count(
        "dead_after",
        "Missed hellos before a neighbour is dead",
        [1.0, 100.0, 5.0],
        "[dcell §7.1]",
        "Hellos missed in a row after which a neighbour counts as dead.",
    ),
    time(
        "link_state_secs",
        "Link-state interval",
        1.0,
        "[ours]",
        "Time from one advertisement of a server's links to the next where nothing changes.",
    ),
    count(
        "link_state_dead_after",
        "Missed advertisements before links are dead",
        [2.0, 100.0, 5.0],
        "[dcell §7.3]",
        "Advertisements missed in a row after which a server's links count as dead.",
    ),
    time(
        "trace_secs",
        "Path trace interval",
        1.0,
        "[ours]",
        "Interval between updates of a flow's path, for display.",
    ),
];

/// The values of [`SCHEMA`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "described in the schema")]
pub struct Settings {
    pub group_level: usize,
    pub retries: u8,
    pub hello_secs: f64,
    pub dead_after: u32,
    pub link_state_secs: f64,
    pub link_state_dead_after: u32,
    pub trace_secs: f64,
}

impl Settings {
    /// The given settings, with defaults for the others. Errors: see [`read`].
    pub fn of(given: &Given) -> Result<Settings, ConfigurationError> {
        let values = read(SCHEMA, given)?;
        Ok(Settings {
            group_level: values["group_level"] as usize,
            retries: values["retries"] as u8,
            hello_secs: values["hello_secs"],
            dead_after: values["dead_after"] as u32,
            link_state_secs: values["link_state_secs"],
            link_state_dead_after: values["link_state_dead_after"] as u32,
            trace_secs: values["trace_secs"],
        })
    }

    /// The intervals of neighbour maintenance.
    pub fn intervals(&self) -> Intervals {
        let hello = secs(self.hello_secs);
        Intervals {
            hello,
            dead: hello * self.dead_after,
            claim: hello,
        }
    }

    /// The intervals of link state.
    pub fn timing(&self) -> Timing {
        let refresh = secs(self.link_state_secs);
        Timing {
            refresh,
            expire: refresh * self.link_state_dead_after,
            least_gap: LEAST_GAP.min(refresh),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_timers_are_the_defaults() {
        let settings = Settings::of(&Given::new()).unwrap();
        assert_eq!(settings.intervals().dead, Duration::from_secs(5));
        assert_eq!(settings.timing().expire, Duration::from_secs(5));
        assert_eq!((settings.group_level, settings.retries), (1, 5));
    }
}
