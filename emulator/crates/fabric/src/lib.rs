//! The one privileged helper of a host. It makes the networks of emulated runs out of namespaces, veth pairs, bridges,
//! queues and eBPF programs, counts what they carry, breaks them on request, and removes all of it again.
//!
//! Callers talk to it over a Unix socket, one JSON document a line; the nodes in the servers over a socket each.

pub mod ahead;
pub mod api;
pub mod assembly;
pub mod error;
pub mod ethtool;
pub mod fast_path;
pub mod faults;
pub mod hosts;
pub mod journal;
pub mod names;
pub mod namespace;
pub mod netlink;
pub mod network;
pub mod outside;
pub mod parallel;
pub mod probe;
pub mod process;
pub mod processors;
pub mod reap;
pub mod routes;
pub mod run;
pub mod underlay;
pub mod wiring;
