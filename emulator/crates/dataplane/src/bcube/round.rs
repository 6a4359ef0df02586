//! One round of probing: the parallel paths that it probes, and the responses.
//! `[bcube §4.2, Fig. 7]`

use std::time::Duration;

use cubeyard_topology::NodeId;

use super::selection::Candidate;
use super::structure::Path;
use crate::protocol::Time;

/// Maximum number of probes of one round on different paths. The next round continues with its
/// results.
pub const MAX_PROBES: usize = 24;
/// How many times a probe is sent before its path counts as failed.
const ATTEMPTS: u32 = 2;

/// The state of one probed path.
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
    /// A server on the path reported a dead hop.
    Refused,
    /// No answer: any hop of the path may be dead.
    Lost,
}

/// The state of a round.
#[derive(Debug)]
pub struct Round {
    /// A random number. A server must have seen a probe to be able to answer it.
    pub id: u32,
    /// The start of the round.
    pub started: Time,
    /// Number of parallel paths wanted, as many as BuildPathSet has.
    pub wanted: usize,
    /// Arrival time of the latest answer.
    pub answered_at: Time,
    probes: Vec<Probe>,
}

impl Round {
    /// A new round without probes.
    pub fn new(id: u32, started: Time, wanted: usize) -> Round {
        Round {
            id,
            started,
            wanted,
            answered_at: started,
            probes: Vec::new(),
        }
    }

    /// Adds a path that is being probed; returns its slot.
    pub fn add(&mut self, path: Path, until: Time) -> u8 {
        self.probes.push(Probe {
            path,
            state: State::Waiting { attempts: 1, until },
        });
        (self.probes.len() - 1) as u8
    }

    /// The path in a slot that waits for an answer, if it has that number.
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

    /// Records a failure message.
    pub fn refuse(&mut self, now: Time, slot: u8) {
        self.answered_at = now;
        self.set(slot, State::Refused);
    }

    fn set(&mut self, slot: u8, state: State) {
        if let Some(probe) = self.probes.get_mut(usize::from(slot)) {
            probe.state = state;
        }
    }

    /// Handles overdue probes; returns the slots whose probes must be sent again.
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

    /// When the next probe is overdue; `None` when no probe waits.
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

    /// The paths that wait for an answer or have one. Further paths must not overlap with them.
    pub fn standing(&self) -> impl Iterator<Item = &Path> {
        let stands = |probe: &&Probe| matches!(probe.state, State::Waiting { .. } | State::Answered { .. });
        self.probes.iter().filter(stands).map(|probe| &probe.path)
    }

    /// Whether a hop belongs to a path whose probe got no answer.
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
