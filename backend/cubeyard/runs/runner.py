"""Does the missing part of a run, or a share of it, and writes each point or frame as soon as it is
computed.

All free workers share a sweep (`sharing.py`); a figure or a measurement has one worker. Every few
seconds a worker sends a heartbeat and checks that it still has the run (`lease.py`). So another
worker continues the points of a killed worker exactly where it stopped. [ours]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import orjson
import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.points import Json
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.db import AWAY, Database
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.ids import new_id
from cubeyard.runs.frames import Frames, own
from cubeyard.runs.lease import BEAT_SECS, Lease, OverError, Watch
from cubeyard.runs.models import RunRow
from cubeyard.runs.partial import seldom
from cubeyard.runs.predictor import FigureMaker, Predictor
from cubeyard.runs.queue import Lane, RunQueue, real_lane
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.service import enter
from cubeyard.runs.sharing import Chunk, Share, take, take_first

log = structlog.get_logger(__name__)

AGAIN_SECS = 1.0
WORKER_STOPPED = "Its worker was stopped; it goes on with the next one."
OTHER_BUILD = (
    "Its first {} points are from build {} of Cubeyard, its next worker has build {}, and all points of a run are from"
    " one build. Start the run again."
)
TO_LONG_LANE = "It goes on in the lane for long runs."


class RunsEngine(Protocol):
    """Runs an engine that the binding does not compute."""

    def run(self, run_id: str, document: Json, frames: Frames) -> str:
        """Does an experiment's run, frame by frame, until the frame that is point 0, and returns a
        remark on it, or an empty text. Raises OverError when the run has ended."""
        ...


@dataclass(frozen=True)
class Begun:
    """A run that this worker has taken up, or joined."""

    run: RunRow
    document: Json | None
    """The document of its experiment; None for a figure."""
    holder: str
    """This worker's identity in this run."""
    chunk: Chunk | None
    """The first points that it does, if the binding computes them and some are left."""


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
        beat_secs: float = BEAT_SECS,
        watch: Watch | None = None,
        real_lanes: Callable[[], Collection[Lane]] = tuple,
    ) -> None:
        """`quick_secs`: the time after which a run continues in the long lane; None in that
        lane. `real_lanes`: those of real packets that this worker does now."""
        self._real_lanes = real_lanes
        self._database = database
        self._engine = engine
        self._build = engine.build_version
        """Read once: an upgrade may replace the files meanwhile."""
        self._runners = runners or {}
        """Runners, by name, of the engines outside the binding."""
        self._figures: FigureMaker = figures or engine
        self._queue = RunQueue()
        self._stopping = stopping or (lambda: False)
        self._quick_secs = quick_secs
        self._beat_secs = beat_secs
        self._watch = watch or Watch()

    def __call__(self, run_id: str) -> None:
        begun = self._begin(run_id)
        if begun is None:
            return
        run = begun.run
        bound = log.bind(run=run_id, attempt=run.attempts)
        started = time.perf_counter()
        lease = self._lease(begun)
        share = self._share(begun, lease)
        try:
            remark = self._do(begun, lease, share)
        except OverError:
            bound.info("run_over", given_back=self._give_back(lease, share), points=_written(share))
        except AWAY as error:
            full = self._database.full(error) if isinstance(error, DBAPIError) else None
            if full is None:
                raise  # the queue tries again; if the run was begun, the reaper gives it on
            bound.warning("run_failed", error=full.detail)
            self._end(lease, "failed", full.detail)
        except Exception as error:
            if not lease.held():
                bound.info("run_over", given_back=self._give_back(lease, share), points=_written(share))
                return
            bound.exception("run_failed")
            message = error.detail if isinstance(error, ProblemError) else f"{type(error).__name__}: {error}"
            self._end(lease, "failed", message, share)
        else:
            if share is None:
                self._end(lease, "succeeded", remark)
            secs = round(time.perf_counter() - started, 2)
            ended = "run_left" if share is not None and not share.finished else "run_succeeded"
            bound.info(ended, seconds=secs, points=_written(share))

    def _share(self, begun: Begun, lease: Lease) -> Share | None:
        if begun.chunk is None:
            return None
        assert begun.document is not None
        return Share(self._database, self._engine, self._queue, lease, begun.document, begun.chunk, self._lanes())

    def _lanes(self) -> tuple[Lane, ...]:
        """The lanes whose runs this worker leaves a sweep for."""
        return ("long", *self._real_lanes())

    def _do(self, begun: Begun, lease: Lease, share: Share | None) -> str:
        with lease.renewed():
            if share is not None:
                share.work()
                return ""
            remark = self._alone(begun, Frames(self._database, lease))
            lease.check()
            return remark

    def _lease(self, begun: Begun) -> Lease:
        """The lease ends when the worker must stop, or after the time limit of this lane."""
        until = None if self._quick_secs is None else time.monotonic() + self._quick_secs
        lease = Lease(
            self._database,
            begun.run.id,
            begun.run.attempts,
            lambda: self._stopping() or (until is not None and time.monotonic() > until),
            holder=None if begun.chunk is None else begun.holder,
            every_secs=self._beat_secs,
            watch=self._watch,
        )
        lease.progress = begun.run.progress
        return lease

    def _begin(self, run_id: str) -> Begun | None:
        """None if there is nothing to do."""
        with self._database.session() as session:
            repository = RunRepository(session)
            row = repository.run(run_id, lock=True)
            if row is None or row.state not in {"queued", "running"}:
                return None
            document: Json | None = None
            if row.experiment_id is not None:
                experiment = ExperimentRepository(session).experiment(row.experiment_id)
                assert experiment is not None, "runs go with their experiment"
                document = experiment.document
            computed = document is not None and ENGINES[document["engine"]].computed
            holder = new_id()
            if row.state == "running":
                chunk = self._join(session, row, holder) if computed else None
                return None if chunk is None else Begun(row, document, holder, chunk)
            if document is not None and not computed and row.lane != real_lane(document):
                # Queued by an older version, for other workers too.
                row.lane = real_lane(document)
                row.queue_id = self._queue.enter(session, row.id, row.lane)
                return None
            row.attempts += 1
            row.points_done = repository.count_points(run_id) if row.attempts > 1 else 0
            if computed and 0 < row.points_done < row.points_total and row.engine_version != self._build:
                reason = OTHER_BUILD.format(row.points_done, row.engine_version or "?", self._build)
                enter(repository, row, "failed", reason)
                return None
            row.progress = row.progress_at_start = row.points_done / row.points_total
            row.work_secs = 0.0
            row.engine_version = self._build
            row.started_at = row.heartbeat_at = repository.now()
            enter(repository, row, "running", "")
            return Begun(row, document, holder, take_first(session, self._queue, row, holder) if computed else None)

    def _join(self, session: Session, row: RunRow, holder: str) -> Chunk | None:
        """Points of a run that other workers are at. All of a run's come from one build of the
        engine."""
        if row.lane != "long" or row.engine_version != self._build:
            return None
        return take(session, self._queue, row, holder, self._lanes())

    def _alone(self, begun: Begun, frames: Frames) -> str:
        """Does a run with one worker from start to end. Measurements of a dead worker are
        repeated."""
        run, document = begun.run, begun.document
        if run.points_done >= run.points_total:
            return ""
        if document is None:
            assert run.figure is not None
            reported = _reporter(frames.lease)
            show = seldom(frames, "figure", orjson.loads)
            result = orjson.loads(self._figures.figure_json(run.figure, run.seeds, reported, show, whole=run.whole))
            frames.lease.check()
            frames.write("figure", result, 0)
            return ""
        name = document["engine"]
        if name not in self._runners:
            raise ProblemError(503, "no-engine", f'This worker does not run engine "{name}".')
        return self._runners[name].run(run.id, document, frames)

    def _end(self, lease: Lease, state: str, reason: str, share: Share | None = None) -> None:
        """The database reserves disk space for this write. If it is not enough, this waits until
        there is space, or the worker must stop."""
        full = False
        while True:
            try:
                with self._database.session() as session:
                    repository = RunRepository(session)
                    row = own(repository, lease)
                    if share is not None:
                        share.leave(session, row)
                    if row.state == "running":
                        enter(repository, row, state, reason)
                    repository.tell_over(row.id)
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

    def _give_back(self, lease: Lease, share: Share | None) -> bool:
        """Returns a run to the queue if it exceeded its lane's limit or the worker must stop,
        unless other workers continue it; a lost run is not returned."""
        try:
            with self._database.session() as session:
                repository = RunRepository(session)
                row = own(repository, lease)
                reason = WORKER_STOPPED
                if self._quick_secs is not None and not self._stopping():
                    row.lane, reason = "long", f"It takes longer than {self._quick_secs:g} s. {TO_LONG_LANE}"
                if share is not None and not share.leave(session, row):
                    return True
                if row.queue_id is not None:
                    self._queue.remove(session, row.queue_id)
                row.queue_id = self._queue.enter(session, row.id, row.lane)
                enter(repository, row, "queued", reason)
        except OverError:
            return False
        return True


def _written(share: Share | None) -> int:
    """Points written by this worker. A run that is not a sweep is one point, which is not
    counted."""
    return 0 if share is None else share.written


def _reporter(lease: Lease) -> Callable[[int, int], bool]:
    """How far the engine is, as a share of the run."""

    def report(so_far: int, of: int) -> bool:
        part = so_far / of if of > 0 else 0.0
        lease.progress = min(max(part, 0.0), 1.0)
        return lease.held()

    return report
