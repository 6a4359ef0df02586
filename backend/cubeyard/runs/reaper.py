"""Returns the runs and points of dead workers to the queue, or fails the runs with a reason, so
that no run is ever stuck.

A run fails if several workers in a row died at it, or at the same points of it, without finishing a
point: then the run itself is the cause. A long sweep can survive the death of any number of
workers.
"""

from __future__ import annotations

from datetime import timedelta

import structlog

from cubeyard.kit.db import Database
from cubeyard.runs.models import RunRow
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.service import enter

log = structlog.get_logger(__name__)

MOST_FORGOTTEN = 20
"""Runs deleted in one transaction: one run may have twenty thousand frames."""


class RunReaper:
    def __init__(self, database: Database, *, lease_secs: float, attempts: int, keep_days: float | None = None) -> None:
        self._database = database
        self._lease = timedelta(seconds=lease_secs)
        self._attempts = attempts
        self._keep = None if keep_days is None else timedelta(days=keep_days)
        self._queue = RunQueue()

    def once(self) -> None:
        """Any number of reapers may do this at the same time: each row is locked by one of them."""
        with self._database.session() as session:
            repository = RunRepository(session)
            for row in repository.abandoned(self._lease):
                got_on = row.points_done > round(row.progress_at_start * row.points_total)
                row.deaths = max(1 if got_on else row.deaths + 1, repository.chunks.bury(row.id, None))
                if row.deaths >= self._attempts:
                    self._fail(repository, row)
                else:
                    if row.queue_id is not None:
                        self._queue.remove(session, row.queue_id)
                    row.queue_id = self._queue.enter(session, row.id, row.lane)
                    enter(repository, row, "queued", "Its worker died; it goes on with another one.")
                log.warning("run_reaped", run=row.id, state=row.state, deaths=row.deaths)
            for row in repository.chunks.runs_with_dead_holders(self._lease):
                # Other workers continue the run: only repeated deaths at the same points end it.
                row.deaths = repository.chunks.bury(row.id, self._lease)
                if row.deaths >= self._attempts:
                    self._fail(repository, row)
                log.warning("chunk_reaped", run=row.id, state=row.state, deaths=row.deaths)
            for row in repository.chunks.shorthanded_runs():
                row.queue_id = self._queue.invite(session, row.id, row.lane)
            for row in repository.orphans(self._lease):
                row.queue_id = self._queue.enter(session, row.id, row.lane)
                row.heartbeat_at = repository.now()
                log.warning("run_adopted", run=row.id)
        self._forget_old()

    def _fail(self, repository: RunRepository, row: RunRow) -> None:
        enter(repository, row, "failed", f"The worker died {row.deaths} times in a row at this run.")
        repository.tell_over(row.id)

    def _forget_old(self) -> None:
        if self._keep is None:
            return
        with self._database.session() as session:
            forgotten = RunRepository(session).forget_finished(self._keep, MOST_FORGOTTEN)
        if forgotten:
            log.info("runs_forgotten", runs=forgotten)
