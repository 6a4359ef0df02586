//! Congestion notification by servers' chips `[serverswitch §5.2]`: the CPU of a chip answers the
//! questions of sources with feedback on a queue, and a source limits its rate by that feedback.
//! The rules are QCN's, of `cubeyard_routing::qcn`.
//!
//! `point` computes a CPU's feedback, `tally` holds the counters of CPUs, `message` is the format
//! of answers. None of them uses sockets or a clock; neither does the sources' part here. `cpu` is
//! the thread that answers; `run/congestion.rs` sets the rates of sources.
//!
//! Each port of a server has one reaction point, which slows down all traffic that leaves by the
//! port, including forwarded packets of other servers. `[ours]`

pub mod cpu;
pub mod message;
mod point;
mod tally;

use std::collections::BTreeMap;
use std::sync::Arc;

use cubeyard_routing::qcn::{Qcn, Reaction};
use cubeyard_routing::random::{Draws, mix};
use serde::{Deserialize, Serialize};

use crate::error::{FabricError, Result};
use crate::network::behaviour::Behaviour;
use crate::network::{Description, Network};
pub use point::Point;
pub use tally::{Second, Tally};

/// A server's port: the server's index and the port's number.
pub type PortKey = (usize, u8);

/// Limits of `Q_EQ` in bytes: from two packets to the capacity of the largest queue.
const QUEUES: std::ops::RangeInclusive<u32> = 3_000..=8_000_000;
const NANO: u64 = 1_000;
/// Smaller relative changes of a rate are not applied.
const LEAST_CHANGE: f64 = 0.002;
/// Unit in which a source's cycle is counted, in bytes.
const STEP_BYTES: u64 = 1_500;

/// Settings of congestion notification in a run's description.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The target length of queues: `Q_EQ`.
    pub queue_bytes: u32,
    /// Whether the CPUs of chips answer sources with feedback. Without answers queues fill up.
    #[serde(default = "answers")]
    pub answers: bool,
}

fn answers() -> bool {
    true
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Questions that CPUs have received.
    pub asked: u64,
    /// Answers that sources have received.
    pub told: u64,
    /// Received datagrams that are no valid answers.
    pub refused: u64,
    /// Average time from the chip's copy until the answer is sent.
    pub reaction_micros: f64,
    /// Median of it, accurate to a sixteenth.
    pub median_reaction_micros: f64,
    /// Its 99th percentile, accurate to a sixteenth.
    pub p99_reaction_micros: f64,
    /// The longest reaction time.
    pub longest_reaction_micros: f64,
    /// Average time from the chip's copy until the network has forwarded the answer.
    pub sent_micros: f64,
}

/// A source's limit at one port.
#[derive(Debug)]
struct Limit {
    reaction: Reaction,
    /// Bytes that the port had sent at the last reading.
    sent_bytes: u64,
    /// The rate that was set, in bit/s; `None` for the link's own rate.
    set: Option<f64>,
}

/// The state of a run.
#[derive(Debug)]
pub struct Congestion {
    qcn: Qcn,
    answers: bool,
    /// Secret in each answer, so that nobody else can forge one.
    pub key: u64,
    /// Counters of the chips' CPUs.
    pub tally: Arc<Tally>,
    limits: BTreeMap<PortKey, Limit>,
    draws: u64,
    /// Answers that sources have received.
    pub told: u64,
    /// Received datagrams that are no answers of this run.
    pub refused: u64,
}

impl Congestion {
    /// The state of a run whose description enables it. `key` must stay secret.
    pub fn of(network: &Network, key: u64) -> Option<Congestion> {
        let settings = network.description.congestion?;
        Some(Congestion {
            qcn: Qcn::baseline(
                u64::from(settings.queue_bytes),
                network.description.rate_bits_per_sec,
            ),
            answers: settings.answers,
            key,
            tally: Arc::default(),
            limits: BTreeMap::new(),
            draws: 0,
            told: 0,
            refused: 0,
        })
    }

    /// The initial state of a chip's CPU, before any question.
    pub fn point(&self) -> Point {
        Point::new(self.qcn.clone(), self.answers)
    }

    /// The counters that a run reports.
    pub fn counts(&self) -> Counts {
        let reactions = self.tally.reactions();
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Counts {
            asked: self.tally.asked(),
            told: self.told,
            refused: self.refused,
            reaction_micros: micros(reactions.mean_nanos()),
            median_reaction_micros: micros(reactions.share_nanos(0.5)),
            p99_reaction_micros: micros(reactions.share_nanos(0.99)),
            longest_reaction_micros: micros(reactions.longest_nanos),
            sent_micros: micros(reactions.mean_sent_nanos()),
        }
    }

    /// Bytes between two marked packets while there is no congestion.
    pub fn mark_bytes(&self) -> u32 {
        self.qcn.mean_period(0) as u32
    }

    /// Applies an answer to a port, with its link's rate and the bytes that the port has sent.
    /// Returns the number of bytes between two marked packets from now on.
    pub fn tell(&mut self, port: PortKey, feedback: u32, line: f64, sent_bytes: u64, now_nanos: u64) -> u32 {
        self.told += 1;
        if feedback > 0 {
            let unit = self.draw();
            let limit = self.limits.entry(port).or_insert(Limit {
                reaction: Reaction::IDLE,
                sent_bytes,
                set: None,
            });
            if limit.reaction.limit().is_none() {
                limit.sent_bytes = sent_bytes;
            }
            limit
                .reaction
                .told(&self.qcn, feedback, line, now_nanos * NANO, unit);
        }
        self.qcn.mean_period(feedback) as u32
    }

    /// The ports whose rate is limited now.
    pub fn limited(&self) -> Vec<PortKey> {
        self.limits.keys().copied().collect()
    }

    /// Updates the limit of a port that has sent `sent_bytes` in total. Returns the rate to set if
    /// it has changed; the inner `None` means the link's own rate.
    pub fn follow(&mut self, port: PortKey, sent_bytes: u64, now_nanos: u64) -> Option<Option<f64>> {
        let (now, qcn) = (now_nanos * NANO, self.qcn.clone());
        let limit = self.limits.get_mut(&port)?;
        let mut more = sent_bytes.saturating_sub(limit.sent_bytes);
        limit.sent_bytes = sent_bytes;
        while more > 0 && limit.reaction.limit().is_some() {
            let bytes = more.min(STEP_BYTES);
            self.draws += 1;
            limit.reaction.sent(&qcn, bytes as u32, now, drawn(self.draws));
            more -= bytes;
        }
        while limit.reaction.limit().is_some() && limit.reaction.timer() <= now {
            self.draws += 1;
            limit.reaction.tick(&qcn, now, drawn(self.draws));
        }
        let wanted = limit.reaction.limit();
        let is_same = match (wanted, limit.set) {
            (Some(wanted), Some(set)) => (wanted - set).abs() < LEAST_CHANGE * set,
            (None, None) => true,
            _ => false,
        };
        limit.set = if is_same { limit.set } else { wanted };
        if wanted.is_none() {
            self.limits.remove(&port);
        }
        (!is_same).then_some(wanted)
    }

    fn draw(&mut self) -> f64 {
        self.draws += 1;
        drawn(self.draws)
    }
}

/// A pseudo-random number from 0 to 1.
fn drawn(number: u64) -> f64 {
    Draws::of(mix(number), number).unit()
}

/// Checks the settings of congestion notification.
pub fn check(description: &Description, behaviour: Behaviour) -> Result<()> {
    let Some(settings) = description.congestion else {
        return Ok(());
    };
    let forwarding = behaviour.forwarding;
    if forwarding
        .and_then(|forwarding| forwarding.program?.marked)
        .is_none()
    {
        let name = forwarding.map_or("no forwarding", |forwarding| forwarding.name);
        let limit = "given with a forwarding whose chips are in the kernel";
        let fix = "choose the forwarding serverswitch, or leave it out";
        return Err(FabricError::bad(
            "network.congestion",
            format!("given with {name}"),
            limit,
            fix,
        ));
    }
    if !QUEUES.contains(&settings.queue_bytes) {
        let limit = format!("{} to {} bytes", QUEUES.start(), QUEUES.end());
        return Err(FabricError::bad(
            "network.congestion.queue_bytes",
            settings.queue_bytes,
            limit,
            "use for example 50000",
        ));
    }
    if description.fair_queues {
        let fix = "leave network.fair_queues out";
        let limit = "given without fair queues: flows would not share the one that is looked at";
        return Err(FabricError::bad(
            "network.congestion",
            "given with fair queues",
            limit,
            fix,
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: f64 = 100e6;
    const PORT: PortKey = (1, 0);

    fn congestion(queue_bytes: u32, answers: bool) -> Congestion {
        Congestion {
            qcn: Qcn::baseline(u64::from(queue_bytes), LINE),
            answers,
            key: 0,
            tally: Arc::default(),
            limits: BTreeMap::new(),
            draws: 0,
            told: 0,
            refused: 0,
        }
    }

    /// Simulates a source at full speed into a port with a fifth of its rate, in steps of a
    /// millisecond. Returns the queue after each step.
    fn run(congestion: &mut Congestion, secs: u64) -> Vec<u64> {
        let (mut queue, mut sent, mut rate, mut until_mark) = (0.0_f64, 0.0_f64, LINE, 0.0);
        let mut queues = Vec::new();
        let mut point = congestion.point();
        for millis in 0..secs * 1000 {
            let now = millis * 1_000_000;
            let bytes = rate / 8e3;
            sent += bytes;
            until_mark -= bytes;
            queue = (queue + bytes - 0.2 * LINE / 8e3).max(0.0);
            if until_mark < 0.0 {
                congestion.tally.asked_for(0, queue as u64);
                let answer = point.ask(1, queue as u64);
                let answer = answer.map(|feedback| congestion.tell(PORT, feedback, LINE, sent as u64, now));
                until_mark = f64::from(answer.unwrap_or(congestion.mark_bytes()));
            }
            if let Some(wanted) = congestion.follow(PORT, sent as u64, now) {
                rate = wanted.unwrap_or(LINE);
            }
            queues.push(queue as u64);
        }
        queues
    }

    fn mean(queues: &[u64]) -> f64 {
        queues.iter().sum::<u64>() as f64 / queues.len() as f64
    }

    #[test]
    fn the_queue_stays_near_what_is_aimed_at_and_doubles_with_it() {
        let settled = |queue_bytes| {
            let queues = run(&mut congestion(queue_bytes, true), 20);
            mean(&queues[10_000..])
        };
        for aim in [25_000, 50_000, 100_000, 200_000] {
            let queue = settled(aim);
            assert!(
                (queue - f64::from(aim)).abs() < 0.35 * f64::from(aim),
                "{queue} for {aim}"
            );
        }
    }

    #[test]
    fn without_answers_the_queue_grows_without_end() {
        let mut silent = congestion(50_000, false);
        let queues = run(&mut silent, 5);
        assert!(*queues.last().unwrap() > 10_000_000, "{:?}", queues.last());
        assert_eq!((silent.told, silent.limited().len()), (0, 0));
        assert!(silent.tally.asked() > 100);
    }
}
