//! PortLand on ServerSwitch `[serverswitch §3.2.2, §3.3.2]`, in virtual time and as the control of
//! real switches: a fat-tree of ports = 4 whose 20 switches of 4 ports are one chip each, with its
//! CPU.
//!
//! Hosts speak plain Ethernet, ARP and IPv4. A host's address in the fabric is its PMAC (pod,
//! position, port, number), and switches forward by its prefix, which the TCAM matches. The edge's
//! CPU receives ARP packets, assigns PMACs to hosts, and queries the fabric manager, which answers
//! or lets all edges query their hosts. The edge's chip replaces hosts' own MACs by PMACs on the
//! way in, and reverses it on the way out. Neighbours detect a failed link or switch, and the
//! fabric manager makes the switches route around it. A host that neither answers its edge's probes
//! nor sends is forgotten until it does.
//!
//! | file | job |
//! |---|---|
//! | `tree.rs` | the switches, their ports, the failures, and the remaining paths |
//! | `tables.rs` | a switch's program |
//! | `edge.rs` | the CPU of a switch |
//! | `manager.rs` | the fabric manager |
//! | `channel.rs` | messages between the two, over a network that can lose them |
//! | `control.rs` | the CPUs with the fabric manager, for callers that carry the packets |
//! | `host.rs` | a host and its packets |
//! | `network.rs` | all of them, event by event |
//! | `trial.rs` | one packet's journey, for display |
//!
//! Ours: a flow's source port chooses its path (bit 0 at the edge, bit 1 above), because the chip
//! has no hash; failures take effect after neighbours have detected them, 50 ms later; the CPUs
//! reach the fabric manager over a separate network, on which messages can be lost and are
//! repeated.

mod channel;
mod control;
mod edge;
mod host;
mod manager;
mod network;
mod tables;
mod tree;
mod trial;

pub use channel::{Channel, RETRY_MICROS};
pub use control::{Control, Effects, Met, News};
pub use edge::SILENT_LOOKS;
pub use host::{Delivered, ip_of};
pub use network::{DETECTION_MICROS, Network};
pub use tables::{Pmac, program};
pub use tree::Tree;
pub use trial::{Trial, trial};
