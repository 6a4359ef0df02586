"""Whether the hypotheses of a run's experiment held, from its frames. Nothing is stored: it is
computed again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.engine import CancelledError, Engine
from cubeyard.experiments.hypotheses import claims_of
from cubeyard.experiments.points import Json, Point, points
from cubeyard.experiments.scenario import verdict as verdicts
from cubeyard.experiments.scenario.verdict import RunVerdict
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.results import frames_of
from cubeyard.runs.schemas import Run


def verdict(database: Database, engine: Engine, run: Run, document: Json, limit_secs: float) -> RunVerdict:
    """The verdict of a successful run; for other runs every hypothesis is inconclusive.

    Shares need the network without faults, which is computed within `limit_secs`.
    """
    claims = claims_of(document)
    if run.state != "succeeded" or not (claims or run.kind == "emulation"):
        reason = f"The run {run.state}." if run.state in ("failed", "cancelled") else "The run has not ended."
        return verdicts.whole([verdicts.inconclusive(claim, reason) for claim in claims])
    if run.kind == "emulation":
        for frame in frames_of(database, run.id):
            if frame.kind == "report":
                return verdicts.of_emulation(claims, orjson.loads(frame.payload))
        raise ProblemError(409, "no-report", f"Run {run.id} has no report.")
    return verdicts.whole(
        verdicts.of_points(claims, _results(database, run, document), _Baselines(engine, limit_secs).of)
    )


def _results(database: Database, run: Run, document: Json) -> Iterator[tuple[Point, Json]]:
    """The points in the order of their frames, each with its result."""
    every = {point.number: point for point in points(document)}
    for frame in frames_of(database, run.id):
        if frame.kind in ("point", "simulation"):
            payload: Any = orjson.loads(frame.payload)
            yield every[payload["point"]], payload["result"]


class _Baselines:
    """Networks without faults, each computed once, all of them within a time."""

    def __init__(self, engine: Engine, limit_secs: float) -> None:
        self._engine = engine
        self._limit_secs = limit_secs
        self._ends: float | None = None
        self._known: dict[tuple[int, int], Json | str] = {}

    def of(self, point: Point) -> Json | str:
        key = (point.topology, point.seed)
        if key not in self._known:
            self._known[key] = self._computed(verdicts.without_faults(point))
        return self._known[key]

    def _computed(self, point: Point) -> Json | str:
        def in_time(*_: int) -> bool:
            # The wait for the engine's other callers does not count.
            now = time.monotonic()
            self._ends = now + self._limit_secs if self._ends is None else self._ends
            return now < self._ends

        try:
            return orjson.loads(self._engine.predict_in_turn(point.spec, point.experiment, in_time))
        except CancelledError:
            return (
                f"The network without faults takes longer than {self._limit_secs:g} s to compute. "
                "Run the scenario on the command line: `cubeyard scenario run`."
            )
