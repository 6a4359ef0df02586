//! The document with a run's results: complete at its end, and partial while it is simulated.

use cubeyard_plan::summary::ENGINE_VERSION;
use serde_json::{Map, Value, json};

use super::Seen;
use super::choices::link_name;
use super::flows::Connection;
use super::heat;
use super::links::SECOND;
use super::rules::Transport;
use super::setup::Setup;
use super::wheel::NEVER;
use crate::flow::document::failed_counts;

/// Points of a distribution.
const POINTS: usize = 100;
/// Flows whose times are listed.
pub const MAX_LISTED_TIMES: u64 = 1_000_000;
/// Up to this many flows, partial frames list the times of ended flows; above it, separate frames
/// list them in batches of this size.
pub(super) const MAX_GROWING_TIMES: usize = 20_000;

fn secs(ps: u64) -> f64 {
    ps as f64 / SECOND as f64
}

/// The value at a share, by the nearest rank; `None` if the list is empty.
fn at_share(sorted: &[u64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().map(secs)
}

/// Times of the flows that have ended, from their own start, ascending, in ps.
fn times(setup: &Setup<'_>) -> Vec<u64> {
    let over = setup
        .core
        .connections
        .iter()
        .filter(|connection| connection.end != NEVER);
    let mut times: Vec<u64> = over.map(|connection| connection.end - connection.start).collect();
    times.sort_unstable();
    times
}

/// `{flows, unfinished, min, median, mean, p99, max}` in seconds.
fn completion(times: &[u64], unfinished: usize) -> Value {
    let mean =
        (!times.is_empty()).then(|| times.iter().map(|&time| secs(time)).sum::<f64>() / times.len() as f64);
    json!({
        "flows": times.len(),
        "unfinished": unfinished,
        "min": times.first().copied().map(secs),
        "median": at_share(times, 0.5),
        "mean": mean,
        "p99": at_share(times, 0.99),
        "max": times.last().copied().map(secs),
    })
}

/// Whether all of it has arrived: over UDP, a flow can end because the rest is lost.
fn arrived(setup: &Setup<'_>, connection: &Connection) -> bool {
    connection.end != NEVER && (setup.core.rules.transport == Transport::Tcp || connection.drops == 0)
}

/// Latencies of the answered requests, from the request's start to the arrival of the response's
/// last byte, ascending, in ps.
fn latencies(setup: &Setup<'_>) -> Vec<u64> {
    let connections = &setup.core.connections;
    let ends = setup.exchanges.iter().map(|&(request, response)| {
        let (request, response) = (&connections[request as usize], &connections[response as usize]);
        arrived(setup, response).then(|| response.end - request.start)
    });
    let mut times: Vec<u64> = ends.flatten().collect();
    times.sort_unstable();
    times
}

/// Statistics of the requests in a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answered {
    /// Number of requests in the statistics.
    pub requests: usize,
    /// Number of requests with a response.
    pub answered: usize,
    /// Their mean latency in seconds; NaN of none.
    pub mean_secs: f64,
}

/// Statistics of the requests that start at `from` ps or later.
pub(super) fn answered_since(setup: &Setup<'_>, from: u64) -> Answered {
    let connections = &setup.core.connections;
    let (mut requests, mut answered, mut sum) = (0, 0, 0.0);
    for &(request, response) in &setup.exchanges {
        let (request, response) = (&connections[request as usize], &connections[response as usize]);
        if request.start == NEVER || request.start < from {
            continue;
        }
        requests += 1;
        if arrived(setup, response) {
            answered += 1;
            sum += secs(response.end - request.start);
        }
    }
    Answered {
        requests,
        answered,
        mean_secs: sum / answered as f64,
    }
}

/// `{requests, unanswered, min, median, mean, p99, max, bound, within_bound}`, times in seconds;
/// `within_bound` is the share of all requests whose response came within the bound, null without
/// one. A request without a path is unanswered.
fn latency(setup: &Setup<'_>, times: &[u64]) -> Value {
    let requests = setup.demand.flows.len() as usize / 2;
    let bound = setup
        .demand
        .exchanges
        .as_ref()
        .and_then(|exchanges| exchanges.bound_secs);
    let within =
        bound.map(|bound| times.partition_point(|&time| secs(time) <= bound) as f64 / requests.max(1) as f64);
    let mut document = completion(times, requests - times.len());
    if let Some(fields) = document.as_object_mut() {
        fields.remove("flows");
        fields.remove("unfinished");
        fields.insert("requests".to_owned(), json!(requests));
        fields.insert("unanswered".to_owned(), json!(requests - times.len()));
        fields.insert("bound".to_owned(), json!(bound));
        fields.insert("within_bound".to_owned(), json!(within));
    }
    document
}

/// For each of `POINTS` shares of the flows, the time in seconds after which that share has ended:
/// `{share, secs}`.
fn distribution(times: &[u64]) -> Value {
    let points = POINTS.min(times.len());
    let shares: Vec<f64> = (1..=points).map(|point| point as f64 / points as f64).collect();
    let at: Vec<Option<f64>> = shares.iter().map(|&share| at_share(times, share)).collect();
    json!({"share": shares, "secs": at})
}

/// The fields of a partial frame: those that change during a run.
pub(super) fn so_far(setup: &Setup<'_>, seen: &Seen) -> Map<String, Value> {
    let core = &setup.core;
    let totals = core.totals;
    let times = times(setup);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("seed", json!(setup.seed));
    put("simulated_secs", json!(secs(core.now)));
    put("flows", json!(core.connections.len()));
    put(
        "completion_secs",
        completion(&times, core.connections.len() - times.len()),
    );
    put("completion_distribution", distribution(&times));
    if setup.demand.exchanges.is_some() {
        let latencies = latencies(setup);
        put("latency_secs", latency(setup, &latencies));
        put("latency_distribution", distribution(&latencies));
    }
    put(
        "bytes",
        json!({
            "sent": totals.sent, "received": totals.received, "dropped": totals.dropped, "in_flight": core.in_flight(),
        }),
    );
    put("drops", json!(totals.drops));
    put("ack_drops", json!(totals.ack_drops));
    put("retransmits", json!(totals.again));
    put("timeouts", json!(totals.timeouts));
    put("marks", json!(totals.marks));
    put("packet_hops", json!(totals.hops));
    if core.rules.qcn.is_some() {
        put("notices", json!(totals.notices));
    }
    if let Some(rebinding) = &setup.rebinding {
        put(
            "controllers",
            json!({"rounds": rebinding.rounds, "moves": rebinding.moves}),
        );
    }
    put("series", seen.samples.document());
    if let Some(heat) = &seen.heat {
        put("link_heat", heat.document(core, &setup.gbps));
    }
    if setup.settings.flow_times && core.connections.len() <= MAX_GROWING_TIMES {
        put("flow_times", flow_times(setup, |item| item.end != NEVER));
    }
    fields
}

/// Whether there are too many flows to list ended ones in each frame.
pub(super) fn lists_ended(setup: &Setup<'_>) -> bool {
    let flows = setup.core.connections.len();
    setup.settings.flow_times && flows > MAX_GROWING_TIMES && flows as u64 <= MAX_LISTED_TIMES
}

/// The times of the flows that ended at `since` ps or later and before now: the fields of the frame
/// with the number `part`. Linear in all flows, 96 bytes each.
pub(super) fn ended_since(setup: &Setup<'_>, since: u64, part: u64) -> Map<String, Value> {
    let now = setup.core.now;
    let times = flow_times(setup, |item| (since..now).contains(&item.end));
    let fields = [
        ("seed", json!(setup.seed)),
        ("part", json!(part)),
        ("flow_times", times),
    ];
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The row of a seed among others.
pub fn row(setup: &Setup<'_>) -> Map<String, Value> {
    let totals = setup.core.totals;
    let mut fields = Map::new();
    let times = times(setup);
    let completion = completion(&times, setup.core.connections.len() - times.len());
    let values = [
        ("seed", json!(setup.seed)),
        ("completion_secs", completion),
        ("goodput_gbps", json!(goodput(setup))),
        ("drops", json!(totals.drops)),
        ("timeouts", json!(totals.timeouts)),
        ("packet_hops", json!(totals.hops)),
    ];
    for (name, value) in values {
        fields.insert(name.to_owned(), value);
    }
    if setup.demand.exchanges.is_some() {
        fields.insert("latency_secs".to_owned(), latency(setup, &latencies(setup)));
    }
    fields
}

/// Received payload of all flows per second, from 0 to the end of the last flow or of the run, in
/// Gb/s; `None` if no flow has a path.
fn goodput(setup: &Setup<'_>) -> Option<f64> {
    let core = &setup.core;
    let payload = u64::from(core.rules.payload);
    let udp = core.rules.transport != Transport::Tcp;
    let arrived = |connection: &Connection| {
        let lost = if udp { connection.drops } else { 0 };
        let packets = connection.packets.saturating_sub(connection.missing + lost);
        (u64::from(packets) * payload).min(connection.bytes(payload))
    };
    // A response to a request that was lost is never sent.
    let sent = core
        .connections
        .iter()
        .filter(|connection| connection.start != NEVER);
    let bytes: u64 = sent.map(arrived).sum();
    (!core.connections.is_empty() && core.now > 0).then(|| bytes as f64 * 8e-9 / secs(core.now))
}

pub(super) fn document(setup: &Setup<'_>, seen: &Seen, workload: &Value) -> Map<String, Value> {
    let topology = setup.network.topology();
    let core = &setup.core;
    let mut fields = so_far(setup, seen);
    if let Some(heat) = fields.get_mut("link_heat") {
        heat["names"] = json!(heat::names(heat, topology));
    }
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("engine", json!("packet"));
    put("engine_version", json!(ENGINE_VERSION));
    put("topology", json!(topology.spec().title()));
    put("servers", json!(topology.server_count()));
    put("routing", json!(setup.routing));
    put("workload", workload.clone());
    put("goodput_gbps", json!(goodput(setup)));
    put("dropped_flows", json!(setup.dropped.0 + setup.dropped.1));
    put(
        "dropped",
        json!({"end_failed": setup.dropped.0, "no_path": setup.dropped.1}),
    );
    put("failures", failed_counts(topology, &setup.failures, 0));
    put("choices", json!(setup.choices));
    put(
        "watched",
        json!({
            "link": setup.watch.map(|link| link_name(topology, link)), "flow": setup.settings.watch_flow,
        }),
    );
    put("busiest_links", busiest(setup));
    let (_, most_packets) = core.packets();
    put("most_packets", json!(most_packets));
    if setup.settings.flow_times && core.connections.len() as u64 <= MAX_LISTED_TIMES {
        put("flow_times", flow_times(setup, |_| true));
    }
    fields
}

/// The ten directed links that dropped most, then carried most:
/// `[{link, bytes, share, drops, mean_wait_secs}]`.
fn busiest(setup: &Setup<'_>) -> Value {
    let core = &setup.core;
    let mut links: Vec<u32> = (0..core.wires)
        .filter(|&link| core.links.count(link).packets > 0)
        .collect();
    links.sort_unstable_by_key(|&link| {
        let count = core.links.count(link);
        (std::cmp::Reverse((count.drops, count.bytes)), link)
    });
    let topology = setup.network.topology();
    let described = links.into_iter().take(10).map(|link| {
        let count = core.links.count(link);
        let capacity = setup.gbps[link as usize] * 1e9 / 8.0 * secs(core.now);
        json!({
            "link": link_name(topology, link),
            "bytes": count.bytes,
            "utilisation": if capacity > 0.0 { count.bytes as f64 / capacity } else { 0.0 },
            "drops": count.drops,
            "mean_wait_secs": secs(count.wait) * 1024.0 / count.packets as f64,
        })
    });
    Value::Array(described.collect())
}

/// Columns, with a row for each of these flows that has a route:
/// `{flow, source, destination, bytes, start_secs, completion_secs, drops, retransmits, timeouts}`.
fn flow_times(setup: &Setup<'_>, listed: impl Fn(&Connection) -> bool) -> Value {
    let topology = setup.network.topology();
    let core = &setup.core;
    let payload = u64::from(core.rules.payload);
    let flows: Vec<(u64, &Connection)> = setup
        .flow_of
        .iter()
        .copied()
        .zip(&core.connections)
        .filter(|(_, item)| listed(item))
        .collect();
    let ends = || flows.iter().map(|&(flow, _)| setup.demand.flows.flow(flow));
    let each = || flows.iter().map(|&(_, flow)| flow);
    json!({
        "flow": flows.iter().map(|&(flow, _)| flow).collect::<Vec<_>>(),
        "source": ends().map(|(from, _)| topology.node_name(from)).collect::<Vec<_>>(),
        "destination": ends().map(|(_, to)| topology.node_name(to)).collect::<Vec<_>>(),
        "bytes": each().map(|one| one.bytes(payload)).collect::<Vec<_>>(),
        "start_secs": each().map(|one| (one.start != NEVER).then(|| secs(one.start))).collect::<Vec<_>>(),
        "completion_secs": each().map(|one| (one.end != NEVER).then(|| secs(one.end - one.start))).collect::<Vec<_>>(),
        "drops": each().map(|one| one.drops).collect::<Vec<_>>(),
        "retransmits": each().map(|one| one.again).collect::<Vec<_>>(),
        "timeouts": each().map(|one| one.timeouts).collect::<Vec<_>>(),
    })
}
