"""Goodput and ABT over the last second, from the ticks' bytes by flow."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

EPSILON_SECS = 1e-6
WINDOW_SECS = 1.0
"""Rates are means over this time, which averages out the variations of TCP itself."""


@dataclass(frozen=True)
class Reading:
    """The means over the last window."""

    goodput_bits_per_sec: float
    abt_bits_per_sec: float
    stalled_flows: int
    latency_p99_secs: float | None = None
    """99th percentile of latency; None if no request ended."""


class Window:
    """Progress of the flows over the last second, or over the shorter time so far."""

    def __init__(self, flows: int) -> None:
        self._ticks: deque[tuple[float, list[int]]] = deque()
        self._sums = [0] * flows
        self._secs = 0.0

    def add(self, secs: float, goodput_bytes: list[int]) -> None:
        self._ticks.append((secs, goodput_bytes))
        self._secs += secs
        self._sums = [had + more for had, more in zip(self._sums, goodput_bytes, strict=True)]
        while self._secs - self._ticks[0][0] >= WINDOW_SECS - EPSILON_SECS:
            gone_secs, gone = self._ticks.popleft()
            self._secs -= gone_secs
            self._sums = [had - less for had, less in zip(self._sums, gone, strict=True)]

    def read(self, dead: Collection[int] = (), done: Collection[int] = ()) -> Reading:
        """`dead` are rows of flows that have lost an end. ABT only includes the others, as in a
        prediction. `[bcube §3.6]`

        `done` are rows of flows that are complete: they count neither as stalled nor as the
        slowest.
        """
        secs = max(self._secs, 1e-9)
        alive = [item for row, item in enumerate(self._sums) if row not in dead and row not in done]
        return Reading(
            sum(self._sums) * 8 / secs,
            len(alive) * min(alive, default=0) * 8 / secs,
            sum(item == 0 for row, item in enumerate(self._sums) if row not in done),
        )
