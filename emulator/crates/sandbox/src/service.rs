//! An instance of a module as a service of a server.

use std::time::Duration;

use cubeyard_dataplane::service::{Action, Context, Key, Packet, QueuePolicy, Service};
use wasmi::{TypedFunc, WasmParams, WasmResults};

use crate::account::{Account, NO_QUEUE, timer_at};
use crate::budget::Time;
use crate::guest::{Ask, Failure, Functions, Running, World};
use crate::imports::pack;
use crate::limits::{CALL_BASE_FUEL, CALL_FUEL, MEMORY_BYTES};
use crate::module::{Flaw, Module};

/// Time after which a timer is tried again for which there was no fuel.
const TIMER_AGAIN: Duration = Duration::from_millis(100);

/// Calls that failed: losses that a process does not have.
#[derive(Clone, Debug, Default)]
struct Counts {
    trapped: u64,
    out_of_fuel: u64,
}

/// A service that a user wrote.
#[derive(Debug)]
pub struct UserService {
    name: String,
    module: Module,
    memory_bytes: usize,
    running: Option<Running>,
    world: World,
    account: Account,
    counts: Counts,
    now: Time,
}

impl UserService {
    /// A service of that name, of at most 16 MiB of memory. Errors: it does not start.
    pub fn new(name: &str, module: &Module, now: Time) -> Result<UserService, Flaw> {
        UserService::with_memory(name, module, now, MEMORY_BYTES)
    }

    /// Creates an instance with a limit on memory, in bytes. Errors: it does not start.
    pub fn with_memory(
        name: &str,
        module: &Module,
        now: Time,
        memory_bytes: usize,
    ) -> Result<UserService, Flaw> {
        Ok(UserService {
            name: name.to_owned(),
            running: Some(module.start(memory_bytes)?),
            module: module.clone(),
            memory_bytes,
            world: World::default(),
            account: Account::new(now),
            counts: Counts::default(),
            now,
        })
    }

    /// Gets ready for a call: the instance, if one runs and there is fuel.
    fn ready(&mut self, now: Time) -> bool {
        self.now = self.now.max(now);
        self.account.budget.refill(self.now);
        if self.running.is_none() {
            if self
                .account
                .failures
                .stopped_until()
                .is_some_and(|until| now < until)
            {
                self.account.stopped += 1;
                return false;
            }
            match self.module.start(self.memory_bytes) {
                Ok(running) => {
                    self.account.failures.on_start();
                    self.running = Some(running);
                    self.world = World::default();
                }
                Err(_) => {
                    self.account.failures.stop(now);
                    self.account.stopped += 1;
                    return false;
                }
            }
        }
        if self.account.budget.fuel() < CALL_BASE_FUEL {
            self.account.over_budget += 1;
            return false;
        }
        true
    }

    /// Makes a call, which costs fuel. Returns the result, or `None` if the call failed, which is
    /// counted.
    fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        params: P,
        function: impl FnOnce(&Functions) -> Option<TypedFunc<P, R>>,
    ) -> Option<R> {
        let running = self.running.as_mut()?;
        let function = function(&running.functions)?;
        let fuel = CALL_FUEL.min(self.account.budget.fuel() - CALL_BASE_FUEL.min(self.account.budget.fuel()));
        let (said, burnt) = running.call(function, params, fuel);
        self.account.calls += 1;
        self.account.burn(burnt + CALL_BASE_FUEL);
        match said {
            Ok(said) => return Some(said),
            // It had less than a call may burn: it is late, not endless.
            Err(Failure::OutOfFuel) if fuel < CALL_FUEL => self.account.over_budget += 1,
            Err(Failure::OutOfFuel) => self.fail(|counts| counts.out_of_fuel += 1),
            Err(Failure::Trap) => self.fail(|counts| counts.trapped += 1),
        }
        None
    }

    fn fail(&mut self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts);
        if self.account.failures.on_failure(self.now) {
            self.keep_counts();
            self.running = None;
        }
    }

    /// Takes over what an instance has counted before it goes.
    fn keep_counts(&mut self) {
        if let Some(running) = &mut self.running {
            let counts = std::mem::take(&mut running.store.data_mut().counts);
            for (own, count) in self.account.own.iter_mut().zip(counts) {
                *own += count;
            }
        }
    }

    /// Passes the network and the packet to the instance, for its queries during a call.
    fn tell(&mut self, context: &mut dyn Context, packet: Option<&Packet>) -> Option<i32> {
        if self.world.version != Some(context.version()) {
            self.world = World::of(context, self.module.asks_network());
        }
        let random = context.random();
        let running = self.running.as_mut()?;
        let guest = running.store.data_mut();
        if guest.world.version != self.world.version {
            guest.world = self.world.clone();
        }
        guest.now = context.now();
        guest.free = context.free_ports();
        guest.waiting = context.waiting();
        guest.max_payload = context.max_payload();
        guest.random ^= random;
        guest.keys.clear();
        guest.asks.clear();
        guest.timer_millis = None;
        self.show(packet)
    }

    /// Puts a packet where the instance finds it: its length there.
    fn show(&mut self, packet: Option<&Packet>) -> Option<i32> {
        let running = self.running.as_mut()?;
        let Some(packet) = packet else {
            return Some(0);
        };
        let guest = running.store.data_mut();
        guest.key = packet.key;
        guest.colour = packet.colour;
        if running.fill(&packet.payload).is_err() {
            self.fail(|counts| counts.trapped += 1);
            return None;
        }
        Some(packet.payload.len() as i32)
    }

    /// Takes a packet back as the instance left it; whether it could be.
    fn take_back(&mut self, context: &dyn Context, packet: &mut Packet) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        let changed = running.contents();
        packet.colour = running.store.data().colour;
        match changed {
            Ok(payload) if payload.len() <= context.max_payload() => {
                packet.payload = payload;
                true
            }
            _ => {
                self.fail(|counts| counts.trapped += 1);
                false
            }
        }
    }

    /// Carries out the actions that the instance requested.
    fn carry_out(&mut self, context: &mut dyn Context) {
        let Some(running) = &mut self.running else {
            return;
        };
        let guest = running.store.data_mut();
        let asks = std::mem::take(&mut guest.asks);
        self.account.too_many += std::mem::take(&mut guest.too_many);
        if let Some(millis) = guest.timer_millis.take() {
            let at = timer_at(context, millis);
            context.set_timer(at);
        }
        for ask in asks {
            match ask {
                Ask::Send(port, packet) => {
                    context.send(port, packet);
                }
                Ask::Route(packet) => context.route(packet),
                Ask::Transmit(packet) => {
                    let key = packet.key;
                    context.transmit(packet, &[key]);
                }
                Ask::Answer(bytes) => self.account.answer(context, bytes),
            }
        }
    }

    /// A call that is about no packet.
    fn notify<P: WasmParams>(
        &mut self,
        context: &mut dyn Context,
        params: P,
        function: impl FnOnce(&Functions) -> Option<TypedFunc<P, ()>>,
    ) {
        if self.ready(context.now())
            && self.tell(context, None).is_some()
            && self.call(params, function).is_some()
        {
            self.carry_out(context);
        }
    }
}

impl Service for UserService {
    fn name(&self) -> &str {
        &self.name
    }

    fn packet(&mut self, context: &mut dyn Context, port: u8, packet: &mut Packet) -> Action {
        if !self.ready(context.now()) {
            return Action::Drop;
        }
        let listens = self
            .running
            .as_ref()
            .is_some_and(|running| running.functions.packet.is_some());
        if !listens {
            return Action::Pass;
        }
        let Some(length) = self.tell(context, Some(packet)) else {
            return Action::Drop;
        };
        let Some(action) = self.call((port.into(), length), |functions| functions.packet) else {
            return Action::Drop;
        };
        if !self.take_back(context, packet) {
            return Action::Drop;
        }
        self.carry_out(context);
        match action {
            0 => Action::Pass,
            1 => Action::Route,
            2 => Action::Consumed,
            _ => Action::Drop,
        }
    }

    fn route(&mut self, context: &mut dyn Context, at: Key, packet: &mut Packet) -> Vec<Key> {
        if !self.ready(context.now()) {
            return Vec::new();
        }
        let Some(length) = self.tell(context, Some(packet)) else {
            return Vec::new();
        };
        let at = pack(at);
        if self
            .call((at, length), |functions| Some(functions.next))
            .is_none()
            || !self.take_back(context, packet)
        {
            return Vec::new();
        }
        let keys = self
            .running
            .as_mut()
            .map(|running| std::mem::take(&mut running.store.data_mut().keys));
        let keys = keys.unwrap_or_default();
        self.carry_out(context);
        if !keys.is_empty() || !self.ready(context.now()) {
            return keys;
        }
        // F names no further key: this is the packet's end.
        if let Some(length) = self.tell(context, Some(packet))
            && self
                .call((at, length), |functions| Some(functions.deliver))
                .is_some()
        {
            self.account.delivered += 1;
            self.carry_out(context);
        }
        Vec::new()
    }

    fn classify(&mut self, packet: &Packet) -> u8 {
        if !self.ready(self.now) {
            return NO_QUEUE;
        }
        let queue = self
            .show(Some(packet))
            .and_then(|length| self.call(length, |functions| Some(functions.classify)));
        // Questions are all that it may ask here.
        if let Some(running) = &mut self.running {
            running.store.data_mut().asks.clear();
        }
        queue
            .and_then(|queue| u8::try_from(queue).ok())
            .unwrap_or(NO_QUEUE)
    }

    fn queue(&mut self, queue: u8) -> QueuePolicy {
        let said = self
            .ready(self.now)
            .then(|| self.call(queue.into(), |functions| functions.queue));
        match said.flatten() {
            Some(said) => QueuePolicy {
                max_millis: (said >> 32) as u32,
                weight: (said as u32).clamp(1, 1 << 16),
            },
            None => QueuePolicy::default(),
        }
    }

    fn neighbour(&mut self, context: &mut dyn Context, port: u8, up: bool) {
        self.notify(context, (i32::from(port), i32::from(up)), |functions| {
            functions.neighbour
        });
    }

    fn timer(&mut self, context: &mut dyn Context) {
        let stopped = self
            .account
            .failures
            .stopped_until()
            .filter(|_| self.running.is_none());
        self.account.budget.refill(context.now());
        if let Some(until) = stopped.filter(|until| *until > context.now()) {
            context.set_timer(until);
        } else if self.account.budget.fuel() < CALL_FUEL {
            self.account.over_budget += 1;
            context.set_timer(context.now() + TIMER_AGAIN);
        } else {
            self.notify(context, (), |functions| functions.timer);
        }
    }

    fn message(&mut self, context: &mut dyn Context, bytes: &[u8]) {
        if !self.ready(context.now()) || self.tell(context, None).is_none() {
            return;
        }
        let packet = Packet {
            payload: bytes.to_vec(),
            ..Packet::default()
        };
        let Some(length) = self.show(Some(&packet)) else {
            return;
        };
        if self.call(length, |functions| functions.message).is_some() {
            self.carry_out(context);
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let mut account = self.account.clone();
        if let Some(running) = &self.running {
            let live = running.store.data().counts;
            account
                .own
                .iter_mut()
                .zip(live)
                .for_each(|(own, live)| *own += live);
        }
        account.counters([
            ("lost-trapped", self.counts.trapped),
            ("lost-out-of-fuel", self.counts.out_of_fuel),
        ])
    }
}
