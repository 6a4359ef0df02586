//! BCube: source routing by the servers, over plain mini-switches. `[bcube §3, §4, §7]`
//!
//! | file | job |
//! |---|---|
//! | `mod.rs` | the catalogue's entry |
//! | `bsr.rs` | BSR's inputs, and its reactions to failures and recoveries for flows and default paths |
//! | `probing.rs` | rounds of path selection, from the first probe to the choice |
//! | `relay.rs` | relayed messages: probes, responses, failures on their path |
//! | `gateways.rs` | the path to external networks |
//! | `inspect.rs` | the state as sections of rows |
//! | `header.rs`, `nha.rs`, `route.rs` | formats on the wire |
//! | `tables.rs`, `rules.rs` | the forwarding tables, and the entries that a run allows |
//! | `forwarding.rs` | packets in user space; the kernel's programs are in `bpf/bcube/` |
//! | `chip.rs` | packets by the tables of a switching chip, in user space |
//! | `chip_program.rs` | what the chip runs: the paper's program, or a user's |
//! | `chip_tables.rs` | the chip's tables in the kernel, kept consistent with BCube's |
//! | `state.rs` | shared state and counters: tables, flows, notices |
//! | `failed_links.rs`, `flows.rs`, `keys.rs`, `round.rs`, `selection.rs`, `structure.rs`, `message.rs`, `settings.rs` | plain data |
//!
//! Neighbour maintenance is common to all protocols: `crate::neighbours`.

mod bsr;
pub mod chip;
mod chip_program;
pub mod chip_tables;
pub mod failed_links;
mod flows;
pub mod forwarding;
pub mod gateways;
pub mod header;
mod inspect;
mod keys;
pub mod message;
pub mod nha;
mod probing;
mod relay;
mod round;
pub mod route;
pub mod rules;
mod selection;
pub mod settings;
mod state;
mod structure;
pub mod tables;

pub use bsr::Bsr;

use cubeyard_chip::bcube::{MARKED, SHARED};

use crate::catalog::{
    CHIP, CHIP_SOFTWARE, ForwardingEntry, ForwardingKind, OwnForwarding, ProtocolEntry, ServerProgram,
    SwitchKind,
};
use crate::configuration::{Configuration, ConfigurationError};
use crate::object::{KernelObject, OwnTables};
use crate::protocol::{Protocol, Time};
use nha::Nha;

const OWN: OwnForwarding = OwnForwarding {
    tables: tables::SCHEMAS,
    own_entries: rules::own_entries,
    rules: rules::rules,
};

/// BCube in the catalogue.
pub const ENTRY: ProtocolEntry = ProtocolEntry {
    name: "bcube",
    title: "BCube source routing (BSR)",
    description: "Servers choose whole paths by probing, relay for each other, and move flows off failed or full paths.",
    families: &["bcube"],
    header_bytes: header::HEADER_BYTES as u32,
    header: Some(header::FORMAT),
    max_ports: Nha::LEVELS,
    max_switch_ports: Nha::DIGITS as u32,
    addresses_per_server: 1,
    switches: SwitchKind::Bridge,
    chips: None,
    gateways: true,
    adapts: true,
    routing: "bsr-greedy",
    settings: settings::SCHEMA,
    services: &[],
    check: structure::check,
    protocol: Some(make),
    forwardings: &[
        ForwardingEntry::in_kernel(crate::include_object!("../../../../bpf/bcube/bcube.bpf.o"), OWN),
        ForwardingEntry::in_user_space(forwarding::forwarding, OWN),
        ForwardingEntry {
            name: CHIP,
            kind: ForwardingKind::Kernel(KernelObject {
                bytes: crate::include_object!("../../../../bpf/serverswitch/serverswitch.bpf.o"),
                virtual_nic: Some("serverswitch_vnic"),
                port: "serverswitch_port",
                own_tables: Some(OwnTables {
                    schemas: crate::chip_tables::SCHEMAS,
                    translate: chip_tables::bcube_chip,
                    question: chip_tables::question,
                    from_programs: Some("serverswitch_cpu"),
                }),
            }),
            title: "ServerSwitch's tables (eBPF)",
            tables: tables::SCHEMAS,
            own_entries: rules::own_entries,
            rules: rules::rules,
            // VXLAN uses GSO to split super-packets, and GSO does not support protocol 253.
            one_host: true,
            program: Some(ServerProgram {
                own: SHARED,
                marked: Some(MARKED),
                check: chip_program::check_in_kernel,
            }),
        },
        ForwardingEntry {
            name: CHIP_SOFTWARE,
            kind: ForwardingKind::Software(chip::forwarding),
            title: "ServerSwitch's tables (user space)",
            tables: tables::SCHEMAS,
            own_entries: rules::own_entries,
            rules: rules::rules,
            one_host: false,
            program: Some(ServerProgram {
                own: SHARED,
                marked: None,
                check: chip_program::check_in_user_space,
            }),
        },
    ],
    slice_around_max_k: Some(Nha::LEVELS as u32 - 1),
};

fn make(configuration: &Configuration, now: Time) -> Result<Box<dyn Protocol>, ConfigurationError> {
    Ok(Box::new(Bsr::new(configuration, now)?))
}
