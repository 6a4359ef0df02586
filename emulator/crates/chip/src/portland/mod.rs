//! PortLand on ServerSwitch `[serverswitch §3.2.2, §3.3.2]`, in virtual time and as the control of
//! real switches: a fat-tree of ports = 4 whose 20 switches of 4 ports are one chip each, with its
//! CPU.
//!
//! Hosts speak plain Ethernet, ARP and IPv4. A host's address in the fabric is its PMAC (pod,
//! position, port, number), and switches forward by its prefix, which the TCAM matches. The edge's
//! CPU gets ARP, gives hosts their PMACs, and asks the fabric manager, which answers or has all
//! edges ask their hosts; the edge's chip puts PMACs in the place of hosts' own MACs on the way in
//! and takes them back on the way out. A link or switch that fails is found by its neighbours, and
//! the fabric manager has the switches go around it. A host that neither answers its edge's probes
//! nor sends is forgotten until it does.
//!
//! | file | job |
//! |---|---|
//! | `tree.rs` | the switches, their ports, what has failed, and the ways that are left |
//! | `tables.rs` | a switch's program |
//! | `edge.rs` | the CPU of a switch |
//! | `manager.rs` | the fabric manager |
//! | `channel.rs` | messages between the two, over a network that can lose them |
//! | `control.rs` | the CPUs with the fabric manager, for packets that somebody else carries |
//! | `host.rs` | a host and its packets |
//! | `network.rs` | all of them, event by event |
//! | `trial.rs` | one question to it, for people |
//!
//! Ours: the ways of a flow differ by its source port (bit 0 at the edge, bit 1 above), as the chip
//! has no hash; failures count from when neighbours have found them, after 50 ms; the CPUs reach
//! the fabric manager over a network of their own, on which messages may be lost and are repeated.

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
