//! Shuffles of Figs 8 to 11 packet by packet; load balancing and detours move flows while packets
//! are on their way. The charts also show the fluid's lines. `[subways §8.3-§8.6]`
//!
//! Not here: Fig. 12, whose requests go without TCP (`fig12_packets`).

use std::sync::{Mutex, PoisonError};

use cubeyard_routing::subways::{ADAPTIVE, DETOUR};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::super::{Axes, Context, Outcome, Row, Series, setup};
use super::{BALANCES, network, peak, racks_of_loops, value_at};
use crate::engine::{EngineKind, PredictError};
use crate::experiment::Experiment;
use crate::network::Network;
use crate::rack_fluid::{Balance, Between};

/// Data from a mapper to a reducer: 15 MB of 10^6 bytes.
const BYTES: u64 = 15_000_000;
/// The shortest retransmission timeout for the whole data; scaled down for a part of it.
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

const OF_FLUID: &str = "about 4 in the text, and 4.1 as a fluid: packets reach nine tenths of the fluid's speedup with ECMP, eight with LB, and three quarters with D";
const SPREAD: &str = "rebinding moves flows between ToRs by weights, and in loops of 3 all ToRs carry as much already; which of a server's ports a single flow meets others on stays a draw";

/// A shuffle among the first racks of each of the first loops: the network's spec, and how many of
/// both.
#[derive(Clone, PartialEq)]
struct Shuffle {
    spec: Value,
    loops: usize,
    racks: usize,
    balance: Balance,
}

impl Shuffle {
    fn new(spec: Value, racks: usize) -> Shuffle {
        Shuffle {
            spec,
            loops: 1,
            racks,
            balance: Balance::Static,
        }
    }

    fn balanced(self, balance: Balance) -> Shuffle {
        Shuffle { balance, ..self }
    }

    /// The same number of racks in each of two loops.
    fn of_two_loops(self) -> Shuffle {
        Shuffle { loops: 2, ..self }
    }

    fn servers(&self) -> Result<usize, PredictError> {
        Ok(self.loops * self.racks * network(self.spec.clone())?.racks.servers)
    }

    /// Seconds until it is over as a fluid of racks.
    fn fluid_secs(&self, context: &Context<'_>) -> Result<f64, PredictError> {
        let network = network(self.spec.clone())?;
        let racks = racks_of_loops(&network, self.loops, self.racks);
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
            .filter(|&server| {
                let rack = racks.rack_of(server);
                let mut firsts = (0..self.loops).map(|at| at * racks.ring.size);
                firsts.any(|first| (first..first + self.racks).contains(&rack))
            })
            .map(|server| topology.node_name(server))
            .collect();
        let bytes = BYTES / context.parts();
        let flows: Vec<Value> = servers
            .iter()
            .flat_map(|from| servers.iter().map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .map(|(from, to)| json!([from, to, bytes, 0.0]))
            .collect();
        let part = 1.0 / context.parts() as f64;
        let experiment = json!({
            "engine": "packet", "workload": {"kind": "listed", "flows": flows}, "routing": routing_of(self.balance), "seeds": [seed],
            "packet": {"rto_min_secs": RTO_MIN_SECS * part, "rebind_secs": REBIND_SECS * part},
        });
        let experiment = Experiment::from_json(&experiment.to_string())?;
        let engine = EngineKind::Packet.engine();
        let document = engine.run(&network, &experiment, context.progress, &mut |_| {})?;
        document["completion_secs"]["max"].as_f64().ok_or_else(setup)
    }
}

/// The routing scheme that balances so.
pub(super) fn routing_of(balance: Balance) -> &'static str {
    match balance {
        Balance::Static => "subways-ecmp",
        Balance::Adaptive => ADAPTIVE,
        Balance::Detours => DETOUR,
    }
}

/// The state of the shuffles of one figure.
struct Figure<'a> {
    context: &'a Context<'a>,
    axes: Axes,
    lines: Vec<Line>,
}

/// A line: at each place a shuffle, and the one that it is compared with.
struct Line {
    name: String,
    points: Vec<(f64, Shuffle, Shuffle)>,
}

impl Line {
    fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Shuffle, Shuffle)>) -> Line {
        Line {
            name: name.into(),
            points: points.into_iter().collect(),
        }
    }

    /// Lines of the same shuffles under each of these balances, which the names include.
    fn balanced(
        name: impl Fn(&str) -> String,
        points: &[(f64, Shuffle, Shuffle)],
        balances: &[(Balance, &str)],
    ) -> Vec<Line> {
        let of = |&(balance, suffix): &(Balance, &str)| {
            let points = points.iter().cloned();
            Line::new(
                name(suffix),
                points.map(|(x, shuffle, before)| (x, shuffle.balanced(balance), before)),
            )
        };
        balances.iter().map(of).collect()
    }
}

/// The lines of a figure: two series each, packets and fluid, and the speedups in packets by place
/// and seed.
struct Drawn {
    series: Vec<Series>,
    samples: Vec<Vec<Vec<f64>>>,
}

impl Drawn {
    /// A line in packets.
    fn packets(&self, line: usize) -> &Series {
        &self.series[2 * line]
    }
}

/// Seconds of a figure's shuffles, each simulated once however many lines have it.
struct Times {
    shuffles: Vec<Shuffle>,
    fluid: Vec<f64>,
    /// Results by shuffle and seed; `None` until computed.
    packets: Vec<Vec<Option<f64>>>,
}

impl Times {
    fn place(&self, shuffle: &Shuffle) -> usize {
        let same = |other: &Shuffle| other == shuffle;
        self.shuffles.iter().position(same).unwrap_or(usize::MAX)
    }

    /// Speedups by seed; `None` until all are computed.
    fn sample(&self, shuffle: &Shuffle, before: &Shuffle) -> Option<Vec<f64>> {
        let (ours, theirs) = (
            self.packets.get(self.place(shuffle))?,
            self.packets.get(self.place(before))?,
        );
        let pairs = ours.iter().zip(theirs);
        pairs.map(|(ours, theirs)| Some((*theirs)? / (*ours)?)).collect()
    }

    fn drawn(&self, lines: &[Line]) -> Drawn {
        let mut drawn = Drawn {
            series: Vec::new(),
            samples: Vec::new(),
        };
        for line in lines {
            let mut packets = Vec::new();
            let mut samples = Vec::new();
            for (x, shuffle, before) in &line.points {
                if let Some(sample) = self.sample(shuffle, before) {
                    packets.push((*x, sample.iter().sum::<f64>() / sample.len() as f64));
                    samples.push(sample);
                }
            }
            let fluid = line.points.iter().map(|(x, shuffle, before)| {
                (
                    *x,
                    self.fluid[self.place(before)] / self.fluid[self.place(shuffle)],
                )
            });
            drawn
                .series
                .push(Series::ours(format!("{}, packets", line.name), packets));
            drawn
                .series
                .push(Series::ours(format!("{}, fluid", line.name), fluid));
            drawn.samples.push(samples);
        }
        drawn
    }
}

impl Figure<'_> {
    /// Runs all shuffles of all lines: packet by packet for each seed, and as a fluid. Shows each
    /// point as soon as it is computed.
    fn drawn(&self) -> Result<Drawn, PredictError> {
        let context = self.context;
        let mut shuffles: Vec<Shuffle> = Vec::new();
        for (_, shuffle, before) in self.lines.iter().flat_map(|line| &line.points) {
            for item in [shuffle, before] {
                if !shuffles.contains(item) {
                    shuffles.push(item.clone());
                }
            }
        }
        let mut bytes = 0;
        for shuffle in &shuffles {
            let servers = shuffle.servers()? as u64;
            bytes += servers * (servers - 1) * (BYTES / context.parts()) * context.seeds;
        }
        context.expect(bytes);
        let fluid = shuffles.par_iter().map(|shuffle| shuffle.fluid_secs(context));
        let fluid = fluid.collect::<Result<Vec<f64>, PredictError>>()?;
        let runs: Vec<(usize, usize)> = (0..shuffles.len())
            .flat_map(|shuffle| (0..context.seeds as usize).map(move |seed| (shuffle, seed)))
            .collect();
        let times = Mutex::new(Times {
            packets: vec![vec![None; context.seeds as usize]; shuffles.len()],
            fluid,
            shuffles: shuffles.clone(),
        });
        runs.par_iter().try_for_each(|&(shuffle, seed)| {
            let secs = shuffles[shuffle].packet_secs(context, context.first_seed + seed as u64)?;
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            times.packets[shuffle][seed] = Some(secs);
            context.show(&self.outcome(Vec::new(), times.drawn(&self.lines).series));
            Ok::<(), PredictError>(())
        })?;
        let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(times.drawn(&self.lines))
    }

    fn outcome(&self, rows: Vec<Row>, series: Vec<Series>) -> Outcome {
        let moves = self.lines.iter().flat_map(|line| &line.points);
        let moves = moves
            .into_iter()
            .any(|(_, shuffle, _)| shuffle.balance != Balance::Static);
        Outcome {
            rows,
            series,
            axes: Some(self.axes),
            choices: vec![
                self.context.of_data(BRIEF, WHOLE),
                SETTINGS,
                if moves { MOVING } else { STATIC },
            ],
        }
    }
}

/// The paper's default of a type: 2 ports, 15 servers a rack, loops of 12, two clusters.
/// `[subways §8.1]`
fn default_spec(wiring_type: u8) -> Value {
    let spread = if wiring_type == 2 { 2 } else { 1 };
    json!({"type": wiring_type, "p": 2, "q": 30, "l": 12, "c": spread, "clusters": 2})
}

/// Fig. 8: speedups over type 0 by job size, in one cluster and over two.
pub(in super::super) fn fig8(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let points = |wiring_type, loops: usize, racks: &[usize]| {
        let job = |wiring_type, racks| Shuffle {
            loops,
            ..Shuffle::new(default_spec(wiring_type), racks)
        };
        let point = |&racks: &usize| {
            let servers = (loops * racks * 15) as f64;
            (servers, job(wiring_type, racks), job(0, racks))
        };
        racks.iter().map(point).collect::<Vec<_>>()
    };
    let within = points(1, 1, &[2, 4, 6, 12]);
    let across = points(2, 2, &[1, 2, 3, 6]);
    let mut lines = Line::balanced(
        |suffix| format!("Type 1{suffix}, one cluster"),
        &within,
        &BALANCES,
    );
    lines.extend(Line::balanced(
        |suffix| format!("Type 2{suffix}, two clusters"),
        &across,
        &BALANCES,
    ));
    let figure = Figure {
        context,
        axes: Axes {
            x: "servers of the job",
            y: "speedup over type 0",
        },
        lines,
    };
    let mut drawn = figure.drawn()?;
    let at_peak = |line: usize| {
        let x = peak(drawn.packets(line)).0;
        let place = drawn.packets(line).x.iter().position(|&at| at == x);
        &drawn.samples[line][place.unwrap_or_default()]
    };
    let rows = vec![
        Row::printed("one cluster: greatest speedup, type 1D", "x", 3.1, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(at_peak(2)),
        Row::printed(
            "one cluster: job size of the greatest speedup",
            "servers",
            60.0,
            1.0,
            peak(drawn.packets(2)).0,
        ),
        Row::printed("one cluster: the whole loop, type 1", "x", 1.3, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(&drawn.samples[0][3]),
        Row::printed("two clusters: greatest speedup, type 2D", "x", 2.7, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(at_peak(5)),
    ];
    drawn.series.extend([
        Series::paper("paper: Type 1D, one cluster", [(60.0, 3.1)]),
        Series::paper("paper: Type 1, one cluster", [(180.0, 1.3)]),
    ]);
    Ok(figure.outcome(rows, drawn.series))
}

/// Fig. 9: one network replaced by a faster one, or extended by a second network of 10 GbE.
pub(in super::super) fn fig9(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let single = |gbps: f64| {
        let spec = json!({
            "type": 0, "p": 1, "q": 15, "l": 12, "clusters": 2, "server_gbps": gbps, "uplink_gbps": gbps,
        });
        Shuffle::new(spec, 6)
    };
    let beside = [(20.0, Shuffle::new(default_spec(2), 6), single(10.0))];
    let mut lines = vec![Line::new(
        "One network",
        [25.0, 40.0].map(|gbps| (gbps, single(gbps), single(10.0))),
    )];
    lines.extend(Line::balanced(
        |suffix| format!("10 GbE and another, type 2{suffix}"),
        &beside,
        &BALANCES,
    ));
    let figure = Figure {
        context,
        axes: Axes {
            x: "rate of a server's ports together (Gb/s)",
            y: "speedup over one 10 GbE port",
        },
        lines,
    };
    let mut drawn = figure.drawn()?;
    let replaced = [(25.0, 2.5), (40.0, 4.0)];
    let mut rows: Vec<Row> = replaced
        .iter()
        .zip(&drawn.samples[0])
        .map(|((gbps, printed), sample)| {
            Row::printed(format!("replaced by {gbps:.0} GbE"), "x", *printed, 0.1, 0.0)
                .because(context.of_data(
                    "a twentieth of the data: slow start and timeouts, which faster links do not shorten, count for more than in the whole",
                    "slow start and timeouts, which faster links do not shorten",
                ))
                .over_seeds(sample)
        })
        .collect();
    rows.push(
        Row::printed("10 GbE beside the old, type 2D", "x", 4.0, 1.0, 0.0)
            .because(OF_FLUID)
            .over_seeds(&drawn.samples[3][0]),
    );
    drawn.series.extend([
        Series::paper("paper: one network", replaced),
        Series::paper("paper: 10 GbE and another, type 2D", [(20.0, 4.0)]),
    ]);
    let mut outcome = figure.outcome(rows, drawn.series);
    outcome.choices.push(
        "25 GbE beside 10 GbE only as a fluid: the links above a plan's ToRs have one rate, so that its two networks would not both have 5:1",
    );
    Ok(outcome)
}

/// Fig. 10: type 1 over type 0 by the loop's size.
pub(in super::super) fn fig10(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let shuffle = |size: u32| {
        let spec = json!({
            "type": 1, "p": 2, "q": 30, "l": size, "clusters": 2, "loops_per_cluster": 12 / size,
        });
        Shuffle::new(spec, 6)
    };
    let points = |sizes: &[u32]| {
        let point = |&size: &u32| (f64::from(size), shuffle(size), Shuffle::new(default_spec(0), 6));
        sizes.iter().map(point).collect::<Vec<_>>()
    };
    let name = |suffix: &str| format!("Type 1{suffix}");
    let mut lines = Line::balanced(name, &points(&[2, 3, 4, 6, 12]), &BALANCES[..1]);
    lines.extend(Line::balanced(name, &points(&[3, 4, 12]), &BALANCES[1..]));
    let figure = Figure {
        context,
        axes: Axes {
            x: "racks of a loop",
            y: "speedup over type 0",
        },
        lines,
    };
    let mut drawn = figure.drawn()?;
    let ratio = value_at(drawn.packets(0), 4.0)? / value_at(drawn.packets(0), 3.0)?;
    let mut rows = vec![
        Row::printed("l = 2 (multihoming), type 1", "x", 1.3, 0.1, 0.0)
            .because(TAIL)
            .over_seeds(&drawn.samples[0][0]),
        Row::printed("l = 3, type 1", "x", 1.64, 0.01, 0.0)
            .because(TAIL)
            .over_seeds(&drawn.samples[0][1]),
        Row::at_most("type 1 at l = 4 over l = 3: less than", "x", 1.0, ratio)
            .because("the text: six racks do not fit loops of 4, and ECMP loads their ToRs unevenly"),
    ];
    for (line, name) in [(1, "l = 3, type 1LB"), (2, "l = 3, type 1D")] {
        rows.push(
            Row::printed(name, "x", 1.85, 0.01, 0.0)
                .because(SPREAD)
                .over_seeds(&drawn.samples[line][0]),
        );
    }
    drawn.series.extend([
        Series::paper("paper: Type 1", [(2.0, 1.3), (3.0, 1.64)]),
        Series::paper("paper: Type 1LB and Type 1D", [(3.0, 1.85)]),
    ]);
    Ok(figure.outcome(rows, drawn.series))
}

/// Fig. 11: speedups over type 0 by ports per server, in one cluster and over two.
pub(in super::super) fn fig11(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let spec = |wiring_type: u8, ports: u32| {
        let spread = if wiring_type == 2 { 2 } else { 1 };
        let spec = json!({
            "type": wiring_type, "p": ports, "q": 15 * ports, "l": 12, "c": spread, "clusters": 2,
        });
        Shuffle::new(spec, 6)
    };
    let within = [2, 4, 6].map(|ports| (f64::from(ports), spec(1, ports), spec(0, ports)));
    let across = [2, 4, 6].map(|ports| {
        let [ours, before] = [2, 0].map(|wiring_type| spec(wiring_type, ports).of_two_loops());
        (f64::from(ports), ours, before)
    });
    let mut lines = Line::balanced(
        |suffix| format!("Type 1{suffix}, one cluster"),
        &within,
        &BALANCES,
    );
    lines.extend(Line::balanced(
        |suffix| format!("Type 2{suffix}, two clusters"),
        &across,
        &BALANCES,
    ));
    let figure = Figure {
        context,
        axes: Axes {
            x: "ports per server",
            y: "speedup over type 0",
        },
        lines,
    };
    let drawn = figure.drawn()?;
    let speedups: Vec<&[f64]> = (0..2 * BALANCES.len())
        .map(|line| &drawn.packets(line).y[..])
        .collect();
    let (within, across) = speedups.split_at(BALANCES.len());
    let faster = |lines: &[&[f64]], more: usize, fewer: usize| {
        lines.iter().filter(|line| line[more] > line[fewer]).count()
    };
    let diminishing = within.iter().filter(|line| line[2] - line[1] < line[1] - line[0]);
    // The gain of LB or D over the plain type, at one number of ports.
    let benefit = |balanced: usize, plain: usize, at: usize| speedups[balanced][at] / speedups[plain][at];
    let shrinking = [1, 2]
        .into_iter()
        .filter(|&line| benefit(line, 0, 2) < benefit(line, 0, 0));
    let growing = benefit(4, 3, 2) > benefit(4, 3, 0);
    let rows = [
        (
            "one cluster: variants faster with 4 ports than with 2",
            3.0,
            faster(within, 1, 0),
        ),
        (
            "one cluster: variants faster with 6 ports than with 2",
            3.0,
            faster(within, 2, 0),
        ),
        (
            "one cluster: variants that gain less from 4 to 6 ports than from 2 to 4",
            3.0,
            diminishing.count(),
        ),
        (
            "one cluster: of LB and D, those that add less with 6 ports than with 2",
            2.0,
            shrinking.count(),
        ),
        (
            "two clusters: variants faster with 4 ports than with 2",
            3.0,
            faster(across, 1, 0),
        ),
        (
            "two clusters: variants faster with 6 ports than with 4",
            3.0,
            faster(across, 2, 1),
        ),
        (
            "two clusters: LB adds more with 6 ports than with 2 (1 = yes)",
            1.0,
            usize::from(growing),
        ),
    ];
    let rows =
        rows.map(|(name, printed, ours)| Row::printed(name, "", printed, 1e-9, ours as f64).because(WORDS));
    Ok(figure.outcome(rows.to_vec(), drawn.series))
}
