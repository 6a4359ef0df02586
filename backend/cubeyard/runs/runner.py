"""Doing a run: the points that are missing, each written as a frame as soon as it is there.

A thread beside the engine says four times a second that the worker lives and how far it is, and hears in the answer whether
the run is still its own. So a cancelled run ends its work within a second, and a killed worker's run is taken up by another
exactly where it was. [ours]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import orjson
import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.experiments.points import Json, Point, points
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.models import RunRow
from cubeyard.runs.predictor import Predictor
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.service import enter

log = structlog.get_logger(__name__)

BEAT_SECS = 0.25
WRITE_TRIES = 6
"""A database that restarts is back within the few seconds that these take."""


class OverError(Exception):
    """The run was cancelled, or given to another worker, or this worker is to stop."""


class Lease:
    """This worker's hold on a run, renewed by a thread of its own for as long as the run lasts."""

    def __init__(self, database: Database, run_id: str, attempt: int, stopping: Callable[[], bool]) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self.progress = 0.0
        self._database = database
        self._stopping = stopping
        self._lost = threading.Event()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"lease-{run_id}", daemon=True)

    def held(self) -> bool:
        return not self._lost.is_set() and not self._stopping()

    def check(self) -> None:
        if not self.held():
            raise OverError

    @contextmanager
    def renewed(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._done.set()
            self._thread.join()

    def _beat(self) -> None:
        told = -1.0
        while not self._done.wait(BEAT_SECS):
            progress = self.progress
            try:
                with self._database.session() as session:
                    repository = RunRepository(session)
                    if not repository.beat(self.run_id, self.attempt, progress):
                        self._lost.set()
                        return
                    if progress != told:
                        repository.tell(self.run_id)
                told = progress
            except DBAPIError as error:
                log.warning("lease_not_renewed", run=self.run_id, error=str(error.orig))


class RunRunner:
    """Does one run at a time, by its id. Safe to call again for a run that was left half done."""

    def __init__(self, database: Database, engine: Predictor, stopping: Callable[[], bool] | None = None) -> None:
        self._database = database
        self._engine = engine
        self._queue = RunQueue()
        self._stopping = stopping or (lambda: False)

    def __call__(self, run_id: str) -> None:
        begun = self._begin(run_id)
        if begun is None:
            return
        run, todo, done = begun
        lease = Lease(self._database, run_id, run.attempts, self._stopping)
        lease.progress = run.progress
        bound = log.bind(run=run_id, attempt=run.attempts)
        started = time.perf_counter()
        try:
            with lease.renewed():
                if run.figure is not None:
                    self._figure(run, lease)
                else:
                    self._points(run, lease, todo, done)
                lease.check()
        except OverError:
            bound.info("run_over", given_back=self._give_back(lease))
        except DBAPIError:
            raise  # the queue tries again; if the run was begun, the reaper gives it on
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

    def _begin(self, run_id: str) -> tuple[RunRow, list[Point], int] | None:
        """The run, the points that it lacks and how many it has; None if there is nothing to do."""
        with self._database.session() as session:
            repository = RunRepository(session)
            row = repository.run(run_id, lock=True)
            if row is None or row.state != "queued":
                return None
            todo: list[Point] = []
            had = repository.points_of(run_id)
            if row.experiment_id is not None:
                experiment = ExperimentRepository(session).experiment(row.experiment_id)
                assert experiment is not None, "runs go with their experiment"
                todo = [point for point in points(experiment.document) if point.number not in had]
            row.attempts += 1
            row.points_done = len(had)
            row.progress = row.progress_at_start = len(had) / row.points_total
            row.engine_version = self._engine.version
            row.started_at = row.heartbeat_at = repository.now()
            enter(repository, row, "running", "")
            return row, todo, len(had)

    def _points(self, run: RunRow, lease: Lease, todo: list[Point], done: int) -> None:
        for point in todo:
            lease.check()
            report = _reporter(lease, done, run.points_total)
            result = orjson.loads(self._engine.predict_json(point.spec, point.experiment, report))
            lease.check()
            self._write(lease, "point", point.number, {**point.described(), "result": result})
            done += 1
            lease.progress = done / run.points_total

    def _figure(self, run: RunRow, lease: Lease) -> None:
        assert run.figure is not None
        if run.points_done == 0:
            result = orjson.loads(self._engine.figure_json(run.figure, run.seeds, _reporter(lease, 0, 1)))
            lease.check()
            self._write(lease, "figure", 0, result)

    def _write(self, lease: Lease, kind: str, point: int, payload: Json) -> None:
        size_bytes = len(orjson.dumps(payload))
        for left in reversed(range(WRITE_TRIES)):
            try:
                self._append(lease, kind, point, payload, size_bytes)
                return
            except DBAPIError:
                if left == 0 or not lease.held():
                    raise
                time.sleep(0.25 * 2 ** (WRITE_TRIES - 1 - left))

    def _append(self, lease: Lease, kind: str, point: int, payload: Json, size_bytes: int) -> None:
        with self._database.session() as session:
            repository = RunRepository(session)
            row = _own(repository, lease)
            if repository.has_point(row.id, point):
                return  # committed before the connection was lost
            row.points_done += 1
            row.progress = max(row.progress, row.points_done / row.points_total)
            repository.append(row, kind, payload, size_bytes, point)

    def _end(self, lease: Lease, state: str, reason: str) -> None:
        try:
            with self._database.session() as session:
                repository = RunRepository(session)
                enter(repository, _own(repository, lease), state, reason)
        except OverError:
            log.info("run_over", run=lease.run_id)

    def _give_back(self, lease: Lease) -> bool:
        """A worker that is told to stop leaves the run to another; one that lost it has nothing to give."""
        try:
            with self._database.session() as session:
                repository = RunRepository(session)
                row = _own(repository, lease)
                row.queue_id = self._queue.put(session, row.id)
                enter(repository, row, "queued", "Its worker was stopped; it goes on with the next one.")
        except OverError:
            return False
        return True


def _own(repository: RunRepository, lease: Lease) -> RunRow:
    """The locked row, if this attempt is still the one that may write."""
    row = repository.run(lease.run_id, lock=True)
    if row is None or row.attempts != lease.attempt or row.state != "running":
        raise OverError
    return row


def _reporter(lease: Lease, done: int, total: int) -> Callable[[int, int], bool]:
    """How far the engine is in this point, as a share of the run."""

    def report(so_far: int, of: int) -> bool:
        part = so_far / of if of > 0 else 0.0
        lease.progress = min((done + min(max(part, 0.0), 1.0)) / total, 1.0)
        return lease.held()

    return report
