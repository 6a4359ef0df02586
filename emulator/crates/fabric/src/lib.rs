//! The one privileged helper of a host. It makes the networks of emulated runs out of namespaces,
//! veth pairs, bridges, queues and eBPF programs, counts what they carry, injects faults, and
//! removes everything again.
//!
//! Callers connect to a Unix socket and send one JSON document per line (`api/`); the nodes in the
//! servers connect to a socket each (`run/`). `balance/` and `hellos/` are what routers and servers
//! tell each other. `network/` and `faults/` are pure: what to make, and its condition under
//! faults. `links/`, `switches/`, `servers/`, `programs/` and `external` turn that into requests,
//! `netlink/` and `host/` talk to the kernel, `kernels` holds what a run has there. `journal` and
//! `reap` clean up after a crash.
//!
//! Not here: containers (the caller starts them), routing decisions (the nodes make them), and
//! anything of HTTP or SQL.

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
