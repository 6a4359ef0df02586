//! A server of an emulated network: its protocol ([`protocol`]), the forwarding of its packets
//! ([`forwarding`]), and the catalogue ([`catalog`]) of all protocols and forwardings.
//!
//! Sans-IO: no sockets, no clock. Bytes and times come in as arguments, packets and decisions go
//! out as values, so that the same code runs in a container and in virtual time.
//!
//! A protocol is one folder beside this file and one entry of the catalogue; no other file names
//! it. Everything else here is common to all protocols: configuration, settings, tables, events,
//! inspections, addresses, counts, drops, header descriptions, neighbour maintenance, frames and
//! their form on a wire, rate limits, and keys and values for memcached's clients. Not here:
//! sockets and the clock (`cubeyard-node`), namespaces and the kernel (`cubeyard-fabric`), messages
//! between those two (`cubeyard-messages`), route computation (`cubeyard-routing`).

pub mod address;
pub mod bcube;
pub mod camcube;
pub mod catalog;
pub mod chip_tables;
pub mod configuration;
pub mod control;
pub mod counts;
pub mod dcell;
pub mod drops;
pub mod echo;
pub mod event;
pub mod fields;
pub mod flow;
pub mod forwarding;
pub mod frame;
pub mod inspection;
pub mod key_value;
pub mod link_state;
mod lru;
pub mod neighbours;
pub mod object;
pub mod packet;
pub mod portland;
pub mod protocol;
pub mod rate_limit;
pub mod run_role;
pub mod service;
pub mod settings;
pub mod switch_control;
pub mod tables;
pub mod wire_form;
