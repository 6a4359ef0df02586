"""Writing a run's frames: numbered, each once, and only by the attempt that holds the lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import orjson
import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.experiments.points import Json
from cubeyard.kit.db import Database
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import RunRepository

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


class Frames:
    """The frames of one attempt at a run."""

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self.lease = lease

    def write(self, kind: str, payload: Json, point: int | None = None) -> None:
        """The run's next frame; one with a point counts as that point's result. Waits for a database that restarts."""
        size_bytes = len(orjson.dumps(payload))
        for left in reversed(range(WRITE_TRIES)):
            try:
                self._append(kind, payload, size_bytes, point)
                return
            except DBAPIError as error:
                if left == 0 or not self.lease.held() or self._database.full(error) is not None:
                    raise
                time.sleep(0.25 * 2 ** (WRITE_TRIES - 1 - left))

    def _append(self, kind: str, payload: Json, size_bytes: int, point: int | None) -> None:
        with self._database.session() as session:
            repository = RunRepository(session)
            row = own(repository, self.lease)
            if point is not None:
                if repository.has_point(row.id, point):
                    return  # committed before the connection was lost
                row.points_done += 1
                row.progress = max(row.progress, row.points_done / row.points_total)
            repository.append(row, kind, payload, size_bytes, point)


def own(repository: RunRepository, lease: Lease) -> RunRow:
    """The locked row, if this attempt is still the one that may write."""
    row = repository.run(lease.run_id, lock=True)
    if row is None or row.attempts != lease.attempt or row.state != "running":
        raise OverError
    return row
