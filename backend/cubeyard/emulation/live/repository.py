"""The SQL for orders, for fault frames with their results, for events of ticks, and for
captures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.orm import Session

from cubeyard.emulation.live.models import CaptureRow, OrderRow
from cubeyard.frames.network import FrameHosts
from cubeyard.kit.db import Repository
from cubeyard.runs.models import FrameRow

Json = dict[str, Any]


class OrderRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, row: OrderRow) -> OrderRow:
        self._session.add(row)
        self._session.flush()
        self._session.refresh(row)
        return row

    def injected(self, run_id: str) -> Sequence[OrderRow]:
        """Orders of faults that were injected by hand, in order. Their number is final only under
        the run's lock."""
        query = select(OrderRow).where(OrderRow.run_id == run_id, OrderRow.kind == "inject")
        return self._session.scalars(query.order_by(OrderRow.id)).all()

    def waiting(self, run_id: str, after: int) -> Sequence[OrderRow]:
        """Orders that are not carried out yet, with numbers above `after`."""
        query = self._open(run_id).where(OrderRow.id > after, OrderRow.kind != "inspect")
        return self._session.scalars(query.order_by(OrderRow.id)).all()

    def questions(self, run_id: str) -> Sequence[OrderRow]:
        """Questions about servers and switches that have no answer yet."""
        query = self._open(run_id).where(OrderRow.kind == "inspect")
        return self._session.scalars(query.order_by(OrderRow.id)).all()

    def outcome(self, order_id: int) -> Json | None:
        return self._session.scalars(select(OrderRow.outcome).where(OrderRow.id == order_id)).one_or_none()

    def delete(self, order_id: int) -> None:
        self._session.execute(delete(OrderRow).where(OrderRow.id == order_id))

    def _open(self, run_id: str) -> Select[OrderRow]:
        return select(OrderRow).where(OrderRow.run_id == run_id, OrderRow.obeyed_at.is_(None))

    def last(self, run_id: str) -> int:
        """Number of the latest order; 0 without orders."""
        return self._session.scalars(select(func.max(OrderRow.id)).where(OrderRow.run_id == run_id)).one() or 0

    def carried_out(self, order_id: int, outcome: Json) -> None:
        change = update(OrderRow).where(OrderRow.id == order_id)
        self._session.execute(change.values(outcome=outcome, obeyed_at=func.clock_timestamp()))

    def fault_frames(self, run_id: str) -> list[Json]:
        """Payloads of the `fault` frames of the run's latest attempt, in order."""
        begun = select(func.max(FrameRow.seq)).where(FrameRow.run_id == run_id, FrameRow.kind == "network")
        query = select(FrameRow.payload).where(
            FrameRow.run_id == run_id,
            FrameRow.kind == "fault",
            FrameRow.seq > func.coalesce(begun.scalar_subquery(), 0),
        )
        return list(self._session.scalars(query.order_by(FrameRow.seq)))


class EventRepository(Repository):
    """The events of a run's latest attempt."""

    def flowing(self, run_id: str) -> bool:
        """Whether the attempt has a tick. From then on, all events are recorded."""
        latest = select(FrameRow.kind).where(FrameRow.run_id == run_id, FrameRow.kind.in_(("network", "tick")))
        return self._session.scalars(latest.order_by(FrameRow.seq.desc()).limit(1)).first() == "tick"

    def placed(self, run_id: str) -> FrameHosts | None:
        """The placement of servers on hosts, from the attempt's first frame; None before it, and if
        this machine is the only host."""
        query = select(FrameRow.payload["hosts"]).where(FrameRow.run_id == run_id, FrameRow.kind == "network")
        return self._session.scalars(query.order_by(FrameRow.seq.desc()).limit(1)).first()

    def of_ticks(self, run_id: str, after: int) -> list[tuple[int, list[Json]]]:
        """The number and the events of each later tick that has events."""
        query = select(FrameRow.seq, FrameRow.payload["events"]).where(
            FrameRow.run_id == run_id, FrameRow.kind == "tick", FrameRow.seq > after
        )
        return [(seq, events) for seq, events in self._session.execute(query.order_by(FrameRow.seq)) if events]


class CaptureRepository(Repository):
    def of_run(self, run_id: str) -> Sequence[CaptureRow]:
        """The captures of a run, latest first, without their files."""
        query = select(CaptureRow).where(CaptureRow.run_id == run_id)
        return self._session.scalars(query.order_by(CaptureRow.created_at.desc(), CaptureRow.id)).all()

    def capture(self, run_id: str, capture_id: str) -> CaptureRow | None:
        query = select(CaptureRow).where(CaptureRow.run_id == run_id, CaptureRow.id == capture_id)
        return self._session.scalars(query).one_or_none()

    def data(self, capture_id: str) -> bytes | None:
        """The file of a capture; None without one."""
        return self._session.scalars(select(CaptureRow.data).where(CaptureRow.id == capture_id)).one_or_none()

    def ended(self, capture_id: str, outcome: Json) -> None:
        """Updates these columns, unless the row was deleted meanwhile."""
        self._session.execute(update(CaptureRow).where(CaptureRow.id == capture_id).values(**outcome))

    def delete(self, row: CaptureRow) -> None:
        self._session.delete(row)
