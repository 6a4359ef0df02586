//! A fluid of whole racks for Subways: all servers of a logical rack send equally, so that a rack's
//! links to one ToR are one link, and flows between two racks over the same ToRs are one stream.
//! `[subways §4-§6]`, the fluid `[ours]`
//!
//! Inside: the network of racks and ToRs (`network`), a job in time (`job`), fair rates (`fair`),
//! how a job's flows are spread over ToRs (`balance`) and over detours (`detour`).
//!
//! It is exact for a shuffle among whole racks except for two effects that only single flows and
//! packets show: the uneven spread of hashed flows over a ToR's uplinks, and TCP. In return a job
//! of 180 servers takes milliseconds, and every period of the controllers can be followed.
//!
//! Not here: flows between single servers (`crate::flow`, `crate::fluid`).

mod balance;
mod detour;
mod fair;
mod job;
mod network;

pub use job::{Balance, Between, Demand, Plan, run, shuffle};
pub use network::RackNetwork;
