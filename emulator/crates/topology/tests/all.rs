//! All tests of this crate's outside in one program: each file alone would be compiled and linked
//! with everything it uses. `bin/check-crates.py` finds a file that is not named here.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

mod cases;
mod common;

mod custom;
mod findings;
mod golden;
mod growth;
mod invariants;
mod mutations;
mod oracle;
mod scale;
mod slice;
