"""Doing a run: the points that are missing, each written as a frame as soon as it is there.

A thread beside the engine says four times a second that the worker lives and how far it is, and hears in the answer whether
the run is still its own. So a cancelled run ends its work within a second, and a killed worker's run is taken up by another
exactly where it was. [ours]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import orjson
import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.points import Json, Point, points
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.frames import Frames, Lease, OverError, own
from cubeyard.runs.models import RunRow
from cubeyard.runs.predictor import FigureMaker, Predictor
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.service import enter

log = structlog.get_logger(__name__)

AGAIN_SECS = 1.0
WORKER_STOPPED = "Its worker was stopped; it goes on with the next one."
TO_LONG_LANE = "It goes on in the lane for long runs."
LEAST_BETWEEN_PARTIALS_SECS = 0.25
SHARE_BETWEEN_PARTIALS = 0.05
"""Of the time that a figure has taken so far."""


class RunsEngine(Protocol):
    """Runs an engine that the binding does not compute."""

    def run(self, run_id: str, document: Json, frames: Frames) -> None:
        """Do an experiment's run, frame by frame, up to the one that is point 0. Raises OverError when it is over."""
        ...


@dataclass(frozen=True)
class Begun:
    """A run that this worker has taken up."""

    run: RunRow
    document: Json | None
    """Of its experiment; a figure has none."""
    todo: list[Point]
    """The points that it lacks."""
    done: int

    @property
    def computed(self) -> bool:
        """Whether the binding computes its points."""
        return self.document is not None and ENGINES[self.document["engine"]].computed


class RunRunner:
    """Does one run at a time, by its id. Safe to call again for a run that was left half done."""

    def __init__(
        self,
        database: Database,
        engine: Predictor,
        stopping: Callable[[], bool] | None = None,
        runners: Mapping[str, RunsEngine] | None = None,
        figures: FigureMaker | None = None,
        quick_secs: float | None = None,
    ) -> None:
        """`quick_secs`: after so long a run goes on in the lane for long runs; None in that lane."""
        self._database = database
        self._engine = engine
        self._runners = runners or {}
        """Of the engines that the binding does not compute, by name."""
        self._figures: FigureMaker = figures or engine
        self._queue = RunQueue()
        self._stopping = stopping or (lambda: False)
        self._quick_secs = quick_secs

    def __call__(self, run_id: str) -> None:
        begun = self._begin(run_id)
        if begun is None:
            return
        run = begun.run
        bound = log.bind(run=run_id, attempt=run.attempts)
        started = time.perf_counter()
        lease = self._lease(run)
        try:
            with lease.renewed():
                frames = Frames(self._database, lease)
                if run.figure is not None:
                    self._figure(run, frames)
                elif begun.computed:
                    self._points(begun, frames)
                else:
                    self._one_point(begun, frames)
                lease.check()
        except OverError:
            bound.info("run_over", given_back=self._give_back(lease))
        except DBAPIError as error:
            full = self._database.full(error)
            if full is None:
                raise  # the queue tries again; if the run was begun, the reaper gives it on
            bound.warning("run_failed", error=full.detail)
            self._end(lease, "failed", full.detail)
        except Exception as error:
            if not lease.held():
                bound.info("run_over", given_back=self._give_back(lease))
                return
            bound.exception("run_failed")
            said = error.detail if isinstance(error, ProblemError) else f"{type(error).__name__}: {error}"
            self._end(lease, "failed", said)
        else:
            self._end(lease, "succeeded", "")
            bound.info("run_succeeded", seconds=round(time.perf_counter() - started, 2))

    def _lease(self, run: RunRow) -> Lease:
        """Held until the worker is told to stop, and no longer than this lane allows."""
        until = None if self._quick_secs is None else time.monotonic() + self._quick_secs
        lease = Lease(
            self._database,
            run.id,
            run.attempts,
            lambda: self._stopping() or (until is not None and time.monotonic() > until),
        )
        lease.progress = run.progress
        return lease

    def _begin(self, run_id: str) -> Begun | None:
        """None if there is nothing to do."""
        with self._database.session() as session:
            repository = RunRepository(session)
            row = repository.run(run_id, lock=True)
            if row is None or row.state != "queued":
                return None
            document: Json | None = None
            had = repository.points_of(run_id)
            if row.experiment_id is not None:
                experiment = ExperimentRepository(session).experiment(row.experiment_id)
                assert experiment is not None, "runs go with their experiment"
                document = experiment.document
            todo = [point for point in points(document) if point.number not in had] if document is not None else []
            row.attempts += 1
            row.points_done = len(had)
            row.progress = row.progress_at_start = len(had) / row.points_total
            row.engine_version = self._engine.version
            row.started_at = row.heartbeat_at = repository.now()
            enter(repository, row, "running", "")
            return Begun(row, document, todo, len(had))

    def _points(self, begun: Begun, frames: Frames) -> None:
        assert begun.document is not None
        lease, done, total = frames.lease, begun.done, begun.run.points_total
        kind, *so_far = ENGINES[begun.document["engine"]].frames
        for point in begun.todo:
            lease.check()
            told = _reporter(lease, done, total)
            show = _point_shower(frames, so_far[0], point) if so_far else None
            result = orjson.loads(self._engine.predict_json(point.spec, point.experiment, told, show))
            lease.check()
            frames.write(kind, {**point.described(), "result": result}, point.number)
            done += 1
            lease.progress = done / total

    def _one_point(self, begun: Begun, frames: Frames) -> None:
        """What a dead worker had measured of it is measured again."""
        assert begun.document is not None
        name = begun.document["engine"]
        if name not in self._runners:
            raise ProblemError(503, "no-engine", f'This worker does not run engine "{name}".')
        if begun.todo:
            self._runners[name].run(begun.run.id, begun.document, frames)

    def _figure(self, run: RunRow, frames: Frames) -> None:
        assert run.figure is not None
        if run.points_done == 0:
            told = _reporter(frames.lease, 0, 1)
            result = orjson.loads(self._figures.figure_json(run.figure, run.seeds, told, _shower(frames)))
            frames.lease.check()
            frames.write("figure", result, 0)

    def _end(self, lease: Lease, state: str, reason: str) -> None:
        """Room for this is kept on the database's disk. Where it is not enough, this takes until there is some, or the worker
        is told to stop."""
        full = False
        while True:
            try:
                with self._database.session() as session:
                    repository = RunRepository(session)
                    enter(repository, own(repository, lease), state, reason)
            except OverError:
                log.info("run_over", run=lease.run_id)
            except DBAPIError as error:
                if self._database.full(error) is None or self._stopping():
                    raise
                if full:
                    time.sleep(AGAIN_SECS)
                full = True
                self._database.spend_reserve()
                continue
            if full:
                self._database.keep_reserve()
            return

    def _give_back(self, lease: Lease) -> bool:
        """A run that takes too long for its lane, or whose worker is told to stop, goes to another worker; one that is lost
        has nothing to give."""
        try:
            with self._database.session() as session:
                repository = RunRepository(session)
                row = own(repository, lease)
                reason = WORKER_STOPPED
                if self._quick_secs is not None and not self._stopping():
                    row.lane, reason = "long", f"It takes longer than {self._quick_secs:g} s. {TO_LONG_LANE}"
                row.queue_id = self._queue.enter(session, row.id, row.lane)
                enter(repository, row, "queued", reason)
        except OverError:
            return False
        return True


def _shower(frames: Frames) -> Callable[[str], None]:
    """Writes what there is of a figure so far."""
    return _seldom(frames, "figure", orjson.loads)


def _point_shower(frames: Frames, kind: str, point: Point) -> Callable[[str], None]:
    """Writes what there is of a point so far."""

    def payload(document: str) -> Json:
        result = orjson.loads(document)
        del result["kind"]
        return {**point.described(), "result": result}

    return _seldom(frames, kind, payload)


def _seldom(frames: Frames, kind: str, payload: Callable[[str], Json]) -> Callable[[str], None]:
    """Writes documents as frames without a point: soon at first, then ever more seldom, so that a long run keeps a hundred of
    them and not thousands."""
    began = time.monotonic()
    wrote: float | None = None

    def show(document: str) -> None:
        nonlocal wrote
        now = time.monotonic()
        if wrote is None or now - wrote >= max(LEAST_BETWEEN_PARTIALS_SECS, SHARE_BETWEEN_PARTIALS * (now - began)):
            wrote = now
            frames.lease.check()
            frames.write(kind, payload(document))

    return show


def _reporter(lease: Lease, done: int, total: int) -> Callable[[int, int], bool]:
    """How far the engine is in this point, as a share of the run."""

    def report(so_far: int, of: int) -> bool:
        part = so_far / of if of > 0 else 0.0
        lease.progress = min((done + min(max(part, 0.0), 1.0)) / total, 1.0)
        return lease.held()

    return report
