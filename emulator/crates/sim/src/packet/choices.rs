//! Derives from a run's settings the rules of the core, the choices to print, and the link to
//! watch.

use cubeyard_topology::{Finding, Topology};
use serde_json::{Map, Value, json};

use super::qcn::Qcn;
use super::routes::Routes;
use super::rules::{Growth, Marks, Recovery, Rules, Transport};
use super::settings::{
    CongestionName, CouplingName, MarkResponse, NoticesName, RecoveryName, Settings, TransportName, UdpGaps,
};
use super::setup::DEFAULT_BYTES;
use super::timeline::ps;
use crate::experiment::Experiment;

/// The rules of the core.
///
/// # Errors
/// A finding for settings that do not go together.
pub fn rules(settings: &Settings, seed: u64, window: u64, gbps: &[f64]) -> Result<Rules, Vec<Finding>> {
    let transport = match settings.transport {
        TransportName::Tcp => Transport::Tcp,
        TransportName::Udp => {
            let fastest = gbps.iter().fold(0.0, |most: f64, &rate| most.max(rate));
            let rate = settings.udp_gbps.unwrap_or(fastest);
            if settings.subflows > 1 {
                return Err(vec![
                    Finding::error(
                        "udp-subflows",
                        "packet.subflows",
                        format!("subflows is {}, but UDP has no subflows.", settings.subflows),
                        "Give 1, or the transport tcp.",
                    )
                    .with_value(settings.subflows)
                    .with_limit(1),
                ]);
            }
            let bits = (settings.mtu_bytes + settings.framing_bytes) as f64 * 8.0;
            Transport::Udp {
                gap: ((bits * 1e3 / rate) as u64).max(1),
                drawn: settings.udp_gaps == UdpGaps::Exponential,
            }
        }
    };
    Ok(Rules {
        seed,
        transport,
        recovery: match settings.recovery {
            RecoveryName::NewReno => Recovery::NewReno,
            RecoveryName::Reno => Recovery::Reno,
            RecoveryName::Tahoe => Recovery::Tahoe,
            RecoveryName::Sack => Recovery::Sack,
        },
        growth: match (settings.congestion, settings.coupling) {
            (CongestionName::Cubic, _) => Growth::Cubic,
            (CongestionName::Reno, CouplingName::Uncoupled) => Growth::Single,
            (CongestionName::Reno, CouplingName::Lia) => Growth::Linked,
        },
        marks: match settings.mark_response {
            MarkResponse::Halve => Marks::Halve,
            MarkResponse::Dctcp => Marks::Proportion,
        },
        payload: settings.payload_bytes() as u32,
        overhead: settings.overhead_bytes() as u32,
        most_window: window as u32,
        initial_window: settings.initial_window as u32,
        least_timeout: ps(settings.rto_min_secs),
        most_timeout: ps(settings.rto_max_secs),
        delayed_ack: ps(settings.delayed_ack_secs),
        qcn: qcn(settings),
    })
}

/// Notices of congestion, if queues are to send any.
fn qcn(settings: &Settings) -> Option<Qcn> {
    (settings.congestion_notices == NoticesName::Qcn).then(|| Qcn {
        queue_bytes: settings.qcn_queue_bytes,
        weight: settings.qcn_weight,
        sample_bytes: settings.qcn_sample_bytes,
        gain: settings.qcn_gain,
        cycle_bytes: settings.qcn_cycle_bytes,
        recovery_cycles: settings.qcn_recovery_cycles as u32,
        timer: ps(settings.qcn_timer_secs),
        increase: settings.qcn_increase_gbps * 1e9,
        hyper_increase: settings.qcn_hyper_increase_gbps * 1e9,
        least_rate: settings.qcn_least_gbps * 1e9,
    })
}

/// All values that were set or derived.
pub fn choices(
    settings: &Settings,
    experiment: &Experiment,
    gbps: &[f64],
    window: u64,
    longest: u64,
    rebinds: bool,
) -> Map<String, Value> {
    let mut choices = match json!(settings) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for (name, value) in [("watch_link", &settings.watch_link)] {
        if value.is_none() {
            choices.remove(name);
        }
    }
    if settings.congestion_notices == NoticesName::None {
        choices.retain(|name, _| !name.starts_with("qcn_"));
    }
    if !rebinds {
        choices.remove("rebind_secs");
    }
    choices.insert("max_window".to_owned(), json!(window));
    choices.insert("idle_round_trip_ps".to_owned(), json!(longest));
    let most = gbps.iter().fold(0.0, |most: f64, &rate| most.max(rate));
    choices.insert(
        "queue_bytes".to_owned(),
        json!(
            settings
                .queue_bytes
                .unwrap_or((most * longest as f64 / 8e3) as u64)
        ),
    );
    choices.insert(
        "queue".to_owned(),
        json!(if settings.queue_bytes.is_some() {
            "as given"
        } else {
            "each link's rate times the longest idle round trip; of the fastest link"
        }),
    );
    if experiment.flow_size_gigabits().is_none() {
        choices.insert("default_bytes".to_owned(), json!(DEFAULT_BYTES));
    }
    choices.insert(
        "assumptions".to_owned(),
        json!(assumptions(
            settings,
            experiment.workload.workload.kind() == "requests",
            rebinds
        )),
    );
    choices
}

/// The assumptions of every simulation, and those that come with these settings, requests and
/// controllers.
fn assumptions(settings: &Settings, requests: bool, rebinds: bool) -> Vec<&'static str> {
    let mut all = vec![
        "Drop-tail queues at every port, of servers too; a packet that is being sent does not count.",
        "Connections are open at the start: one round trip is measured, nothing is exchanged first.",
        "A flow is complete when its last byte has arrived, and counts from its own start.",
        "A timeout doubles with each expiry until something new is acknowledged; packets that were sent twice are not timed.",
        "Acknowledgements take a route of their own, drawn like that of data.",
        if rebinds {
            "Controllers begin without knowing the load. Counters and weights reach everyone at once; a flow moves at once, not between flowlets, to the link that its draw gives by the new weights. Detours are planned every ten rebindings by what links would carry without any."
        } else {
            "Controllers of a routing scheme have settled before the start."
        },
        "A subflow that waits for its timer keeps the packets that it has taken.",
    ];
    if settings.recovery == RecoveryName::Sack {
        all.push(
            "Selective acknowledgements (RFC 6675): each names one packet, the one that it answers; no rescue retransmission; in recovery as much is sent as arrives, in proportion to the new window (RFC 9937).",
        );
    }
    if settings.congestion == CongestionName::Cubic {
        all.push("CUBIC (RFC 9438): C 0.4, 0.7 of the window kept, fast convergence; slow start without HyStart++.");
    }
    if settings.congestion_notices == NoticesName::Qcn {
        all.push("QCN (IEEE 802.1Qau, pseudo-code 2.3): a congestion point at every port, of servers too; notices of the size of an acknowledgement go back over the data's links; a reaction point each subflow, which holds packets back and drops none.");
    }
    if requests {
        all.push("A server answers a request as soon as its last byte has arrived; each request and each response begins with the initial window.");
        all.push("Latency is from a request's start to the arrival of the last byte of its response.");
        if settings.transport == TransportName::Udp {
            all.push("Over UDP nothing is sent again: a request is not answered when a packet of it or of its response is lost. A client that waits for each response asks again 0.25 s after it gave up, which is 2 s after it asked, or twice the latency bound.");
        }
    }
    all
}

/// The directed link of a name `from/to`, or the one that most data routes cross.
pub fn watched_link(
    topology: &Topology,
    settings: &Settings,
    routes: &Routes,
) -> Result<Option<u32>, Vec<Finding>> {
    let links = topology.links();
    if let Some(name) = &settings.watch_link {
        let found = (0..links.len() as u32 * 2).find(|&directed| link_name(topology, directed) == *name);
        return found.map(Some).ok_or_else(|| {
            vec![
                Finding::error(
                    "no-such-link",
                    "packet.watch_link",
                    format!("There is no link {name} in this plan."),
                    format!("Give the names of both ends, like {}.", link_name(topology, 0)),
                )
                .with_value(name.as_str()),
            ]
        });
    }
    let mut crossed = vec![0u32; links.len() * 2];
    routes.each_data_link(|link| crossed[link as usize] += 1);
    let most = crossed.iter().copied().max().unwrap_or_default();
    Ok(crossed
        .iter()
        .position(|&count| count == most && most > 0)
        .map(|link| link as u32))
}

/// A directed link by its ends.
pub fn link_name(topology: &Topology, directed: u32) -> String {
    let links = topology.links();
    let (a, b) = (links.a[directed as usize / 2], links.b[directed as usize / 2]);
    let (from, to) = if directed.is_multiple_of(2) {
        (a, b)
    } else {
        (b, a)
    };
    format!("{}/{}", topology.node_name(from), topology.node_name(to))
}
