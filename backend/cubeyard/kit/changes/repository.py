"""The SQL of the change log: rows are inserted and read, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import or_, select, tuple_
from sqlalchemy.orm import Session

from cubeyard.kit.changes.models import ChangeRow
from cubeyard.kit.search_text import has_word


class ChangeRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, row: ChangeRow) -> None:
        self._session.add(row)
        self._session.flush()

    def page(
        self,
        *,
        after: tuple[datetime, str] | None,
        kinds: Sequence[str],
        actions: Sequence[str],
        who: str | None,
        plan_id: str | None,
        subject_id: str | None,
        words: Sequence[str],
        limit: int,
    ) -> Sequence[ChangeRow]:
        """The latest first, from after that one on."""
        query = select(ChangeRow).order_by(ChangeRow.at.desc(), ChangeRow.id.desc()).limit(limit)
        if after is not None:
            query = query.where(tuple_(ChangeRow.at, ChangeRow.id) < after)
        for field, values in ((ChangeRow.kind, kinds), (ChangeRow.action, actions)):
            if values:
                query = query.where(field.in_(values))
        for field, value in (
            (ChangeRow.who, who),
            (ChangeRow.plan_id, plan_id),
            (ChangeRow.subject_id, subject_id),
        ):
            if value is not None:
                query = query.where(field == value)
        for word in words:
            named = (has_word(field, word) for field in (ChangeRow.name, ChangeRow.detail))
            query = query.where(or_(*named))
        return self._session.scalars(query).all()
