//! Subways: up and down over a server's several ToRs, weights that follow their load, and detours.

mod detour_routing;
mod detours;
mod racks;
mod routing;
mod weights;

pub use detour_routing::{DetourRouting, RackDetours};
pub use detours::{
    Detour, DetourLimits, DetourPath, DetourPlan, HotSpots, Loop, hot_groups, hot_racks, plan_detours,
};
pub use racks::Racks;
pub use routing::{LinkWeights, SubwaysRouting, TorWeights};
pub use weights::{LEAST_SHARE, placement_weights, rebind_probabilities};

/// The scheme whose weights follow the load.
pub const ADAPTIVE: &str = "subways-adaptive";
/// The same with detours.
pub const DETOUR: &str = "subways-detour";
