"""The SQL of runs. Every change of a run also notifies its id on the channel, in the same
transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Text,
    and_,
    cast,
    column,
    delete,
    func,
    insert,
    or_,
    select,
    table,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute, aliased

from cubeyard.experiments.models import ExperimentRow
from cubeyard.kit.db import Repository
from cubeyard.kit.search_text import has_word
from cubeyard.runs.chunks import ChunkRepository
from cubeyard.runs.models import FrameRow, RunRow
from cubeyard.runs.queue import QUICK_SECS, Lane
from cubeyard.webhooks.service import WebhookEvents

CHANNEL = "cubeyard_runs"
OVER_CHANNEL = "cubeyard_runs_over"
"""For workers: a run is not theirs any more."""
FLOW_TIMES = "flow-times"
"""The kind of frames that list flows of a point under way."""
BATCH_FRAMES = 200
BATCH_BYTES = 256 * 1024
TICK, SECOND = "tick", "second"
"""Two kinds of frames: a second is the sum of the ticks before it."""
RECENT_FRAMES = 3300
"""Five minutes of ticks, and their seconds."""
FINISHED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True)
class Frame:
    seq: int
    kind: str
    payload: str
    """JSON text, as it was written."""


@dataclass(frozen=True)
class NewFrame:
    kind: str
    payload: Any
    """A value that can be serialized as JSON."""
    size_bytes: int
    point: int | None = None


class RunRepository(Repository):
    @property
    def chunks(self) -> ChunkRepository:
        """On the same transaction."""
        return ChunkRepository(self._session)

    @property
    def webhooks(self) -> WebhookEvents:
        """On the same transaction."""
        return WebhookEvents(self._session)

    def run(self, run_id: str, *, lock: bool = False) -> RunRow | None:
        query = select(RunRow).where(RunRow.id == run_id).execution_options(populate_existing=True)
        return self._session.scalars(query.with_for_update() if lock else query).one_or_none()

    def page(
        self,
        *,
        after: tuple[datetime, str] | None,
        states: Sequence[str],
        kinds: Sequence[str],
        words: Sequence[str],
        experiment_id: str | None,
        figure: str | None,
        limit: int,
    ) -> Sequence[RunRow]:
        """The latest made first, from after that one on."""
        query = select(RunRow).order_by(RunRow.created_at.desc(), RunRow.id.desc()).limit(limit)
        if after is not None:
            query = query.where(tuple_(RunRow.created_at, RunRow.id) < after)
        for field, values in ((RunRow.state, states), (RunRow.kind, kinds)):
            if values:
                query = query.where(field.in_(values))
        for field, value in ((RunRow.experiment_id, experiment_id), (RunRow.figure, figure)):
            if value is not None:
                query = query.where(field == value)
        for word in words:
            query = query.where(has_word(RunRow.title, word))
        return self._session.scalars(query).all()

    def of_experiment(self, experiment_id: str) -> Sequence[RunRow]:
        """Its runs, locked: none of them changes meanwhile."""
        query = select(RunRow).where(RunRow.experiment_id == experiment_id).order_by(RunRow.id).with_for_update()
        return self._session.scalars(query).all()

    def delete(self, row: RunRow) -> None:
        """Its frames go with it."""
        self._session.delete(row)
        self._session.flush()
        self.tell(row.id)

    def forget_finished(self, age: timedelta, most: int) -> int:
        """Delete that many of the runs that ended so long ago; a figure's latest good one stays, it
        is the figure's result."""
        newer = aliased(RunRow)
        newer_result = (
            select(newer.id)
            .where(newer.figure == RunRow.figure, newer.state == "succeeded", newer.created_at > RunRow.created_at)
            .exists()
        )
        superseded = or_(RunRow.figure.is_(None), RunRow.state != "succeeded", newer_result)
        old = (
            select(RunRow.id)
            .where(RunRow.state.in_(FINISHED), RunRow.finished_at < func.clock_timestamp() - age, superseded)
            .order_by(RunRow.finished_at)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        gone = self._session.scalars(delete(RunRow).where(RunRow.id.in_(old)).returning(RunRow.id)).all()
        for run_id in gone:
            self.tell(run_id)
        return len(gone)

    def latest_of_figures(self, *, succeeded: bool) -> dict[str, RunRow]:
        """Each figure's latest run, or its latest that went well."""
        query = select(RunRow).ext(distinct_on(RunRow.figure)).where(RunRow.figure.is_not(None))
        if succeeded:
            query = query.where(RunRow.state == "succeeded")
        rows = self._session.scalars(query.order_by(RunRow.figure, RunRow.created_at.desc(), RunRow.id.desc()))
        return {row.figure: row for row in rows if row.figure is not None}

    def last_secs(self, row: RunRow) -> float | None:
        """The duration of the latest successful run of the same figure or request; None if there
        was none.

        A run that moved out of the quick lane took at least that lane's limit.
        """
        if row.figure is not None:
            same = (
                RunRow.figure == row.figure,
                RunRow.seeds.is_not_distinct_from(row.seeds),
                RunRow.whole == bool(row.whole),
            )
        else:
            question = select(ExperimentRow.content_hash).where(ExperimentRow.id == row.experiment_id)
            others = select(ExperimentRow.id).where(ExperimentRow.content_hash == question.scalar_subquery())
            same = (RunRow.experiment_id.in_(others),)
        query = (
            select(RunRow.finished_at - RunRow.started_at, RunRow.lane, RunRow.attempts)
            .where(*same, RunRow.state == "succeeded", RunRow.started_at.is_not(None))
            .order_by(RunRow.created_at.desc(), RunRow.id.desc())
            .limit(1)
        )
        result = self._session.execute(query).first()
        if result is None:
            return None
        took, lane, attempts = result
        least = QUICK_SECS if lane == "long" and attempts > 1 else 0.0
        return max(took.total_seconds(), least)

    def before(self, row: RunRow) -> Sequence[RunRow]:
        """The runs before a queued run: running ones, and those queued earlier, of all lanes whose
        workers it waits for."""
        lanes = RunRow.lane == "quick" if row.lane == "quick" else RunRow.lane != "quick"
        waiting = and_(RunRow.state == "queued", RunRow.queue_id < row.queue_id)
        query = select(RunRow).where(lanes, or_(RunRow.state == "running", waiting))
        return self._session.scalars(query).all()

    def append(
        self, row: RunRow, kind: str, payload: dict[str, Any], size_bytes: int, point: int | None = None
    ) -> None:
        """The run's next frame. The caller holds the lock on the row: numbers have no gap and come
        out in order."""
        self.append_all(row, [NewFrame(kind, payload, size_bytes, point)])

    def append_all(self, row: RunRow, frames: Sequence[NewFrame]) -> None:
        """The same for several frames. Without frames, only notifies the row's changes."""
        rows = [
            {
                "run_id": row.id,
                "seq": row.last_seq + number,
                "kind": frame.kind,
                "point": frame.point,
                "payload": frame.payload,
                "size_bytes": frame.size_bytes,
            }
            for number, frame in enumerate(frames, 1)
        ]
        if rows:
            self._session.execute(insert(FrameRow), rows)
            row.last_seq += len(rows)
        self._session.flush()
        self.tell(row.id)

    def tell(self, run_id: str) -> None:
        """Wakes the followers of the run when the transaction is committed."""
        self._session.execute(select(func.pg_notify(CHANNEL, run_id)))

    def tell_over(self, run_id: str) -> None:
        """Have its workers look at the run, once the transaction is committed."""
        self._session.execute(select(func.pg_notify(OVER_CHANNEL, run_id)))

    def count_points(self, run_id: str) -> int:
        query = select(func.count()).where(FrameRow.run_id == run_id, FrameRow.point.is_not(None))
        return self._session.scalars(query).one()

    def has_point(self, run_id: str, point: int) -> bool:
        query = select(FrameRow.seq).where(FrameRow.run_id == run_id, FrameRow.point == point)
        return self._session.scalars(query).first() is not None

    def long_ago(self, run_id: str) -> int:
        """The number of the frame up to which the ticks of a long run are sent as seconds."""
        last = select(RunRow.last_seq - RECENT_FRAMES).where(RunRow.id == run_id).scalar_subquery()
        seconds = select(FrameRow.seq).where(FrameRow.run_id == run_id, FrameRow.kind == SECOND, FrameRow.seq <= last)
        return self._session.scalars(seconds.order_by(FrameRow.seq.desc()).limit(1)).first() or 0

    def frames(self, run_id: str, after: int, *, ticks_after: int = 0) -> list[Frame]:
        """The frames after that number, as many as fit a batch, and at least one if there is one.

        Ticks up to `ticks_after` are left out, and lists of flows, which are files only.
        """
        wanted = [FrameRow.run_id == run_id, FrameRow.seq > after, FrameRow.kind != FLOW_TIMES]
        if ticks_after > after:
            wanted.append(or_(FrameRow.kind != TICK, FrameRow.seq > ticks_after))
        return [frame for _, frame in self._batch(run_id, FrameRow.seq, wanted)]

    def results(self, run_id: str, after: int) -> list[tuple[int, Frame]]:
        """Points and their frames after the given point, in the order of their numbers, which does
        not depend on the workers. As many as fit a batch, and at least one if there is one."""
        return self._batch(run_id, FrameRow.point, [FrameRow.run_id == run_id, FrameRow.point > after])

    def _batch(
        self, run_id: str, order: InstrumentedAttribute[Any], wanted: Sequence[ColumnElement[bool]]
    ) -> list[tuple[int, Frame]]:
        near = select(FrameRow.seq, FrameRow.size_bytes, order.label("place")).where(*wanted)
        some = near.order_by(order).limit(BATCH_FRAMES).subquery()
        before = (func.sum(some.c.size_bytes).over(order_by=some.c.place) - some.c.size_bytes).label("before")
        fits = select(some.c.seq, some.c.place, before).subquery()
        query = (
            select(fits.c.place, FrameRow.seq, FrameRow.kind, type_coerce(cast(FrameRow.payload, Text), Text))
            .join(fits, fits.c.seq == FrameRow.seq)
            .where(FrameRow.run_id == run_id, fits.c.before < BATCH_BYTES)
            .order_by(fits.c.place)
        )
        return [(place, Frame(seq, kind, payload)) for place, seq, kind, payload in self._session.execute(query)]

    def last_payload(self, run_id: str, kind: str) -> str | None:
        """The payload of the latest frame of that kind; None if there is none."""
        query = (
            select(type_coerce(cast(FrameRow.payload, Text), Text))
            .where(FrameRow.run_id == run_id, FrameRow.kind == kind)
            .order_by(FrameRow.seq.desc())
            .limit(1)
        )
        return self._session.scalars(query).first()

    def flow_lists(self, run_id: str) -> list[tuple[int, int]]:
        """The numbers of the frames that list flows of the point under way, each with its point:
        from the last that is a first one on, as a point that another worker takes up begins
        again."""
        part = FrameRow.payload["result"]["part"].as_integer()
        query = (
            select(FrameRow.seq, FrameRow.payload["point"].as_integer(), part)
            .where(FrameRow.run_id == run_id, FrameRow.kind == FLOW_TIMES)
            .order_by(FrameRow.seq)
        )
        matches: list[tuple[int, int]] = []
        for seq, point, number in self._session.execute(query):
            if number == 0:
                matches.clear()
            matches.append((seq, point))
        return matches

    def payload(self, run_id: str, seq: int) -> str:
        """The payload of one frame."""
        query = select(type_coerce(cast(FrameRow.payload, Text), Text))
        return self._session.scalars(query.where(FrameRow.run_id == run_id, FrameRow.seq == seq)).one()

    def beat(self, run_id: str, attempt: int, progress: float) -> bool:
        """Records the worker's heartbeat and progress. Returns False if the attempt has ended: the
        run was cancelled, or another worker has it."""
        mine = (RunRow.id == run_id, RunRow.attempts == attempt, RunRow.state == "running")
        change = (
            update(RunRow)
            .where(*mine)
            .values(heartbeat_at=func.clock_timestamp(), progress=func.greatest(RunRow.progress, progress))
        )
        result = self._session.execute(change)
        assert isinstance(result, CursorResult)
        return result.rowcount == 1

    def any_unfinished(self, lanes: Collection[Lane]) -> bool:
        query = select(RunRow.id).where(RunRow.state.not_in(FINISHED), RunRow.lane.in_(lanes)).limit(1)
        return self._session.scalars(query).first() is not None

    def abandoned(self, lease: timedelta) -> Sequence[RunRow]:
        """Runs whose worker sent no heartbeat for a lease; skips runs that another reaper has
        locked."""
        query = (
            select(RunRow)
            .where(RunRow.state == "running", RunRow.heartbeat_at < func.clock_timestamp() - lease)
            .with_for_update(skip_locked=True)
        )
        return self._session.scalars(query).all()

    def orphans(self, age: timedelta) -> Sequence[RunRow]:
        """Queued runs that the queue does not have: it gave up on them, or was emptied."""
        queue = table("procrastinate_jobs", column("id"), column("status"))
        waiting = select(queue.c.id).where(queue.c.id == RunRow.queue_id, cast(queue.c.status, Text) == "todo")
        since = func.coalesce(RunRow.heartbeat_at, RunRow.created_at)
        query = (
            select(RunRow)
            .where(RunRow.state == "queued", since < func.clock_timestamp() - age, ~waiting.exists())
            .with_for_update(skip_locked=True)
        )
        return self._session.scalars(query).all()
