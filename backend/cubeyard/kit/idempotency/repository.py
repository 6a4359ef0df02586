"""The keys' SQL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from cubeyard.kit.db import Repository
from cubeyard.kit.idempotency.models import KeyRow

KEPT = timedelta(hours=24)
MOST_DELETED = 100
"""Number of old keys that a request deletes: more than it adds."""


class KeyRepository(Repository):
    def hold(self, owner: str, key: str) -> bool:
        """Until the transaction ends. False if another request holds the key."""
        number = func.hashtextextended(f"{owner} {key}", 0)
        return bool(self._session.scalar(select(func.pg_try_advisory_xact_lock(number))))

    def kept(self, owner: str, key: str) -> KeyRow | None:
        query = select(KeyRow).where(KeyRow.owner == owner, KeyRow.key == key, KeyRow.at > func.now() - KEPT)
        return self._session.scalars(query).one_or_none()

    def keep(self, **row: Any) -> None:
        """The answer to a key that is held, in place of one that is too old."""
        place = (KeyRow.owner, KeyRow.key)
        old = select(*place).where(KeyRow.at <= func.now() - KEPT).limit(MOST_DELETED)
        self._session.execute(delete(KeyRow).where(tuple_(*place).in_(old.with_for_update(skip_locked=True))))
        statement = insert(KeyRow).values(**row)
        new = {name: statement.excluded[name] for name in ("request", "at", "status", "headers", "body")}
        self._session.execute(statement.on_conflict_do_update(index_elements=place, set_=new))
