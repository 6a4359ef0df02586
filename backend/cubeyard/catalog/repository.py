"""The catalog's SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, func, insert, or_, select, text, tuple_
from sqlalchemy.orm import Session

from cubeyard.catalog.models import BookRow, PartRow, VersionRow
from cubeyard.kit.search_text import has_word

SEED_LOCK = 0x43756265_0001
"""A number for PostgreSQL's advisory locks: one process seeds at a time."""


class CatalogRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def lock_for_seeding(self) -> None:
        """Held to the end of the transaction."""
        self._session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SEED_LOCK})

    def lock_book(self, book: str) -> BookRow | None:
        """The book's row, so that two new versions cannot take one number."""
        return self._session.scalars(select(BookRow).where(BookRow.book == book).with_for_update()).one_or_none()

    def book(self, book: str) -> BookRow | None:
        return self._session.get(BookRow, book)

    def books(self) -> Sequence[BookRow]:
        return self._session.scalars(select(BookRow).order_by(BookRow.book)).all()

    def add_book(self, row: BookRow) -> None:
        self._session.add(row)
        self._session.flush()

    def versions(self, book: str | None = None) -> list[tuple[VersionRow, int]]:
        """Versions, oldest first, without their content, each with its number of parts."""
        parts = (
            select(PartRow.book, PartRow.version, func.count().label("parts"))
            .group_by(PartRow.book, PartRow.version)
            .subquery()
        )
        query = (
            select(VersionRow, func.coalesce(parts.c.parts, 0))
            .outerjoin(parts, (parts.c.book == VersionRow.book) & (parts.c.version == VersionRow.version))
            .order_by(VersionRow.book, VersionRow.version)
        )
        if book is not None:
            query = query.where(VersionRow.book == book)
        return [(row, count) for row, count in self._session.execute(query)]

    def version(self, book: str, version: int) -> VersionRow | None:
        return self._session.get(VersionRow, (book, version))

    def latest(self, book: str) -> VersionRow | None:
        query = select(VersionRow).where(VersionRow.book == book).order_by(VersionRow.version.desc()).limit(1)
        return self._session.scalars(query).one_or_none()

    def latest_builtin(self, book: str) -> VersionRow | None:
        query = (
            select(VersionRow)
            .where(VersionRow.book == book, VersionRow.builtin)
            .order_by(VersionRow.version.desc())
            .limit(1)
        )
        return self._session.scalars(query).one_or_none()

    def add_version(self, row: VersionRow, parts: Sequence[dict[str, Any]]) -> None:
        self._session.add(row)
        self._session.flush()
        if parts:
            self._session.execute(
                insert(PartRow),
                [
                    {
                        "book": row.book,
                        "version": row.version,
                        "position": position,
                        "sku": part["sku"],
                        "kind": part["kind"],
                        "name": part["name"],
                        "manufacturer": part.get("manufacturer", ""),
                        "attributes": part.get("attributes", {}),
                        "price_usd": part.get("price_usd"),
                        "power_watts": part.get("power_watts"),
                        "weight_kg": part.get("weight_kg"),
                        "sources": part.get("sources", {}),
                    }
                    for position, part in enumerate(parts)
                ],
            )

    def search_parts(
        self, *, kind: str | None, words: Sequence[str], book: str | None, version: int | None, offset: int, limit: int
    ) -> tuple[Sequence[PartRow], int]:
        """Parts of one version, or of the latest version of every book; every word must occur
        somewhere."""
        query = select(PartRow)
        if book is not None:
            query = query.where(PartRow.book == book)
        if version is not None:
            query = query.where(PartRow.version == version)
        else:
            newest = select(VersionRow.book, func.max(VersionRow.version)).group_by(VersionRow.book)
            query = query.where(tuple_(PartRow.book, PartRow.version).in_(newest))
        if kind is not None:
            query = query.where(PartRow.kind == kind)
        for word in words:
            query = query.where(
                or_(
                    has_word(PartRow.sku, word),
                    has_word(PartRow.name, word),
                    has_word(PartRow.manufacturer, word),
                )
            )
        total = self._session.scalar(_count(query)) or 0
        page = query.order_by(PartRow.book, PartRow.version, PartRow.position).offset(offset).limit(limit)
        return self._session.scalars(page).all(), total


def _count(query: Select[Any]) -> Select[int]:
    return select(func.count()).select_from(query.subquery())
