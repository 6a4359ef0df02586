"""The paths of flows and their durations, for predictions over the actual paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

SPAN_SECS = 1.0
"""Minimum length of a span: an hour with moving flows has thousands of spans instead of tens of
thousands."""

Paths = list[list[int]]
"""Ids of the servers on each flow's path, including both ends."""


class PathsTaken:
    """Spans of time with the paths of all flows in each."""

    def __init__(self, flows: int) -> None:
        self._flows = flows
        self._spans: list[tuple[float, Paths]] = []
        self._seen = -1

    def add(self, secs: float, paths: Mapping[int, list[int]], changes: int) -> None:
        """Adds `secs` with these paths, given by row of the flow. `changes` must differ if the
        paths do."""
        had = self._spans[-1] if self._spans else None
        if had is None or (changes != self._seen and had[0] >= SPAN_SECS):
            self._seen = changes
            self._spans.append((secs, [paths.get(row, []) for row in range(self._flows)]))
        else:
            self._spans[-1] = (had[0] + secs, had[1])

    def fair_rates(self, rates_over: Callable[[Paths], list[float]]) -> np.ndarray | None:
        """[flow] Mean fair rate over the spans, in the unit of `rates_over`, which computes the
        rates for one span. None unless the paths of all flows are known most of the time: servers
        that do not forward report none."""
        known = [(secs, paths) for secs, paths in self._spans if secs > 0 and all(paths)]
        total_secs = sum(secs for secs, _ in self._spans)
        known_secs = sum(secs for secs, _ in known)
        if not known or known_secs < total_secs / 2:
            return None
        rates = [secs * np.array(rates_over(paths)) for secs, paths in known]
        return np.sum(rates, axis=0) / known_secs
