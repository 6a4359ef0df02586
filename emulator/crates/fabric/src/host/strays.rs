//! Leftovers of containers that the engine has removed without knowing that they were running. An
//! engine that is killed while it starts a container forgets the shim, the processes and the
//! control groups of the container.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use super::belonging::{MARK, is_described_as_served, is_marked, served_networks};
use super::namespace::{Namespace, NamespaceId};
use super::process::{Process, kill_where};
use crate::error::{self, FabricError};
use crate::names::RunId;

/// Where control groups are mounted.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
/// Levels of control groups that are searched; engines use at most four.
const MAX_DEPTH: usize = 8;
/// Maximum number of scans of a container for processes that started during the previous scan.
const MAX_LOOKS: usize = 8;
/// The kernel needs a moment to empty the group of a process that was killed.
const EMPTY_WITHIN: Duration = Duration::from_secs(2);

/// A container's id: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct ContainerId(String);

impl TryFrom<String> for ContainerId {
    type Error = String;

    fn try_from(text: String) -> Result<ContainerId, String> {
        let well = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        well.then_some(ContainerId(text))
            .ok_or_else(|| "a container's id has 64 hexadecimal digits".to_owned())
    }
}

/// Ends the shims and processes of these containers and removes their control groups. Skips
/// containers without proof that they belong to this run, and containers of servers that a fabric
/// still runs: this fabric removes a run's servers first, and never touches runs of other fabrics.
pub fn remove_strays(run: &RunId, containers: &[ContainerId]) {
    if containers.is_empty() {
        return;
    }
    let proofs = Proofs::of(run, containers);
    kill_where(|folder| Some(proofs.hold(run, folder)));
    let groups = groups_of(Path::new(CONTROL_GROUPS), &proofs.containers);
    let deadline = Instant::now() + EMPTY_WITHIN;
    for group in groups {
        while !remove_group(&group) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Proof that containers were started for a run.
#[derive(Debug, Default)]
struct Proofs {
    /// Containers with any proof.
    containers: Vec<ContainerId>,
    /// Containers whose shim, a process of root, starts them with the run's mark.
    by_shim: Vec<ContainerId>,
    /// Groups with a marked process, as in `/proc/PID/cgroup`. The whole path, since users can name
    /// their own groups after containers of other users.
    groups: BTreeSet<String>,
    /// Network namespaces of servers that a fabric still runs.
    served: BTreeSet<NamespaceId>,
}

impl Proofs {
    fn of(run: &RunId, containers: &[ContainerId]) -> Proofs {
        let mut proofs = Proofs {
            served: served_networks(processes()),
            ..Proofs::default()
        };
        for pid in processes() {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            let Some(id) = containers.iter().find(|id| {
                let only = std::slice::from_ref(*id);
                is_shim_of(&folder, only) || is_in_group_of(&folder, only)
            }) else {
                continue;
            };
            if is_shim_of(&folder, std::slice::from_ref(id)) && proofs.is_stray_shim(&folder, run) {
                proofs.by_shim.push(id.clone());
            } else if is_marked(&folder, run) && !proofs.is_served(&folder) {
                proofs.groups.insert(text_of(&folder, "cgroup"));
            } else {
                continue;
            }
            proofs.containers.push(id.clone());
        }
        proofs
    }

    /// Whether these proofs cover the process with this folder in `/proc`.
    fn hold(&self, run: &RunId, folder: &Path) -> bool {
        is_in_group_of(folder, &self.by_shim)
            || (is_shim_of(folder, &self.by_shim) && self.is_stray_shim(folder, run))
            || self.groups.contains(&text_of(folder, "cgroup"))
    }

    /// Whether a process is in the network namespace of a server that a fabric still runs.
    fn is_served(&self, folder: &Path) -> bool {
        NamespaceId::at(&folder.join("ns/net")).is_some_and(|id| self.served.contains(&id))
    }

    /// Whether a process is a shim of root that starts a container with the mark of a run that no
    /// fabric has. The shim's working folder has the container's description. `[OCI runtime]`
    fn is_stray_shim(&self, folder: &Path, run: &RunId) -> bool {
        let is_roots = fs::metadata(folder).is_ok_and(|status| status.uid() == geteuid().as_raw());
        let described = fs::read(folder.join("cwd/config.json")).unwrap_or_default();
        let described: serde_json::Value = serde_json::from_slice(&described).unwrap_or_default();
        let environment = described["process"]["env"].as_array();
        let mark = format!("{MARK}={run}");
        is_roots
            && environment.is_some_and(|entries| entries.iter().any(|entry| *entry == *mark))
            && !is_described_as_served(&described, &folder.join("root"), &self.served)
    }
}

fn text_of(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

/// Whether a process is the shim that containerd started for one of these containers:
/// `containerd-shim… -id ID`.
fn is_shim_of(folder: &Path, containers: &[ContainerId]) -> bool {
    let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
    if !name.starts_with("containerd-shim") {
        return false;
    }
    let line = fs::read(folder.join("cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
    words
        .windows(2)
        .any(|pair| pair[0] == b"-id" && containers.iter().any(|id| id.0.as_bytes() == pair[1]))
}

/// Whether a process is in a control group of one of these containers.
fn is_in_group_of(folder: &Path, containers: &[ContainerId]) -> bool {
    let groups = text_of(folder, "cgroup");
    groups
        .lines()
        .any(|line| line.split('/').any(|name| is_group_name(name, containers)))
}

/// Whether a control group is named after one of these containers, by cgroupfs (`ID`) or by systemd
/// (`docker-ID.scope`).
fn is_group_name(name: &str, containers: &[ContainerId]) -> bool {
    let id = id_in(name);
    containers.iter().any(|container| container.0 == id)
}

/// The container id in the name of a control group: the name itself (`ID`), or by systemd
/// `docker-ID.scope`, `cri-containerd-ID.scope`, `crio-ID.scope`.
fn id_in(name: &str) -> &str {
    let scope = name.strip_suffix(".scope");
    scope.and_then(|name| name.rsplit('-').next()).unwrap_or(name)
}

/// The first process in each of these containers, by server: the one with number 1 inside the
/// container. Found by their control groups, so that no socket of a container runtime is needed;
/// requires the host's process ids (`hostPID` of a pod).
pub fn processes_of(containers: &BTreeMap<u32, ContainerId>) -> error::Result<BTreeMap<u32, u32>> {
    let wanted: BTreeMap<&str, u32> = containers
        .iter()
        .map(|(server, id)| (id.0.as_str(), *server))
        .collect();
    let mut first: BTreeMap<u32, (bool, u32)> = BTreeMap::new();
    for pid in processes() {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let groups = text_of(&folder, "cgroup");
        let mut names = groups.lines().flat_map(|line| line.split('/'));
        if let Some(server) = names.find_map(|name| wanted.get(id_in(name))) {
            let this = (!is_first(&folder), pid);
            let best = first.entry(*server).or_insert(this);
            *best = this.min(*best);
        }
    }
    if let Some((server, id)) = containers.iter().find(|(server, _)| !first.contains_key(server)) {
        let limit = "a container that runs on this host";
        let fix =
            "wire it on the host that it is on, and let cubeyard-fabric see the host's processes (hostPID)";
        return Err(FabricError::bad(
            format!("containers.{server}"),
            &id.0,
            limit,
            fix,
        ));
    }
    Ok(first
        .into_iter()
        .map(|(server, (_, pid))| (server, pid))
        .collect())
}

/// Calls `act` for each process of this container in this network namespace, including processes
/// that start meanwhile. Skips processes in other network namespaces: they do not belong to the
/// caller.
pub fn each_process(container: &ContainerId, network: NamespaceId, act: impl Fn(&Process)) {
    let mut seen = BTreeSet::new();
    for _ in 0..MAX_LOOKS {
        let mut more = false;
        for pid in processes() {
            let folder = PathBuf::from(format!("/proc/{pid}"));
            if seen.contains(&pid) || !is_in_group_of(&folder, std::slice::from_ref(container)) {
                continue;
            }
            // Watched before the test, so that its process id cannot be reused in between.
            let Ok(process) = Process::watch(pid) else {
                continue;
            };
            if Namespace::of_process(pid).and_then(|its| its.id()).ok() == Some(network) {
                act(&process);
                more = true;
            }
            seen.insert(pid);
        }
        if !more {
            return;
        }
    }
}

/// Process ids of all processes.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process is number 1 in its own namespace of processes. `[man 5 proc]`
fn is_first(folder: &Path) -> bool {
    let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| numbers.split_whitespace().last() == Some("1"))
}

/// The control groups of these containers below a folder, in every hierarchy.
fn groups_of(root: &Path, containers: &[ContainerId]) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    let mut waiting = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = waiting.pop() {
        for child in folders_in(&folder) {
            let name = child.file_name().unwrap_or_default().to_string_lossy();
            if is_group_name(&name, containers) {
                groups.push(child);
            } else if depth < MAX_DEPTH {
                waiting.push((child, depth + 1));
            }
        }
    }
    groups
}

/// Removes a group and its subgroups; returns whether the group no longer exists. A group with a
/// process in it stays.
fn remove_group(group: &Path) -> bool {
    for child in folders_in(group) {
        remove_group(&child);
    }
    match fs::remove_dir(group) {
        Ok(()) => true,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(start: &str) -> ContainerId {
        ContainerId(format!("{start}{}", "0".repeat(64 - start.len())))
    }

    #[test]
    fn only_whole_ids_of_containers_are_taken() {
        let read = |text: &str| serde_json::from_value::<ContainerId>(serde_json::json!(text)).is_ok();
        assert!(read(&"0af9".repeat(16)));
        for wrong in ["", "/", "0af9", &"0afg".repeat(16), &"0af9".repeat(17)] {
            assert!(!read(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_container_that_runs_nowhere_here_is_refused_by_its_server() {
        let error = processes_of(&BTreeMap::from([(7, id("e5"))])).expect_err("nobody has this id");
        assert!(error.message.contains("containers.7"), "{}", error.message);
        assert!(
            processes_of(&BTreeMap::new())
                .expect("nothing to find")
                .is_empty()
        );
    }

    #[test]
    fn every_runtimes_name_of_a_group_holds_the_id() {
        let ours = id("f6");
        for name in ["", "docker-", "cri-containerd-", "crio-"] {
            let systemd = format!("{name}{}.scope", ours.0);
            assert!(is_group_name(&systemd, std::slice::from_ref(&ours)), "{systemd}");
        }
        assert!(is_group_name(&ours.0, std::slice::from_ref(&ours)));
        assert!(!is_group_name("kubepods-besteffort.slice", &[ours]));
    }

    #[test]
    fn groups_are_found_by_both_names_and_no_others() {
        let root = std::env::temp_dir().join(format!("cubeyard-groups-{}", std::process::id()));
        let (ours, other) = (id("a1"), id("b2"));
        let by_name = root.join("pids/docker").join(&ours.0);
        let by_systemd = root.join(format!("unified/system.slice/docker-{}.scope", ours.0));
        let foreign = root.join("pids/docker").join(&other.0);
        for group in [&by_name.join("inner"), &by_systemd, &foreign] {
            fs::create_dir_all(group).expect("a folder");
        }
        let mut matches = groups_of(&root, std::slice::from_ref(&ours));
        matches.sort();
        assert_eq!(matches, [by_name, by_systemd]);
        assert!(matches.iter().all(|group| remove_group(group)));
        assert!(groups_of(&root, &[ours]).is_empty() && foreign.is_dir());
        fs::remove_dir_all(&root).expect("ours");
    }

    #[test]
    fn only_the_shim_of_a_container_is_its_shim() {
        let (ours, other) = (id("c3"), id("d4"));
        let folder = std::env::temp_dir().join(format!("cubeyard-shim-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let shim = |name: &str, words: &[&str]| {
            fs::write(folder.join("comm"), name).expect("a file");
            fs::write(folder.join("cmdline"), words.join("\0")).expect("a file");
            is_shim_of(&folder, std::slice::from_ref(&ours))
        };
        assert!(shim(
            "containerd-shim\n",
            &[
                "/usr/bin/containerd-shim-runc-v2",
                "-namespace",
                "moby",
                "-id",
                &ours.0
            ]
        ));
        assert!(!shim(
            "containerd-shim\n",
            &["/usr/bin/containerd-shim-runc-v2", "-id", &other.0]
        ));
        assert!(!shim(
            "containerd-shim\n",
            &["/usr/bin/containerd-shim-runc-v2", &ours.0]
        ));
        assert!(!shim("vim\n", &["vim", "-id", &ours.0]));
        fs::remove_dir_all(&folder).expect("ours");
    }
}
