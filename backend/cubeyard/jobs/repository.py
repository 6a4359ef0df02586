"""The export jobs' SQL. Every write of a worker names the attempt it belongs to and touches nothing
if another began."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import CursorResult, Text, cast, column, delete, func, insert, select, table, update

from cubeyard.jobs.models import ChunkRow, JobRow
from cubeyard.kit.db import Repository


class JobRepository(Repository):
    def job(self, job_id: str, *, lock: bool = False) -> JobRow | None:
        query = select(JobRow).where(JobRow.id == job_id).execution_options(populate_existing=True)
        return self._session.scalars(query.with_for_update() if lock else query).one_or_none()

    def jobs_of(self, plan_id: str, limit: int = 50) -> Sequence[JobRow]:
        query = select(JobRow).where(JobRow.plan_id == plan_id).order_by(JobRow.created_at.desc(), JobRow.id.desc())
        return self._session.scalars(query.limit(limit)).all()

    def latest(self, plan_id: str, revision: int, format: str, filename: str, options: dict[str, Any]) -> JobRow | None:
        """The newest queued, running or finished job of a file. The file name includes the plan's
        name, which can change."""
        query = (
            select(JobRow)
            .where(
                JobRow.plan_id == plan_id,
                JobRow.revision == revision,
                JobRow.format == format,
                JobRow.filename == filename,
                JobRow.options == options,
                JobRow.state.in_(["queued", "running", "done"]),
            )
            .order_by(JobRow.created_at.desc(), JobRow.id.desc())
            .limit(1)
        )
        return self._session.scalars(query).one_or_none()

    def report(self, job_id: str, attempt: int, progress: float, doing: str) -> bool:
        """Returns False if the attempt has ended: the job was cancelled, or another worker has
        it."""
        change = (
            update(JobRow)
            .where(JobRow.id == job_id, JobRow.attempts == attempt, JobRow.state == "running")
            .values(progress=func.greatest(JobRow.progress, progress), doing=doing)
        )
        return self._touched(self._session.execute(change))

    def add_chunk(self, job_id: str, position: int, data: bytes) -> None:
        self._session.execute(insert(ChunkRow).values(job_id=job_id, position=position, data=data))

    def clear_chunks(self, job_id: str) -> None:
        self._session.execute(delete(ChunkRow).where(ChunkRow.job_id == job_id))

    def chunk(self, job_id: str, position: int) -> bytes | None:
        query = select(ChunkRow.data).where(ChunkRow.job_id == job_id, ChunkRow.position == position)
        return self._session.scalars(query).one_or_none()

    def finish(
        self, job_id: str, attempt: int, state: str, *, error: str | None = None, size_bytes: int | None = None
    ) -> bool:
        values = {"state": state, "error": error, "size_bytes": size_bytes, "finished_at": func.clock_timestamp()}
        if state == "done":
            values |= {"progress": 1.0, "doing": ""}
        change = update(JobRow).where(JobRow.id == job_id, JobRow.attempts == attempt, JobRow.state == "running")
        return self._touched(self._session.execute(change.values(**values)))

    def delete_finished_before(self, age: timedelta) -> int:
        moment = func.clock_timestamp() - age
        return len(self._session.execute(delete(JobRow).where(JobRow.finished_at < moment).returning(JobRow.id)).all())

    def any_unfinished(self) -> bool:
        query = select(JobRow.id).where(JobRow.state.in_(["queued", "running"])).limit(1)
        return self._session.scalars(query).first() is not None

    def orphans(self, age: timedelta) -> Sequence[JobRow]:
        """Unfinished jobs that the queue does not have: a queue that gave up on them, or was
        emptied."""
        queue = table("procrastinate_jobs", column("id"), column("status"))
        waiting = select(queue.c.id).where(
            queue.c.id == JobRow.queue_id, cast(queue.c.status, Text).in_(["todo", "doing"])
        )
        query = (
            select(JobRow)
            .where(
                JobRow.state.in_(["queued", "running"]),
                func.coalesce(JobRow.started_at, JobRow.created_at) < func.clock_timestamp() - age,
                ~waiting.exists(),
            )
            .with_for_update(skip_locked=True)
        )
        return self._session.scalars(query).all()

    @staticmethod
    def _touched(result: object) -> bool:
        assert isinstance(result, CursorResult)
        return result.rowcount == 1
