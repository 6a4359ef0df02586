"""The session's clock: seconds since the measurement began, of anything that has a time on the
machine's monotonic clock."""

from __future__ import annotations

import time


class Clock:
    """A clock that is set by ticks, which contain the time of their sample.

    A tick arrives some time after its sample: the shortest delay so far is assumed to be zero. This
    never makes the time of a later event earlier, so causes stay before their effects even if a
    frame is read late. [ours]
    """

    def __init__(self, settle_secs: float = 0.0) -> None:
        self._settle_secs = settle_secs
        self._start_nanos: int | None = None

    def sampled(self, at_secs: float, now_nanos: int | None = None) -> None:
        """A tick that was sampled `at_secs` after the traffic began is here now."""
        now_nanos = time.monotonic_ns() if now_nanos is None else now_nanos
        start = now_nanos - round(at_secs * 1e9)
        self._start_nanos = start if self._start_nanos is None else min(start, self._start_nanos)

    def secs(self, at_nanos: int) -> float:
        """Seconds since the measurement began, negative while settling. Needs a tick first."""
        start = at_nanos if self._start_nanos is None else self._start_nanos
        return (at_nanos - start) / 1e9 - self._settle_secs
