"""Estimates the duration of a run on this machine from a short measurement: two points of each
topology are started and timed.

The points with the least and the most failures are each computed for a short time. If a point does
not end within this time, its remaining time is extrapolated from the flows routed so far. The
result is a range. [ours]
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from cubeyard.engine import CancelledError, Engine, Json
from cubeyard.experiments.points import Point, count, extremes

MEASURE_SECS = 1.2
"""The approximate time of all measurements of one estimate together."""
LEAST_SAMPLE_SECS = 0.12
"""The engine reports progress every 0.05 s."""
WRITE_SECS = (0.002, 0.01, 0.03)
"""Writing a point's frame: a transaction on a local disk at its best, as usual, on a busy one."""
SPREAD_MEASURED = (0.7, 1.7)
SPREAD_EXTRAPOLATED = (0.5, 2.5)
"""The possible error of a point's time: other load on the machine, and different flows."""
TIMED_FLOWS = 100_000
"""Fair rates among more flows than this are not tried for an estimate: they cannot be broken off
soon."""


@dataclass(frozen=True)
class Timing:
    """Seconds a point takes; `most` is None if nothing bounds it."""

    least: float
    likely: float
    most: float | None
    whole: bool
    """Whether the point was computed to its end."""


@dataclass(frozen=True)
class Estimate:
    low_secs: float
    expected_secs: float
    high_secs: float | None
    measured_secs: float
    whole: bool


def timed(secs: float) -> Estimate:
    """The estimate of a run with a given duration."""
    return Estimate(secs, secs, secs * SPREAD_MEASURED[1], 0.0, whole=False)


def estimate(engine: Engine, document: Json, outlines: list[Json]) -> Estimate:
    """The estimate of a document's whole run; its points were checked before."""
    began = time.perf_counter()
    pairs = extremes(document)
    samples = sum(1 if first == last else 2 for first, last in pairs)
    budget_secs = max(LEAST_SAMPLE_SECS, MEASURE_SECS / samples)
    points = count(document) / len(pairs)
    low = expected = 0.0
    high: float | None = 0.0
    whole = True
    for (first, last), outline in zip(pairs, outlines, strict=True):
        timings = [
            _timed(engine, point, outline, budget_secs) for point in ([first] if first == last else [first, last])
        ]
        low += points * (min(timing.least for timing in timings) + WRITE_SECS[0])
        expected += points * (sum(timing.likely for timing in timings) / len(timings) + WRITE_SECS[1])
        bounds = [timing.most for timing in timings if timing.most is not None]
        if high is not None:
            high = high + points * (max(bounds) + WRITE_SECS[2]) if len(bounds) == len(timings) else None
        whole = whole and all(timing.whole for timing in timings)
    return Estimate(low, expected, high, time.perf_counter() - began, whole)


def _timed(engine: Engine, point: Point, outline: Json, budget_secs: float) -> Timing:
    """One point, computed for as long as the budget lasts."""
    began = time.perf_counter()
    routing_from: float | None = None
    share = 0.0

    def in_time(done: int, total: int) -> bool:
        nonlocal routing_from, share
        now = time.perf_counter() - began
        if total > 0:
            routing_from = now if routing_from is None else routing_from
            share = done / total
        return now < budget_secs

    skips_rates = outline["keeps_paths"] and outline["flows"] > TIMED_FLOWS
    request = {**point.experiment, "max_min": False, "flow_gigabits": None} if skips_rates else point.experiment
    try:
        engine.predict_in_turn(point.spec, request, in_time)
    except CancelledError:
        elapsed = time.perf_counter() - began
        if routing_from is None or share <= 0:
            return Timing(elapsed, elapsed, None, whole=False)
        likely = elapsed / share
        # The share covers only the routing, not the steps after it.
        bounded = not outline["keeps_paths"] and share < 1
        low, high = SPREAD_EXTRAPOLATED
        return Timing(max(elapsed, likely * low), likely, likely * high if bounded else None, whole=False)
    elapsed = time.perf_counter() - began
    low, high = SPREAD_MEASURED
    return Timing(elapsed * low, elapsed, None if skips_rates else elapsed * high, whole=not skips_rates)
