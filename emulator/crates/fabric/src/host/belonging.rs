//! Proof that a process belongs to a run. The caller's word is no proof: it can name any process.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, Stat, fstat, openat};
use serde_json::Value;

use super::folder::Folder;
use super::namespace::NamespaceId;
use crate::error::Result;
use crate::names::RunId;

/// Environment variable of every process that an engine or the fabric starts for a run.
pub const MARK: &str = "CUBEYARD_RUN";
/// Mount point of the server's folder in its container.
const MOUNT: [&str; 2] = ["run", "cubeyard"];

/// Whether a process sees this folder of a server where the server's container has it. Only root,
/// or an engine that runs as root, can mount the folder there.
pub fn sees_folder(pid: u32, folder: &Folder) -> Result<bool> {
    let ours = folder.status()?;
    Ok(folder_of(pid).is_some_and(|its| (its.st_dev, its.st_ino) == (ours.st_dev, ours.st_ino)))
}

/// The folder that a process sees at the place of a container's server folder.
fn folder_of(pid: u32) -> Option<Stat> {
    let path = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut seen = openat(CWD, format!("/proc/{pid}/root"), path, Mode::empty()).ok()?;
    for name in MOUNT {
        // A link is not followed: it would resolve in our own root folder.
        seen = openat(&seen, name, path | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    }
    fstat(&seen).ok()
}

/// Network namespaces of servers that a fabric, this one or another, still runs: the folder that
/// these processes see has not been removed.
pub fn served_networks(pids: impl Iterator<Item = u32>) -> BTreeSet<NamespaceId> {
    // A program outside containers may see a folder of the host at this path; it is no server.
    let own = NamespaceId::at(Path::new("/proc/thread-self/ns/net"));
    pids.filter(|pid| folder_of(*pid).is_some_and(|folder| folder.st_nlink > 0))
        .filter_map(|pid| NamespaceId::at(Path::new(&format!("/proc/{pid}/ns/net"))))
        .filter(|id| Some(*id) != own)
        .collect()
}

/// Whether the description of a container names a server folder that still exists, or the network
/// of a served server. `root` is the root folder of the container's shim. `[OCI runtime]`
pub fn is_described_as_served(described: &Value, root: &Path, served: &BTreeSet<NamespaceId>) -> bool {
    let each = |list: &Value, holds: &dyn Fn(&Value) -> bool| {
        list.as_array().is_some_and(|items| items.iter().any(holds))
    };
    let path_of = |item: &Value, field: &str| {
        let path = item[field].as_str().unwrap_or_default();
        root.join(path.trim_start_matches('/'))
    };
    each(&described["mounts"], &|mount| {
        let names = mount["destination"].as_str().unwrap_or_default();
        names.split('/').skip(1).eq(MOUNT) && path_of(mount, "source").is_dir()
    }) || each(&described["linux"]["namespaces"], &|namespace| {
        let network = NamespaceId::at(&path_of(namespace, "path"));
        namespace["type"] == "network" && network.is_some_and(|id| served.contains(&id))
    })
}

/// Whether a process, given by its folder in `/proc`, was started with the mark of a run. No user
/// can mark a process of another user.
pub fn is_marked(folder: &Path, run: &RunId) -> bool {
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let mark = format!("{MARK}={run}");
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == mark.as_bytes())
}
