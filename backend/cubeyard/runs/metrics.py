"""The part of `/metrics` about runs, queues and workers. All values are read from the database on
request, so any server reports all workers on all machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import structlog
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import Text, cast, column, func, select, table

from cubeyard.kit.db import AWAY, Database, Repository
from cubeyard.runs.models import RunChunkRow, RunRow
from cubeyard.runs.queue import QUEUES

log = structlog.get_logger(__name__)

QUEUES_A_WORKER = 3
"""Number of times that a worker registers: for exports, for the quick lane, and once for all other
work."""


class Counts(Repository):
    """The SQL."""

    def runs(self) -> Iterable[tuple[str, str, int]]:
        """Kind, state and number."""
        query = select(RunRow.kind, RunRow.state, func.count()).group_by(RunRow.kind, RunRow.state)
        return [(kind, state, count) for kind, state, count in self._session.execute(query)]

    def waiting(self) -> Iterable[tuple[str, int, float]]:
        """For each lane, the number of runs that wait for a worker, and the waiting time of the
        first."""
        age = func.extract("epoch", func.clock_timestamp() - func.min(RunRow.created_at))
        query = select(RunRow.lane, func.count(), age).where(RunRow.state == "queued").group_by(RunRow.lane)
        return [(lane, count, max(float(secs), 0.0)) for lane, count, secs in self._session.execute(query)]

    def entries(self) -> Iterable[tuple[str, str, int]]:
        """Queue, status and number of the queue entries."""
        jobs = table("procrastinate_jobs", column("queue_name"), column("status"))
        status = cast(jobs.c.status, Text)
        query = select(jobs.c.queue_name, status, func.count()).where(status.in_(["todo", "doing"]))
        return [
            (name, at, count) for name, at, count in self._session.execute(query.group_by(jobs.c.queue_name, status))
        ]

    def workers(self, lease_secs: float) -> float:
        """The number of workers with a heartbeat within the lease."""
        reported = table("procrastinate_workers", column("last_heartbeat"))
        heard = func.extract("epoch", func.clock_timestamp() - reported.c.last_heartbeat) < lease_secs
        return self._session.scalars(select(func.count()).select_from(reported).where(heard)).one() / QUEUES_A_WORKER

    def sharing(self) -> int:
        return self._session.scalars(select(func.count()).where(RunChunkRow.holder.is_not(None))).one()

    def points(self) -> int:
        return self._session.scalars(select(func.coalesce(func.sum(RunRow.points_done), 0))).one()


class RunCollector(Collector):
    def __init__(self, database: Database, lease_secs: float) -> None:
        self._database = database
        self._lease_secs = lease_secs

    def describe(self) -> Iterable[Any]:
        """Reads nothing until a client requests the metrics."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily("cubeyard_database_up", "Whether the database answers.")
        try:
            with self._database.session() as session:
                matches = list(self._families(Counts(session)))
        except AWAY as error:
            log.warning("metrics_without_database", error=str(error))
            matches = []
        up.add_metric([], 1.0 if matches else 0.0)
        yield up
        yield from matches

    def _families(self, counts: Counts) -> Iterator[GaugeMetricFamily]:
        runs = GaugeMetricFamily("cubeyard_runs", "Runs that are kept.", labels=["kind", "state"])
        for kind, state, count in counts.runs():
            runs.add_metric([kind, state], count)
        waiting = GaugeMetricFamily("cubeyard_runs_waiting", "Runs that wait for a worker.", labels=["lane"])
        oldest = GaugeMetricFamily(
            "cubeyard_runs_waiting_seconds", "For how long the first has waited.", labels=["lane"]
        )
        lanes = {lane: (count, secs) for lane, count, secs in counts.waiting()}
        for lane in QUEUES:
            count, secs = lanes.get(lane, (0, 0.0))
            waiting.add_metric([lane], count)
            oldest.add_metric([lane], secs)
        entries = GaugeMetricFamily("cubeyard_queue_entries", "Entries of the queues.", labels=["queue", "status"])
        for queue, status, count in counts.entries():
            entries.add_metric([queue, status], count)
        yield from (runs, waiting, oldest, entries)
        alive = counts.workers(self._lease_secs)
        yield GaugeMetricFamily("cubeyard_workers", "Workers that were heard of within a lease.", value=alive)
        yield GaugeMetricFamily("cubeyard_workers_sharing", "Workers at points of a sweep.", value=counts.sharing())
        yield GaugeMetricFamily("cubeyard_points_written", "Points of the runs that are kept.", value=counts.points())
