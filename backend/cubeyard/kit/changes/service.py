"""Rules of the change log: an entry commits with its change, and only if a person made it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cubeyard.kit.auth.who import actor
from cubeyard.kit.changes import schemas
from cubeyard.kit.changes.models import ChangeRow
from cubeyard.kit.changes.repository import ChangeRepository
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.ids import new_id

MAX_CHARACTERS = 200
"""Limit for a name and for a detail: the log is no copy of the data."""


class ChangeLog:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._repository = ChangeRepository(session)

    def record(
        self,
        kind: schemas.ChangeKind,
        action: schemas.ChangeAction,
        subject_id: str,
        name: str,
        detail: str = "",
        *,
        plan_id: str | None = None,
    ) -> None:
        """Write a change into the session's transaction, unless the caller is the program
        itself."""
        who = actor(self._session)
        if who is None:
            return
        self._repository.add(
            ChangeRow(
                id=new_id(),
                who=who.name,
                token_id=who.token_id,
                kind=kind,
                action=action,
                subject_id=subject_id,
                name=_short(name),
                detail=_short(detail),
                plan_id=plan_id,
            )
        )

    def page(
        self,
        *,
        cursor: str | None,
        kinds: Sequence[str] = (),
        actions: Sequence[str] = (),
        who: str | None = None,
        plan: str | None = None,
        subject: str | None = None,
        q: str = "",
        limit: int,
    ) -> schemas.ChangeList:
        rows = self._repository.page(
            after=decode_cursor(cursor) if cursor is not None else None,
            kinds=kinds,
            actions=actions,
            who=who,
            plan_id=plan,
            subject_id=subject,
            words=q.split(),
            limit=limit + 1,
        )
        last = rows[limit - 1] if len(rows) > limit else None
        return schemas.ChangeList(
            items=[_change(row) for row in rows[:limit]],
            next=encode_cursor(last.at, last.id) if last is not None else None,
        )


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def _change(row: ChangeRow) -> schemas.Change:
    return schemas.Change(
        id=row.id,
        at=row.at,
        who=row.who,
        token=row.token_id,
        kind=row.kind,  # pyright: ignore[reportArgumentType] - pydantic checks it
        action=row.action,  # pyright: ignore[reportArgumentType]
        subject=row.subject_id,
        name=row.name,
        detail=row.detail,
        plan=row.plan_id,
    )
