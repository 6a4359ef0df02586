//! All tests of this crate's outside in one program: each file alone would be compiled and linked
//! with everything it uses. `bin/check-crates.py` finds a file that is not named here.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

#[path = "../../topology/tests/cases.rs"]
mod cases;

mod beside;
mod controllers;
mod degraded;
mod distances;
mod engines;
mod figures;
mod given_paths;
mod golden;
mod leaf_spine;
mod maxmin;
mod odd;
mod outline;
mod own_topologies;
mod predictions;
mod published_abt;
mod rack_fluid;
mod routed;
