//! How soon the kernel lets a thread run.

#![allow(unsafe_code, reason = "no library sets the scheduler of a thread")]

use nix::libc;

/// The least priority of those that go before all other programs.
const PRIORITY: libc::c_int = 1;

/// Has the calling thread run as soon as it is woken, before any program of the usual kind. It must work little and sleep. Whether
/// the kernel grants it.
pub fn run_at_once() -> bool {
    // SAFETY: the structure has no other fields that mean anything here, and the call reads it alone.
    unsafe {
        let mut wanted: libc::sched_param = std::mem::zeroed();
        wanted.sched_priority = PRIORITY;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) == 0
    }
}
