//! Computes the traffic of a network: workloads as flows, link loads, fair rates, and all of these
//! under failures.
//!
//! Inside: the description of an experiment (`experiment`, `workload`, `faults`), the engines that
//! compute one (`engine` with `flow/` as the first), and the parts of engines: routing schemes with
//! their load-aware choices (`scheme`, `greedy`, `widest`, `controllers`), paths and link loads
//! (`paths`, `count`, `hops`), rates (`maxmin`, over given paths `given_paths`, of flows through
//! routers `routed`) and times (`fluid`, `rack_fluid/`). `between` returns the parallel paths of
//! two servers by name, `beside` the model results to compare with a measurement. `figures/`
//! computes the published figures with the same parts.
//!
//! Everything is deterministic: each random choice depends only on the experiment's seed and the
//! index of the draw.
//!
//! Not here: real packets. An emulation takes the same description, but runs outside this library.

pub mod beside;
pub mod between;
pub mod controllers;
pub mod count;
pub mod degraded;
pub mod delivery;
pub mod engine;
pub mod experiment;
pub mod faults;
pub mod figures;
pub mod flow;
pub mod flows;
pub mod fluid;
pub mod given_paths;
pub mod greedy;
pub mod hops;
pub mod maxmin;
pub mod network;
pub mod packet;
pub mod paths;
pub mod rack_fluid;
pub mod routed;
pub mod scheme;
pub mod widest;
pub mod workload;

pub use count::{Cancelled, Progress};
pub use engine::{ENGINES, Engine, EngineKind, Frame, PredictError, engines_json};
pub use experiment::Experiment;
pub use flow::outline::outline;
pub use flow::{Throughput, predict, throughput, throughput_after};
pub use network::Network;
