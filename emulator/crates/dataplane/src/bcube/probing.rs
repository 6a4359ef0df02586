//! Path selection at the source: sends probes, receives answers, chooses a path.
//! `[bcube §4.2, Fig. 7]`

use super::bsr::{Bsr, ROUND_PAUSE};
use super::message::{Message, Trail};
use super::nha::Nha;
use super::round::{MAX_PROBES, Round};
use super::selection::{Candidate, InUse, choose};
use super::structure::Path;
use crate::configuration::secs;
use crate::event::{Event, SwitchReason};
use crate::flow::Flow;
use crate::protocol::Time;

impl Bsr {
    /// Handles a flow that is due: its probes are overdue, it has been silent for too long, or it
    /// needs new paths.
    pub(super) fn on_flow_due(&mut self, now: Time, flow: &Flow) {
        let (timeout, idle) = (
            secs(self.settings.probe_timeout_secs),
            secs(self.settings.flow_idle_secs),
        );
        let Some(state) = self.flows.get_mut(flow) else {
            return;
        };
        if let Some(round) = &mut state.round {
            for slot in round.on_timeout(now, timeout) {
                self.send_probe(now, flow, slot);
            }
            return self.carry_on(now, flow);
        }
        if now >= state.active_at + idle {
            return self.forget(flow);
        }
        if !self.round_limit.take(now) {
            let pause = ROUND_PAUSE + self.jitter(ROUND_PAUSE);
            return self.flows.schedule(flow, now + pause);
        }
        self.begin_round(now, flow);
    }

    /// Probes all paths of BuildPathSet, including paths that failed before.
    fn begin_round(&mut self, now: Time, flow: &Flow) {
        let Some(destination) = self.flows.get(flow).map(|state| state.destination) else {
            return;
        };
        let paths = self.path_set(destination);
        let round = Round::new(self.draws.next_bits() as u32, now, paths.len());
        self.rounds.insert(round.id, *flow);
        if let Some(state) = self.flows.get_mut(flow) {
            state.probings += 1;
            state.round = Some(round);
        }
        for path in paths {
            // Paths that begin with a dead neighbour, or that need missing servers, are not probed.
            let starts = path
                .servers
                .get(1)
                .is_some_and(|&next| self.hop_usable(self.me, next));
            if starts
                && path
                    .servers
                    .iter()
                    .all(|&server| self.structure.is_present(server))
            {
                self.probe(now, flow, path);
            }
        }
        self.carry_on(now, flow);
    }

    fn probe(&mut self, now: Time, flow: &Flow, path: Path) {
        let until = now + secs(self.settings.probe_timeout_secs);
        let round = self.flows.get_mut(flow).and_then(|state| state.round.as_mut());
        if let Some(slot) = round.map(|round| round.add(path, until)) {
            self.send_probe(now, flow, slot);
        }
    }

    fn send_probe(&mut self, now: Time, flow: &Flow, slot: u8) {
        let Some(round) = self.flows.get(flow).and_then(|state| state.round.as_ref()) else {
            return;
        };
        let Some(probe) = round.probes().get(usize::from(slot)) else {
            return;
        };
        let (path, destination) = (probe.path.numbered, probe.path.servers.last().copied());
        let trail = Trail {
            source: self.me,
            destination: destination.unwrap_or(self.me),
            round: round.id,
            slot,
            available_bits_per_sec: self.left_towards(now, path.route.hops()[0]) as u64,
            path_id: path.id,
            index: 0,
            route: path.route,
        };
        self.send_on(trail, Message::Probe);
    }

    /// Free bandwidth of the link towards a next hop.
    pub(super) fn left_towards(&self, now: Time, nha: Nha) -> f64 {
        let port = self
            .keys
            .index(nha)
            .map(|index| self.neighbours.list()[index].port);
        let state = port.and_then(|port| self.neighbours.port(port));
        state.map_or(0.0, |state| state.left_bits_per_sec(now))
    }

    /// Handles an answer from `destination`, which arrived from our neighbour `sender`.
    pub(super) fn on_response(&mut self, now: Time, sender: usize, trail: &Trail) {
        let Some(flow) = self.rounds.get(&trail.round).copied() else {
            return self.refuse("late-response");
        };
        let from = self.neighbours.list()[sender].server;
        let round = self.flows.get_mut(&flow).and_then(|state| state.round.as_mut());
        let path = round
            .as_ref()
            .and_then(|round| round.waiting(trail.slot, trail.path_id));
        let fits =
            |path: &&Path| path.servers.get(1) == Some(&from) && path.servers.last() == Some(&trail.source);
        let Some(path) = path.filter(fits).cloned() else {
            return self.refuse("unexpected-response");
        };
        if let Some(round) = round {
            round.answer(now, trail.slot, trail.available_bits_per_sec as f64);
        }
        // A probe has passed these hops, so they work. [bcube §4.2]
        let mut news = false;
        for (a, b) in path.pairs() {
            news |= self.failed.remove(a, b);
        }
        if news {
            self.refresh_routes(now);
        }
        self.carry_on(now, &flow);
    }

    /// Handles the report that a probe met a dead hop.
    pub(super) fn on_probe_refused(&mut self, now: Time, trail: &Trail) {
        let Some(flow) = self.rounds.get(&trail.round).copied() else {
            return;
        };
        let round = self.flows.get_mut(&flow).and_then(|state| state.round.as_mut());
        let Some(round) = round.filter(|round| round.waiting(trail.slot, trail.path_id).is_some()) else {
            return;
        };
        round.refuse(now, trail.slot);
        self.carry_on(now, &flow);
    }

    /// Searches another parallel path for each one that failed, and ends the round when no answer
    /// is pending.
    pub(super) fn carry_on(&mut self, now: Time, flow: &Flow) {
        loop {
            let Some(state) = self.flows.get(flow) else {
                return;
            };
            let Some(round) = &state.round else {
                return;
            };
            if round.standing().count() >= round.wanted || round.probes().len() >= MAX_PROBES {
                break;
            }
            let suspect = |a, b| round.suspects(a, b);
            let rotation = round.id >> 16;
            let Some(path) = self.search(state.destination, round.standing(), suspect, rotation) else {
                break;
            };
            self.probe(now, flow, path);
        }
        let waits = self
            .flows
            .get(flow)
            .and_then(|state| state.round.as_ref()?.next_timeout());
        match waits {
            Some(until) => self.flows.schedule(flow, until),
            None => self.end_round(now, flow),
        }
    }

    fn end_round(&mut self, now: Time, flow: &Flow) {
        let Some(state) = self.flows.get_mut(flow) else {
            return;
        };
        let Some(round) = state.round.take() else {
            return;
        };
        self.rounds.remove(&round.id);
        let mut good = round.good();
        for candidate in &mut good {
            // Another flow of ours may have moved to this path since the probe was sent.
            let left = self.left_towards(now, candidate.path.numbered.route.hops()[0]);
            candidate.available_bits_per_sec = candidate.available_bits_per_sec.min(left);
        }
        self.report_event(Event::Probed {
            flow: *flow,
            probes: round.probes().len() as u32,
            paths: good.len() as u32,
            took_nanos: round.answered_at.saturating_sub(round.started).as_nanos() as u64,
        });
        let stranded = good.is_empty();
        if stranded && !self.flows.get(flow).is_some_and(|state| state.stranded) {
            self.report_event(Event::NoPath { flow: *flow });
        }
        let best = self.best(flow, &good);
        let Some(state) = self.flows.get_mut(flow) else {
            return;
        };
        state.stranded = stranded;
        state.good = good;
        if let Some(best) = best.filter(|best| state.path_id() != best.path.numbered.id) {
            self.switch(now, flow, &best, SwitchReason::Adaptation);
        }
        let pause = secs(if stranded {
            self.settings.retry_secs
        } else {
            self.settings.adapt_secs
        });
        let due = now + pause + self.jitter(pause);
        self.flows.schedule(flow, due);
    }

    /// The best of these paths for a flow.
    pub(super) fn best(&self, flow: &Flow, paths: &[Candidate]) -> Option<Candidate> {
        let state = self.flows.get(flow)?;
        let in_use = state.current.as_ref().map(|path| InUse {
            path_id: path.numbered.id,
            rate_bits_per_sec: state.rate_bits_per_sec,
        });
        let margin = self.settings.switch_margin * self.rate_bits_per_sec;
        let turn = state.turn + self.structure.difference(self.me, state.destination);
        choose(paths, in_use, margin, turn).map(|index| paths[index].clone())
    }
}
