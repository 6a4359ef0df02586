//! Subways: up and down over a server's several ToRs, weights that follow their load, and detours.

mod detours;
mod routing;
mod weights;

pub use detours::{
    Detour, DetourLimits, DetourPath, DetourPlan, HotSpots, Loop, hot_groups, hot_racks, plan_detours,
};
pub use routing::{SubwaysRouting, TorWeights};
pub use weights::{LEAST_SHARE, placement_weights, rebind_probabilities};
