//! A loop's scheduler: computes each rack's detours from the measured load. `[subways §6]`
//!
//! The flow engine, predictions and the controllers of the emulation share this code. Not here:
//! which ToRs stay hot and for how long ([`super::HotSpots`]), and the choice of paths
//! ([`plan_detours`]).

use super::detour_routing::RackDetours;
use super::detours::{DetourLimits, Loop, plan_detours};

/// A ToR of whose uplinks more is in use is hot. `[subways §6]`
pub const HOT: f64 = 0.6;
/// A detour has at most two relays, and detours take 60 % of the remaining capacity.
/// `[subways §6, §8.1]`
pub const LIMITS: DetourLimits = DetourLimits {
    relays: 2,
    usable: 0.6,
};

/// The input of a loop's scheduler for one direction, by position in the loop, in any one unit of
/// capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopLoad {
    /// Whether a ToR is hot.
    pub hot: Vec<bool>,
    /// The capacity of a ToR's uplinks that traffic without detours leaves free.
    pub left_over: Vec<f64>,
    /// The free capacity for detours of all links of a rack's servers.
    pub link_capacity: Vec<f64>,
    /// The traffic that a rack would send over the backbone by its own ToRs.
    pub straight: Vec<f64>,
}

/// The paths of each rack of a loop with their capacity, and the pairs (rack, ToR) that racks at
/// the edge of a group stop using.
pub fn rack_detours(ring: Loop, load: &LoopLoad) -> (Vec<RackDetours>, Vec<(usize, usize)>) {
    let plan = plan_detours(ring, &load.hot, &load.left_over, &load.link_capacity, LIMITS);
    let of_rack = |rack: usize| {
        let detours = plan.detours.iter().flat_map(|detour| {
            let share = detour.capacity / detour.paths.len() as f64;
            detour.paths.iter().map(move |path| (path.clone(), share))
        });
        RackDetours {
            straight: load.straight[rack],
            detours: detours
                .filter(|(path, share)| path.source == rack && *share > 0.0)
                .collect(),
        }
    };
    ((0..ring.size).map(of_rack).collect(), plan.withdrawn.clone())
}
