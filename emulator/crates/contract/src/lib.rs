//! What crosses a process, declared once: Rust types, and the files that Python gets from them.
//!
//! | file | job |
//! |---|---|
//! | `column.rs` | what a column declares: its unit, how its values merge, and what the page gets |
//! | `tick.rs` | the columns of a fabric's tick, and the reports of nodes that they come from |
//! | `python.rs` | the same as `backend/cubeyard/contract/tick.py` |
//!
//! `cargo run -p cubeyard-contract` writes the generated files; a test compares them.
//!
//! Not here: messages between fabric and node (`cubeyard_messages`), which use these types.

#[macro_use]
mod column;
pub mod python;
pub mod tick;

pub use column::{Column, Merge, Over, Shown, Unit};
