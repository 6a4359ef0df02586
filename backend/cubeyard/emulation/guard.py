"""The hypothesis of a session, watched tick by tick."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

from cubeyard.experiments.emulation import Hypothesis

Json = dict[str, Any]

WINDOW_SECS = 1.0
"""Rates are means over this long: TCP's own swings are not the network's."""
UNITS = {
    "goodput": "bit/s",
    "abt": "bit/s",
    "goodput-share": "of before",
    "abt-share": "of before",
    "stalled-flows": "flows",
}


@dataclass(frozen=True)
class Reading:
    """Means over the last window."""

    goodput_bits_per_sec: float
    abt_bits_per_sec: float
    stalled_flows: int


class Window:
    """The flows' progress over the last second, or the less that there is of it."""

    def __init__(self, flows: int) -> None:
        self._ticks: deque[tuple[float, list[int]]] = deque()
        self._sums = [0] * flows
        self._secs = 0.0

    def add(self, secs: float, goodput_bytes: list[int]) -> None:
        self._ticks.append((secs, goodput_bytes))
        self._secs += secs
        self._sums = [had + more for had, more in zip(self._sums, goodput_bytes, strict=True)]
        while self._secs - self._ticks[0][0] >= WINDOW_SECS - 1e-6:
            gone_secs, gone = self._ticks.popleft()
            self._secs -= gone_secs
            self._sums = [had - less for had, less in zip(self._sums, gone, strict=True)]

    def read(self, dead: Collection[int] = (), done: Collection[int] = ()) -> Reading:
        """`dead` are rows of flows that have lost an end: ABT is of the others, as it is predicted. `[bcube §3.6]`

        `done` are rows of flows that have carried all they had to: they are not stalled, nor is any of them the slowest.
        """
        secs = max(self._secs, 1e-9)
        alive = [one for row, one in enumerate(self._sums) if row not in dead and row not in done]
        return Reading(
            sum(self._sums) * 8 / secs,
            len(alive) * min(alive, default=0) * 8 / secs,
            sum(one == 0 for row, one in enumerate(self._sums) if row not in done),
        )


class Guard:
    """Tells when the hypothesis has been broken for longer than it forgives."""

    def __init__(self, hypothesis: Hypothesis | None) -> None:
        self.hypothesis = hypothesis
        self._broken_secs = 0.0
        self._before = Reading(0.0, 0.0, 0)
        """The rates of all readings from before the first fault, added up."""
        self._before_count = 0
        self.violations = 0
        self.worst: float | None = None
        self.broken_at_secs: float | None = None

    def before(self, reading: Reading) -> None:
        """A reading from before the first fault: what shares are of."""
        had = self._before
        self._before = Reading(
            had.goodput_bits_per_sec + reading.goodput_bits_per_sec,
            had.abt_bits_per_sec + reading.abt_bits_per_sec,
            0,
        )
        self._before_count += 1

    def value(self, reading: Reading) -> float | None:
        """The metric now; None while a share has nothing to be of."""
        assert self.hypothesis is not None
        metric = self.hypothesis.metric
        if metric == "stalled-flows":
            return float(reading.stalled_flows)
        now, before = (
            one.goodput_bits_per_sec if metric.startswith("goodput") else one.abt_bits_per_sec
            for one in (reading, self._before)
        )
        if not metric.endswith("-share"):
            return now
        return now * self._before_count / before if before > 0 else None

    def watch(self, at_secs: float, secs: float, reading: Reading) -> bool:
        """Whether the run is to be aborted now."""
        if self.hypothesis is None or (value := self.value(reading)) is None:
            return False
        most = self.hypothesis.metric == "stalled-flows"
        if self.worst is None or (value > self.worst if most else value < self.worst):
            self.worst = value
        if value > self.hypothesis.bound if most else value < self.hypothesis.bound:
            self.violations += 1
            self._broken_secs += secs
        else:
            self._broken_secs = 0.0
        if self._broken_secs < self.hypothesis.for_secs - 1e-6 or self.broken_at_secs is not None:
            return False
        self.broken_at_secs = at_secs
        return self.hypothesis.abort

    @property
    def outcome(self) -> Literal["held", "broken", "none"]:
        if self.worst is None:
            return "none"
        return "held" if self.broken_at_secs is None else "broken"

    def document(self) -> Json:
        if self.hypothesis is None:
            return {"outcome": "none", "sentence": "The run had no hypothesis."}
        hypothesis = self.hypothesis
        unit = UNITS[hypothesis.metric]
        bound = f"at {'most' if hypothesis.metric == 'stalled-flows' else 'least'} {hypothesis.bound:g} {unit}"
        if self.worst is None:
            sentence = f"{hypothesis.metric} is not known: nothing was received before the first fault."
        elif self.broken_at_secs is None:
            sentence = f"{hypothesis.metric} stayed {bound}, or was back within {hypothesis.for_secs:g} s."
        else:
            sentence = (
                f"{hypothesis.metric} was not {bound} for {hypothesis.for_secs:g} s, at {self.broken_at_secs:.1f} s."
            )
        return {
            "outcome": self.outcome,
            "sentence": sentence,
            **hypothesis.model_dump(),
            "unit": unit,
            "worst": self.worst,
            "violations": self.violations,
            "broken_at_secs": self.broken_at_secs,
        }
