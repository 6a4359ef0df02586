//! Processes of nodes: starting them in a namespace, watching and ending them, and finding them
//! after a crash.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_capabilities_secure_bits,
};

use crate::error::{During, FabricError, Result};
use crate::host::belonging::{MARK, is_marked};
use crate::host::folder::Folder;
use crate::host::namespace::{Namespace, NamespaceId};
use crate::names::RunId;

/// The user `nobody`: a node that we start needs no privilege.
pub const NOBODY: u32 = 65_534;

/// A watched process. Its process id is not reused while it has not ended.
#[derive(Debug)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    descriptor: OwnedFd,
    child: Option<Child>,
}

impl Process {
    /// Watches a process that was started elsewhere.
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

    /// Starts a node inside a namespace as the user `nobody`, without any capability, or with only
    /// NET_RAW if it forwards packets itself (`raw_sockets`). The node connects to the socket
    /// `fabric.sock` in `folder`.
    pub fn start_node(
        program: &Path,
        run: &RunId,
        namespace: &Namespace,
        folder: &Folder,
        raw_sockets: bool,
    ) -> Result<Process> {
        let failed = || format!("starting {}", program.display());
        // Opened before the user changes: `nobody` may have no access to the folders of the path.
        let file = File::open(program).during(failed)?;
        let mut command = Command::new(format!("/proc/self/fd/{}", file.as_raw_fd()));
        command
            .arg0(program)
            .args(["--socket", "fabric.sock"])
            .env_clear()
            .env(MARK, run.as_str());
        command.current_dir(folder.by_descriptor(".")).process_group(0);
        command.uid(NOBODY).gid(NOBODY);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // A child gets the namespace of the thread that starts it.
        let child = namespace.run(|| {
            if raw_sockets {
                keep_raw_sockets().during(failed)?;
            }
            command.spawn().during(failed)
        })?;
        let mut process = Process::watch(child.id())?;
        process.child = Some(child);
        Ok(process)
    }

    /// Sends SIGKILL to the process.
    pub fn kill(&self) {
        // The process may already have ended, so a failure is ignored.
        let _ = pidfd_send_signal(&self.descriptor, Signal::KILL);
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut [PollFd::new(&self.descriptor, PollFlags::IN)], Some(&now)) != Ok(0)
    }

    /// Pauses or resumes the process.
    pub fn freeze(&self, frozen: bool) {
        let _ = pidfd_send_signal(&self.descriptor, if frozen { Signal::STOP } else { Signal::CONT });
    }

    /// Waits for a child process that has ended or is about to.
    pub fn collect(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }
}

/// Lets programs that the calling thread starts keep NET_RAW, for any user.
fn keep_raw_sockets() -> rustix::io::Result<()> {
    let own = capabilities(None)?;
    let inheritable = own.inheritable | CapabilitySet::NET_RAW;
    set_capabilities(None, CapabilitySets { inheritable, ..own })?;
    // Otherwise the change from root to another user would drop the capability.
    set_capabilities_secure_bits(CapabilitiesSecureBits::NO_SETUID_FIXUP)?;
    configure_capability_in_ambient_set(CapabilitySet::NET_RAW, true)
}

impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Ends the nodes that an earlier fabric started for a run: those with the run's mark in one of its
/// namespaces.
pub fn kill_marked(run: &RunId, namespaces: &[NamespaceId]) -> usize {
    kill_where(|folder| {
        let id = NamespaceId::at(&folder.join("ns/net"))?;
        Some(is_marked(folder, run) && namespaces.contains(&id))
    })
}

/// Ends the processes that `holds` accepts; `holds` gets a process's folder in `/proc`.
pub(super) fn kill_where(holds: impl Fn(&Path) -> Option<bool>) -> usize {
    let mut killed = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // Watched before the test, so that its process id cannot be reused in between.
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

/// Waits until a killed process has ended, for 5 s at most.
pub fn wait_for_end(process: &Process) {
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
    fn a_watched_process_has_ended_whoever_has_its_number_then() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("it starts");
        let process = Process::watch(child.id()).expect("it runs");
        assert!(!process.has_ended());
        process.kill();
        child.wait().expect("a child");
        assert!(process.has_ended());
    }
}
