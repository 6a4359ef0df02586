//! CamCube's settings. The paper has no times for hellos and link state; the defaults for hellos
//! are those of another paper on server-centric networks.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::configuration::{ConfigurationError, secs};
use crate::settings::{Given, Setting, read};

/// The schema of all settings.
pub const SCHEMA: &[Setting] = &[
    Setting {
        name: "hello_secs",
        title: "Hello interval",
        description: "Time from one hello to the next.",
        whole: false,
        unit: "s",
        minimum: 0.01,
        maximum: 60.0,
        default: 1.0,
        source: "[ours]",
    },
    Setting {
        name: "dead_after",
        title: "Missed hellos before a neighbour is dead",
        description: "Hellos missed in a row after which a neighbour counts as dead.",
        whole: true,
        unit: "",
        minimum: 1.0,
        maximum: 100.0,
        default: 5.0,
        source: "[ours]",
    },
    Setting {
        name: "refresh_secs",
        title: "Link state interval",
        description: "Time from one advertisement of link state to the next where nothing changes.",
        whole: false,
        unit: "s",
        minimum: 0.05,
        maximum: 600.0,
        default: 5.0,
        source: "[ours]",
    },
    Setting {
        name: "expire_after",
        title: "Missed link state before it is dropped",
        description: "Advertisements missed in a row after which a server's link state does not count.",
        whole: true,
        unit: "",
        minimum: 2.0,
        maximum: 100.0,
        default: 3.0,
        source: "[ours]",
    },
    Setting {
        name: "disjoint_paths",
        title: "Disjoint paths for applications",
        description: "1: packets of applications use the TCP/IP service's disjoint paths; 0: the routing service's first free link on a shortest path.",
        whole: true,
        unit: "",
        minimum: 0.0,
        maximum: 1.0,
        default: 1.0,
        source: "[camcube §3.1]",
    },
    Setting {
        name: "memcached_port",
        title: "TCP port of the cache",
        description: "Where clients of memcached find the cache service on every server; 0: nowhere.",
        whole: true,
        unit: "",
        minimum: 0.0,
        maximum: 65_535.0,
        default: 11_211.0,
        source: "[camcube §3.3]",
    },
];

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Time between two hellos.
    pub hello: Duration,
    /// A neighbour is dead after this time without hellos.
    pub dead: Duration,
    /// Time between two advertisements of link state.
    pub refresh: Duration,
    /// Age at which link state expires.
    pub expire: Duration,
    /// Whether packets of applications take disjoint paths.
    pub disjoint_paths: bool,
    /// TCP port of the cache service, if it has one.
    pub memcached_port: Option<u16>,
}

impl Settings {
    /// Parses the given settings and fills in defaults. Errors: an unknown name, a value out of its
    /// limits.
    pub fn new(given: &Given) -> Result<Settings, ConfigurationError> {
        let values: BTreeMap<&str, f64> = read(SCHEMA, given)?;
        let hello = secs(values["hello_secs"]);
        let refresh = secs(values["refresh_secs"]);
        Ok(Settings {
            hello,
            refresh,
            expire: refresh * values["expire_after"] as u32,
            dead: hello * values["dead_after"] as u32,
            disjoint_paths: values["disjoint_paths"] == 1.0,
            memcached_port: Some(values["memcached_port"] as u16).filter(|port| *port != 0),
        })
    }
}
