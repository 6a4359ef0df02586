//! The monotonic clock: the same for all containers of a host, so that their events can be
//! compared.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The current time on CLOCK_MONOTONIC.
pub fn now() -> Duration {
    // This clock always exists. Zero as a fallback would only delay timers.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from)
}
