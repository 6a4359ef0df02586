//! Removes leftovers of a run after a crash of the fabric: only objects that the journal names.

use std::time::Duration;

use crate::error::Result;
use crate::host::namespace::{self, Namespace, NamespaceId};
use crate::host::process;
use crate::journal::{Container, Entry, State};
use crate::names;
use crate::netlink::Netlink;
use crate::servers::remove_our_interfaces;
use crate::switches::remove_tunnels_in;

/// Between fork and exec a node does not have the mark of its run yet. That takes less than this
/// time.
const EXEC_WITHIN: Duration = Duration::from_millis(20);

/// Removes leftovers of every run in the journal. Returns the removed runs.
pub fn reap_all(state: &State) -> Result<Vec<names::RunId>> {
    let entries = state.entries()?;
    for entry in &entries {
        reap(state, entry)?;
    }
    state.sweep()?;
    Ok(entries.into_iter().map(|entry| entry.run).collect())
}

/// Removes leftovers of one run.
fn reap(state: &State, entry: &Entry) -> Result<()> {
    let namespaces: Vec<NamespaceId> = entry
        .namespaces
        .iter()
        .filter_map(|name| namespace::id_of_name(name))
        .collect();
    if !namespaces.is_empty() {
        process::kill_marked(&entry.run, &namespaces);
        std::thread::sleep(EXEC_WITHIN);
        process::kill_marked(&entry.run, &namespaces);
    }
    for container in &entry.containers {
        strip(container)?;
    }
    for name in &entry.namespaces {
        remove_tunnels_in(&entry.run, name)?;
        namespace::remove_name(name)?;
    }
    state.forget(&entry.run)
}

/// Removes our interfaces from a container that stays alive.
fn strip(container: &Container) -> Result<()> {
    let Ok(namespace) = Namespace::of_process(container.pid) else {
        return Ok(());
    };
    if namespace.id()? != container.namespace {
        return Ok(());
    }
    let mut socket = namespace.run(Netlink::open)?;
    remove_our_interfaces(&mut socket)
}
