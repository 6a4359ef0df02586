//! Choice by probing, flow after flow: each flow takes the good path with the most bandwidth left.
//!
//! Flows start one after another in an order drawn from the seed: in the workload's order, all
//! flows of one server would start together, and none would measure the load of later ones. The
//! bandwidth left on a link is its capacity divided by its number of flows, including the new one;
//! among paths with equal bandwidth left, the shortest wins, then a random one. Each choice depends
//! on the previous ones, so it runs on one thread. `[bcube §4.2]`, order and ties `[ours]`

use std::sync::atomic::Ordering;

use cubeyard_routing::random::{Draws, mix};
use cubeyard_routing::{DirectedLink, MultipathRouter, NoPath, PathSet};

use crate::count::{Cancelled, LinkFlows, Progress};
use crate::flows::Flows;
use crate::paths::Paths;

/// Flows between two reports of progress.
const STRIDE: u64 = 8_192;

/// Assigns every flow its path; calls `visit` with each flow's index and outcome, in the order they
/// start. Linear in the links of all good paths.
fn assign(
    router: &dyn MultipathRouter,
    flows: &Flows,
    capacity: &[f64],
    seed: u64,
    progress: &Progress,
    mut visit: impl FnMut(u64, Result<(), NoPath>, &[DirectedLink]),
) -> Result<(), Cancelled> {
    // The cost of a flow on a link is 1 / capacity. The cost of a link's flows plus one more is the
    // inverse of the share that each would get. With links of equal rate this just counts flows.
    let cost: Vec<f64> = capacity.iter().map(|capacity| 1.0 / capacity).collect();
    let mut with_one_more = cost.clone();
    let mut candidates = PathSet::default();
    let total = flows.len();
    let mut order: Vec<u32> = (0..total as u32).collect();
    Draws::new(seed).shuffle(&mut order);
    for (turn, index) in (0u64..).zip(order.into_iter().map(u64::from)) {
        if turn % STRIDE == 0 {
            if progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled);
            }
            progress
                .done
                .fetch_add(STRIDE.min(total - turn), Ordering::Relaxed);
        }
        let (source, destination) = flows.flow(index);
        if source == destination {
            visit(index, Ok(()), &[]);
            continue;
        }
        let flow = mix(seed ^ mix(index));
        if let Err(reason) = router.good_paths(source, destination, flow, &mut candidates) {
            visit(index, Err(reason), &[]);
            continue;
        }
        let fullest = |links: &[DirectedLink]| {
            let loads = links.iter().map(|&link| with_one_more[link as usize]);
            (loads.fold(0.0, f64::max), links.len())
        };
        let mut draws = Draws::new(flow);
        let (mut least, mut chosen, mut ties) = ((f64::INFINITY, usize::MAX), 0, 0);
        for (i, links) in candidates.iter().enumerate() {
            let load = fullest(links);
            ties = match load.0.total_cmp(&least.0).then(load.1.cmp(&least.1)) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => ties + 1,
                std::cmp::Ordering::Greater => continue,
            };
            if ties == 1 || draws.below(ties) == 0 {
                (least, chosen) = (load, i);
            }
        }
        let path = candidates.path(chosen);
        for &link in path {
            with_one_more[link as usize] += cost[link as usize];
        }
        visit(index, Ok(()), path);
    }
    Ok(())
}

/// The load of a workload, with the capacity of every directed link in any common unit.
pub fn count_links(
    router: &dyn MultipathRouter,
    flows: &Flows,
    capacity: &[f64],
    into_server: &[bool],
    seed: u64,
    progress: &Progress,
) -> Result<LinkFlows, Cancelled> {
    let mut load = LinkFlows::empty(capacity.len());
    assign(router, flows, capacity, seed, progress, |_, routed, path| {
        load.enter(routed, path, into_server);
    })?;
    Ok(load)
}

/// The paths of a workload, with the capacity of every directed link in any common unit.
pub fn route(
    router: &dyn MultipathRouter,
    flows: &Flows,
    capacity: &[f64],
    seed: u64,
    progress: &Progress,
) -> Result<Paths, Cancelled> {
    // In the order of their starts; sorted into the workload's order afterwards.
    let mut started = Vec::with_capacity(flows.len() as usize);
    let mut links = Vec::new();
    let mut dropped = Vec::new();
    assign(router, flows, capacity, seed, progress, |flow, routed, path| {
        if routed.is_err() {
            dropped.push(flow as u32);
        }
        started.push((flow as u32, links.len() as u32));
        links.extend_from_slice(path);
    })?;
    dropped.sort_unstable();
    let mut ranges = vec![(0u32, 0u32); started.len()];
    for (i, &(flow, from)) in started.iter().enumerate() {
        let to = started.get(i + 1).map_or(links.len() as u32, |next| next.1);
        ranges[flow as usize] = (from, to);
    }
    let mut paths = Paths {
        offsets: Vec::with_capacity(ranges.len() + 1),
        links: Vec::with_capacity(links.len()),
        dropped,
    };
    paths.offsets.push(0);
    for (from, to) in ranges {
        paths.links.extend_from_slice(&links[from as usize..to as usize]);
        paths.offsets.push(paths.links.len() as u32);
    }
    Ok(paths)
}
