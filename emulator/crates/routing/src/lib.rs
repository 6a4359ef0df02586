//! The papers' routing schemes on a [`cubeyard_topology::Topology`].
//!
//! A [`Router`] is made for one topology with one set of failures and gives directed links for a
//! flow. Schemes draw random choices from the flow's number, so that any thread may
//! route any flow and the result does not depend on the order. Pure functions of their arguments:
//! no clock, no state between calls.
//!
//! Inside: a folder for each family with separate schemes (`bcube`, `dcell`, `torus`, `subways`),
//! a file each for `dragonfly`, `fat_tree`, `leaf_spine` and `tree`, schemes for any network
//! (`shortest`, `k_shortest`), parallel paths in any network (`disjoint`), and shared code: `path`,
//! `multipath`, `ports`, `failures`, and `random` of `cubeyard-topology`. `catalog` lists all
//! schemes by name with the families they serve. `tables` has the routing tables of switches that
//! are routers, `hash` chooses a flow's next hop, `subflows` has the subflows of an MPTCP
//! connection, `host_routes` static routes for labs, `qcn` the rate control of sources by
//! congestion notifications.
//!
//! Not here: loads, rates and times of flows (`cubeyard-sim`), packets and messages
//! (`cubeyard-dataplane`).

pub mod bcube;
pub mod catalog;
pub mod dcell;
pub mod disjoint;
pub mod dragonfly;
pub mod failures;
pub mod fat_tree;
pub mod hash;
pub mod host_routes;
pub mod k_shortest;
pub mod leaf_spine;
pub mod multipath;
pub mod path;
pub mod ports;
pub mod qcn;
pub mod shortest;
pub mod subflows;
pub mod subways;
pub mod tables;
pub mod torus;
pub mod tree;

pub use cubeyard_topology::random;

pub use catalog::{PathChoice, RoutingError, Scheme, default_for, names_for, router, scheme, schemes_for};
pub use failures::{BitSet, FailureKind, Failures};
pub use multipath::{MultipathRouter, PathSet};
pub use path::{DirectedLink, Flow, NoPath, Routed, Router};
