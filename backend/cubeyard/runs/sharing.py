"""One worker's share of a run: it takes a chunk of points, computes them, writes them in batches,
and takes the next chunk.

Any number of workers can share a run. Writing results, ending a chunk and taking the next one are
one transaction under the lock of the run's row, so that frames are numbered without gaps, and a
worker's death at any moment neither loses nor duplicates a point. A worker whose chunk was
reassigned detects that it is no longer the holder, and discards its results. [ours]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

import orjson
from sqlalchemy.orm import Session

from cubeyard.engine import CancelledError
from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.points import Json, Point, points
from cubeyard.kit.db import Database
from cubeyard.runs.chunks import ChunkRepository
from cubeyard.runs.frames import Frames, own, patiently
from cubeyard.runs.lease import Lease
from cubeyard.runs.models import RunChunkRow, RunRow
from cubeyard.runs.partial import seldom
from cubeyard.runs.predictor import Predictor
from cubeyard.runs.queue import Lane, RunQueue
from cubeyard.runs.repository import FLOW_TIMES, NewFrame, RunRepository
from cubeyard.runs.service import enter

CHUNK_SECS = 1.0
"""A worker computes a chunk in about this time, so that little is lost when a worker dies."""
MOST_POINTS = 256
GROWTH = 4
"""A chunk is at most this many times as large as the previous one, because the first points are not
representative of the rest."""
WRITE_EVERY_SECS = 0.25
BATCHES_PER_SEC = 16
"""Approximate limit for all workers of a run together, because they write one after the other."""
BATCH_BYTES = 1 << 20


@dataclass(frozen=True)
class Chunk:
    """Points that this worker holds."""

    first: int
    todo: tuple[int, ...]
    """The chunk's points that are not written yet."""
    workers: int
    """At the run when it was taken, this one included."""


def take(
    session: Session, queue: RunQueue, run: RunRow, holder: str, lanes: Collection[Lane], wanted: int = 1
) -> Chunk | None:
    """Takes a chunk of a run, whose row is locked, for a worker; None if nothing is left or another
    run of the worker's `lanes` needs it more. Requests one more worker if there are more points."""
    chunks = ChunkRepository(session)
    row = chunks.held_by(run.id, holder)
    others = chunks.at_work(run.id)[0] - (row is not None)
    if row is None and others > 0 and run.lane == "long" and chunks.another_waits(lanes):
        invite(session, queue, run)
        return None
    row = row or chunks.take(run, holder, wanted, others + 1)
    return None if row is None else _taken(session, queue, run, row, others + 1)


def take_first(session: Session, queue: RunQueue, run: RunRow, holder: str) -> Chunk | None:
    """The same for the worker that begins the run, which nobody else may be at from now on."""
    chunks = ChunkRepository(session)
    if run.attempts > 1:
        chunks.free_all(run.id)
        if run.points_done < run.points_total and not chunks.any_left(run):
            run.next_point = 0  # points are missing that nobody has left to be taken: look through all
    row = chunks.take(run, holder, MOST_POINTS if run.points_done > run.next_point else 1, 1)
    return None if row is None else _taken(session, queue, run, row, 1)


def _taken(session: Session, queue: RunQueue, run: RunRow, row: RunChunkRow, workers: int) -> Chunk:
    invite(session, queue, run)
    there = ChunkRepository(session).written(run.id, row.first, row.until) if run.points_done > 0 else ()
    return Chunk(row.first, tuple(point for point in range(row.first, row.until) if point not in there), workers)


def invite(session: Session, queue: RunQueue, run: RunRow) -> None:
    """Requests one more worker from the queue, if there are free points. A run in the quick lane is
    not shared: short runs must not occupy the workers of all lanes."""
    chunks = ChunkRepository(session)
    if run.lane == "long" and chunks.any_left(run) and not chunks.has_entry(run):
        run.queue_id = queue.invite(session, run.id, run.lane)
        session.flush()


class Share:
    """Computes chunks from the given one until none is left. Raises OverError when the run has
    ended or the worker must stop."""

    def __init__(
        self,
        database: Database,
        engine: Predictor,
        queue: RunQueue,
        lease: Lease,
        document: Json,
        first: Chunk,
        lanes: Collection[Lane],
    ) -> None:
        assert lease.holder is not None
        self.finished = False
        """Whether this worker wrote the run's last point."""
        self._written = self._last = 0
        self._database = database
        self._engine = engine
        self._queue = queue
        self._lease = lease
        self._holder = lease.holder
        self._lanes = lanes
        self._chunk: Chunk | None = first
        self._points = list(points(document))
        self._kind, *self._so_far = ENGINES[document["engine"]].frames
        self._frames = Frames(database, lease)
        self._batch: list[NewFrame] = []
        self._batch_bytes = 0
        self._written_at = time.monotonic()
        self._wanted = 1

    @property
    def written(self) -> int:
        """Points of the run that this worker wrote."""
        return self._written + self._last

    def work(self) -> None:
        while self._chunk is not None:
            try:
                self._chunk = self._do(self._chunk)
            except CancelledError:
                self._lease.check()
                # The chunk is another worker's.
                self._forget()
                self._chunk = self._write(None, complete=False)

    def leave(self, session: Session, row: RunRow) -> bool:
        """Writes the computed points and releases the chunk, in the caller's transaction that has
        locked the run's row. Returns whether the run now has no worker and has not ended."""
        chunks = ChunkRepository(session)
        held = chunks.held_by(row.id, self._holder)
        if held is not None:
            if self._chunk is not None and held.first == self._chunk.first:
                self._append(session, row, held)
            chunks.give_back(held)
        if self._settle(session, row):
            return False
        if chunks.at_work(row.id)[0] == 0:
            return True
        invite(session, self._queue, row)
        return False

    def _do(self, chunk: Chunk) -> Chunk | None:
        """Computes a chunk and returns the next one."""
        began = time.monotonic()
        every_secs = max(WRITE_EVERY_SECS, chunk.workers / BATCHES_PER_SEC)
        for number in chunk.todo:
            self._compute(self._points[number])
            if time.monotonic() - self._written_at >= every_secs or self._batch_bytes >= BATCH_BYTES:
                held = self._write(chunk, complete=False)
                if held is not chunk:
                    return held
        if chunk.todo:
            each_secs = max((time.monotonic() - began) / len(chunk.todo), 1e-6)
            fits = math.ceil(min(CHUNK_SECS / each_secs, MOST_POINTS))
            self._wanted = max(1, min(fits, GROWTH * len(chunk.todo)))
        else:
            self._wanted = MOST_POINTS
        return self._write(chunk, complete=True)

    def _compute(self, point: Point) -> None:
        self._lease.check()
        if self._lease.lost_chunk.is_set():
            raise CancelledError
        show = self._shower(self._so_far[0], point) if self._so_far else None
        result = self._engine.predict_json(point.spec, point.experiment, self._told, show)
        self._lease.check()
        payload = orjson.dumps({**point.described(), "result": orjson.Fragment(result)})
        self._batch.append(NewFrame(self._kind, orjson.Fragment(payload), len(payload), point.number))
        self._batch_bytes += len(payload)
        self._lease.part = float(len(self._batch))

    def _told(self, so_far: int, of: int) -> bool:
        """How far the engine is in this point."""
        part = so_far / of if of > 0 else 0.0
        self._lease.part = len(self._batch) + min(max(part, 0.0), 1.0)
        return self._lease.held() and not self._lease.lost_chunk.is_set()

    def _shower(self, kind: str, point: Point) -> Callable[[str], None]:
        """Writes a point's partial results, and each list of its finished flows."""

        def payload(document: str) -> Json:
            result = orjson.loads(document)
            del result["kind"]
            return {**point.described(), "result": result}

        so_far = seldom(self._frames, kind, payload)

        def show(document: str) -> None:
            if orjson.loads(document)["kind"] == "flows":
                self._frames.lease.check()
                self._frames.write(FLOW_TIMES, payload(document))
            else:
                so_far(document)

        return show

    def _write(self, chunk: Chunk | None, *, complete: bool) -> Chunk | None:
        """The chunk to continue with after the batch was written: the same one, if it is not
        `complete` and this worker still holds it."""
        held = patiently(self._database, self._lease, lambda: self._commit(chunk, complete))
        self._written, self._last = self.written, 0
        self._forget()
        return held

    def _commit(self, chunk: Chunk | None, complete: bool) -> Chunk | None:
        self.finished = False
        with self._database.session() as session:
            row = own(RunRepository(session), self._lease)
            held = ChunkRepository(session).held_by(row.id, self._holder)
            # Another one than this: it was taken by a transaction whose answer was lost. None: the
            # chunk was lost.
            if chunk is not None and held is not None and held.first == chunk.first:
                self._append(session, row, held)
                if not complete:
                    return chunk
                ChunkRepository(session).done(held)
            if self._settle(session, row):
                return None
            return take(session, self._queue, row, self._holder, self._lanes, self._wanted)

    def _append(self, session: Session, row: RunRow, held: RunChunkRow) -> None:
        runs = RunRepository(session)
        # Only this worker can have written points of the chunk, in a commit whose confirmation was
        # lost.
        there = ChunkRepository(session).written(row.id, held.first, held.until) if held.written > 0 else ()
        new = [frame for frame in self._batch if frame.point not in there]
        now = runs.now()
        row.points_done += len(new)
        row.progress = max(row.progress, row.points_done / row.points_total)
        if held.since is not None:
            row.work_secs += max((now - held.since).total_seconds(), 0.0)
        row.heartbeat_at = held.heartbeat_at = held.since = now
        held.written += len(new)
        self._last = len(self._batch)  # also if the same batch is retried
        held.part = 0.0
        runs.append_all(row, new)

    def _settle(self, session: Session, row: RunRow) -> bool:
        """Ends the run if all its points are written; returns whether it did."""
        if row.points_done < row.points_total:
            return False
        if row.lane == "long" and row.queue_id is not None:
            self._queue.remove(session, row.queue_id)  # the entry that requests more workers
        enter(RunRepository(session), row, "succeeded", "")
        self.finished = True
        return True

    def _forget(self) -> None:
        self._batch.clear()
        self._batch_bytes = 0
        self._lease.part = 0.0
        self._lease.lost_chunk.clear()
        self._written_at = time.monotonic()
