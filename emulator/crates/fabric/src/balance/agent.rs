//! The load data of one node, and the messages that it exchanges with its neighbours. Uses no
//! sockets and no clock.
//!
//! Reports and weights pass from switch to switch. Each is forwarded once; weights are also
//! repeated, since full queues drop them. A node that stops loses its state. Messages from a
//! server's port are rejected.

use std::collections::BTreeSet;

use cubeyard_topology::NodeId;

use super::controller::{LoopWeights, Seen, equal};
use super::counters::Counters;
use super::detours::{Planned, Scheduler, ToldDetours};
use super::message::{Message, RackWeights, Report};
use super::plan::Plan;

/// Rounds after which a node sends its known weights again.
const ROUNDS_TO_REPEAT: u64 = 4;
/// Smaller changes of weights are not sent: with a few flows, hashes cannot spread traffic more
/// finely.
const LEAST_MOVE: f64 = 0.01;
/// Messages with a time further in the future are rejected; the tolerance covers the rounding of
/// clocks.
const AHEAD_MILLIS: u32 = 100;

/// Topics of messages about detours, by side.
const DETOURS: [Topic; 2] = [Topic::Detours, Topic::DetoursInward];

/// Periods of a run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periods {
    /// Time between rebindings: the paper's T_rebind.
    pub rebind: f64,
    /// Time between two reports of a ToR.
    pub report: f64,
    /// A ToR without reports for this long counts as dead.
    pub dead: f64,
    /// How long a ToR stays hot: the paper's T_duration. `None` where there are no detours.
    pub hot: Option<f64>,
}

/// The subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Weights,
    Detours,
    DetoursInward,
    Report,
}

/// The controller of a loop, at one of the loop's ToRs.
#[derive(Clone, Debug)]
pub struct Controller {
    /// Computed weights, before they are rounded for messages.
    weights: LoopWeights,
    /// Number of the last period in which flows were bound again.
    period: u64,
    /// How many times flows were bound again.
    pub rebindings: u64,
    /// Time of the last rebinding, in seconds of the run.
    pub rebound_secs: f64,
    /// The planners of detours out of racks and of detours towards them; `None` if there can be no
    /// detours.
    schedulers: Option<[Scheduler; 2]>,
}

/// State of one node.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Id of the node.
    pub node: NodeId,
    tor: Option<usize>,
    started_secs: Option<f64>,
    /// Latest report of each ToR, with its arrival time.
    reports: Vec<Option<(f64, Report)>>,
    /// Latest weights of each rack.
    weights: Vec<Option<RackWeights>>,
    /// Detours out of racks and towards them, by rack.
    detours: [Vec<Option<ToldDetours>>; 2],
    /// Sides and racks whose detours this node, as controller, began or ended, and has not reported
    /// yet.
    planned: Vec<(usize, usize)>,
    /// `Some` while this ToR is its loop's controller.
    pub controller: Option<Controller>,
    counters: Counters,
    reported_secs: f64,
    news: BTreeSet<(Topic, usize)>,
    rounds: u64,
    /// Number of refused messages.
    pub refused: u64,
    /// Set when the known weights change; the caller clears it.
    pub is_changed: bool,
}

impl Agent {
    /// A node without any reports or weights.
    pub fn new(plan: &Plan, node: NodeId) -> Agent {
        Agent {
            node,
            tor: plan.tor(node),
            started_secs: None,
            reports: vec![None; plan.racks.count],
            weights: vec![None; plan.racks.count],
            detours: [0, 1].map(|_| vec![None; plan.racks.count]),
            planned: Vec::new(),
            controller: None,
            counters: Counters::default(),
            reported_secs: f64::NEG_INFINITY,
            news: BTreeSet::new(),
            rounds: 0,
            refused: 0,
            is_changed: false,
        }
    }

    /// Clears the state of a node that was turned off.
    pub fn stop(&mut self, plan: &Plan) {
        if self.started_secs.is_some() {
            *self = Agent::new(plan, self.node);
            self.is_changed = true;
        }
    }

    /// The number of this node's ToR, if it is one.
    pub fn tor(&self) -> Option<usize> {
        self.tor
    }

    /// The latest report of a ToR, and the time of its arrival.
    pub fn report(&self, tor: usize) -> Option<&(f64, Report)> {
        self.reports[tor].as_ref()
    }

    /// The latest weights of a rack.
    pub fn weights(&self, rack: usize) -> Option<&RackWeights> {
        self.weights[rack].as_ref()
    }

    /// The latest detours out of a rack (side 0) or towards it; `None` where they have ended.
    pub fn detours(&self, side: usize, rack: usize) -> Option<&ToldDetours> {
        self.detours[side][rack]
            .as_ref()
            .filter(|known| !known.ways.detours.is_empty())
    }

    /// Returns the sides and racks whose detours this node has begun or ended since the last call.
    pub fn take_planned(&mut self) -> Vec<(usize, usize)> {
        std::mem::take(&mut self.planned)
    }

    /// Reads the messages that a neighbour has sent with a hello.
    pub fn hear(&mut self, plan: &Plan, from: NodeId, mut bytes: &[u8], now_secs: f64) {
        while !bytes.is_empty() {
            let message = Message::read(&mut bytes, plan).ok();
            let accepted = message.is_some_and(|message| {
                // Applications run on servers.
                plan.rack(from).is_none() && self.accept(plan, message, now_secs)
            });
            if !accepted {
                self.refused += 1;
                return;
            }
        }
    }

    /// Stores a message. Returns whether it is valid for this node; old messages are valid and
    /// change nothing.
    fn accept(&mut self, plan: &Plan, message: Message, now_secs: f64) -> bool {
        let latest = millis(now_secs).saturating_add(AHEAD_MILLIS);
        match message {
            Message::Report(report) => {
                let tor = report.tor;
                let is_for_us = plan.hears_reports(plan.loop_of(tor), self.node);
                if !is_for_us || report.at_millis > latest {
                    return false;
                }
                let last = self.reports[tor].as_ref().map(|(_, last)| last.at_millis);
                // This ToR's own counters are more recent than its forwarded reports.
                if self.tor != Some(tor) && last.is_none_or(|last| last < report.at_millis) {
                    self.reports[tor] = Some((now_secs, report));
                    self.news.insert((Topic::Report, tor));
                }
            }
            Message::Weights(weights) => {
                if !plan.hears_weights(weights.rack, self.node) || weights.at_millis > latest {
                    return false;
                }
                let last = self.weights[weights.rack].as_ref().map(|last| last.at_millis);
                if last.is_none_or(|last| last < weights.at_millis) {
                    // Another controller is active: this node stops being one, or continues from
                    // these weights if it stays the lowest.
                    if self.tor.map(|tor| plan.loop_of(tor)) == Some(plan.loop_of(weights.rack)) {
                        self.controller = None;
                    }
                    self.learn(weights);
                }
            }
            Message::Detours(told) => {
                if !plan.hears_weights(told.rack, self.node) || told.at_millis > latest {
                    return false;
                }
                let last = self.detours[told.side][told.rack]
                    .as_ref()
                    .map(|last| last.at_millis);
                if last.is_none_or(|last| last < told.at_millis) {
                    if self.tor.map(|tor| plan.loop_of(tor)) == Some(plan.loop_of(told.rack)) {
                        self.controller = None;
                    }
                    self.learn_detours(told);
                }
            }
        }
        true
    }

    fn learn_detours(&mut self, detours: ToldDetours) {
        let (side, rack) = (detours.side, detours.rack);
        self.news.insert((DETOURS[side], rack));
        self.detours[side][rack] = Some(detours);
        self.is_changed = true;
    }

    fn learn(&mut self, weights: RackWeights) {
        let rack = weights.rack;
        self.news.insert((Topic::Weights, rack));
        self.weights[rack] = Some(weights);
        self.is_changed = true;
    }

    /// Whether a ToR must read its counters now.
    pub fn reports_now(&self, periods: Periods, now_secs: f64) -> bool {
        self.tor.is_some() && now_secs - self.reported_secs >= periods.report - 1e-3
    }

    /// Stores this ToR's own report.
    pub fn count(
        &mut self,
        plan: &Plan,
        periods: Periods,
        now_secs: f64,
        observe: impl FnOnce(&mut Counters),
        live_rate: impl Fn(usize) -> Option<f64>,
    ) {
        if let Some(tor) = self.tor {
            observe(&mut self.counters);
            let report = self
                .counters
                .report(plan, tor, millis(now_secs), periods.hot.is_some(), live_rate);
            self.reports[tor] = Some((now_secs, report));
            self.reported_secs = now_secs;
            self.news.insert((Topic::Report, tor));
        }
    }

    /// The ToR of a loop that acts as controller: the lowest that this node believes to be alive.
    pub fn lowest_alive(&self, plan: &Plan, number: usize, periods: Periods, now_secs: f64) -> Option<usize> {
        let alive = |&tor: &usize| self.is_alive(tor, periods, now_secs);
        plan.members(number).find(alive)
    }

    fn is_alive(&self, tor: usize, periods: Periods, now_secs: f64) -> bool {
        let heard = self.reports[tor].as_ref();
        heard.is_some_and(|(at, _)| now_secs - at <= periods.dead)
    }

    /// One round of work: if this node is the lowest live ToR of its loop, it rebinds flows when a
    /// period has passed.
    pub fn work(&mut self, plan: &Plan, periods: Periods, now_secs: f64, rate: impl Fn(usize) -> f64) {
        self.rounds += 1;
        let started = *self.started_secs.get_or_insert(now_secs);
        let Some(tor) = self.tor else { return };
        let number = plan.loop_of(tor);
        let is_lowest = self.lowest_alive(plan, number, periods, now_secs) == Some(tor);
        // After a start, the reports of other ToRs have not arrived yet.
        if !is_lowest || now_secs - started <= periods.dead {
            self.controller = None;
            return;
        }
        let period = (now_secs / periods.rebind) as u64;
        let mut controller = self.controller.take().unwrap_or_else(|| Controller {
            weights: self.known(plan, number),
            period,
            rebindings: 0,
            rebound_secs: f64::NAN,
            schedulers: periods
                .hot
                .map(|secs| [0, 1].map(|side| Scheduler::new(plan, number, side, secs))),
        });
        let alive = |tor: usize| {
            let heard = self.reports[tor].as_ref();
            heard
                .filter(|_| self.is_alive(tor, periods, now_secs))
                .map(|(_, report)| report)
        };
        let seen = Seen {
            plan,
            report: alive,
            rate,
        };
        let detours = |side: usize, rack: usize| self.detours(side, rack);
        for scheduler in controller.schedulers.iter_mut().flatten() {
            scheduler.see(&seen, detours, now_secs);
        }
        if controller.period != period {
            controller.period = period;
            controller.rebindings += 1;
            controller.rebound_secs = now_secs;
            seen.rebind_all(number, &mut controller.weights);
            let schedulers = controller.schedulers.iter_mut().flatten();
            let planned: Vec<Planned> = schedulers
                .flat_map(|scheduler| scheduler.plan(&seen, detours, now_secs))
                .collect();
            self.tell(plan, number, &controller.weights, now_secs);
            for planned in planned {
                self.tell_detours(ToldDetours {
                    side: planned.side,
                    rack: planned.rack,
                    at_millis: millis(now_secs),
                    controller: self.node,
                    ways: planned.ways,
                    withdrawn: planned.withdrawn,
                });
            }
        }
        self.controller = Some(controller);
    }

    /// The latest weights of a loop, or equal weights if none have arrived.
    fn known(&self, plan: &Plan, number: usize) -> LoopWeights {
        let mut weights = equal(plan, number);
        for (rack, weights) in plan.members(number).zip(&mut weights) {
            if let Some(known) = &self.weights[rack] {
                let known = known.links.iter().map(|pair| pair.map(f64::from));
                *weights = known.collect();
            }
        }
        weights
    }

    /// Sets the weights of all racks of the loop, if some have changed enough.
    fn tell(&mut self, plan: &Plan, number: usize, weights: &LoopWeights, now_secs: f64) {
        let before = self.known(plan, number);
        let pairs = before.iter().flatten().zip(weights.iter().flatten());
        let moved = pairs.flat_map(|(before, now)| [now[0] - before[0], now[1] - before[1]]);
        if moved.fold(0.0, |most, by: f64| by.abs().max(most)) <= LEAST_MOVE {
            return;
        }
        for (rack, links) in plan.members(number).zip(weights) {
            self.learn(RackWeights {
                rack,
                at_millis: millis(now_secs),
                controller: self.node,
                links: links
                    .iter()
                    .map(|pair| pair.map(|weight| weight as f32))
                    .collect(),
            });
        }
    }

    fn tell_detours(&mut self, detours: ToldDetours) {
        if self.detours(detours.side, detours.rack).is_some() == detours.ways.detours.is_empty() {
            self.planned.push((detours.side, detours.rack));
        }
        self.learn_detours(detours);
    }

    /// The messages for a neighbour in this round, in frames of at most `limit` bytes; one empty
    /// frame if there are none.
    pub fn frames(&self, plan: &Plan, to: NodeId, limit: usize) -> Vec<Vec<u8>> {
        let mut frames = vec![Vec::new()];
        // Servers send no reports; they only receive weights.
        if plan.rack(self.node).is_some() {
            return frames;
        }
        let repeats = self.rounds.is_multiple_of(ROUNDS_TO_REPEAT);
        let racks = (0..plan.racks.count).filter(|&rack| plan.hears_weights(rack, to));
        let told = racks.flat_map(|rack| {
            let is_due = move |topic| repeats || self.news.contains(&(topic, rack));
            let weights = self.weights[rack].as_ref().filter(|_| is_due(Topic::Weights));
            let weights = weights.map(|weights| Message::Weights(weights.clone()));
            let detours = [0, 1].into_iter().filter_map(move |side| {
                let told = self.detours[side][rack].as_ref()?;
                is_due(DETOURS[side]).then(|| Message::Detours(told.clone()))
            });
            weights.into_iter().chain(detours)
        });
        let reports = self.news.iter().filter(|(topic, _)| *topic == Topic::Report);
        let reports = reports.filter(|(_, tor)| plan.hears_reports(plan.loop_of(*tor), to));
        let reports = reports.filter_map(|(_, tor)| {
            let (_, report) = self.reports[*tor].as_ref()?;
            Some(Message::Report(report.clone()))
        });
        for message in told.chain(reports) {
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            match frames.last_mut() {
                Some(last) if last.len() + bytes.len() <= limit => last.extend(bytes),
                _ => frames.push(bytes),
            }
        }
        frames
    }

    /// Ends a round: all neighbours have received the news.
    pub fn end_round(&mut self) {
        self.news.clear();
    }
}

/// A time of the run in milliseconds, the unit of messages.
pub fn millis(secs: f64) -> u32 {
    (secs * 1e3) as u32
}
