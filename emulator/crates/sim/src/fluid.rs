//! Flows in time: every flow has a size, rates are max-min fair at every time, and are recomputed
//! whenever flows end.

use std::sync::atomic::Ordering;

use crate::count::{Cancelled, Progress};
use crate::maxmin::max_min_rates;
use crate::paths::Paths;

/// Flows that would end within this share of the step end together, because the difference is
/// rounding.
const EQUAL_SHARE: f64 = 1e-9;

/// The result of a fluid run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// The end of each flow, in seconds; infinity for a flow without a path.
    pub ends_secs: Vec<f64>,
    /// The total rate as steps: `(from, rate)` in seconds and the unit of the capacities, until the
    /// next entry.
    pub total_rate: Vec<(f64, f64)>,
}

impl Completion {
    /// End of the last flow that ends, in seconds.
    pub fn makespan_secs(&self) -> f64 {
        self.ends_secs
            .iter()
            .copied()
            .filter(|end| end.is_finite())
            .fold(0.0, f64::max)
    }
}

/// Runs flows of `sizes` (capacity's unit times seconds, for example gigabits for Gb/s) over their
/// paths until all have ended. Each step costs one filling, and ends at least one flow; equal ends
/// are one step.
pub fn run(
    paths: &Paths,
    sizes: &[f64],
    capacity: &[f64],
    progress: &Progress,
) -> Result<Completion, Cancelled> {
    let mut left = sizes.to_vec();
    let mut done = Completion {
        ends_secs: vec![f64::INFINITY; paths.len()],
        total_rate: Vec::new(),
    };
    let mut dropped = paths.dropped.iter().peekable();
    let mut running = Vec::with_capacity(paths.len());
    for flow in 0..paths.len() as u32 {
        if dropped.next_if_eq(&&flow).is_some() {
            continue;
        }
        // Flows without data or without links end at once.
        if left[flow as usize] <= 0.0 || paths.path(flow as usize).is_empty() {
            done.ends_secs[flow as usize] = 0.0;
        } else {
            running.push(flow);
        }
    }
    let mut now_secs = 0.0;
    while !running.is_empty() {
        if progress.cancelled.load(Ordering::Relaxed) {
            return Err(Cancelled);
        }
        let rates = max_min_rates(&subset(paths, &running), capacity);
        done.total_rate
            .push((now_secs, rates.iter().fold(0.0, |total, rate| total + rate)));
        let step_secs = running
            .iter()
            .zip(&rates)
            .map(|(&flow, &rate)| left[flow as usize] / rate)
            .fold(f64::INFINITY, f64::min);
        if !step_secs.is_finite() {
            // The rates are zero because a link has no capacity: the remaining flows never end.
            break;
        }
        now_secs += step_secs;
        let before = running.len();
        let mut rates = rates.into_iter();
        running.retain(|&flow| {
            let rate = rates.next().unwrap_or(0.0);
            let rest = left[flow as usize] - rate * step_secs;
            let over = rest <= sizes[flow as usize] * EQUAL_SHARE;
            left[flow as usize] = rest;
            if over {
                done.ends_secs[flow as usize] = now_secs;
            }
            !over
        });
        progress
            .done
            .fetch_add((before - running.len()) as u64, Ordering::Relaxed);
    }
    done.total_rate.push((now_secs, 0.0));
    Ok(done)
}

/// The paths of some of the flows, in their order.
fn subset(paths: &Paths, flows: &[u32]) -> Paths {
    let mut offsets = Vec::with_capacity(flows.len() + 1);
    offsets.push(0);
    let mut links = Vec::new();
    for &flow in flows {
        links.extend_from_slice(paths.path(flow as usize));
        offsets.push(links.len() as u32);
    }
    Paths {
        offsets,
        links,
        dropped: Vec::new(),
    }
}
