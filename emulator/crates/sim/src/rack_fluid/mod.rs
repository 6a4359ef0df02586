//! A fluid of whole racks for Subways: all servers of a logical rack send alike, so that a rack's links to one ToR
//! are one link, and flows between two racks over the same ToRs one stream. `[subways §4-§6]`, the fluid `[ours]`
//!
//! Exact for a shuffle among whole racks but for two things that only single flows and packets show: an even
//! spread over a ToR's uplinks (hashing is uneven) and TCP. In return a job of 180 servers takes milliseconds, and the
//! controllers' periods can be followed one by one.

mod balance;
mod detour;
mod fair;
mod job;
mod network;

pub use job::{Balance, Between, Demand, Plan, run, shuffle};
pub use network::RackNetwork;
