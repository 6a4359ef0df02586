"""The SQL of chunks: points that workers take, hold, and leave behind.

Callers hold the lock on the run's row, so that chunks of one run change one after the other; only
beats do without.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import CursorResult, Exists, Text, Update, cast, column, delete, func, or_, select, table, update

from cubeyard.kit.db import Repository
from cubeyard.runs.models import FrameRow, RunChunkRow, RunRow
from cubeyard.runs.queue import Lane

ENTRY = table("procrastinate_jobs", column("id"), column("status"), column("scheduled_at"))


@dataclass(frozen=True)
class Beaten:
    """The result of a heartbeat."""

    run: bool
    """Whether the attempt is still under way."""
    chunk: bool
    """Whether the worker still holds its chunk."""


class ChunkRepository(Repository):
    def held_by(self, run_id: str, holder: str) -> RunChunkRow | None:
        query = select(RunChunkRow).where(RunChunkRow.run_id == run_id, RunChunkRow.holder == holder)
        return self._session.scalars(query).one_or_none()

    def at_work(self, run_id: str) -> tuple[int, float]:
        """The number of workers that hold chunks of a run, and the total seconds for which they
        have worked on points that are not written yet."""
        secs = func.sum(func.extract("epoch", func.clock_timestamp() - RunChunkRow.since))
        held = select(func.count(), secs).where(RunChunkRow.run_id == run_id, RunChunkRow.holder.is_not(None))
        count, added = self._session.execute(held).one()
        return count, max(float(added or 0.0), 0.0)

    def any_left(self, run: RunRow) -> bool:
        """Whether there are points that nobody holds."""
        return run.next_point < run.points_total or self._free(run.id) is not None

    def take(self, run: RunRow, holder: str, wanted: int, workers: int) -> RunChunkRow | None:
        """A chunk for a worker: one that another worker left, or up to `wanted` free points; None
        if there is neither. `workers` is the number of workers at the run, including this one; the
        size leaves an equal share to the others."""
        row = self._free(run.id)
        if row is None:
            left = run.points_total - run.next_point
            if left <= 0:
                return None
            count = min(wanted, -(-left // (2 * workers)))
            row = RunChunkRow(run_id=run.id, first=run.next_point, until=run.next_point + count, deaths=0)
            run.next_point += count
            self._session.add(row)
        row.holder, row.part, row.written = holder, 0.0, 0
        row.since = row.heartbeat_at = run.heartbeat_at = self.now()
        self._session.flush()
        return row

    def written(self, run_id: str, first: int, until: int) -> set[int]:
        """The chunk's points that are already written."""
        query = select(FrameRow.point).where(FrameRow.run_id == run_id, FrameRow.point >= first, FrameRow.point < until)
        return {point for point in self._session.scalars(query) if point is not None}

    def is_first(self, run_id: str, holder: str) -> bool:
        """Whether no other worker at the run is at earlier points."""
        query = (
            select(RunChunkRow.holder)
            .where(RunChunkRow.run_id == run_id, RunChunkRow.holder.is_not(None))
            .order_by(RunChunkRow.first)
            .limit(1)
        )
        return self._session.scalars(query).first() == holder

    def done(self, row: RunChunkRow) -> None:
        self._session.delete(row)
        self._session.flush()

    def give_back(self, row: RunChunkRow) -> None:
        """Its holder leaves it, well and alive."""
        row.holder, row.part, row.deaths = None, 0.0, 0
        self._session.flush()

    def bury(self, run_id: str, lease: timedelta | None) -> int:
        """Frees the chunks whose holders sent no heartbeat for a lease, or all of them. Returns the
        largest number of consecutive deaths at one of them."""
        query = select(RunChunkRow).where(RunChunkRow.run_id == run_id, RunChunkRow.holder.is_not(None))
        if lease is not None:
            query = query.where(RunChunkRow.heartbeat_at < func.clock_timestamp() - lease)
        worst = 0
        for row in self._session.scalars(query.execution_options(populate_existing=True)).all():
            row.deaths = 1 if row.written > 0 else row.deaths + 1
            row.holder, row.part = None, 0.0
            worst = max(worst, row.deaths)
        self._session.flush()
        return worst

    def free_all(self, run_id: str) -> None:
        """A worker that still assumes that it holds a chunk notices at its next write that it does
        not."""
        free = update(RunChunkRow).where(RunChunkRow.run_id == run_id).values(holder=None, part=0.0)
        self._session.execute(free)

    def forget(self, run_id: str) -> None:
        self._session.execute(delete(RunChunkRow).where(RunChunkRow.run_id == run_id))

    def beat(self, run_id: str, attempt: int, holder: str, part: float) -> Beaten:
        """Records that a holder is alive, and the number of computed points of its chunk that are
        not written yet."""
        others = select(func.coalesce(func.sum(RunChunkRow.part), 0.0)).where(
            RunChunkRow.run_id == run_id, RunChunkRow.holder.is_not(None), RunChunkRow.holder != holder
        )
        reached = (RunRow.points_done + part + others.scalar_subquery()) / RunRow.points_total
        run = (
            update(RunRow)
            .where(RunRow.id == run_id, RunRow.attempts == attempt, RunRow.state == "running")
            .values(
                heartbeat_at=func.clock_timestamp(),
                progress=func.greatest(RunRow.progress, func.least(reached, 1.0)),
            )
        )
        if not self._changed(run):
            return Beaten(run=False, chunk=False)
        chunk = (
            update(RunChunkRow)
            .where(RunChunkRow.run_id == run_id, RunChunkRow.holder == holder)
            .values(heartbeat_at=func.clock_timestamp(), part=part)
        )
        return Beaten(run=True, chunk=self._changed(chunk))

    def runs_with_dead_holders(self, lease: timedelta) -> Sequence[RunRow]:
        """Running runs, locked, with a chunk whose holder sent no heartbeat for a lease; skips runs
        that another reaper has locked."""
        dead = select(RunChunkRow.first).where(
            RunChunkRow.run_id == RunRow.id,
            RunChunkRow.holder.is_not(None),
            RunChunkRow.heartbeat_at < func.clock_timestamp() - lease,
        )
        query = select(RunRow).where(RunRow.state == "running", dead.exists()).with_for_update(skip_locked=True)
        return self._session.scalars(query.execution_options(populate_existing=True)).all()

    def shorthanded_runs(self) -> Sequence[RunRow]:
        """Running runs of the long lane, locked, with free points and no queue entry that requests
        a worker."""
        chunks = select(RunChunkRow.first).where(RunChunkRow.run_id == RunRow.id)
        left = or_(RunRow.next_point < RunRow.points_total, chunks.where(RunChunkRow.holder.is_(None)).exists())
        query = (
            select(RunRow)
            .where(RunRow.state == "running", RunRow.lane == "long", chunks.exists(), left, ~self._entered())
            .with_for_update(skip_locked=True)
        )
        return self._session.scalars(query.execution_options(populate_existing=True)).all()

    def has_entry(self, run: RunRow) -> bool:
        """Whether an entry of the run that requests a worker is in its queue."""
        return self._session.scalars(select(RunRow.id).where(RunRow.id == run.id, self._entered())).first() is not None

    def another_waits(self, lanes: Collection[Lane]) -> bool:
        """Whether a run of these lanes waits for its first worker."""
        due = or_(ENTRY.c.scheduled_at.is_(None), ENTRY.c.scheduled_at <= func.clock_timestamp())
        query = (
            select(RunRow.id)
            .join(ENTRY, ENTRY.c.id == RunRow.queue_id)
            .where(RunRow.state == "queued", RunRow.lane.in_(lanes), cast(ENTRY.c.status, Text) == "todo", due)
            .limit(1)
        )
        return self._session.scalars(query).first() is not None

    def _free(self, run_id: str) -> RunChunkRow | None:
        query = (
            select(RunChunkRow)
            .where(RunChunkRow.run_id == run_id, RunChunkRow.holder.is_(None))
            .order_by(RunChunkRow.first)
            .limit(1)
        )
        return self._session.scalars(query).first()

    def _entered(self) -> Exists:
        return select(ENTRY.c.id).where(ENTRY.c.id == RunRow.queue_id, cast(ENTRY.c.status, Text) == "todo").exists()

    def _changed(self, change: Update) -> bool:
        result = self._session.execute(change, execution_options={"synchronize_session": False})
        assert isinstance(result, CursorResult)
        return result.rowcount == 1
