//! A process as a service of a server: sends its calls, carries out its answers, and stops it if it
//! misbehaves.

use std::collections::{BTreeMap, VecDeque};

use cubeyard_dataplane::service::{Action, Context, Journey, Key, Packet, QueuePolicy, Service};

use super::answer::{self, Answer, Outcome, parse};
use super::call::{About, emit};
use super::link::ProcessLink;
use crate::account::{Account, NO_QUEUE, timer_at};
use crate::budget::Time;
use crate::limits::{PROCESS_CALL_FUEL, PROCESS_CALLS, PROCESS_LATE, PROCESS_START, SEND_FUEL, SENDS};

/// The most bytes of a call in addition to its payload, and of a call that describes the network,
/// without its servers.
const CALL_BYTES: usize = 64;

/// A call that the process has not answered yet.
#[derive(Clone, Copy, Debug)]
struct Asked {
    call: u32,
    /// The journey of the packet that the call is about.
    journey: Option<Journey>,
    /// Whether it is the process's first.
    first: bool,
}

/// Losses that a module does not have.
#[derive(Clone, Debug, Default)]
struct Counts {
    failed: u64,
    late: u64,
    gone: u64,
    busy: u64,
    wrong: u64,
}

/// A service in a process.
#[derive(Debug)]
pub struct ProcessService {
    name: String,
    instance: u32,
    link: ProcessLink,
    /// Whether the connected process has received its `init` call.
    begun: bool,
    asked: VecDeque<Asked>,
    latest: u32,
    /// Time of its last progress, if it has work to do.
    active_at: Time,
    told: Option<u64>,
    timer: Option<Time>,
    policies: BTreeMap<u8, QueuePolicy>,
    /// Queues of the packets that go one hop, in their order.
    sent_in: VecDeque<u8>,
    account: Account,
    counts: Counts,
}

impl ProcessService {
    /// Creates a service with that name, whose process distinguishes its instances by number. Also
    /// returns the end for the owner of its socket.
    pub fn new(name: &str, instance: u32, now: Time) -> (ProcessService, ProcessLink) {
        let link = ProcessLink::default();
        link.between().open = true;
        let service = ProcessService {
            name: name.to_owned(),
            instance,
            link: link.clone(),
            begun: false,
            asked: VecDeque::new(),
            latest: 0,
            active_at: now,
            told: None,
            timer: None,
            policies: BTreeMap::new(),
            sent_in: VecDeque::new(),
            account: Account::new(now),
            counts: Counts::default(),
        };
        (service, link)
    }

    /// Sends a call, if a process is connected, not too busy, and within its budget of calls.
    /// Returns whether it was sent.
    fn ask(&mut self, context: &mut dyn Context, about: About<'_>) -> bool {
        self.account.budget.refill(context.now());
        let length = match about {
            About::Packet(_, packet, _) => packet.payload.len(),
            About::Message(message) => message.len(),
            _ => 0,
        };
        let lost = if !self.begun {
            &mut self.account.stopped
        } else if self.asked.len() >= PROCESS_CALLS || !self.link.has_room(length + CALL_BYTES) {
            &mut self.counts.busy
        } else if self.account.budget.fuel() < PROCESS_CALL_FUEL {
            &mut self.account.over_budget
        } else {
            if self.told != Some(context.version()) {
                self.told = Some(context.version());
                self.put(context, About::Network);
            }
            self.put(context, about);
            return true;
        };
        *lost += 1;
        false
    }

    fn put(&mut self, context: &mut dyn Context, about: About<'_>) {
        if self.asked.is_empty() {
            self.active_at = context.now();
        }
        self.latest = self.latest.wrapping_add(1);
        let bytes = emit(context, self.instance, self.latest, about);
        let mut between = self.link.between();
        between.bytes += bytes.len();
        between.calls.push_back(bytes);
        drop(between);
        self.asked.push_back(Asked {
            call: self.latest,
            journey: match about {
                About::Packet(_, _, journey) => Some(journey),
                _ => None,
            },
            first: matches!(about, About::Init(_)),
        });
        self.account.calls += 1;
        self.account.burn(PROCESS_CALL_FUEL);
        self.set_timer(context);
    }

    /// When the process is late, if it has something to do.
    fn late_at(&self) -> Option<Time> {
        let waits = self.asked.front()?;
        let limit = if waits.first { PROCESS_START } else { PROCESS_LATE };
        Some(self.active_at + limit)
    }

    /// Has itself called when the next of its times has come.
    fn set_timer(&self, context: &mut dyn Context) {
        let stopped = self
            .account
            .failures
            .stopped_until()
            .filter(|_| !self.link.between().open);
        let times = [self.timer, self.late_at(), stopped];
        if let Some(at) = times.into_iter().flatten().min() {
            context.set_timer(at);
        }
    }

    /// A process connected, or is gone.
    fn look(&mut self, context: &mut dyn Context) {
        let connected = self.link.between().connected;
        if connected == self.begun {
            return;
        }
        if !connected {
            self.counts.gone += self.lose();
            self.begun = false;
            return;
        }
        self.begun = true;
        self.told = Some(context.version());
        let name = self.name.clone();
        self.put(context, About::Init(&name));
        self.put(context, About::Network);
        for port in 0..8 {
            if context.neighbour(port).is_some() {
                self.put(context, About::Neighbour(port, true));
            }
        }
    }

    /// Discards the pending calls; returns the number of packets and other calls lost with them.
    fn lose(&mut self) -> u64 {
        self.timer = None;
        let lost = self.asked.len() as u64;
        self.asked.clear();
        lost
    }

    /// Stops the process for a while: disconnects it and refuses new connections.
    fn stop(&mut self, context: &mut dyn Context) {
        self.account.failures.stop(context.now());
        self.hang_up(context);
    }

    fn hang_up(&mut self, context: &mut dyn Context) {
        let mut between = self.link.between();
        between.open = false;
        between.hang_up = true;
        between.answers.clear();
        drop(between);
        self.set_timer(context);
    }

    /// Carries out an answer.
    fn take(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        let answer = parse(bytes);
        let asked = self.asked.pop_front();
        let (Some(answer), Some(asked)) = (answer, asked) else {
            self.counts.wrong += 1;
            self.counts.gone += self.lose();
            return self.stop(context);
        };
        let forwards = |action: &answer::Action| matches!(action, answer::Action::Forward(..));
        let forwarded = answer.actions.iter().filter(|action| forwards(action)).count();
        if answer.call != asked.call || forwarded > usize::from(asked.journey.is_some()) {
            self.counts.wrong += 1;
            self.counts.gone += self.lose();
            return self.stop(context);
        }
        self.active_at = context.now();
        match answer.outcome {
            Outcome::Done => {}
            Outcome::Dropped => context.count("packets-dropped", 1),
            Outcome::Failed => {
                self.counts.failed += 1;
                if self.account.failures.on_failure(context.now()) {
                    self.counts.gone += self.lose();
                    self.hang_up(context);
                }
                return;
            }
        }
        self.carry_out(context, answer, asked);
        self.set_timer(context);
    }

    fn carry_out(&mut self, context: &mut dyn Context, answer: Answer, asked: Asked) {
        let mut sends = 0;
        for action in answer.actions {
            if let answer::Action::Forward(packet, ..)
            | answer::Action::Transmit(packet, ..)
            | answer::Action::Send(_, packet, _) = &action
            {
                sends += 1;
                if sends > SENDS {
                    self.account.too_many += 1;
                    continue;
                }
                let cost = SEND_FUEL + packet.payload.len() as u64;
                if self.account.budget.fuel() < cost {
                    self.account.over_budget += 1;
                    continue;
                }
                self.account.burn(cost);
            }
            match action {
                answer::Action::Forward(packet, keys, queue) => {
                    context.forward(packet, &keys, queue, asked.journey.unwrap_or_default());
                }
                answer::Action::Transmit(packet, keys, queue) => {
                    let steps = asked.journey.map_or(0, |journey| journey.steps);
                    let begun = Journey {
                        steps,
                        ..Journey::default()
                    };
                    context.forward(packet, &keys, queue, begun);
                }
                answer::Action::Send(port, packet, queue) => {
                    if packet.payload.len() <= context.max_payload() && context.send(port, packet) {
                        self.sent_in.push_back(queue);
                    } else {
                        context.count("packets-dropped", 1);
                    }
                }
                answer::Action::Answer(bytes) => self.account.answer(context, bytes),
                answer::Action::Timer(millis) => {
                    self.timer = Some(timer_at(context, millis));
                }
                answer::Action::Count(counter, by) => {
                    if let Some(count) = self.account.own.get_mut(usize::from(counter)) {
                        *count += u64::from(by);
                    }
                }
                answer::Action::Queue(queue, policy) => {
                    self.policies.insert(queue, policy);
                }
                answer::Action::Delivered => self.account.delivered += 1,
            }
        }
    }
}

impl Service for ProcessService {
    fn name(&self) -> &str {
        &self.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        let journey = context.journey();
        if self.ask(context, About::Packet(port, packet, journey)) {
            Action::Consumed
        } else {
            Action::Drop
        }
    }

    /// The process chooses the next hop of packets when it answers.
    fn route(&mut self, _: &mut dyn Context, _: Key, _: &mut Packet) -> Vec<Key> {
        Vec::new()
    }

    fn classify(&mut self, _: &Packet) -> u8 {
        self.sent_in.pop_front().unwrap_or(NO_QUEUE)
    }

    fn queue(&mut self, queue: u8) -> QueuePolicy {
        self.policies.get(&queue).copied().unwrap_or_default()
    }

    fn neighbour(&mut self, context: &mut dyn Context, port: u8, up: bool) {
        // A process that connects later receives the full state.
        if self.begun {
            self.ask(context, About::Neighbour(port, up));
        }
    }

    fn timer(&mut self, context: &mut dyn Context) {
        let now = context.now();
        if self.timer.is_some_and(|at| now >= at) {
            self.timer = None;
            if self.begun {
                self.ask(context, About::Timer);
            }
        }
        if self.late_at().is_some_and(|at| now >= at) && !self.link.hangs_up() {
            self.counts.late += self.lose();
            self.stop(context);
        }
        if self
            .account
            .failures
            .stopped_until()
            .is_some_and(|until| now >= until)
        {
            self.account.failures.on_start();
            self.link.between().open = true;
        }
        self.set_timer(context);
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        self.ask(context, About::Message(bytes));
    }

    fn woken(&mut self, context: &mut dyn Context) {
        self.look(context);
        self.account.budget.refill(context.now());
        loop {
            let next = self.link.between().answers.pop_front();
            let Some(bytes) = next else {
                break;
            };
            self.take(context, &bytes);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.account.counters([
            ("lost-failed", self.counts.failed),
            ("lost-late", self.counts.late),
            ("lost-process-gone", self.counts.gone),
            ("lost-process-busy", self.counts.busy),
            ("lost-wrong-answer", self.counts.wrong),
        ])
    }
}
