//! CamCube: servers of a torus relay for each other over direct cables, and services do their own
//! routing. `[camcube]`
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the catalogue's entry |
//! | `control.rs` | the core services: liveness of neighbours, link state, and the resulting paths and keys |
//! | `paths.rs` | the paths of flows, for display |
//! | `ways.rs` | shortest live paths and live disjoint paths, from the link state |
//! | `inspect.rs` | the state as sections of rows |
//! | `header.rs` | the option on the wire |
//! | `tables.rs`, `rules.rs` | the forwarding tables, and the entries that a run allows |
//! | `forwarding.rs` | packets in user space; the kernel's programs are in `bpf/camcube/` |
//! | `services/` | services that route their own packets |
//! | `structure.rs`, `settings.rs` | plain data |
//!
//! Packets of unmodified applications take the TCP/IP service's disjoint paths or, by a setting,
//! the routing service's shortest ones. Neighbour maintenance and link state are common to all
//! protocols: `crate::neighbours`, `crate::link_state`; the rules of paths and keys are in
//! `cubeyard_routing::torus`.

mod control;
pub mod forwarding;
pub mod header;
mod inspect;
mod paths;
pub mod rules;
pub mod services;
pub mod settings;
mod structure;
pub mod tables;
pub mod ways;

pub use structure::Structure;

use crate::catalog::{ForwardingEntry, OwnForwarding, ProtocolEntry, SwitchKind};
use crate::configuration::{Configuration, ConfigurationError};
use crate::protocol::{Protocol, Time};

const OWN: OwnForwarding = OwnForwarding {
    tables: tables::SCHEMAS,
    own_entries: rules::own_entries,
    rules: rules::rules,
};

/// CamCube in the catalogue.
pub const ENTRY: ProtocolEntry = ProtocolEntry {
    name: "camcube",
    title: "CamCube",
    description: "Servers of a torus know all links, relay over shortest or disjoint paths, and answer for keys.",
    families: &["torus3d", "torus2d"],
    header_bytes: header::OPTION_BYTES as u32,
    header: Some(header::FORMAT),
    max_ports: tables::PORTS as u8,
    max_switch_ports: 0,
    addresses_per_server: 1,
    switches: SwitchKind::Bridge,
    chips: None,
    gateways: false,
    adapts: false,
    routing: "torus-tcp",
    settings: settings::SCHEMA,
    services: services::ENTRIES,
    check: structure::check,
    protocol: Some(make),
    forwardings: &[
        ForwardingEntry::in_kernel(
            crate::include_object!("../../../../bpf/camcube/camcube.bpf.o"),
            OWN,
        ),
        ForwardingEntry::in_user_space(forwarding::forwarding, OWN),
    ],
    slice_around_max_k: None,
};

fn make(configuration: &Configuration, now: Time) -> Result<Box<dyn Protocol>, ConfigurationError> {
    Ok(Box::new(control::CamCube::new(configuration, now)?))
}
