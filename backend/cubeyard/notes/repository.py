"""The SQL of notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from cubeyard.kit.db import Repository
from cubeyard.kit.search_text import has_word
from cubeyard.notes.models import NoteRow
from cubeyard.plans.models import PlanRow
from cubeyard.runs.models import RunRow


class NoteRepository(Repository):
    def __init__(self, session: Session) -> None:
        super().__init__(session)

    def note(self, note_id: str, *, lock: bool = False) -> NoteRow | None:
        query = select(NoteRow).where(NoteRow.id == note_id).execution_options(populate_existing=True)
        return self._session.scalars(query.with_for_update() if lock else query).one_or_none()

    def lock_plan(self, plan_id: str) -> bool:
        """Keeps the plan from being deleted, and other notes of it waiting, until the transaction
        ends. False if it is gone."""
        query = select(PlanRow.id).where(PlanRow.id == plan_id).with_for_update(key_share=True)
        return self._session.scalars(query).one_or_none() is not None

    def lock_run(self, run_id: str) -> bool:
        """The same for a run."""
        query = select(RunRow.id).where(RunRow.id == run_id).with_for_update(key_share=True)
        return self._session.scalars(query).one_or_none() is not None

    def count(self, *, plan_id: str | None, run_id: str | None) -> int:
        """Notes of a plan, or of a run without one."""
        query = select(func.count()).select_from(NoteRow)
        owner = NoteRow.plan_id == plan_id if plan_id is not None else NoteRow.kept_with_run == run_id
        return self._session.scalars(query.where(owner)).one()

    def page(
        self,
        *,
        plan_id: str | None,
        run_id: str | None,
        after: tuple[datetime, str] | None,
        kind: str | None,
        resolved: bool | None,
        words: Sequence[str],
        limit: int,
    ) -> Sequence[NoteRow]:
        """Notes of a plan, or at moments of a run; the latest first, from after that one on."""
        query = select(NoteRow).order_by(NoteRow.written_at.desc(), NoteRow.id.desc()).limit(limit)
        if after is not None:
            query = query.where(tuple_(NoteRow.written_at, NoteRow.id) < after)
        for field, value in ((NoteRow.plan_id, plan_id), (NoteRow.run_id, run_id), (NoteRow.kind, kind)):
            if value is not None:
                query = query.where(field == value)
        if resolved is not None:
            query = query.where(NoteRow.resolved_at.is_not(None) if resolved else NoteRow.resolved_at.is_(None))
        for word in words:
            query = query.where(has_word(NoteRow.text, word))
        return self._session.scalars(query).all()

    def runs_there(self, run_ids: Iterable[str]) -> set[str]:
        """Those of these runs that still exist."""
        wanted = sorted(set(run_ids))
        return set(self._session.scalars(select(RunRow.id).where(RunRow.id.in_(wanted)))) if wanted else set()

    def delete(self, row: NoteRow) -> None:
        self._session.delete(row)
        self._session.flush()
