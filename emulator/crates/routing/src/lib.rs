//! The papers' routing schemes on a [`cubeyard_topology::Topology`]: paths, path sets, trees, and what
//! failures do to them. Pure functions of their arguments and a seed.

pub mod bcube;
pub mod catalog;
pub mod dcell;
pub mod failures;
pub mod fat_tree;
pub mod multipath;
pub mod path;
pub mod ports;
pub mod random;
pub mod shortest;
pub mod subways;
pub mod torus;
pub mod tree;

pub use catalog::{RoutingError, Scheme, default_for, names_for, router, schemes_for};
pub use failures::{BitSet, FailureKind, Failures};
pub use multipath::{MultipathRouter, PathSet};
pub use path::{DirectedLink, Flow, NoPath, Routed, Router};
