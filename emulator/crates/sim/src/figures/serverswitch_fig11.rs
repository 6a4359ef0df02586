//! A rate that drops and grows again under QCN, packet by packet. `[serverswitch §6.3, Fig. 11]`
//!
//! Server 01 sends to 10 by 00, whose port towards 10 changes its rate. The lines are given one by
//! one: two links to 00, two from it.

use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::{Axes, Context, Outcome, Row, Series};
use crate::count::Cancelled;
use crate::engine::PredictError;
use crate::packet::change::LinkState;
use crate::packet::core::{Core, Stop};
use crate::packet::links::{Link, SECOND};
use crate::packet::qcn::Qcn;
use crate::packet::rules::{Growth, Marks, Recovery, Rules, Transport};

const LINE_MBPS: u32 = 1000;
/// Rates of the port, a step each. `[serverswitch §6.3]`
const STEPS_MBPS: [u32; 6] = [LINE_MBPS, 200, 400, 600, 800, LINE_MBPS];
const STEP_SECS: u64 = 20;
/// Steps of the sweep over `Q_EQ` are shorter.
const SHORT_STEP_SECS: u64 = 4;
/// The first seconds after a change of rate do not count in means.
const SETTLING_SECS: u64 = 1;
/// Target queue lengths: the figure's, and others that we add.
const AIM_KB: u64 = 50;
const OTHER_AIMS_KB: [u64; 3] = [25, 100, 200];
const PACKET_BYTES: u64 = 1500;
const HEADER_BYTES: u64 = 28;
const QUEUE_BYTES: u64 = 1_000_000;
/// A link of the round trip of 18 us between 01 and 00, which has four. `[serverswitch §6.3]`
const HOP_DELAY: u64 = SECOND / 1_000_000_000 * 4_500;
/// Delay that software adds to a notification. `[serverswitch §6.3]`
const SOFTWARE_DELAY: u64 = SECOND / 1_000_000 * 23;
/// Interval between samples of the queue.
const LOOK: u64 = SECOND / 10_000;
/// Points of the chart.
const POINT: u64 = SECOND / 5;
/// The port of 00: its third line, in this direction.
const PORT: u32 = 4;

const TOKENS: &str = "the testbed's chip cannot sample: its source marks packets by itself; a sample each 150 KB is 167 a second at 200 Mb/s and 833 at 1 Gb/s even without congestion";
const AROUND: &str = "the text: the queue fluctuates around Q_EQ, with similar results from 25 to 200 KB";

/// The result of one run.
struct Run {
    /// Mean rate on the port, in Mb/s, by step.
    rates: [f64; STEPS_MBPS.len()],
    /// Mean queue in the congested steps, in KB.
    queue_kb: f64,
    /// The same before congestion.
    idle_kb: f64,
    most_kb: f64,
    drops: u64,
    /// Samples of the port's congestion point, most in a second and mean.
    samples: (f64, f64),
    /// By time in s: rate in Mb/s and queue in KB.
    points: Vec<(f64, f64, f64)>,
}

/// A queue near the one aimed at: within a tenth of it counts as the same.
fn around(aim_kb: u64) -> Row {
    let aim = aim_kb as f64;
    Row::printed(
        format!("mean queue, Q_EQ of {aim_kb} KB"),
        "KB",
        aim,
        aim / 5.0,
        0.0,
    )
    .because(AROUND)
}

fn network(aim_kb: u64, seed: u64) -> Core {
    let line = f64::from(LINE_MBPS) * 1e6;
    let wire = Link::new(line, HOP_DELAY, QUEUE_BYTES, PACKET_BYTES);
    let mut links = vec![wire.clone(); 8];
    // The first link back from 00: a notice is made by software before it.
    links[3].delay += SOFTWARE_DELAY;
    let rules = Rules {
        seed,
        transport: Transport::Udp {
            gap: wire.time_of(PACKET_BYTES),
            drawn: false,
        },
        recovery: Recovery::NewReno,
        growth: Growth::Single,
        marks: Marks::Halve,
        payload: (PACKET_BYTES - HEADER_BYTES) as u32,
        overhead: HEADER_BYTES as u32,
        most_window: 64,
        initial_window: 1,
        least_timeout: SECOND,
        most_timeout: SECOND,
        delayed_ack: 0,
        qcn: Some(Qcn::baseline(aim_kb * 1000, line)),
    };
    let mut core = Core::new(rules, links, 8, 2 * HOP_DELAY + SECOND / 10_000);
    let there = core.add_route([0, 2, PORT, 6], 0, false);
    let back = core.add_route([7, 5, 3, 1], 0, true);
    core.add_connection(100 << 30, 0, &[(there, back, 8 * HOP_DELAY)]);
    core.start();
    core
}

fn set_port(core: &mut Core, mbps: u32) {
    core.set_link(
        PORT,
        LinkState {
            rate_bits_per_sec: f64::from(mbps) * 1e6,
            queue_bytes: QUEUE_BYTES,
            mark_bytes: None,
            delay: HOP_DELAY,
            loss_ratio: 0.0,
            dead: 0,
        },
    );
}

fn run(context: &Context<'_>, aim_kb: u64, step_secs: u64, seed: u64) -> Result<Run, PredictError> {
    let mut core = network(aim_kb, seed);
    let mut run = Run {
        rates: [0.0; STEPS_MBPS.len()],
        queue_kb: 0.0,
        idle_kb: 0.0,
        most_kb: 0.0,
        drops: 0,
        samples: (0.0, 0.0),
        points: Vec::new(),
    };
    let (mut queues, mut looks) = ([0.0; 2], [0u64; 2]);
    let mut sampled = 0;
    for (step, &mbps) in STEPS_MBPS.iter().enumerate() {
        set_port(&mut core, mbps);
        let from = step as u64 * step_secs * SECOND;
        let settled = from + SETTLING_SECS * SECOND;
        let mut settled_bytes = 0;
        let congested = mbps < LINE_MBPS;
        for point in 1..=step_secs * SECOND / POINT {
            let bytes = core.links.count(PORT).bytes;
            let mut waiting = 0.0;
            for look in 1..=POINT / LOOK {
                let until = from + (point - 1) * POINT + look * LOOK;
                if core.run(until, u64::MAX) == Stop::Finished {
                    return Err(super::setup());
                }
                // The packet on the line does not count as waiting.
                let backlog = core.links.backlog_bytes(PORT, core.now);
                let kb = backlog.saturating_sub(PACKET_BYTES) as f64 / 1e3;
                waiting += kb;
                run.most_kb = run.most_kb.max(kb);
                // After the last step up the queue empties.
                if core.now > settled && (congested || step == 0) {
                    queues[usize::from(congested)] += kb;
                    looks[usize::from(congested)] += 1;
                }
            }
            if context.progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled.into());
            }
            if core.now == settled {
                settled_bytes = core.links.count(PORT).bytes;
            }
            let sent = core.links.count(PORT).bytes - bytes;
            let mbps = sent as f64 * 8.0 / 1e6 / (POINT as f64 / SECOND as f64);
            run.points.push((
                core.now as f64 / SECOND as f64,
                mbps,
                waiting / (POINT / LOOK) as f64,
            ));
            if core.now.is_multiple_of(SECOND) {
                let all = core.points[PORT as usize].samples();
                run.samples.0 = run.samples.0.max(f64::from(all - sampled));
                sampled = all;
                context.progress.done.fetch_add(1, Ordering::Relaxed);
            }
        }
        let bits = (core.links.count(PORT).bytes - settled_bytes) as f64 * 8.0;
        run.rates[step] = bits / 1e6 / (step_secs - SETTLING_SECS) as f64;
    }
    run.samples.1 = f64::from(sampled) * SECOND as f64 / core.now as f64;
    run.drops = core.totals.drops;
    [run.idle_kb, run.queue_kb] = [0, 1].map(|kind| queues[kind] / looks[kind].max(1) as f64);
    Ok(run)
}

/// The figure, and the sweep over the queue aimed at.
pub(super) fn compute(context: &Context<'_>) -> Result<Outcome, PredictError> {
    let steps = STEPS_MBPS.len() as u64;
    let seeds: Vec<u64> = context.seeds().collect();
    context.expect(steps * context.seeds * (STEP_SECS + OTHER_AIMS_KB.len() as u64 * SHORT_STEP_SECS));
    let runs = seeds
        .par_iter()
        .map(|&seed| run(context, AIM_KB, STEP_SECS, seed))
        .collect::<Result<Vec<_>, _>>()?;
    let of = |value: fn(&Run) -> f64| runs.iter().map(value).collect::<Vec<f64>>();
    let mut rows = Vec::new();
    for (step, &mbps) in STEPS_MBPS.iter().enumerate().skip(1).take(4) {
        let sample: Vec<f64> = runs.iter().map(|run| run.rates[step]).collect();
        rows.push(
            Row::printed(format!("rate at {mbps} Mb/s"), "Mb/s", f64::from(mbps), 1.0, 0.0)
                .because("the text gives the port's rate, to which the source adapts")
                .over_seeds(&sample),
        );
    }
    let zero = |name: &str, unit, sample: &[f64]| Row::printed(name, unit, 0.0, 1e-9, 0.0).over_seeds(sample);
    rows.push(zero("queue before congestion", "KB", &of(|run| run.idle_kb)));
    rows.push(around(AIM_KB).over_seeds(&of(|run| run.queue_kb)));
    let mut drops: Vec<f64> = of(|run| run.drops as f64);
    for aim_kb in OTHER_AIMS_KB {
        let runs = seeds
            .par_iter()
            .map(|&seed| run(context, aim_kb, SHORT_STEP_SECS, seed))
            .collect::<Result<Vec<_>, _>>()?;
        let means: Vec<f64> = runs.iter().map(|run| run.queue_kb).collect();
        drops.extend(runs.iter().map(|run| run.drops as f64));
        rows.push(around(aim_kb).over_seeds(&means));
    }
    rows.push(zero("packets dropped, over all Q_EQ", "", &drops));
    let samples = [
        ("most", 801.0, of(|run| run.samples.0)),
        ("mean", 173.0, of(|run| run.samples.1)),
    ];
    for (which, paper, sample) in samples {
        rows.push(
            Row::printed(format!("samples a second, {which}"), "", paper, 1.0, 0.0)
                .because(TOKENS)
                .over_seeds(&sample),
        );
    }
    let points = &runs.first().ok_or_else(super::setup)?.points;
    Ok(Outcome {
        rows,
        series: vec![
            Series::ours("Rate, Mb/s", points.iter().map(|&(secs, mbps, _)| (secs, mbps))),
            Series::ours("Queue, KB", points.iter().map(|&(secs, _, kb)| (secs, kb))),
            Series::paper(
                "paper: the port's rate, Mb/s",
                (0..STEPS_MBPS.len()).map(|step| {
                    (
                        (step as u64 * STEP_SECS) as f64 + 10.0,
                        f64::from(STEPS_MBPS[step]),
                    )
                }),
            ),
        ],
        axes: Some(Axes {
            x: "time (s)",
            y: "rate (Mb/s), queue (KB)",
        }),
        choices: vec![
            "one UDP flow offered at 1 Gb/s from server 01 to 10 by 00; the port of 00 towards 10 has 1 Gb/s, 200 Mb/s from 20 s on, and 200 Mb/s more every 20 s",
            "QCN by IEEE 802.1Qau and pseudo-code 2.3 with the standard's own values: w 2, G_d 1/128, samples every 150 KB, cycles of 150 KB and 15 ms, five of fast recovery, R_AI 5 Mb/s, R_HAI 50 Mb/s, least rate 10 Mb/s",
            "the chip's queue is not stated: 1 MB here; at the drop to 200 Mb/s some 190 KB wait with a Q_EQ of 50 KB and 630 KB with 200 KB, so a queue of 500 KB would lose packets there; 4.5 us a link and 23 us for a notice made by software, as measured in the text",
            "means leave out the first second of each step; the sweep over Q_EQ has steps of 4 s; the chart is of the first seed",
        ],
    })
}
