"""The SQL of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from cubeyard.experiments.models import ExperimentRow
from cubeyard.kit.search_text import has_word


class ExperimentRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def experiment(self, experiment_id: str) -> ExperimentRow | None:
        return self._session.get(ExperimentRow, experiment_id)

    def page(
        self,
        *,
        after: tuple[datetime, str] | None,
        plan_id: str | None,
        kind: str | None,
        content_hash: str | None,
        words: Sequence[str],
        limit: int,
    ) -> Sequence[ExperimentRow]:
        """The latest made first, from after that one on."""
        query = select(ExperimentRow).order_by(ExperimentRow.created_at.desc(), ExperimentRow.id.desc()).limit(limit)
        if after is not None:
            query = query.where(tuple_(ExperimentRow.created_at, ExperimentRow.id) < after)
        wanted = (
            (ExperimentRow.plan_id, plan_id),
            (ExperimentRow.kind, kind),
            (ExperimentRow.content_hash, content_hash),
        )
        for field, value in wanted:
            if value is not None:
                query = query.where(field == value)
        for word in words:
            query = query.where(has_word(ExperimentRow.name, word))
        return self._session.scalars(query).all()

    def delete(self, row: ExperimentRow) -> None:
        """Its runs go with it."""
        self._session.delete(row)
        self._session.flush()

    def add(self, row: ExperimentRow) -> None:
        self._session.add(row)
        self._session.flush()
        self._session.refresh(row)
