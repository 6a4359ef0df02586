//! What runs in the container of an emulated server, as its only process: the IO of its protocol, the built-in
//! workload, and the duties of a first process. It holds no capability; whatever needs one it asks the fabric for.
//!
//! One thread, one epoll loop ([`node`]). The protocol itself is sans-IO and lives in `cubeyard-dataplane`.

pub mod bandwidth;
pub mod carrier;
pub mod clock;
pub mod control;
pub mod fabric;
pub mod messages;
pub mod node;
pub mod packet_socket;
pub mod poller;
pub mod signals;
mod socket_options;
pub mod software;
pub mod workload;
