//! A run: one thread owns its whole state and handles requests one after the other.
//!
//! `thread` waits and dispatches, `verbs/` handles requests of callers, `inbox` requests of nodes.
//! The parts of the state: `nodes`, `carriers`, `chip_requests`, `damage`, `workload`,
//! `flow_paths`, `flow_rates`, `subflows`, `telemetry`, `events`, `frames`, `inspections`,
//! `routing`, `balancing`, `wiring`. `crate::kernels` owns the kernel objects of the run.

mod balancing;
mod carriers;
mod chip_calls;
mod chip_requests;
mod chips;
mod congestion;
mod damage;
mod events;
mod flow_paths;
mod flow_rates;
mod forwarding;
mod frames;
mod hearing;
mod inbox;
mod inspections;
mod latencies;
mod messages;
mod node_socket;
mod nodes;
mod poller;
mod router_carriers;
mod routing;
mod state;
mod subflows;
mod telemetry;
mod thread;
mod verbs;
mod wiring;
mod workload;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;
use serde_json::Value;

use crate::capture::socket::CaptureSocket;
use crate::error::{During, FabricError, Result};
use crate::host::strays::ContainerId;
use crate::journal::State;
use crate::network::Network;

pub use frames::{Frame, FrameSender};
pub use verbs::capture::CaptureTarget;
pub use verbs::signal::NodeSignal;

/// Where the answer to a call goes.
pub type Reply = Sender<Result<Value>>;

/// A request of a caller to a run.
#[derive(Debug)]
pub enum Request {
    /// Describe the run.
    Describe,
    /// Make the network. Answered when every node is ready.
    Wire {
        /// Where the servers are.
        homes: Homes,
        /// Not all servers of the run are among these.
        rest_follows: bool,
    },
    /// Take the network of these pods down before anything of the run is in them: a process in
    /// each, by server id.
    Isolate(BTreeMap<u32, u32>),
    /// Replace the flows.
    Workload(Value),
    /// Start the flows.
    Start,
    /// Stop and forget the flows.
    Stop,
    /// Put a fault into effect.
    Inject(Value),
    /// End one fault, or all of them.
    Recover(Value),
    /// Send a signal to the process of a server in a pod.
    Signal {
        /// The server's id.
        server: u32,
        /// Signal to send.
        signal: NodeSignal,
        /// Container of a user's program of the server, which gets the same signal.
        beside: Option<ContainerId>,
    },
    /// Describe the state of a server's node.
    Inspect(u32),
    /// Send a message to a service of a server.
    Tell {
        /// The server's id.
        server: u32,
        /// The service's name.
        service: String,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Load a user's program into the chip of every server; with `None`, only report the current
    /// one.
    Program(Option<String>),
    /// Send a request to the chip of a server (`cubeyard_chip::api`), and return its answer.
    Chip {
        /// The server's id.
        server: u32,
        /// The request without its length.
        request: Vec<u8>,
    },
    /// Read the registers of a server's chip: one of them, or all, after writing one.
    Registers {
        /// The server's id.
        server: u32,
        /// A register's name, and its new value for a write.
        register: Option<(String, Option<u64>)>,
    },
    /// Open an end of a link for a packet capture, and send it there.
    Capture(CaptureTarget, Sender<CaptureSocket>),
    /// Send every frame from now on.
    Subscribe(usize, FrameSender),
    /// Remove the run with all its kernel objects.
    Destroy {
        /// Also end the processes in containers, which the caller removes otherwise.
        end_processes: bool,
    },
}

/// Locations of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Homes {
    /// In containers: a process in each, by server id.
    Containers(BTreeMap<u32, u32>),
    /// The same, in containers that nobody but this fabric can reach into (pods): they have a
    /// network of somebody else's, which is taken down, and no folder of ours.
    Pods(BTreeMap<u32, u32>),
    /// In namespaces that we make, with nodes that we start.
    Plain,
}

/// A request and where its answer goes.
#[derive(Debug)]
pub struct Call {
    request: Request,
    reply: Reply,
}

/// Input for a run, before its thread starts.
#[derive(Debug)]
pub struct Setup {
    /// Its network.
    pub network: Arc<Network>,
    /// The journal.
    pub state: Arc<State>,
    /// The program of nodes, for servers without containers.
    pub node_program: PathBuf,
    /// The user of the caller that prepares it.
    pub user: u32,
}

/// A handle of a run's thread.
#[derive(Debug)]
pub struct Run {
    /// Its network.
    pub network: Arc<Network>,
    /// The user that prepared it, from the caller's socket.
    pub user: u32,
    calls: Sender<Call>,
    wakeup: Arc<OwnedFd>,
}

impl Run {
    /// Makes the run's sockets and starts its thread, which ends when the run is destroyed.
    pub fn start(setup: Setup) -> Result<Run> {
        let wakeup = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .during(|| "making an eventfd".to_owned())?;
        let wakeup = Arc::new(wakeup);
        let (network, state, user) = (setup.network.clone(), setup.state.clone(), setup.user);
        let (sender, receiver): (Sender<Call>, Receiver<Call>) = channel();
        let thread = thread::RunThread::new(setup, receiver, wakeup.clone()).inspect_err(|_| {
            // Nobody can destroy a run that did not start; so far it has only its folder.
            let _ = state.forget(&network.description.run);
        })?;
        std::thread::Builder::new()
            .name(format!("run {}", network.description.run.short()))
            .spawn(move || thread.work())
            .during(|| "starting the run's thread".to_owned())?;
        Ok(Run {
            network,
            user,
            calls: sender,
            wakeup,
        })
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&self, request: Request) -> Result<Value> {
        let gone = || FabricError::state("the run has ended", "prepare it again");
        let (reply, answer) = channel();
        self.calls.send(Call { request, reply }).map_err(|_| gone())?;
        rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes())
            .during(|| "waking the run's thread".to_owned())?;
        answer.recv().map_err(|_| gone())?
    }
}
