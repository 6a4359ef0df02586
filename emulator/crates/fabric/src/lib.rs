//! The one privileged helper of a host. It builds the networks of emulated runs from namespaces,
//! veth pairs, bridges, queues and eBPF programs, counts their traffic, injects faults, and removes
//! everything again.
//!
//! Callers connect to a Unix socket and send one JSON document per line (`api/`); the nodes in the
//! servers connect to a socket each (`run/`). `balance/` and `hellos/` are the messages between
//! routers and servers. `network/` and `faults/` are pure: the network to build, and its state
//! under faults. `links/`, `switches/`, `servers/`, `programs/` and `external` turn that into
//! requests, `netlink/` and `host/` call the kernel, `kernels` holds the kernel objects of a run.
//! `journal` and `reap` clean up after a crash.
//!
//! Not here: containers (the caller starts them), routing decisions (the nodes make them), HTTP and
//! SQL.

pub mod api;
pub mod balance;
pub mod capture;
pub mod congestion;
pub mod error;
pub mod external;
pub mod faults;
pub mod hellos;
pub mod host;
pub mod journal;
pub mod kernels;
pub mod links;
pub mod names;
pub mod netlink;
pub mod network;
pub mod parallel;
pub mod programs;
pub mod reap;
pub mod routes;
pub mod run;
pub mod servers;
pub mod switches;
