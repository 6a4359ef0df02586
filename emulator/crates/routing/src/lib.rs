//! The papers' routing schemes on a [`cubeyard_topology::Topology`]: paths, path sets, trees, and what
//! failures do to them. Pure functions of their arguments and a seed.

pub mod bcube;
pub mod dcell;
pub mod failures;
pub mod path;
pub mod ports;
pub mod random;

pub use failures::{BitSet, FailureKind, Failures};
pub use path::{DirectedLink, NoPath, Router};
