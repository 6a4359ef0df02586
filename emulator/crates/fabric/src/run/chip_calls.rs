//! Calls of users' programs on chips in the kernel: the node forwards calls on tables and
//! registers, whose maps the fabric holds. The node alone handles packets between the kernel and
//! programs: it gets the ring and the socket for them.
//!
//! Calls may use a limited share of the run's thread. Above it, the node charges programs more time
//! for each call. `[ours]`

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use cubeyard_chip::api::{Answered, Limits, Session, asks_for_queues};
use cubeyard_dataplane::tables::HexBytes;
use cubeyard_messages::ToNode;
use cubeyard_messages::limits::CHIP_PART_BYTES;

use super::state::RunState;
use crate::error::{During, FabricError, Result};

/// Calls of all servers' programs together may use `1 / PARTS` of the run thread's time.
const PARTS: u32 = 4;
/// Calls get more expensive once they exceed their share by this time.
const BURST: Duration = Duration::from_millis(100);
/// Minimum cost of a call, which covers its two messages.
const LEAST_MICROS: u32 = 50;
/// Most callers that may be reading a server's tables in steps. One more makes all of them start
/// again.
const MOST_READERS: usize = 32;

/// Who calls a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Caller {
    /// A caller of the fabric.
    Fabric,
    /// A program of the server, by the number that its node uses.
    Program(u32),
}

/// The state of all calls.
#[derive(Debug, Default)]
pub struct ChipCalls {
    /// Callers that are reading tables in steps, by server.
    readers: BTreeMap<usize, BTreeMap<Caller, Session>>,
    /// When the time of all calls so far is used up at their share.
    due: Option<Instant>,
}

impl ChipCalls {
    /// Clears the callers of a server with a new node.
    pub fn forget(&mut self, server: usize) {
        self.readers.remove(&server);
    }

    /// Microseconds that the node charges the program for a call.
    fn cost(&mut self, began: Instant, now: Instant) -> u32 {
        let took = now.saturating_duration_since(began);
        let due = self.due.map_or(began, |due| due.max(began)) + took * PARTS;
        self.due = Some(due);
        let ahead = due.saturating_duration_since(now + BURST);
        let micros = u32::try_from((took + ahead / 10).as_micros()).unwrap_or(u32::MAX);
        micros.max(LEAST_MICROS)
    }
}

impl RunState {
    /// Carries out a request about the tables or registers of a server's chip. Errors: a server
    /// that is off or on another host, no such chip in the kernel, any other request.
    pub fn call_chip(&mut self, server: usize, caller: Caller, request: &[u8]) -> Result<Answered> {
        let began = Instant::now();
        let gone = || FabricError::state("the server is not here", "recover it first");
        let kernel = self.kernels.servers[server].as_mut().ok_or_else(gone)?;
        let queues = match asks_for_queues(request) {
            true => kernel.queues()?,
            false => Vec::new(),
        };
        let programs = kernel.programs.as_mut();
        let none =
            || FabricError::unsupported("no chip in the kernel", "run it with the dataplane serverswitch");
        let mut chip = programs
            .and_then(|programs| programs.called(&queues))
            .ok_or_else(none)?;
        let limits = Limits {
            packet_bytes: 0,
            ports: 0,
            part_bytes: CHIP_PART_BYTES,
        };
        let readers = self.chip_calls.readers.entry(server).or_default();
        let mut session = readers.remove(&caller).unwrap_or_default();
        let answered = session.handle_tables(request, &limits, &mut chip);
        if session.is_reading() {
            if readers.len() >= MOST_READERS {
                readers.clear();
            }
            readers.insert(caller, session);
        }
        let other = || {
            FabricError::bad(
                "request",
                "another one",
                "about tables or registers",
                "ask the node",
            )
        };
        let answered = answered.ok_or_else(other)?;
        let cost = self.chip_calls.cost(began, Instant::now());
        Ok(Answered { cost, ..answered })
    }

    /// Handles a call of a server's program to the server's chip.
    pub fn on_call(&mut self, server: usize, asker: u32, request: &[u8]) -> Result<()> {
        let answered = self.call_chip(server, Caller::Program(asker), request)?;
        let message = ToNode::Called {
            asker,
            cost_micros: answered.cost,
            answer: HexBytes(answered.bytes),
        };
        self.nodes.send(server, [&message]);
        Ok(())
    }

    /// Sends a node the ring and the socket for packets between its server's chip and programs, if
    /// the chip is in the kernel.
    pub fn hand_over_chip(&mut self, server: usize) {
        self.chip_calls.forget(server);
        let Some(kernel) = &self.kernels.servers[server] else {
            return;
        };
        let ring = kernel.programs.as_ref().and_then(|programs| programs.packets());
        let (Some(ring), Some(socket)) = (ring, &kernel.programs_socket) else {
            return;
        };
        let copies: std::io::Result<Vec<OwnedFd>> = [ring, socket.as_fd()]
            .into_iter()
            .map(|item| item.try_clone_to_owned())
            .collect();
        match copies.during(|| "handing a chip's packets to its node".to_owned()) {
            Ok(copies) => self.nodes.hand_over(server, &ToNode::Cpu, copies),
            Err(error) => self.log_error(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_their_time_and_more_once_all_together_take_too_much() {
        let mut calls = ChipCalls::default();
        let mut now = Instant::now();
        let mut costs = Vec::new();
        for _ in 0..1000 {
            let began = now;
            now += Duration::from_millis(1);
            costs.push(calls.cost(began, now));
        }
        assert_eq!(costs[0], 1000);
        // A thousand calls of a millisecond in a row are three seconds ahead of a quarter of the
        // thread.
        assert!((250_000..=300_000).contains(&costs[999]), "{}", costs[999]);
        let later = now + Duration::from_secs(10);
        assert_eq!(calls.cost(later, later), LEAST_MICROS);
    }
}
