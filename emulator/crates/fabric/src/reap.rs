//! Removes what a fabric that died has left of a run: what its journal names, and nothing else.

use std::time::Duration;

use crate::assembly;
use crate::error::Result;
use crate::journal::{Container, Entry, State};
use crate::names;
use crate::namespace::{self, Namespace, NamespaceId};
use crate::netlink::{LinkState, Netlink};
use crate::network::MAX_SERVERS;
use crate::process;

/// A node caught between being made and becoming itself shows no mark; it does so well within this time.
const SECOND_LOOK: Duration = Duration::from_millis(20);

/// Removes what is left of every run in the journal. Gives the runs that were removed.
pub fn reap_all(state: &State) -> Result<Vec<names::RunId>> {
    let entries = state.entries();
    for entry in &entries {
        reap(state, entry)?;
    }
    state.sweep()?;
    Ok(entries.into_iter().map(|entry| entry.run).collect())
}

/// Removes what is left of one run.
fn reap(state: &State, entry: &Entry) -> Result<()> {
    let namespaces: Vec<NamespaceId> = entry
        .namespaces
        .iter()
        .filter_map(|name| namespace::id_of_name(name))
        .collect();
    if !namespaces.is_empty() {
        process::kill_marked(&entry.run, &namespaces);
        std::thread::sleep(SECOND_LOOK);
        process::kill_marked(&entry.run, &namespaces);
    }
    for container in &entry.containers {
        strip(container)?;
    }
    for name in &entry.namespaces {
        if *name == entry.run.switch_namespace() && namespace::id_of_name(name).is_some() {
            let mut socket = Namespace::named(name)?.run(Netlink::open)?;
            assembly::delete_where(&mut socket, assembly::is_stitch)?;
        }
        namespace::remove_name(name)?;
    }
    state.forget(&entry.run)
}

/// Takes our interfaces out of a container that goes on living.
fn strip(container: &Container) -> Result<()> {
    let Ok(namespace) = Namespace::of_process(container.pid) else {
        return Ok(());
    };
    if namespace.id()? != container.namespace {
        return Ok(());
    }
    let mut socket = namespace.run(Netlink::open)?;
    assembly::delete_where(&mut socket, is_ours)
}

/// Whether an interface in a container has both a name and a number that we give.
fn is_ours(link: &LinkState) -> bool {
    let is_port = |port: u16| link.index == names::port_index(port) && link.name == names::port_name(port);
    let is_nic = link.index == names::VIRTUAL_NIC_INDEX && link.name == names::VIRTUAL_NIC;
    is_nic || (0..MAX_SERVERS as u16).any(is_port)
}
