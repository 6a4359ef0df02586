"""Writing a run's frames: numbered, each once, and only by the attempt that holds the lease."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import orjson
from sqlalchemy.exc import DBAPIError

from cubeyard.experiments.points import Json
from cubeyard.kit.db import AWAY, Database
from cubeyard.runs.chunks import ChunkRepository
from cubeyard.runs.lease import Lease, OverError
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import RunRepository

WRITE_TRIES = 6
"""A database that restarts is back within the few seconds that these take."""
Result = TypeVar("Result")


def patiently(database: Database, lease: Lease, write: Callable[[], Result]) -> Result:
    """Writes, and retries while the database restarts. `write` must detect a commit whose
    confirmation was lost."""
    for left in reversed(range(WRITE_TRIES)):
        try:
            with lease.writing:
                return write()
        except AWAY as error:
            full = isinstance(error, DBAPIError) and database.full(error) is not None
            if left == 0 or not lease.held() or full:
                raise
            time.sleep(0.25 * 2 ** (WRITE_TRIES - 1 - left))
    raise AssertionError("the last try returns or raises")


class Frames:
    """The frames of one attempt at a run."""

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self.lease = lease

    def write(self, kind: str, payload: Json, point: int | None = None) -> None:
        """The run's next frame; one with a point counts as that point's result. Waits for a
        database that restarts."""
        size_bytes = len(orjson.dumps(payload))
        patiently(self._database, self.lease, lambda: self._append(kind, payload, size_bytes, point))

    def _append(self, kind: str, payload: Json, size_bytes: int, point: int | None) -> None:
        with self._database.session() as session:
            repository = RunRepository(session)
            row = own(repository, self.lease)
            if point is None and self.lease.holder is not None:
                if not ChunkRepository(session).is_first(row.id, self.lease.holder):
                    return  # if several points are computed in parallel, only one shows partial results
            elif point is not None:
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
