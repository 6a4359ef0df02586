//! The duties of a container's first process: it must reap orphans, and end on SIGTERM or SIGINT,
//! for which the kernel gives it no default action.

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{Id, WaitPidFlag, waitid};

/// A descriptor that receives signals of this process.
#[derive(Debug)]
pub struct Signals(pub SignalFd);

impl Signals {
    /// Blocks the signals, so that they arrive at the descriptor.
    pub fn new() -> nix::Result<Signals> {
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGCHLD] {
            mask.add(signal);
        }
        mask.thread_block()?;
        SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map(Signals)
    }

    /// Handles received signals; returns whether the process should end.
    pub fn handle(&self) -> bool {
        let mut ends = false;
        while let Ok(Some(signal)) = self.0.read_signal() {
            if signal.ssi_signo == libc::SIGCHLD as u32 {
                bury_children();
            } else {
                ends = true;
            }
        }
        ends
    }
}

fn bury_children() {
    loop {
        match waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(nix::sys::wait::WaitStatus::StillAlive) | Err(Errno::ECHILD) => return,
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
    }
}
