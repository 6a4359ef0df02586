//! Faults over time: their begin and end, the time at which routing learns of them, and the links'
//! properties at each moment.
//!
//! Routing avoids faults that begin at 0 s from the start, as in a prediction. It learns of a later
//! fault after the detection time of a lost carrier or of lost hellos. It never learns of changed
//! rates, losses and delays.

use cubeyard_routing::Failures;
use cubeyard_topology::fault::{FaultEntry, FaultKind, LinkQuality};
use cubeyard_topology::{Finding, Topology};

use super::links::SECOND;
use super::settings::Settings;
use crate::faults::{self, Fault};
use crate::network::Network;

/// An event of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The fault begins.
    Begin,
    /// The fault ends.
    End,
    /// Routing learns that the fault has begun.
    Known,
    /// Routing learns that the fault has ended.
    Forgotten,
}

/// The properties of a link under the current faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// The rate of the link.
    pub rate_bits_per_sec: f64,
    /// Share of packets lost at random.
    pub loss_ratio: f64,
    /// Added delay in ps.
    pub delay: u64,
    /// Number of faults that stop all traffic.
    pub dead: u32,
}

/// A fault and the links that it affects.
#[derive(Clone, Debug)]
struct Struck {
    fault: Fault,
    failures: Failures,
    /// Affected links, including the links of failed devices.
    links: Vec<u32>,
    active: bool,
    known: bool,
}

/// All faults of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    struck: Vec<Struck>,
    /// The events in order of time: time in ps, index of the fault, step.
    steps: Vec<(u64, usize, Step)>,
    done: usize,
}

/// Picoseconds of a time in seconds that was checked before.
pub fn ps(secs: f64) -> u64 {
    (secs * SECOND as f64).round() as u64
}

/// Whether this engine supports a kind of fault.
pub fn knows(entry: &FaultEntry) -> bool {
    entry.effect.links.stops() || entry.carries()
}

impl Timeline {
    /// The timeline of a run's faults; random targets are drawn as in a prediction.
    ///
    /// # Errors
    ///
    /// A finding for each unsupported kind, and for each invalid time, parameter and target.
    pub fn new(
        list: &[Fault],
        network: &Network,
        settings: &Settings,
        seed: u64,
    ) -> Result<Timeline, Vec<Finding>> {
        let mut findings = Vec::new();
        for (i, fault) in list.iter().enumerate() {
            let field = format!("faults[{i}]");
            findings.extend(faults::check(fault, &field, knows, |kind, known| {
                unknown(kind, &field, known)
            }));
        }
        if !findings.is_empty() {
            return Err(findings);
        }
        let mut timeline = Timeline {
            struck: Vec::new(),
            steps: Vec::new(),
            done: 0,
        };
        for (i, failures) in faults::struck(list, network, seed)?.into_iter().enumerate() {
            let fault = list[i].clone();
            let stops = fault.effect().links.stops();
            let links = affected(network.topology(), &failures, stops);
            if links.is_empty() && !stops {
                return Err(vec![faults::nothing_struck(&fault, i, network)]);
            }
            timeline.enter(i, &fault, settings);
            timeline.struck.push(Struck {
                active: false,
                known: false,
                fault,
                failures,
                links,
            });
        }
        timeline.steps.sort_unstable();
        Ok(timeline)
    }

    fn enter(&mut self, i: usize, fault: &Fault, settings: &Settings) {
        let detection_secs = if fault.kind.entry().silent() {
            settings.silent_detection_secs
        } else {
            settings.carrier_detection_secs
        };
        let known_secs = if fault.at_secs > 0.0 {
            fault.at_secs + detection_secs
        } else {
            0.0
        };
        self.steps.push((ps_clamped(fault.at_secs), i, Step::Begin));
        let routed = fault.effect().links.stops();
        if routed {
            self.steps.push((ps_clamped(known_secs), i, Step::Known));
        }
        if let Some(until_secs) = fault.until_secs {
            self.steps.push((ps_clamped(until_secs), i, Step::End));
            if routed {
                let gone = known_secs.max(until_secs + detection_secs);
                self.steps.push((ps_clamped(gone), i, Step::Forgotten));
            }
        }
    }

    /// Whether there is any fault.
    pub fn happens(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Time of the next step, in ps.
    pub fn next(&self) -> Option<u64> {
        self.steps.get(self.done).map(|step| step.0)
    }

    /// Applies all steps up to a time. Appends to `changed` the links whose properties may have
    /// changed, ascending and once each; returns whether the failures that routing avoids have
    /// changed.
    pub fn advance(&mut self, now: u64, changed: &mut Vec<u32>) -> bool {
        let mut reroutes = false;
        while let Some(&(time, fault, step)) = self.steps.get(self.done) {
            if time > now {
                break;
            }
            self.done += 1;
            let struck = &mut self.struck[fault];
            match step {
                Step::Begin | Step::End => {
                    struck.active = step == Step::Begin;
                    changed.extend_from_slice(&struck.links);
                }
                Step::Known | Step::Forgotten => {
                    struck.known = step == Step::Known;
                    reroutes = true;
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        reroutes
    }

    /// The current properties of a link with this rate.
    pub fn condition(&self, link: u32, rate_bits_per_sec: f64) -> Condition {
        let (mut quality, mut dead) = (LinkQuality::WHOLE, 0);
        for item in self
            .struck
            .iter()
            .filter(|item| item.active && item.links.binary_search(&link).is_ok())
        {
            match item.fault.effect().links.degraded() {
                Some(other) => quality = quality.and(other),
                None => dead += 1,
            }
        }
        Condition {
            rate_bits_per_sec: rate_bits_per_sec.min(quality.rate_bits_per_sec),
            loss_ratio: 1.0 - quality.passes,
            delay: ps(quality.delay_secs),
            dead,
        }
    }

    /// The failures that routing avoids.
    pub fn known(&self, topology: &Topology) -> Failures {
        let mut all = Failures::none(topology);
        for item in self.struck.iter().filter(|item| item.known) {
            item.failures.nodes().iter().for_each(|node| all.fail_node(node));
            item.failures.links().iter().for_each(|link| all.fail_link(link));
        }
        all
    }
}

/// A time after every run counts as never.
fn ps_clamped(secs: f64) -> u64 {
    ps(secs.min(2e6))
}

/// The links that a fault affects: its own, and with `devices` those of its devices.
fn affected(topology: &Topology, failures: &Failures, devices: bool) -> Vec<u32> {
    let links = topology.links();
    let struck = |link: &u32| {
        let (a, b) = (links.a[*link as usize], links.b[*link as usize]);
        failures.link_failed(*link) || devices && (failures.node_failed(a) || failures.node_failed(b))
    };
    (0..links.len() as u32).filter(struck).collect()
}

fn unknown(kind: FaultKind, field: &str, known: &[&str]) -> Finding {
    Finding::error(
        "fault-not-simulated",
        format!("{field}.kind"),
        format!(
            "The packet engine cannot simulate a fault of kind {}.",
            kind.name()
        ),
        format!("Choose one of {}; or run an emulation.", known.join(", ")),
    )
    .with_value(kind.name())
}
