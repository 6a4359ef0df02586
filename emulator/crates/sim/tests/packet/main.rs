//! The packet engine against theory and published behaviour.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

#[path = "../../../topology/tests/cases.rs"]
mod cases;

mod bench;
mod conservation;
mod experiments;
mod heat;
mod notices;
mod rebinding;
mod recovery;
mod requests;
mod transport;
