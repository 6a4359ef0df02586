//! One instance of a module, and the state of the call that it is in.

use std::rc::Rc;

use cubeyard_dataplane::service::{Context, Key, Packet};
use wasmi::{Error, Instance, Store, StoreLimits, TrapCode, TypedFunc, WasmParams, WasmResults};

use crate::budget::Time;
use crate::limits::BUFFER_BYTES;

/// The network as a module can query it; valid while the version of the context stays the same.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The context's version; `None` before the first call.
    pub version: Option<u64>,
    /// The server's own coordinate.
    pub here: Key,
    /// Servers along each axis.
    pub size: [u32; 3],
    /// The neighbours that live, by port.
    pub neighbours: [Option<Key>; 6],
    /// By number of the coordinate: who answers for it, and whether its own server can be reached.
    servers: Rc<[(Option<Key>, bool)]>,
}

impl World {
    /// A copy of the context's current state; the states of all servers are included only if the
    /// module queries them.
    pub fn of(context: &dyn Context, servers: bool) -> World {
        let size = context.size();
        let [x, y, z] = if servers { size } else { [0; 3] };
        let mut servers = Vec::with_capacity((x * y * z) as usize);
        for z in 0..z {
            for y in 0..y {
                for x in 0..x {
                    let key = [x as u8, y as u8, z as u8];
                    servers.push((context.root_of(key), context.reachable(key)));
                }
            }
        }
        World {
            version: Some(context.version()),
            here: context.here(),
            size,
            neighbours: [0, 1, 2, 3, 4, 5].map(|port| context.neighbour(port)),
            servers: servers.into(),
        }
    }

    fn at(&self, key: Key) -> Option<&(Option<Key>, bool)> {
        let [x, y, z] = key.map(u32::from);
        let [width, depth, _] = self.size;
        self.has(key)
            .then(|| self.servers.get((x + width * (y + depth * z)) as usize))?
    }

    fn has(&self, key: Key) -> bool {
        let within = key.iter().zip(self.size);
        within.into_iter().all(|(at, size)| u32::from(*at) < size)
    }

    /// The server that answers for a key.
    pub fn root_of(&self, key: Key) -> Option<Key> {
        self.at(key).and_then(|(root, _)| *root)
    }

    /// Whether the server of a coordinate can be reached.
    pub fn reachable(&self, key: Key) -> bool {
        self.at(key).is_some_and(|(_, reachable)| *reachable)
    }

    /// Hops between two coordinates along an axis; 0 along an axis that there is not.
    pub fn dist_axis(&self, a: Key, b: Key, axis: usize) -> u32 {
        let (Some(size), Some(a), Some(b)) = (self.size.get(axis), a.get(axis), b.get(axis)) else {
            return 0;
        };
        let apart = u32::from(a.abs_diff(*b));
        apart.min(size.saturating_sub(apart))
    }

    /// The coordinate next to another along an axis; `None` outside the network.
    pub fn beside(&self, key: Key, axis: usize, up: bool) -> Option<Key> {
        let size = *self.size.get(axis)?;
        if !self.has(key) {
            return None;
        }
        let by = if up { 1 } else { size - 1 };
        let mut beside = key;
        beside[axis] = ((u32::from(key[axis]) + by) % size) as u8;
        Some(beside)
    }
}

/// An action that a module requested during a call.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Send one hop by a port.
    Send(u8, Packet),
    /// Hand to the routing service.
    Route(Packet),
    /// Send a copy to the packet's key.
    Transmit(Packet),
    /// Send an answer to the outside.
    Answer(Vec<u8>),
}

/// The state on which the imports work.
#[derive(Debug)]
pub struct Guest {
    /// The network as the module sees it.
    pub world: World,
    /// The time of the call.
    pub now: Time,
    /// Ports by which it may send one hop, a bit each.
    pub free: u8,
    /// Packets of the service that wait.
    pub waiting: usize,
    /// The longest payload.
    pub max_payload: usize,
    /// The key of the packet.
    pub key: Key,
    /// The colour of the packet.
    pub colour: u16,
    /// The packet's length, which the module may change.
    pub length: usize,
    /// The keys that F named.
    pub keys: Vec<Key>,
    /// The requested actions, in order.
    pub asks: Vec<Ask>,
    /// Number of actions beyond the limit of a call.
    pub too_many: u64,
    /// The timer that it set.
    pub timer_millis: Option<u32>,
    /// The numbered counters of the service.
    pub counts: [u64; 8],
    /// State of its random numbers.
    pub random: u64,
    /// Limits of its memory.
    pub limits: StoreLimits,
}

impl Guest {
    /// The state before the first call.
    pub fn new(limits: StoreLimits) -> Guest {
        Guest {
            world: World::default(),
            now: Time::ZERO,
            free: 0,
            waiting: 0,
            max_payload: 0,
            key: [0; 3],
            colour: 0,
            length: 0,
            keys: Vec::new(),
            asks: Vec::new(),
            too_many: 0,
            timer_millis: None,
            counts: [0; 8],
            random: 1,
            limits,
        }
    }

    /// The next random number (SplitMix64).
    pub fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// The functions that a module exports.
#[derive(Debug)]
pub struct Functions {
    /// F `[camcube §5]`; its arguments are the coordinate and the packet's length.
    pub next: TypedFunc<(i32, i32), ()>,
    /// The queue of a packet.
    pub classify: TypedFunc<i32, i32>,
    /// A packet arrived at its end.
    pub deliver: TypedFunc<(i32, i32), ()>,
    /// A packet arrived by a port.
    pub packet: Option<TypedFunc<(i32, i32), i32>>,
    /// Time and weight of a queue.
    pub queue: Option<TypedFunc<i32, i64>>,
    /// A neighbour died or lives.
    pub neighbour: Option<TypedFunc<(i32, i32), ()>>,
    /// The timer's time has come.
    pub timer: Option<TypedFunc<(), ()>>,
    /// A message from the outside.
    pub message: Option<TypedFunc<i32, ()>>,
    /// Once, before anything else.
    pub init: Option<TypedFunc<(), ()>>,
}

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It did not end within its fuel.
    OutOfFuel,
    /// Any other error of a module.
    Trap,
}

/// A running instance of a module.
#[derive(Debug)]
pub struct Running {
    /// The state of its memory and imports.
    pub store: Store<Guest>,
    instance: Instance,
    /// The functions of the module.
    pub functions: Functions,
    buffer: usize,
}

impl Running {
    /// An instance whose buffer is at an address of its memory.
    pub fn new(store: Store<Guest>, instance: Instance, functions: Functions, buffer: usize) -> Running {
        Running {
            store,
            instance,
            functions,
            buffer,
        }
    }

    /// Puts bytes into the buffer, as many as it holds.
    pub fn fill(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let bytes = &bytes[..bytes.len().min(BUFFER_BYTES)];
        let memory = self
            .instance
            .get_memory(&self.store, "memory")
            .ok_or(Failure::Trap)?;
        let written = memory.write(&mut self.store, self.buffer, bytes);
        self.store.data_mut().length = bytes.len();
        written.map_err(|_| Failure::Trap)
    }

    /// The content of the buffer, up to the length that the module set.
    pub fn contents(&self) -> Result<Vec<u8>, Failure> {
        let length = self.store.data().length;
        if length > BUFFER_BYTES {
            return Err(Failure::Trap);
        }
        let memory = self
            .instance
            .get_memory(&self.store, "memory")
            .ok_or(Failure::Trap)?;
        let mut bytes = vec![0; length];
        let read = memory.read(&self.store, self.buffer, &mut bytes);
        read.map(|()| bytes).map_err(|_| Failure::Trap)
    }

    /// Calls a function with a limit on fuel; returns its result and the used fuel.
    pub fn call<P: WasmParams, R: WasmResults>(
        &mut self,
        function: TypedFunc<P, R>,
        params: P,
        fuel: u64,
    ) -> (Result<R, Failure>, u64) {
        if self.store.set_fuel(fuel).is_err() {
            return (Err(Failure::Trap), 0);
        }
        let said = function
            .call(&mut self.store, params)
            .map_err(|error| failure(&error));
        let left = self.store.get_fuel().unwrap_or(0);
        (said, fuel.saturating_sub(left))
    }
}

/// Why a call failed.
pub fn failure(error: &Error) -> Failure {
    match error.as_trap_code() {
        Some(TrapCode::OutOfFuel) => Failure::OutOfFuel,
        _ => Failure::Trap,
    }
}
