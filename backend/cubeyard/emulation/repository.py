"""The SQL of orders, and of what their faults came to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from cubeyard.emulation.models import OrderRow
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
        """The faults that were asked for while the run was under way."""
        query = select(OrderRow).where(OrderRow.run_id == run_id, OrderRow.kind == "inject")
        return self._session.scalars(query.order_by(OrderRow.id)).all()

    def waiting(self, run_id: str, after: int) -> Sequence[OrderRow]:
        """Orders that nobody has obeyed, from after that number on."""
        query = select(OrderRow).where(OrderRow.run_id == run_id, OrderRow.id > after, OrderRow.obeyed_at.is_(None))
        return self._session.scalars(query.order_by(OrderRow.id)).all()

    def last(self, run_id: str) -> int:
        """The latest order's number; 0 if there is none."""
        return self._session.scalars(select(func.max(OrderRow.id)).where(OrderRow.run_id == run_id)).one() or 0

    def obeyed(self, order_id: int, outcome: Json) -> None:
        change = update(OrderRow).where(OrderRow.id == order_id)
        self._session.execute(change.values(outcome=outcome, obeyed_at=func.clock_timestamp()))

    def fault_frames(self, run_id: str) -> list[Json]:
        """What happened to the faults of the run's latest attempt, in order."""
        begun = select(func.max(FrameRow.seq)).where(FrameRow.run_id == run_id, FrameRow.kind == "network")
        query = select(FrameRow.payload).where(
            FrameRow.run_id == run_id,
            FrameRow.kind == "fault",
            FrameRow.seq > func.coalesce(begun.scalar_subquery(), 0),
        )
        return list(self._session.scalars(query.order_by(FrameRow.seq)))
