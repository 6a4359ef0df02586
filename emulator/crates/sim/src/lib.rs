//! What a network carries: workloads as flows, the load they put on links, fair rates, and what
//! failures leave of them.

pub mod controllers;
pub mod count;
pub mod degraded;
pub mod delivery;
pub mod experiment;
pub mod faults;
pub mod figures;
pub mod flows;
pub mod fluid;
pub mod greedy;
pub mod hops;
pub mod maxmin;
pub mod network;
pub mod outline;
pub mod paths;
pub mod predict;
pub mod rack_fluid;
pub mod scheme;
pub mod widest;
pub mod workload;

pub use count::{Cancelled, Progress};
pub use experiment::Experiment;
pub use network::Network;
pub use outline::outline;
pub use predict::{PredictError, predict};
