//! DCell: fault-tolerant routing (DFR). Servers have the link state of their own DCell_b, and
//! reroute packets locally if they cannot forward them. `[dcell §4, §7]`
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the catalogue's entry |
//! | `control.rs` | the control half: neighbours, link state, and the time to compute the table |
//! | `routes.rs` | the forwarding table from link state, by the model's own decision (`cubeyard_routing::dcell::Here`) |
//! | `traces.rs` | the paths of flows, for display |
//! | `inspect.rs` | the state as sections of rows |
//! | `header.rs` | the 16 bytes inside the packet's own IPv4 header |
//! | `tables.rs`, `rules.rs` | the forwarding tables, and the entries that a run allows |
//! | `forwarding.rs` | packets in user space; the kernel's programs are in `bpf/dcell/` |
//! | `message.rs`, `settings.rs`, `structure.rs` | plain data |
//!
//! Neighbour maintenance and link state are common to all protocols: `crate::neighbours`,
//! `crate::link_state`. Link state goes to each neighbour in a separate message, at level 0 too: no
//! control traffic needs Ethernet's broadcast. `[ours]`

mod control;
pub mod forwarding;
pub mod header;
mod inspect;
pub mod message;
pub mod routes;
pub mod rules;
pub mod settings;
pub mod structure;
pub mod tables;
mod traces;

use crate::catalog::{ForwardingEntry, OwnForwarding, ProtocolEntry, SwitchKind};
use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::PORTS;
use crate::protocol::{Protocol, Time};

pub use control::Dcell;

const OWN: OwnForwarding = OwnForwarding {
    tables: tables::SCHEMAS,
    own_entries: rules::own_entries,
    rules: rules::rules,
};

/// DCell in the catalogue.
pub const ENTRY: ProtocolEntry = ProtocolEntry {
    name: "dcell",
    title: "DCell fault-tolerant routing (DFR)",
    description: "Servers forward by a table from link state, and send what meets a broken link to a proxy on the spot.",
    families: &["dcell"],
    header_bytes: header::HEADER_BYTES as u32,
    header: Some(header::FORMAT),
    max_ports: PORTS as u8,
    max_switch_ports: u32::MAX,
    addresses_per_server: 1,
    switches: SwitchKind::Bridge,
    chips: None,
    gateways: false,
    adapts: false,
    routing: "dfr",
    settings: settings::SCHEMA,
    services: &[],
    check: structure::check,
    protocol: Some(make),
    forwardings: &[
        ForwardingEntry::in_kernel(crate::include_object!("../../../../bpf/dcell/dcell.bpf.o"), OWN),
        ForwardingEntry::in_user_space(forwarding::forwarding, OWN),
    ],
    slice_around_max_k: None,
};

fn make(configuration: &Configuration, now: Time) -> Result<Box<dyn Protocol>, ConfigurationError> {
    Ok(Box::new(Dcell::new(configuration, now)?))
}
