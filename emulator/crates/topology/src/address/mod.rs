//! Addresses as arithmetic, for the families in which routing computes with them: BCube, DCell and
//! the torus.
//!
//! Inside: digits and coordinates of server ids, the neighbour at a digit, the link between two
//! sub-structures. The families name and wire their nodes with it, the routing schemes and the
//! dataplane choose next hops with it.
//!
//! Not here: names, ports, links and failures; families whose switches route by tables. The wiring
//! certificate does not use this module for the rule it checks: it reads the rule from names.

mod bcube;
mod dcell;
mod division;
mod top_down;
mod torus;

pub use bcube::BcubeAddresses;
pub use dcell::{Bridge, DcellAddresses};
pub use torus::TorusAddresses;
