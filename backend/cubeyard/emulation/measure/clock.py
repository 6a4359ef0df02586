"""The session's clock: converts times on the machine's monotonic clock to seconds since the
measurement began."""

from __future__ import annotations

import time


class Clock:
    """A clock that is set by ticks, which contain the time of their sample.

    A tick arrives some time after its sample: the shortest delay so far is assumed to be zero. This
    keeps the order of events, so causes precede their effects even if a frame is read late. [ours]
    """

    def __init__(self, settle_secs: float = 0.0) -> None:
        self._settle_secs = settle_secs
        self._start_nanos: int | None = None

    def sampled(self, at_secs: float, now_nanos: int | None = None) -> None:
        """Sets the clock by a tick that was sampled `at_secs` after the traffic began and has just
        arrived."""
        now_nanos = time.monotonic_ns() if now_nanos is None else now_nanos
        start = now_nanos - round(at_secs * 1e9)
        self._start_nanos = start if self._start_nanos is None else min(start, self._start_nanos)

    def secs(self, at_nanos: int) -> float:
        """Seconds since the measurement began; negative while flows settle. Requires a tick."""
        start = at_nanos if self._start_nanos is None else self._start_nanos
        return (at_nanos - start) / 1e9 - self._settle_secs
