//! Scheduling of threads: priority and processor.

#![allow(unsafe_code, reason = "no library sets the scheduler of a thread")]

use nix::libc;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Lowest real-time priority, above all normal programs.
const PRIORITY: libc::c_int = 1;

/// Gives the calling thread real-time priority: once woken, it runs before all normal programs.
/// Such a thread must sleep most of the time. Returns whether the kernel allows it.
pub fn run_at_once() -> bool {
    // SAFETY: the structure has no other relevant fields, and the call only reads it.
    unsafe {
        let mut wanted: libc::sched_param = std::mem::zeroed();
        wanted.sched_priority = PRIORITY;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const wanted) == 0
    }
}

/// Pins the calling thread to one processor: waking it there does not interrupt another processor,
/// which takes a virtual machine 20 us. Returns whether the kernel allows it.
pub fn run_on(processor: u32) -> bool {
    let at = processor as usize;
    if at >= CpuSet::MAX_CPU {
        return false;
    }
    let mut only = CpuSet::new();
    only.set(at);
    sched_setaffinity(None, &only).is_ok()
}

#[cfg(test)]
mod tests {
    use rustix::thread::{sched_getaffinity, sched_getcpu};

    use super::*;

    #[test]
    fn a_thread_runs_on_the_processor_that_it_is_told_and_on_no_unknown_one() {
        let allowed = sched_getaffinity(None).unwrap();
        for at in (0..CpuSet::MAX_CPU).filter(|at| allowed.is_set(*at)) {
            assert!(run_on(at as u32));
            assert_eq!(sched_getcpu(), at);
        }
        assert!(!run_on(CpuSet::MAX_CPU as u32));
    }
}
