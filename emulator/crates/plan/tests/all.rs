//! All tests of this crate's outside in one program: each file alone would be compiled and linked
//! with everything it uses. `bin/check-crates.py` finds a file that is not named here.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail")]

#[path = "../../topology/tests/cases.rs"]
mod cases;

mod addresses;
mod bom;
mod books;
mod breakouts;
mod diff;
mod documents;
mod enclosure;
mod families;
mod hostile;
mod lifecycle;
mod packing;
mod paper_container;
mod properties;
mod subways_wires;
mod table2;
mod tray_choice;
