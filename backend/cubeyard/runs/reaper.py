"""Gives the runs of dead workers to others, or fails them with a reason after too many deaths: no run is ever stuck."""

from __future__ import annotations

from datetime import timedelta

import structlog

from cubeyard.kit.db import Database
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.service import enter

log = structlog.get_logger(__name__)


class RunReaper:
    def __init__(self, database: Database, *, lease_secs: float, attempts: int) -> None:
        self._database = database
        self._lease = timedelta(seconds=lease_secs)
        self._attempts = attempts
        self._queue = RunQueue()

    def once(self) -> None:
        """Any number of reapers may do this at the same time: each row is locked by one of them."""
        with self._database.session() as session:
            repository = RunRepository(session)
            for row in repository.abandoned(self._lease):
                row.deaths += 1
                if row.deaths >= self._attempts:
                    enter(repository, row, "failed", f"The worker died {row.deaths} times at this run.")
                else:
                    row.queue_id = self._queue.put(session, row.id)
                    enter(repository, row, "queued", "Its worker died; it goes on with another one.")
                log.warning("run_reaped", run=row.id, state=row.state, deaths=row.deaths)
            for row in repository.orphans(self._lease):
                row.queue_id = self._queue.put(session, row.id)
                row.heartbeat_at = repository.now()
                log.warning("run_adopted", run=row.id)
