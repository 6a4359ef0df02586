//! The only process in the container of an emulated server. It does the IO of the server's
//! protocol, generates the built-in workload, and has the duties of a container's first process. It
//! holds no capability; the fabric does everything that needs one.
//!
//! One thread, one epoll loop ([`node`]). Protocols and forwardings are sans-IO and live in
//! `cubeyard-dataplane`; the configuration of a node selects them, and no file here names one. The
//! messages to and from the fabric are those of `cubeyard-messages`.

pub mod bandwidth;
pub mod carrier;
pub mod chip;
pub mod chip_socket;
pub mod clients;
pub mod clock;
pub mod control;
pub mod fabric;
pub mod handed;
pub mod isolation;
pub mod kernel_chip;
pub mod modules;
pub mod node;
pub mod packet_ring;
pub mod packet_socket;
pub mod poller;
pub mod processes;
pub mod services;
pub mod signals;
mod socket_options;
pub mod software;
pub mod workload;
