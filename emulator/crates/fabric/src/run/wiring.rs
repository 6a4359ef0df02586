//! Progress of wiring: the wire call that waits for nodes, the journal's entry, and whether servers
//! are containers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Reply;
use super::verbs::answer;
use crate::error::{FabricError, Result};
use crate::host::namespace;
use crate::journal::{Container, Entry, State};
use crate::network::Network;

/// Time limit for the first node to become ready; then the time added for each further node on a
/// busy machine, and the maximum, which is below the callers' timeout.
const READY_WITHIN: Duration = Duration::from_secs(20);
const READY_WITHIN_EACH: Duration = Duration::from_millis(250);
const READY_WITHIN_MOST: Duration = Duration::from_secs(110);

/// Time limit for this many nodes to become ready.
fn ready_within(nodes: usize) -> Duration {
    let others = u32::try_from(nodes.saturating_sub(1)).unwrap_or(u32::MAX);
    READY_WITHIN
        .saturating_add(READY_WITHIN_EACH.saturating_mul(others))
        .min(READY_WITHIN_MOST)
}

/// A wire call that waits for nodes.
#[derive(Debug)]
struct Pending {
    reply: Reply,
    started: Instant,
    built: Instant,
    waiting: BTreeSet<usize>,
    within: Duration,
}

/// The answer to a wire call.
#[derive(Debug, Serialize)]
struct Wired {
    /// Time until all nodes were ready, in milliseconds.
    millis: f64,
    /// Time until all kernel objects existed, in milliseconds.
    built_millis: f64,
}

/// The state of a run's wiring.
#[derive(Debug)]
pub struct Wiring {
    journal: Arc<State>,
    entry: Entry,
    /// Whether servers are namespaces that the fabric created, without containers.
    pub plain: bool,
    /// Whether servers are pods: then the fabric ends and pauses their processes.
    pub pods: bool,
    pending: Option<Pending>,
}

impl Wiring {
    /// Writes an empty entry to the journal.
    pub fn new(network: &Network, journal: Arc<State>) -> Result<Wiring> {
        let entry = Entry {
            run: network.description.run.clone(),
            namespaces: Vec::new(),
            containers: Vec::new(),
        };
        journal.write(&entry)?;
        Ok(Wiring {
            journal,
            entry,
            plain: false,
            pods: false,
            pending: None,
        })
    }

    /// Whether a wire call waits for nodes.
    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Records a container that gets interfaces of ours. The next [`Wiring::own_namespaces`] or
    /// [`Wiring::write`] writes it.
    pub fn add_container(&mut self, container: Container) {
        self.entry.containers.push(container);
    }

    /// Records that the namespaces with these names are ours. Errors: one of them already exists,
    /// so it is not ours.
    pub fn own_namespaces(&mut self, names: Vec<String>) -> Result<()> {
        let existing = namespace::names_with_prefix("");
        if let Some(name) = names.iter().find(|name| existing.contains(name)) {
            let message = format!("there is a namespace {name} already, which this fabric did not make");
            let fix = "remove it, or give the run another id";
            return Err(FabricError::state(message, fix));
        }
        self.entry.namespaces = names;
        self.write()
    }

    /// Writes the entry to the journal.
    pub fn write(&self) -> Result<()> {
        self.journal.write(&self.entry)
    }

    /// Removes the names of all our namespaces, and the journal's entry once none is left.
    pub fn remove_namespaces(&self) -> Result<()> {
        for name in &self.entry.namespaces {
            namespace::remove_name(name)?;
        }
        let names = self.entry.namespaces.iter();
        let left = names.filter(|name| namespace::id_of_name(name).is_some()).count();
        if left > 0 {
            let cause = format!("{left} namespaces are left");
            return Err(FabricError::system("destroying the run", cause));
        }
        self.journal.forget(&self.entry.run)
    }

    /// Answers a wire call when these servers' nodes are ready.
    pub fn wait_for(&mut self, waiting: BTreeSet<usize>, reply: &Reply, started: Instant) {
        let reply = reply.clone();
        let built = Instant::now();
        self.pending = Some(Pending {
            reply,
            started,
            built,
            within: ready_within(waiting.len()),
            waiting,
        });
    }

    /// Records that a server's node is ready.
    pub fn on_ready(&mut self, server: usize) {
        if let Some(pending) = &mut self.pending {
            pending.waiting.remove(&server);
        }
    }

    /// Answers the wire call once every node is ready, a node has ended, or a node has taken too
    /// long.
    pub fn check(&mut self, has_process: impl Fn(usize) -> bool, id: impl Fn(usize) -> u32) {
        let Some(pending) = &self.pending else { return };
        let ended = pending.waiting.iter().find(|server| !has_process(**server));
        let is_late = pending.built.elapsed() >= pending.within;
        let result = match (pending.waiting.first(), ended) {
            (None, _) => answer(Wired {
                millis: pending.started.elapsed().as_secs_f64() * 1e3,
                built_millis: (pending.built - pending.started).as_secs_f64() * 1e3,
            }),
            (Some(_), Some(&server)) => {
                let message = format!("the node of server {} ended before it was ready", id(server));
                Err(FabricError::state(message, "look at the node's own output"))
            }
            (Some(&server), None) if is_late => {
                let secs = pending.within.as_secs();
                let message = format!("the node of server {} was not ready within {secs} s", id(server));
                Err(FabricError::state(
                    message,
                    "check whether the host has processor time left",
                ))
            }
            (Some(_), None) => return,
        };
        self.end(result);
    }

    /// Answers the wire call with an error if it waits for this server. Called when its node
    /// refuses its configuration.
    pub fn refuse(&mut self, server: usize, id: u32, reason: &str) {
        if self
            .pending
            .as_ref()
            .is_some_and(|pending| pending.waiting.contains(&server))
        {
            let message = format!("the node of server {id} refuses its configuration: {reason}");
            let fix = "use the node and the fabric of one version";
            self.end(Err(FabricError::state(message, fix)));
        }
    }

    /// Answers the wire call with an error, because the run is destroyed.
    pub fn abandon(&mut self) {
        self.end(Err(FabricError::state(
            "the run was destroyed",
            "prepare it again",
        )));
    }

    fn end(&mut self, result: Result<serde_json::Value>) {
        if let Some(pending) = self.pending.take() {
            // The caller may have disconnected, so a failure is ignored.
            let _ = pending.reply.send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_more_time_the_more_there_are_and_less_than_a_caller_waits() {
        assert_eq!(ready_within(1), READY_WITHIN);
        assert!(ready_within(200) > Duration::from_secs(60));
        assert_eq!(ready_within(1024), READY_WITHIN_MOST);
        assert_eq!(ready_within(usize::MAX), READY_WITHIN_MOST);
    }
}
