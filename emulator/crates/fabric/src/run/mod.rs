//! A run: one thread owns its whole state and handles requests one after the other.
//!
//! `thread` waits for events and dispatches them, `verbs/` handles requests of callers, `inbox`
//! requests of nodes. The parts of the state: `nodes`, `carriers`, `chip_requests`,
//! `active_faults`, `workload`, `flow_paths`, `flow_rates`, `subflows`, `telemetry`, `events`,
//! `frames`, `inspections`, `routing`, `balancing`, `wiring`. `crate::kernels` owns the kernel
//! objects of the run.

mod active_faults;
mod balancing;
mod carriers;
mod chip_calls;
mod chip_requests;
mod chips;
mod congestion;
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

/// The sender for the answer to a call.
pub type Reply = Sender<Result<Value>>;

/// A request of a caller to a run.
#[derive(Debug)]
pub enum Request {
    /// Return a description of the run.
    Describe,
    /// Make the network. The answer is sent when every node is ready.
    Wire {
        /// Locations of the servers.
        homes: Homes,
        /// Whether some servers of the run are missing here.
        rest_follows: bool,
    },
    /// Remove all interfaces but loopback from these pods, given by a process in each, by server
    /// id. Must precede everything of the run in them.
    Isolate(BTreeMap<u32, u32>),
    /// Replace the workload's flows.
    Workload(Value),
    /// Start the workload's flows.
    Start,
    /// Stop and remove the flows.
    Stop,
    /// Inject a fault.
    Inject(Value),
    /// Recover one fault, or all.
    Recover(Value),
    /// Send a signal to the node of a server in a pod.
    Signal {
        /// Id of the server.
        server: u32,
        /// Signal to send.
        signal: NodeSignal,
        /// The container of the server's user program, which gets the same signal.
        beside: Option<ContainerId>,
    },
    /// Return the state of a server's node.
    Inspect(u32),
    /// Send a message to a service of a server.
    Tell {
        /// Id of the server.
        server: u32,
        /// Name of the service.
        service: String,
        /// Content of the message.
        bytes: Vec<u8>,
    },
    /// Load a user's program into the chips of all servers; with `None`, only return the current
    /// one.
    Program(Option<String>),
    /// Send a request to the chip of a server (`cubeyard_chip::api`), and return its answer.
    Chip {
        /// Id of the server.
        server: u32,
        /// The request, without its length prefix.
        request: Vec<u8>,
    },
    /// Read all registers of a server's chip, or read or write a single one.
    Registers {
        /// Id of the server.
        server: u32,
        /// Name of a register, and for a write its new value.
        register: Option<(String, Option<u64>)>,
    },
    /// Open an end of a link for a packet capture, and send the socket to this sender.
    Capture(CaptureTarget, Sender<CaptureSocket>),
    /// Send all frames from now on to a caller.
    Subscribe(usize, FrameSender),
    /// Remove the run with all its kernel objects.
    Destroy {
        /// Also end the processes in containers, which the caller otherwise removes.
        end_processes: bool,
    },
}

/// Locations of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Homes {
    /// In containers, given by a process in each, by server id.
    Containers(BTreeMap<u32, u32>),
    /// In pods, given by a process in each, by server id. Pods have interfaces of the cluster,
    /// which are removed, and no folder of ours.
    Pods(BTreeMap<u32, u32>),
    /// In namespaces that this fabric makes, with nodes that it starts.
    Plain,
}

/// A request with the sender for its answer.
#[derive(Debug)]
pub struct Call {
    request: Request,
    reply: Reply,
}

/// Input for a run, before its thread starts.
#[derive(Debug)]
pub struct Setup {
    /// Network of the run.
    pub network: Arc<Network>,
    /// State folder with the journal.
    pub state: Arc<State>,
    /// Program of nodes in servers without containers.
    pub node_program: PathBuf,
    /// User of the caller that prepared the run.
    pub user: u32,
}

/// A handle of a run's thread.
#[derive(Debug)]
pub struct Run {
    /// Network of the run.
    pub network: Arc<Network>,
    /// The user who prepared the run, from the caller's socket.
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
            // A run that failed to start has only its folder, and no caller could destroy it.
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
