//! Memcache throughput by the ToRs' oversubscription, packet by packet. `[subways §8.7, Fig. 12]`

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use serde_json::json;

use super::super::{Context, Outcome, Series, mean_and_deviation};
use super::fig12::{AXES, MEMCACHE, PLACES, lines, printed, rows, variants};
use super::value_at;
use crate::engine::PredictError;
use crate::experiment::Experiment;
use crate::network::Network;
use crate::packet::{Answered, answered_since};
use crate::rack_fluid::Balance;

/// Payload of a request and of a response, so that they have 50 and 1,500 bytes with their headers.
const PAYLOADS: (u64, u64) = (22, 1472);
/// IP and UDP headers.
const HEADERS: u64 = 28;
/// The bound of the mean latency.
const BOUND_SECS: f64 = 1e-3;
/// The paper's T_rebind, and how many times faster everything of the controllers is here.
const REBIND_SECS: f64 = 0.01;
const FASTER: f64 = 10.0;
/// Length of the warm-up, in periods of rebinding: the ten until detours are planned, and two more.
const WARM_UP: f64 = 12.0;
/// Periods in which requests count.
const COUNTED: f64 = 10.0;
/// Virtual time of a simulation.
const SECS: f64 = (WARM_UP + COUNTED) * REBIND_SECS / FASTER;
/// Share of requests without a response above which a rate is not sustained.
const MOST_LOST: f64 = 0.01;
/// The range in which the greatest rate is searched, relative to the fluid's, halved until it is 2
/// % of the fluid's.
const SEARCHED: (f64, f64) = (0.5, 1.15);
const HALVINGS: u32 = 5;
/// Which of the fluid's ratios are simulated.
const RATIOS: [f64; 4] = [5.0, 7.5, 10.0, 15.0];

const SUSTAINED: &str = "the greatest rate with a mean latency of at most 1 ms and at most 1 % of requests without a response: a lost packet is not sent again, and the paper does not say what a lost one counts; by the mean latency of what is answered alone, type 0 would sustain 11 Mq/s at 5:1, of which 8 % are lost";
const TIMES: &str = "requests at drawn moments for 22 ms, of which the last 10 ms count; controllers rebind every 1 ms and plan detours every 10 ms, ten times as fast as the paper's, so that a tenth of its time is enough";
const SETTINGS: &str = "UDP, packets of 50 and 1,500 bytes with their headers, 60 us a hop, drop-tail queues of a link's rate times the longest idle round trip";
const PAIRS: &str = "all requests of two servers, and all responses, take one path, by the pair's hash and the seed; controllers move pairs";
const SHARED: &str = "around 1.2 in the text, 1.11 as a fluid: the ToR that both racks share carries as much as the two others together";
const BALANCED: &str = "around 1.6 in the text";
const DETOURS: &str = "the fluid's detours are full to the last bit and give 3; in packets, at 5:1, 0.05 % of requests are lost at 2.1 times the rate of type 0 and 3 % at 2.3 times, and other ratios are alike";
const FULL: &str = "the uplinks of two ToRs are full";

/// A network with its web servers as clients of its memcache servers.
struct Cluster {
    network: Network,
    clients: Vec<String>,
    servers: Vec<String>,
    routing: &'static str,
}

impl Cluster {
    fn new(wiring_type: u8, ratio: f64, balance: Balance) -> Result<Cluster, PredictError> {
        let spec = json!({
            "family": "subways", "type": wiring_type, "p": 2, "q": 30, "l": 12, "tor_oversubscription": ratio,
            "uplink_gbps": 10,
        });
        let network =
            Network::open(&spec.to_string()).map_err(|error| PredictError::Findings(error.findings))?;
        let topology = network.topology();
        let racks = cubeyard_routing::subways::Racks::of(topology).ok_or_else(super::setup)?;
        let (servers, clients) = (0..topology.server_count())
            .partition::<Vec<u32>, _>(|&server| MEMCACHE.contains(&racks.rack_of(server)));
        let names = |servers: Vec<u32>| servers.iter().map(|&server| topology.node_name(server)).collect();
        Ok(Cluster {
            clients: names(clients),
            servers: names(servers),
            routing: super::packets::routing_of(balance),
            network,
        })
    }

    /// The results of the requests after the warm-up, if all web servers together send `rate`
    /// million requests per second.
    fn answered(&self, context: &Context<'_>, rate: f64, seed: u64) -> Result<Answered, PredictError> {
        let period = REBIND_SECS / FASTER;
        let each = rate * 1e6 / self.clients.len() as f64;
        let experiment = json!({
            "engine": "packet", "routing": self.routing, "seeds": [seed],
            "workload": {
                "kind": "requests", "servers": self.servers, "clients": self.clients, "rate_per_sec": each,
                "count": (each * (WARM_UP + COUNTED) * period).ceil() as u64,
                "request_bytes": PAYLOADS.0, "response_bytes": PAYLOADS.1,
            },
            "packet": {
                "transport": "udp", "header_bytes": HEADERS, "path_hash": "addresses", "rebind_secs": period,
            },
        });
        let experiment = Experiment::from_json(&experiment.to_string())?;
        answered_since(&self.network, &experiment, WARM_UP * period, context.progress)
    }

    /// The greatest rate, in millions a second, at which responses come in time on average.
    /// `expected` is about what it is.
    fn sustained(&self, context: &Context<'_>, expected: f64, seed: u64) -> Result<f64, PredictError> {
        let (mut least, mut most) = (SEARCHED.0 * expected, SEARCHED.1 * expected);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            let told = self.answered(context, middle, seed)?;
            let lost = 1.0 - told.answered as f64 / told.requests as f64;
            if lost <= MOST_LOST && told.mean_secs <= BOUND_SECS {
                least = middle;
            } else {
                most = middle;
            }
        }
        Ok(f64::midpoint(least, most))
    }
}

pub(in super::super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let variants = variants();
    let fluid = lines(context)?;
    let requests: f64 = fluid.iter().flat_map(|line| &line.y).sum::<f64>() * 1e6 * SECS * f64::from(HALVINGS);
    context.expect((requests * (PAYLOADS.0 + PAYLOADS.1) as f64) as u64 * context.seeds);
    let searches: Vec<(usize, usize)> = (0..RATIOS.len())
        .flat_map(|place| (0..variants.len()).map(move |variant| (variant, place)))
        .collect();
    let found = Mutex::new(vec![Vec::new(); variants.len()]);
    let shown = |found: &[Vec<(f64, f64)>]| -> Vec<Series> {
        let packets = variants.iter().zip(found).map(|((.., name), points)| {
            let mut points = points.clone();
            points.sort_by(|point, other| point.0.total_cmp(&other.0));
            Series::ours(format!("{name}, packets"), points)
        });
        packets.collect()
    };
    let outcome = |rows, packets: Vec<Series>| {
        let fluid = fluid.iter().map(|line| Series {
            name: format!("{}, fluid", line.name),
            ..line.clone()
        });
        Outcome {
            rows,
            series: packets.into_iter().chain(fluid).chain(printed()).collect(),
            axes: Some(AXES),
            choices: vec![PLACES, SUSTAINED, TIMES, SETTINGS, PAIRS],
        }
    };
    searches.par_iter().try_for_each(|&(variant, place)| {
        let ratio = RATIOS[place];
        let (wiring_type, balance, _) = variants[variant];
        let cluster = Cluster::new(wiring_type, ratio, balance)?;
        let expected = value_at(&fluid[variant], ratio)?;
        let rates = context
            .seeds()
            .map(|seed| cluster.sustained(context, expected, seed))
            .collect::<Result<Vec<f64>, PredictError>>()?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found[variant].push((ratio, mean_and_deviation(&rates).0));
        context.show(&outcome(Vec::new(), shown(&found)));
        Ok::<(), PredictError>(())
    })?;
    let packets = shown(&found.into_inner().unwrap_or_else(PoisonError::into_inner));
    let rows = rows(&packets, [SHARED, BALANCED, DETOURS, FULL])?;
    Ok(outcome(rows, packets))
}
