//! The monotonic clock, which all times of events and answers use, and timers on it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

use crate::error::{During, Result};

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn monotonic_nanos() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A timer that becomes readable once in each period.
pub fn timer(period: Duration) -> Result<OwnedFd> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
        .during(|| "making a timer".to_owned())?;
    let period = Timespec {
        tv_sec: period.as_secs() as i64,
        tv_nsec: i64::from(period.subsec_nanos()),
    };
    let setting = Itimerspec {
        it_interval: period,
        it_value: period,
    };
    rustix::time::timerfd_settime(&timer, TimerfdTimerFlags::empty(), &setting)
        .during(|| "setting a timer".to_owned())?;
    Ok(timer)
}
