//! A run: one thread that owns all of it and does one thing after the other, so that nothing needs a lock.

mod actor;
mod calls;
mod conditions;
mod forwarder;
mod messages;
mod node_socket;
mod poller;
mod telemetry;
mod workload;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};

use rustix::event::EventfdFlags;
use rustix::fd::OwnedFd;
use serde_json::Value;

use crate::error::{During, FabricError, Result};
use crate::journal::State;
use crate::network::Checked;

pub use actor::monotonic_nanos;
pub use messages::FiveTuple;
pub use telemetry::Frame;

/// What a caller may ask of a run.
#[derive(Debug)]
pub enum Request {
    /// Where each server's socket is.
    Describe,
    /// Make the network. Answered when every node is ready.
    Wire(Homes),
    /// Replace the flows.
    Workload(Value),
    /// Start the flows.
    Start,
    /// Stop and forget the flows.
    Stop,
    /// Break something.
    Inject(Value),
    /// Undo one fault, or all of them.
    Recover(Value),
    /// What a server's node knows.
    Inspect(u32),
    /// Send every frame from now on.
    Subscribe(SyncSender<Arc<str>>),
    /// Remove everything.
    Destroy,
}

/// Where servers live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Homes {
    /// In containers: a process in each, by server id.
    Containers(BTreeMap<u32, u32>),
    /// In namespaces of our own, with nodes that we start.
    Plain,
}

/// A request and where its answer goes.
#[derive(Debug)]
pub struct Call {
    request: Request,
    reply: Sender<Result<Value>>,
}

/// What a run is made of before its thread starts.
#[derive(Debug)]
pub struct Setup {
    /// Its network.
    pub network: Arc<Checked>,
    /// The journal.
    pub state: Arc<State>,
    /// The program of nodes, for servers without containers.
    pub node_program: PathBuf,
}

/// A way to a run's thread.
#[derive(Debug)]
pub struct Run {
    /// Its network.
    pub network: Arc<Checked>,
    calls: Sender<Call>,
    bell: Arc<OwnedFd>,
}

impl Run {
    /// Makes the run's sockets and starts its thread, which ends when the run is destroyed.
    pub fn start(setup: Setup) -> Result<Run> {
        let bell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .during(|| "making a bell".to_owned())?;
        let bell = Arc::new(bell);
        let (network, state) = (setup.network.clone(), setup.state.clone());
        let (sender, receiver): (Sender<Call>, Receiver<Call>) = channel();
        let actor = actor::Actor::new(setup, receiver, bell.clone()).inspect_err(|_| {
            // What there is of it by now is in its folder, and no caller will ever ask to destroy it.
            let _ = state.forget(&network.network.run);
        })?;
        std::thread::Builder::new()
            .name(format!("run {}", network.network.run.short()))
            .spawn(move || actor.work())
            .during(|| "starting the run's thread".to_owned())?;
        Ok(Run {
            network,
            calls: sender,
            bell,
        })
    }

    /// Asks and waits for the answer.
    pub fn ask(&self, request: Request) -> Result<Value> {
        let gone = || FabricError::state("the run has ended", "prepare it again");
        let (reply, answer) = channel();
        self.calls.send(Call { request, reply }).map_err(|_| gone())?;
        rustix::io::write(&self.bell, &1_u64.to_ne_bytes()).during(|| "ringing".to_owned())?;
        answer.recv().map_err(|_| gone())?
    }
}
