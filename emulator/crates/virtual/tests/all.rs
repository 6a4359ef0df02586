//! All tests of this crate's outside in one program: each file alone would be compiled and linked
//! with everything it uses. `bin/check-crates.py` finds a file that is not named here.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

#[path = "../../topology/tests/cases.rs"]
mod cases;
mod network;
mod torus;

mod bcube;
mod bcube_chip;
mod camcube;
mod camcube_benchmark;
mod camcube_memcached;
mod camcube_services;
mod dcell;
mod echo;
mod user_services;
mod word_count_module;
