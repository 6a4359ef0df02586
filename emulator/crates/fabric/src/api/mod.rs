//! What callers can ask over the socket: one JSON document a line, answers in the same order, frames in between.

mod fabric;
mod server;

pub use fabric::{Fabric, Options};
pub use server::{serve, stop_on_signal};
