//! Shuffles of Figs 8 to 11 packet by packet, with flows spread by ECMP; the fluid's lines stand beside. `[subways §8.3-§8.6]`
//!
//! Fig. 10 has load balancing and detours too, which move flows while packets are on their way. Not here: Fig. 12, whose requests go
//! without TCP.

use std::sync::{Mutex, PoisonError};

use cubeyard_routing::subways::{ADAPTIVE, DETOUR};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::super::{Axes, Context, Outcome, Row, Series, setup};
use super::{network, racks_of_loops, value_at};
use crate::engine::{EngineKind, PredictError};
use crate::experiment::Experiment;
use crate::network::Network;
use crate::rack_fluid::{Balance, Between};

/// What a mapper sends to a reducer: 15 MB of 10^6 bytes.
const BYTES: u64 = 15_000_000;
/// The shortest timeout with the whole data; of a part of it, the same part.
const RTO_MIN_SECS: f64 = 0.2;
/// The paper's T_rebind, of a part of the data the same part. `[subways §8.1]`
const REBIND_SECS: f64 = 0.01;
const GIGABITS: f64 = BYTES as f64 * 8e-9;

const BRIEF: &str = "a twentieth of the data: 750 KB from each server to each other, with a shortest timeout of 10 ms, a twentieth of 200 ms; ratios of times are told";
const WHOLE: &str = "the whole data: 15 MB of 10^6 bytes from each server to each other, with a shortest timeout of 200 ms; ratios of times are told";
const SETTINGS: &str = "TCP NewReno, MTU 1500, initial window 10, 60 us a hop, drop-tail queues of a link's rate times the longest idle round trip, starts within 100 us, acknowledgements on a route of their own";
const STATIC: &str = "ECMP only, by each flow's number and the seed: the fluid has the lines of LB and D";
const MOVING: &str = "LB and D begin as ECMP, by each flow's number and the seed, and rebind every 10 ms, of a part of the data every same part of 10 ms; a flow moves at once, not between flowlets";
const WORDS: &str = "the text gives no number here, only what grows and what shrinks";
const TAIL: &str = "the last of thousands of hashed flows decides, over few seeds; the paper does not state its shortest timeout, its initial window and its seeds";

const SPREAD: &str = "rebinding moves flows between ToRs by weights, and in loops of 3 all ToRs carry as much already; which of a server's ports a single flow meets others on stays a draw";

/// A shuffle among the first racks of a loop: the network's spec, and how many racks.
#[derive(Clone)]
struct Shuffle {
    spec: Value,
    racks: usize,
    balance: Balance,
}

impl Shuffle {
    fn new(spec: Value, racks: usize) -> Shuffle {
        Shuffle {
            spec,
            racks,
            balance: Balance::Static,
        }
    }

    fn balanced(self, balance: Balance) -> Shuffle {
        Shuffle { balance, ..self }
    }

    fn servers(&self) -> Result<usize, PredictError> {
        Ok(self.racks * network(self.spec.clone())?.racks.servers)
    }

    /// Seconds until it is over as a fluid of racks.
    fn fluid_secs(&self, context: &Context<'_>) -> Result<f64, PredictError> {
        let network = network(self.spec.clone())?;
        let racks = racks_of_loops(&network, 1, self.racks);
        let demands = crate::rack_fluid::shuffle(&network, &racks, GIGABITS);
        let plan = crate::rack_fluid::Plan {
            balance: self.balance,
            between: Between::Any,
        };
        Ok(crate::rack_fluid::run(
            &network,
            &demands,
            plan,
            context.progress,
        )?)
    }

    /// Seconds until its last flow is complete, packet by packet.
    fn packet_secs(&self, context: &Context<'_>, seed: u64) -> Result<f64, PredictError> {
        let mut spec = self.spec.clone();
        spec["family"] = json!("subways");
        if spec.get("uplink_gbps").is_none() {
            spec["uplink_gbps"] = json!(10);
        }
        let network =
            Network::open(&spec.to_string()).map_err(|error| PredictError::Findings(error.findings))?;
        let topology = network.topology();
        let racks = cubeyard_routing::subways::Racks::of(topology).ok_or_else(setup)?;
        let servers: Vec<String> = (0..topology.server_count())
            .filter(|&server| racks.rack_of(server) < self.racks)
            .map(|server| topology.node_name(server))
            .collect();
        let bytes = BYTES / context.parts();
        let flows: Vec<Value> = servers
            .iter()
            .flat_map(|from| servers.iter().map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .map(|(from, to)| json!([from, to, bytes, 0.0]))
            .collect();
        let routing = match self.balance {
            Balance::Static => "subways-ecmp",
            Balance::Adaptive => ADAPTIVE,
            Balance::Detours => DETOUR,
        };
        let part = 1.0 / context.parts() as f64;
        let experiment = json!({
            "engine": "packet", "workload": {"kind": "listed", "flows": flows}, "routing": routing, "seeds": [seed],
            "packet": {"rto_min_secs": RTO_MIN_SECS * part, "rebind_secs": REBIND_SECS * part},
        });
        let experiment = Experiment::from_json(&experiment.to_string())?;
        let engine = EngineKind::Packet.engine();
        let document = engine.run(&network, &experiment, context.progress, &mut |_| {})?;
        document["completion_secs"]["max"].as_f64().ok_or_else(setup)
    }
}

/// A line: at each place a shuffle, and the one that it is compared with.
struct Line {
    name: &'static str,
    points: Vec<(f64, Shuffle, Shuffle)>,
}

/// Speedups by place and seed.
type Samples = Vec<Vec<f64>>;

/// A line's speedups: packet by packet with their spread over seeds, and as a fluid. Shows each place when it is there.
fn speedups(context: &Context<'_>, line: &Line, axes: Axes) -> Result<(Vec<Series>, Samples), PredictError> {
    let mut bytes = 0;
    for (_, shuffle, before) in &line.points {
        for one in [shuffle, before] {
            let servers = one.servers()? as u64;
            bytes += servers * (servers - 1) * (BYTES / context.parts()) * context.seeds;
        }
    }
    context.expect(bytes);
    let fluid = line
        .points
        .iter()
        .map(|(x, shuffle, before)| Ok((*x, before.fluid_secs(context)? / shuffle.fluid_secs(context)?)))
        .collect::<Result<Vec<_>, PredictError>>()?;
    let series = |packets: &[(f64, f64)]| {
        vec![
            Series::ours(format!("{}, packets", line.name), packets.iter().copied()),
            Series::ours(format!("{}, fluid", line.name), fluid.iter().copied()),
        ]
    };
    let reached = Mutex::new(Vec::new());
    let samples = line
        .points
        .par_iter()
        .map(|(x, shuffle, before)| {
            let sample = context
                .seeds()
                .map(|seed| Ok(before.packet_secs(context, seed)? / shuffle.packet_secs(context, seed)?))
                .collect::<Result<Vec<f64>, PredictError>>()?;
            let mut reached = reached.lock().unwrap_or_else(PoisonError::into_inner);
            reached.push((*x, mean(&sample)));
            reached.sort_by(|one, other| one.0.total_cmp(&other.0));
            context.show(&outcome(context, Vec::new(), series(&reached), axes));
            Ok(sample)
        })
        .collect::<Result<Samples, PredictError>>()?;
    let means = line
        .points
        .iter()
        .zip(&samples)
        .map(|((x, ..), sample)| (*x, mean(sample)));
    Ok((series(&means.collect::<Vec<_>>()), samples))
}

fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// The name of the line with load balancing.
const BALANCED: &str = "Type 1LB";

fn default_spec(wiring_type: u8) -> Value {
    json!({"type": wiring_type, "p": 2, "q": 30, "l": 12, "c": 1, "clusters": 2})
}

fn outcome(context: &Context<'_>, rows: Vec<Row>, series: Vec<Series>, axes: Axes) -> Outcome {
    let moves = series.iter().any(|line| line.name.starts_with(BALANCED));
    Outcome {
        rows,
        series,
        axes: Some(axes),
        choices: vec![
            context.of_data(BRIEF, WHOLE),
            SETTINGS,
            if moves { MOVING } else { STATIC },
        ],
    }
}

/// Fig. 8: type 1 over type 0 by job size, in one cluster.
pub(in super::super) fn fig8(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let axes = Axes {
        x: "servers of the job",
        y: "speedup over type 0",
    };
    let points = [2, 4, 6, 12].map(|racks| {
        (
            (racks * 15) as f64,
            Shuffle::new(default_spec(1), racks),
            Shuffle::new(default_spec(0), racks),
        )
    });
    let line = Line {
        name: "Type 1",
        points: points.to_vec(),
    };
    let (mut series, samples) = speedups(context, &line, axes)?;
    let rows = vec![
        Row::printed("one cluster: the whole loop, type 1", "x", 1.3, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(&samples[3]),
    ];
    series.push(Series::paper("paper: Type 1", [(180.0, 1.3)]));
    Ok(outcome(context, rows, series, axes))
}

/// Fig. 9: one network replaced by a faster one.
pub(in super::super) fn fig9(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let axes = Axes {
        x: "rate of a server's port (Gb/s)",
        y: "speedup over one 10 GbE port",
    };
    let single = |gbps: f64| {
        let spec = json!({
            "type": 0, "p": 1, "q": 15, "l": 12, "clusters": 2, "server_gbps": gbps, "uplink_gbps": gbps,
        });
        Shuffle::new(spec, 6)
    };
    let line = Line {
        name: "One network",
        points: [25.0, 40.0]
            .map(|gbps| (gbps, single(gbps), single(10.0)))
            .to_vec(),
    };
    let (mut series, samples) = speedups(context, &line, axes)?;
    let rows = [(25.0, 2.5), (40.0, 4.0)]
        .iter()
        .zip(&samples)
        .map(|((gbps, printed), sample)| {
            Row::printed(format!("replaced by {gbps:.0} GbE"), "x", *printed, 0.1, 0.0)
                .because(context.of_data(
                    "a twentieth of the data: slow start and timeouts, which faster links do not shorten, count for more than in the whole",
                    "slow start and timeouts, which faster links do not shorten",
                ))
                .over_seeds(sample)
        });
    let rows = rows.collect();
    series.push(Series::paper("paper: one network", [(25.0, 2.5), (40.0, 4.0)]));
    Ok(outcome(context, rows, series, axes))
}

/// Fig. 10: type 1 over type 0 by the loop's size.
pub(in super::super) fn fig10(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let axes = Axes {
        x: "racks of a loop",
        y: "speedup over type 0",
    };
    let shuffle = |size: u32| {
        let spec = json!({
            "type": 1, "p": 2, "q": 30, "l": size, "clusters": 2, "loops_per_cluster": 12 / size,
        });
        Shuffle::new(spec, 6)
    };
    let line = |name, sizes: &[u32], balance| Line {
        name,
        points: sizes
            .iter()
            .map(|&size| {
                (
                    f64::from(size),
                    shuffle(size).balanced(balance),
                    Shuffle::new(default_spec(0), 6),
                )
            })
            .collect(),
    };
    let hashed = line("Type 1", &[2, 3, 4, 6, 12], Balance::Static);
    let (mut series, samples) = speedups(context, &hashed, axes)?;
    let ratio = value_at(&series[0], 4.0)? / value_at(&series[0], 3.0)?;
    let mut rows = vec![
        Row::printed("l = 2 (multihoming), type 1", "x", 1.3, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(&samples[0]),
        Row::printed("l = 3, type 1", "x", 1.64, 0.01, 0.0)
            .because(TAIL)
            .over_seeds(&samples[1]),
        Row::at_most("type 1 at l = 4 over l = 3: less than", "x", 1.0, ratio)
            .because("the text: six racks do not fit loops of 4, and ECMP loads their ToRs unevenly"),
    ];
    for (name, row, balance) in [
        (BALANCED, "l = 3, type 1LB", Balance::Adaptive),
        ("Type 1D", "l = 3, type 1D", Balance::Detours),
    ] {
        let (more, samples) = speedups(context, &line(name, &[3, 4, 12], balance), axes)?;
        let printed = Row::printed(row, "x", 1.85, 0.01, 0.0);
        rows.push(printed.because(SPREAD).over_seeds(&samples[0]));
        series.extend(more);
    }
    series.push(Series::paper("paper: Type 1", [(2.0, 1.3), (3.0, 1.64)]));
    series.push(Series::paper("paper: Type 1LB and Type 1D", [(3.0, 1.85)]));
    Ok(outcome(context, rows, series, axes))
}

/// Fig. 11: type 1 over type 0 by ports per server, in one cluster.
pub(in super::super) fn fig11(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let axes = Axes {
        x: "ports per server",
        y: "speedup over type 0",
    };
    let spec = |wiring_type: u8, ports: u32| {
        let spec = json!({
            "type": wiring_type, "p": ports, "q": 15 * ports, "l": 12, "c": 1, "clusters": 2,
        });
        Shuffle::new(spec, 6)
    };
    let line = Line {
        name: "Type 1, one cluster",
        points: [2, 4, 6]
            .map(|ports| (f64::from(ports), spec(1, ports), spec(0, ports)))
            .to_vec(),
    };
    let (series, _) = speedups(context, &line, axes)?;
    let [two, four, six] = series[0].y[..] else {
        return Err(setup());
    };
    let more = |name, ours| Row::at_least(name, "x", 1.0, ours).because(WORDS);
    let rows = vec![
        more("one cluster: type 1 with 4 ports over 2", four / two),
        more("one cluster: type 1 with 6 ports over 2", six / two),
        Row::at_most(
            "one cluster: the gain from 4 to 6 ports over that from 2 to 4",
            "x",
            1.0,
            (six - four) / (four - two),
        )
        .because(WORDS),
    ];
    Ok(outcome(context, rows, series, axes))
}
