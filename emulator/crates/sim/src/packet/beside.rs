//! The flow engine's prediction for the same flows on the same routes, to compare with a
//! simulation.

use serde_json::{Value, json};

use super::setup::Setup;
use crate::count::Progress;
use crate::fluid;
use crate::paths::Paths;

/// With more flows than this no prediction is computed: every end of a flow needs new rates for all
/// flows.
const MOST_FLOWS: usize = 2_000;

/// `{flows, median, max, share, secs}`: the completion times of flows as fluids, and the time after
/// which each share of them has ended. Null if a prediction cannot describe the run: flows that
/// start later, subflows, a set rate, faults that change over time, or too many flows.
pub fn predicted(setup: &Setup<'_>, progress: &Progress) -> Value {
    let settings = &setup.settings;
    let core = &setup.core;
    let later = setup
        .demand
        .timetable
        .iter()
        .any(|table| table.starts_secs.iter().any(|&start| start > 0.0));
    let tcp = core.rules.transport == super::rules::Transport::Tcp;
    if later
        || setup.demand.exchanges.is_some()
        || !tcp
        || settings.subflows > 1
        || setup.timeline.happens()
        || core.connections.len() > MOST_FLOWS
    {
        return Value::Null;
    }
    let mut paths = Paths {
        offsets: vec![0],
        links: Vec::new(),
        dropped: Vec::new(),
    };
    let payload = u64::from(core.rules.payload);
    let mut sizes = Vec::with_capacity(core.connections.len());
    for connection in &core.connections {
        let route = core.route(core.senders[connection.first as usize].path);
        paths
            .links
            .extend(route.iter().filter(|&&link| link < core.wires));
        paths.offsets.push(paths.links.len() as u32);
        sizes.push(connection.bytes(payload) as f64 * 8e-9);
    }
    let Ok(done) = fluid::run(&paths, &sizes, &setup.gbps, progress) else {
        return Value::Null;
    };
    let mut secs: Vec<f64> = done
        .ends_secs
        .iter()
        .copied()
        .filter(|end| end.is_finite())
        .collect();
    secs.sort_unstable_by(f64::total_cmp);
    let points = secs.len().min(100);
    let at = |point: usize| secs[(point * secs.len()).div_ceil(points) - 1];
    json!({
        "flows": secs.len(),
        "median": (!secs.is_empty()).then(|| secs[secs.len().div_ceil(2) - 1]),
        "max": secs.last(),
        "share": (1..=points).map(|point| point as f64 / points as f64).collect::<Vec<_>>(),
        "secs": (1..=points).map(at).collect::<Vec<_>>(),
    })
}
