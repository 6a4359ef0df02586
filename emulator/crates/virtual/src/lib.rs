//! A network in virtual time: what runs in containers, on an event queue instead of sockets and a
//! clock.
//!
//! | file | job |
//! |---|---|
//! | `queue.rs` | events in the order of their times |
//! | `wiring.rs` | who is at the other end of a port, and which links a hop takes |
//! | `host.rs` | one server: its protocol and its forwarding |
//! | `flow.rs` | flows, their packets, and the rates they share links by |
//! | `network.rs` | the network: time, faults, control messages, packets, measurements, controllers |
//!
//! Servers run any protocol of `cubeyard_dataplane::catalog` over its forwarding in user space.
//! Control messages and data packets are bytes; a control message takes a fixed time a hop, a data
//! packet none, and rates come from max-min fair shares. Not here: queues and retransmission, which
//! are the packet engine's; sockets, which are the node's.

pub mod flow;
pub mod host;
pub mod network;
pub mod queue;
pub mod wiring;

pub use flow::FlowState;
pub use network::{Network, Options};
