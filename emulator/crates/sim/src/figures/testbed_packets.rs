//! The papers' testbeds packet by packet: explicit paths of gigabit links, and a share of the data,
//! so that a figure takes seconds. Times are scaled to the full data.
//!
//! Not here: experiments on plans, which have routing schemes, faults and settings
//! (`crate::packet`).

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use cubeyard_routing::random::Draws;

use super::{Axes, Context, Outcome, Series};
use crate::count::Cancelled;
use crate::engine::PredictError;
use crate::fluid::Completion;
use crate::packet::core::{Core, Stop};
use crate::packet::links::{Link, SECOND};
use crate::packet::rules::{Growth, Marks, Recovery, Rules, Transport};
use crate::packet::wheel::NEVER;
use crate::paths::Paths;

/// The settings, as a figure prints them.
pub(super) const SETTINGS: &str = "TCP with selective acknowledgements (the testbeds' Windows Server 2003 has them), MTU 1500, initial window 10, shortest timeout 200 ms, 60 us a hop, drop-tail queues of a gigabit times the longest idle round trip, starts within 100 us, acknowledgements on the path of the data; relays take no CPU";

const PACKET_BYTES: u64 = 1500;
const HEADER_BYTES: u64 = 40;
const BITS_PER_SEC: f64 = 1e9;
/// From a packet's last bit to its arrival at the next node, in ps. `[subways §8.1]`
const HOP_DELAY: u64 = SECOND / 1_000_000 * 60;
const JITTER_SECS: f64 = 100e-6;
const GIGABYTE: f64 = 1_073_741_824.0;
/// Steps of the total rate in time.
const STEPS: f64 = 100.0;
/// Number of events between checks for cancellation.
const BUDGET: u64 = 1 << 16;

/// The lines of a figure in time, shown while their packets are still on their way.
pub(super) struct Growing<'a> {
    context: &'a Context<'a>,
    axes: Axes,
    choices: Vec<&'static str>,
    lines: Mutex<Vec<Series>>,
}

impl<'a> Growing<'a> {
    /// A figure without lines.
    pub(super) fn new(context: &'a Context<'a>, axes: Axes, choices: &[&'static str]) -> Growing<'a> {
        Growing {
            context,
            axes,
            choices: choices.to_vec(),
            lines: Mutex::default(),
        }
    }

    /// Shows the figure with the current state of one line; the other lines stay as they were.
    pub(super) fn line(&self, series: Series) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.iter_mut().find(|line| line.name == series.name) {
            Some(line) => *line = series,
            None => {
                lines.push(series);
                lines.sort_by(|line, other| line.name.cmp(&other.name));
            }
        }
        self.context.show(&Outcome {
            series: lines.clone(),
            axes: Some(self.axes),
            choices: self.choices.clone(),
            ..Outcome::default()
        });
    }
}

/// Traffic over paths: `gigabytes` on each, of which one of the figure's parts is simulated.
pub(super) struct Sending<'a> {
    pub paths: &'a Paths,
    pub gigabytes: f64,
    pub directed_links: usize,
    /// The flow engine's result for the same traffic, in seconds of the whole data; it sets the
    /// time steps.
    pub expected_secs: f64,
    pub seed: u64,
    /// The line that its rate in time is, where a chart shows it.
    pub shown: Option<(&'a Growing<'a>, &'a str)>,
}

impl Sending<'_> {
    /// Payload of a flow, in bytes.
    fn bytes(&self, context: &Context<'_>) -> u64 {
        (self.gigabytes * GIGABYTE / context.parts() as f64) as u64
    }

    /// Payload of all flows, in bytes.
    pub(super) fn total_bytes(&self, context: &Context<'_>) -> u64 {
        self.bytes(context) * self.paths.len() as u64
    }

    fn network(&self, bytes: u64) -> Core {
        let wire = Link::new(BITS_PER_SEC, HOP_DELAY, 0, PACKET_BYTES);
        let per_link = |bytes| wire.time_of(bytes) + HOP_DELAY;
        let round_trip = |links: usize| links as u64 * (per_link(PACKET_BYTES) + per_link(HEADER_BYTES));
        let longest = (0..self.paths.len())
            .map(|flow| round_trip(self.paths.path(flow).len()))
            .max()
            .unwrap_or_default();
        let queue_bytes = (BITS_PER_SEC / 8.0 * longest as f64 / SECOND as f64) as u64;
        let rules = Rules {
            seed: self.seed,
            transport: Transport::Tcp,
            recovery: Recovery::Sack,
            growth: Growth::Single,
            marks: Marks::Halve,
            payload: (PACKET_BYTES - HEADER_BYTES) as u32,
            overhead: HEADER_BYTES as u32,
            most_window: 1024,
            initial_window: 10,
            least_timeout: SECOND / 5,
            most_timeout: 60 * SECOND,
            delayed_ack: 0,
            qcn: None,
        };
        let link = Link::new(BITS_PER_SEC, HOP_DELAY, queue_bytes, PACKET_BYTES);
        let links = vec![link; self.directed_links];
        let mut core = Core::new(
            rules,
            links,
            self.directed_links as u32,
            2 * per_link(PACKET_BYTES),
        );
        for flow in 0..self.paths.len() {
            let path = self.paths.path(flow);
            let there = core.add_route(path.iter().copied(), flow as u32, false);
            let back = core.add_route(path.iter().rev().map(|link| link ^ 1), flow as u32, true);
            let start_secs = Draws::of(self.seed, flow as u64).unit() * JITTER_SECS;
            core.add_connection(
                bytes,
                (start_secs * SECOND as f64) as u64,
                &[(there, back, round_trip(path.len()))],
            );
        }
        core.start();
        core
    }

    /// Sends it all: when each flow ends, and the goodput of all of them in time, as of the whole
    /// data.
    ///
    /// # Errors
    /// After a cancellation.
    pub(super) fn run(&self, context: &Context<'_>) -> Result<Completion, PredictError> {
        let mut core = self.network(self.bytes(context));
        let parts = context.parts() as f64;
        let step = ((self.expected_secs / parts / STEPS) * SECOND as f64) as u64;
        let whole_secs = |ps: u64| ps as f64 / SECOND as f64 * parts;
        let mut total_rate = Vec::new();
        let (mut until, mut received, mut reported) = (step.max(1), 0, 0);
        loop {
            let stop = core.run(until, BUDGET);
            if context.progress.cancelled.load(Ordering::Relaxed) {
                return Err(Cancelled.into());
            }
            let news = core.totals.received - reported;
            context.progress.done.fetch_add(news, Ordering::Relaxed);
            reported = core.totals.received;
            if stop == Stop::Budget {
                continue;
            }
            let bits = (core.totals.received - received) as f64 * 8.0;
            let from = until - step.max(1);
            let secs = (core.now - from) as f64 / SECOND as f64;
            total_rate.push((whole_secs(from), if secs > 0.0 { bits / secs / 1e9 } else { 0.0 }));
            if let Some((growing, name)) = self.shown {
                growing.line(Series::ours(name, total_rate.iter().copied()));
            }
            received = core.totals.received;
            if stop == Stop::Finished {
                break;
            }
            until += step.max(1);
        }
        total_rate.push((whole_secs(core.now), 0.0));
        let ends = core.connections.iter().map(|connection| match connection.end {
            NEVER => f64::INFINITY,
            end => whole_secs(end - connection.start),
        });
        Ok(Completion {
            ends_secs: ends.collect(),
            total_rate,
        })
    }
}
