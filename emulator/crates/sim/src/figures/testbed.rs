//! The papers' testbeds as fluids: explicit paths of gigabit links, sizes in GB of 2^30 bytes.

use cubeyard_routing::DirectedLink;

use super::Context;
use crate::flow::PredictError;
use crate::fluid::{self, Completion};
use crate::paths::Paths;

/// Gigabits in a GB of 2^30 bytes.
pub(super) const GIGABITS_A_GB: f64 = 8.0 * 1.073_741_824;

/// Paths written one by one.
pub(super) fn paths(each: &[Vec<DirectedLink>]) -> Paths {
    let mut paths = Paths {
        offsets: vec![0],
        links: Vec::new(),
        dropped: Vec::new(),
    };
    for path in each {
        paths.links.extend_from_slice(path);
        paths.offsets.push(paths.links.len() as u32);
    }
    paths
}

/// Runs flows of `gigabytes` each over gigabit links until all have ended.
pub(super) fn run(
    context: &Context<'_>,
    paths: &Paths,
    gigabytes: f64,
    directed_links: usize,
) -> Result<Completion, PredictError> {
    let sizes = vec![gigabytes * GIGABITS_A_GB; paths.len()];
    Ok(fluid::run(
        paths,
        &sizes,
        &vec![1.0; directed_links],
        context.progress,
    )?)
}
