//! BCube's settings: the timers of BSR.

use std::time::Duration;

use crate::configuration::{ConfigurationError, secs};
use crate::neighbours::Intervals;
use crate::settings::{Given, Setting, read};

/// A setting in seconds, from `least` to an hour.
const fn time(
    name: &'static str,
    title: &'static str,
    least: f64,
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
        minimum: least,
        maximum: 3600.0,
        default,
        source,
    }
}

/// A setting between 0 and 1.
const fn share(
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
        unit: "",
        minimum: 0.0,
        maximum: 1.0,
        default,
        source,
    }
}

/// All settings, with their limits and defaults.
pub const SCHEMA: &[Setting] = &[
    time(
        "hello_secs",
        "Hello interval",
        0.02,
        1.0,
        "[bcube §7.5]",
        "Time from one hello to the next.",
    ),
    Setting {
        name: "dead_after",
        title: "Missed hellos before a neighbour is dead",
        description: "Hellos missed in a row after which a neighbour counts as dead.",
        whole: true,
        unit: "",
        minimum: 1.0,
        maximum: 100.0,
        default: 3.0,
        source: "[bcube §7.5]",
    },
    time(
        "adapt_secs",
        "Path selection interval",
        0.2,
        10.0,
        "[bcube §4.3]",
        "Time from one probing of a flow's paths to the next.",
    ),
    share(
        "adapt_jitter",
        "Path selection jitter",
        0.5,
        "[bcube §4.3]",
        "Up to this share of the interval is added at random, so that flows do not move together.",
    ),
    time(
        "probe_timeout_secs",
        "Probe timeout",
        0.001,
        0.5,
        "[ours]",
        "Time to wait for a probe's answer; a probe is sent twice.",
    ),
    time(
        "reprobe_after_failure_secs",
        "Probing after a failure",
        0.001,
        2.0,
        "[ours]",
        "Time from a failure to the next probing of a flow that had another path in its cache.",
    ),
    time(
        "failed_link_timeout_secs",
        "Failed link timeout",
        0.001,
        20.0,
        "[bcube §4.2]",
        "Time after which a reported failure is forgotten.",
    ),
    time(
        "retry_secs",
        "Retry interval",
        0.001,
        1.0,
        "[ours]",
        "Time from a probing that found no path to the next one.",
    ),
    time(
        "flow_idle_secs",
        "Idle flow timeout",
        0.001,
        60.0,
        "[ours]",
        "Time without a packet after which a flow is forgotten.",
    ),
    share(
        "switch_margin",
        "Switch margin",
        0.1,
        "[ours]",
        "A flow moves only to a path that is better by at least this share of a link's rate.",
    ),
];

/// The values of [`SCHEMA`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "described in the schema")]
pub struct Settings {
    pub hello_secs: f64,
    pub dead_after: u32,
    pub adapt_secs: f64,
    pub adapt_jitter: f64,
    pub probe_timeout_secs: f64,
    pub reprobe_after_failure_secs: f64,
    pub failed_link_timeout_secs: f64,
    pub retry_secs: f64,
    pub flow_idle_secs: f64,
    pub switch_margin: f64,
}

impl Settings {
    /// The given settings, with defaults for the others. Errors: see [`read`].
    pub fn of(given: &Given) -> Result<Settings, ConfigurationError> {
        let values = read(SCHEMA, given)?;
        Ok(Settings {
            hello_secs: values["hello_secs"],
            dead_after: values["dead_after"] as u32,
            adapt_secs: values["adapt_secs"],
            adapt_jitter: values["adapt_jitter"],
            probe_timeout_secs: values["probe_timeout_secs"],
            reprobe_after_failure_secs: values["reprobe_after_failure_secs"],
            failed_link_timeout_secs: values["failed_link_timeout_secs"],
            retry_secs: values["retry_secs"],
            flow_idle_secs: values["flow_idle_secs"],
            switch_margin: values["switch_margin"],
        })
    }

    /// The intervals of neighbour maintenance.
    pub fn intervals(&self) -> Intervals {
        Intervals {
            hello: secs(self.hello_secs),
            dead: secs(self.hello_secs) * self.dead_after,
            claim: 2 * self.load_memory(),
        }
    }

    /// Memory of load measurements: older loads count for less than a third. Long enough to average
    /// out TCP's variations, short compared with the time between two adaptations. `[ours]`
    pub fn load_memory(&self) -> Duration {
        secs((self.adapt_secs / 10.0).clamp(0.2, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_timers_are_the_defaults() {
        let settings = Settings::of(&Given::new()).unwrap();
        assert_eq!(settings.intervals().dead, Duration::from_secs(3));
        assert_eq!(settings.load_memory(), Duration::from_secs(1));
        assert_eq!(
            (settings.adapt_secs, settings.failed_link_timeout_secs),
            (10.0, 20.0)
        );
    }

    #[test]
    fn a_setting_out_of_bounds_is_named_with_its_limits() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let error = Settings::of(&Given::from([("adapt_secs".to_owned(), wrong)])).unwrap_err();
            assert_eq!(error.field, "settings.adapt_secs");
            assert!(error.to_string().contains("0.2 to 3600"), "{error}");
        }
    }
}
