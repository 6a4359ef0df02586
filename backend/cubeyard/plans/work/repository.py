"""The SQL of marks."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ARRAY, CollectionAggregate, Integer, any_, delete, func, literal, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from cubeyard.plans.models import RevisionRow
from cubeyard.plans.work.models import CableMarkRow
from cubeyard.plans.work.schemas import MarkChange


class WorkRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def lock(self, plan_id: str, revision: int) -> None:
        """Blocks other changes of this revision's marks until the transaction ends, because serial
        changes cannot deadlock."""
        here = (RevisionRow.plan_id == plan_id) & (RevisionRow.revision == revision)
        self._session.execute(select(RevisionRow.revision).where(here).with_for_update(key_share=True))

    def states(self, plan_id: str, revision: int) -> Sequence[tuple[int, str]]:
        """Cable and state of every mark."""
        query = select(CableMarkRow.cable, CableMarkRow.state).where(
            CableMarkRow.plan_id == plan_id, CableMarkRow.revision == revision
        )
        return [(cable, state) for cable, state in self._session.execute(query)]

    def page(
        self,
        plan_id: str,
        revision: int,
        *,
        cables: Sequence[int] | None = None,
        state: str | None = None,
        after: int = -1,
        limit: int,
    ) -> Sequence[CableMarkRow]:
        """Marks of cables above `after`, only those of `cables` and in `state` if given, in the
        order of cables."""
        query = (
            select(CableMarkRow)
            .where(CableMarkRow.plan_id == plan_id, CableMarkRow.revision == revision, CableMarkRow.cable > after)
            .order_by(CableMarkRow.cable)
            .limit(limit)
            .execution_options(populate_existing=True)
        )
        if cables is not None:
            query = query.where(CableMarkRow.cable == _any(cables))
        if state is not None:
            query = query.where(CableMarkRow.state == state)
        return self._session.scalars(query).all()

    def write(self, plan_id: str, revision: int, marks: Sequence[MarkChange], by: str | None) -> int:
        """Inserts or replaces marks, each cable at most once, and returns how many were new or
        changed. An unchanged mark keeps its author and time."""
        if not marks:
            return 0
        values = [
            {
                "plan_id": plan_id,
                "revision": revision,
                "cable": mark.cable,
                "state": mark.state,
                "note": mark.note,
                "marked_by": by,
            }
            for mark in marks
        ]
        new = insert(CableMarkRow).values(values)
        written = self._session.execute(
            new.on_conflict_do_update(
                constraint="pk_cable_marks",
                set_={
                    "state": new.excluded.state,
                    "note": new.excluded.note,
                    "marked_by": new.excluded.marked_by,
                    "marked_at": func.clock_timestamp(),
                },
                where=or_(CableMarkRow.state != new.excluded.state, CableMarkRow.note != new.excluded.note),
            ).returning(CableMarkRow.cable)
        )
        return len(written.all())

    def remove(self, plan_id: str, revision: int, cables: Sequence[int]) -> int:
        """Deletes the marks of these cables and returns how many there were."""
        if not cables:
            return 0
        removed = self._session.execute(
            delete(CableMarkRow)
            .where(
                CableMarkRow.plan_id == plan_id,
                CableMarkRow.revision == revision,
                CableMarkRow.cable == _any(cables),
            )
            .returning(CableMarkRow.cable)
        )
        return len(removed.all())


def _any(cables: Sequence[int]) -> CollectionAggregate[bool]:
    """One array parameter, because a rack can have more cables than a statement can have
    parameters."""
    return any_(literal(list(cables), ARRAY(Integer)))
