//! Subways: racks whose servers have links to several ToRs. `[subways §4, §6]`
//!
//! Inside: racks and their ToRs (`racks`), weights of a rack's ToRs (`weights`), routing by weights
//! (`routing`), detours around hot racks (`detours`), the scheduler that assigns them to racks
//! (`scheduler`) and routing with them (`detour_routing`).
//!
//! Not here: the controllers that set weights and plan detours by the load. The flow engine's
//! controllers are in `cubeyard_sim::controllers`, the emulation's in `cubeyard-fabric`; both
//! compute weights with `rebind` and detours with `rack_detours`.

mod detour_routing;
mod detours;
mod racks;
mod routing;
mod scheduler;
mod weights;

pub use detour_routing::{DetourRouting, RackDetours};
pub use detours::{
    Detour, DetourLimits, DetourPath, DetourPlan, HotSpots, Loop, hot_groups, hot_racks, plan_detours,
};
pub use racks::Racks;
pub use routing::{LinkWeights, SubwaysRouting, TorWeights};
pub use scheduler::{HOT, LIMITS, LoopLoad, rack_detours};
pub use weights::{AGGRESSIVENESS, BoundLink, LEAST_SHARE, placement_weights, rebind, rebind_probabilities};

/// The scheme whose weights follow the load.
pub const ADAPTIVE: &str = "subways-adaptive";
/// The same with detours.
pub const DETOUR: &str = "subways-detour";
