//! One round of probing: the parallel paths that are probed, and the responses.
//! `[bcube §4.2, Fig. 7]`

use std::time::Duration;

use cubeyard_topology::NodeId;

use super::selection::Candidate;
use super::structure::Path;
use crate::protocol::Time;

/// The most probes that one round sends along different paths; the next round continues with its
/// results.
pub const MAX_PROBES: usize = 24;
/// Times that a probe is sent before its path counts as failed.
const ATTEMPTS: u32 = 2;

/// A path that is probed.
#[derive(Debug)]
pub struct Probe {
    /// The path that the probe takes.
    pub path: Path,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting {
        attempts: u32,
        until: Time,
    },
    Answered {
        available_bits_per_sec: f64,
    },
    /// A server on the path reported which of its hops is dead.
    Refused,
    /// Nobody answered: any of its hops may be dead.
    Lost,
}

/// The state of a round.
#[derive(Debug)]
pub struct Round {
    /// A random number, so that only servers that saw a probe can answer it.
    pub id: u32,
    /// The start of the round.
    pub started: Time,
    /// Parallel paths wanted: those of BuildPathSet.
    pub wanted: usize,
    /// When the latest answer came.
    pub answered_at: Time,
    probes: Vec<Probe>,
}

impl Round {
    /// A round without a probe so far.
    pub fn new(id: u32, started: Time, wanted: usize) -> Round {
        Round {
            id,
            started,
            wanted,
            answered_at: started,
            probes: Vec::new(),
        }
    }

    /// Adds a path that is probed now; returns its slot.
    pub fn add(&mut self, path: Path, until: Time) -> u8 {
        self.probes.push(Probe {
            path,
            state: State::Waiting { attempts: 1, until },
        });
        (self.probes.len() - 1) as u8
    }

    /// The path that waits in a slot, if it has that number.
    pub fn waiting(&self, slot: u8, path_id: u32) -> Option<&Path> {
        let probe = self.probes.get(usize::from(slot))?;
        let waits = matches!(probe.state, State::Waiting { .. }) && probe.path.numbered.id == path_id;
        waits.then_some(&probe.path)
    }

    /// Records a response.
    pub fn answer(&mut self, now: Time, slot: u8, available_bits_per_sec: f64) {
        self.answered_at = now;
        self.set(
            slot,
            State::Answered {
                available_bits_per_sec,
            },
        );
    }

    /// A failure message came.
    pub fn refuse(&mut self, now: Time, slot: u8) {
        self.answered_at = now;
        self.set(slot, State::Refused);
    }

    fn set(&mut self, slot: u8, state: State) {
        if let Some(probe) = self.probes.get_mut(usize::from(slot)) {
            probe.state = state;
        }
    }

    /// Handles overdue probes; returns the slots to probe again.
    pub fn on_timeout(&mut self, now: Time, timeout: Duration) -> Vec<u8> {
        let mut again = Vec::new();
        for (slot, probe) in self.probes.iter_mut().enumerate() {
            let State::Waiting { attempts, until } = probe.state else {
                continue;
            };
            if now < until {
                continue;
            }
            probe.state = if attempts < ATTEMPTS {
                again.push(slot as u8);
                State::Waiting {
                    attempts: attempts + 1,
                    until: now + timeout,
                }
            } else {
                State::Lost
            };
        }
        again
    }

    /// When the first probe is overdue; `None` when all have ended.
    pub fn next_timeout(&self) -> Option<Time> {
        let until = |probe: &Probe| match probe.state {
            State::Waiting { until, .. } => Some(until),
            _ => None,
        };
        self.probes.iter().filter_map(until).min()
    }

    /// The paths probed so far, by slot.
    pub fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// The paths that a further one must not overlap: those that wait for a response and those that
    /// have one.
    pub fn standing(&self) -> impl Iterator<Item = &Path> {
        let stands = |probe: &&Probe| matches!(probe.state, State::Waiting { .. } | State::Answered { .. });
        self.probes.iter().filter(stands).map(|probe| &probe.path)
    }

    /// Whether a hop is on a path whose probe was not answered.
    pub fn suspects(&self, a: NodeId, b: NodeId) -> bool {
        let lost = self.probes.iter().filter(|probe| probe.state == State::Lost);
        lost.flat_map(|probe| probe.path.pairs())
            .any(|pair| pair == (a, b) || pair == (b, a))
    }

    /// The paths that answered, by slot.
    pub fn good(&self) -> Vec<Candidate> {
        let good = |probe: &Probe| match probe.state {
            State::Answered {
                available_bits_per_sec,
            } => Some(Candidate {
                path: probe.path.clone(),
                available_bits_per_sec,
            }),
            _ => None,
        };
        self.probes.iter().filter_map(good).collect()
    }
}
