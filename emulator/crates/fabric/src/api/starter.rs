//! A fabric that another program has started ends some time after that program exits, for any
//! reason, once it has no runs and no callers. Until then another program may connect to the same
//! socket and use it.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::fabric::{Fabric, end_process};
use crate::error::{During, FabricError, Result};

/// A fabric ends once it had no run and no caller for this long. A program that reuses the fabric
/// stays connected.
const IDLE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// Ends this process some time after the process `starter` has ended.
pub fn end_after(fabric: &Arc<Fabric>, starter: u32) -> Result<()> {
    let pid = i32::try_from(starter).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| {
        FabricError::bad(
            "--starter",
            starter,
            "a process",
            "give the number of the process that starts this one",
        )
    })?;
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => Some(process),
        Err(Errno::SRCH) => None,
        Err(error) => return Err(error).during(|| format!("watching process {starter}")),
    };
    let fabric = fabric.clone();
    std::thread::Builder::new()
        .name("starter".to_owned())
        .spawn(move || {
            if let Some(process) = process {
                wait_until_ended(&process);
            }
            wait_until_idle(&fabric);
            let _ = writeln!(
                std::io::stderr(),
                "cubeyard-fabric: process {starter}, which started this one, is gone, and nobody needs it: it ends"
            );
            let _ = end_process();
        })
        .map(drop)
        .during(|| "watching the program that started this one".to_owned())
}

fn wait_until_ended(process: &OwnedFd) {
    let mut sources = [PollFd::new(process, PollFlags::IN)];
    while poll(&mut sources, None) == Err(Errno::INTR) {}
}

/// Returns once there has been no run and no caller for [`IDLE`].
fn wait_until_idle(fabric: &Fabric) {
    let (mut idle, mut seen) = (Duration::ZERO, fabric.callers.so_far());
    while idle < IDLE {
        std::thread::sleep(BETWEEN_LOOKS);
        let now = fabric.callers.so_far();
        idle = if now == seen && fabric.is_unused() {
            idle + BETWEEN_LOOKS
        } else {
            Duration::ZERO
        };
        seen = now;
    }
}
