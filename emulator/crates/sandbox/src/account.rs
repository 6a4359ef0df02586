//! The budget, failures and counters of a user's service, in a module or in a process.

use cubeyard_dataplane::service::Context;

use crate::budget::{Budget, Failures, Time};
use crate::imports::COUNTERS;
use crate::limits::SHORTEST_TIMER;

/// Marks a packet for which the service has chosen no queue.
pub const NO_QUEUE: u8 = u8::MAX;

/// The account of one instance. All losses counted here are of this service's packets.
#[derive(Clone, Debug)]
pub struct Account {
    /// The remaining budget.
    pub budget: Budget,
    /// The recent failures.
    pub failures: Failures,
    /// Calls that were made.
    pub calls: u64,
    /// Packets that were at their end.
    pub delivered: u64,
    /// Losses of calls and packets for which there was too little fuel.
    pub over_budget: u64,
    /// Losses of calls while it was stopped.
    pub stopped: u64,
    /// Packets beyond those of one call.
    pub too_many: u64,
    /// The counters with numbers, which the service defines.
    pub own: [u64; 8],
    fuel: u64,
    answers_lost: u64,
}

impl Account {
    /// That of an instance which begins now.
    pub fn new(now: Time) -> Account {
        Account {
            budget: Budget::new(now),
            failures: Failures::default(),
            calls: 0,
            delivered: 0,
            over_budget: 0,
            stopped: 0,
            too_many: 0,
            own: [0; 8],
            fuel: 0,
            answers_lost: 0,
        }
    }

    /// Takes fuel that was burnt.
    pub fn burn(&mut self, fuel: u64) {
        self.fuel += fuel;
        self.budget.burn(fuel);
    }

    /// Sends an answer to the outside client of the service, within the rate limit.
    pub fn answer(&mut self, context: &mut dyn Context, bytes: Vec<u8>) {
        if self.budget.take_answer() {
            context.deliver(bytes);
        } else {
            self.answers_lost += 1;
        }
    }

    /// All counters: the common ones, the losses of this kind of service (except zeros), and the
    /// numbered ones.
    pub fn counters<const N: usize>(&self, lost: [(&'static str, u64); N]) -> Vec<(&'static str, u64)> {
        let mut counters = vec![
            ("calls", self.calls),
            ("fuel", self.fuel),
            ("packets-delivered", self.delivered),
        ];
        let of_both = [
            ("lost-over-budget", self.over_budget),
            ("lost-while-stopped", self.stopped),
            ("lost-too-many-sent", self.too_many),
            ("answers-over-limit", self.answers_lost),
            ("stops", self.failures.stops().into()),
        ];
        let more = lost
            .into_iter()
            .chain(of_both)
            .chain(COUNTERS.into_iter().zip(self.own));
        counters.extend(more.filter(|(_, count)| *count > 0));
        counters
    }
}

/// The time at which a timer set now fires.
pub fn timer_at(context: &dyn Context, millis: u32) -> Time {
    context.now() + Time::from_millis(millis.into()).max(SHORTEST_TIMER)
}
