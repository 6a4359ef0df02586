"""The SQL of plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from cubeyard.kit.search_text import has_word
from cubeyard.plans.models import PlanRow, RevisionRow


class PlanRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def plan(self, plan_id: str, *, lock: bool = False) -> PlanRow | None:
        """`lock` blocks other changes of this plan until the transaction ends."""
        query = select(PlanRow).where(PlanRow.id == plan_id).execution_options(populate_existing=True)
        return self._session.scalars(query.with_for_update() if lock else query).one_or_none()

    def revision(self, plan_id: str, revision: int) -> RevisionRow | None:
        return self._session.get(RevisionRow, (plan_id, revision))

    def revisions(self, plan_id: str) -> Sequence[RevisionRow]:
        query = select(RevisionRow).where(RevisionRow.plan_id == plan_id).order_by(RevisionRow.revision.desc())
        return self._session.scalars(query).all()

    def page(
        self,
        *,
        after: tuple[datetime, str] | None,
        words: Sequence[str],
        limit: int,
        sort: Literal["updated_at", "created_at"],
    ) -> list[tuple[PlanRow, RevisionRow]]:
        """Plans with their heads, most recently changed or created first, starting after the given
        plan."""
        moment = PlanRow.updated_at if sort == "updated_at" else PlanRow.created_at
        query = (
            select(PlanRow, RevisionRow)
            .join(RevisionRow, (RevisionRow.plan_id == PlanRow.id) & (RevisionRow.revision == PlanRow.head_revision))
            .order_by(moment.desc(), PlanRow.id.desc())
            .limit(limit)
        )
        if after is not None:
            query = query.where(tuple_(moment, PlanRow.id) < after)
        for word in words:
            query = query.where(has_word(PlanRow.name, word))
        return [(plan, head) for plan, head in self._session.execute(query)]

    def add(self, plan: PlanRow, first: RevisionRow) -> None:
        self._session.add(plan)
        self._session.flush()
        self._session.add(first)
        self._session.flush()
        self._session.refresh(plan)

    def append(self, plan: PlanRow, revision: RevisionRow) -> None:
        """Inserts the revision and moves the head to it."""
        self._session.add(revision)
        plan.head_revision = revision.revision
        self.touch(plan)

    def touch(self, plan: PlanRow) -> None:
        plan.updated_at = self._session.scalars(select(func.clock_timestamp())).one()
        self._session.flush()

    def delete(self, plan: PlanRow) -> None:
        self._session.delete(plan)
        self._session.flush()
