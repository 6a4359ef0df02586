//! Processes of nodes: started in a namespace, watched, ended, and found again after a crash.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_capabilities_secure_bits,
};

use crate::error::{During, FabricError, Result};
use crate::names::RunId;
use crate::namespace::{Namespace, NamespaceId};

/// In the environment of each node that we start; by it a later fabric knows whose it was.
const MARK: &str = "CUBEYARD_RUN";
/// Nobody: a node that we start needs no privilege.
pub const NOBODY: u32 = 65_534;

/// A process that is watched; its number can not go to another while this is held.
#[derive(Debug)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    descriptor: OwnedFd,
    child: Option<Child>,
}

impl Process {
    /// Watches a process that somebody else started.
    pub fn watch(pid: u32) -> Result<Process> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let raw =
            raw.ok_or_else(|| FabricError::bad("pid", pid, "a process number", "give the container's pid"))?;
        let descriptor =
            pidfd_open(raw, PidfdFlags::empty()).during(|| format!("looking for process {pid}"))?;
        Ok(Process {
            pid,
            descriptor,
            child: None,
        })
    }

    /// Starts a node inside a namespace as nobody, with no capability, or with NET_RAW alone where it forwards packets
    /// itself (`raw_sockets`). Its socket is `fabric.sock` in `folder`.
    pub fn start_node(
        program: &Path,
        run: &RunId,
        namespace: &Namespace,
        folder: &Path,
        raw_sockets: bool,
    ) -> Result<Process> {
        let failed = || format!("starting {}", program.display());
        // Reached by descriptor: nobody may not pass through the folders of whoever installed us.
        let (file, place) = (
            File::open(program).during(failed)?,
            File::open(folder).during(failed)?,
        );
        let by_descriptor = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut command = Command::new(by_descriptor(&file));
        command
            .arg0(program)
            .args(["--socket", "fabric.sock"])
            .env_clear()
            .env(MARK, run.as_str());
        command.current_dir(by_descriptor(&place)).process_group(0);
        command.uid(NOBODY).gid(NOBODY);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A child has the namespace of the thread that makes it.
        let child = namespace.run(|| {
            if raw_sockets {
                hand_down_raw_sockets().during(failed)?;
            }
            command.spawn().during(failed)
        })?;
        let mut process = Process::watch(child.id())?;
        process.child = Some(child);
        Ok(process)
    }

    /// Ends it at once.
    pub fn kill(&self) {
        // It may have ended by itself.
        let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
    }

    /// Stops it, or lets it go on.
    pub fn freeze(&self, frozen: bool) {
        let _ = pidfd_send_signal(&self.descriptor, if frozen { Signal::STOP } else { Signal::CONT });
    }

    /// Collects a process of ours that has ended.
    pub fn collect(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// Has the programs that the calling thread starts keep NET_RAW, whoever they run as.
fn hand_down_raw_sockets() -> rustix::io::Result<()> {
    let own = capabilities(None)?;
    let inheritable = own.inheritable | CapabilitySet::NET_RAW;
    set_capabilities(None, CapabilitySets { inheritable, ..own })?;
    // Otherwise the change from root to nobody would take what is handed down.
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    configure_capability_in_ambient_set(CapabilitySet::NET_RAW, true)
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Ends the nodes that a fabric before us started for a run: those with the run's mark, in one of its namespaces.
pub fn kill_marked(run: &RunId, namespaces: &[NamespaceId]) -> usize {
    let mark = format!("{MARK}={run}");
    kill_where(|folder| {
        let namespace = fs::metadata(folder.join("ns/net")).ok()?;
        let id = NamespaceId {
            device: namespace.dev(),
            inode: namespace.ino(),
        };
        let environment = fs::read(folder.join("environ")).ok()?;
        let marked = environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == mark.as_bytes());
        Some(marked && namespaces.contains(&id))
    })
}

/// Ends what is left of containers that are gone: an engine that is killed while it starts one forgets the process in it.
pub fn kill_strays(containers: &[ContainerId]) -> usize {
    if containers.is_empty() {
        return 0;
    }
    kill_where(|folder| {
        let groups = fs::read_to_string(folder.join("cgroup")).ok()?;
        let of_ours = |group: &str| containers.iter().any(|id| group.ends_with(&format!("/{}", id.0)));
        Some(groups.lines().any(of_ours))
    })
}

/// The number that an engine gives a container: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct ContainerId(String);

impl TryFrom<String> for ContainerId {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<ContainerId, String> {
        let well = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        well.then_some(ContainerId(text))
            .ok_or_else(|| "a container's id has 64 hexadecimal digits".to_owned())
    }
}

/// Ends the processes of which this holds, told by their folder in `/proc`.
fn kill_where(holds: impl Fn(&Path) -> Option<bool>) -> usize {
    let mut killed = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // Held before it is looked at, so that the number cannot go to another in between.
        if let Ok(process) = Process::watch(pid)
            && holds(&entry.path()) == Some(true)
        {
            process.kill();
            wait_for_end(&process);
            killed += 1;
        }
    }
    killed
}

/// Waits until a killed process has ended; the kernel may take its time, but not for ever.
pub fn wait_for_end(process: &Process) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let limit = Timespec {
        tv_sec: 5,
        tv_nsec: 0,
    };
    let _ = poll(
        &mut [PollFd::new(&process.descriptor, PollFlags::IN)],
        Some(&limit),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_ids_of_containers_are_taken() {
        let read = |text: &str| serde_json::from_value::<ContainerId>(serde_json::json!(text)).is_ok();
        assert!(read(&"0af9".repeat(16)));
        for wrong in ["", "/", "0af9", &"0afg".repeat(16), &"0af9".repeat(17)] {
            assert!(!read(wrong), "{wrong}");
        }
    }
}
