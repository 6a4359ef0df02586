//! A network in virtual time: the same code as in containers, on an event queue instead of sockets
//! and a clock.
//!
//! | file | job |
//! |---|---|
//! | `queue.rs` | events in the order of their times |
//! | `wiring.rs` | the neighbours at the other end of a port, and the links of a hop |
//! | `host.rs` | one server: its protocol and its forwarding |
//! | `flow.rs` | flows, their packets, and the rates they share links by |
//! | `network.rs` | the network: time, faults, control messages, packets, measurements, controllers |
//!
//! Servers run any protocol of `cubeyard_dataplane::catalog` over its forwarding in user space.
//! Control messages and data packets are bytes; a control message takes a fixed time per hop, a
//! data packet none, and rates are max-min fair shares. Not here: queues and retransmission, which
//! the packet engine simulates; sockets, which are in the node.

pub mod flow;
pub mod host;
pub mod network;
pub mod queue;
pub mod wiring;

pub use flow::FlowState;
pub use network::{Network, Options};
